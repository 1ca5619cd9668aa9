"""The one door to compiled code: compile, verify, keep in the cache, load, or do without.

Everything that runs machine code of CasADi functions describes it as a `Program` and loads it here. A library in the
cache is loaded only where its checksum agrees and nobody else can have written it (`casid.codegen._cache`); else it is
compiled anew. Where compiled code is a matter of speed alone, a compiler or a cache that does not work costs one
warning, and the caller goes on with CasADi's own evaluation.
"""

from __future__ import annotations

import ctypes
import functools
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import casadi as ca

from casid.codegen._cache import cache_directory, digest, find_cached
from casid.codegen._compiler import compile_shared, find_compiler, library_name
from casid.codegen._source import CFunction
from casid.errors import CasidWarning, ExportError
from casid.files._words import reason

T = TypeVar("T")
#: Beginning of the functions' names in C: unlike any that other libraries export.
PREFIX = "casid_compiled_"
#: Work (samples times instructions) from which compiling pays by default: about 50 ms of mapped evaluation.
_WORTH_COMPILING = 2e7
#: Compilers and cache folders that have failed in this process: each causes one warning and is not tried again.
_UNUSABLE: set[tuple[str, ...]] = set()


class _NoCode(ExportError):
    """A function that has no C code, whatever the compiler."""


@dataclass(frozen=True, eq=False)
class Program:
    """C code around CasADi functions, compiled once for the same content.

    Attributes
    ----------
    functions : sequence of Function
        With different names; in C each is called `PREFIX` and its name.
    write : callable
        ``(C functions) -> C source``; called only where the library is not in the cache.
    label : str
        Beginning of the library's name.
    content : tuple of str
        What the source depends on beside the functions and the code generator.
    """

    functions: Sequence[ca.Function]
    write: Callable[[Sequence[CFunction]], str]
    label: str
    content: tuple[str, ...] = ()

    def load(self) -> ctypes.CDLL:
        """The library, compiled unless an intact one is in the cache.

        Raises
        ------
        ExportError
            If there is no C code for a function, no compiler, or the compiler or the cache does not work.
        """
        path = find_cached(library_name(self.label, self._key))
        return load_library(self._compiled() if path is None else path)

    def load_if(self, compiled: bool | None, work: float = float("inf")) -> ctypes.CDLL | None:
        """The library, or None where the functions are to be evaluated by CasADi.

        Parameters
        ----------
        compiled
            True: `load`. False: None. None: the library if it is in the cache already or compiling pays; a compiler or
            a cache that does not work costs one `CasidWarning`.
        work
            Number of evaluations times number of instructions; default: so many that compiling pays.

        Raises
        ------
        ExportError
            As `load`, if compiled code is required.
        """
        if compiled is not None:
            return self.load() if compiled else None
        return without_failure(self.load if work >= _WORTH_COMPILING else self._cached)

    def _cached(self) -> ctypes.CDLL | None:
        path = find_cached(library_name(self.label, self._key))
        return None if path is None else load_library(path)

    def _compiled(self) -> Path:
        try:
            source = self.write([CFunction(function, c_name(function)) for function in self.functions])
        except ExportError as error:
            raise _NoCode(str(error)) from error
        return compile_shared(source, self.label, self._key)

    @functools.cached_property
    def _key(self) -> str:
        """What the library depends on: the functions, further content and the code generator."""
        try:
            serialized = [function.serialize() for function in self.functions]
        except RuntimeError as error:
            names = ", ".join(f"'{function.name()}'" for function in self.functions)
            raise _NoCode(f"no compiled code of {names}: {error}") from error
        return digest(PREFIX, *serialized, *self.content, _generator())


def c_name(function: ca.Function) -> str:
    """Name of a function in the library of a `Program`."""
    return f"{PREFIX}{function.name()}"


def load_library(path: Path) -> ctypes.CDLL:
    """A shared library that `compile_shared` or `find_cached` has given.

    Raises
    ------
    ExportError
        If it is no library of this machine.
    """
    try:
        return ctypes.CDLL(str(path))
    except OSError as error:
        raise ExportError(f"the compiled library {path} cannot be loaded: {reason(error)}") from None


def without_failure(build: Callable[[], T | None]) -> T | None:
    """What is built with compiled code, or None where that is not possible and slower evaluation has to do.

    A missing compiler and a function without C code give None; a compiler or a cache that does not work gives None and
    one `CasidWarning` for the whole process.
    """
    command = find_compiler()
    if command is None:
        return None
    place = tuple(command)
    try:
        place = (*command, str(cache_directory()))
        return None if place in _UNUSABLE else build()
    except _NoCode:
        return None
    except ExportError as error:
        _UNUSABLE.add(place)
        warnings.warn(f"compiled code is not used, which is slower: {error}", CasidWarning, stacklevel=4)
        return None


@functools.lru_cache(maxsize=1)
def _generator() -> str:
    """Content hash of this package."""
    files = sorted(Path(__file__).parent.glob("*.py"))
    return digest(*(path.read_bytes() for path in files))
