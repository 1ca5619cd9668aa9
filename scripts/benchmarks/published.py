"""The published tables of the data folder, as numbers and linear forms."""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from benchmarks.measure import data_folder
from casid.errors import DatasetError
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
_ROWS = {
    "panda_ral_table_I_validation_sinusoids": 7,
    "panda_table_I_friction": 3,
    "panda_table_II_trajectory": 11,
    "panda_table_III_dynamic_coefficients": 64,
    "panda_table_IV_mse": 2,
    "panda_table_V_engine_torque_errors": 4,
    "panda_table_VIII_masses_coms": 28,
    "panda_table_IX_inertias": 42,
    "spatial_2R_table_VI_dh": 2,
    "spatial_2R_table_VII_parameters": 20,
    "spatial_2R_dynamic_coefficients": 8,
    "table_7_1_codegen": 5,
    "wam_eq_4_4_Tr": 7,
    "wam_eq_4_5_Tc": 7,
    "wam_eq_4_5_constants": 2,
    "wam_notebook_base_parameters": 69,
    "wam_notebook_errors": 4,
    "wam_table_4_1_dh": 7,
    "wam_table_4_2_base_parameters": 76,
    "wam_table_4_3_pd_gains": 7,
    "wam_table_4_4_trajectory_A": 7,
    "wam_table_4_5_trajectory_B": 7,
    "wam_table_4_6_classical_estimates": 76,
    "wam_table_4_7_errors_OLS_WLS": 7,
    "wam_table_4_8_com_bounds": 7,
    "wam_table_4_9_feasible_estimates": 76,
    "wam_table_4_10_relative_errors": 5,
    "wam_table_4_11_errors_per_joint": 7,
    "wam_table_5_1_pd_gains": 7,
    "wam_table_5_2_pd_gains": 7,
    "wam_table_6_2_errors": 3,
    "yoshida_table_6_1_three_link": 15,
}


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
