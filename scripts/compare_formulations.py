"""Formulations of the retrieval, measured: which converge, how fast, and how many of their answers can be certified.

Every formulation solves the shipped Panda problem from the same random starts with IPOPT; the certificate judges all
answers alike. A second table solves constrained regressions of growing size on random data (C. D. Sousa, PhD thesis,
Univ. of Coimbra, 2014, Sec. 6.3.2).

    python scripts/compare_formulations.py [--starts 20] [--links 7 20 40] [--quick] [--json FILE]
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

import casid
from casid.description import Joint, Link, Robot
from casid.inertia import from_pseudo_inertia
from casid.inertia._cones import Full
from casid.retrieval import Problem, SolveOptions, least_squares, link_variables
from casid.retrieval._objectives import LeastSquares
from casid.retrieval._result import relative_gap
from casid.retrieval._solver import PreparedProblem
from casid.retrieval.bound._certificate import lower_bound
from casid.retrieval.program._nlp import LiftedProgram
from casid.retrieval.program._starts import random_parameters

os.environ.setdefault("OMP_NUM_THREADS", "1")  # one core: small dense systems, and times that can be compared

Array = NDArray[np.float64]
CERTIFIED = 1e-6


@dataclass(frozen=True)
class Answer:
    """Where one start ended: parameters, multipliers of linear and nonlinear rows, and the work."""

    x: Array
    linear: Array
    nonlinear: Array
    iterations: int
    seconds: float


@dataclass(frozen=True)
class Row:
    """One formulation over all starts."""

    formulation: str
    starts: int
    certified: int
    optimal: int
    median_iterations: float
    most_iterations: int
    milliseconds: float
    worst_gap: float
    spread: float


Solve = Callable[[Array], Answer]


# ---------------------------------------------------------------------- formulations


class FreeFactors(LiftedProgram):
    """T without sign constraints: no barrier on the cones, every J has many factors."""

    def _lower_bounds(self) -> Array:
        return np.full_like(super()._lower_bounds(), -np.inf)


class DifferentiatedHessian(LiftedProgram):
    """Derivatives left to automatic differentiation."""

    def solver(self, options: Any) -> ca.Function:
        """IPOPT without the functions that the library gives it."""
        program = self._program[0]
        ipopt = {"print_level": 0, "sb": "yes", "bound_relax_factor": 0.0, "nlp_scaling_method": "none", **options}
        return ca.nlpsol("s", "ipopt", program, {"print_time": False, "show_eval_warnings": False, "ipopt": ipopt})


def lifted(
    problem: Problem,
    options: SolveOptions,
    nominal: Array | None = None,
    program: type[LiftedProgram] | None = None,
    two_calls: bool = True,
) -> Solve:
    """The library's program, or a variant of it."""
    prepared = PreparedProblem(problem, nominal, options)
    if program is not None:
        prepared.program = program(
            problem.variables.x,
            problem.objective,
            prepared.feasible_set,
        )
        prepared._minimiser.program = prepared.program
    first = {"tol": 1e-7, "mu_target": 1e-8} if two_calls else {"tol": 1e-10}
    solver = prepared.program.solver({**first, "max_iter": options.max_iterations, **(options.ipopt or {})})
    prepared._minimiser._first = solver

    def run(x0: Array) -> Answer:
        began = time.perf_counter()
        if two_calls:
            outcome, scale = prepared._minimiser.minimise(x0)
        else:
            scale = options.initial_gradient / prepared.program.gradient_size()
            outcome = prepared.program.solve(solver, prepared.program.start(x0), scale, 0.0)
        seconds = time.perf_counter() - began
        linear, nonlinear = prepared.program.row_multipliers(outcome.point, scale)
        return Answer(prepared.program.parameters(outcome.point.w), linear, nonlinear, outcome.iterations, seconds)

    return run


