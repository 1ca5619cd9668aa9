"""Arrays of numbers from npy, npz and MATLAB files.

No pickles, no complex numbers, and no memory is taken before the data are known to be there.
"""

from __future__ import annotations

import io
import math
import struct
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from casid.errors import CasidError
from casid.files._read import data_limit, inflate, unzip
from casid.files._words import reason, shown

Array = NDArray[np.float64]
#: MATLAB's number of a compressed element.
_COMPRESSED = 15


def numeric_array(value: Any, where: str, error: type[CasidError], *, finite: bool = False) -> Array:
    """Real numbers as floats.

    Parameters
    ----------
    value
        Anything array-like.
    where
        What it is, for messages.
    error
        Class of the error to raise.
    finite
        Refuse NaN and infinities.

    Raises
    ------
    CasidError
        Of the class ``error``: text, objects, booleans, ragged rows, complex numbers with an imaginary part.
    """
    try:
        array = np.asarray(value)
    except (ValueError, TypeError, OverflowError) as problem:
        raise error(f"{where}: expected numbers: {reason(problem)}") from None
    if np.iscomplexobj(array):
        if np.any(array.imag != 0):
            raise error(f"{where}: holds complex numbers; give real ones")
        array = array.real
    if array.dtype.kind == "O" and all(type(item) is int for item in array.flat):
        array = np.array([float(item) if abs(item) < 10**300 else math.inf for item in array.flat]).reshape(array.shape)
    if array.dtype.kind not in "fiu":
        kind = {"b": "true or false", "U": "text", "S": "text", "M": "dates", "m": "time differences"}
        raise error(f"{where}: expected numbers, got {kind.get(array.dtype.kind, 'other values')}")
    numbers = array.astype(np.float64)
    bad = np.flatnonzero(~np.isfinite(numbers)) if finite else np.zeros(0, dtype=int)
    if len(bad):
        place = ", ".join(str(int(k)) for k in np.unravel_index(bad[0], numbers.shape))
        raise error(f"{where}: entry ({place}) is not a finite number ({len(bad)} in all)")
    return numbers


def npy_array(content: bytes, where: str, error: type[CasidError]) -> NDArray[Any]:
    """Array of an npy file's content; nothing is allocated before the data are known to be there."""
    stream = io.BytesIO(content)
    try:
        version = np.lib.format.read_magic(stream)
        read: Any = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        shape, fortran, dtype = read(stream)
    except Exception as problem:  # the header is a Python literal: whatever its parser raises
        raise error(f"{where}: not a valid npy file ({reason(problem)})") from None
    if dtype.hasobject:
        raise error(f"{where}: holds Python objects; give plain numbers")
    needed = math.prod(shape) * dtype.itemsize if all(length >= 0 for length in shape) else -1
    if needed < 0 or needed > len(content) - stream.tell():
        raise error(f"{where}: is cut short: {needed} bytes of numbers announced, {len(content) - stream.tell()} there")
    try:
        flat = np.frombuffer(content, dtype, math.prod(shape), stream.tell()) if needed else np.empty(0, dtype)
        array: NDArray[Any] = flat.reshape(shape, order="F" if fortran else "C")
    except (ValueError, MemoryError) as problem:
        raise error(f"{where}: not a valid npy file ({reason(problem)})") from None
    return array


def npz_arrays(content: bytes, path: str, what: str, error: type[CasidError]) -> dict[str, NDArray[Any]]:
    """Arrays of an npz archive by name."""
    members = unzip(content, path, what, error)
    return {
        name.removesuffix(".npy"): npy_array(data, f"{what} '{path}', array {shown(name.removesuffix('.npy'))}", error)
        for name, data in members.items()
        if name.endswith(".npy")
    }


def matlab_arrays(content: bytes, path: str, what: str, error: type[CasidError]) -> dict[str, NDArray[Any]]:
    """Numeric arrays of a MATLAB file (versions 4 to 7.2) by name, singleton dimensions dropped.

    Raises
    ------
    CasidError
        Of the class ``error``; version 7.3 files are HDF5 and have to be saved again with ``save -v7``.
    """
    from scipy.io import loadmat  # slow to import, and only needed here

    if content[:8] == b"\x89HDF\r\n\x1a\n" or content.startswith(b"MATLAB 7.3"):
        raise error(f"cannot read {what} '{path}': a MATLAB 7.3 file; save it again with: save -v7 ...")
    try:
        plain: BinaryIO = io.BytesIO(_uncompressed(content) if content.startswith(b"MATLAB") else content)
        found = loadmat(plain, squeeze_me=True)
    except Exception as problem:  # scipy raises whatever its parser meets
        raise error(f"cannot read {what} '{path}': not a valid MATLAB file ({reason(problem)})") from None
    return {
        name: value
        for name, value in found.items()
        if not name.startswith("__") and isinstance(value, np.ndarray) and np.issubdtype(value.dtype, np.number)
    }


def _uncompressed(content: bytes) -> bytes:
    """A version 5 file with its compressed variables unpacked, within the limit."""
    if len(content) < 128:
        raise ValueError("the file is cut short")
    order = "<" if content[126:128] == b"IM" else ">"
    parts, at, limit = [content[:128]], 128, data_limit()
    while at < len(content):
        if at + 8 > len(content):
            raise ValueError("the file is cut short")
        kind, size = struct.unpack_from(f"{order}II", content, at)
        if at + 8 + size > len(content):
            raise ValueError("the file is cut short")
        body = content[at + 8 : at + 8 + size]
        part = inflate(body, limit) if kind == _COMPRESSED else content[at : at + 8 + size]
        limit -= len(part)
        if limit < 0:
            raise ValueError("it holds too much")
        parts.append(part)
        at += 8 + size
    return b"".join(parts)
