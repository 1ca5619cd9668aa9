"""Evaluation of CasADi functions, by compiled code or by CasADi: at many samples, call by call, along a recursion."""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from casid.arrays import Array
from casid.codegen._compiler import Program, c_name
from casid.codegen._source import CFunction, batch_source, scalar_source
from casid.errors import DatasetError

#: A function of arrays that fills arrays of its own and returns them; the next call overwrites them.
Call = Callable[..., tuple[Array, ...]]

#: Samples that `evaluate_blocks` holds at a time.
BLOCK = 1024
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


def evaluate_batch(
    function: ca.Function,
    *arrays: ArrayLike,
    compiled: bool | None = None,
    threads: int = 1,
    samples: int | None = None,
) -> Array | tuple[Array, ...]:
    """Values of a function at N samples.

    Parameters
    ----------
    function
        ``(x, y, ...) -> (f, ...)``, inputs vectors or matrices.
    arrays
        One array an input: shape (N, length) for a vector, (N, rows, columns) for a matrix, one sample a row; or
        without the leading N the same value for all samples.
    compiled
        True: compiled code (ExportError without a compiler). False: CasADi's own evaluation, mapped. None: compiled if
        the library is in the cache already or there is enough work for compiling to pay; where the compiler or the
        cache does not work, one `CasidWarning` and CasADi's own evaluation.
    threads
        Number of threads that share the samples of compiled code.
    samples
        Number of samples in all, where several such calls evaluate them; decides whether compiling pays.

    Returns
    -------
    ndarray, shape (N, rows, columns)
        A tuple of them if the function has several outputs. Both ways give the same numbers to a few units in the last
        place.

    Raises
    ------
    DatasetError
        If shapes do not fit.
    ExportError
        If compiled code is required and cannot be made.
    """
    inputs, count = _checked(function, arrays)
    library = _library(function, samples or count, compiled)
    results = (
        _mapped(function, inputs, count) if library is None else _compiled(library, function, inputs, count, threads)
    )
    return results[0] if len(results) == 1 else tuple(results)


def evaluate_blocks(
    function: ca.Function, *arrays: ArrayLike, block: int = BLOCK, compiled: bool | None = None
) -> Iterator[tuple[int, Array]]:
    """Like `evaluate_batch` for a function with one output, a block of samples at a time: bounded memory.

    Yields
    ------
    first : int
        Index of the block's first sample.
    values : ndarray, shape (samples of the block, rows, columns)
    """
    inputs, count = _checked(function, arrays)
    library = _library(function, count, compiled)
    for first in range(0, count, block):
        size = min(block, count - first)
        part = [value if len(value) == 1 else value[first : first + size] for value in inputs]
        values = _mapped(function, part, size) if library is None else _compiled(library, function, part, size)
        yield first, values[0]


def bound_batch(function: ca.Function) -> Callable[..., tuple[Array, ...]]:
    """`evaluate_batch` of one function, whose library is looked up once and not at each call.

    Returns
    -------
    callable
        ``(array, ...) -> (values, ...)``: arrays and values as those of `evaluate_batch`, always a tuple. Compiled if
        a compiler works.
    """
    library = _batch_program(function).load_if(None)

    def call(*arrays: ArrayLike) -> tuple[Array, ...]:
        inputs, count = _checked(function, arrays)
        values = _mapped(function, inputs, count) if library is None else _compiled(library, function, inputs, count)
        return tuple(values)

    return call


def compiled_call(function: ca.Function) -> Call:
    """A function of one sample as a cheap call: compiled if a compiler works, else evaluated by CasADi."""
    library = Program([function], lambda built: scalar_source(list(built), "casid"), "call").load_if(None)
    if library is None:
        return _evaluated(function)
    routine = library[c_name(function)]
    inputs = [np.zeros(max(1, function.numel_in(i))) for i in range(function.n_in())]
    outputs = tuple(np.zeros(function.numel_out(o)) for o in range(function.n_out()))
    pointers = [ctypes.c_void_p(array.ctypes.data) for array in (*inputs, *outputs)]
    sizes = [function.numel_in(i) for i in range(function.n_in())]

    def call(*arguments: Array) -> tuple[Array, ...]:
        for place, value, size in zip(inputs, arguments, sizes, strict=True):
            if size:
                place[:] = value.ravel()
        routine(*pointers)
        return outputs

    return call


def _evaluated(function: ca.Function) -> Call:
    def call(*arguments: Array) -> tuple[Array, ...]:
        values = function.call([ca.DM(value) for value in arguments])
        return tuple(np.array(value.full()).ravel() for value in values)

    return call


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


