r"""Rigorous lower bound on a problem's optimum, in plain numpy, independent of the solver.

**Theorem.** Let ``F(z) = ||R z - r||^2 + constant + sum_i w_i v_i(z)`` with ``v_i >= 0`` the violations of the soft rows, over all z with
``a_j'z`` within ``[lo_j, hi_j]`` (hard rows), ``M_k(z) >= eps_k 1`` (cones) and anything else. Take *any* point x and *any* numbers
``u_j, l_j >= 0``, zero where the bound is infinite, with ``u_i + l_i <= w_i`` on soft rows, and any ``Z_k >= 0``. Then for every feasible z ::

    F(z) >= f(x) - grad f(x)'x + sum_j (l_j lo_j - u_j hi_j) + sum_k eps_k tr Z_k + sum_k min h_k'z_k
    with  h = grad f(x) - A'(l - u) - sum_k M_k^*(Z_k),   (M_k^* the adjoint of M_k)

*Proof.* f is convex: ``f(z) >= f(x) + grad f(x)'(z - x)``. Feasibility gives ``(l - u)'A z >= l'lo - u'hi - sum w_i v_i(z)`` and
``<Z_k, M_k(z)> >= eps_k tr Z_k``. Substitute ``grad f(x)'z = (l - u)'A z + sum <Z_k, M_k(z)> + h'z``. []

Whatever the multipliers, the bound holds; how tight it is depends on them. On a link with ``full`` consistency the symmetric Z whose
adjoint is that link's share of ``grad f - A'(l - u)`` exists and is unique (J is a bijection). Its negative part N is cut off, which
leaves ``h'z = -<N, J(z)> >= -||N||_2 (max tr J - 4 eps) - eps tr N``. The other kinds start from the solver's multiplier, projected. ``max tr J``
and the ranges of the single parameters come from the problem's own bounds (`region`), or from a stated search region.

Nonlinear rows enter through linear relaxations that hold at every feasible z (`relaxation`), or not at all: the bound is then
that of a convex relaxation, and the gap says how much is open.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from casid.inertia import PSEUDO_INERTIA_MAP
from casid.retrieval.cones import cone_map
from casid.retrieval.objectives import LeastSquares
from casid.retrieval.problem import Problem
from casid.retrieval.region import LinkRegion, link_regions
from casid.retrieval.relaxation import relaxed_rows
from casid.retrieval.rows import LinearRows, NonlinearRows

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
        Links whose size the problem does not bound -> the limit of tr J that the bound assumes; usually empty.
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
    cone_multipliers: dict[int, Array] | None = None,
    search_trace: Array | None = None,
) -> Certificate:
    """Evaluate the bound of the theorem above.

    Parameters
    ----------
    problem
        Gives objective, cones and region.
    x
        Point of linearisation, shape (N,); the nearer to the optimum, the tighter.
    linear, multipliers
        Hard and soft linear rows, and the solver's multipliers of them, > 0 at an upper bound; the signs are not trusted.
    nonlinear, nonlinear_multipliers
        The nonlinear rows; used where a valid linear relaxation is known.
    cone_multipliers
        Link -> symmetric matrix; used for ``semi`` consistency.
    search_trace
        Limit of tr J for links without bounds, shape (n,).
    """
    objective = problem.objective
    matrix, low, high, weights = linear.matrix, linear.lower, linear.upper, _weights(linear)
    if nonlinear is not None and nonlinear_multipliers is not None and nonlinear.size:
        extra = relaxed_rows(problem, nonlinear, nonlinear_multipliers, x)
        matrix = np.vstack([matrix, extra.matrix])
        low, high = np.concatenate([low, extra.lower]), np.concatenate([high, extra.upper])
        weights = np.concatenate([weights, np.full(len(extra.lower), np.inf)])
        multipliers = np.concatenate([multipliers, extra.multipliers])
    multipliers = np.nan_to_num(multipliers, nan=0.0, posinf=0.0, neginf=0.0)
    at_low = np.where(np.isfinite(low), np.clip(-multipliers, 0.0, weights), 0.0)
    at_high = np.where(np.isfinite(high), np.clip(multipliers, 0.0, weights), 0.0)
    gradient = objective.gradient(x)
    left = gradient - matrix.T @ (at_low - at_high)
    bound = objective(x) - float(gradient @ x)
    bound += float(at_low @ np.where(np.isfinite(low), low, 0.0) - at_high @ np.where(np.isfinite(high), high, 0.0))

    given, searched = 0.0, {}
    for cone, region in zip(problem.cones, link_regions(problem), strict=True):
        share = left[10 * cone.link : 10 * cone.link + 10]
        trace, box = region.trace, region.box
        if not (np.isfinite(trace) if cone.kind == "full" else np.isfinite(box).all()):
            limit = np.inf if search_trace is None else float(search_trace[cone.link])
            if cone.kind == "full":
                trace = limit
            else:
                box = np.where(np.isfinite(box), box, limit)
            if share.any():
                searched[cone.name] = limit
        if cone.kind == "full":
            gain, loss = _full_share(share, cone.margin, trace)
        else:
            start = None if cone_multipliers is None else cone_multipliers.get(cone.link)
            gain, loss = _other_share(share, cone.kind, cone.margin, start, region, box)
        bound += gain - loss
        given += loss
    for position, (name, (lower, upper)) in enumerate(problem.variables.extras.items()):
        slope = left[10 * len(problem.cones) + position]
        limit = 1e6 if search_trace is None else float(np.max(search_trace))
        if slope and not (np.isfinite(lower) and np.isfinite(upper)):
            searched[name] = limit
        ends = slope * np.clip([lower, upper], -limit, limit)
        bound += float(ends.min())
        given += max(0.0, -float(ends.min()))
    return Certificate(bound if np.isfinite(bound) else -np.inf, given, searched)


def relative_gap(value: float, bound: float, objective: LeastSquares) -> float:
    """``(value - bound) / value``; where the optimum is practically zero, relative to 1e-12 of the target's square."""
    floor = 1e-12 * (float(objective.target @ objective.target) + objective.constant)
    return (value - bound) / max(abs(value), floor, np.finfo(float).tiny)


def _weights(linear: LinearRows) -> Array:
    return np.array([np.inf if row.weight is None else row.weight for row in linear.rows])


def _full_share(share: Array, margin: float, trace: float) -> tuple[float, float]:
    """``min <Z, J>`` over ``J >= margin 1, tr J <= trace``: a gain from Z's margin, and what its negative part can cost."""
    dual = (_TO_CONE @ share).reshape(4, 4)
    dual = (dual + dual.T) / 2
    values = np.linalg.eigvalsh(dual)
    worst = max(0.0, -float(values[0]))
    loss = worst * (trace - 4 * margin) if worst else 0.0
    return margin * float(values.sum()), loss


def _other_share(
    share: Array, kind: str, margin: float, start: Array | None, region: LinkRegion, box: Array
) -> tuple[float, float]:
    """Semi-consistent or free link: project the solver's Z, bound the rest by the parameters' ranges."""
    gain = 0.0
    if kind == "semi" and start is not None and np.isfinite(start).all():
        values, vectors = np.linalg.eigh((start + start.T) / 2)
        dual = vectors @ np.diag(np.maximum(values, 0.0)) @ vectors.T
        gain = margin * float(np.trace(dual))
        share = share - cone_map(kind).T @ dual.ravel()
    loss = float(np.abs(share) @ np.where(share == 0.0, 0.0, box))
    return gain, loss
