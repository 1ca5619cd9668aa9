"""Content of files within limits: bytes, text, arrays; CSV, JSON and TOML as plain values; typed access to tables.

What unpacks to more than the limit is refused. Of arrays: no pickles, no complex numbers.

Tables of CSV have a header and any usual delimiter.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import math
import os
import sys
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, NoReturn, TypeVar

import numpy as np
from numpy.typing import NDArray

from casid.arrays import Array
from casid.errors import CasidError, DatasetError, ExportError
from casid.files._words import listed, near, reason, shown

# ------------------------------------------------------------------ bytes and text

#: Largest text file (TOML, JSON, XML, program) and largest content of a recording [bytes].
TEXT_LIMIT = 16 * 2**20
DATA_LIMIT = 256 * 2**20
#: Most members of an archive.
_MEMBERS = 1000


def data_limit() -> int:
    """Largest content of a recording [bytes]: 256 MiB, or ``CASID_MAX_BYTES`` from the environment."""
    text = os.environ.get("CASID_MAX_BYTES", "")
    if not text:
        return DATA_LIMIT
    if not text.isascii() or not text.isdigit() or len(text) > 18:
        raise ExportError(f"CASID_MAX_BYTES must be a number of bytes, got {shown(text)}")
    return int(text)


def exists(path: Path) -> bool:
    """Whether there is a file or folder; none has a name that the system does not take."""
    try:
        return path.exists()
    except OSError:
        return False


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


def gunzip(content: bytes, path: str, what: str, error: type[CasidError]) -> bytes:
    """Content of a gzip file (all its members); no more than `data_limit` bytes are unpacked."""
    limit = data_limit()
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(content)) as file:
            unpacked = file.read(limit + 1)
    except (OSError, EOFError, zlib.error) as problem:
        raise error(f"cannot read {what} '{path}': not a valid gzip file ({reason(problem)})") from None
    if len(unpacked) > limit:
        raise error(f"cannot read {what} '{path}': {too_large(limit)}")
    return unpacked


def unzip(content: bytes, path: str, what: str, error: type[CasidError]) -> dict[str, bytes]:
    """Members of a zip archive by name; together at most `data_limit` bytes, whatever sizes the archive states."""
    members: dict[str, bytes] = {}
    limit = room = data_limit()
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


# ---------------------------------------------------------------------- arrays


def numeric_array(
    value: Any, where: str, error: type[CasidError], *, finite: bool = False, shape: tuple[int, ...] | None = None
) -> Array:
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
    shape
        Refuse all others: nothing is broadcast.

    Raises
    ------
    CasidError
        Of the class ``error``: text, objects, booleans, ragged rows, complex numbers with an imaginary part, another
        shape.
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
    if shape is not None and array.shape != shape:
        raise error(f"{where}: expected {f'shape {shape}' if shape else 'a number'}, got shape {array.shape}")
    numbers = array.astype(np.float64)
    bad = np.flatnonzero(~np.isfinite(numbers)) if finite else np.zeros(0, dtype=int)
    if len(bad):
        at = tuple(int(k) for k in np.unravel_index(bad[0], numbers.shape))
        raise error(f"{where}: entry {at[0] if len(at) == 1 else at} is not a finite number ({len(bad)} in all)")
    return numbers


def npy_array(content: bytes, where: str, error: type[CasidError]) -> NDArray[Any]:
    """Array of an npy file's content, which must have the bytes that its header announces."""
    try:
        array: NDArray[Any] = np.lib.format.read_array(io.BytesIO(content), allow_pickle=False)
    except Exception as problem:  # the header is a Python literal: whatever its parser raises
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
    from scipy.io import loadmat, whosmat  # slow to import, and only needed here

    if content[:8] == b"\x89HDF\r\n\x1a\n" or content.startswith(b"MATLAB 7.3"):
        raise error(f"cannot read {what} '{path}': a MATLAB 7.3 file; save it again with: save -v7 ...")
    try:
        if 8 * sum(math.prod(shape) for _, shape, _ in whosmat(io.BytesIO(content))) > data_limit():
            raise ValueError(too_large(data_limit()))
        found = loadmat(io.BytesIO(content), squeeze_me=True)
    except Exception as problem:  # scipy raises whatever its parser meets
        raise error(f"cannot read {what} '{path}': not a valid MATLAB file ({reason(problem)})") from None
    return {
        name: value
        for name, value in found.items()
        if not name.startswith("__") and isinstance(value, np.ndarray) and np.issubdtype(value.dtype, np.number)
    }


# ------------------------------------------------------------------ CSV, JSON and TOML

if sys.version_info >= (3, 11):
    import tomllib
else:  # pragma: no cover
    import tomli as tomllib

