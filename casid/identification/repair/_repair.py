"""Repair of the unphysical bodies of a robot file: with the same dynamics wherever a consistent set has them.

A set of standard parameters whose bodies cannot exist may still move as a real robot does: what torques see are the
base parameters ``beta = K x``. Such a set is *virtually feasible* (Sousa 2014, Sec. 3.6, eq. 3.55): some consistent
set has the same base parameters. The repair is then, of all of those, the one nearest to the file in log-det
divergence,

    minimise  sum_k tr(R_k^-1 J_k) - log det(R_k^-1 J_k) - 4   subject to   K x = beta,  J_k(x) > 0,

with the pseudo-inertia J_k of every body, fixed ones included. R_k is the body itself where it is consistent, otherwise
a real body made of the file's plausible values (`reference_bodies`). The divergence is the one of Wensing et
al. (2018): it does not depend on units or frames, and keeps bodies away from needles and points. Bodies that are
consistent stay as they are where that suffices. Where no consistent set has the file's base parameters, they become
the nearest that one has, with a certified distance (eq. 3.56-3.57 in base parameters).
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from casid.arrays import ALIKE, ROUNDING, Array
from casid.description import Description, Inertial, Robot, moving_bodies
from casid.dynamics import Model
from casid.errors import InertiaWarning
from casid.inertia import Consistency, consistency, express_in, from_standard, link_slice, to_standard
from casid.inertia.entropic import nearest_bodies, nearest_right_side
from casid.retrieval.plausible import plausible_bodies

#: Share of a distance that must be proven: a bound holds for bodies up to a size, and larger ones may come nearer.
PROVEN = 0.5


@dataclass(frozen=True, eq=False)
class Body:
    """One body of a file.

    Attributes
    ----------
    link : str
    given : ndarray, shape (10,)
        Standard parameters in the link's own frame.
    carrier : int
        Index of the moving link that carries it; -1: fixed to the base.
    placement : ndarray, shape (4, 4)
        The link's frame in its carrier's.
    """

    link: str
    given: Array
    carrier: int
    placement: Array

    @cached_property
    def state(self) -> Consistency:
        """Margins of physical consistency."""
        return consistency(self.given)


@dataclass(frozen=True, eq=False)
class Repair:
    """The unphysical bodies of a file and the repaired ones.

    Attributes
    ----------
    bodies : tuple of Body
    repaired : ndarray, shape (bodies, 10)
        Standard parameters in the links' own frames, all consistent.
    verdict : str
        ``feasible``: every body is consistent; ``virtually feasible``: some consistent set has the same base
        parameters; ``infeasible``: proven that none has; ``marginal``: none was found, but some come as near as
        shown: for example bodies without extent, whose base parameters real bodies only approach.
    base_given, base_repaired : ndarray, shape (rank,)
        Base parameters as given and repaired; empty for objects that do not move.
    proven_distance : float
        Certified lower bound of the distance of any consistent set's base parameters from the given ones.
    """

    bodies: tuple[Body, ...]
    repaired: Array
    verdict: str
    base_given: Array
    base_repaired: Array
    proven_distance: float = 0.0

    @property
    def unphysical(self) -> tuple[Body, ...]:
        """The bodies that cannot exist."""
        return tuple(body for body in self.bodies if not body.state.full)

    @cached_property
    def changed(self) -> tuple[int, ...]:
        """Indices of the bodies that the repair changes."""
        return tuple(k for k, body in enumerate(self.bodies) if not np.array_equal(body.given, self.repaired[k]))

    @property
    def base_change(self) -> float:
        """Euclidean distance of the repaired base parameters from the given ones."""
        return float(np.linalg.norm(self.base_repaired - self.base_given))

    @property
    def relative_base_change(self) -> float:
        """Largest change of a base parameter, relative to the largest of them."""
        if not len(self.base_given):
            return 0.0
        size = max(float(np.abs(self.base_given).max()), 1e-300)
        return float(np.abs(self.base_repaired - self.base_given).max()) / size

    def inertials(self) -> dict[str, Inertial]:
        """The changed bodies by their links' names."""
        return {self.bodies[k].link: Inertial(*from_standard(self.repaired[k])) for k in self.changed}


