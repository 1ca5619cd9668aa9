r"""Rigorous lower bound on a problem's optimum, in plain numpy, independent of the solver.

**Theorem.** Let ``F(z) = ||R z - r||^2 + constant + sum_i w_i v_i(z)`` with ``v_i >= 0`` the violations of the soft
rows, over all z with ``a_j'z`` within ``[lo_j, hi_j]`` (hard rows), ``M_k(z) >= eps_k 1`` (cones) and anything else.
Take *any* point x and *any* numbers ``u_j, l_j >= 0``, zero where the bound is infinite, with ``u_i + l_i <= w_i`` on
soft rows, and any ``Z_k >= 0``. Then for every feasible z ::

    F(z) >= f(x) - grad f(x)'x + sum_j (l_j lo_j - u_j hi_j) + sum_k eps_k tr Z_k + sum_k min h_k'z_k
    with  h = grad f(x) - A'(l - u) - sum_k M_k^*(Z_k),   (M_k^* the adjoint of M_k)

*Proof.* f is convex: ``f(z) >= f(x) + grad f(x)'(z - x)``. Feasibility gives
``(l - u)'A z >= l'lo - u'hi - sum w_i v_i(z)`` and ``<Z_k, M_k(z)> >= eps_k tr Z_k``. Substitute
``grad f(x)'z = (l - u)'A z + sum <Z_k, M_k(z)> + h'z``. []

Whatever the multipliers, the bound holds; how tight it is depends on them. No multiplier of a cone is asked of the
solver: a link's share g of ``grad f - A'(l - u)`` determines it.

* ``full``: J is a bijection, so ``g'z = <Z, J(z)>`` for one symmetric Z; with N its negative part,
  ``g'z >= eps tr Z - ||N||_2 tr (J(z) - eps 1)``.
* ``semi``: with G the share of L, h of l and gamma of m, ``g'z = <G, I> + m [c; 1]' Q [c; 1]`` where
  ``Q = [[tr(G) 1 - G, h/2], [h'/2, gamma]]``: g is in the dual cone where G >= 0 and Q >= 0, and their negative parts
  are paid for likewise.

What they can cost, ``max tr J`` and the like, comes from the problem's own bounds (`region`), or from a stated search
region.

Nonlinear rows enter through linear relaxations that hold at every feasible z (`relaxation`), or not at all: the bound
is then that of a convex relaxation, and the gap says how much is open.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from casid.inertia import PSEUDO_INERTIA_MAP, pseudo_inertia, spatial_inertia, tensor
from casid.retrieval.bound.cuts import Relaxation
from casid.retrieval.bound.region import LinkRegion, link_regions
from casid.retrieval.bound.relaxation import relaxed_rows
from casid.retrieval.constraints import PhysicalConsistency
from casid.retrieval.objectives import LeastSquares
from casid.retrieval.problem import Problem
from casid.retrieval.program.rows import LinearRows, NonlinearRows

Array = NDArray[np.float64]
_TO_CONE = np.linalg.pinv(PSEUDO_INERTIA_MAP).T  # (16, 10): vec Z of <Z, J(x)> = g'x


@dataclass(frozen=True, eq=False)
class Certificate:
    """A proven lower bound and how it came about.

    Attributes
    ----------
    lower_bound : float
        No feasible point of the problem (within the search region, if one was needed) has a smaller objective.
    leftover : float
        How much of the bound was given away to inexact multipliers, >= 0.
    search_region : mapping of str to float
        Links (or extras) whose size the problem does not bound -> how many times as large as the nominal body the
        bound lets them be: ``tr Jt <= 4 times`` in the coordinates in which the nominal J is 1. Usually empty.
    """

    lower_bound: float
    leftover: float
    search_region: dict[str, float]


def lower_bound(
    problem: Problem,
    x: Array,
    linear: LinearRows,
    multipliers: Array,
    nonlinear: NonlinearRows | None = None,
    nonlinear_multipliers: Array | None = None,
    nominal: Array | None = None,
    times: float = 1e3,
    regions: Sequence[LinkRegion] | None = None,
    relaxation: Relaxation | None = None,
) -> Certificate:
    """Evaluate the bound of the theorem above.

    Parameters
    ----------
    problem
        Gives objective, cones and region.
    x
        Point of linearisation, shape (N,); the nearer to the optimum, the tighter.
    linear, multipliers
        Hard and soft linear rows, and the solver's multipliers of them, > 0 at an upper bound; the signs are not
        trusted.
    nonlinear, nonlinear_multipliers
        The nonlinear rows; used where a valid linear relaxation is known.
    nominal, times
        Search region of links that the problem does not bound: up to ``times`` the nominal body, shape (N,). Without
        a nominal body nothing is said about such links, and the bound may be trivial.
    regions
        Where each link's parameters can be, if the caller knows better than the problem's bounds: any superset of the
        feasible points that are at least as good as x will do.
    relaxation
        Of the nonlinear rows, beyond bounds on diagonals of the inertia.
    """
    objective = problem.objective
    slope = objective.gradient(x)
    bound, given, searched, rows = dual_bound(
        problem, x, slope, linear, multipliers, nonlinear, nonlinear_multipliers, nominal, times, regions, relaxation
    )
    bound += objective(x) - float(slope @ x) - _rounding(objective, x, rows)
    # A sum of squares is never smaller than the part of it that no x can change.
    return Certificate(
        float(max(bound, objective.constant) if np.isfinite(bound) else objective.constant), given, searched
    )


def dual_bound(
    problem: Problem,
    x: Array,
    slope: Array,
    linear: LinearRows,
    multipliers: Array,
    nonlinear: NonlinearRows | None = None,
    nonlinear_multipliers: Array | None = None,
    nominal: Array | None = None,
    times: float = 1e3,
    regions: Sequence[LinkRegion] | None = None,
    relaxation: Relaxation | None = None,
) -> tuple[float, float, dict[str, float], float]:
    """Lower bound of ``slope'z`` (plus the price of soft rows) over all feasible z; arguments as in `lower_bound`.

    Returns
    -------
    bound, leftover, search region, and the size of the rows' terms in it, for rounding.
    """
    matrix, low, high, weights = linear.matrix, linear.lower, linear.upper, _weights(linear)
    if nonlinear is not None and nonlinear_multipliers is not None and nonlinear.size:
        extra = relaxed_rows(problem, nonlinear, nonlinear_multipliers, x, relaxation)
        matrix = np.vstack([matrix, extra.matrix])
        low, high = np.concatenate([low, extra.lower]), np.concatenate([high, extra.upper])
        weights = np.concatenate([weights, np.full(len(extra.lower), np.inf)])
        multipliers = np.concatenate([multipliers, extra.multipliers])
    multipliers = np.nan_to_num(multipliers, nan=0.0, posinf=0.0, neginf=0.0)
    at_low = np.where(np.isfinite(low), np.clip(-multipliers, 0.0, weights), 0.0)
    at_high = np.where(np.isfinite(high), np.clip(multipliers, 0.0, weights), 0.0)
    left = slope - matrix.T @ (at_low - at_high)
    bound = float(at_low @ np.where(np.isfinite(low), low, 0.0) - at_high @ np.where(np.isfinite(high), high, 0.0))

    given, searched = 0.0, {}
    for cone, region in zip(problem.cones, regions or link_regions(problem), strict=True):
        link = slice(10 * cone.link, 10 * cone.link + 10)
        body = None if nominal is None else nominal[link]
        gain, loss, used = _SHARE[cone.kind](left[link], cone, region, body, times)
        bound += gain - loss
        given += loss
        if used:
            searched[cone.name] = times
    for position, (name, (lower, upper)) in enumerate(problem.variables.extras.items()):
        rest = left[10 * len(problem.cones) + position]
        if rest and not (np.isfinite(lower) and np.isfinite(upper)):
            searched[name] = times
        lowest = float((rest * np.clip([lower, upper], -times, times)).min()) if rest else 0.0
        bound += lowest
        given += max(0.0, -lowest)
    rows = at_low @ np.abs(np.where(np.isfinite(low), low, 0.0))
    rows += at_high @ np.abs(np.where(np.isfinite(high), high, 0.0))
    return float(bound), float(given), searched, float(rows)


def relative_gap(value: float, bound: float, objective: LeastSquares) -> float:
    """``(value - bound) / max(value, size)``, with `objective_size` in place of an optimum that is practically zero."""
    return float((value - bound) / max(value, objective_size(objective)))


def objective_size(objective: LeastSquares) -> float:
    """1e-8 of the objective at x = 0: below it the fit is perfect, and differences drown in rounding."""
    return 1e-8 * (float(objective.target @ objective.target) + objective.constant) or 1.0


def _rounding(objective: LeastSquares, x: Array, rows: float) -> float:
    """What rounding can have added to the bound: a few units in the last place of the largest terms."""
    residual = np.abs(objective.matrix) @ np.abs(x) + np.abs(objective.target)
    slope = np.abs(objective.matrix).T @ (
        np.abs(objective.matrix @ x - objective.target) + np.finfo(float).eps * residual
    )
    return 16 * np.finfo(float).eps * (float(slope @ np.abs(x)) + rows + objective.constant)


def _weights(linear: LinearRows) -> Array:
    return np.array([np.inf if row.weight is None else row.weight for row in linear.rows])


def _full_share(
    share: Array, cone: PhysicalConsistency, region: LinkRegion, body: Array | None, times: float
) -> tuple[float, float, bool]:
    """Gain from the margin, cost of Z's negative part, and whether the search region was needed."""
    dual = _symmetric((_TO_CONE @ share).reshape(4, 4))
    gain = cone.margin * float(np.trace(dual))
    limit = max(region.trace - 4 * cone.margin, 0.0)
    if not np.isfinite(limit) and body is not None:
        factor = np.linalg.cholesky(pseudo_inertia(body) - cone.margin * np.eye(4))
        return gain, _negative(factor.T @ dual @ factor) * 4 * times, bool(share.any())
    return gain, _cost(_negative(dual), limit), False


