"""Bounds of an identification where the description has none, and the masses to expect.

They scale with the size and the torques of the robot, keep the parameters that the data leave open, and with them the
region of the certificate, bounded; a real robot is far from them. Where one is reached, the result lists it
(`FeasibleFit.active`).

Expected masses: the bodies that follow from the kinematics have masses up to one factor. It is that of the bodies
which, with the joint terms, explain the recorded torques best: least squares of one number ``f >= 0`` and the terms'
parameters t,

    min sum_j || tau_j - W_j (f K pi_0 + K_t t) ||^2,

every joint with its torque as it is, so that the strong ones, which carry the arm, decide. Mass at the axes of the
first joints makes no torque: described robots weigh 1.1 times as much. On iiwa, UR5, UR10, Z1, xArm7 and Talos' arm,
where this number was set, it is 1.06, 1.27, 1.49, 0.93, 0.91, 1.03. Of twelve other described arms the geometric mean
is 1.03 and the standard deviation 34 %, of twelve legs 1.4: their motors sit at the hip.

A counterbalance that is no part of the model holds the weight in place of the drives (it is looked for,
`casid.identification._joint_terms`); the largest torque then still bounds what an arm weighs from below: a third of
``3.2 tau / (g reach)``.

Shapes: a kinematic skeleton gives a link's joints, a drawing its size. Of six described robots (iiwa, UR5, UR10, Z1,
xArm7, Talos' arm) the masses scatter about the skeleton's proportions by 61 % (standard deviation of the logarithm
within a robot), about those of their convex hulls' volumes to the power 3/4 by 36 %: motors and gears are denser than
the shells around them. Nothing else was looked at for this number.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.typing import ArrayLike

from casid.arrays import ROUNDING, Array
from casid.description import STANDARD_G, Robot, link_hulls
from casid.description.joint_parameters import SPRING
from casid.dynamics import Model
from casid.errors import ProblemError
from casid.evidence import CONFIDENCE
from casid.inertia import STANDARD_NAMES, to_standard
from casid.measurement import Dataset
from casid.regression import CompressedData, Fit
from casid.retrieval import Constraint, ConstraintBuilder, Constraints, LinkVariables, sensible_bounds
from casid.retrieval.plausible import PRIORS, PlausibleBodies, held_mass, plausible_bodies

#: A link weighs at most so many times what the strongest joint holds at arm's length.
TIMES_HELD = 6.0
#: Rotor inertia of a drive over its largest torque and the square of the arm's reach [s^2/m^2].
ROTOR = 0.01
#: Standard deviation over the bound of a joint term below which it needs none: ten of them span the bound.
KNOWN = 0.1
#: Share of the largest below which a torque of a joint, or a speed, is nothing: what sensors resolve.
NOTHING = 1e-3


def reach(robot: Robot, mounted: bool = True) -> float:
    """Sum of the lengths of all placements [m]; 1 where there are none. Not `Robot.reach`, the longest chain.

    Parameters
    ----------
    robot
    mounted
        Where the first joints stand on the base counts too: a pedestal, or the torso that an arm is mounted on.
    """
    placements = [j.placement for j in robot.joints if mounted or j.parent >= 0]
    lengths = [np.linalg.norm(p[:3, 3]) for p in (*placements, *(j.link_placement for j in robot.joints))]
    return float(sum(lengths)) or 1.0


def largest_mass(robot: Robot, torques: ArrayLike | None = None) -> float:
    """Mass that no link exceeds [kg]: six times what the strongest revolute joint holds at the arm's length.

    Parameters
    ----------
    torques
        Largest measured torque of each joint [N.m], shape (n,); three times that where a joint's limit is not known.
    """
    revolute = np.array([joint.type == "revolute" for joint in robot.coordinates])
    known = np.where(np.isfinite(robot.limits.effort) & (robot.limits.effort > 0), robot.limits.effort, 0.0)
    if torques is not None:
        known = np.maximum(known, np.where(known > 0, 0.0, 3.0 * np.abs(np.asarray(torques, dtype=float))))
    lever = np.where(revolute, reach(robot), 1.0)  # a prismatic joint holds a force
    return TIMES_HELD * float((known / (STANDARD_G * lever)).max())


def default_bounds(robot: Robot, torques: ArrayLike | None = None) -> ConstraintBuilder:
    """Constraints of an identification: those of the description, and generous ones where it has none.

    Parameters
    ----------
    robot
    torques
        Largest measured torque of each joint, shape (n,).
    """
    most, radius = largest_mass(robot, torques) or 100.0, reach(robot)
    return lambda variables: sensible_bounds(variables, most, radius)


def expected_rotors(model: Model, torques: ArrayLike, known: bool = True) -> dict[str, float]:
    """Rotor inertias that are expected at the joints, by the parameters' names [kg.m^2].

    That of the description where it has one; else ``Ia = 0.01 s^2/m^2 r^2 tau`` with the arm's reach r and the largest
    measured torque tau: a rotor is geared so that it weighs about as much as what it moves. Set on the UR10e (0.8 to
    1.6 times that); of the KUKA KR300 the maker's are 1.6 to 13 times that, of the TX40 0.2 to 0.8.

    Parameters
    ----------
    torques
        Largest measured torque of each joint, shape (n,).
    known
        Whether those of the description count.
    """
    described, size = known_rotors(model.robot) if known else {}, model.robot.reach or 1.0
    tau, found = np.abs(np.asarray(torques, dtype=float)), {}
    for column, (term, joint) in model.term_columns.items():
        name = model.parameter_names[column]
        if term.inertial and term.unit == "kg.m^2":
            value = described.get(name, 0.0) or ROTOR * size**2 * float(tau[joint])
            if value > 0:
                found[name] = float(value)
    return found


def expected_terms(fit: Fit, torques: ArrayLike) -> dict[str, float]:
    """What joint terms are expected to be: `expected_rotors`, and standard deviations of offsets of friction [N.m].

    Of offsets that the fit leaves open: zero lies in their 95 % interval, or they have none. That of a prismatic joint
    is what a counterbalance leaves of the arm's weight, that of a joint with a spring is the spring's: nothing is
    expected of them.

    Parameters
    ----------
    fit
        Unconstrained.
    torques
        Largest measured torque of each joint, shape (n,).
    """
    model, base = fit.data.model, fit.data.base
    quantile = NormalDist().inv_cdf((1.0 + CONFIDENCE) / 2.0)
    known = {name for name, value, sd in zip(base.names, fit.beta, fit.sd, strict=True) if abs(value) > quantile * sd}
    free = [joint.type != "revolute" for joint in model.robot.coordinates]
    for term, joint in model.term_columns.values():
        free[joint] |= term.symbol == SPRING.symbol
    deviations = PRIORS["OFFSET"] * np.abs(np.asarray(torques, dtype=float))
    return expected_rotors(model, torques) | {
        model.parameter_names[column]: float(deviations[joint])
        for column, (term, joint) in model.term_columns.items()
        if term.constant and not free[joint] and deviations[joint] > 0 and model.parameter_names[column] not in known
    }


def known_rotors(robot: Robot) -> dict[str, float]:
    """Rotor inertias of the description, by parameter name."""
    numbered = enumerate(robot.coordinates, start=1)
    return {f"Ia{k}": float(joint.terms["Ia"]) for k, joint in numbered if joint.terms.get("Ia", 0.0) > 0}


def with_link_bounds(
    build: ConstraintBuilder | None, bounds: Mapping[str, tuple[float, float]]
) -> ConstraintBuilder | None:
    """Constraints of a builder, and bounds on single parameters of links (``m7``, ``lz2``).

    Raises
    ------
    ProblemError
        When built, if a robot has no link parameter of such a name.
    """
    if not bounds:
        return build

    def built(variables: LinkVariables) -> Constraints:
        made = []
        for name, (low, high) in bounds.items():
            if name not in variables.names:
                raise ProblemError(f"bounds: there is no parameter '{name}'; links have Lxx1 ... {variables.names[-1]}")
            made.append(Constraint(f"{name} as given", variables.x[variables.names.index(name)], low, high))
        return (build(variables) if build is not None else (), made)

    return built


def split_bounds(bounds: Mapping[str, tuple[float, float]] | None) -> tuple[dict[str, tuple[float, float]], ...]:
    """Bounds of links' parameters, and those of joint terms."""
    given = bounds or {}
    links = {name: pair for name, pair in given.items() if name.rstrip("0123456789") in STANDARD_NAMES}
    return links, {name: pair for name, pair in given.items() if name not in links}