#: Longest column name, and most columns.
_NAME, _COLUMNS = 200, 10_000
#: What separates cells, where the first line has it; else blanks.
_DELIMITERS = (",", ";", "\t", "|")


@dataclass(frozen=True)
class CsvTable:
    """Header and lines of a CSV text.

    Attributes
    ----------
    header : tuple of str
        Cells of the first line, blanks stripped.
    delimiter : str
        What separates cells: a comma, semicolon, tab, bar, or blanks.
    body : str
        Everything after the first line.
    """

    header: tuple[str, ...]
    delimiter: str
    body: str

    def rows(self, where: str, error: type[CasidError]) -> list[list[str]]:
        """Cells of all lines below the header, blank lines and comments (#) left out; as many cells as the header."""
        lines = (line for line in self.body.splitlines() if line.strip() and not line.startswith("#"))
        if self.delimiter == " ":
            rows = [line.split() for line in lines]
        else:
            try:
                rows = [[cell.strip() for cell in row] for row in csv.reader(lines, delimiter=self.delimiter)]
            except csv.Error as problem:
                raise error(f"{where}: not valid CSV: {reason(problem)}") from None
        for number, row in enumerate(rows, start=1):
            if len(row) != len(self.header):
                raise error(f"{where}: row {number} has {len(row)} cells, the header names {len(self.header)} columns")
        return rows


def csv_table(text: str, where: str, error: type[CasidError]) -> CsvTable:
    """Header and lines of a CSV text; the delimiter is found from the first line.

    Raises
    ------
    CasidError
        Of the class ``error`` if there is no first line, or it cannot be a header.
    """
    lines = text.lstrip("\r\n")
    first, _, body = lines.replace("\r\n", "\n").replace("\r", "\n").partition("\n")
    if not first.strip():
        raise error(f"{where}: is empty")
    delimiter = max(_DELIMITERS, key=first.count)
    if not first.count(delimiter):
        delimiter = " " if len(first.split()) > 1 else ","
    try:
        cells = first.split() if delimiter == " " else next(csv.reader([first], delimiter=delimiter), [])
    except csv.Error as problem:
        raise error(f"{where}: not valid CSV: {reason(problem)}") from None
    header = tuple(cell.strip() for cell in cells)
    if len(header) > _COLUMNS or any(len(name) > _NAME for name in header):
        raise error(f"{where}: the first line must name the columns, at most {_COLUMNS} names of {_NAME} characters")
    return CsvTable(header, delimiter, body)


