"""JSON: read without NaN, infinities and repeated keys; written from records with numpy values."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from casid.errors import CasidError, ExportError
from casid.files.limits import TEXT_LIMIT, read_text
from casid.files.words import reason, shown


def read_json(path: str | Path, what: str, error: type[CasidError], limit: int = TEXT_LIMIT) -> Any:
    """Content of a JSON file; see `parse_json`."""
    return parse_json(read_text(path, what, error, limit), f"{what} '{path}'", error)


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


def json_bytes(record: Mapping[str, Any]) -> bytes:
    """JSON of a record with numpy values in it.

    Raises
    ------
    ExportError
        If a number is NaN or infinite; the message says where. ``None`` stands for what is not known.
    """
    return json.dumps(plain(record, ""), indent=2, ensure_ascii=False, allow_nan=False).encode() + b"\n"


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
