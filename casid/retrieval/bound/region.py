"""How large a feasible body can be: bounds on tr J(x) and on each parameter, from the problem's own hard bounds.

The certificate multiplies what its multipliers leave over by these. Where the bounds do not limit a link, an explicit
search region takes their place, and the certificate says so.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from casid.retrieval.problem import Problem

Array = NDArray[np.float64]
_DIAGONAL = [0, 3, 5]


@dataclass(frozen=True, eq=False)
class LinkRegion:
    """Limits that every feasible point respects, infinite where there are none.

    Attributes
    ----------
    mass : tuple of float
        Lower and upper [kg].
    com : ndarray, shape (3, 2)
        [m]
    trace : float
        Upper bound of tr J = tr(I)/2 + m |c|^2 + m (mixed SI units).
    box : ndarray, shape (10,)
        Upper bound of each standard parameter's absolute value.
    """

    mass: tuple[float, float]
    com: Array
    trace: float
    box: Array


def _hard(problem: Problem, quantity: str, link: int, shape: int) -> Array:
    bounds = np.tile([-np.inf, np.inf], (shape, 1))
    for constraint in problem.constraints:
        if constraint.quantity == quantity and constraint.weight is None and constraint.links == (link,):
            bounds[:, 0] = np.maximum(bounds[:, 0], constraint.lower)
            bounds[:, 1] = np.minimum(bounds[:, 1], constraint.upper)
    return bounds


def link_regions(problem: Problem) -> tuple[LinkRegion, ...]:
    """Region of every link."""
    consistent = [cone.kind != "none" for cone in problem.cones]
    masses = np.array([_hard(problem, "mass", k, 1)[0] for k in range(len(consistent))])
    masses[:, 0] = np.where(consistent, np.maximum(masses[:, 0], 0.0), masses[:, 0])
    for constraint in problem.constraints:
        if constraint.quantity == "total_mass" and constraint.weight is None:
            links = list(constraint.links)
            for k in links:
                others = sum(masses[j, 0] for j in links if j != k)
                masses[k, 1] = min(masses[k, 1], constraint.upper[0] - others)
    return tuple(_region(problem, k, masses[k], consistent[k]) for k in range(len(consistent)))


def _region(problem: Problem, k: int, mass: Array, consistent: bool) -> LinkRegion:
    com = _hard(problem, "com", k, 3)
    inertia = _hard(problem, "inertia_com", k, 6)
    mass_max = float(np.abs(mass).max())
    com_max = np.abs(com).max(axis=1)
    upper = inertia[_DIAGONAL, 1].copy()
    if problem.cones[k].kind == "full":  # triangle inequality: one moment is at most the sum of the other two
        for axis in range(3):
            upper[axis] = min(upper[axis], upper[(axis + 1) % 3] + upper[(axis + 2) % 3])
    moment = np.array([_product(mass_max, c) for c in com_max])
    steiner = np.array([_product(mass_max, sum(com_max[j] ** 2 for j in range(3) if j != i)) for i in range(3)])
    lower = np.zeros(3) if consistent else inertia[_DIAGONAL, 0]
    diagonal = np.maximum(np.abs(upper), np.abs(lower)) + steiner
    off = []
    for position, (i, j) in ((1, (0, 1)), (2, (0, 2)), (4, (1, 2))):
        own = np.abs(inertia[position]).max() + _product(mass_max, _product(com_max[i], com_max[j]))
        off.append(min(own, (diagonal[i] + diagonal[j]) / 2) if consistent else own)
    reach = _hard(problem, "gyration", k, 1)[0, 1]  # tr L = 2 tr Sigma <= 2 m reach
    diagonal = np.minimum(diagonal, 2 * _product(mass_max, float(reach)) if consistent else np.inf)
    moment = np.minimum(moment, _product(mass_max, float(np.sqrt(reach))) if consistent else np.inf)
    off = [min(value, _product(mass_max, float(reach))) if consistent else value for value in off]
    box = np.array([diagonal[0], off[0], off[1], diagonal[1], off[2], diagonal[2], *moment, mass_max])
    trace = float(upper.sum() / 2 + mass_max + _product(mass_max, float(np.sum(com_max**2))))
    trace = min(trace, mass_max + _product(mass_max, float(reach)))
    return LinkRegion((float(mass[0]), float(mass[1])), com, trace if consistent else np.inf, box)


def _product(a: float, b: float) -> float:
    """Product of two bounds, where zero times an infinite bound is zero."""
    return 0.0 if a == 0.0 or b == 0.0 else float(a * b)
