"""A compiled function bound once: for many calls of a few samples each."""

from __future__ import annotations

from collections.abc import Callable

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray

from casid.codegen.batch import _checked, _compiled, _loaded, _mapped, compiled_library
from casid.codegen.compiler import find_compiler

Array = NDArray[np.float64]


def bound_batch(function: ca.Function) -> Callable[..., tuple[Array, ...]]:
    """`evaluate_batch` of one function, whose library is looked up once and not at each call.

    Returns
    -------
    callable
        ``(array, ...) -> (values, ...)``: arrays and values as those of `evaluate_batch`, always a tuple. Compiled if
        there is a compiler.
    """
    library = None if find_compiler() is None else _loaded(compiled_library(function))

    def call(*arrays: ArrayLike) -> tuple[Array, ...]:
        inputs, count = _checked(function, arrays)
        values = _mapped(function, inputs, count) if library is None else _compiled(library, function, inputs, count)
        return tuple(values)

    return call
