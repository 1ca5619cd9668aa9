r"""Rigorous lower bound on a problem's optimum, in plain numpy, independent of the solver.

**Theorem.** Let ``F(z) = ||R z - r||^2 + constant + sum_i w_i v_i(z)`` with ``v_i >= 0`` the violations of the soft
rows, over all z with ``a_j'z`` within ``[lo_j, hi_j]`` (hard rows), ``M_k(z) >= eps_k 1`` (cones) and anything else.
Take *any* vector rho (a point x gives ``rho = R x - r``) and *any* numbers ``u_j, l_j >= 0``, zero where the bound is
infinite, with ``u_i + l_i <= w_i`` on soft rows, and any ``Z_k >= 0``. Then for every feasible z ::

    F(z) >= constant - |rho|^2 - 2 rho'r + sum_j (l_j lo_j - u_j hi_j) + sum_k eps_k tr Z_k + sum_k min h_k'z_k
    with  h = 2 R'rho - A'(l - u) - sum_k M_k^*(Z_k),   (M_k^* the adjoint of M_k)

*Proof.* ``|y|^2 >= 2 rho'y - |rho|^2`` for ``y = R z - r``. Feasibility gives
``(l - u)'A z >= l'lo - u'hi - sum w_i v_i(z)`` and ``<Z_k, M_k(z)> >= eps_k tr Z_k``. Substitute
``2 rho'R z = (l - u)'A z + sum <Z_k, M_k(z)> + h'z``. []

The bound holds for any rho and multipliers; how tight it is depends on them. Where the signal is many times the noise,
the gradient of a point that is off by rounding is not small: rho is then corrected so that ``2 R'rho`` is what rows and
cones carry, which costs the square of the correction only. The multipliers of the cones are not taken from
the solver: a link's share g of ``2 R'rho - A'(l - u)`` determines its ``Z_k``. The cone gives what ``Z_k`` gains and
what its negative part costs (`ConsistencyCone.dual_share`); the size of a body is limited by the problem's own bounds
(`LinkRegion`), or by a stated search region.

**Points that miss a little.** A point that misses row j by ``d_j`` adds ``-sum_j (l_j + u_j) d_j`` to the right-hand
side; one whose body k misses its margin adds ``h_k'x_k + <Z_k, M_k(x)>`` less what the body was to gain. Where the set
is thin, multipliers are large and these shares are not small: `lower_bound` subtracts what x itself misses. The bound
then never exceeds the value of x, and it holds for every point that misses no more than x does.

**Nonlinear rows** enter through linear rows that hold at every feasible z, or not at all; the bound is then that of a
convex relaxation. A hard row whose side has a quadratic form (`casid.retrieval._region`) is replaced by a cut of it:
the tangent of a cone or of a concave form, the secant over the box of the centre of mass of a convex one::

    2 t l - m t^2 <= l^2/m <= (a + b) l - a b m       (a <= c <= b; tangent at any t; m > 0)

so a bound on ``Ixx = Lxx - (ly^2 + lz^2)/m`` from above relaxes through the secants, one from below through the
tangents at the present c.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property

import numpy as np

from casid.arrays import Array
from casid.inertia import Limits, link_slice
from casid.retrieval._problem import Problem
from casid.retrieval._region import LinkRegion
from casid.retrieval._rows import LinearRows, NonlinearRows, Row
from casid.retrieval.bound._cuts import Relaxation

#: Share of the objective that the products of the cones' multipliers with the bodies may cost.
_PRICE = 1e-8


@dataclass(frozen=True, eq=False)
class Certificate:
    """A proven lower bound and its terms.

    Attributes
    ----------
    lower_bound : float
        No feasible point of the problem (within the search region, if one was needed) has a smaller objective, nor
        has one that misses no row by more than the point of linearisation does.
    leftover : float
        Part of the bound that inexact multipliers cost, >= 0.
    search_region : mapping of str to float
        Links (or extras) whose size the problem does not bound -> how many times as large as the nominal body the
        bound lets them be: ``tr Jt <= 4 factor`` in the coordinates in which the nominal J is 1. Usually empty.
    """

    lower_bound: float
    leftover: float
    search_region: dict[str, float]
    _exact: float = -np.inf
    _least: float = -np.inf
    _missed: Callable[[Array], float] | None = None

    def at(self, x: Array) -> Certificate:
        """The certificate for points that miss no row, margin or bound by more than x does."""
        if self._missed is None:
            return self
        return replace(self, lower_bound=max(self._exact - self._missed(x), self._least))


@dataclass(frozen=True, eq=False)
class Search:
    """Where links and extras are searched that nothing bounds: up to ``factor`` times the nominal point, shape (N,).

    Without a nominal point the size of such links is not limited, and the bound may be trivial.
    """

    nominal: Array | None = None
    factor: float = 1e3


@dataclass(frozen=True, eq=False)
class DualBound:
    """Lower bound of a linear function over the feasible points.

    Attributes
    ----------
    value : float
    leftover : float
        Cost of inexact multipliers.
    search_region : mapping of str to float
    terms : float
        Size of the rows' terms in it, for rounding.
    left : ndarray, shape (N,)
        Gradient that the rows leave.
    shares : sequence of (slice, float)
        Links and extras, and what each is given of the value.
    """

    value: float
    leftover: float
    search_region: dict[str, float]
    terms: float
    left: Array
    shares: Sequence[tuple[slice, float]]

    def missed(self, x: Array) -> float:
        """What missing margins and bounds as x does can gain: ``sum_k max(share_k - left_k'x_k, 0)``."""
        return sum(max(share - float(self.left[part] @ x[part]), 0.0) for part, share in self.shares)


@dataclass(frozen=True, eq=False)
class Dual:
    """Rows ``lower <= matrix z <= upper`` with numbers that serve as their multipliers, > 0 at an upper bound.

    Attributes
    ----------
    matrix, lower, upper, multipliers : ndarray
    weights : ndarray
        Price of a unit of violation; infinite where the row is hard.
    groups : ndarray of int
        Soft rows of one group share a slack: ``sum of u_i + l_i <= w``; -1 for a row on its own.
    """

    matrix: Array
    lower: Array
    upper: Array
    multipliers: Array
    weights: Array
    groups: Array

    @classmethod
    def of(cls, rows: LinearRows, multipliers: Array) -> Dual:
        """Linear rows, hard and soft, with the solver's multipliers."""
        return cls(rows.matrix, rows.lower, rows.upper, multipliers, *_prices(rows.rows))

    @classmethod
    def relaxed(cls, relaxation: Relaxation, nonlinear: NonlinearRows, multipliers: Array, x: Array) -> Dual:
        """Cuts that stand for the nonlinear rows with a multiplier, made near x: hard, or soft and convex."""
        cuts = [
            (row, *found)
            for row, multiplier in zip(nonlinear.rows, multipliers, strict=True)
            if (found := relaxation.row_cut(row, float(multiplier), x)) is not None
        ]
        rows, count = [row for row, *_ in cuts], len(cuts)
        forms = np.array([cut.form for _, cut, _ in cuts]).reshape(count, len(x))
        low, amounts = np.array([cut.low for _, cut, _ in cuts]), np.array([-amount for *_, amount in cuts])
        return cls(forms, low, np.full(count, np.inf), amounts, *_prices(rows))

    def joined(self, extra: Dual) -> Dual:
        """With further rows."""
        return Dual(*(np.concatenate([getattr(self, f.name), getattr(extra, f.name)]) for f in fields(self)))

    def missed(self, x: Array) -> float:
        """What missing hard rows as x does can gain: ``sum_j (l_j + u_j) d_j``."""
        at_low, at_high = self.sides
        hard, values = np.isinf(self.weights), self.matrix @ x
        below, above = np.maximum(self.lower - values, 0.0), np.maximum(values - self.upper, 0.0)
        return float(at_low[hard] @ below[hard]) + float(at_high[hard] @ above[hard])

    def size_at(self, x: Array) -> float:
        """Size of the rows' terms at x, ``sum_j (l_j + u_j) |a_j|'|x|``: huge multipliers drown in their rounding."""
        at_low, at_high = self.sides
        return float((at_low + at_high) @ (np.abs(self.matrix) @ np.abs(x)))

    @cached_property
    def sides(self) -> tuple[Array, Array]:
        """Multipliers ``l`` and ``u`` >= 0 of lower and upper bounds: admissible, whatever was given."""
        given = np.nan_to_num(self.multipliers, nan=0.0, posinf=0.0, neginf=0.0)
        share = np.ones(len(given))
        for group in {*self.groups[self.groups >= 0].tolist()}:
            of = self.groups == group
            total = float(np.abs(given[of]).sum())
            share[of] = min(1.0, float(self.weights[of][0]) / total) if total else 1.0
        given = given * share
        return (
            np.where(np.isfinite(self.lower), np.clip(-given, 0.0, self.weights), 0.0),
            np.where(np.isfinite(self.upper), np.clip(given, 0.0, self.weights), 0.0),
        )


def _prices(rows: Sequence[Row]) -> tuple[Array, Array]:
    """`Dual.weights` and `Dual.groups`."""
    weights = np.array([np.inf if row.weight is None else row.weight for row in rows])
    return weights, np.array([-1 if row.group is None else row.group for row in rows], dtype=int)


def lower_bound(
    problem: Problem,
    x: Array,
    linear: LinearRows,
    multipliers: Array,
    nonlinear: tuple[NonlinearRows, Array] | None = None,
    search: Search | None = None,
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
    nonlinear
        The nonlinear rows and their multipliers; used where a valid linear relaxation is known.
    search
        Of links that the problem does not bound.
    regions
        Where each link's parameters can be, where tighter limits than the problem's bounds are known: any superset of
        the feasible points that are at least as good as x.
    relaxation
        Of the nonlinear rows; made if not given.
    """
    dual = Dual.of(linear, multipliers)
    if nonlinear is not None and nonlinear[0].size:
        dual = dual.joined(Dual.relaxed(relaxation or Relaxation(problem), *nonlinear, x))
    objective, residual = problem.objective, problem.objective.matrix @ x - problem.objective.target
    reach = np.abs(objective.matrix) @ np.abs(x) + np.abs(objective.target)
    others = abs(objective.constant) + dual.size_at(x)

    def bound_of(residual: Array) -> tuple[float, DualBound]:
        """The theorem's bound for any numbers as residual, less its rounding; -inf where a number is not finite."""
        found = dual_bound(problem, 2.0 * objective.matrix.T @ residual, dual, search or Search(), regions)
        square = float(residual @ residual)
        terms = 2.0 * float(np.abs(residual) @ reach) + square + found.terms + others
        value = found.value + objective.constant - square - 2.0 * float(residual @ objective.target)
        value -= 16 * np.finfo(float).eps * terms
        return (value if np.isfinite(value) else -np.inf), found

    found = [bound_of(residual)]
    for _ in range(2):  # the second takes what the first left by rounding
        residual = residual + _correction(problem, x, found[-1][1].left)
        found.append(bound_of(residual))
    value, bound = max(found, key=lambda pair: pair[0])
    # A sum of squares is never smaller than the part of it that no x can change.
    least = objective.constant
    if not np.isfinite(value):
        return Certificate(least, bound.leftover, bound.search_region)

    def missed(point: Array) -> float:
        return dual.missed(point) + bound.missed(point)

    return Certificate(value, bound.leftover, bound.search_region, value, least, missed).at(x)


def _correction(problem: Problem, x: Array, left: Array) -> Array:
    """Step of the residual that takes what the rows leave of the gradient and no cone can carry at x.

    It minimises ``|R'd + h / 2|``, h the gradient left without the part that each cone carries at almost no price.
    """
    from scipy.linalg import lstsq  # slow to import

    matrix, spare = problem.objective.matrix, left.copy()
    most = _PRICE * problem.objective(x) / (4 * len(problem.cones))
    last, margins = 10 * len(problem.cones), np.array([entry.margin for entry in problem.cones])
    shares, bodies, spares = (v[:last].reshape(-1, 10) for v in (left, x, spare))
    for cone in {entry.cone for entry in problem.cones}:
        own = [k for k, entry in enumerate(problem.cones) if entry.cone == cone]
        spares[own] -= cone.complementary(shares[own], bodies[own], margins[own], abs(most))
    sizes = np.linalg.norm(matrix, axis=0)
    sizes[sizes == 0] = 1.0
    return np.asarray(lstsq((matrix / sizes).T, -spare / sizes / 2, lapack_driver="gelsy", check_finite=False)[0])


def dual_bound(
    problem: Problem, slope: Array, dual: Dual, search: Search, regions: Sequence[LinkRegion] | None = None
) -> DualBound:
    """Lower bound of ``slope'z`` (plus the price of soft rows) over all feasible z; arguments as in `lower_bound`."""
    at_low, at_high = dual.sides
    low, high = (np.where(np.isfinite(b), b, 0.0) for b in (dual.lower, dual.upper))
    left = slope - dual.matrix.T @ (at_low - at_high)
    shares, leftover, searched = [], 0.0, dict[str, float]()
    for part, gain, cost, name in (
        *_links(problem, left, search, regions or problem.regions),
        *_extras(problem, left, search),
    ):
        shares.append((part, gain - cost))
        leftover += cost
        if name is not None:
            searched[name] = search.factor
    value = float(at_low @ low - at_high @ high) + sum(share for _, share in shares)
    terms = float(at_low @ np.abs(low) + at_high @ np.abs(high))
    return DualBound(value, leftover, searched, terms, left, shares)


def _links(
    problem: Problem, left: Array, search: Search, regions: Sequence[LinkRegion]
) -> Iterator[tuple[slice, float, float, str | None]]:
    """What each link makes of the gradient that the rows leave: its gain and cost, its name where it was searched."""
    entries, standard = problem.cones, 10 * len(problem.cones)
    for cone in dict.fromkeys(entry.cone for entry in entries):
        own = [k for k, entry in enumerate(entries) if entry.cone == cone]
        body = None if search.nominal is None else search.nominal[:standard].reshape(-1, 10)[own]
        trace, box = np.array([regions[k].trace for k in own]), np.stack([regions[k].box for k in own])
        margins = np.array([entries[k].margin for k in own])
        share = cone.dual_share(left[:standard].reshape(-1, 10)[own], margins, Limits(trace, box, body, search.factor))
        for k, gain, cost, searched in zip(
            own, share.gain.tolist(), share.cost.tolist(), share.searched.tolist(), strict=True
        ):
            yield link_slice(k), gain, cost, entries[k].name if searched else None


def _extras(problem: Problem, left: Array, search: Search) -> Iterator[tuple[slice, float, float, str | None]]:
    """What each extra makes of it: it lies within its bounds, else within ``factor`` times its nominal size."""
    standard = problem.variables.standard_size
    for position, (name, (lower, upper)) in enumerate(problem.variables.extras.items(), start=standard):
        rest = float(left[position])
        if not rest:
            continue
        end, searched = lower if rest > 0 else upper, None
        if not np.isfinite(end):
            searched = name
            body = 0.0 if search.nominal is None else float(search.nominal[position])
            end = float(np.copysign(search.factor * max(1.0, abs(body)), end))
        yield slice(position, position + 1), max(0.0, rest * end), max(0.0, -rest * end), searched