def bodies_of(description: Description) -> tuple[Body, ...]:
    """All bodies of a description: of moving links, of what is fixed to them, of the base and what is fixed to it.

    Links without mass and inertia are no bodies.
    """
    carriers = moving_bodies(description, {})
    placed: dict[str, tuple[int, Array]] = {}
    for index, name in enumerate(carriers):
        placed[name] = (index, np.eye(4))
        for part in carriers[name].parts:
            placed[part.link.name] = (index, part.placement)
    found = []
    for link in description.links:
        if link.inertial is None:
            continue
        ten = link.inertial.standard_parameters()
        if link.inertial.mass == 0.0 and not link.inertial.inertia_com.any():
            continue
        carrier, placement = placed.get(link.name, (-1, np.eye(4)))
        found.append(Body(link.name, ten, carrier, placement))
    return tuple(found)


def repair(description: Description) -> Repair:
    """Find the unphysical bodies of a description and repair them.

    Parameters
    ----------
    description
        Of a robot, or of an object that does not move.

    Returns
    -------
    Repair

    Raises
    ------
    RobotError
        If the description is no tree, or has joints that casid does not move.
    """
    bodies = bodies_of(description)
    tens = np.array([body.given for body in bodies]).reshape(-1, 10)
    wrong = [k for k, body in enumerate(bodies) if not body.state.full]
    A = np.zeros((0, 10 * len(bodies)))
    if description.moving:
        robot = _assembled(description)
        A = _base_map(description, robot, bodies) if wrong else A
    beta = A @ tens.ravel()
    if not wrong:
        return Repair(bodies, tens, "feasible", beta, beta)
    references = reference_bodies(description, bodies)
    if description.moving and 2 * len(wrong) > len(bodies):  # too few bodies of such a file are usable as references
        references = _plausible(description, bodies, references, A, beta)
    for free in _stages(bodies, wrong):
        found = nearest_bodies(A, beta, tens, references, free)
        if found is not None:
            return Repair(bodies, found, "virtually feasible", beta, A @ found.ravel())
    return _nearest(bodies, references, A, beta)


