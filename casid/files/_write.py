"""Files and folders of a result: written beside their final place, flushed to disk, then renamed; journals.

The first line says what the file belongs to.
"""

from __future__ import annotations

import math
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from casid.errors import CasidError, ExportError
from casid.files._read import json_bytes, parse_json, read_bytes
from casid.files._words import reason


def prepare_directory(path: str | Path) -> Path:
    """Create a folder for results, parents included, and make sure that files can be written to it.

    Raises
    ------
    ExportError
        If the folder cannot be made or written to, or the path is a file.
    """
    directory = Path(path)
    try:
        directory.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=directory):
            pass
    except (FileExistsError, NotADirectoryError):
        raise ExportError(f"output folder '{directory}': a file of that name exists; choose another folder") from None
    except (OSError, ValueError) as error:
        raise ExportError(f"output folder '{directory}' cannot be written: {reason(error).lower()}") from None
    return directory


def write_files(directory: str | Path, contents: Mapping[str, bytes | str]) -> list[Path]:
    """Write a set of files into an existing folder: all to temporary files in the same folder, then all renamed.

    Parameters
    ----------
    contents
        File name, with a sub-folder's name and a slash before it if need be -> content; text is written in UTF-8.

    Returns
    -------
    list of Path

    Raises
    ------
    ExportError
        If one cannot be written (folder missing or read-only, disk full, a name that is a folder's); then none of them
        has changed.
    """
    directory = Path(directory)
    if "" in contents or ".." in contents:
        raise ExportError(f"'{directory}' is a folder; give the name of a file to write")
    final = [directory / name for name in contents]
    temporary = [path.with_name(f".{path.name}.{os.getpid()}.tmp") for path in final]
    try:
        for name, path, content in zip(contents, temporary, contents.values(), strict=True):
            if "/" in name:
                path.parent.mkdir(exist_ok=True)
            write_through(path, content)
        blocked = [target.name for target in final if target.is_dir()]
        if blocked:
            raise OSError(f"{blocked[0]} is a folder")
        for path, target in zip(temporary, final, strict=True):
            path.replace(target)
        flush(directory)
    except (OSError, ValueError) as error:
        names = ", ".join(contents)
        raise ExportError(f"cannot write {names} to '{directory}': {reason(error).lower()}") from None
    finally:
        for path in temporary:
            with suppress(OSError, ValueError):
                path.unlink(missing_ok=True)
    return final


def write_directory(
    target: str | Path, contents: Mapping[str, bytes | str], *, overwrite: bool = False
) -> tuple[Path, ...]:
    """Write a folder of files, sub-folders in their names allowed: all of it appears, or nothing.

    Parameters
    ----------
    target
        The folder; its parents are made.
    contents
        Name, e.g. ``src/main.c`` -> content.
    overwrite
        Replace files of these names in a folder that exists; other files in it are left alone.

    Raises
    ------
    ExportError
        If the target is a file, a folder with content (unless ``overwrite``), or cannot be written.
    """
    target = Path(target)
    check_target(target, overwrite)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        staging = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
        try:
            for name, content in contents.items():
                (staging / name).parent.mkdir(parents=True, exist_ok=True)
                write_through(staging / name, content)
            staging.chmod(0o755)
            if target.is_dir():
                for name in contents:
                    (target / name).parent.mkdir(parents=True, exist_ok=True)
                    (staging / name).replace(target / name)
            else:
                staging.replace(target)
            flush(target.parent)
        finally:
            shutil.rmtree(staging, ignore_errors=True)
    except (OSError, ValueError) as error:
        raise ExportError(f"folder '{target}' cannot be written: {reason(error).lower()}") from None
    return tuple(target / name for name in contents)


