"""A case of the contract, its golden values, and how far values may differ."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

GOLDEN = Path(__file__).parent / "golden"
Values = dict[str, Any]


@dataclass(frozen=True)
class Case:
    """One thing that is computed through public fronts.

    Attributes
    ----------
    run : callable
        Returns plain numbers and text.
    slow : bool
    """

    run: Callable[[], Values]
    slow: bool = True


#: Largest difference that processors and kernels of linear algebra make, relative to a number or to a hundredth of its
#: field's largest one; of the fields named, which rest on a choice among points that are equally good, more.
TOLERANCE, TOLERANCES = 1e-4, {"total_mass": 1e-3}
#: Below this, numbers are zero.
ZERO = 1e-11


def plain(value: Any) -> Any:
    """Numbers to eight digits, infinite ones as text, as JSON holds them."""
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, (bool, str, int)) or value is None:
        return value
    number = float(value)
    return float(f"{number:.8g}") + 0.0 if math.isfinite(number) else str(number)


def golden(group: str) -> dict[str, Values]:
    """Recorded values of a group's cases."""
    path = GOLDEN / f"{group}.json"
    return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}


def write(group: str, values: dict[str, Values]) -> None:
    """A field a line, so that a difference is a line."""
    blocks = []
    for case in sorted(values):
        lines = [f"  {json.dumps(field)}: {json.dumps(value)}" for field, value in values[case].items()]
        blocks.append(f" {json.dumps(case)}: {{\n" + ",\n".join(lines) + "\n }")
    (GOLDEN / f"{group}.json").write_text("{\n" + ",\n".join(blocks) + "\n}\n", encoding="utf-8")


def differences(old: Values, new: Values) -> Iterator[tuple[str, Any, Any]]:
    """Entries of fields that differ, with both values."""
    for field in dict.fromkeys((*old, *new)):
        if field not in old or field not in new:
            yield field, old.get(field, "-"), new.get(field, "-")
            continue
        a, b = dict(_entries(old[field], field)), dict(_entries(new[field], field))
        size = max((abs(x) for x in a.values() if _number(x)), default=0.0)
        allowed = TOLERANCES.get(field, TOLERANCE)
        for key in dict.fromkeys((*a, *b)):
            x, y = a.get(key, "-"), b.get(key, "-")
            close = _number(x) and _number(y) and abs(x - y) <= max(allowed * max(abs(x), size / 100), ZERO)
            if x != y and not close:
                yield key, x, y


def _entries(value: Any, name: str) -> Iterator[tuple[str, Any]]:
    """Numbers and texts within a value, by name."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _entries(item, f"{name}.{key}")
    elif isinstance(value, list):
        for k, item in enumerate(value):
            yield from _entries(item, f"{name}[{k}]")
    else:
        yield name, value


def _number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)