def unlifted(problem: Problem, options: SolveOptions, signed: bool) -> Solve:
    """T alone: x is a quadratic function of it, the objective a quartic one."""
    prepared = PreparedProblem(problem, None, options)
    cones, linear, nonlinear = prepared.cones, prepared.linear, prepared.nonlinear
    t = ca.SX.sym("t", 10 * len(cones))
    x = ca.vertcat(
        *[ca.DM(c.basis) @ c.notion.products(t[10 * k : 10 * k + 10]) + ca.DM(c.offset) for k, c in enumerate(cones)]
    )
    objective = problem.objective
    scale = options.initial_gradient / prepared.program.gradient_size()
    f = scale * ca.sumsqr(ca.DM(objective.matrix) @ x - ca.DM(objective.target))
    curved = ca.Function("g", [problem.variables.x], [nonlinear.expression])(x)
    rows = np.concatenate([prepared.program.linear_scale, prepared.program.nonlinear_scale])
    g = ca.vertcat(ca.sparsify(ca.DM(linear.matrix)) @ x, curved) / ca.DM(rows)
    lower = np.concatenate([linear.lower, nonlinear.lower]) / rows
    upper = np.concatenate([linear.upper, nonlinear.upper]) / rows
    floor = np.tile([0.0 if signed and i in Full.non_negative else -np.inf for i in range(10)], len(cones))
    ipopt = {
        "print_level": 0,
        "sb": "yes",
        "bound_relax_factor": 0.0,
        "nlp_scaling_method": "none",
        "tol": 1e-10,
        "max_iter": options.max_iterations,
        **(options.ipopt or {}),
    }
    solver = ca.nlpsol(
        "s", "ipopt", {"x": t, "f": f, "g": g}, {"print_time": False, "show_eval_warnings": False, "ipopt": ipopt}
    )
    back = ca.Function("x", [t], [x])

    def run(x0: Array) -> Answer:
        began = time.perf_counter()
        start = np.concatenate([c.factor(x0[10 * c.link : 10 * c.link + 10]) for c in cones])
        result = solver(x0=start, lbx=floor, ubx=np.inf, lbg=lower, ubg=upper)
        seconds = time.perf_counter() - began
        multipliers = np.array(result["lam_g"]).ravel() / (rows * scale)
        split = len(linear.rows)
        return Answer(
            np.array(back(result["x"])).ravel(),
            multipliers[:split],
            multipliers[split:],
            int(solver.stats()["iter_count"]),
            seconds,
        )

    return run


def formulations(problem: Problem, iterations: int) -> dict[str, Callable[[], Solve]]:
    """Name -> how to build it."""
    base = SolveOptions(max_iterations=iterations)
    unit = np.tile(from_pseudo_inertia(np.eye(4)), len(problem.variables))

    def options(**changes: Any) -> SolveOptions:
        return SolveOptions(**{**asdict(base), **changes})

    return {
        "lifted, diag T >= 0, preconditioned, two calls (casid)": lambda: lifted(problem, base),
        "  derivatives by AD": lambda: lifted(problem, base, program=DifferentiatedHessian),
        "  not preconditioned": lambda: lifted(problem, base, nominal=unit),
        "  gradient scaled to 1": lambda: lifted(problem, options(initial_gradient=1.0)),
        "  gradient scaled to 100": lambda: lifted(problem, options(initial_gradient=100.0)),
        "  gradient scaled to 1e4": lambda: lifted(problem, options(initial_gradient=1e4)),
        "  mu starts at 1": lambda: lifted(problem, options(ipopt={"mu_init": 1.0})),
        "  adaptive mu in the first call": lambda: lifted(problem, options(ipopt={"mu_strategy": "adaptive"})),
        "  barrier followed to gap 1e-12": lambda: lifted(problem, options(target_gap=1e-12)),
        "  one call, tol 1e-10": lambda: lifted(problem, base, two_calls=False),
        "  one call, adaptive mu": lambda: lifted(problem, options(ipopt={"mu_strategy": "adaptive"}), two_calls=False),
        "lifted, T free, preconditioned, one call": lambda: lifted(problem, base, program=FreeFactors, two_calls=False),
        "lifted, T free, not preconditioned, one call": lambda: lifted(
            problem, base, nominal=unit, program=FreeFactors, two_calls=False
        ),
        "un-lifted, diag T >= 0": lambda: unlifted(problem, base, signed=True),
        "un-lifted, T free": lambda: unlifted(problem, base, signed=False),
        "un-lifted, T free, adaptive mu": lambda: unlifted(
            problem, options(ipopt={"mu_strategy": "adaptive"}), signed=False
        ),
    }


def measure(name: str, solve: Solve, problem: Problem, starts: Sequence[Array], optimum: float) -> Row:
    prepared = PreparedProblem(problem, None, SolveOptions())
    gaps, values, answers = [], [], []
    for x0 in starts:
        answer = solve(x0)
        value = problem.objective(answer.x)
        curved = prepared.nonlinear, answer.nonlinear
        bound = lower_bound(problem, answer.x, prepared.linear, answer.linear, curved)
        feasible = problem.hard_violation(problem.violations(answer.x)) <= 1e-8
        negligible = problem.objective.negligible(answer.x)
        gaps.append(relative_gap(value, bound.lower_bound, negligible) if feasible else np.inf)
        values.append(value if feasible else np.inf)
        answers.append(answer)
    certified = np.array(gaps) <= CERTIFIED
    optimal = np.array(values) <= optimum * (1 + 1e-4)
    inside = [a.x for a, good in zip(answers, optimal, strict=True) if good]
    iterations = [a.iterations for a in answers]
    return Row(
        name,
        len(starts),
        int(certified.sum()),
        int(optimal.sum()),
        float(np.median(iterations)),
        max(iterations),
        1e3 * float(np.mean([a.seconds for a in answers])),
        float(max(gaps)),
        float(np.ptp(np.array(inside), axis=0).max()) if len(inside) > 1 else float("nan"),
    )


