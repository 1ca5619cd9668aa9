"""Solve a problem: two calls of IPOPT on the lifted program, a re-check and a certificate.

The first call finds the optimum's neighbourhood: the objective is scaled to a gradient of moderate size at the nominal
body. The second starts warm from there, scaled to an objective of 1, and follows the central path to the barrier
parameter ``mu = target gap / number of barrier terms``, stopping there and not at zero: on a convex problem that
point is unique and its dual is strictly feasible, so the answer is reproducible and its certificate tight.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from time import perf_counter
from typing import Any, Literal

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray

from casid.errors import ProblemError, SolveError
from casid.retrieval.bound.certificate import Certificate, lower_bound, objective_size, relative_gap
from casid.retrieval.bound.cuts import Relaxation
from casid.retrieval.bound.recheck import hard_violation, violations
from casid.retrieval.bound.region import link_regions
from casid.retrieval.branching.branches import check_dead_branches
from casid.retrieval.insight.elastic import Conflict, find_conflict
from casid.retrieval.problem import Problem
from casid.retrieval.program.cones import Cone
from casid.retrieval.program.direct import applies, solve_directly
from casid.retrieval.program.nlp import LiftedProgram, Outcome
from casid.retrieval.program.rows import split_rows
from casid.retrieval.program.starts import nominal_parameters, random_parameters
from casid.retrieval.solution import Solution

Array = NDArray[np.float64]
#: Calls of IPOPT after the first, at most; another is not needed where the optimum is this share of the value that
#: scaled it.
_POLISHES, _ACCURATE = 3, 0.5


@dataclass(frozen=True)
class SolveOptions:
    """How a problem is solved.

    Attributes
    ----------
    certified_gap : float
        Relative gap up to which a solution counts as certified.
    feasibility : float
        Largest violation, on re-check in physical units, of a solution.
    target_gap : float
        Relative gap that the barrier aims at.
    restarts : int
        Further attempts, from other starts, where one fails.
    max_iterations : int
        Of each call of IPOPT.
    gradient : float
        Size of the scaled objective's gradient at the nominal body in the first call.
    times : float
        How many times as large as the nominal body a link may become that the problem does not bound.
    pull : bool
        Pull such links to the nominal body, ever so slightly: they have no other reason to be of any size.
    ipopt : mapping
        Further options of IPOPT for the first call.
    direct : bool
        Take the fast way (`casid.retrieval.program.direct`) where the optimum is a single point and no start is
        given; of these options it heeds ``certified_gap`` and ``feasibility``.
    """

    certified_gap: float = 1e-6
    feasibility: float = 1e-8
    target_gap: float = 3e-8
    restarts: int = 4
    max_iterations: int = 300
    gradient: float = 10.0
    times: float = 1e6
    pull: bool = True
    ipopt: Mapping[str, Any] | None = None
    direct: bool = True


def solve(
    problem: Problem,
    start: ArrayLike | None = None,
    seed: int | None = None,
    nominal: ArrayLike | None = None,
    options: SolveOptions | None = None,
    throw: bool = True,
    method: Literal["direct", "penalty", "branches", "smoothed", "global"] = "direct",
) -> Solution:
    """Solve a problem.

    Parameters
    ----------
    problem
        What to solve.
    start
        Standard parameters (and extras) to start from, shape (N,). Default: the nominal body of every link.
    seed
        Start from the random point of this seed instead.
    nominal
        Fully consistent parameters that set the scale of the variables, shape (N,). Default: `nominal_parameters`.
    options
        See `SolveOptions`.
    throw
        Raise on failure; otherwise return a `Solution` whose status says so (for sweeps).
    method
        ``direct``; ``penalty``: Algorithm 1 of Gaz et al. 2019 with kappa = 10 (`solve_by_penalty`); for if-else and
        nonconvex constraints ``branches`` (`solve_branches`), ``smoothed`` (`solve_smoothed`) and ``global``
        (`solve_globally`).

    Raises
    ------
    ProblemError
        If the start has a wrong shape, or a constraint is NaN there.
    SolveError
        If the constraints cannot be met together (`InfeasibleError`: says which, and the smallest relaxation), or IPOPT
        does not converge from any start.
    """
    check_dead_branches(problem)
    if method != "direct":
        return _by_method(method, problem, start, seed, options)
    options = options or SolveOptions()
    if options.direct and start is None and seed is None and applies(problem):
        found = solve_directly(problem, options.certified_gap, options.feasibility)
        if found is not None:
            return found
    return Prepared(problem, nominal, options).solve(start, seed, throw)


def _by_method(
    method: str, problem: Problem, start: ArrayLike | None, seed: int | None, options: SolveOptions | None
) -> Solution:
    from casid.retrieval.branching import enumeration, penalty  # they build on this module

    if method == "penalty":
        return penalty.solve_by_penalty(problem, start=start, seed=seed, options=options).solution
    if method == "branches":
        return enumeration.solve_branches(problem, options)[0]
    if method == "smoothed":
        return enumeration.solve_smoothed(problem, start=start, options=options)
    if method == "global":
        return enumeration.solve_globally(problem, options=options)
    raise ProblemError(f"method: expected 'direct', 'penalty', 'branches', 'smoothed' or 'global', got '{method}'")


class Prepared:
    """A problem with its program built: shared by all starts of a multi-start."""

    def __init__(self, problem: Problem, nominal: ArrayLike | None, options: SolveOptions) -> None:
        began = perf_counter()
        self.problem, self.options = problem, options
        self.nominal = nominal_parameters(problem) if nominal is None else _point(problem, nominal, "nominal")
        self.linear, self.nonlinear = split_rows(problem)
        self.cones = tuple(
            Cone.around(cone, self.nominal[10 * cone.link : 10 * cone.link + 10])
            for cone in problem.cones
            if cone.kind != "none"
        )
        self.pulled = tuple(
            cone.link
            for cone, region in zip(problem.cones, link_regions(problem), strict=True)
            if not np.isfinite(region.trace if cone.kind != "none" else region.box).all()
        )
        self.program = LiftedProgram(
            problem.variables.x,
            problem.objective,
            self.linear,
            self.nonlinear,
            self.cones,
            self.nominal,
            self.pulled,
            4 * options.times,
        )
        rows = [*self.linear.rows, *self.nonlinear.rows]
        self._terms = 2 * len(self.cones) + 2 * len(rows) + 1
        self._first = self.program.solver(
            {
                "tol": 1e-7,
                "mu_target": 1e-8,
                "max_iter": options.max_iterations,
                **(options.ipopt or {}),
            }
        )
        self._polishers: dict[int, ca.Function] = {}
        self._unpulled: dict[float, Certificate] = {}
        self._relaxed: Certificate | None = None
        self.build_time = perf_counter() - began

    # ------------------------------------------------------------------ one start

    def solve(self, start: ArrayLike | None = None, seed: int | None = None, throw: bool = True) -> Solution:
        """Solve from one start, with restarts; see `solve`."""
        began = perf_counter()
        best: Solution | None = None
        iterations = 0
        for attempt in range(self.options.restarts + 1):
            x0 = self._start(start, seed, attempt)
            outcome, scale = self._minimise(x0)
            iterations += outcome.iterations
            found = self._assess(outcome, scale, seed, iterations, attempt, perf_counter() - began)
            if best is None or found.rank() < best.rank():
                best = found
            if best.certified or (best.status == "feasible" and self.nonlinear.size and outcome.success):
                break
            if attempt == 0 and best.status == "failed" and self.conflict is not None:
                best = replace(best, status="infeasible")
                break
        assert best is not None
        best = replace(best, iterations=iterations, restarts=attempt, solve_time=perf_counter() - began)
        if throw and best.status == "infeasible":
            raise self.infeasible(best)
        if throw and best.status == "failed":
            raise SolveError(
                f"problem '{self.problem.name}': IPOPT found no feasible point from {best.restarts + 1} starts "
                f"(last status {best.solver_status}, largest violation {best.max_violation:.3g}); give a start, or "
                "soften a constraint",
                best,
            )
        return best

    def _start(self, start: ArrayLike | None, seed: int | None, attempt: int) -> Array:
        if attempt == 0 and start is not None:
            return self._defined(_point(self.problem, start, "start"))
        if attempt == 0 and seed is None:
            return self._defined(self.nominal)
        rng = np.random.default_rng([0 if seed is None else seed, attempt])
        for _ in range(20):
            x = random_parameters(self.problem, rng)
            if self._nan_constraint(x) is None:
                return x
        return self._defined(x)

    def _nan_constraint(self, x: Array) -> str | None:
        for label, value in self.problem.values(x).items():
            if not np.isfinite(value).all():
                return label
        return None

    def _defined(self, x: Array) -> Array:
        label = self._nan_constraint(x)
        if label is not None:
            raise ProblemError(
                f"constraint '{label}' is NaN or infinite at the starting point; pass a start where it is defined, or "
                "rewrite the expression (guard square roots, logarithms and divisions)"
            )
        return x

    def _minimise(self, x0: Array) -> tuple[Outcome, float]:
        """Both calls of IPOPT; the outcome's multipliers belong to the scale returned with it.

        The second is repeated, rescaled, where it found an optimum far below the value it was scaled by.
        """
        pull = 1e-9 if self.options.pull else 0.0
        gradient = self.program.gradient_size()
        coarse = self.options.gradient / gradient if gradient > 0 else 1.0
        first = self.program.solve(self._first, self.program.start(x0), coarse, pull)
        best, scale = first, coarse
        statuses, iterations = first.status, first.iterations
        for _ in range(_POLISHES):
            if not best.success or not np.isfinite(best.point.w).all():
                break
            value = max(self.program.objective_value(best.point.w), objective_size(self.problem.objective))
            if scale * value >= _ACCURATE and best is not first:
                break
            ratio = 1.0 / (value * scale)
            warm = replace(
                best.point,
                multipliers=best.point.multipliers * ratio,
                bound_multipliers=best.point.bound_multipliers * ratio,
            )
            target = self.options.target_gap / self._terms
            solver = self._polish(max(best.mu * ratio, 10 * target), target)
            found = self.program.solve(solver, warm, 1.0 / value, target / 2 * self.options.pull)
            iterations += found.iterations
            statuses += f", {found.status}"
            if not found.success or not np.isfinite(found.point.w).all():  # try again from the point alone
                found = self.program.solve(self._first, best.point.w, 1.0 / value, target / 2 * self.options.pull)
                iterations += found.iterations
                statuses += f", {found.status}"
                if not found.success or not np.isfinite(found.point.w).all():
                    break
            best, scale = found, 1.0 / value
        return replace(best, iterations=iterations, status=statuses), scale

    def _polish(self, mu: float, target: float) -> ca.Function:
        """Solver that starts warm at a barrier parameter (rounded up to a power of 10) and stops at the target."""
        exponent = int(np.ceil(np.log10(mu)))
        if exponent not in self._polishers:
            pushes = ("bound_push", "bound_frac", "slack_bound_push", "slack_bound_frac", "mult_bound_push")
            self._polishers[exponent] = self.program.solver(
                {
                    "tol": 1e-12,
                    "acceptable_tol": 1e-9,
                    "acceptable_iter": 4,
                    "mu_target": target,
                    "mu_init": 10.0**exponent,
                    "dual_inf_tol": 1e-4,
                    "compl_inf_tol": 1e-4,
                    "max_iter": self.options.max_iterations,
                    "warm_start_init_point": "yes",
                    **{f"warm_start_{push}": 1e-16 for push in pushes},
                    **{k: v for k, v in (self.options.ipopt or {}).items() if k.startswith(("mumps", "fast_step"))},
                }
            )
        return self._polishers[exponent]

    def _assess(
        self, outcome: Outcome, scale: float, seed: int | None, iterations: int, attempt: int, seconds: float
    ) -> Solution:
        w = outcome.point.w
        broken = not np.isfinite(w).all()
        x = self.nominal if broken else self.program.parameters(w)
        amounts = violations(self.problem, x)
        worst = hard_violation(self.problem, amounts)
        objective = self.problem.objective(x)
        penalty = self._penalty(x)
        linear, curved = self.program.row_multipliers(outcome.point, scale)
        certificate = Certificate(-np.inf, np.inf, {})
        if not broken:
            certificate = self._certify(x, objective + penalty, linear, curved)
        gap = relative_gap(objective + penalty, certificate.lower_bound, self.problem.objective)
        feasible = worst <= self.options.feasibility and not broken
        if feasible and self.nonlinear.size and gap > self.options.certified_gap and outcome.success:
            relaxed = self._relaxed_bound(x)
            if relaxed.lower_bound > certificate.lower_bound:
                certificate = relaxed
                gap = relative_gap(objective + penalty, certificate.lower_bound, self.problem.objective)
        certified = feasible and gap <= self.options.certified_gap
        usable = feasible and (outcome.success or certified)
        return Solution(
            self.problem,
            "optimal" if certified else "feasible" if usable else "failed",
            objective,
            penalty,
            certificate.lower_bound,
            gap,
            certified,
            x,
            amounts,
            worst,
            self._by_label(linear, curved),
            iterations,
            attempt,
            self.build_time,
            seconds,
            1,
            seed,
            outcome.status,
            certificate.search_region,
        )

    def _penalty(self, x: Array) -> float:
        """Price of the soft rows' violations at x."""
        total = 0.0
        for rows, value in (
            (self.linear, self.linear.matrix @ x),
            (self.nonlinear, self.nonlinear.values(self.problem.variables.x, x)),
        ):
            excess = np.maximum(np.maximum(rows.lower - value, value - rows.upper), 0.0)
            total += sum(
                row.weight * float(e) for row, e in zip(rows.rows, excess, strict=True) if row.weight is not None
            )
        return total

    def _certify(self, x: Array, total: float, linear: Array, curved: Array) -> Certificate:
        times = self.options.times
        if self.pulled and self.options.pull:
            times = max(1e3, float(10.0 ** np.ceil(np.log10(100 * self._size(x)))))
        own = lower_bound(
            self.problem,
            x,
            self.linear,
            linear,
            self.nonlinear,
            curved,
            self.nominal,
            times,
            relaxation=self.relaxation if self.nonlinear.size else None,
        )
        gap = relative_gap(total, own.lower_bound, self.problem.objective)
        if gap <= self.options.certified_gap or not (self.pulled and self.options.pull):
            return own
        # The pull can spoil the multipliers of unbounded links: take those of the problem without it.
        if times not in self._unpulled:
            options = replace(self.options, times=times, pull=False, restarts=0)
            found = Prepared(self.problem, self.nominal, options).solve(throw=False)
            self._unpulled[times] = Certificate(found.lower_bound, 0.0, dict(found.search_region))
        return max(own, self._unpulled[times], key=lambda certificate: certificate.lower_bound)

    def _size(self, x: Array) -> float:
        """How many times as large as its nominal body the largest unbounded link is."""
        coned = {cone.link: cone for cone in self.cones}
        sizes = [1.0]
        for k in self.pulled:
            link = slice(10 * k, 10 * k + 10)
            if k in coned:
                sizes.append(float(np.sum(coned[k].factor(x[link]) ** 2)) / 4)
            else:
                sizes.append(float(np.abs(x[link]).max() / np.abs(self.nominal[link]).max()))
        return max(sizes)

    @cached_property
    def relaxation(self) -> Relaxation:
        """Linear rows that hold wherever the nonlinear constraints do."""
        return Relaxation(self.problem)

    def _relaxed_bound(self, near: Array) -> Certificate:
        """Bound of the convex relaxation; found once, it holds for every start."""
        if self._relaxed is None:
            from casid.retrieval.bound.bounds import bound_certificate

            if self.relaxation.nonconvex:
                self._relaxed = bound_certificate(self.problem, near, self.nominal, self.options, self.relaxation)
            else:
                self._relaxed = Certificate(-np.inf, np.inf, {})
        return self._relaxed

    @cached_property
    def conflict(self) -> Conflict | None:
        """Why the constraints cannot be met together; ``None`` if they can."""
        return find_conflict(self)

    def infeasible(self, solution: Solution) -> SolveError:
        """The error that names the conflict."""
        assert self.conflict is not None
        return self.conflict.error(self.problem, solution)

    def _by_label(self, linear: Array, curved: Array) -> dict[str, Array]:
        found: dict[str, list[float]] = {c.label: [] for c in self.problem.constraints}
        for rows, values in ((self.linear.rows, linear), (self.nonlinear.rows, curved)):
            for row, value in zip(rows, values, strict=True):
                if row.constraint >= 0:
                    found[self.problem.constraints[row.constraint].label].append(float(value))
        return {label: np.array(values) for label, values in found.items()}


def _point(problem: Problem, point: ArrayLike, what: str) -> Array:
    x = np.array(point, dtype=float)
    if x.shape != (problem.variables.size,):
        raise ProblemError(f"{what}: expected {problem.variables.size} numbers, got shape {x.shape}")
    if not np.isfinite(x).all():
        name = problem.variables.names[int(np.flatnonzero(~np.isfinite(x))[0])]
        raise ProblemError(f"{what}: '{name}' is NaN or infinite")
    return x
