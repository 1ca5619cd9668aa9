"""Many samples through one CasADi function: the only place of the library that stacks."""

from __future__ import annotations

from collections.abc import Iterator

import casadi as ca
import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

#: Samples that one mapped graph evaluates.
BLOCK = 256


class Batch:
    """A function of one sample, mapped over blocks of samples, without copies on the way in or out.

    Parameters
    ----------
    function
        All inputs and its single output dense.
    """

    def __init__(self, function: ca.Function) -> None:
        self.shape = (function.size1_out(0), function.size2_out(0))
        self._sizes = [function.nnz_in(i) for i in range(function.n_in())]
        self._mapped = function.map(BLOCK)
        self._buffer, self._run = self._mapped.buffer()
        self._inputs = [np.zeros((BLOCK, size)) for size in self._sizes]
        self._output = np.zeros((BLOCK, self.shape[1], self.shape[0]))
        for i, array in enumerate(self._inputs):
            self._buffer.set_arg(i, memoryview(array))  # type: ignore[call-arg, arg-type]
        self._buffer.set_res(0, memoryview(self._output))  # type: ignore[call-arg, arg-type]

    def blocks(self, *arrays: Array) -> Iterator[tuple[int, Array]]:
        """First sample and values, shape (count, columns, rows), of each block; the array is used again."""
        for first in range(0, len(arrays[0]), BLOCK):
            count = min(BLOCK, len(arrays[0]) - first)
            for place, array in zip(self._inputs, arrays, strict=True):
                place[:count] = array[first : first + count]
            self._run()
            yield first, self._output[:count]

    def __call__(self, *arrays: Array) -> Array:
        """Values at all samples, shape (N, rows, columns)."""
        out = np.empty((len(arrays[0]), *self.shape))
        for first, block in self.blocks(*arrays):
            out[first : first + len(block)] = block.transpose(0, 2, 1)
        return out
