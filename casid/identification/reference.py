"""A real body for every body of a file: itself where it can exist, otherwise one made of what the file says of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from casid.description import Description
from casid.inertia import consistency, from_standard, to_standard

if TYPE_CHECKING:
    from casid.identification.repair._repair import Body

Array = NDArray[np.float64]

#: Smallest principal second moment of a reference body, relative to their sum: no needles, no sheets.
ROUND = 0.02
#: Lengths of links that tell nothing [m], and radius of gyration of a body whose inertia tells nothing.
SHORT, GYRATION = 0.2, 0.05
#: A centre of mass this many link lengths away is no centre of mass.
FAR = 2.0
#: Fraction of J's smallest eigenvalue, congruence-free, below which a consistent body counts as on the boundary.
_EDGE = 1e-7


def reference_bodies(description: Description, bodies: Sequence[Body]) -> Array:
    """Standard parameters of a consistent body for each body, shape (bodies, 10).

    A body that is consistent is its own reference. Of the others, a positive mass and a centre of mass near the link
    are kept; the principal second moments are floored at `ROUND` times their sum. Where the file says nothing usable
    the mass is the mean of those that are, the centre lies between the link's joint and the joints on it, and the body
    is as round as a ball.
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
    if not 1e-9 < mass:
        mass = spread / (3 * GYRATION**2) if 0 < spread < 10 * mean * length**2 else mean
    if np.linalg.norm(com) > FAR * length or body.given[9] <= 0:
        com = arms.mean(axis=0) / 2 if len(arms) else np.zeros(3)
    if not 1e-12 * mass < spread < 4 * mass * length**2:
        moments, spread = np.full(3, mass * GYRATION**2), 3 * mass * GYRATION**2
    sigma = axes @ np.diag(np.maximum(moments, ROUND * spread)) @ axes.T
    ten = np.asarray(to_standard(mass, com, np.trace(sigma) * np.eye(3) - sigma))
    assert consistency(ten).full
    return ten
