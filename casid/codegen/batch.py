"""A CasADi function at many samples at once: compiled for vectors of samples, or mapped where there is no compiler."""

from __future__ import annotations

import ctypes
import functools
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray

from casid.codegen.cache import cache_directory, digest, find_cached
from casid.codegen.compiler import compile_shared, find_compiler, library_name
from casid.codegen.source import CFunction, batch_source
from casid.errors import CasidWarning, DatasetError, ExportError
from casid.files import reason

Array = NDArray[np.float64]

#: Work (samples times instructions) from which compiling pays, if nothing is said: about 50 ms of mapped evaluation.
_WORTH_COMPILING = 2e7
#: Samples that `evaluate_blocks` holds at a time.
BLOCK = 1024
#: Samples that a mapped function evaluates in one call: few, so that building it costs less than evaluating it.
_MAPPED_CHUNK = 512
_SYMBOL = "casid_function"
#: Compilers and cache folders that have failed in this process: each is warned of once and not tried again.
_UNUSABLE: set[tuple[str, ...]] = set()


def evaluate_batch(
    function: ca.Function, *arrays: ArrayLike, compiled: bool | None = None, threads: int = 1, calls: int = 1
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
        the library is in the cache already, or if there is a compiler and enough work for it to pay.
    threads
        Number of threads that share the samples of compiled code.
    calls
        How many such calls are to come: tells whether compiling pays.

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
        If compiled code is asked for and cannot be had.
    """
    inputs, count = _checked(function, arrays)
    library = _library(function, count * calls, compiled)
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
    """CasADi's own evaluation, straight from and into numpy's memory."""
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


def _library(function: ca.Function, count: int, compiled: bool | None) -> ctypes.CDLL | None:
    """Compiled code for so many samples; None where CasADi's own evaluation is asked for, pays more, or has to do.

    Where nothing is said of compiling, a compiler or cache that does not work is named in one warning and left alone.
    """
    return worthwhile_library(
        function, count, compiled, "batch", lambda: batch_source([CFunction(function, _SYMBOL)], "casid")
    )


def worthwhile_library(
    function: ca.Function, count: int, compiled: bool | None, label: str, write: Callable[[], str]
) -> ctypes.CDLL | None:
    """Library of the code that is written around a function, where compiling it pays.

    Parameters
    ----------
    function
        What the code depends on.
    count
        How many times it will be evaluated.
    compiled
        As in `evaluate_batch`.
    label
        Kind of code: beginning of the library's name.
    write
        Gives the C source.
    """
    if compiled is not None:
        return _loaded(_built(function, label, write)) if compiled else None
    command = find_compiler()
    if command is None:
        return None
    place: tuple[str, ...] = tuple(command)
    try:
        place = (*command, str(cache_directory()))
        if place in _UNUSABLE:
            return None
        path = find_cached(library_name(label, _key(function)))
        if path is None and count * function.n_instructions() >= _WORTH_COMPILING:
            path = _built(function, label, write)
        return None if path is None else _loaded(path)
    except _NoCode:
        return None
    except ExportError as error:
        _UNUSABLE.add(place)
        warnings.warn(f"compiled code is not used, which is slower: {error}", CasidWarning, stacklevel=4)
        return None


class _NoCode(ExportError):
    """A function that has no C code, whatever the compiler."""


def _loaded(path: Path) -> ctypes.CDLL:
    try:
        return ctypes.CDLL(str(path))
    except OSError as error:
        raise ExportError(f"the compiled library {path} cannot be loaded: {reason(error)}") from None


def _compiled(
    library: ctypes.CDLL, function: ca.Function, inputs: list[Array], count: int, threads: int = 1
) -> list[Array]:
    call = library[f"{_SYMBOL}_batch"]
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


def compiled_library(function: ca.Function) -> Path:
    """Library with the batched C code of a function, compiled unless it is in the cache."""
    return _built(function, "batch", lambda: batch_source([CFunction(function, _SYMBOL)], "casid"))


def _built(function: ca.Function, label: str, write: Callable[[], str]) -> Path:
    path = find_cached(library_name(label, _key(function)))
    if path is not None:
        return path
    try:
        source = write()
    except ExportError as error:
        raise _NoCode(str(error)) from error
    return compile_shared(source, label, _key(function))


def _key(function: ca.Function) -> str:
    """What the compiled code depends on: the function and the code generator."""
    try:
        content = function.serialize()
    except RuntimeError as error:
        raise _NoCode(f"function '{function.name()}' cannot be compiled: {error}") from error
    return digest(content, _generator())


@functools.lru_cache(maxsize=1)
def _generator() -> str:
    """Content hash of this package."""
    files = sorted(Path(__file__).parent.glob("*.py"))
    return digest(*(path.read_bytes() for path in files))
