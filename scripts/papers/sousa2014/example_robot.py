"""Sec. 7.1.2 and 7.1.3: the two-joint example of generated equations and code."""

from __future__ import annotations

import numpy as np

from casid.codegen import CFunction
from casid.description import Joint, Link, Robot
from casid.description._placement import rotation_x, rotation_z, transform
from casid.dynamics import Model
from papers.item import Check, Comparison, Item, Outcome, Setting, Status

#: Twist and offset of the angle; lengths are zero (standard notation).
TABLE = ((-np.pi / 2, np.pi / 2), (np.pi / 2, -np.pi / 2))
#: Base parameters as printed, in the names used here.
PRINTED = (
    "Lyy1 + Lzz2", "fv1", "fc1", "Lxx2 - Lzz2", "Lxy2", "Lxz2", "Lyy2", "Lyz2", "lx2", "lz2", "fv2", "fc2",
)  # fmt: skip
#: Additions (and subtractions) and multiplications in the printed C function, signs not counted.
ADDITIONS, MULTIPLICATIONS = 30, 43


def robot() -> Robot:
    """Two joints whose frames share their origin."""
    joints = []
    for k, (alpha, offset) in enumerate(TABLE):
        joints.append(
            Joint(
                f"joint{k + 1}", "revolute", k - 1, Link(f"link{k + 1}"), transform(rotation_z(offset)),
                link_placement=transform(rotation_x(alpha)),
            )
        )  # fmt: skip
    return Robot("example", tuple(joints), gravity=np.array([0.0, 0.0, -9.81]))


def pose(q: np.ndarray) -> np.ndarray:
    """The end frame as printed."""
    (s1, s2), (c1, c2) = np.sin(q), np.cos(q)
    return np.array([[-s1 * s2, -c1, s1 * c2, 0], [s2 * c1, -s1, -c1 * c2, 0], [c2, 0, s2, 0], [0, 0, 0, 1]])


def jacobian(q: np.ndarray) -> np.ndarray:
    """The end frame's Jacobian as printed: linear, then angular."""
    c1, s1 = np.cos(q[0]), np.sin(q[0])
    return np.array([[0, 0], [0, 0], [0, 0], [0, -c1], [0, -s1], [1, 0]])


def deviations(poses: int = 20) -> tuple[float, float]:
    """Largest deviation of the end frame, and of its Jacobian, from the printed expressions."""
    model, far, turned = Model(robot()), 0.0, 0.0
    for q in np.random.default_rng(8).uniform(-3, 3, (poses, 2)):
        far = max(far, float(np.abs(np.array(model.forward_kinematics.call([q])[-1]) - pose(q)).max()))
        turned = max(turned, float(np.abs(np.array(model.jacobian.call([q])[-1]) - jacobian(q)).max()))
    return far, turned


def run(setting: Setting) -> Outcome:
    """Frame, Jacobian, base parameters and operations."""
    model = Model(robot(), ("viscous", "coulomb"))
    far, turned = deviations()
    operations = CFunction(model.inverse_dynamics).operations
    expressions = list(model.base.expressions)
    groupings = [[k + 1, text, "yes" if text in expressions else "no"] for k, text in enumerate(PRINTED)]
    counts: list[list[object]] = [
        ["additions", ADDITIONS, operations.additions],
        ["multiplications", MULTIPLICATIONS, operations.multiplications],
    ]
    return Outcome(
        (
            Comparison.of("Base parameters", ("", "printed", "found here, too"), groupings),
            Comparison.of("Operations of the generated C function", ("", "printed listing", "here"), counts),
        ),
        words=(
            f"{model.base.rank} base parameters here: {', '.join(expressions)}. Largest deviation from the printed end "
            f"frame {far:.0e}, from its printed Jacobian {turned:.0e}.",
        ),
        checks=(
            Check("the base parameters are the printed twelve", set(expressions) == set(PRINTED)),
            Check("end frame and Jacobian are the printed ones (to 1e-12)", max(far, turned) <= 1e-12),
            Check(
                "the generated function has no more operations in all than the printed one",
                operations.additions + operations.multiplications <= ADDITIONS + MULTIPLICATIONS,
            ),
        ),
    )


ITEM = Item(
    "Sec. 7.1.2",
    "example of generated equations and code",
    Status.REPRODUCED,
    "the two-joint robot: end frame, Jacobian, base parameters and the C function against the printed ones",
    run,
)
