"""Starting points: a nominal body for every link, and random ones within the bounds."""

from __future__ import annotations

import numpy as np

from casid.arrays import Array
from casid.errors import ProblemError
from casid.inertia import TENSOR_INDEX, consistency, from_standard, link_slice, pseudo_inertia, to_standard
from casid.retrieval._problem import Problem
from casid.retrieval._region import LinkRegion

#: Smallest edge of a nominal body [m]; half the edge of one about whose size nothing is known; largest edge.
SMALLEST_EDGE, HALF_EDGE, LARGEST_EDGE = 0.02, 0.15, 10.0
#: Farthest centre of mass of a nominal body [m]: second moments of twice as many digits leave none for its own.
FARTHEST = 1e6
_ROWS, _COLUMNS = np.array(TENSOR_INDEX).T


def nominal_parameters(problem: Problem) -> Array:
    """A plausible body for every link, fully consistent: start of the solver and scale of its variables.

    A link with bounds on its centre of mass is taken for a uniform box of that size, with its share of the mass.
    Without them, the robot description's inertial values are used where they are those of a real body; else a box of
    0.3 m. Extras start at 0, or at the bound next to it.

    Returns
    -------
    ndarray, shape (N,)
    """
    regions = problem.regions
    masses = _nominal_masses(problem, regions)
    parts = []
    for link, region, mass, cone in zip(problem.variables.robot.links, regions, masses, problem.cones, strict=True):
        if not np.isfinite(region.com).all() and link.inertial is not None:
            given = link.inertial.standard_parameters()
            smallest = max(given[9] * SMALLEST_EDGE**2 / 12, 10 * cone.margin)
            if consistency(given).pseudo_inertia_margin > smallest:
                parts.append(given)
                continue
        parts.append(_box_body(link.name, mass, *_box(region.com), 2 * cone.margin))
    extras = [min(max(0.0, low), high) for low, high in problem.variables.extras.values()]
    return np.concatenate([*parts, extras])


def random_parameters(problem: Problem, rng: np.random.Generator) -> Array:
    """A random consistent point: masses, centres of mass and second moments uniform within their bounds.

    Quantities without bounds are drawn around the nominal body, over a factor of ten each way.
    """
    nominal = nominal_parameters(problem)
    parts = []
    for k, region in enumerate(problem.regions):
        mass0, com0, inertia0 = from_standard(nominal[link_slice(k)])
        high = region.mass[1]
        low = min(max(region.mass[0], 0.0), high)  # masses without consistency may be negative
        mass = rng.uniform(low, high) if np.isfinite(high) else mass0 * 10 ** rng.uniform(-1, 1)
        box = np.where(np.isfinite(region.com), region.com, com0[:, None] + np.array([-HALF_EDGE, HALF_EDGE]))
        com = rng.uniform(box.min(axis=1), box.max(axis=1))  # bounds of a single point cross by rounding
        reach = region.box[[0, 3, 5]].min() / 2
        if np.isfinite(reach):
            second = rng.uniform(0.0, reach, 3)
        else:
            second = np.trace(inertia0) / 6 * 10 ** rng.uniform(-1, 1, 3)
        axes = np.linalg.qr(rng.normal(size=(3, 3)))[0]
        sigma = axes @ np.diag(second) @ axes.T
        parts.append(to_standard(max(mass, 1e-3 * mass0), com, np.trace(sigma) * np.eye(3) - sigma))
    extras = [rng.uniform(*_finite_range(low, high)) for low, high in problem.variables.extras.values()]
    return np.concatenate([*parts, extras])


def uniform_parameters(problem: Problem, rng: np.random.Generator) -> Array:
    """A random point, uniform in every mass, centre of mass and entry of the inertia about it, between their bounds.

    Line 1 of Algorithm 1 of Gaz et al. (2019): such a point is seldom consistent. What has no bounds is drawn as
    `random_parameters` does.
    """
    x, facts = random_parameters(problem, rng), problem.facts

    def drawn(bounds: Array, given: Array) -> Array:
        known = np.asarray(np.isfinite(bounds).all(axis=-1))
        low, high = np.where(known[..., None], bounds, 0.0).T
        return np.where(known, rng.uniform(np.minimum(low, high), high), given)

    for k in range(len(problem.variables)):
        mass, com, inertia = from_standard(x[link_slice(k)])
        six = drawn(facts.inertia_com[k], inertia[_ROWS, _COLUMNS])
        tensor = np.zeros((3, 3))
        tensor[_ROWS, _COLUMNS] = tensor[_COLUMNS, _ROWS] = six
        weight = float(drawn(np.maximum(facts.mass[k], 0.0), np.array(mass)))
        x[link_slice(k)] = to_standard(max(weight, 1e-3 * mass), drawn(facts.com[k], com), tensor)
    return x


def _finite_range(low: float, high: float) -> tuple[float, float]:
    """A range to draw from: the bounds, a missing one replaced by 1 beyond the other, or by -1 and 1."""
    if np.isfinite(low):
        return low, high if np.isfinite(high) else low + 1.0
    return (high - 1.0, high) if np.isfinite(high) else (-1.0, 1.0)


def _box_body(link: str, mass: float, centre: Array, edges: Array, margin: float) -> Array:
    """A uniform box; larger and heavier than asked for where its pseudo-inertia would not keep the margin."""
    if np.abs(centre).max() > FARTHEST:
        raise ProblemError(
            f"{link}: its centre of mass is bounded to about {np.abs(centre).max():.3g} m: no body there keeps its "
            "margin in double precision; metres are expected, not mm"
        )
    while True:
        second = mass * edges**2 / 12
        body = to_standard(mass, centre, np.diag(second.sum() - second))
        if np.linalg.eigvalsh(pseudo_inertia(body))[0] > margin:
            return body
        edges, mass = 1.2 * edges, max(mass, 1.2 * margin) * 1.02


def _box(com: Array) -> tuple[Array, Array]:
    bounded = np.asarray(np.isfinite(com).all(axis=1))
    centre = np.where(bounded, np.where(bounded[:, None], com, 0.0).mean(axis=1), 0.0)
    edges = np.where(bounded, com[:, 1] - com[:, 0], 2 * HALF_EDGE) if bounded.any() else np.full(3, 2 * HALF_EDGE)
    edges = np.where(np.isfinite(edges), edges, 2 * HALF_EDGE)
    half = LARGEST_EDGE / 2  # of a wider box the part about the frame's origin, as near as the bounds allow
    inside = np.clip(0.0, np.where(bounded, com[:, 0] + half, 0.0), np.where(bounded, com[:, 1] - half, np.inf))
    centre = np.where(edges > LARGEST_EDGE, inside, centre)
    return centre, np.clip(edges, SMALLEST_EDGE, LARGEST_EDGE)


def _nominal_masses(problem: Problem, regions: tuple[LinkRegion, ...]) -> Array:
    """Equal shares of the total mass where it is bounded, else 1 kg a link; kept within each link's own bounds."""
    shares = np.ones(len(regions))
    for links, lower, upper in problem.facts.totals:
        if np.isfinite(upper):
            shares[list(links)] = (max(lower, 0.0) + upper) / 2 / len(links)
    for k, region in enumerate(regions):
        high = region.mass[1]
        low = min(max(region.mass[0], 0.0), high)  # masses without consistency may be negative
        inside = (low + high) / 2 if np.isfinite(high) else max(2 * low, 1.0)
        if not low < shares[k] < high:
            shares[k] = inside
    return np.maximum(shares, 1e-3)
