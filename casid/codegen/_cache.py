"""The folder of compiled code: one file a content hash, so that nothing is compiled twice.

Files are written under a temporary name, flushed to disk and renamed, hence complete whenever they are visible. Beside
each stands its SHA-256, and a file that does not match it is made anew, never loaded. Two processes that compile the
same thing at once write the same bytes to the same names. A folder that belongs to someone else, or that everyone may
write to, is not used: what is loaded from it would run with the user's rights. ``CASID_CACHE`` names another folder.
"""

from __future__ import annotations

import functools
import hashlib
import os
import stat
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from casid.errors import ExportError
from casid.files import flush, reason

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
