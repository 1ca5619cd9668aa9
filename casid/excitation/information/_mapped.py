"""Evaluation of a CasADi function at many samples at once, numpy in and out."""

from __future__ import annotations

from collections.abc import Sequence

import casadi as ca
import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


class Mapped:
    """A function mapped over ``count`` samples, called through fixed buffers (no copies by CasADi).

    Inputs that are column vectors of m entries have shape (count, m), as a `casid.motion.Motion` holds them; matrices,
    and all outputs, are arrays whose last axis runs over the samples: (m, count) and (rows, columns, count).
    """

    def __init__(self, function: ca.Function, count: int, constant: Sequence[str] = ()) -> None:
        names = function.name_in()
        fixed = [names.index(name) for name in constant]
        mapped = (
            function.map(f"{function.name()}_{count}", "serial", count, fixed, []) if fixed else function.map(count)
        )
        self._shapes = [function.size_out(k) for k in range(function.n_out())]
        self._count = count
        self._inputs = [np.zeros(mapped.nnz_in(k)) for k in range(mapped.n_in())]
        self._outputs = [np.zeros(mapped.nnz_out(k)) for k in range(mapped.n_out())]
        self._buffer, self._evaluate = mapped.buffer()
        self._function = mapped  # keeps it alive
        for k, array in enumerate(self._inputs):
            self._buffer.set_arg(k, memoryview(array))  # type: ignore[call-arg, arg-type]
        for k, array in enumerate(self._outputs):
            self._buffer.set_res(k, memoryview(array))  # type: ignore[call-arg, arg-type]

    def __call__(self, *values: Array | float) -> list[Array]:
        """Evaluate; the arrays returned are fresh."""
        for array, value in zip(self._inputs, values, strict=True):
            array[:] = np.asarray(value, dtype=float).ravel() if np.ndim(value) < 3 else _flat(np.asarray(value))
        self._evaluate()
        results = []
        for array, (rows, columns) in zip(self._outputs, self._shapes, strict=True):
            block = array.reshape(self._count, columns, rows)  # CasADi stores by columns
            results.append(block[:, 0].T.copy() if columns == 1 else block.transpose(2, 1, 0).copy())
        return results


def _flat(value: Array) -> Array:
    """Entries of a (rows, columns, count) array in CasADi's order."""
    return np.ascontiguousarray(value.transpose(2, 1, 0)).ravel()
