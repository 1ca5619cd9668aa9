"""How much a bag unpacks to, found before it is read: compressed chunks of MCAP files and packed files are counted."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any, BinaryIO

from casid.errors import DatasetError
from casid.files._read import data_limit, too_large

#: Record of an MCAP file that holds a chunk of messages (https://mcap.dev/spec).
_CHUNK = 0x06
_MAGIC = 8
_PIECE = 2**20


def check_bag_size(path: Path) -> None:
    """Refuse a bag whose files, or what they unpack to, are beyond the limit of recordings.

    Raises
    ------
    DatasetError
        Naming the file.
    """
    files = sorted(file for file in path.iterdir() if file.is_file()) if path.is_dir() else [path]
    total = 0
    for file in files:
        total += file.stat().st_size
        if total <= data_limit():
            with file.open("rb") as stream:
                if file.suffix == ".mcap":
                    total += _unpacked_chunks(stream, data_limit() - total)
                elif file.suffix == ".zstd":
                    total += _unpacked_file(stream, data_limit() - total)
        if total > data_limit():
            raise DatasetError(f"cannot read recording '{file}': {too_large(data_limit())}")


def _unpacked_chunks(stream: BinaryIO, room: int) -> int:
    """Bytes that the compressed chunks of an MCAP file unpack to; stops beyond ``room``, and where records end."""
    stream.seek(_MAGIC)
    total = 0
    while total <= room and len(head := stream.read(9)) == 9:
        operation, size = struct.unpack("<BQ", head)
        if operation != _CHUNK:
            if size > 2**62:
                break
            stream.seek(size, 1)
            continue
        body = stream.read(min(size, room + _PIECE))
        if len(body) < 40:
            break
        name_length = struct.unpack_from("<I", body, 28)[0]
        name, data = body[32 : 32 + min(name_length, 8)], body[40 + name_length :]
        total += _unpacked(name, data, room - total)
    return total


def _unpacked(name: bytes, data: bytes, room: int) -> int:
    """Length of a chunk's content, up to a little more than ``room``; a damaged chunk counts what can be unpacked."""
    if name == b"zstd":
        stream: Any = _zstd().ZstdDecompressor()
    elif name == b"lz4":
        import lz4.frame

        stream = lz4.frame.LZ4FrameDecompressor()
    else:
        return 0
    total = 0
    try:
        while not stream.eof and total <= room:
            piece = stream.decompress(data, _PIECE)
            data = b""
            total += len(piece)
            if not piece and stream.needs_input:
                break
    except Exception:  # each library has errors of its own; the reader that follows reports the damage
        return total
    return total


def _unpacked_file(stream: BinaryIO, room: int) -> int:
    total = 0
    try:
        with _zstd().open(stream, "rb") as file:
            while total <= room and (piece := file.read(_PIECE)):
                total += len(piece)
    except Exception:  # as above
        return total
    return total


def _zstd() -> Any:
    """The module that the package rosbags brings, or Python's own from 3.14 on."""
    from importlib import import_module

    try:
        return import_module("compression.zstd")
    except ImportError:
        return import_module("backports.zstd")
