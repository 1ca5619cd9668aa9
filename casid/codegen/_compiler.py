"""Compiled code, one door to it: C source through the user's compiler to a cache, verified, loaded, or done without.

Files are written under a temporary name, flushed to disk and renamed, hence complete whenever they are visible. Beside
each stands its SHA-256, and a file that does not match it is made anew, never loaded. Two processes that compile the
same thing at once write the same bytes to the same names. A folder that belongs to someone else, or that everyone may
write to, is not used: what is loaded from it would run with the user's rights. ``CASID_CACHE`` names another folder.

Everything that runs machine code of CasADi functions describes it as a `Program` and loads it here. A library in the
cache is loaded only where its checksum agrees and nobody else can have written it; else it is compiled
anew. Where compiled code is a matter of speed alone, a compiler or a cache that does not work costs one
warning, and the caller goes on with CasADi's own evaluation.
"""

from __future__ import annotations

import ctypes
import functools
import hashlib
import importlib.machinery
import importlib.util
import logging
import os
import platform
import shlex
import shutil
import signal
import stat
import subprocess
import sys
import sysconfig
import tempfile
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import TypeVar

import casadi as ca
import numpy as np

from casid.codegen._source import CFunction
from casid.errors import CasidWarning, ExportError
from casid.files import flush, reason

# ------------------------------------------------------------------ cache

_SUFFIXES = (".so", ".o", ".c")
#: Ending of the file that holds the checksum of another.
_CHECKSUM = ".sha256"


def cache_directory() -> Path:
    """``$CASID_CACHE``, else the folder for caches of the user's system.

    Raises
    ------
    ExportError
        If the user has no home folder.
    """
    try:
        if chosen := os.environ.get("CASID_CACHE"):
            return Path(chosen).expanduser().absolute()
        if sys.platform == "darwin":
            return Path.home() / "Library" / "Caches" / "casid"
        if sys.platform == "win32":
            return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local") / "casid" / "cache"
        stated = Path(os.environ.get("XDG_CACHE_HOME") or ".")
        return (stated if stated.is_absolute() else Path.home() / ".cache") / "casid"
    except RuntimeError:
        raise ExportError("no folder for compiled code: there is no home folder; set CASID_CACHE to one") from None


def cache_entries() -> list[Path]:
    """Files of the cache, newest first."""
    files = [path for path in cache_directory().glob("*") if path.suffix in _SUFFIXES]
    return sorted(files, key=lambda path: -path.stat().st_mtime)


def clear_cache() -> int:
    """Remove casid's files from the cache folder; returns how many."""
    entries = cache_entries()
    try:
        for entry in entries:
            entry.unlink(missing_ok=True)
            _checksum_path(entry).unlink(missing_ok=True)
    except OSError as error:
        raise ExportError(f"the cache folder {cache_directory()} cannot be emptied: {reason(error).lower()}") from None
    return len(entries)


def digest(*parts: str | bytes) -> str:
    """Content hash of texts, unambiguous about where one ends and the next begins."""
    hasher = hashlib.sha256()
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        hasher.update(len(data).to_bytes(8, "little") + data)
    return hasher.hexdigest()[:32]


def cached_file(name: str, make: Callable[[Path], None]) -> Path:
    """A file of the cache, intact; if it is not there, ``make`` writes it to the path it is given.

    Raises
    ------
    ExportError
        If the cache folder cannot be written or must not be trusted.
    """
    found = find_cached(name)
    if found is not None:
        return found
    folder = cache_directory()
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        _check_trusted(folder)
        handle, temporary = tempfile.mkstemp(dir=folder, prefix=".", suffix=Path(name).suffix)
        os.close(handle)
    except OSError as error:
        raise ExportError(
            f"the cache folder {folder} cannot be written ({reason(error)}); set CASID_CACHE to another"
        ) from None
    unfinished, path = Path(temporary), folder / name
    checksum = unfinished.with_suffix(_CHECKSUM)
    try:
        make(unfinished)
        checksum.write_text(_checksum(unfinished), encoding="ascii")
        for written in (unfinished, checksum):
            flush(written)
        unfinished.replace(path)
        checksum.replace(_checksum_path(path))
        flush(folder)
    except OSError as error:
        raise ExportError(f"the cache folder {folder} cannot be written ({reason(error)})") from None
    finally:
        unfinished.unlink(missing_ok=True)
        checksum.unlink(missing_ok=True)
    return path


def find_cached(name: str) -> Path | None:
    """A file of the cache if it is there and equal to its checksum.

    Raises
    ------
    ExportError
        If the cache folder must not be trusted.
    """
    folder = cache_directory()
    path = folder / name
    try:
        if not path.is_file():
            return None
        _check_trusted(folder)
        _check_trusted(path)
        status = path.stat()
        stated = _checksum_path(path).read_text(encoding="ascii")
    except (OSError, UnicodeDecodeError):
        return None
    key = (str(path), status.st_ino, status.st_size, status.st_mtime_ns)
    return path if stated == _known_checksum(*key) else None


