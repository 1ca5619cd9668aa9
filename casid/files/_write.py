"""Files and folders of a result: written beside their final place, flushed to disk, then renamed."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from casid.errors import ExportError
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
