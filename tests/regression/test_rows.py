"""Columns of the regressor at the samples of recordings."""

from __future__ import annotations

import sys
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from casid.dynamics import Model
from casid.errors import DatasetError
from casid.measurement import Dataset, Processing
from casid.regression import compress, filtered_blocks, observation_blocks, one_thread, torques
from casid.testing import recording


def test_blocks_are_the_regressor_sample_by_sample(model, truth):
    data = recording(model, truth, samples=50)
    W = np.concatenate([block for _, block in observation_blocks(model, data)])
    np.testing.assert_allclose(W @ model.base.values(truth), torques(model, truth, data), atol=1e-9)


def test_recordings_that_do_not_fit_are_refused(model):
    with pytest.raises(DatasetError, match="has 2 joints, the model has 7"):
        next(observation_blocks(model, Dataset(np.arange(20.0), np.zeros((20, 2)), np.zeros((20, 2)))))
    with pytest.raises(DatasetError, match="no velocities or accelerations"):
        next(observation_blocks(Model("spatial_2r"), Dataset(np.arange(20.0), np.zeros((20, 2)), np.zeros((20, 2)))))


def test_one_thread_inside_and_the_number_of_before_afterwards() -> None:
    threadpoolctl = pytest.importorskip("threadpoolctl")

    def threads() -> list[int]:
        return [pool["num_threads"] for pool in threadpoolctl.threadpool_info() if pool["user_api"] == "blas"]

    with threadpoolctl.threadpool_limits(2, user_api="blas"):
        before = threads()
        with one_thread():
            assert threads() and set(threads()) == {1}
        assert threads() == before and max(before) > 1


def test_without_the_package_nothing_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "threadpoolctl", None)
    with one_thread() as held:
        assert held is None


def test_blocks_through_the_filter_are_the_whole_through_it():
    """Parts of a recording, each with what the filter remembers on either side."""
    t = np.arange(3000) * 1e-3
    rng = np.random.default_rng(4)
    data = Processing(cutoff=25.0, every=7).apply(Dataset(t, np.sin(3 * t)[:, None], rng.normal(size=(3000, 1))))
    values = np.cumsum(rng.normal(size=(len(data.full), 2)), axis=0)
    whole = data.full.low_pass(values)[data.full.index]
    memory, calls = data.full.low_pass.memory, []

    def evaluate(part):
        calls.append(part)
        return values[part]

    blocks = list(filtered_blocks(data, evaluate, 500))
    assert len(blocks) > 2 and blocks[0][0] == 0
    assert [first for first, _ in blocks][1:] == np.cumsum([len(b) for _, b in blocks])[:-1].tolist()
    np.testing.assert_allclose(np.concatenate([b for _, b in blocks]), whole, atol=1e-6 * np.abs(whole).max())
    assert all(p.stop - p.start <= max(500, 3 * memory) + 2 * memory for p in calls) and calls[0].start == 0
    plain = list(filtered_blocks(replace(data, full=None), lambda part: np.arange(len(data))[part], 50))
    assert [first for first, _ in plain] == list(range(0, len(data), 50))
    assert np.concatenate([b for _, b in plain]).tolist() == list(range(len(data)))
    with pytest.raises(DatasetError, match="samples must be in order of time"):
        next(filtered_blocks(_backwards(data), evaluate))


def _backwards(data: Dataset) -> Dataset:
    full = data.full.rows(slice(None, None, -1))
    return replace(data, q=data.q[::-1], dq=data.dq[::-1], ddq=data.ddq[::-1], full=full)


@pytest.mark.parametrize(("samples", "made"), [(500, 12), (45, 4), (50, 5)])
def test_segments_have_ten_samples_at_least_and_their_factors_are_those_of_the_rows(samples, made):
    """Of more than a block of rows, or fewer, each joint's squares and spans."""
    arm = Model("three_link")
    data = recording(arm, np.ones(30), samples=samples, noise=0.1)
    edges = np.linspace(0, samples, made + 1).astype(int)
    segments = compress(arm, [data, data]).segments
    assert [s.spans for s in segments] == [((r, int(a), int(b)),) for r in range(2) for a, b in pairwise(edges)]
    W = np.concatenate([block for _, block in observation_blocks(arm, data)])
    for s, (a, b) in zip(segments, pairwise(edges), strict=False):
        assert s.counts.tolist() == [b - a] * 3
        for k, R in enumerate(s.factors):
            rows = np.column_stack([W[a:b, k], data.tau[a:b, k], data.tau[a:b, k]])
            np.testing.assert_allclose(R.T @ R, rows.T @ rows, atol=1e-8 * np.abs(rows.T @ rows).max())


def test_of_too_many_segments_neighbours_are_joined():
    """Thirty recordings of a segment each: at the 25th and again later two become one, and no row is lost."""
    arm = Model("three_link")
    data = recording(arm, np.ones(30), samples=330, noise=0.1)
    parts = [data.rows(slice(11 * k, 11 * k + 11), f"{k}") for k in range(30)]
    made = compress(arm, parts)
    assert [s.counts[0] for s in made.segments] == [22] * 12 + [11] * 6
    assert [span[0] for s in made.segments for span in s.spans] == list(range(30))
    squares = compress(arm, data).squared_errors(np.ones(arm.base.rank))
    np.testing.assert_allclose(made.squared_errors(np.ones(arm.base.rank)), squares, rtol=1e-9)
