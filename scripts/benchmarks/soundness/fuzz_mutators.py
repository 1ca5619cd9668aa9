"""Ways to spoil a file: of bytes, of text, of arrays. Every one takes a generator and returns new content."""

from __future__ import annotations

import functools
import gzip
import io
import re
import zipfile
import zlib
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

Generator = np.random.Generator
#: What stands in place of a number or word.
NUMBERS = (
    "nan", "NaN", "inf", "-inf", "Infinity", "1e308", "-1e308", "1e-320", "1e999", "0", "-0.0", "-1", "3.5",
    "9" * 400, "18446744073709551616", "0x10", "1_000", "01", "1e", "--1", "1;2", "1,5", "1+2j",
)  # fmt: skip
WORDS = (
    '"false"', "true", "false", "null", "None", '""', '"x"', "[]", "{}", "[[1], [1, 2]]", "[true]", '["a"]',
    "1979-05-27", '"nan"', "'''", '"' + "y" * 5000 + '"', '"a\\u0000b"',
)  # fmt: skip
CHARACTERS = (
    "\U000e0001",
    "\u2028",
    "\ufeff",
    "\u202e",
    "\x00",
    "\x1b[31m",
    "é",
    "𝟙",
    "$",
    "[/x]",
    "<",
    "&",
    "'",
    '"',
    "\\",
)
_NUMBER = re.compile(rb"[-+]?\d+\.?\d*(?:[eE][-+]?\d+)?")
_VALUE = re.compile(rb'"[^"\n]*"|[-+]?\d+\.?\d*(?:[eE][-+]?\d+)?|true|false|null')


# ---------------------------------------------------------------------- bytes


def truncated(content: bytes, rng: Generator) -> bytes:
    return content[: rng.integers(0, max(len(content), 1))]


def flipped(content: bytes, rng: Generator) -> bytes:
    spoilt = bytearray(content)
    for _ in range(int(rng.integers(1, 9))):
        if spoilt:
            spoilt[rng.integers(len(spoilt))] ^= 1 << int(rng.integers(8))
    return bytes(spoilt)


def inserted(content: bytes, rng: Generator) -> bytes:
    at = int(rng.integers(0, len(content) + 1))
    return content[:at] + rng.bytes(int(rng.integers(1, 40))) + content[at:]


def removed(content: bytes, rng: Generator) -> bytes:
    at = int(rng.integers(0, len(content) + 1))
    return content[:at] + content[at + int(rng.integers(1, 200)) :]


def doubled(content: bytes, rng: Generator) -> bytes:
    first, last = np.sort(rng.integers(0, len(content) + 1, 2))
    return content[:last] + content[first:last] + content[last:]


def overwritten(content: bytes, rng: Generator) -> bytes:
    at, length = int(rng.integers(0, len(content) + 1)), int(rng.integers(1, 16))
    filler = bytes([int(rng.choice([0, 255, 127, 128]))]) * length
    return content[:at] + filler + content[at + length :]


def extreme(content: bytes, rng: Generator) -> bytes:
    return [b"", b"\n", b"\x00" * 100, b"\xff\xfe" + content, content * 3, b"PK\x03\x04", b"\x1f\x8b"][rng.integers(7)]


BYTES = (truncated, truncated, flipped, flipped, inserted, removed, doubled, overwritten, extreme)


# ---------------------------------------------------------------------- text


def _replaced(content: bytes, pattern: re.Pattern[bytes], new: bytes, rng: Generator) -> bytes:
    found = list(pattern.finditer(content))
    if not found:
        return content + new
    chosen = found[rng.integers(len(found))]
    return content[: chosen.start()] + new + content[chosen.end() :]


def other_number(content: bytes, rng: Generator) -> bytes:
    return _replaced(content, _NUMBER, str(rng.choice(NUMBERS)).encode(), rng)


def other_type(content: bytes, rng: Generator) -> bytes:
    return _replaced(content, _VALUE, str(rng.choice(WORDS)).encode(), rng)


def many_numbers(content: bytes, rng: Generator) -> bytes:
    new = str(rng.choice(NUMBERS)).encode()
    share = rng.random()
    return _NUMBER.sub(lambda match: new if rng.random() < share else match[0], content)


def other_lines(content: bytes, rng: Generator) -> bytes:
    lines = content.split(b"\n")
    one, two = rng.integers(0, len(lines), 2)
    kind = rng.integers(4)
    if kind == 0:
        del lines[one]
    elif kind == 1:
        lines.insert(one, lines[two])
    elif kind == 2:
        lines[one], lines[two] = lines[two], lines[one]
    else:
        lines[one] = b""
    return b"\n".join(lines)