def check_target(target: str | Path, overwrite: bool) -> None:
    """ExportError if `write_directory` may not write this folder."""
    target = Path(target)
    if target.exists() and not target.is_dir():
        raise ExportError(f"'{target}' is a file; choose another folder")
    if target.is_dir() and any(target.iterdir()) and not overwrite:
        raise ExportError(f"folder '{target}' exists and is not empty; choose another, or ask to overwrite it")


def write_through(path: Path, content: bytes | str) -> None:
    """Write a new file and flush it to disk; OSError as the system raises it."""
    with path.open("wb") as file:
        file.write(content.encode("utf-8") if isinstance(content, str) else content)
        file.flush()
        os.fsync(file.fileno())


def flush(path: Path) -> None:
    """Force a file, or the names in a folder, to disk, where the system knows how."""
    with suppress(OSError):  # Windows does not open folders, and some file systems cannot
        handle = os.open(path, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


# ------------------------------------------------------------------ journals

#: Largest journal [bytes].
LIMIT = 2**30


def journal_lines(
    path: Path, header: Mapping[str, Any], differs: Mapping[str, str], what: str, error: type[CasidError]
) -> list[bytes]:
    """Results in a journal of an earlier run; an incomplete last line, left by a kill, does not count.

    Parameters
    ----------
    header
        Its first line: an entry that marks the format, then those of ``differs``.
    differs
        Entry of the header -> what the file belongs to where it is another.
    what
        Kind of file, for messages.
    error
        Raised where it is damaged or belongs to something else.
    """
    try:
        if path.exists() and not path.is_file():
            raise error(f"{what} '{path}' is not a regular file; choose another name")
        if not path.exists() or not path.stat().st_size:
            return []
    except (OSError, ValueError) as problem:
        raise error(f"{what} '{path}' cannot be read: {reason(problem).lower()}") from None
    content = read_bytes(path, what, error, LIMIT)
    *complete, last = content.split(b"\n")
    if not complete and _line(header).startswith(last):
        return []  # killed while it wrote its first line
    try:
        found = parse_json(complete[0], "the first line", error) if complete else None
    except error:
        found = None
    mark = next(iter(header))
    if not isinstance(found, dict) or found.get(mark) != header[mark]:
        raise error(f"'{path}' is not a {what} of this version of casid; it is left as it is: choose another name")
    for key, words in differs.items():
        if found.get(key) != header[key]:
            raise error(f"{what} '{path}' belongs to {words}; it is left as it is: choose another name")
    return complete[1:]


@contextmanager
def journal(
    path: Path, header: Mapping[str, Any], what: str, error: type[CasidError]
) -> Iterator[Callable[[Mapping[str, Any]], None]]:
    """A function that appends a result to a journal, which no other process may open meanwhile."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        file = path.open("a+b", buffering=0)
    except (OSError, ValueError) as problem:
        raise error(f"{what} '{path}' cannot be written: {reason(problem).lower()}") from None
    with file:
        _lock(file, path, what, error)
        file.seek(0)
        content = file.read()
        whole = content.rfind(b"\n") + 1
        if whole < len(content):
            file.truncate(whole)  # an incomplete last line

        def write(stored: Mapping[str, Any]) -> None:
            try:
                rest = memoryview(_line(stored))
                while rest:
                    rest = rest[file.write(rest) :]
                os.fsync(file.fileno())
            except OSError as problem:
                words = f"{what} '{path}' cannot be written: {reason(problem).lower()}"
                raise error(f"{words}; what is in it is kept: make room and start again") from None

        if not whole:
            write(header)
        yield write


def _line(stored: Mapping[str, Any]) -> bytes:
    """One line of a journal; JSON has no infinity, it is written as text."""
    plain = {k: str(v) if isinstance(v, float) and not math.isfinite(v) else v for k, v in stored.items()}
    return json_bytes(plain, indent=None)


def _lock(file: Any, path: Path, what: str, error: type[CasidError]) -> None:
    try:
        import fcntl
    except ImportError:  # no such thing on Windows
        return
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        raise error(f"{what} '{path}' is in use by another process") from None
