"""Custom problems: relations, programs, derivatives of the optimum, studies, the certificate by default."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import casadi as ca
import numpy as np
from casid.problems import cookbook

import casid
from benchmarks.measure import NotMeasured, Rows, need, scratch
from casid.errors import ProblemError
from casid.retrieval import Constraint, Global, Problem, SolveOptions, com_box, either, mass_bounds, soften
from casid.retrieval.methods import Branches, Direct, Method, Penalty

row = Rows()

_TABLE = ca.interpolant("table", "linear", [[0.0, 1.0, 5.0]], [0.0, 2.0, 3.0])
#: What a CasADi user writes for one link -> number of bounded entries; 0: refused by name.
_FORMS: tuple[tuple[Callable[[Any], Any], int], ...] = (
    (lambda k: k.mass <= 3, 1),
    (lambda k: 0.1 <= k.mass, 1),
    (lambda k: k.mass < 3, 1),
    (lambda k: k.mass == 1, 1),
    (lambda k: k.com <= 0.1, 3),
    (lambda k: np.array([-1.0, -1, -1]) <= k.com, 3),
    (lambda k: k.com >= ca.DM([-1, -1, -1]), 3),
    (lambda k: ca.logic_and(0.1 <= k.mass, k.mass <= 3), 1),
    (lambda k: ca.vertcat(k.mass <= 3, k.com[2] >= 0), 2),
    (lambda k: ca.norm_2(k.com) <= 0.2, 1),
    (lambda k: k.com[0] <= 2 * k.com[1], 1),
    (lambda k: _TABLE(k.mass) <= 3, 1),
    (lambda k: k.mass <= ca.if_else(k.com[2] > 0, 1, 2), 1),
    (lambda k: Constraint("named", k.mass <= 3), 1),
    (lambda k: soften(k.mass <= 3, 1.0), 1),
    (lambda k: either("either", k.mass <= 1, k.mass >= 2), 1),
    (lambda k: k.mass != 1, 0),
    (lambda k: ca.logic_or(k.mass <= 1, k.mass >= 2), 0),
    (lambda k: ca.logic_not(k.mass <= 1), 0),
    (lambda k: 2 * (k.mass <= 1), 0),
)


@row("a user's relations", "40 read right or refused with what to write", "few")
def forms() -> tuple[str, bool]:
    problem, right = casid.load_problem("panda_retrieval"), 0
    links = problem.variables
    for link in (links[6], links.mx[6]):
        for write, entries in _FORMS:
            try:
                added = problem.add(write(link)).constraints[len(problem.constraints) :]
                right += sum(c.size for c in added) == entries
            except ProblemError as error:
                right += entries == 0 and any(word in str(error) for word in ("either", "opposite", "casadi.if_else"))
    return f"{right} of {2 * len(_FORMS)} (SX and MX)", right == 2 * len(_FORMS)


@row("nlp() and opti()", "the certified optimum within 1e-8", "none")
def programs() -> tuple[str, bool]:
    problem = casid.load_problem("panda_retrieval")
    expected = casid.solve(problem, options=SolveOptions(target_gap=1e-11)).objective
    quiet: dict[str, Any] = {"print_level": 0, "sb": "yes", "tol": 1e-12, "bound_relax_factor": 0.0}
    program = problem.nlp()
    solver = ca.nlpsol("own", "ipopt", {key: program[key] for key in "xfg"}, {"print_time": False, "ipopt": quiet})
    found = solver(**{key: program[key] for key in ("x0", "lbx", "ubx", "lbg", "ubg")})
    stack, _ = problem.opti()
    stack.solver("ipopt", {"print_time": False}, quiet)
    misses = [abs(float(value) / expected - 1) for value in (found["f"], stack.solve().value(stack.f))]
    return f"nlp() {misses[0]:.1e}, opti() {misses[1]:.1e} of the optimum", max(misses) <= 1e-8


def parametric() -> Problem:
    """The Panda's coefficients and eight lengths as parameters; bodies within 1 % and 1 mm of published ones."""
    base = casid.load_problem("panda_retrieval")
    kept = {c.label: c for c in base.constraints}
    for link, own in zip(base.variables, base.variables.robot.links, strict=True):
        assert own.inertial is not None
        mass, com = own.inertial.mass, own.inertial.com
        narrow = mass_bounds(link, 0.99 * mass, 1.01 * mass), com_box(link, com - 1e-3, com + 1e-3)
        kept |= {bound.label: bound for bound in narrow}
    base = replace(base, constraints=tuple(kept.values()))
    data = base.coefficients
    assert data is not None
    coefficients = {f"b{i}": float(v) for i, v in enumerate(data.values)}
    lengths = {f"length{i}": 0.2 + 0.05 * i for i in range(8)}
    problem = base.with_parameters(**coefficients, **lengths)
    links = problem.variables
    misses = ca.DM(data.forms) @ links.x[: data.forms.shape[1]] - ca.vertcat(*map(links.parameter, coefficients))
    torques = [
        links.parameter(name) * links[i % 6].first_moment[i % 3] + links[i % 6 + 1].first_moment[(i + 1) % 3] - 0.02
        for i, name in enumerate(lengths)
    ]
    objective: Any = ca.sumsqr(misses) + 0.01 * ca.sumsqr(ca.vertcat(*torques))
    return replace(problem, objective=objective)


