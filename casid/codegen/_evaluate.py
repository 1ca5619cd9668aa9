"""CasADi's own evaluation at many samples, and recursions in compiled code."""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Sequence

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from casid.arrays import Array
from casid.codegen._compiler import Program
from casid.codegen._source import CFunction, scalar_source

#: Samples that a mapped function evaluates in one call: few, so that building it costs less than evaluating it.
_MAPPED_CHUNK = 512
_LOOP = """
int casid_accumulate(long count, const double *start, const double *drive, const double *p, double *x, double *y)
{{
    long i;
    for (i = 0; i < count; i++) {{
        {step}(i ? x + (i - 1) * {states} : start, drive + i * {inputs}, p, x + i * {states}, y + i * {outputs});
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
        True: compiled code. False: CasADi's evaluation. None: compiled where that pays. Both agree to rounding.
    """
    u, p, x0 = (np.ascontiguousarray(value, dtype=float) for value in (drive, parameters, start))
    states, outputs, count = step.size1_out(0), step.size1_out(1), len(u)
    program = Program([step], _recursion_source, "accumulate")
    library = program.load_if(compiled, count * step.n_instructions())
    if library is None:
        x, y = step.mapaccum(count)(ca.DM(x0), ca.DM(u.T), ca.repmat(ca.DM(p), 1, count))
        return np.ascontiguousarray(x.full().T), np.ascontiguousarray(y.full().T)
    made = np.empty((count, states)), np.empty((count, outputs))
    pointers = [ctypes.c_void_p(array.ctypes.data) for array in (x0, u, p, *made)]
    library["casid_accumulate"](ctypes.c_long(count), *pointers)
    return made


def _recursion_source(built: Sequence[CFunction]) -> str:
    (step,) = built
    (x, u, _), (_, y) = step.inputs, step.outputs
    loop = _LOOP.format(step=step.name, states=x.size, inputs=u.size, outputs=y.size)
    return scalar_source([step], "casid") + loop


@functools.lru_cache(maxsize=8)
def _dense_map(function: ca.Function, size: int) -> ca.Function:
    """The function of so many samples at once, its values dense; those of the last few are kept."""
    symbols = [ca.MX.sym(function.name_in(i), *function.size_in(i)) for i in range(function.n_in())]
    dense = ca.Function(function.name(), symbols, [ca.densify(value) for value in function.call(symbols)])
    return dense.map(size)


def mapped(function: ca.Function, inputs: list[Array], head: tuple[int, ...]) -> list[Array]:
    """CasADi's own evaluation of one sample or of ``head`` samples: inputs of one, or with a first axis of them.

    Straight from and into numpy's memory. Empty inputs are left out: numpy gives no memory of their own to them, and
    CasADi refuses a pointer into its own.
    """
    if not head:
        return [np.array(value.full()) for value in function.call([ca.DM(value) for value in inputs])]
    (count,) = head
    flat = [value.reshape(-1, function.numel_in(i)) if value.size else None for i, value in enumerate(inputs)]
    rows = [function.size1_out(o) for o in range(function.n_out())]
    columns = [function.size2_out(o) for o in range(function.n_out())]
    results = [np.empty((count, r, c)) for r, c in zip(rows, columns, strict=True)]
    chunk, size = function, 0
    for start in range(0, count, _MAPPED_CHUNK):
        if size != min(_MAPPED_CHUNK, count - start):
            size = min(_MAPPED_CHUNK, count - start)
            chunk = _dense_map(function, size)
        buffer, run = chunk.buffer()
        held = []
        for i, value in enumerate(flat):
            if value is None:
                continue
            shape = (function.size1_in(i), function.size2_in(i))
            part = np.broadcast_to(value if len(value) == 1 else value[start : start + size], (size, value.shape[1]))
            held.append(np.ascontiguousarray(part.reshape(size, *shape).transpose(0, 2, 1)))  # columns are contiguous
            buffer.set_arg(i, memoryview(held[-1]))  # type: ignore[call-arg, arg-type]
        values = [np.empty((size, c, r)) for r, c in zip(rows, columns, strict=True)]
        for o, place in enumerate(values):
            buffer.set_res(o, memoryview(place))  # type: ignore[call-arg, arg-type]
        run()
        for result, found in zip(results, values, strict=True):
            result[start : start + size] = found.transpose(0, 2, 1)
    return results
