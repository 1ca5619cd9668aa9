"""The published tables as numbers, for tests in plain numpy; tests that need them are skipped without."""

from __future__ import annotations

import csv
from functools import cache

import numpy as np

from tests.scripts.needs import needs_data
from tests.scripts.plain_dynamics import INERTIA

DATA = needs_data()


def table(name: str) -> list[dict[str, str]]:
    with (DATA / "published" / f"{name}.csv").open(encoding="utf-8") as lines:
        return list(csv.DictReader(lines))


def numbers(name: str, column: str) -> np.ndarray:
    return np.array([float(row[column] or "nan") for row in table(name)])


@cache
def panda_rows() -> np.ndarray:
    with (DATA / "panda" / "kinematics_mdh.csv").open(encoding="utf-8") as lines:
        rows = [[float(row[key]) for key in ("alpha_rad", "a_m", "d_m")] for row in csv.DictReader(lines)]
    return np.array(rows[:7])


def standard(column: str) -> np.ndarray:
    """Standard parameters of p_hat or delta, shape (70,)."""
    rows = [*table("panda_table_VIII_masses_coms"), *table("panda_table_IX_inertias")]
    given = {row["parameter"]: float(row[column]) if row[column] not in ("", "*") else 0.0 for row in rows}
    found = []
    for k in range(1, 8):
        m, c = given[f"m{k}"], np.array([given[f"c{k}{a}"] for a in "xyz"])
        inertia = np.array([[given[f"I{k}{min(a, b)}{max(a, b)}"] for a in "xyz"] for b in "xyz"])
        L = inertia + m * ((c @ c) * np.eye(3) - np.outer(c, c))
        found += [*(L[i, j] for i, j in INERTIA), *(m * c), m]
    return np.array(found)


def about_centre(ten: np.ndarray) -> np.ndarray:
    """Inertia about the centre of mass of a link's ten parameters."""
    m, c = ten[9], ten[6:9] / ten[9]
    return about_origin(ten) - m * ((c @ c) * np.eye(3) - np.outer(c, c))


def about_origin(ten: np.ndarray) -> np.ndarray:
    return np.array([[ten[0], ten[1], ten[2]], [ten[1], ten[3], ten[4]], [ten[2], ten[4], ten[5]]])


def angle(text: str) -> float:
    return {"0": 0.0, "pi/2": np.pi / 2, "-pi/2": -np.pi / 2}[text]


@cache
def wam_rows() -> np.ndarray:
    return np.array([[angle(r["alpha_rad"]), float(r["a_m"]), float(r["d_m"])] for r in table("wam_table_4_1_dh")])
