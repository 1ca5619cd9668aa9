"""One thread of the linear algebra, and the setting of before after it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace

import pytest

from casid.identification._linear_algebra import one_thread


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
