"""A problem made ready for the solver, and its solutions with proofs; the same for other solvers of CasADi's.

Rows, cones, scale and lifted program are made once and shared by all starts. From each start there are two calls of
IPOPT. The first finds the optimum's neighbourhood: the objective is scaled to a gradient of moderate size at the
nominal body. The second starts warm from there, scaled to an objective of 1, and follows the central path to the
barrier parameter ``mu = target gap / number of barrier terms``, stopping there and not at zero: on a convex problem
that point is unique and its dual is strictly feasible: the answer is reproducible and its certificate tight.

Where constraints are not convex and the multipliers leave the gap open, a convex relaxation gives the bound. It keeps
everything that is convex and replaces the rest by linear rows that every feasible point obeys
(`casid.retrieval._bound`), made near the relaxation's own solution until nothing is cut off any more. Each
relaxation is solved and certified as any problem is, so its bound does not depend on the solver.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from time import perf_counter
from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from casid.arrays import ALIKE, Array, read_only
from casid.errors import ProblemError
from casid.inertia import link_slice
from casid.retrieval._bound import Certificate, Cut, Dual, Relaxation, Search, lower_bound
from casid.retrieval._problem import Problem, split_rows
from casid.retrieval._solution import Conflict, Solution, Tolerances, annotated, assess, relative_gap
from casid.retrieval._variables import LinkVariables
from casid.retrieval.constraints._constraint import FEASIBILITY, Constraint
from casid.retrieval.program._elastic import find_conflict
from casid.retrieval.program._nlp import (
    Cone,
    FeasibleSet,
    LiftedProgram,
    Outcome,
    nominal_parameters,
    random_parameters,
)

#: Share of its search region at which a link that nothing bounds gets a nominal body of its own size.
_OUTGROWN = 0.1
#: Calls of IPOPT after the first, at most; another is not needed where the optimum is this share of the value that
#: scaled it.
_POLISHES, _ACCURATE = 3, 0.5
#: The objective is never scaled by less than this share of its value at x = 0: differences would be lost in rounding.
LEAST_SCALE = 1e-8
#: How often the nominal bodies may be enlarged where links nearly leave their search region.
_GROWTHS = 3
#: Largest number of rounds of cuts; they end where this many cuts no longer improve the bound.
_ROUNDS, _MANY_CUTS = 12, 40


@dataclass(frozen=True)
class SolveOptions:
    """Options of every solve.

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
    initial_gradient : float
        Size of the scaled objective's gradient at the nominal body in the first call.
    search_factor : float
        How many times as large as the nominal body a link may become that the problem does not bound.
    proximal : bool
        Add a very small proximal term that draws such links to the nominal body; nothing else determines their size.
    solver : str
        Plugin of `casadi.nlpsol` for the first call; IPOPT goes on from there to the point that can be certified.
    nlpsol : mapping
        Options of that plugin, as CasADi spells them: ``{"ipopt": {"max_iter": 50}}``.
    direct : bool
        Take the fast way (`casid.retrieval.program._determined`) where the optimum is a single point and no start is
        given; of these options it uses ``certified_gap`` and ``feasibility``.
    """

    certified_gap: float = 1e-6
    feasibility: float = FEASIBILITY
    target_gap: float = 3e-8
    restarts: int = 4
    max_iterations: int = 300
    initial_gradient: float = 10.0
    search_factor: float = 1e6
    proximal: bool = True
    solver: str = "ipopt"
    nlpsol: Mapping[str, Any] | None = None
    direct: bool = True

    @property
    def tolerances(self) -> Tolerances:
        """What counts as certified and as feasible."""
        return Tolerances(self.certified_gap, self.feasibility)


class PreparedProblem:
    """A problem with its rows, cones, lifted program and solvers: shared by all starts of a multi-start.

    Parameters
    ----------
    problem
        What to solve.
    nominal
        Fully consistent parameters that set the scale of the variables, shape (N,). Default: `nominal_parameters`.
    options
        See `SolveOptions`.
    tighten
        Where the constraints are not convex and the multipliers leave the gap open, bound it by convex relaxations.
    """

    def __init__(
        self, problem: Problem, nominal: Array | None = None, options: SolveOptions | None = None, tighten: bool = True
    ) -> None:
        began = perf_counter()
        self.problem, self.options = problem, options or SolveOptions()
        self.nominal = nominal_parameters(problem) if nominal is None else nominal
        self.linear, self.nonlinear = split_rows(problem)
        self.cones = tuple(
            Cone.around(entry, self.nominal[link_slice(entry.link)]) for entry in problem.cones if entry.constrains
        )
        #: Links that no bound limits.
        self.unbounded = tuple(
            entry.link
            for entry, region in zip(problem.cones, problem.regions, strict=True)
            if not np.isfinite(region.trace if entry.constrains else region.box).all()
        )
        self.feasible_set = FeasibleSet(self.linear, self.nonlinear, self.cones, self.nominal)
        self.program = LiftedProgram(
            problem.variables.x, problem.objective, self.feasible_set, self.unbounded, 4 * self.options.search_factor
        )
        self._terms = 2 * len(self.cones) + 2 * len(self.feasible_set.rows) + 1
        self._first = self.program.solver(
            {"tol": 1e-7, "mu_target": 1e-8, "max_iter": self.options.max_iterations},
            self.options.solver,
            self.options.nlpsol or {},
        )
        self._reached: tuple[Outcome, float] | None = None
        self._tighten = tighten
        self._unregularised: dict[float, Certificate] = {}
        self._relaxed: Certificate | None = None
        self._growths = _GROWTHS
        self.build_time = perf_counter() - began

    def starting_point(self, start: ArrayLike | None, seed: int | None) -> Array:
        """Where the first attempt starts, shape (N,): the given point, the nominal bodies, or a random point.

        Raises
        ------
        ProblemError
            If the given point has a wrong shape, or a constraint is NaN there.
        """
        if start is not None:
            x = checked_point(self.problem, start, "start")
        else:
            x = self.nominal if seed is None else self.random_point(seed)
        label = self._nan_constraint(x)
        if label is not None:
            raise ProblemError(
                f"constraint '{label}' is NaN or infinite at the starting point; pass a start where it is defined, or "
                "rewrite the expression (guard square roots, logarithms and divisions)"
            )
        return x

    def random_point(self, seed: int | None, attempt: int = 0) -> Array:
        """The first of 20 random points, shape (N,), at which every constraint has a value; the last if none has."""
        rng = np.random.default_rng([0 if seed is None else seed, attempt])
        for _ in range(20):
            x = random_parameters(self.problem, rng)
            if self._nan_constraint(x) is None:
                break
        return x

    def _nan_constraint(self, x: Array) -> str | None:
        """Label of a constraint that has no value at x."""
        if not self.nonlinear.size or np.isfinite(self.nonlinear.values(self.problem.variables.x, x)).all():
            return None
        return self.problem.undefined(x)

    def size_of(self, x: Array) -> float:
        """How many times as large as its nominal value the largest link or extra is that nothing bounds."""
        coned = {cone.link: cone for cone in self.cones}
        sizes = [1.0, *(self._link_size(coned[k], x) for k in self.unbounded if k in coned)]
        for link in (link_slice(k) for k in self.unbounded if k not in coned):
            sizes.append(float(np.abs(x[link]).max() / np.abs(self.nominal[link]).max()))
        standard = self.problem.variables.standard_size
        for position, bounds in enumerate(self.problem.variables.extras.values(), start=standard):
            if not np.isfinite(bounds).all():
                sizes.append(float(abs(x[position]) / max(1.0, abs(self.nominal[position]))))
        return max(sizes)

    def grown(self, x: Array) -> Array | None:
        """The nominal point with larger bodies where x nearly leaves the search region; None if it does not."""
        grown = self.nominal.copy()
        for cone in self.cones:
            link = link_slice(cone.link)
            size = self._link_size(cone, x) if cone.link in self.unbounded else 0.0
            if size > _OUTGROWN * self.options.search_factor:
                grown[link] *= size
        return None if np.array_equal(grown, self.nominal) else grown

    @staticmethod
    def _link_size(cone: Cone, x: Array) -> float:
        """How many times as large as its nominal body a link is: ``tr Jt / 4``."""
        return float(np.sum(cone.factor(x[link_slice(cone.link)]) ** 2)) / 4

    @cached_property
    def relaxation(self) -> Relaxation:
        """Linear rows that hold wherever the nonlinear constraints do."""
        return Relaxation(self.problem)

    def minimise(self, x0: Array) -> tuple[Outcome, float]:
        """Both calls of IPOPT; the outcome's multipliers belong to the scale returned with it.

        The second is repeated, rescaled, where it found an optimum far below the value it was scaled by, or failed and
        the first was called once more.
        """
        proximal = 1e-9 if self.options.proximal else 0.0
        basis, objective = self.program.basis, self.problem.objective
        gradient = float(np.abs(basis.T @ objective.gradient(self.nominal)).max())  # in y
        coarse = self.options.initial_gradient / gradient if gradient > 0 else 1.0
        best, scale = self.program.solve(self._first, self.program.start(x0), coarse, proximal), coarse
        statuses, iterations, polished = best.status, best.iterations, False
        for _ in range(_POLISHES):
            if not best.good:
                break
            above = self.program.objective_value(best.point.w) - min(self.problem.objective.constant, 0.0)
            value = max(above, LEAST_SCALE * self.problem.objective.size)
            if scale * value >= _ACCURATE and polished:
                break
            tried = self._polished(best, scale, value)
            iterations += sum(outcome.iterations for outcome in tried)
            statuses += "".join(f", {outcome.status}" for outcome in tried)
            if not tried[-1].good:
                break
            best, scale, polished = tried[-1], 1.0 / value, len(tried) == 1
        return replace(best, iterations=iterations, status=statuses), scale

    def _polished(self, best: Outcome, scale: float, value: float) -> list[Outcome]:
        """Warm from an outcome, scaled to an objective of 1; where that fails, again from its point alone."""
        ratio = 1.0 / (value * scale)
        warm = replace(
            best.point,
            multipliers=best.point.multipliers * ratio,
            bound_multipliers=best.point.bound_multipliers * ratio,
        )
        target = self.options.target_gap / self._terms
        proximal = target / 2 * self.options.proximal
        solver = self._polisher(max(best.mu * ratio, 10 * target), target)
        found = [self.program.solve(solver, warm, 1.0 / value, proximal)]
        if not found[0].good:
            found.append(self.program.solve(self._first, best.point.w, 1.0 / value, proximal))
        return found

    def _polisher(self, mu: float, target: float, **more: Any) -> ca.Function:
        """Solver that starts warm at a barrier parameter (rounded up to a power of 10) and stops at the target."""
        pushes = ("bound_push", "bound_frac", "slack_bound_push", "slack_bound_frac", "mult_bound_push")
        own = (self.options.nlpsol or {}).get("ipopt", {})
        return self.program.solver(
            {
                "tol": 1e-12,
                "acceptable_tol": 1e-9,
                "acceptable_iter": 4,
                "mu_target": target,
                "mu_init": 10.0 ** int(np.ceil(np.log10(mu))),
                "dual_inf_tol": 1e-4,
                "compl_inf_tol": 1e-4,
                "max_iter": self.options.max_iterations,
                "warm_start_init_point": "yes",
                **{f"warm_start_{push}": 1e-16 for push in pushes},
                **more,
                **{k: v for k, v in own.items() if k.startswith(("mumps", "fast_step"))},
            }
        )

    def follow(self, problem: Problem) -> Solution | None:
        """Solve a problem whose numbers alone differ, from the primal-dual point that `solve` reached in this one.

        Assessed as any solution; None where that point led to no certified one, or the structures differ.
        """
        began = perf_counter()
        other = PreparedProblem(problem, self.nominal, self.options, self._tighten)
        if self._reached is None or other.program.graph is not self.program.graph:
            return None
        near, scale = self._reached
        target = self.options.target_gap / self._terms
        plain = {"mumps_permuting_scaling": 0, "mumps_scaling": 0}  # unknowns and rows are scaled already
        solver = other._polisher(target, target, mu_init=target, tol=1e-9, **plain)
        outcome = other.program.solve(solver, near.point, scale, target / 2 * self.options.proximal)
        value = other.program.objective_value(outcome.point.w) - min(problem.objective.constant, 0.0)
        if not outcome.good or not scale * value >= _ACCURATE:
            return None
        found, _ = other._assess(outcome, scale, None)
        if not found.certified or other.grown(found.x) is not None:
            return None
        return annotated(found, iterations=outcome.iterations, solve_time=perf_counter() - began)

    def solve(self, start: ArrayLike | None = None, seed: int | None = None, throw: bool = True) -> Solution:
        """Solve from one start, with restarts where it fails.

        Parameters
        ----------
        start
            Point to start from, shape (N,). Default: the nominal body of every link.
        seed
            Start from the random point of this seed instead.
        throw
            Raise on failure (`Solution.or_raise`); otherwise the failure is the solution's status.
        """
        began = perf_counter()
        best: Solution | None = None
        iterations = attempt = 0
        for attempt in range(self.options.restarts + 1):
            x0 = self.random_point(seed, attempt) if attempt else self.starting_point(start, seed)
            if attempt and self._nan_constraint(x0) is not None:
                break
            outcome, scale = self.minimise(x0)
            iterations += outcome.iterations
            found, _ = self._assess(outcome, scale, seed)
            if best is None or found.rank() < best.rank():
                best, self._reached = found, (outcome, scale) if found.certified else None
            if best.certified or (best.status == "feasible" and self.nonlinear.size and outcome.success):
                break
            if attempt == 0 and not best.usable and self.conflict is not None and self.conflict.proven:
                break
        assert best is not None
        grown = self.grown(best.x) if best.feasible and self._growths else None
        if grown is not None:
            larger = PreparedProblem(self.problem, grown, self.options, self._tighten)
            larger._growths = self._growths - 1
            again = larger.solve(best.x, throw=False)
            self._reached = None
            iterations += again.iterations
            best = min(best, again, key=Solution.rank)
        best = annotated(
            best,
            conflict=None if best.usable else self.conflict,
            iterations=iterations,
            restarts=attempt,
            seed=seed,
            solve_time=perf_counter() - began,
        )
        return best.or_raise() if throw else best

    def _assess(self, outcome: Outcome, scale: float, seed: int | None) -> tuple[Solution, Certificate]:
        """The outcome as a solution, with the best bound that its multipliers, or a relaxation, give."""
        w = outcome.point.w
        broken = not np.isfinite(w).all()
        x = self.nominal if broken else self._perfected(self.program.parameters(w))
        linear, curved = self.program.row_multipliers(outcome.point, scale)
        work: dict[str, Any] = {
            "multipliers": self._by_label(linear, curved),
            "converged": outcome.success and not broken,
            "tolerances": self.options.tolerances,
            "build_time": self.build_time,
            "seed": seed,
            "solver_status": outcome.status,
        }

        def judged(certificate: Certificate) -> Solution:
            region = certificate.search_region
            return assess(self.problem, x, certificate.lower_bound, search_region=region, **work)

        certificate = Certificate(-np.inf) if broken else self._certify(x, linear, curved)
        found = judged(certificate)
        if found.feasible and found.converged and not found.certified and self.nonlinear.size and self._tighten:
            if self._relaxed is None:  # found once, it holds for every start
                self._relaxed = Certificate(-np.inf)
                if self.relaxation.nonconvex:
                    relaxed = relaxed_bound(self.relaxation, x, self.nominal, self.options)
                    if np.isfinite(relaxed.bound):
                        self._relaxed = Certificate(relaxed.bound, relaxed.search_region)
            if self._relaxed.lower_bound > found.lower_bound:
                certificate = self._relaxed
                found = judged(certificate)
        return found, certificate

    def _perfected(self, x: Array) -> Array:
        """A nearly perfect fit, made perfect by the shortest step to the least-squares optimum, if that is feasible."""
        objective, basis = self.problem.objective, self.program.basis
        value = objective(x) - objective.constant
        if self.problem.penalty(x) > 0 or not 0 < value <= LEAST_SCALE * objective.size:
            return x
        step = (
            basis @ np.linalg.lstsq(objective.matrix @ basis, objective.target - objective.matrix @ x, rcond=1e-12)[0]
        )
        moved = np.asarray(x + step)
        feasible = self.problem.met(self.problem.violations(moved), 0.1 * self.options.feasibility)
        return moved if feasible and objective(moved) - objective.constant < value else x

    def _certify(self, x: Array, linear: Array, curved: Array) -> Certificate:
        # a proximal term acts on links that nothing bounds
        regularised = bool(self.unbounded) and self.options.proximal
        least = 1e3 if regularised else self.options.search_factor
        factor = max(least, float(10.0 ** np.ceil(np.log10(100 * self.size_of(x)))))
        dual = Dual.of(self.linear, linear).with_cuts(self.relaxation, self.nonlinear, curved, x)
        own = lower_bound(self.problem, x, dual, Search(self.nominal, factor))
        total, negligible = self.problem.objective(x) + self.problem.penalty(x), self.problem.objective.negligible(x)
        if not regularised or relative_gap(total, own.lower_bound, negligible) <= self.options.certified_gap:
            return own
        # The proximal term can spoil the multipliers of unbounded links: take those of the problem without it.
        if factor not in self._unregularised:
            start = next((point for point in (self.nominal, x) if self._nan_constraint(point) is None), None)
            if start is None:
                return own
            options = replace(self.options, search_factor=factor, proximal=False, restarts=0)
            other = PreparedProblem(self.problem, self.nominal, options, tighten=False)
            outcome, scale = other.minimise(start)
            self._unregularised[factor] = other._assess(outcome, scale, None)[1]
        return max(own, self._unregularised[factor].at(x), key=lambda certificate: certificate.lower_bound)

    @cached_property
    def conflict(self) -> Conflict | None:
        """Why the constraints cannot be met together; ``None`` if they can."""
        return find_conflict(self.problem, self.cones, self.nominal, self.options.search_factor)

    def _by_label(self, linear: Array, curved: Array) -> dict[str, Array]:
        found: dict[str, list[float]] = {c.label: [] for c in self.problem.constraints}
        for row, value in zip(self.feasible_set.rows, np.concatenate([linear, curved]), strict=True):
            if row.constraint >= 0:
                found[row.label].append(float(value))
        return {label: np.array(values) for label, values in found.items()}


def checked_point(problem: Problem, point: ArrayLike, what: str) -> Array:
    """A point of a problem's unknowns, shape (N,), read-only.

    Raises
    ------
    ProblemError
        For a wrong shape, or numbers that are not finite.
    """
    try:
        x = read_only(point)
    except (TypeError, ValueError):
        raise ProblemError(f"{what}: expected {problem.variables.size} numbers, got {type(point).__name__}") from None
    if x.shape != (problem.variables.size,):
        raise ProblemError(f"{what}: expected {problem.variables.size} numbers, got shape {x.shape}")
    if not np.isfinite(x).all():
        name = problem.variables.names[int(np.flatnonzero(~np.isfinite(x))[0])]
        raise ProblemError(f"{what}: '{name}' is NaN or infinite")
    return x


@dataclass(frozen=True, eq=False)
class Relaxed:
    """A relaxation, its bound and its solution; the bound is infinite where it is proven to be empty."""

    relaxation: Relaxation
    bound: float
    x: Array | None
    search_region: dict[str, float]


def relaxed_bound(
    relaxation: Relaxation, near: Array, nominal: Array | None, options: SolveOptions, enough: float = np.inf
) -> Relaxed:
    """Lower bound of a problem by its convex relaxation with cuts, in the smallest boxes of the centres of mass.

    Parameters
    ----------
    near
        Point at which the first cuts are made: a solution of the problem, if there is one.
    enough
        Stop once the bound has reached this value.
    """
    smallest = relaxation.contracted()
    if smallest is None:
        return Relaxed(relaxation, np.inf, None, {})
    relaxation, problem = smallest, smallest.problem
    base = problem.below(*relaxation.nonconvex)
    plain = replace(options, restarts=min(options.restarts, 1))
    cuts = relaxation.cuts(relaxation.open_sides, near)
    best, x, searched = -np.inf, None, dict[str, float]()
    for _ in range(_ROUNDS):
        found = PreparedProblem(_with_cuts(base, cuts), nominal, plain, tighten=False).solve(throw=False)
        if found.status == "infeasible":
            return Relaxed(relaxation, np.inf, None, {})
        improved = found.lower_bound > best + ALIKE * abs(best)
        if found.lower_bound > best:
            best, searched = found.lower_bound, dict(found.search_region)
        x = found.x
        new = [cut for cut in relaxation.cuts(relaxation.open_sides, x) if cut.violated(x)]
        stalled = bool(cuts) and not improved and len(cuts) > _MANY_CUTS
        if best >= enough or not new or not found.usable or stalled:
            break
        cuts += new
    return Relaxed(relaxation, best, x, searched)


def _with_cuts(base: Problem, cuts: list[Cut]) -> Problem:
    if not cuts:
        return base
    forms = np.array([c.form for c in cuts])
    sizes = np.maximum(np.abs(forms).max(axis=1), 1e-12)
    rows = ca.sparsify(ca.DM(forms / sizes[:, None])) @ base.variables.x
    low = np.array([c.low for c in cuts]) / sizes
    return base.add(Constraint(base.free_label("cuts of the relaxation"), rows, lower=low))


# ------------------------------------------------------------------ for other solvers


def nlp(problem: Problem) -> dict[str, Any]:
    """The program that `solve` solves, ``min f(w)`` with ``lbx <= w <= ubx`` and ``lbg <= g(w) <= ubg``.

    Its unknowns are scaled parameters y, factors T of the links' cones (`casid.retrieval.program._nlp`) and slacks of
    soft constraints.

    Returns
    -------
    dict
        ``x, f, g`` (MX; f in units of the objective) for `casadi.nlpsol`, ``lbx, ubx, lbg, ubg, x0`` for its call,
        ``names`` of the entries of x, and ``parameters``, the function from x to the problem's own unknowns.
    """
    return PreparedProblem(problem).program.plain(problem.variables.names)


def opti(problem: Problem) -> tuple[ca.Opti, LinkVariables]:
    """The same program as an `casadi.Opti` stack, and the link quantities in it, to add to; choose the solver there."""
    program, stack = nlp(problem), ca.Opti()
    w = stack.variable(program["x"].numel())
    f, g = ca.Function("program", [program["x"]], [program["f"], program["g"]])(w)
    stack.minimize(f)
    for value, side in ((w, "x"), (g, "g")):
        stack.subject_to(stack.bounded(program[f"lb{side}"], value, program[f"ub{side}"]))
    stack.set_initial(w, program["x0"])
    return stack, problem.variables.over(program["parameters"](w))


Problem.nlp = nlp
Problem.opti = opti