def term_bounds(fit: Fit, torques: Array, speeds: Array) -> dict[str, tuple[float, float]]:
    """Bounds of joint terms: no friction is larger than the largest torque that was measured at its joint.

    Data of a joint that hardly moves do not determine viscous friction: without bounds its value is noise of any size.
    The offset of a prismatic joint has none: what is measured there may be what a counterbalance leaves of the arm's
    weight.

    Parameters
    ----------
    torques, speeds
        Largest torque and speed of each joint, shape (n,).

    Returns
    -------
    dict
        For every friction parameter of a constant or viscous column that the fit leaves uncertain by more than its
        bound.
    """
    model = fit.data.model
    sd = dict(zip(fit.data.base.names, fit.sd, strict=True))
    values = dict(zip(fit.data.base.names, fit.beta, strict=True))
    largest = float(torques.max(initial=0.0))
    bounds = {}
    for column, (term, joint) in sorted(model.term_columns.items()):
        bounded = term.dissipative or term.constant or term.fitted
        if term.constant and model.robot.coordinates[joint].type == "prismatic":
            continue  # a counterbalance holds any share of the arm's weight
        if not bounded or term.unit not in ("N.m", "N.m.s/rad") or not torques[joint] > 0:
            continue
        name = model.parameter_names[column]
        most = float(torques[joint])
        if term.viscous:
            most = min(most / max(float(speeds[joint]), 1e-9), 10.0 * largest)
        if name in sd and sd[name] < KNOWN * most and abs(values[name]) < most:
            continue
        bounds[name] = (0.0 if term.nonnegative else -most, most)
    return bounds


