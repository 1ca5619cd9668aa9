"""Typed access to the tables of a TOML or JSON file, with messages that name file, table and key."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, ClassVar, NoReturn, TypeVar

import numpy as np

from casid.arrays import Array
from casid.errors import CasidError, DatasetError
from casid.files._words import listed, near, shown

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

    def angle(self, key: str, default: float | None = None) -> float:
        """An angle [rad], from ``key`` in radians or ``key_deg`` in degrees."""
        if f"{key}_deg" in self.data:
            self._not_both(key)
            return math.radians(self.number(f"{key}_deg", infinite=True))
        if key not in self.data and default is None:
            self.fail(f"missing key '{key}_deg' (degrees) or '{key}' (radians)")
        return self.number(key, default, infinite=True)

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