def _check_trusted(path: Path) -> None:
    """ExportError if somebody else may have written here."""
    if not hasattr(os, "geteuid"):  # Windows: folders of a user are the user's
        return
    status = path.stat()
    if status.st_uid != os.geteuid():
        raise ExportError(
            f"{path} in the cache of compiled code belongs to another user; set CASID_CACHE to a folder of yours"
        )
    if status.st_mode & stat.S_IWOTH:
        raise ExportError(
            f"{path} in the cache of compiled code can be written by everyone; chmod o-w it, or set CASID_CACHE"
        )


def _checksum_path(path: Path) -> Path:
    return path.with_name(path.name + _CHECKSUM)


def _checksum(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


@functools.lru_cache(maxsize=256)
def _known_checksum(path: str, inode: int, size: int, changed: int) -> str:
    """Checksum of a file, computed once for each state of it."""
    return _checksum(Path(path))


# ------------------------------------------------------------------ compiler

_CANDIDATES = ("gcc", "clang", "cc")
_FLAGS = ("-std=gnu11", "-O3", "-ffp-contract=fast", "-fPIC", "-shared")
#: Lines of the compiler's output that an error message repeats.
_SHOWN_LINES = 20
#: How long the compiler may take for a source, and for its version [s].
_COMPILE_SECONDS, _ANSWER_SECONDS = 300.0, 20.0
#: Time of a compilation from which one line of the log speaks of it [s]: a pause that users notice.
_SILENT_SECONDS = 2.0
_LOG = logging.getLogger("casid")


def find_compiler() -> list[str] | None:
    """Command of a C compiler: ``$CASID_CC``, ``$CC``, gcc, clang or cc; None if there is none."""
    for variable in ("CASID_CC", "CC"):
        if chosen := os.environ.get(variable):
            try:
                command = shlex.split(chosen)
            except ValueError:  # a quotation without end
                return None
            return command if command and shutil.which(command[0]) else None
    found = next((path for name in _CANDIDATES if (path := shutil.which(name))), None)
    return None if found is None else [found]


def require_compiler() -> list[str]:
    """`find_compiler`, or ExportError."""
    command = find_compiler()
    if command is None:
        chosen = os.environ.get("CASID_CC") or os.environ.get("CC")
        none = f"none of {', '.join(_CANDIDATES)} found"
        wish = f"'{chosen}' (from the environment) is not there" if chosen else none
        raise ExportError(f"no C compiler: {wish}; install one, e.g. gcc, or set CASID_CC to its path")
    return command


def compile_shared(
    source: str, label: str, key: str | None = None, *, native: bool = True, include: Sequence[Path] = ()
) -> Path:
    """Shared library of a C source, from the cache if it is there.

    Parameters
    ----------
    source
        C text.
    label
        Beginning of the file's name.
    key
        What identifies the content instead of the source.
    native
        Use every instruction of this machine's processor; else the library runs on all of its kind.
    include
        Folders of headers.

    Raises
    ------
    ExportError
        Without a compiler, or if compiling fails: with the compiler's output and the path of the source, which is kept.
    """
    command = [*require_compiler(), *flags(native)]
    name = library_name(label, key or source, native)

    def build(path: Path) -> None:
        # from standard input: the same bytes whatever the name of a temporary file
        arguments = [*command, *(f"-I{folder}" for folder in include), "-x", "c", "-o", str(path), "-", "-lm"]
        done = _run(arguments, source, _COMPILE_SECONDS)
        if not done.returncode and path.stat().st_size:
            return
        kept = cache_directory() / f"{Path(name).stem}-failed.c"
        kept.write_text(source, encoding="utf-8")
        words = done.stderr.strip().splitlines()[:_SHOWN_LINES] or [f"exit code {done.returncode}, no library"]
        raise ExportError(
            f"{command[0]} could not compile {kept} (kept for inspection): "
            f"{next((line for line in words if 'error' in line), words[0])}",
            "\n".join(words),
        )

    return cached_file(name, build)


def library_name(label: str, key: str, native: bool = True) -> str:
    """Name of the library in the cache for a content, this machine, compiler and flags."""
    identity = compiler_identity(tuple(require_compiler()))
    return f"{label}-{digest(key, identity, ' '.join(flags(native)), _processor())}.so"


def flags(native: bool = True) -> tuple[str, ...]:
    """Compiler flags: for speed on this machine; nothing that changes the meaning of floating-point arithmetic."""
    known = native and platform.machine().lower() in ("x86_64", "amd64")
    return (*_FLAGS, "-march=native") if known else _FLAGS


@functools.lru_cache(maxsize=8)
def compiler_identity(command: tuple[str, ...]) -> str:
    """First line of the compiler's answer to ``--version``.

    Raises
    ------
    ExportError
        If it cannot be run or does not answer.
    """
    done = _run([*command, "--version"], "", _ANSWER_SECONDS)
    return (done.stdout or done.stderr).partition("\n")[0]


def _run(command: list[str], text: str, seconds: float) -> subprocess.CompletedProcess[str]:
    """Run a command with a text as its input; it and everything it has started end after so many seconds.

    Raises
    ------
    ExportError
        If it cannot be run or takes longer.
    """
    try:
        process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
            text=True, encoding="utf-8", errors="replace",
        )  # fmt: skip
    except (OSError, ValueError) as error:
        raise ExportError(f"the C compiler '{command[0]}' cannot be run: {reason(error).lower()}") from None
    silent = min(seconds, _SILENT_SECONDS)
    try:
        try:
            out, err = process.communicate(text, timeout=silent)
        except subprocess.TimeoutExpired:
            if silent < seconds:
                _LOG.warning("casid: compiling %.0f kB of C, once: the cache keeps the code", len(text) / 1e3)
            out, err = process.communicate(timeout=seconds - silent)
    except subprocess.TimeoutExpired:
        raise ExportError(f"the C compiler '{command[0]}' did not finish within {seconds:g} s") from None
    finally:
        if process.poll() is None:
            _end(process)
    return subprocess.CompletedProcess(command, process.returncode, out, err)