# ---------------------------------------------------------------------- size


@dataclass(frozen=True)
class SizeRow:
    """One regression with as many links."""

    links: int
    build_ms: float
    solve_ms: float
    iterations: int
    gap: float
    certified: bool


def regression(links: int, samples: int, seed: int = 0) -> Problem:
    """Random regressor and consistent parameters, noise; only the R factor of the data is kept."""
    rng = np.random.default_rng(seed)
    joints = tuple(Joint(f"joint{k + 1}", "revolute", k - 1, Link(f"link{k + 1}")) for k in range(links))
    truth = []
    for _ in range(links):
        half = rng.normal(size=(4, 4))
        truth.append(from_pseudo_inertia(half @ half.T))
    matrix = rng.normal(size=(samples, 10 * links))
    target = matrix @ np.concatenate(truth)
    target += rng.normal(size=samples) * np.std(target) * 0.3
    variables = link_variables(Robot("random", joints))
    objective: LeastSquares = least_squares(variables, matrix, target)
    return Problem(f"regression of {links} links", variables, objective)


def measure_size(links: int, samples: int) -> SizeRow:
    problem = regression(links, samples)
    began = time.perf_counter()
    prepared = PreparedProblem(problem, None, SolveOptions())
    built = time.perf_counter()
    solution = prepared.solve(throw=False)
    done = time.perf_counter()
    return SizeRow(
        links, 1e3 * (built - began), 1e3 * (done - built), solution.iterations, solution.gap, solution.certified
    )


# ---------------------------------------------------------------------- report


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("--starts", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--links", type=int, nargs="*", default=[7, 20, 40])
    parser.add_argument("--quick", action="store_true", help="few starts, few iterations, small sizes: does it run?")
    parser.add_argument("--json", type=Path, help="write the numbers to this file")
    given = parser.parse_args(arguments)
    starts = 2 if given.quick else given.starts
    iterations = 120 if given.quick else 300
    problem = casid.load_problem("panda_retrieval")
    rng = np.random.default_rng(given.seed)
    points = [random_parameters(problem, rng) for _ in range(starts)]
    optimum = casid.solve(problem).objective

    console = Console(width=None if sys.stdout.isatty() else 140)
    table = Table(title=f"Panda retrieval, {starts} random starts")
    for header in (
        "formulation",
        "certified",
        "optimal",
        "iterations",
        "most",
        "ms a start",
        "worst gap",
        "spread of x",
    ):
        table.add_column(header, justify="left" if header == "formulation" else "right", no_wrap=True)
    rows = []
    for name, build in formulations(problem, iterations).items():
        row = measure(name, build(), problem, points, optimum)
        rows.append(row)
        table.add_row(
            row.formulation,
            f"{row.certified}",
            f"{row.optimal}",
            f"{row.median_iterations:.0f}",
            f"{row.most_iterations}",
            f"{row.milliseconds:.0f}",
            f"{row.worst_gap:.0e}",
            f"{row.spread:.0e}",
        )
    console.print(table)
    console.print(
        "certified: relative gap <= 1e-6 and all constraints within 1e-8; optimal: within 1e-4 of the optimum; "
        "spread: largest range of a parameter (SI) over the optimal answers"
    )

    sizes = Table(title="Constrained regression on random data")
    for header in ("links", "build [ms]", "solve [ms]", "iterations", "gap", "certified"):
        sizes.add_column(header, justify="right")
    size_rows = [measure_size(k, 200 * k if given.quick else 10_000) for k in ([2, 4] if given.quick else given.links)]
    for one in size_rows:
        sizes.add_row(
            f"{one.links}",
            f"{one.build_ms:.0f}",
            f"{one.solve_ms:.0f}",
            f"{one.iterations}",
            f"{one.gap:.0e}",
            "yes" if one.certified else "no",
        )
    console.print(sizes)
    if given.json:
        record = {"formulations": [asdict(r) for r in rows], "sizes": [asdict(r) for r in size_rows]}
        temporary = given.json.with_suffix(".tmp")
        temporary.write_text(json.dumps(record, indent=2))
        temporary.replace(given.json)
    return 0


if __name__ == "__main__":
    sys.exit(main())
