"""The published tables of the data folder, as numbers and linear forms."""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from benchmarks.measure import data_folder
from casid.errors import DatasetError
from casid.files import read_toml
from casid.inertia import from_standard, to_standard

#: J2xx -> Lxx2, c3z*m3 -> lz3, L1yy -> Lyy1, l3z -> lz3, L_xx2 -> Lxx2, l_x2 -> lx2, m_3 -> m3.
_RENAMES = (
    (re.compile(r"\bc(\d)([xyz])\*m\1\b"), r"l\2\1"),
    (re.compile(r"\b[JL](\d)([xyz]{2})\b"), r"L\2\1"),
    (re.compile(r"\bl(\d)([xyz])\b"), r"l\2\1"),
    (re.compile(r"\b([LlmF])_(\w+)\b"), r"\1\2"),
    (re.compile(r"\bF([vco]\w+)\b"), r"f\1"),
)

#: Rows of each table.
_ROWS: dict[str, int] = read_toml(Path(__file__).with_suffix(".toml"), "tables", DatasetError)


def table(name: str) -> list[dict[str, str]]:
    """Rows of ``published/<name>.csv``.

    Raises
    ------
    NotMeasured
        Without the data folder.
    DatasetError
        If there is no such table, or it has another number of rows than the printed one.
    """
    path: Path = data_folder() / "published" / f"{name}.csv"
    if name not in _ROWS or not path.is_file():
        raise DatasetError(f"published/{name}.csv: the data folder has no such table")
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    if len(rows) != _ROWS[name]:
        raise DatasetError(f"published/{name}.csv: the table has {_ROWS[name]} rows, this file has {len(rows)}")
    return rows


def number(text: str) -> float:
    """A cell as a number; NaN where it is blank or says "don't care"."""
    try:
        return float(text)
    except ValueError:
        return float("nan")


def column(rows: Sequence[dict[str, str]], name: str) -> np.ndarray:
    """A column as numbers, see `number`."""
    return np.array([number(row[name]) for row in rows])


def by_name(parameters: np.ndarray) -> dict[str, float]:
    """Masses, centres of mass and inertias about them of standard parameters, by the tables' names: m1, c1x, I1xx."""
    found: dict[str, float] = {}
    for k, ten in enumerate(parameters.reshape(-1, 10), start=1):
        mass, com, inertia = from_standard(ten)
        found[f"m{k}"] = mass
        found |= {f"c{k}{axis}": float(com[i]) for i, axis in enumerate("xyz")}
        found |= {f"I{k}{'xyz'[i]}{'xyz'[j]}": float(inertia[i, j]) for i in range(3) for j in range(i, 3)}
    return found


def standard_of(values: Mapping[str, float], links: int) -> np.ndarray:
    """Inverse of `by_name`, shape (10 links,)."""
    bodies = []
    for k in range(1, links + 1):
        inertia = np.array([[values[f"I{k}{min(a, b)}{max(a, b)}"] for a in "xyz"] for b in "xyz"])
        bodies.append(to_standard(values[f"m{k}"], np.array([values[f"c{k}{a}"] for a in "xyz"]), inertia))
    return np.concatenate(bodies)


def linear_form(expression: str, names: Sequence[str]) -> np.ndarray:
    """Coefficients of a printed linear form in the named standard parameters.

    The form is evaluated at unit vectors: products of two parameters other than ``c m`` would not be linear, and names
    that are not in ``names`` raise.
    """
    for pattern, replacement in _RENAMES:
        expression = pattern.sub(replacement, expression)
    if not re.fullmatch(r"[\w\s.+\-*()]+", expression):
        raise ValueError(f"not a linear form: {expression}")
    code = compile(expression, "<linear form>", "eval")
    used = set(code.co_names)
    unknown = used - set(names)
    if unknown:
        raise ValueError(f"unknown parameters {sorted(unknown)} in: {expression}")
    zero = dict.fromkeys(used, 0.0)
    return np.array([eval(code, {"__builtins__": {}}, {**zero, name: 1.0}) if name in used else 0.0 for name in names])
