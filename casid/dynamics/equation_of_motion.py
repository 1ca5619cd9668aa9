"""The equation of motion taken apart, dry friction by itself: what simulations integrate."""

from __future__ import annotations

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from casid.dynamics.joint_terms import Side
from casid.dynamics.model import Model
from casid.dynamics.newton_euler import newton_euler
from casid.errors import RobotError


def dry_friction_places(model: Model) -> tuple[tuple[Side, int], ...]:
    """Joints and motors (side, index) at which a term depends on the sign of the velocity: m places."""
    symbols = model.symbols()
    symbols.signs = ca.SX.sym("signs", 2 * model.n)
    sides: dict[Side, ca.SX] = {"joint": symbols.signs[: model.n], "motor": symbols.signs[model.n :]}
    torques = symbols.side_torques(ca.SX(model.n, 1), sides)
    return tuple(place for place, torque in torques.items() if ca.depends_on(torque, symbols.signs))


def dry_friction_directions(model: Model) -> NDArray[np.float64]:
    """``D`` (n x m) with ``v = D' dq``, the velocities at which dry friction acts, and ``tau = D f`` its torques."""
    T = np.eye(model.n) if model.robot.transmission is None else np.asarray(model.robot.transmission)
    axes: dict[Side, NDArray[np.float64]] = {"joint": np.eye(model.n), "motor": T}
    columns = [axes[side][:, k] for side, k in dry_friction_places(model)]
    return np.asarray(np.array(columns).reshape(len(columns), model.n).T)


def equation_of_motion(model: Model) -> ca.Function:
    """``(q, dq, signs, pi) -> M, rigid, terms, dry``, the parts of the equation of motion.

    With the directions D of `dry_friction_directions` (n x m)::

        M ddq + rigid + terms + D dry = tau

    ``signs`` (m) stands for the signs of the velocities ``D' dq``: ``dry`` (m) is what dry friction adds along its
    directions and vanishes for signs 0; ``terms`` (n) is the torque of the joint terms without it and without rotor
    inertia, which is part of M; ``rigid`` (n) is Coriolis, centrifugal and gravity torque.

    Raises
    ------
    RobotError
        For terms that depend on the acceleration or on a measured torque, which a motion to be found does not have.
    """
    s = model.symbols()
    n, places = model.n, dry_friction_places(model)
    s.signs = ca.SX.sym("signs", len(places))
    still: dict[Side, ca.SX] = {"joint": ca.SX(n, 1), "motor": ca.SX(n, 1)}
    moving: dict[Side, ca.SX] = {"joint": ca.SX(n, 1), "motor": ca.SX(n, 1)}
    for number, (side, k) in enumerate(places):
        moving[side][k] = s.signs[number]
    zero = ca.SX(n, 1)
    for term in model.terms:
        if term.loaded:
            raise RobotError(
                f"joint term '{term.name}' depends on the load, hence on the acceleration: a motion with it cannot be "
                "integrated"
            )
    without, complete = s.side_torques(zero, still), s.side_torques(zero, moving)
    if any(ca.depends_on(torque, s.signal) for torque in without.values()):
        raise RobotError("a joint term depends on the measured torque: a motion with it cannot be integrated")
    if model.memories:
        raise RobotError(
            "a joint term remembers the motion, which simulations do not: take what it settles to (JointTerm.settled)"
        )
    sums = {"joint": ca.SX(n, 1), "motor": ca.SX(n, 1)}
    for (side, k), torque in without.items():
        sums[side][k] = torque
    outputs = {
        "M": s.mass_matrix(),
        "rigid": newton_euler(model.robot, s.q, s.dq, zero, s.links, s.gravity)[0],
        "terms": sums["joint"] + ca.mtimes(s.transmission, sums["motor"]),
        "dry": ca.vertcat(ca.SX(0, 1), *(complete[place] - without[place] for place in places)),
    }
    return s.function("equation_of_motion", ["q", "dq", "signs", "pi"], outputs)
