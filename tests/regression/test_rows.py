"""Columns of the regressor at the samples of recordings."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest

from casid.dynamics import Model
from casid.errors import DatasetError
from casid.measurement import Dataset, Processing
from casid.regression import filtered_blocks, one_thread, torques
from casid.regression._rows import CHUNK, SegmentedFactors, _Factor, counted, joined, observation_blocks, pattern
from casid.testing import recording


def test_blocks_are_the_regressor_sample_by_sample(model, truth):
    data = recording(model, truth, samples=50)
    W = np.concatenate([block for _, block in observation_blocks(model, data)])
    np.testing.assert_allclose(W @ model.base.values(truth), torques(model, truth, data), atol=1e-9)
    assert not W[:, ~pattern(model.base_regressor)].any()


def test_recordings_that_do_not_fit_are_refused(model):
    with pytest.raises(DatasetError, match="has 2 joints, the model has 7"):
        next(observation_blocks(model, Dataset(np.arange(20.0), np.zeros((20, 2)), np.zeros((20, 2)))))
    with pytest.raises(DatasetError, match="no velocities or accelerations"):
        next(observation_blocks(Model("spatial_2r"), Dataset(np.arange(20.0), np.zeros((20, 2)), np.zeros((20, 2)))))


def test_blocks_of_any_size_give_the_factor_of_all_rows():
    rng = np.random.default_rng(1)
    rows, tau = rng.normal(size=(500, 3)), rng.normal(size=500)
    factors = SegmentedFactors([np.arange(5)], 5)
    factors.begin(500, 4)
    for first in range(0, 500, 70):
        block = rows[first : first + 70]
        for where, inside in factors.segments_of(first, len(block)):
            factors.add(0, block[inside], np.arange(3), tau[where], tau[where], None)
    segments = factors.finish()
    R = joined([segment.factors[0] for segment in segments])
    whole = np.column_stack([rows, tau, tau])
    np.testing.assert_allclose(R.T @ R, whole.T @ whole, atol=1e-10)
    assert counted([segment.counts for segment in segments], 1).tolist() == [500]
    assert [segment.spans for segment in segments] == [((0, a, a + 125),) for a in range(0, 500, 125)]


def test_one_thread_inside_and_the_number_of_before_afterwards() -> None:
    threadpoolctl = pytest.importorskip("threadpoolctl")

    def threads() -> list[int]:
        return [pool["num_threads"] for pool in threadpoolctl.threadpool_info() if pool["user_api"] == "blas"]

    with threadpoolctl.threadpool_limits(2, user_api="blas"):
        before = threads()
        with one_thread():
            assert threads() and set(threads()) == {1}
        assert threads() == before and max(before) > 1


def test_the_limit_is_asked_of_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    @contextmanager
    def limits(count: int, user_api: str) -> Iterator[None]:
        asked.append((count, user_api))
        yield
        asked.append(("ended", ""))

    monkeypatch.setitem(sys.modules, "threadpoolctl", SimpleNamespace(threadpool_limits=limits))
    with one_thread():
        assert asked == [(1, "blas")]
    assert len(asked) == 2


def test_without_the_package_nothing_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "threadpoolctl", None)
    with one_thread() as held:
        assert held is None


@pytest.mark.parametrize(("samples", "asked", "made"), [(500, 4, 4), (45, 12, 4), (50, 12, 5), (9, 12, 1), (10, 3, 1)])
def test_segments_have_ten_samples_at_least(samples, asked, made):
    factors = SegmentedFactors([np.arange(3)], 3)
    values = np.arange(1.0, samples + 1)
    for _ in range(2):
        factors.begin(samples, asked)
        for where, inside in factors.segments_of(0, samples):
            factors.add(0, values[inside, None], np.arange(1), values[where], values[where], None)
    segments = factors.finish()
    edges = np.linspace(0, samples, made + 1).astype(int)
    spans = [((r, int(a), int(b)),) for r in range(2) for a, b in pairwise(edges)]
    assert [s.spans for s in segments] == spans
    for s in segments:
        _, a, b = s.spans[0]
        assert s.counts.tolist() == [b - a]
        np.testing.assert_allclose(s.factors[0].T @ s.factors[0], np.full((3, 3), values[a:b] @ values[a:b]))


def test_of_too_many_segments_neighbours_are_joined():
    """Thirty recordings of a segment each: at the 25th and again later two become one, and no row is lost."""
    rng = np.random.default_rng(2)
    factors, rows = SegmentedFactors([np.arange(4)], 4), rng.normal(size=(30, 11, 4))
    for block in rows:
        factors.begin(11, 1)
        for where, inside in factors.segments_of(0, 11):
            factors.add(0, block[inside, :2], np.arange(2), block[where, 2], block[where, 3], None)
    segments = factors.finish()
    assert len(segments) == 18  # 25 -> 13, and five more
    assert [span[0] for s in segments for span in s.spans] == list(range(30))
    assert [s.counts[0] for s in segments] == [22] * 12 + [11] * 6
    for s in segments:
        own = rows[[span[0] for span in s.spans]].reshape(-1, 4)
        np.testing.assert_allclose(s.factors[0].T @ s.factors[0], own.T @ own, atol=1e-10)


def test_a_factor_takes_any_number_of_rows():
    """More than a block of rows at once and again, fewer rows than columns, and weights of the rows."""
    rng = np.random.default_rng(3)
    for counts in ([CHUNK + 5, 3, CHUNK], [CHUNK, CHUNK], [2], [CHUNK + 4]):
        factor, seen = _Factor(4), []
        for count in counts:
            rows, share = rng.normal(size=(count, 4)), rng.uniform(size=count)
            assert factor.add(rows[:, :2], np.arange(2), rows[:, 2], rows[:, 3], share) == count
            seen.append(rows * share[:, None])
        R, whole = factor.take(), np.vstack(seen)
        np.testing.assert_allclose(R.T @ R, whole.T @ whole, atol=1e-9)
        assert not np.tril(R, -1).any()
        assert not factor.take().any()  # a new one has begun


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
