"""The published tables of the data folder, as numbers and linear forms."""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from measures.measure import data_folder

#: J2xx -> Lxx2, c3z*m3 -> lz3, L1yy -> Lyy1, l3z -> lz3, L_xx2 -> Lxx2, l_x2 -> lx2, m_3 -> m3.
_RENAMES = (
    (re.compile(r"\bc(\d)([xyz])\*m\1\b"), r"l\2\1"),
    (re.compile(r"\b[JL](\d)([xyz]{2})\b"), r"L\2\1"),
    (re.compile(r"\bl(\d)([xyz])\b"), r"l\2\1"),
    (re.compile(r"\b([LlmF])_(\w+)\b"), r"\1\2"),
    (re.compile(r"\bF([vco]\w+)\b"), r"f\1"),
)


def table(name: str) -> list[dict[str, str]]:
    """Rows of ``published/<name>.csv``."""
    path: Path = data_folder() / "published" / f"{name}.csv"
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


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
