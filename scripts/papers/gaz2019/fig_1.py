"""Fig. 1: frames and kinematic parameters of the Panda."""

from __future__ import annotations

import numpy as np

import casid
from casid.dynamics import Model
from papers.item import Check, Comparison, Item, Outcome, Setting, Status

#: d_1, d_3, d_5, a_4, a_5, a_7 [m] as printed under the figure; alpha as in the robot's modified DH table.
D1, D3, D5, A4, A5, A7 = 0.333, 0.316, 0.384, 0.0825, -0.0825, 0.088
TABLE = (
    (0.0, 0.0, D1),
    (0.0, -np.pi / 2, 0.0),
    (0.0, np.pi / 2, D3),
    (A4, np.pi / 2, 0.0),
    (A5, -np.pi / 2, D5),
    (0.0, np.pi / 2, 0.0),
    (A7, np.pi / 2, 0.0),
)


def run(setting: Setting) -> Outcome:
    """Forward kinematics of the shipped robot against a product of the printed table's matrices."""
    rng = np.random.default_rng(1)
    model, worst = Model(casid.load_robot("panda")), 0.0
    count = 5 if setting.quick else 100
    for q in rng.uniform(-2, 2, (count, 7)):
        product = np.eye(4)
        for (a, alpha, d), theta in zip(TABLE, q, strict=True):
            product = product @ modified_dh(a, alpha, d, theta)
        pose = np.array(model.forward_kinematics.call([q])[-1])
        worst = max(worst, float(np.abs(pose - product).max()))
    rows = [[k + 1, a, alpha, d] for k, (a, alpha, d) in enumerate(TABLE)]
    return Outcome(
        (Comparison.of("Modified Denavit-Hartenberg parameters", ("joint", "a [m]", "alpha [rad]", "d [m]"), rows),),
        words=(f"Largest deviation of the robot file's link-7 frame from the table's, {count} poses: {worst:.1e}.",),
        checks=(Check("the robot file has the printed frames (to 1e-12)", worst <= 1e-12),),
    )


def modified_dh(a: float, alpha: float, d: float, theta: float) -> np.ndarray:
    """``Rot_x(alpha) Trans_x(a) Rot_z(theta) Trans_z(d)``."""
    ca, sa, ct, st = np.cos(alpha), np.sin(alpha), np.cos(theta), np.sin(theta)
    return np.array([[ct, -st, 0, a], [st * ca, ct * ca, -sa, -d * sa], [st * sa, ct * sa, ca, d * ca], [0, 0, 0, 1]])


ITEM = Item(
    "Fig. 1",
    "frames and Denavit-Hartenberg table of the Panda",
    Status.REPRODUCED,
    "forward kinematics of the shipped robot file against the product of the printed table's matrices",
    run,
)
