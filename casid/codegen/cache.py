"""The folder of compiled code: one file a content hash, so that nothing is compiled twice.

Files are written under a temporary name and renamed, hence complete whenever they are visible; two processes that
compile the same thing at once write the same bytes to the same name. ``CASID_CACHE`` names another folder.
"""

from __future__ import annotations

import hashlib
import os
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from casid.errors import ExportError

_SUFFIXES = (".so", ".o", ".c")


@dataclass(frozen=True)
class CacheEntry:
    """One file of the cache: path, size [bytes] and time of last change [s since 1970]."""

    path: Path
    size: int
    changed: float


def cache_directory() -> Path:
    """``$CASID_CACHE``, else the folder for caches of the user's system."""
    if chosen := os.environ.get("CASID_CACHE"):
        return Path(chosen).expanduser()
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "casid"
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA", Path.home() / "AppData" / "Local")) / "casid" / "cache"
    return Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "casid"


def cache_entries() -> list[CacheEntry]:
    """Files of the cache, newest first."""
    folder = cache_directory()
    if not folder.is_dir():
        return []
    entries = []
    for path in folder.iterdir():
        if path.suffix in _SUFFIXES:
            status = path.stat()
            entries.append(CacheEntry(path, status.st_size, status.st_mtime))
    return sorted(entries, key=lambda entry: -entry.changed)


def clear_cache() -> int:
    """Remove casid's files from the cache folder; returns how many."""
    entries = cache_entries()
    for entry in entries:
        entry.path.unlink(missing_ok=True)
    return len(entries)


def digest(*parts: str | bytes) -> str:
    """Content hash of texts, unambiguous about where one ends and the next begins."""
    hasher = hashlib.sha256()
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        hasher.update(len(data).to_bytes(8, "little") + data)
    return hasher.hexdigest()[:32]


def cached_file(name: str, make: Callable[[Path], None]) -> Path:
    """A file of the cache; if it is not there yet, ``make`` writes it to the path it is given.

    Raises
    ------
    ExportError
        If the cache folder cannot be written.
    """
    folder = cache_directory()
    path = folder / name
    if path.is_file():
        return path
    try:
        folder.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=folder, prefix=".", suffix=Path(name).suffix)
        os.close(handle)
    except OSError as error:
        raise ExportError(
            f"the cache folder {folder} cannot be written ({error.strerror}); set CASID_CACHE to another"
        ) from error
    unfinished = Path(temporary)
    try:
        make(unfinished)
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)
    return path
