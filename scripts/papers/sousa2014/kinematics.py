"""Table 4.1: Denavit-Hartenberg parameters of the WAM."""

from __future__ import annotations

import numpy as np
from benchmarks import published

from papers import wam_cases as thesis
from papers.gaz2019_supplement.table_vi import standard_dh, value
from papers.item import Check, Comparison, Item, Outcome, Setting, Status, below


def run(setting: Setting) -> Outcome:
    """Forward kinematics of the robot file against the table's matrices."""
    rows, model, worst = published.table("wam_table_4_1_dh"), thesis.model(), 0.0
    for q in np.random.default_rng(3).uniform(-3, 3, (20, 7)):
        product = np.eye(4)
        for row, theta in zip(rows, q, strict=True):
            product = product @ standard_dh(value(row["a_m"]), value(row["alpha_rad"]), value(row["d_m"]), theta)
        worst = max(worst, float(np.abs(np.array(model.forward_kinematics.call([q])[-1]) - product).max()))
    table = [[row["joint"], row["alpha_rad"], row["a_m"], row["d_m"], row["theta"]] for row in rows]
    return Outcome(
        (Comparison.of("Standard notation", ("joint", "alpha", "a [m]", "d [m]", "theta"), table),),
        words=(f"Largest deviation of the robot file's last frame, 20 poses: {below(worst, 1e-12)}.",),
        checks=(Check("the robot file has the printed frames (to 1e-12)", worst <= 1e-12),),
    )


ITEM = Item(
    "Table 4.1",
    "DH parameters of the WAM",
    Status.REPRODUCED,
    "forward kinematics against the table",
    run,
    repeatable=True,
)