@row("derivative of the optimum in coefficients, lengths and active bounds", "1e-6 of finite differences each", "none")
def derivatives() -> tuple[str, bool]:
    problem, fine = parametric(), SolveOptions(target_gap=1e-11)
    found = casid.solve(problem, options=fine)

    def miss(exact: float, at: Callable[[float], Problem]) -> float:
        """Larger relative difference of the two neighbouring steps that agree best, whatever the derivative is.

        Differences of fourth order, ``(8 (f(h) - f(-h)) - (f(2h) - f(-2h))) / 12h``.
        """
        values = []
        for step in (5e-6, 2e-5, 5e-5):  # the optimum is certified to 1e-11: that spoils the short, curvature the long
            near, far = (
                casid.solve(at(k * step), options=fine).objective - casid.solve(at(-k * step), options=fine).objective
                for k in (1, 2)
            )
            values.append((8 * near - far) / (12 * step))
        k = int(np.argmin(np.abs(np.diff(values))))
        return float(np.abs(np.array(values[k : k + 2]) / exact - 1).max())

    numbers = problem.variables.parameters

    def moved(name: str) -> Callable[[float], Problem]:
        return lambda d: problem.at(**{name: numbers[name] + d})

    misses, active = {name: miss(found.derivative(name), moved(name)) for name in numbers}, 0
    for constraint in found.problem.constraints:
        for side in ("lower", "upper"):
            slopes = found.derivative(constraint.label, side)
            for entry in np.flatnonzero(np.abs(slopes) > 1e-3 * np.abs(slopes).max() + 1e-8):

                def at(d: float, c: Constraint = constraint, s: str = side, e: int = int(entry)) -> Problem:
                    bounds = getattr(c, s) + d * np.eye(c.size)[e]
                    kept = (k if k.label != c.label else replace(k, **{s: bounds}) for k in problem.constraints)
                    objective: Any = problem.stated
                    return replace(problem, constraints=tuple(kept), objective=objective)

                misses[f"{constraint.label} {side} {entry}"] = miss(slopes[entry], at)
                active += 1
    good = sum(m <= 1e-6 for m in misses.values())
    worst = max(misses, key=misses.__getitem__)
    text = f"{good} of {len(misses)} within 1e-6, {active} of them active bounds; worst {misses[worst]:.1e} ({worst})"
    return text, bool(good == len(misses) and active >= 20)


def _varied() -> Problem:
    """The Panda with a least mass of its last link as a parameter."""
    problem = casid.load_problem("panda_retrieval").with_parameters(hand=1.0)
    return problem.add(problem.variables[6].mass >= problem.variables.parameter("hand"))


@row("study of 1,000 parametric points, Panda", "<= 0.25 x 1,000 single solves; all certified; cut file resumed, equal",
     quick=(50,), left_out="950 points")  # fmt: skip