def largest_torques(datasets: Sequence[Dataset]) -> tuple[Array, Array]:
    """Largest counted torque and speed of each joint over processed recordings, shapes (n,)."""
    torques, speeds = np.zeros(datasets[0].n), np.zeros(datasets[0].n)
    for data in datasets:
        counted = np.where(data.counted, np.abs(data.tau), 0.0)
        torques = np.maximum(torques, counted.max(axis=0))
        if data.dq is not None:
            speeds = np.maximum(speeds, np.abs(data.dq).max(axis=0))
    return torques, speeds


#: Largest mass of right links over that of the bodies that explain the torques: beyond all robots of known bodies.
HEAVIER = 2.0
#: Least expected mass over the one that the largest torque holds.
LEAST_HELD = 1.0 / 3.0
#: Mass of the links over that of the bodies that explain the torques best.
UNSEEN = 1.1


@dataclass(frozen=True, eq=False)
class Explained:
    """What bodies of one common factor explain of the torques.

    Attributes
    ----------
    mass : float
        Of all links, with that factor [kg].
    terms : dict
        Parameters of the joint terms, by their columns in the model.
    beta : ndarray, shape (rank,)
        Base parameters of both.
    """

    mass: float
    terms: dict[int, float]
    beta: Array


def explained(
    bodies: PlausibleBodies,
    data: CompressedData,
    without: Collection[str] = (),
    masses: tuple[float, float] = (0.0, np.inf),
) -> Explained:
    """The common factor of bodies and the joint terms that explain the torques best; the module's equation.

    Parameters
    ----------
    bodies
    data
    without
        Names of joint terms' parameters that are zero.
    masses
        Least and most of all links together [kg].
    """
    from scipy.optimize import lsq_linear  # slow to import

    model, base = data.model, data.base
    template = np.zeros(len(model.parameter_names))
    template[np.ravel(model.link_columns)] = bodies.parameters
    terms = sorted(model.term_columns)
    columns = np.column_stack([base.K @ template, base.K[:, terms]])
    R, rho, _ = data.plain.stacked()
    matrix = R @ columns
    lengths = np.linalg.norm(matrix, axis=0)
    used = lengths > ROUNDING * lengths.max(initial=0.0)
    used[1:] &= [model.parameter_names[column] not in without for column in terms]
    low = np.where([True, *(model.term_columns[column][0].nonnegative for column in terms)], 0.0, -np.inf)
    high, whole = np.full(len(low), np.inf), float(bodies.parameters[9::10].sum())
    low[0], high[0] = np.array(masses) / whole
    x, ends = np.zeros(len(lengths)), (low[used] * lengths[used], high[used] * lengths[used])
    x[used] = lsq_linear(matrix[:, used] / lengths[used], rho, ends).x / lengths[used]
    return Explained(float(x[0]) * whole, dict(zip(terms, map(float, x[1:]), strict=True)), columns @ x)


