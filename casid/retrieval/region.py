"""How large a feasible body can be: bounds on tr J(x) and on each parameter, from the problem's own hard bounds.

The certificate multiplies what its multipliers leave over by these. Where the bounds do not limit a link, an explicit
search region takes their place, and the certificate says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from casid.inertia._cones import ConsistencyCone
from casid.inertia._parameter_vector import mass_index, moment_slice
from casid.retrieval.constraints.facts import Facts

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

    @property
    def positive_mass(self) -> bool:
        """Whether no feasible body has a negative mass."""
        return self.mass[0] >= 0


def link_regions(facts: Facts, cones: Sequence[ConsistencyCone]) -> tuple[LinkRegion, ...]:
    """Region of every link, from what the hard constraints say and what each link's cone implies."""
    masses = facts.mass.copy()
    for k, cone in enumerate(cones):
        if cone.positive_mass:
            masses[k, 0] = max(masses[k, 0], 0.0)
    for links, _, upper in facts.totals:
        for k in links:
            others = sum(masses[j, 0] for j in links if j != k)
            masses[k, 1] = min(masses[k, 1], upper - others)
    return tuple(_region(facts, k, masses[k], cone) for k, cone in enumerate(cones))


def com_quotients(link: int, com: Array) -> dict[tuple[int, int], Array]:
    """Boxes of a link's centre of mass, shape (..., 3, 2), as ranges of first moment over mass."""
    return {(moment_slice(link).start + axis, mass_index(link)): com[..., axis, :] for axis in range(3)}


def _region(facts: Facts, k: int, mass: Array, cone: ConsistencyCone) -> LinkRegion:
    com, inertia, reach = facts.com[k], facts.inertia_com[k], float(facts.reach[k])
    consistent = cone.positive_mass
    mass_max = float(np.abs(mass).max())
    com_max = np.abs(com).max(axis=1)
    upper = inertia[_DIAGONAL, 1].copy()
    if cone.triangle:  # one principal moment is at most the sum of the other two
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
    if consistent:  # tr L = 2 tr Sigma <= 2 m reach, and m |c|^2 <= tr L / 2
        diagonal = np.minimum(diagonal, 2 * _product(mass_max, reach))
        off = [min(value, _product(mass_max, reach)) for value in off]
        moment = np.minimum(moment, _product(mass_max, float(np.sqrt(max(reach, 0.0)))))
    box = np.array([diagonal[0], off[0], off[1], diagonal[1], off[2], diagonal[2], *moment, mass_max])
    trace = float(upper.sum() / 2 + mass_max + _product(mass_max, float(np.sum(com_max**2))))
    trace = min(trace, mass_max + _product(mass_max, reach))
    return LinkRegion((float(mass[0]), float(mass[1])), com, trace if consistent else np.inf, box)


def _product(a: float, b: float) -> float:
    """Product of two bounds, where zero times an infinite bound is zero."""
    return 0.0 if a == 0.0 or b == 0.0 else float(a * b)
