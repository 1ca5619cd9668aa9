"""Columns of the regressor at the samples of recordings."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace

import numpy as np
import pytest

from casid.dynamics import Model
from casid.errors import DatasetError
from casid.measurement import Dataset
from casid.regression._rows import SegmentedFactors, counted, joined, observation_blocks, one_thread, pattern, torques
from casid.testing._synthetic import recording


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
