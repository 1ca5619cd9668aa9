"""Shared libraries from C source, through the user's compiler and the cache."""

from __future__ import annotations

import functools
import os
import platform
import shlex
import shutil
import subprocess
from pathlib import Path

from casid.codegen.cache import cache_directory, cached_file, digest
from casid.errors import ExportError

_CANDIDATES = ("gcc", "clang", "cc")
_FLAGS = ("-std=gnu11", "-O3", "-ffp-contract=fast", "-fPIC", "-shared")
#: Lines of the compiler's output that an error message repeats.
_SHOWN_LINES = 20


def find_compiler() -> list[str] | None:
    """Command of a C compiler: ``$CASID_CC``, ``$CC``, gcc, clang or cc; None if there is none."""
    for variable in ("CASID_CC", "CC"):
        if chosen := os.environ.get(variable):
            command = shlex.split(chosen)
            return command if shutil.which(command[0]) else None
    found = next((path for name in _CANDIDATES if (path := shutil.which(name))), None)
    return None if found is None else [found]


def require_compiler() -> list[str]:
    """`find_compiler`, or ExportError."""
    command = find_compiler()
    if command is None:
        chosen = os.environ.get("CASID_CC") or os.environ.get("CC")
        wish = (
            f"'{chosen}' (from the environment) is not there" if chosen else f"none of {', '.join(_CANDIDATES)} found"
        )
        raise ExportError(f"no C compiler: {wish}; install one, e.g. gcc, or set CASID_CC to its path")
    return command


def compile_shared(source: str, label: str, key: str | None = None) -> Path:
    """Shared library of a C source, from the cache if it is there.

    Parameters
    ----------
    source
        C text.
    label
        Beginning of the file's name.
    key
        What identifies the content instead of the source.

    Raises
    ------
    ExportError
        Without a compiler, or if compiling fails: with the compiler's words and the path of the source, which is kept.
    """
    command = [*require_compiler(), *flags()]
    name = library_name(label, key or source)

    def build(path: Path) -> None:
        code = path.with_suffix(".c")
        code.write_text(source, encoding="utf-8")
        done = subprocess.run(
            [*command, "-o", str(path), str(code), "-lm"], capture_output=True, text=True, check=False
        )
        if done.returncode:
            kept = cache_directory() / f"{Path(name).stem}-failed.c"
            code.replace(kept)
            words = "\n".join(done.stderr.strip().splitlines()[:_SHOWN_LINES])
            raise ExportError(f"{command[0]} could not compile {kept} (kept for you to look at):\n{words}")
        code.unlink()

    return cached_file(name, build)


def library_name(label: str, key: str) -> str:
    """Name of the library in the cache for a content, this machine, compiler and flags."""
    return f"{label}-{digest(key, compiler_identity(tuple(require_compiler())), ' '.join(flags()), _processor())}.so"


def flags() -> tuple[str, ...]:
    """Compiler flags: for speed on this machine; nothing that changes the meaning of floating-point arithmetic."""
    native = ("-march=native",) if platform.machine().lower() in ("x86_64", "amd64") else ()
    return _FLAGS + native


@functools.lru_cache(maxsize=8)
def compiler_identity(command: tuple[str, ...]) -> str:
    """First line that the compiler says about its version."""
    done = subprocess.run([*command, "--version"], capture_output=True, text=True, check=False)
    return (done.stdout or done.stderr).partition("\n")[0]


@functools.lru_cache(maxsize=1)
def _processor() -> str:
    """What ``-march=native`` depends on."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        return next((line for line in lines if line.startswith("flags")), platform.processor())
    except OSError:
        return f"{platform.machine()} {platform.processor()}"