def csv_bytes(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> bytes:
    """CSV with a header; numbers with all their digits.

    Raises
    ------
    ExportError
        If a number is NaN or infinite; the message names its column and row.
    """
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(header)
    for k, row in enumerate(rows):
        cells = zip(header, row, strict=True)
        writer.writerow([v if isinstance(v, str) else plain(v, f"row {k + 1}, column '{name}'") for name, v in cells])
    return buffer.getvalue().encode()


def read_json(path: str | Path, what: str, error: type[CasidError]) -> Any:
    """Content of a JSON file; see `parse_json`."""
    return parse_json(read_text(path, what, error), f"{what} '{path}'", error)


def parse_json(text: str | bytes, where: str, error: type[CasidError]) -> Any:
    """Plain values of a JSON text.

    Raises
    ------
    CasidError
        Of the class ``error``: not JSON, nested too deeply, a number that is not finite, a key that is given twice.
    """
    try:
        return json.loads(text, parse_constant=_no_constant, parse_float=_finite, object_pairs_hook=_unique)
    except (ValueError, RecursionError, MemoryError) as problem:
        raise error(f"cannot read {where}: not valid JSON: {reason(problem)}") from None


def finite_number(value: object, where: str, error: type[CasidError]) -> float:
    """A finite number, from an int or a float and nothing else."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise error(f"{where}: expected a number, got {shown(value)}")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise error(f"{where}: must be a finite number, got {shown(value)}")
    return number


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a number")


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"the number {shown(text)} is too large")
    return number


def _unique(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        twice = next(key for key, count in Counter(key for key, _ in pairs).items() if count > 1)
        raise ValueError(f"key {shown(twice)} is given twice")
    return found


def json_bytes(record: Mapping[str, Any], indent: int | None = 2) -> bytes:
    """JSON of a record with numpy values in it; one line without an ``indent``.

    Raises
    ------
    ExportError
        If a number is NaN or infinite; the message names its place. ``None`` stands for what is not known.
    """
    return json.dumps(plain(record, ""), indent=indent, ensure_ascii=False, allow_nan=False).encode() + b"\n"


def open_end(value: float) -> float | None:
    """A quantity that may be open, for a record: null where it is infinite; NaN stays and is refused by `plain`."""
    return None if np.isinf(value) else float(value)


def plain(value: Any, where: str) -> Any:
    """Plain Python in place of numpy, mappings and tuples; refuses numbers that are not finite."""
    if isinstance(value, Mapping):
        return {str(key): plain(item, f"{where}.{key}".lstrip(".")) for key, item in value.items()}
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, (list, tuple)):
        return [plain(item, f"{where}[{k}]") for k, item in enumerate(value)]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        raise ExportError(f"result '{where}' is {value}: it is not written; the solve it comes from cannot be trusted")
    return value


#: Largest TOML file [bytes], and most parts of a dotted key or levels of brackets: parsers take quadratic time in them.
_LIMIT, _DEPTH = 8 * 2**20, 100
_BREAKS = str.maketrans(dict.fromkeys(",={}[]\"'#", "\n") | dict.fromkeys(" \t"))


def read_toml(path: str | Path, what: str, error: type[CasidError]) -> dict[str, Any]:
    """Content of a TOML file; see `parse_toml`."""
    return parse_toml(read_text(path, what, error, _LIMIT), Path(path).name, error)


def parse_toml(text: str, where: str, error: type[CasidError]) -> dict[str, Any]:
    """Plain values of a TOML text; ``where`` names its file.

    Raises
    ------
    CasidError
        Of the class ``error`` if it is not TOML, or keys or brackets are nested more than 100 deep.
    """
    dotted = max((word.count(".") for word in text.translate(_BREAKS).split("\n") if len(word) > _DEPTH), default=0)
    if dotted > _DEPTH or "[" * _DEPTH in text or text.count('".') + text.count("'.") > 100 * _DEPTH:
        raise error(f"{where}: not valid TOML: keys or arrays are nested more than {_DEPTH} deep")
    try:
        values: dict[str, Any] = tomllib.loads(text)
    except (ValueError, RecursionError, MemoryError, OverflowError, TypeError) as problem:
        raise error(f"{where}: not valid TOML: {reason(problem)}") from None
    return values


# ------------------------------------------------------------------ tables

_Table = TypeVar("_Table", bound="Table")


class Table:
    """One table of a file; a subclass may set the class of its ``error``.

    Parameters
    ----------
    data
        Its content.
    where
        File and table, for messages, e.g. ``panda.toml: joint 3 'joint3'``.
    known
        All keys it may have; any other is an error that suggests the nearest one.

    Raises
    ------
    CasidError
        Of the class ``error``: on construction for unknown keys; from each method for a missing or mistyped value.
    """

    error: ClassVar[type[CasidError]] = DatasetError

    def __init__(self, data: Mapping[str, Any], where: str, known: Iterable[str]) -> None:
        self.data = data
        self.where = where
        known = tuple(known)
        for key in data:
            if key not in known:
                self.fail(f"unknown key {shown(key)}{near(key, known)} (keys: {listed(known)})")

    def __contains__(self, key: str) -> bool:
        return key in self.data

    def fail(self, message: str) -> NoReturn:
        """Raise an error that starts with file and table."""
        raise self.error(f"{self.where}: {message}")

    def require(self, *keys: str) -> None:
        """Fail unless all ``keys`` are there."""
        missing = [f"'{key}'" for key in keys if key not in self.data]
        if missing:
            self.fail(f"missing {'key' if len(missing) == 1 else 'keys'} {', '.join(missing)}")

    def text(self, key: str, default: str | None = None) -> str:
        """A string that is not empty."""
        value = self._value(key, default)
        if not isinstance(value, str) or not value.strip():
            self._mistyped(key, "a string", value)
        return value

    def choice(self, key: str, choices: Iterable[str]) -> str:
        """One of several strings."""
        value, choices = self.text(key), tuple(choices)
        if value not in choices:
            self.fail(f"key '{key}': {shown(value)} is not one of {listed(choices)}{near(value, choices)}")
        return value

    def number(self, key: str, default: float | None = None, *, infinite: bool = False) -> float:
        """A finite number; also an infinite one where ``infinite``."""
        value = self._value(key, default)
        if not _is_number(value):
            self._mistyped(key, "a number", value)
        return self._finite(key, value, infinite)

    def integer(self, key: str, *, upper: int = 10**9) -> int:
        """An integer from 0 to a bound."""
        value = self._value(key, None)
        if isinstance(value, bool) or not isinstance(value, int):
            self._mistyped(key, "an integer", value)
        if not 0 <= value <= upper:
            self.fail(f"key '{key}': must be from 0 to {upper}, got {shown(value)}")
        return value

    def flag(self, key: str) -> bool:
        """``true`` or ``false``; no other value stands for one."""
        value = self._value(key, None)
        if not isinstance(value, bool):
            self._mistyped(key, "true or false", value)
        return value

    def array(
        self,
        key: str,
        shape: tuple[int, ...],
        default: object | None = None,
        *,
        entries: str = "",
        infinite: bool = False,
    ) -> Array:
        """Nested rows of numbers of a given shape; ``entries`` names them in messages."""
        value = self._value(key, default)
        expected = f"{' x '.join(map(str, shape))} numbers{f' ({entries})' if entries else ''}"
        self._check_shape(key, value, shape, expected)
        flat = [self._finite(key, number, infinite) for number in _leaves(value)]
        return np.array(flat, dtype=float).reshape(shape)

    def numbers(self, key: str) -> Array:
        """A row of any number of finite numbers."""
        value = self._value(key, None)
        if not isinstance(value, list) or not all(map(_is_number, value)):
            self._mistyped(key, "a row of numbers", value)
        if len(value) > 10**6:
            self.fail(f"key '{key}': expected at most 1000000 numbers, got {len(value)}")
        return np.array([self._finite(key, number, False) for number in value], dtype=float)

    def angle(self, key: str, default: float | None = None, infinite: bool = False) -> float:
        """An angle [rad], from ``key`` in radians or ``key_deg`` in degrees."""
        if f"{key}_deg" in self.data:
            self._not_both(key)
            return math.radians(self.number(f"{key}_deg", infinite=infinite))
        if key not in self.data and default is None:
            self.fail(f"missing key '{key}_deg' (degrees) or '{key}' (radians)")
        return self.number(key, default, infinite=infinite)

    def angles(self, key: str, count: int, default: object | None = None) -> Array:
        """Angles [rad], from ``key`` in radians or ``key_deg`` in degrees."""
        if f"{key}_deg" in self.data:
            self._not_both(key)
            return np.radians(self.array(f"{key}_deg", (count,)))
        return self.array(key, (count,), default)

    def interval(self, key: str, default: tuple[float, float]) -> tuple[float, float]:
        """Lower and upper bound, the former not above the latter; infinite where free."""
        lower, upper = map(float, self.array(key, (2,), default, entries="lower, upper", infinite=True))
        if lower > upper:
            self.fail(f"key '{key}': lower bound {lower:g} exceeds upper bound {upper:g}")
        return lower, upper

    def table(self: _Table, key: str, known: Iterable[str]) -> _Table | None:
        """A table below this one, if there."""
        if key not in self.data:
            return None
        value = self.data[key]
        if not isinstance(value, dict):
            self._mistyped(key, "a table", value)
        return type(self)(value, f"{self.where}, {key}", known)

    def tables(self, key: str) -> list[dict[str, Any]]:
        """The array of tables ``[[key]]``, empty if not there."""
        value = self.data.get(key, [])
        if not isinstance(value, list) or not all(isinstance(entry, dict) for entry in value):
            self._mistyped(key, f"an array of tables ([[{key}]])", value)
        return value

    def _value(self, key: str, default: object | None) -> Any:
        if key in self.data:
            return self.data[key]
        if default is None:
            self.require(key)
        return default

    def _not_both(self, key: str) -> None:
        if key in self.data:
            self.fail(f"give either '{key}' or '{key}_deg', not both")

    def _mistyped(self, key: str, expected: str, value: object) -> NoReturn:
        self.fail(f"key '{key}': expected {expected}, got {_described(value)}")

    def _finite(self, key: str, value: float, infinite: bool) -> float:
        try:
            number = float(value)
        except OverflowError:  # an integer beyond all floats
            self.fail(f"key '{key}': must be finite, got {shown(value)}")
        if math.isnan(number):
            self.fail(f"key '{key}': is or holds NaN (not a number)")
        if math.isinf(number) and not infinite:
            self.fail(f"key '{key}': must be finite, got {number}")
        return number

    def _check_shape(self, key: str, value: object, shape: tuple[int, ...], expected: str) -> None:
        if not shape and _is_number(value):
            return
        if not shape or not isinstance(value, (list, tuple)):
            self._mistyped(key, expected, value)
        if len(value) != shape[0]:
            kind = "numbers" if all(map(_is_number, value)) else "entries"
            self.fail(f"key '{key}': expected {expected}, got a row of {len(value)} {kind}")
        for entry in value:
            self._check_shape(key, entry, shape[1:], expected)


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _leaves(value: Any) -> Iterator[float]:
    """Numbers of nested rows, in order."""
    if isinstance(value, (list, tuple)):
        for entry in value:
            yield from _leaves(entry)
    else:
        yield value


def _described(value: object) -> str:
    names = {str: "string", bool: "boolean", int: "number", float: "number", list: "array", dict: "table"}
    return f"the {names.get(type(value), type(value).__name__)} {shown(value)}"
