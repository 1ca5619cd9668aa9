"""Bytes and text of files within limits: plain, gzip, members of a zip; what unpacks to more is refused on the way."""

from __future__ import annotations

import io
import os
import zipfile
import zlib
from pathlib import Path

from casid.errors import CasidError, ExportError
from casid.files._words import reason, shown

#: Largest text file (TOML, JSON, XML, program) and largest content of a recording [bytes].
TEXT_LIMIT = 16 * 2**20
DATA_LIMIT = 256 * 2**20
#: Most members of an archive, and bytes that are unpacked at a time.
_MEMBERS, _CHUNK = 1000, 2**20


def data_limit() -> int:
    """Largest content of a recording [bytes]: 256 MiB, or ``CASID_MAX_BYTES`` from the environment."""
    text = os.environ.get("CASID_MAX_BYTES", "")
    if not text:
        return DATA_LIMIT
    if not text.isascii() or not text.isdigit() or len(text) > 18:
        raise ExportError(f"CASID_MAX_BYTES must be a number of bytes, got {shown(text)}")
    return int(text)


def read_bytes(path: str | Path, what: str, error: type[CasidError], limit: int = TEXT_LIMIT) -> bytes:
    """Content of a file of at most ``limit`` bytes.

    Raises
    ------
    CasidError
        Of the class ``error``: there is no such file, it is a folder or a device, cannot be read, or is too large.
    """
    path = Path(path)
    try:
        if path.is_dir():
            raise error(f"cannot read {what} '{path}': it is a folder")
        if path.exists() and not path.is_file():
            raise error(f"cannot read {what} '{path}': it is not a regular file")
        with path.open("rb") as file:
            content = file.read(min(limit, os.fstat(file.fileno()).st_size) + 1)
    except (OSError, ValueError, MemoryError) as problem:  # ValueError: a null character in the path
        raise error(f"cannot read {what} '{path}': {reason(problem)}") from None
    if len(content) > limit:
        raise error(f"cannot read {what} '{path}': {too_large(limit)}")
    return content


def too_large(limit: int) -> str:
    """Words for content beyond a limit."""
    hint = "; set CASID_MAX_BYTES to allow more" if limit == data_limit() else ""
    return f"it holds more than {limit / 2**20:.4g} MiB{hint}"


def read_text(path: str | Path, what: str, error: type[CasidError], limit: int = TEXT_LIMIT) -> str:
    """Text of a file in UTF-8, with or without a byte order mark.

    Raises
    ------
    CasidError
        Of the class ``error``, as `read_bytes` does, or if the content is not text.
    """
    return decode(read_bytes(path, what, error, limit), str(path), what, error)


def decode(content: bytes, path: str, what: str, error: type[CasidError]) -> str:
    """Text of bytes in UTF-8; ``error`` names the first byte that is not."""
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        found = f"byte {problem.start} is 0x{content[problem.start]:02x}"
        raise error(f"cannot read {what} '{path}': it is not text in UTF-8 ({found})") from None


def gunzip(content: bytes, path: str, what: str, error: type[CasidError], limit: int | None = None) -> bytes:
    """Content of a gzip file (all its members), unpacked piece by piece up to ``limit`` bytes."""
    limit = data_limit() if limit is None else limit
    unpacked = io.BytesIO()
    rest = content
    try:
        while rest.strip(b"\0"):
            stream = zlib.decompressobj(31)
            while not stream.eof:
                piece = stream.decompress(rest, _CHUNK)
                rest = stream.unused_data if stream.eof else stream.unconsumed_tail
                if not stream.eof and not piece and not rest:
                    raise error(f"cannot read {what} '{path}': the gzip file is cut short")
                unpacked.write(piece)
                if unpacked.tell() > limit:
                    raise error(f"cannot read {what} '{path}': {too_large(limit)}")
    except zlib.error as problem:
        raise error(f"cannot read {what} '{path}': not a valid gzip file ({reason(problem)})") from None
    return unpacked.getvalue()


def inflate(content: bytes, limit: int) -> bytes:
    """Unpack one zlib stream; ValueError beyond ``limit`` bytes or where it is cut short."""
    stream = zlib.decompressobj()
    try:
        unpacked = stream.decompress(content, limit + 1)
    except zlib.error as problem:
        raise ValueError(f"damaged compressed data ({problem})") from None
    if len(unpacked) > limit:
        raise ValueError(too_large(limit))
    if not stream.eof:
        raise ValueError("compressed data are cut short")
    return unpacked


def unzip(content: bytes, path: str, what: str, error: type[CasidError], limit: int | None = None) -> dict[str, bytes]:
    """Members of a zip archive by name; together at most ``limit`` bytes, whatever sizes the archive states."""
    limit = data_limit() if limit is None else limit
    members: dict[str, bytes] = {}
    room = limit
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            entries = archive.infolist()
            if len(entries) > _MEMBERS:
                raise error(f"cannot read {what} '{path}': the archive has more than {_MEMBERS} members")
            for entry in entries:
                if entry.filename in members:
                    raise error(
                        f"cannot read {what} '{path}': the archive has two members named {shown(entry.filename)}"
                    )
                if entry.file_size > room:
                    raise error(f"cannot read {what} '{path}': {too_large(limit)}")
                with archive.open(entry) as file:
                    members[entry.filename] = file.read(entry.file_size + 1)
                room -= len(members[entry.filename])
    except CasidError:
        raise
    except Exception as problem:  # zipfile and zlib raise more than a dozen classes for damaged archives
        raise error(f"cannot read {what} '{path}': not a valid archive ({reason(problem)})") from None
    return members
