"""What the library claims of a problem, held against points that are known without it."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from casid.errors import CasidError, ProblemError
from casid.retrieval import Global, Solution, parameter_intervals, solve
from casid.retrieval.insight import Intervals
from casid.retrieval.methods import Branches, Direct, Method, Penalty
from casid.retrieval.program._nlp import nominal_parameters
from tests.attack.parts import false_parts
from tests.attack.points import EXACT, drawn_back, feasible_points, walk
from tests.attack.problems import Attack, make, round_of
from tests.attack.quantities import pseudo_inertias

#: Relative tolerance of a bound, and the violation that a solution may have.
RELATIVE, FEASIBLE = 1e-9, 1e-8
#: How each method is asked: with a limit where it has one, so that thousands of problems can be.
METHODS: dict[str, Method] = {
    "direct": Direct(),
    "penalty": Penalty(kappa=4),
    "branches": Branches(most=16, seconds=4.0),
    "global": Global(seconds=4.0),
}


@dataclass(frozen=True)
class Finding:
    """A claim that does not hold."""

    seed: int
    kind: str
    claim: str
    text: str


@dataclass
class Tally:
    """What one or many attacks came to."""

    problems: int = 0
    optimal: int = 0
    feasible: int = 0
    stopped: int = 0
    infeasible: int = 0
    failed: int = 0
    refused: int = 0
    bounds: int = 0
    points: int = 0
    ends: int = 0
    late: int = 0
    seconds: float = 0.0
    slowest: float = 0.0
    findings: list[Finding] = field(default_factory=list)

    def add(self, other: Tally) -> None:
        for name, value in vars(other).items():
            if name == "findings":
                self.findings += value
            elif name == "slowest":
                self.slowest = max(self.slowest, value)
            else:
                setattr(self, name, getattr(self, name) + value)


def methods_of(seed: int) -> list[str]:
    """The direct method, and one of the others, all equally."""
    return ["direct", list(METHODS)[1 + round_of(seed) % (len(METHODS) - 1)]]


def attack_one(seed: int, kind: str | None = None, methods: Sequence[str] | None = None) -> Tally:
    """Every claim about the problem of one seed."""
    began, tally = time.process_time(), Tally(problems=1)
    attack = make(seed, kind)
    rng = np.random.default_rng([10, seed])
    points = feasible_points(attack, rng)
    if attack.violations(attack.truth[:, None])[0] > EXACT:  # rounding of a bound that the truth touches
        points = points[:, :0]
    tally.points = points.shape[1]
    for text in false_parts(attack, np.random.default_rng([11, seed])):
        _note(attack, tally, "part of a proof", text)
    methods = methods_of(seed) if methods is None else methods
    solutions: dict[str, Solution] = {}
    for method in methods:
        found = _tried(attack, tally, method, lambda m=method: _solved(attack, m, seed))
        if found is not None:
            solutions[method] = found
            _check_solution(attack, method, found, points, tally)
    # what the methods found, drawn to where it is feasible to rounding, is held against all their bounds
    usable = [np.asarray(s.x) for s in solutions.values() if s.status in ("optimal", "feasible")]
    if points.shape[1]:
        points = np.column_stack([points, *(drawn_back(attack, x, attack.truth) for x in usable)])
    for method, found in solutions.items():
        _check_bound(attack, method, found, points, tally)
    if usable and attack.round % 4 == 1 and points.shape[1]:
        best = min((s for s in solutions.values() if s.status in ("optimal", "feasible")), key=lambda s: s.total)
        _check_intervals(attack, best, points, rng, tally)
    tally.seconds = tally.slowest = time.process_time() - began
    return tally


def _solved(attack: Attack, method: str, seed: int) -> Solution:
    start = {"seed": seed} if attack.round % 3 == 2 and method == "direct" else {}
    return solve(attack.problem, method=METHODS[method], throw=False, **start)


def _tried(attack: Attack, tally: Tally, what: str, run: Callable[[], Solution]) -> Solution | None:
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            result = run()
        for warning in caught:
            if warning.category.__name__ == "BoundWarning":
                _note(attack, tally, "bound discarded", f"{what}: {warning.message}")
        return result
    except ProblemError:
        tally.refused += 1
    except CasidError as error:
        _note(attack, tally, "throw=False raises", f"{what}: {type(error).__name__}: {error}")
    except Exception as error:
        _note(attack, tally, "traceback", f"{what}: {type(error).__name__}: {str(error)[:300]}")
    return None


def _note(attack: Attack, tally: Tally, claim: str, text: str) -> None:
    tally.findings.append(Finding(attack.seed, attack.kind, claim, text))


def _check_solution(attack: Attack, method: str, found: Solution, points: np.ndarray, tally: Tally) -> None:
    setattr(tally, found.status, getattr(tally, found.status) + 1)
    x = np.asarray(found.x)[:, None]
    if found.status in ("optimal", "feasible"):
        amount, total = float(attack.violations(x)[0]), float(attack.totals(x)[0])
        slack = attack.rounding + (_explained(attack, x, amount) if attack.own is not None else 0.0)
        if not amount <= FEASIBLE * (1 + 1e-6):
            _note(attack, tally, f"{found.status} but violated", f"{method}: violated by {amount:.3g}")
        if abs(found.total - total) > RELATIVE * abs(total) + slack:
            _note(attack, tally, "objective", f"{method}: reports {found.total!r}, is {total!r}")
        if found.status == "optimal" and found.lower_bound > total + 1e-6 * abs(total) + slack:
            _note(attack, tally, "bound above own value", f"{method}: bound {found.lower_bound!r}, value {total!r}")
    if found.status == "infeasible" and points.shape[1]:
        _note(attack, tally, "infeasible but feasible", f"{method}: {found.solver_status}")


def _explained(attack: Attack, x: np.ndarray, amount: float) -> float:
    """What a violation changes of the objective at x, shape (N, 1)."""
    moved = attack.squares(x + amount * np.eye(len(x))) - attack.squares(x)
    return float(np.abs(moved[np.isfinite(moved)]).sum())


def _check_bound(attack: Attack, method: str, found: Solution, points: np.ndarray, tally: Tally) -> None:
    """No feasible point is better than its bound."""
    if not np.isfinite(found.lower_bound):
        return
    tally.bounds += 1
    points = points[:, _covered(attack, found, points)]
    values = attack.totals(points)
    for k in np.flatnonzero(values < found.lower_bound):  # feasible but for rounding, which tiny bodies magnify
        x = points[:, k : k + 1]
        values[k] += _explained(attack, x, float(attack.violations(x)[0]))
    if len(values) and found.lower_bound > values.min() + RELATIVE * abs(values.min()) + attack.rounding:
        text = f"{method} ({found.status}): bound {found.lower_bound!r}, feasible {float(values.min())!r}"
        _note(attack, tally, "bound above a feasible value", text)


def _covered(attack: Attack, found: Solution | Intervals, points: np.ndarray) -> np.ndarray:
    """Points that a bound is about: all, or those within the search region that it states."""
    keep = np.ones(points.shape[1], dtype=bool)
    if not found.search_region:
        return keep
    nominal = nominal_parameters(attack.problem)
    for name, times in found.search_region.items():
        for k, link in enumerate(attack.problem.variables.links):
            if link.name == name:
                J, J0 = pseudo_inertias(points, k), pseudo_inertias(nominal[:, None], k)[0]
                keep &= np.trace(np.linalg.solve(J0[None], J), axis1=1, axis2=2) <= 4 * times
        for k, extra in enumerate(attack.problem.variables.extras):
            if extra == name:
                keep &= np.abs(points[10 * attack.links + k]) <= times
    return keep


def _check_intervals(
    attack: Attack, solution: Solution, points: np.ndarray, rng: np.random.Generator, tally: Tally
) -> None:
    """No feasible point that explains the data as well passes an end."""
    sums = attack.problem.objective
    values = attack.squares(points)  # intervals leave soft constraints out
    limit = float(max(values[0], solution.objective * 1.01)) * (1 + 1e-3) + 1e-9 * float(sums.target @ sums.target)
    names = attack.problem.variables.names
    chosen = [int(k) for k in rng.choice(len(names), 2, replace=False)]
    quantities = {names[k]: attack.problem.variables.x[k] for k in chosen}
    places = {names[k]: (k, None) for k in chosen}
    link, axis = int(rng.integers(attack.links)), int(rng.integers(3))
    if attack.cones[link] != "none":
        quantities["ratio"] = attack.problem.variables[link].com[axis]
        places["ratio"] = (10 * link + 6 + axis, 10 * link + 9)
    try:
        found = parameter_intervals(attack.problem, quantities, limit=limit, solution=solution)
    except CasidError:
        tally.refused += 1
        return
    except Exception as error:
        _note(attack, tally, "traceback", f"intervals: {type(error).__name__}: {str(error)[:300]}")
        return
    within = found.optimum + found.tolerance
    for name, (k, over) in places.items():
        interval = found[name]
        for sign in (1.0, -1.0):

            def goal(x: np.ndarray, k: int = k, over: int | None = over, sign: float = sign) -> np.ndarray:
                value = x[k] if over is None else x[k] / x[over]
                return np.where(attack.squares(x) <= within * (1 - 1e-12), sign * value, np.inf)

            for start in points.T[values <= within * (1 - 1e-12)][:2]:
                tally.ends += 1
                reached = walk(attack, start, goal, rng, 15)
                if not _covered(attack, found, reached[:, None])[0]:
                    continue
                value = float(reached[k] if over is None else reached[k] / reached[over])
                slack = RELATIVE * max(abs(interval.low), abs(interval.high), abs(value))
                if value < interval.low - slack or value > interval.high + slack:
                    text = f"{name} in [{interval.low!r}, {interval.high!r}], feasible {value!r}"
                    _note(attack, tally, "interval end passed", text)