def _assembled(description: Description) -> Robot:
    """The robot, without warnings of unphysical bodies."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InertiaWarning)
        return description.robot()


def _plausible(description: Description, bodies: Sequence[Body], references: Array, A: Array, beta: Array) -> Array:
    """Plausible bodies in place of the unphysical moving ones; their masses suit the base parameters best."""
    robot = _assembled(description)
    plausible = plausible_bodies(robot, nominal=False).parameters.reshape(-1, 10)
    order = {link.name: k for k, link in enumerate(robot.links)}
    result: Array = references.copy()
    chosen = [k for k, body in enumerate(bodies) if body.link in order and not body.state.full]
    if not chosen:
        return references
    result[chosen] = [plausible[order[bodies[k].link]] for k in chosen]
    columns = np.concatenate([np.r_[link_slice(k)] for k in chosen])
    asked, given = beta - A @ references.ravel() + A[:, columns] @ references[chosen].ravel(), A[:, columns]
    reach = given @ result[chosen].ravel()
    scale = float(reach @ asked) / max(float(reach @ reach), 1e-300)
    result[chosen] *= scale if scale > 0 else 1.0
    return result


def _stages(bodies: Sequence[Body], wrong: list[int]) -> list[list[int]]:
    """Which bodies may change: the unphysical ones; those and what moves with them or next to them; all."""
    near = {bodies[k].carrier + step for k in wrong for step in (-1, 0, 1) if bodies[k].carrier >= 0}
    around = [k for k, body in enumerate(bodies) if k in wrong or body.carrier in near]
    stages = [wrong]
    for stage in (around, list(range(len(bodies)))):
        if stage != stages[-1]:
            stages.append(stage)
    return stages


def _base_map(description: Description, robot: Robot, bodies: Sequence[Body]) -> Array:
    """Matrix A (rank x 10 bodies) of ``beta = A x`` for the parameters x of all bodies in their own frames."""
    base = Model(robot).base
    order = {link.name: k for k, link in enumerate(robot.links)}
    carriers = [order[name] for name in moving_bodies(description, {})]
    blocks = []
    for body in bodies:
        if body.carrier < 0:
            blocks.append(np.zeros((base.rank, 10)))
            continue
        T = body.placement
        to_carrier = np.stack([express_in(unit, T[:3, :3], T[:3, 3]) for unit in np.eye(10)], axis=1)
        k = carriers[body.carrier]
        blocks.append(base.K[:, link_slice(k)] @ to_carrier)
    return np.hstack(blocks)


def _nearest(bodies: tuple[Body, ...], references: Array, A: Array, beta: Array) -> Repair:
    """The nearest base parameters that a consistent set has, and the most plausible of its sets."""
    found, bound = nearest_right_side(A, beta, references)
    moved = A @ found.ravel()
    change = float(np.abs(moved - beta).max()) / max(float(np.abs(beta).max()), 1e-300)
    proven = bound > PROVEN * float(np.linalg.norm(moved - beta))
    verdict = "virtually feasible" if change <= ALIKE else "infeasible" if proven else "marginal"
    return Repair(bodies, found, verdict, beta, moved, bound if proven else 0.0)


#: Smallest principal second moment of a reference body, relative to their sum: no needles, no sheets.
ROUND = 0.02
#: Length of a link without placements, and radius of gyration of a body without a usable inertia [m].
SHORT, GYRATION = 0.2, 0.05
#: A centre of mass more than this many link lengths away is not usable.
FAR = 2.0
#: Fraction of J's smallest eigenvalue, congruence-free, below which a consistent body counts as on the boundary.
_EDGE = 1e-7


def reference_bodies(description: Description, bodies: Sequence[Body]) -> Array:
    """Standard parameters of a consistent body for each body, shape (bodies, 10).

    A body that is consistent is its own reference. Of the others, a positive mass and a centre of mass near the link
    are kept; the principal second moments are floored at `ROUND` times their sum. Without usable values the mass is
    the mean of the others', the centre lies between the link's joint and the joints on it, and the body is a ball.
    """
    arms = _arms(description)
    usable = [float(body.given[9]) for body in bodies if body.state.full]
    positive = [float(body.given[9]) for body in bodies if body.given[9] > 0]
    mean = float(np.mean(usable or positive or [1.0]))
    return np.array([_reference(body, arms.get(body.link, np.zeros((0, 3))), mean) for body in bodies]).reshape(-1, 10)


def _arms(description: Description) -> dict[str, Array]:
    """Origins of the joints on each link, in the link's frame."""
    arms: dict[str, list[Array]] = {}
    for joint in description.joints:
        arms.setdefault(joint.parent, []).append(joint.placement[:3, 3])
    return {name: np.array(origins) for name, origins in arms.items()}


def _reference(body: Body, arms: Array, mean: float) -> Array:
    if body.state.full and body.state.triangle_margin > _EDGE * body.state.smallest_principal_moment:
        return body.given
    mass, com, inertia = from_standard(body.given)
    length = max(float(np.linalg.norm(arms, axis=1).max(initial=0.0)), SHORT)
    sigma = np.trace(inertia) / 2 * np.eye(3) - inertia
    moments, axes = np.linalg.eigh(sigma)
    spread = float(np.maximum(moments, 0.0).sum())
    if not mass > 0:
        mass = spread / (3 * GYRATION**2) if 0 < spread < 10 * mean * length**2 else mean
    if np.linalg.norm(com) > FAR * length or body.given[9] <= 0:
        com = arms.mean(axis=0) / 2 if len(arms) else np.zeros(3)
    if not ROUNDING * mass * length**2 < spread < 4 * mass * length**2:
        moments, spread = np.full(3, mass * GYRATION**2), 3 * mass * GYRATION**2
    sigma = axes @ np.diag(np.maximum(moments, ROUND * spread)) @ axes.T
    ten = np.asarray(to_standard(mass, com, np.trace(sigma) * np.eye(3) - sigma))
    assert consistency(ten).full
    return ten
