"""Adam's epoch in C, for losses that keep the normal equations of every batch."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from functools import cached_property

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from casid.codegen._library import Program, c_name
from casid.codegen._source import CFunction, scalar_source

Array = NDArray[np.float64]
_TEMPLATE = """
#include <math.h>
void casid_adam(const long *counts, const double *settings, const double *A, const double *b, const long *order,
                double *theta, double *first, double *second, double *pi, double *slope, double *back)
{
  const long batches = counts[0], size = counts[1], columns = counts[2];
  const double rate = settings[0], b1 = settings[1], b2 = settings[2];
  double p1 = settings[3], p2 = settings[4];
  for (long k = 0; k < batches; ++k) {
    const double *Ak = A + order[k] * columns * columns, *bk = b + order[k] * columns;
    PARAMETERS(theta, pi);
    for (long i = 0; i < columns; ++i) slope[i] = -2.0 * bk[i];
    for (long j = 0; j < columns; ++j) {
      const double twice = 2.0 * pi[j], *row = Ak + j * columns;
      for (long i = 0; i < columns; ++i) slope[i] += twice * row[i];
    }
    PULLBACK(theta, slope, back);
    p1 *= b1;
    p2 *= b2;
    for (long i = 0; i < size; ++i) {
      first[i] = b1 * first[i] + (1.0 - b1) * back[i];
      second[i] = b2 * second[i] + (1.0 - b2) * back[i] * back[i];
      theta[i] -= rate / (1.0 - p1) * first[i] / (sqrt(second[i] / (1.0 - p2)) + 1e-8);
    }
  }
}
"""


class CompiledAdam:
    """Steps of Adam on ``pi' A_k pi - 2 b_k' pi`` with ``pi = parameters(theta)``, compiled once for the same maps.

    Parameters
    ----------
    parameters
        ``theta -> pi``.
    pullback
        ``(theta, slope) -> (d pi / d theta)' slope``.
    """

    def __init__(self, parameters: ca.Function, pullback: ca.Function) -> None:
        self._maps = parameters, pullback

    @cached_property
    def _routine(self) -> Callable[..., object] | None:
        names = [c_name(function) for function in self._maps]
        template = _TEMPLATE.replace("PARAMETERS", names[0]).replace("PULLBACK", names[1])

        def written(built: Sequence[CFunction]) -> str:
            return scalar_source(list(built), "casid") + template

        library = Program(self._maps, written, "adam", (template,)).load_if(None)
        return None if library is None else library.casid_adam

    def available(self) -> bool:
        """Whether there is a compiler that works."""
        return self._routine is not None

    def epoch(
        self, A: Array, b: Array, order: NDArray[np.intp], settings: tuple[float, float, float], count: int,
        state: tuple[Array, Array, Array],
    ) -> None:  # fmt: skip
        """A step for each batch of ``order``; the state is overwritten.

        Parameters
        ----------
        A, b
            Shapes (batches, columns, columns), symmetric, and (batches, columns).
        order
            Batches in the order in which they are taken.
        settings
            Step size, decay of both moments.
        count
            Steps that were taken before.
        state
            theta and both moments, each of shape (size,).
        """
        columns, (theta, first, second), (rate, *decay) = b.shape[1], state, settings
        counts = np.array([len(order), len(theta), columns], dtype=ctypes.c_long)
        numbers = np.array([rate, *decay, decay[0] ** count, decay[1] ** count])
        arrays = [
            counts, numbers, A, b, order.astype(ctypes.c_long), theta, first, second, np.zeros(columns),
            np.zeros(columns), np.zeros(len(theta)),
        ]  # fmt: skip
        assert self._routine is not None  # see `available`
        self._routine(*(ctypes.c_void_p(array.ctypes.data) for array in arrays))