def _end(process: subprocess.Popen[str]) -> None:
    """End a process and its children, without waiting for their output."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except (AttributeError, OSError):  # no process groups on Windows
        process.kill()
    for pipe in (process.stdin, process.stdout, process.stderr):
        if pipe is not None:
            pipe.close()
    process.wait()


@functools.lru_cache(maxsize=1)
def _processor() -> str:
    """What ``-march=native`` depends on."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        return next((line for line in lines if line.startswith("flags")), platform.processor())
    except OSError:
        return f"{platform.machine()} {platform.processor()}"


T = TypeVar("T")
#: Beginning of the functions' names in C: unlike any that other libraries export.
PREFIX = "casid_compiled_"
#: Work (samples times instructions) from which compiling pays by default: about 50 ms of mapped evaluation.
WORTH_COMPILING = 2e7
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
    prefix : str
        Beginning of the functions' names in C.
    include : tuple of Path
        Folders of headers.
    """

    functions: Sequence[ca.Function]
    write: Callable[[Sequence[CFunction]], str]
    label: str
    content: tuple[str, ...] = ()
    prefix: str = PREFIX
    include: tuple[Path, ...] = ()

    def load(self) -> ctypes.CDLL:
        """The library, compiled unless an intact one is in the cache.

        Raises
        ------
        ExportError
            If there is no C code for a function, no compiler, or the compiler or the cache does not work.
        """
        return self._cached() or load_library(self._compiled())

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
        return without_failure(self.load if work >= WORTH_COMPILING else self._cached)

    def _cached(self) -> ctypes.CDLL | None:
        path = find_cached(library_name(self.label, self._key))
        return None if path is None else load_library(path)

    def _compiled(self) -> Path:
        try:
            source = self.write([CFunction(f, f"{self.prefix}{f.name()}") for f in self.functions])
        except ExportError as error:
            raise _NoCode(str(error)) from error
        return compile_shared(source, self.label, self._key, include=self.include)

    @functools.cached_property
    def _key(self) -> str:
        """What the library depends on: the functions, further content and the code generator."""
        try:
            contents = [content_hash(function) for function in self.functions]
        except RuntimeError as error:
            names = ", ".join(f"'{function.name()}'" for function in self.functions)
            raise _NoCode(f"no compiled code of {names}: {error}") from error
        return digest(PREFIX, *contents, *self.content, _generator())


def content_hash(function: ca.Function) -> str:
    """Hash of a function and of the sweep that its code for one sample runs, by which compiled code is found."""
    sweep = getattr(function, "sweep", None)
    return digest(*(one.serialize() for one in (function, sweep) if one is not None))


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

    A function without C code gives None; a compiler or a cache that is missing or does not work gives None and one
    `CasidWarning` for the whole process.
    """
    command = find_compiler() or []
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
    files = sorted(path for path in Path(__file__).parent.iterdir() if path.suffix in (".py", ".c"))
    return digest(*(path.read_bytes() for path in files))


@functools.lru_cache(maxsize=1)
def bridge() -> ModuleType | None:
    """The compiled module round compiled functions, or None, with a warning, where it cannot be built."""
    headers = [Path(sysconfig.get_path("include")), Path(np.get_include())]
    if not (headers[0] / "Python.h").is_file():
        warnings.warn(
            f"there is no {headers[0] / 'Python.h'}: calls of compiled functions cost some microseconds more; "
            "install the headers of Python (python3-dev)",
            CasidWarning,
            stacklevel=6,
        )
        return None
    return without_failure(lambda: _built_bridge(headers))


def _built_bridge(headers: list[Path]) -> ModuleType:
    source = Path(__file__).with_name("bridge.c").read_text(encoding="utf-8")
    key = digest(source, sys.version, np.__version__)
    path = compile_shared(source, "bridge", key, include=headers)
    load_library(path)  # an ExportError in place of what an import raises
    loader = importlib.machinery.ExtensionFileLoader("casid_bridge", str(path))
    spec = importlib.util.spec_from_loader("casid_bridge", loader)
    if spec is None:
        raise ExportError(f"the compiled module {path} cannot be imported")
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module