def _checked(function: ca.Function, arrays: Sequence[ArrayLike]) -> tuple[list[Array], int]:
    """Inputs as (N or 1, size) arrays, and N."""
    if len(arrays) != function.n_in():
        raise DatasetError(f"function '{function.name()}' takes {function.name_in()}, got {len(arrays)} arrays")
    inputs: list[Array] = []
    lengths: dict[int, str] = {}
    for i, given in enumerate(arrays):
        value = np.asarray(given, dtype=float)
        rows, columns = function.size1_in(i), function.size2_in(i)
        single: list[tuple[int, ...]] = [(rows, columns), (rows,)] if columns == 1 else [(rows, columns)]
        single += [()] if rows * columns == 1 else []
        if value.shape in single:
            inputs.append(np.ascontiguousarray(value).reshape(1, rows * columns))
        elif value.ndim >= 1 and value.shape[1:] in single:
            inputs.append(np.ascontiguousarray(value).reshape(len(value), rows * columns))
            lengths.setdefault(len(value), function.name_in(i))
        else:
            raise DatasetError(
                f"function '{function.name()}': input '{function.name_in(i)}' expects shape (N, {rows}"
                f"{f', {columns}' if columns > 1 else ''}) or one sample of it, got {value.shape}"
            )
    if len(lengths) > 1:
        words = ", ".join(f"{count} of '{name}'" for count, name in lengths.items())
        raise DatasetError(f"function '{function.name()}': different numbers of samples: {words}")
    return inputs, next(iter(lengths), 1)


@functools.lru_cache(maxsize=8)
def _dense_map(function: ca.Function, size: int) -> ca.Function:
    """The function of so many samples at once, its values dense; those of the last few are kept."""
    symbols = [ca.MX.sym(function.name_in(i), *function.size_in(i)) for i in range(function.n_in())]
    dense = ca.Function(function.name(), symbols, [ca.densify(value) for value in function.call(symbols)])
    return dense.map(size)


def _mapped(function: ca.Function, inputs: list[Array], count: int) -> list[Array]:
    """CasADi's own evaluation, straight from and into numpy's memory.

    Empty inputs are left out: numpy gives no memory of their own to them, and CasADi refuses a pointer into its own.
    """
    rows = [function.size1_out(o) for o in range(function.n_out())]
    columns = [function.size2_out(o) for o in range(function.n_out())]
    results = [np.empty((count, r, c)) for r, c in zip(rows, columns, strict=True)]
    mapped, size = function, 0
    for start in range(0, count, _MAPPED_CHUNK):
        if size != min(_MAPPED_CHUNK, count - start):
            size = min(_MAPPED_CHUNK, count - start)
            mapped = _dense_map(function, size)
        buffer, run = mapped.buffer()
        held = []
        for i, value in enumerate(inputs):
            if not value.shape[1]:
                continue
            shape = (function.size1_in(i), function.size2_in(i))
            part = np.broadcast_to(value if len(value) == 1 else value[start : start + size], (size, value.shape[1]))
            held.append(np.ascontiguousarray(part.reshape(size, *shape).transpose(0, 2, 1)))  # columns are contiguous
            buffer.set_arg(i, memoryview(held[-1]))  # type: ignore[call-arg, arg-type]
        values = [np.empty((size, c, r)) for r, c in zip(rows, columns, strict=True)]
        for o, value in enumerate(values):
            buffer.set_res(o, memoryview(value))  # type: ignore[call-arg, arg-type]
        run()
        for result, value in zip(results, values, strict=True):
            result[start : start + size] = value.transpose(0, 2, 1)
    return results


def mapped(function: ca.Function, inputs: list[Array], head: tuple[int, ...]) -> list[Array]:
    """CasADi's own evaluation of one sample or of ``head`` samples: inputs of one, or with a first axis of them."""
    if not head:
        return [np.array(value.full()) for value in function.call([ca.DM(value) for value in inputs])]
    flat = [
        value.reshape(-1, function.numel_in(i)) if value.size else np.zeros((1, 0)) for i, value in enumerate(inputs)
    ]
    return _mapped(function, flat, *head)


def _batch_program(function: ca.Function) -> Program:
    return Program([function], lambda built: batch_source(list(built), "casid"), "batch")


def _library(function: ca.Function, count: int, compiled: bool | None) -> ctypes.CDLL | None:
    """Compiled code for so many samples; None where CasADi evaluates the function."""
    return _batch_program(function).load_if(compiled, count * function.n_instructions())


def _compiled(
    library: ctypes.CDLL, function: ca.Function, inputs: list[Array], count: int, threads: int = 1
) -> list[Array]:
    call = library[f"{c_name(function)}_batch"]
    results = [np.zeros((count, function.size1_out(o), function.size2_out(o))) for o in range(function.n_out())]

    def run(start: int, size: int) -> None:
        arguments: list[object] = [ctypes.c_long(size)]
        for value in inputs:
            step = 0 if len(value) == 1 else value.shape[1]
            arguments += [ctypes.c_void_p(value.ctypes.data + 8 * start * step), ctypes.c_long(step)]
        for result in results:
            arguments.append(ctypes.c_void_p(result.ctypes.data + 8 * start * result[0].size))
        call(*arguments)

    if threads <= 1 or count < 2 * threads:
        if count:
            run(0, count)
        return results
    bounds = np.linspace(0, count, threads + 1).astype(int)
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(lambda i: run(int(bounds[i]), int(bounds[i + 1] - bounds[i])), range(threads)))
    return results
