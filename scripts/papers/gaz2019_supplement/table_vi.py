"""Table VI: Denavit-Hartenberg table of the spatial 2R robot."""

from __future__ import annotations

import numpy as np
from benchmarks import published

import casid
from casid.dynamics import Model
from papers.item import Check, Comparison, Item, Outcome, Setting, Status, below

#: l_1 and l_2 [m].
LENGTHS = {"l1": 1.5, "l2": 0.8}


def standard_dh(a: float, alpha: float, d: float, theta: float) -> np.ndarray:
    """``Rot_z(theta) Trans_z(d) Trans_x(a) Rot_x(alpha)``."""
    ca, sa, ct, st = np.cos(alpha), np.sin(alpha), np.cos(theta), np.sin(theta)
    return np.array([[ct, -st * ca, st * sa, a * ct], [st, ct * ca, -ct * sa, a * st], [0, sa, ca, d], [0, 0, 0, 1]])


def value(text: str) -> float:
    """A number, a length, or a multiple of pi."""
    if text in LENGTHS:
        return LENGTHS[text]
    sign, body = (-1.0, text[1:]) if text.startswith("-") else (1.0, text)
    return sign * np.pi / 2 if body == "pi/2" else float(text)


def run(setting: Setting) -> Outcome:
    """Forward kinematics of the robot file against the table's matrices."""
    rows = published.table("spatial_2R_table_VI_dh")
    model, worst = Model(casid.load_robot("spatial_2r")), 0.0
    for q in np.random.default_rng(2).uniform(-3, 3, (20, 2)):
        product = np.eye(4)
        for row, theta in zip(rows, q, strict=True):
            product = product @ standard_dh(value(row["a"]), value(row["alpha_rad"]), value(row["d"]), theta)
        worst = max(worst, float(np.abs(np.array(model.forward_kinematics.call([q])[-1]) - product).max()))
    columns = ("i", "a", "alpha", "d", "theta")
    table = [[row["i"], row["a"], row["alpha_rad"], row["d"], row["theta"]] for row in rows]
    return Outcome(
        (Comparison.of("Standard Denavit-Hartenberg parameters", columns, table),),
        words=(f"Largest deviation of the robot file's last frame, 20 poses: {below(worst, 1e-12)}.",),
        checks=(Check("the robot file has the printed frames (to 1e-12)", worst <= 1e-12),),
    )


ITEM = Item(
    "Table VI",
    "DH table of the spatial 2R robot",
    Status.REPRODUCED,
    "forward kinematics against the table",
    run,
    repeatable=True,
)