def weighed_bodies(bodies: PlausibleBodies, estimate: Fit, torques: ArrayLike) -> PlausibleBodies:
    """The plausible bodies with the common factor of their masses that explains the torques best.

    Parameters
    ----------
    bodies
        Those whose masses are known are kept as they are.
    estimate
        Its data are used.
    torques
        Largest torque of each joint, without what springs hold [N.m], shape (n,).
    """
    if not bodies.scaled.all():
        return bodies
    held = LEAST_HELD * held_mass(estimate.data.model.robot, torques)
    mass = max(UNSEEN * explained(bodies, estimate.data).mass, held)
    return bodies.weighing(mass) if np.isfinite(mass) and mass > 0 else bodies


#: Power of the volume with which masses grow.
GROWTH = 0.75
#: Share of the links that must have a shape.
LEAST_SHAPED = 2.0 / 3.0
#: Origin of such a body.
SHAPE = "shape"


def suggested_bodies(robot: Robot) -> PlausibleBodies:
    """The plausible bodies that a robot's file suggests: its inertial values, its links' shapes, or its kinematics."""
    return shaped_bodies(robot, plausible_bodies(robot))


def shaped_bodies(robot: Robot, bodies: PlausibleBodies) -> PlausibleBodies:
    """The bodies of a skeleton with the proportions of the links' shapes, where most links have one.

    Links without a shape keep their body, with the factor of the others' masses (median). Bodies whose masses are
    known, as some or all are described, are kept.

    Parameters
    ----------
    robot
    bodies
        `casid.retrieval.plausible._bodies.plausible_bodies` of it.
    """
    if not bodies.boxes.all() or bodies.weighed:
        return bodies
    hulls = [h if origin == "skeleton" else None for h, origin in zip(link_hulls(robot), bodies.origins, strict=True)]
    shaped = np.array([one is not None for one in hulls])
    if shaped.mean() < LEAST_SHAPED:
        return bodies
    tens = bodies.parameters.reshape(-1, 10).copy()
    masses = np.array([0.0 if one is None else one.volume**GROWTH for one in hulls])
    tens[~shaped] *= np.exp(np.median(np.log(masses[shaped] / tens[shaped, 9])))
    for k, one in enumerate(hulls):
        if one is not None:
            second = masses[k] / one.volume * one.second
            tens[k] = to_standard(float(masses[k]), one.centre, np.trace(second) * np.eye(3) - second)
    origins = tuple(SHAPE if own else origin for own, origin in zip(shaped, bodies.origins, strict=True))
    return PlausibleBodies(tens.ravel(), origins)