def study(points: int = 1000) -> tuple[str, bool]:
    problem, values = _varied(), np.linspace(0.75, 1.6, points)
    single: list[float] = []

    def between(done: int, _: int) -> None:
        """Fifty single solves along the way, so that both see the same machine."""
        if done % max(points // 50, 1) == 0:
            began = time.process_time()
            casid.solve(problem.at(hand=values[done - 1]))
            single.append(time.process_time() - began)

    casid.solve(problem)
    with scratch() as folder:
        file, over = folder / "study.jsonl", {"hand": values}
        began = time.process_time()
        whole = casid.study(problem, file, over=over, progress=between)
        ratio = (time.process_time() - began - sum(single)) / points / (sum(single) / len(single))
        lines = file.read_bytes().splitlines(keepends=True)
        file.write_bytes(b"".join(lines[: points // 2]) + lines[-1][:40])  # as a kill leaves it
        rest = casid.study(problem, file, over=over)
    same = all(np.array_equal(a.solution.x, b.solution.x) for a, b in zip(whole.results, rest.results, strict=True))
    text = f"{ratio:.2f} x, {whole.certified} of {points} certified; {rest.solved} solved on resuming, equal: {same}"
    return text, ratio <= 0.25 and whole.certified == points and same


@row("the same study on two processes that are there, by the clock", ">= 1.8 x one process; equal", quick=(300, 1),
     left_out="700 points, 2 repeats")  # fmt: skip
def workers(points: int = 1000, repeats: int = 3) -> tuple[str, bool]:
    """Wall-clock time of one and of two processes in turn, the least of each; the first study starts the processes.

    Beside it, what two free cores allow: twice the processor time of one process over that of the two and of this
    one together, the start of Python, the imports, and the graph's and solver's making in each process included.
    """
    loky: Any = need("joblib.externals.loky", "study")
    problem, over = _varied(), {"hand": np.linspace(0.75, 1.6, points)}
    casid.study(problem, over={"hand": over["hand"][:3]})

    def timed(jobs: int) -> tuple[float, float, Any]:
        """By the clock, of this process, and the points."""
        began, before = time.perf_counter(), time.process_time()
        found = casid.study(problem, over=over, jobs=jobs)
        return time.perf_counter() - began, time.process_time() - before, [s.x for s in found.solutions]

    def ended() -> float:
        """Processor time of all processes that were started and have ended."""
        loky.get_reusable_executor().shutdown(wait=True)
        return os.times().children_user + os.times().children_system

    before = ended()
    first, *turns = [timed(2), *(timed(jobs) for _ in range(repeats) for jobs in (1, 2))]
    one, two = turns[::2], turns[1::2]
    least = min(t[0] for t in one)
    ratio = least / min(t[0] for t in two)
    alone, together = sum(t[1] for t in one), ended() - before + first[1] + sum(t[1] for t in two)
    same, quiet = np.array_equal(one[0][2], first[2]), alone / sum(t[0] for t in one)
    allowed = 2 * alone / repeats * (repeats + 1) / together
    text = f"{ratio:.2f} x, {least / first[0]:.2f} x with their start; processor time allows {allowed:.2f} x; "
    if quiet < 0.9:  # two such shares are less than 1.8 cores
        raise NotMeasured(f"one process had {quiet:.0%} of a core, run it alone ({text}equal: {same})")
    return f"{text}equal: {same}", ratio >= 1.8 and same


#: Every method, those with limits of their own at 10 s.
_WAYS: tuple[Method, ...] = (
    Direct(),
    Penalty(),
    Branches(gap=1e-6, seconds=10.0),
    Global(gap=1e-6, nodes=10_000, seconds=10.0),
)


@row("cookbook and README problems without an option", "certified wherever some method certifies within 10 s",
     "if-else not")  # fmt: skip
def by_default() -> tuple[str, bool]:
    """Every recipe, and README's problems; of one that stays open, whether any method certifies it within 10 s."""
    words, met = [], True
    problems = [casid.load_problem("cookbook", recipe=recipe) for recipe in (*cookbook.CONVEX, *cookbook.NONCONVEX)]
    problems += [casid.load_problem(name) for name in ("panda_retrieval", "spatial_2r")]
    for problem in problems:
        found = casid.solve(problem)
        if not found.certified:
            others = [method for method in _WAYS if _certifies(problem, method)]
            met &= not others
            words.append(
                f"{problem.name} {found.gap:.1e} ({', '.join(m.name for m in others) or 'no method'} certifies it)"
            )
    return f"{len(problems) - len(words)} of {len(problems)} certified; open: {', '.join(words) or 'none'}", met


def _certifies(problem: Problem, method: Method) -> bool:
    """Within 10 s."""
    began = time.perf_counter()
    return casid.solve(problem, method=method, throw=False).certified and time.perf_counter() - began <= 10.0