def unicode(content: bytes, rng: Generator) -> bytes:
    at = int(rng.integers(0, len(content) + 1))
    return content[:at] + str(rng.choice(CHARACTERS)).encode() + content[at:]


def nested(content: bytes, rng: Generator) -> bytes:
    depth = int(rng.choice([50, 2000, 100_000]))
    opening, closing = [(b"[", b"]"), (b'{"a":', b"}"), (b"<a>", b"</a>"), (b"(", b")"), (b"a.", b"")][rng.integers(5)]
    return _replaced(content, _VALUE, opening * depth + b"1" + closing * depth, rng)


def repeated_key(content: bytes, rng: Generator) -> bytes:
    keys = list(re.finditer(rb'"(\w+)"\s*:|^(\w+)\s*=', content, re.M))
    if len(keys) < 2:
        return doubled(content, rng)
    one, two = keys[rng.integers(len(keys))], keys[rng.integers(len(keys))]
    return content[: one.start()] + two[0] + content[one.end() :]


def long_word(content: bytes, rng: Generator) -> bytes:
    filler = [b"q" * 50_000, b"1" * 50_000, b"_" * 50_000, b" " * 50_000, b"q1" * 20_000, b"\\" * 5000][rng.integers(6)]
    at = int(rng.integers(0, len(content) + 1))
    return content[:at] + filler + content[at:]


TEXT = (
    other_number, other_number, other_number, other_type, other_type, many_numbers, other_lines, unicode, nested,
    repeated_key, long_word,
)  # fmt: skip


# ---------------------------------------------------------------------- arrays


def other_arrays(arrays: Mapping[str, np.ndarray], rng: Generator) -> dict[str, np.ndarray]:
    """Arrays of which one has other values, another type or shape, or is missing."""
    spoilt: dict[str, Any] = dict(arrays)
    name = str(rng.choice(list(spoilt)))
    value = np.array(spoilt[name])
    kind = int(rng.integers(12))
    if kind < 4 and value.size:
        value = value.astype(float)
        value.flat[rng.integers(value.size)] = rng.choice([np.nan, np.inf, -np.inf, 1e308, -1e308, 1e-320])
    elif kind == 4:
        value = value * (1 + 1j)
    elif kind == 5:
        value = value.astype(str)
    elif kind == 6:
        value = value > 0
    elif kind == 7:
        value = value.T
    elif kind == 8:
        value = value[: rng.integers(0, len(value) + 1)] if value.ndim else value
    elif kind == 9:
        value = value[..., None, None]
    elif kind == 10:
        value = value.astype(rng.choice(["f2", "i1", ">f8", "u8", "c8"]))
    else:
        del spoilt[name]
        return spoilt
    spoilt[name] = value
    return spoilt


# ---------------------------------------------------------------------- bombs


@functools.cache
def gzip_bomb() -> bytes:
    """2 GB of zeros, 2 MB packed."""
    piece = gzip.compress(bytes(2**26), 6)
    return piece * 32


@functools.cache
def zip_bomb() -> bytes:
    """An npz with an array that unpacks to 1.5 GB."""
    buffer = io.BytesIO()
    with (
        zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive,
        archive.open("q.npy", "w") as file,
    ):
        header = io.BytesIO()
        np.lib.format.write_array_header_1_0(header, {"descr": "<f8", "fortran_order": False, "shape": (24 * 2**20, 8)})
        file.write(header.getvalue())
        for _ in range(24):
            file.write(bytes(2**26))
    return buffer.getvalue()


@functools.cache
def matlab_bomb() -> bytes:
    """A MATLAB file whose variable unpacks to 2 GB."""
    stream = zlib.compressobj(6)
    header = stream.compress(b"") + stream.flush(zlib.Z_FULL_FLUSH)
    block = stream.compress(bytes(2**26)) + stream.flush(zlib.Z_FULL_FLUSH)
    body = header + 32 * block  # its end does not matter: nobody should get there
    return b"MATLAB 5.0 MAT-file".ljust(124) + b"\x00\x01IM" + np.array([15, len(body)], "<u4").tobytes() + body


@functools.cache
def large_text() -> bytes:
    """More text than any description has."""
    return b"# a comment line that says nothing at all, again and again\n" * 600_000


Mutator = Callable[[bytes, Generator], bytes]


def spoil(content: bytes, mutators: tuple[Mutator, ...], rng: Generator) -> bytes:
    """Content after one to three mutations."""
    for _ in range(int(rng.choice([1, 1, 1, 2, 3]))):
        content = mutators[rng.integers(len(mutators))](content, rng)
        if len(content) > 2**26:
            break
    return content
