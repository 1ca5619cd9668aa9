"""Threads of the linear algebra that many small factors go through."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext


def one_thread() -> AbstractContextManager[object]:
    """A context in which BLAS and LAPACK use one thread.

    Threads that wait for one another cost an identification four times its work on two cores: its matrices have some
    hundred rows and columns. Without the package threadpoolctl nothing is limited.
    """
    try:
        from threadpoolctl import threadpool_limits
    except ImportError:
        return nullcontext()
    limited: AbstractContextManager[object] = threadpool_limits(1, user_api="blas")
    return limited
