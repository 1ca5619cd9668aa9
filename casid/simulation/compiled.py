"""Compiled programs of a simulation, and calls of single compiled functions."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from pathlib import Path

import casadi as ca
import numpy as np
from numpy.typing import NDArray

import casid.codegen
from casid.codegen import CFunction, compile_shared, find_compiler, scalar_source
from casid.codegen.cache import cache_directory, digest
from casid.codegen.compiler import library_name
from casid.errors import ExportError

Array = NDArray[np.float64]
#: Beginning of the functions' names in C: unlike any that other libraries export.
PREFIX = "casid_simulated_"
#: A function of arrays that fills arrays of its own and returns them; the next call overwrites them.
Call = Callable[..., tuple[Array, ...]]


def compiled_program(
    functions: Sequence[ca.Function], write: Callable[[Sequence[CFunction]], str], label: str, *content: str
) -> ctypes.CDLL:
    """Library of functions and what is written around them; compiled once for the same content.

    Parameters
    ----------
    functions
        Functions with different names.
    write
        Gives the C source.
    label
        Beginning of the library's name.
    content
        What else the source depends on.
    """
    folder = Path(casid.codegen.__file__).parent
    generator = [path.read_bytes() for path in sorted(folder.glob("*.py"))]
    try:
        key = digest(PREFIX, *(function.serialize() for function in functions), *content, *generator)
    except RuntimeError as error:
        raise ExportError(f"simulation: the functions cannot be compiled: {error}") from error
    path = cache_directory() / library_name(label, key)
    if not path.is_file():
        path = compile_shared(
            write([CFunction(function, f"{PREFIX}{function.name()}") for function in functions]), label, key
        )
    return ctypes.CDLL(str(path))


def compiled_call(function: ca.Function) -> Call:
    """A function as a cheap call: compiled if there is a compiler, else evaluated by CasADi."""
    if find_compiler() is None:
        return _evaluated(function)
    library = compiled_program([function], lambda built: scalar_source(list(built), "casid"), "call")
    routine = library[f"{PREFIX}{function.name()}"]
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