def _semi_share(
    share: Array, cone: PhysicalConsistency, region: LinkRegion, body: Array | None, times: float
) -> tuple[float, float, bool]:
    """As `_full_share`; ``tr I' <= tr L`` and ``l'l / m' <= tr L / 2`` (margin taken off) limit the parts."""
    inertia = tensor(share[:6] * np.array([1, 0.5, 0.5, 1, 0.5, 1]))
    quadratic = np.zeros((4, 4))
    quadratic[:3, :3] = np.trace(inertia) * np.eye(3) - inertia
    quadratic[:3, 3] = quadratic[3, :3] = share[6:9] / 2
    quadratic[3, 3] = share[9]
    gain = cone.margin * float(np.trace(inertia) + share[9])
    trace, mass, searched = float(region.box[[0, 3, 5]].sum()), float(region.box[9]), False
    if not np.isfinite(trace + mass) and body is not None:
        matrix = spatial_inertia(body)
        trace = min(trace, times * float(np.trace(matrix[:3, :3])))
        mass = min(mass, times * float(matrix[3, 3]))
        searched = bool(share.any())
    cost = _cost(_negative(inertia), trace) + _cost(_negative(quadratic), mass + trace / 2)
    return gain, cost, searched


def _free_share(
    share: Array, cone: PhysicalConsistency, region: LinkRegion, body: Array | None, times: float
) -> tuple[float, float, bool]:
    """A link without consistency: only the ranges of its parameters limit ``h'z``."""
    box, searched = region.box, False
    if not np.isfinite(box).all() and body is not None:
        box = np.minimum(box, times * np.maximum(np.abs(body), np.abs(body).max()))
        searched = bool(share.any())
    return 0.0, sum(_cost(abs(float(s)), float(b)) for s, b in zip(share, box, strict=True)), searched


_SHARE = {"full": _full_share, "semi": _semi_share, "none": _free_share}


def _symmetric(matrix: Array) -> Array:
    return np.asarray((matrix + matrix.T) / 2)


def _negative(matrix: Array) -> float:
    """Size of the most negative eigenvalue, >= 0."""
    return max(0.0, -float(np.linalg.eigvalsh(_symmetric(matrix))[0]))


def _cost(amount: float, limit: float) -> float:
    return amount * limit if amount else 0.0
