"""A CasADi function applied again and again to its own result, along a sequence of inputs: compiled, or folded."""

from __future__ import annotations

import ctypes

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray

from casid.codegen.batch import worthwhile_library
from casid.codegen.source import CFunction, scalar_source

Array = NDArray[np.float64]

_STEP = "casid_step"
_LOOP = """
int casid_accumulate(long count, const double *start, const double *drive, const double *p, double *x, double *y)
{{
    long i;
    for (i = 0; i < count; i++) {{
        casid_step(i ? x + (i - 1) * {states} : start, drive + i * {inputs}, p, x + i * {states}, y + i * {outputs});
    }}
    return 0;
}}
"""


def accumulate(
    step: ca.Function, start: ArrayLike, drive: ArrayLike, parameters: ArrayLike, compiled: bool | None = None
) -> tuple[Array, Array]:
    """``x_i, y_i = step(x_{i-1}, u_i, p)``, shapes (N, states) and (N, outputs).

    Parameters
    ----------
    step
        ``(x, u, p) -> (x, y)``, all of them vectors.
    start
        The state before the first step.
    drive
        u, shape (N, inputs).
    parameters
        p, the same for all steps.
    compiled
        As in `evaluate_batch`. Both ways give the same numbers to rounding.
    """
    u, p, x0 = (np.ascontiguousarray(value, dtype=float) for value in (drive, parameters, start))
    states, outputs, count = step.size1_out(0), step.size1_out(1), len(u)
    library = worthwhile_library(step, count, compiled, "accumulate", lambda: _source(step))
    if library is None:
        x, y = step.mapaccum(count)(ca.DM(x0), ca.DM(u.T), ca.repmat(ca.DM(p), 1, count))
        return np.ascontiguousarray(x.full().T), np.ascontiguousarray(y.full().T)
    made = np.empty((count, states)), np.empty((count, outputs))
    pointers = [ctypes.c_void_p(array.ctypes.data) for array in (x0, u, p, *made)]
    library["casid_accumulate"](ctypes.c_long(count), *pointers)
    return made


def _source(step: ca.Function) -> str:
    loop = _LOOP.format(states=step.size1_out(0), inputs=step.size1_in(1), outputs=step.size1_out(1))
    return scalar_source([CFunction(step, _STEP)], "casid") + loop
