"""Custom constraint sets: the spatial 2R example, Algorithm 1, nonconvex constraints, intervals, studies, methods."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
import time
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
from casid.problems import cookbook
from casid.problems.spatial_2r import true_parameters
from papers.two_links import force_ratios, outside_shapes, relaxed_retrieval, torques, validation_motion

import casid
from benchmarks import published
from benchmarks.measure import Rows, need, scratch
from casid import retrieval
from casid.inertia import pseudo_inertia
from casid.retrieval.methods import Penalty
from casid.retrieval.study._study import start_seeds

MEASURES = row = Rows()


def outside(kind: str, at: np.ndarray, size: np.ndarray, c: np.ndarray) -> np.ndarray:
    """By how much points, shape (k, 3), lie outside a shape along z: geometry in numpy alone."""
    d = c - at
    across = np.hypot(d[:, 0], d[:, 1])
    if kind == "sphere":
        return np.asarray(np.linalg.norm(d, axis=1) - size[0])
    if kind == "cylinder":
        return np.asarray(np.max([across - size[0], d[:, 2] - size[2], -d[:, 2]], axis=0))
    if kind == "cone":
        slope = (size[1] - size[0]) / size[2]
        side = (across - size[0] - slope * d[:, 2]) / np.hypot(1.0, slope)
        return np.asarray(np.max([side, d[:, 2] - size[2], -d[:, 2]], axis=0))
    if kind == "ellipsoid":
        return np.asarray(size.min() * (np.linalg.norm(d / size, axis=1) - 1.0))
    return np.asarray((np.abs(d) - size).max(axis=1))  # a box, or the hull of its corners


def shape(kind: str, link: Any, at: np.ndarray, size: np.ndarray) -> tuple[retrieval.Constraint, ...]:
    top = at + np.array([0.0, 0.0, size[2]])
    corners = at + size * np.array(list(product((-1, 1), repeat=3)))
    made = {
        "sphere": lambda: retrieval.com_in_sphere(link, at, size[0]),
        "cylinder": lambda: retrieval.com_in_cylinder(link, at, top, size[0]),
        "cone": lambda: retrieval.com_in_cone(link, at, top, size[0], size[1]),
        "ellipsoid": lambda: retrieval.com_in_ellipsoid(link, at, size),
        "box": lambda: (retrieval.com_box(link, at - size, at + size, label="box"),),
        "hull": lambda: retrieval.com_in_hull(link, corners),
    }
    return made[kind]()


def difference(problem: retrieval.Problem, text: str, near: float) -> float:
    """One-sided difference of the optimum in the bound of a text, by the shortest step that certificates can tell.

    The step gains a millionth of the optimum or some more; both gaps together are at most a hundredth of the gain.
    Where none is, the median over the steps.
    """
    fine = retrieval.SolveOptions(target_gap=1e-11)
    constraint, entry = next(
        (c, i) for c in problem.constraints for i in range(c.size) if text.startswith(c.entry_name(i) + " ")
    )
    lower, at = " >= " in text or "lowered" in text, casid.solve(problem, options=fine)
    others, found = [c for c in problem.constraints if c is not constraint], list[float]()
    for share in (1e-6, 2e-6, 4e-6, 8e-6):
        step = share * at.total / near
        ends = {"lower": constraint.lower.copy(), "upper": constraint.upper.copy()}
        ends["lower" if lower else "upper"][entry] += -step if lower else step
        looser = casid.solve(
            replace(problem, constraints=(*others, replace(constraint, **ends))), options=fine, method="direct"
        )
        found.append(float((at.total - looser.total) / step))
        if at.gap + looser.gap <= 0.01 * share:
            return found[-1]
    return float(np.median(found))


@row("40 shapes and boxes, hard and soft, sampled by an independent checker; 60 prices by one-sided differences",
     "0 mismatches, all certified; 2 %, no gain above 100 %", "nappe, box; 7.4 x")  # fmt: skip
def checked_constraints() -> tuple[str, bool]:
    rng, panda = np.random.default_rng(5), casid.load_problem("panda_retrieval")
    wrong = points = open_gaps = 0
    shaped: list[retrieval.Solution] = []
    for k, kind in enumerate(("sphere", "cylinder", "cone", "ellipsoid", "hull", "box", "hull", "box") * 5):
        at, size = rng.uniform(-0.05, 0.05, 3), rng.uniform(0.02, 0.1, 3)
        hard = k // 8 % 2 == 0
        own = shape(kind, panda.variables[k % 7], at, size)
        problem = panda.add(own if hard else retrieval.soften(own, 10 ** rng.uniform(-5, -2)))
        x, label = casid.solve(panda).x.copy(), own[0].label
        place = 10 * (k % 7)
        for c in rng.uniform(-0.25, 0.25, (200, 3)):
            x[place + 6 : place + 9] = x[place + 9] * c
            far, violations = float(outside(kind, at, size, c[None])[0]), problem.violations(x)
            amount = max(value for name, value in violations.items() if name.startswith(label))
            wrong += (amount > 1e-9) != (far > 0) if hard else abs(amount - max(far, 0.0)) > 1e-6
            points += 1
        found = casid.solve(problem, throw=False)
        shaped += [found] if hard and found.certified else []
        open_gaps += found.status not in ("optimal", "infeasible")
    solved = [casid.solve(casid.load_problem("cookbook", recipe=recipe)) for recipe in cookbook.CONVEX]
    prices, worst, most = 0, 0.0, 0.0
    for solution in (casid.solve(panda), *solved, *shaped[:8]):
        for bound in retrieval.explain(solution).bounds:
            price = difference(solution.problem, bound.text, bound.multiplier)
            prices, most = prices + 1, max(most, bound.gain)
            worst = float(np.maximum(worst, abs(price / bound.multiplier - 1)))  # NaN stays
    text = (
        f"{wrong} mismatches in {points} points of 40 constraints, {open_gaps} not certified; {prices} prices, worst "
        f"{100 * worst:.1f} % off, largest gain {100 * most:.0f} %"
    )
    return text, wrong == 0 and open_gaps == 0 and prices >= 60 and worst <= 0.02 and most <= 1.0


@row("40-link feasible regression (400 parameters)",
     "within 1e-8 of the semidefinite optimum; build + solve <= 1 s; solve <= 2 x Clarabel, 7 links <= 1.5 x",
     "prototype: 0.1 + 0.3 s, 1.9 x; 1.5 x")  # fmt: skip
def forty_links() -> tuple[str, bool]:
    need("clarabel")
    from papers.methods.comparison import duel

    forty, seven = duel(40), duel(7, rounds=30)
    met = all(
        d.proven_gap <= 1e-8 and d.above_clarabel <= 1e-8 and d.eigenvalue >= d.margin - 1e-12 for d in (forty, seven)
    )
    met = met and forty.build + forty.solve <= 1.0 and forty.ratio <= 2.0 and seven.ratio <= 1.5
    text = (
        f"40 links: proven within {forty.proven_gap:.1e} of the optimum ({forty.above_clarabel:+.1e} from Clarabel's); "
        f"building {forty.build:.3f} s, solve and certificate {forty.solve:.3f} s, {forty.ratio:.2f} x Clarabel "
        f"(and QR of 10000 x 401: {forty.compress:.2f} s). "
        f"7 links: {seven.proven_gap:.1e}, {1e3 * seven.solve:.2f} ms, {seven.ratio:.2f} x"
    )
    return text, met


@row("regression error over 1-40 links",
     "equal to the semidefinite program's at every size; point masses and Mata above it",
     "Sousa 2014, Fig. 6.2, 6.3")  # fmt: skip
def every_size() -> tuple[str, bool]:
    need("clarabel")
    from papers.methods.comparison import run_sizes

    gap = worse = below = 0.0
    least = {"Point masses (3^3)": float("inf"), "Mata (SQP)": float("inf"), "Mata (IPOPT)": float("inf")}
    solved = dict.fromkeys(least, 0)
    count = 0
    for size in run_sizes(range(1, 41), mata_seconds=3.0, repeats=1):
        own = size.answers["casid"]
        met_here = own.success
        gap = max(gap, 1.0 - size.lower_bound / own.excess) if met_here else float("inf")
        worse = max(worse, own.excess / size.optimum - 1.0)
        below = max(below, 1.0 - own.excess / size.optimum)
        for name in least:
            if size.answers[name].success:
                solved[name] += 1
                least[name] = min(least[name], size.answers[name].excess / own.excess - 1.0)
        count += 1
    met = count == 40 and gap <= 1e-8 and worse <= 1e-8 and all(value >= -1e-8 for value in least.values())
    met = met and all(solved.values())
    others = ", ".join(f"{name}: {solved[name]} of 40, from {least[name]:+.1e}" for name in least)
    return (
        f"{count} sizes: proven within {gap:.1e} of the optimum, at most {worse:.1e} above Clarabel's (which is up to "
        f"{below:.1e} above ours). Feasible answers of others above it: {others}"
    ), met


MARGIN = 1e-6


def two_links_violation(parameters: np.ndarray) -> float:
    """Largest violation of the supplement's constraints, from the published Table VII and numpy alone."""
    values, worst = published.by_name(parameters), 0.0
    for ten in parameters.reshape(2, 10):
        worst = max(worst, MARGIN - float(np.linalg.eigvalsh(pseudo_inertia(ten))[0]))
    for row in published.table("spatial_2R_table_VII_parameters"):
        value = values[row["parameter"]]
        worst = max(worst, float(row["lower"]) - value, value - float(row["upper"]))
    total = values["m1"] + values["m2"]
    return max(worst, 1.0 - total, total - 15.0)


@row("2R, exact if-else set: torque error on validation sinusoids",
     "<= 1e-8 relative; constraints to 1e-8; CoMs inside; 100 of 100 random starts (Q = 100, kappa = 1)",
     "the paper's p_hat")  # fmt: skip
def two_links() -> tuple[str, bool]:
    problem = casid.load_problem("spatial_2r")
    robot, motion = problem.variables.robot, validation_motion()
    true = torques(robot, true_parameters(), motion)
    study = casid.multistart(problem, starts=100, seed=0)
    errors, violations, outside, good = [], [], [], 0
    for solution in study.solutions:
        x = solution.standard_parameters
        errors.append(float(np.abs(torques(robot, x, motion) - true).max() / np.abs(true).max()))
        violations.append(two_links_violation(x))
        outside.append(outside_shapes(x))
        good += errors[-1] <= 1e-8 and violations[-1] <= 1e-8 and outside[-1] <= 1e-8
    text = (
        f"{good} of 100; worst torque error {max(errors):.1e}, violation {max(violations):.1e}, outside the shapes "
        f"{max(outside):.1e} m; {study.time:.1f} s"
    )
    return text, good == 100


@row("2R joint forces, feasible vs infeasible parameters", "feasible of the true order; infeasible: the distribution",
     "Fig. 10: 1e6 times")  # fmt: skip
def two_links_forces() -> tuple[str, bool]:
    problem = casid.load_problem("spatial_2r")
    robot, motion, truth = problem.variables.robot, validation_motion(), true_parameters()
    feasible = force_ratios(robot, casid.solve(problem).standard_parameters, truth, motion)
    relaxed = [relaxed_retrieval(problem, seed) for seed in range(100)]
    ratios = np.array([force_ratios(robot, one.parameters, truth, motion) for one in relaxed])
    middle, most, least = np.median(ratios, axis=0), ratios.max(axis=0), ratios.min(axis=0)
    text = (
        f"feasible: forces {feasible[0]:.3g} and {feasible[1]:.3g} x the true ones; relaxed retrieval, 100 starts: "
        f"{sum(one.eigenvalue < 0 for one in relaxed)} infeasible, {middle[0]:.2g} ({least[0]:.2g} ... {most[0]:.2g}) "
        f"and {middle[1]:.2g} ({least[1]:.2g} ... {most[1]:.2g}) x"
    )
    return text, max(feasible) <= 3 and min(feasible) >= 1 / 3 and max(one.misfit for one in relaxed) <= 1e-6


@row("Algorithm 1, kappa = 10, on the Panda problem",
     "the direct solve's certified optimum (3.8607e-4 with margin 1e-6)", "paper 1.290e-3")  # fmt: skip
def algorithm_1() -> tuple[str, bool]:
    problem = casid.load_problem("panda_retrieval")
    direct = casid.solve(problem)
    values, met, began = [], True, time.perf_counter()
    for seed in (None, 1, 2):
        method = Penalty(kappa=10, lower_bound=direct.lower_bound)
        solution = casid.solve(problem, method=method, seed=seed, throw=False)
        values.append(solution.objective)
        met &= solution.certified and solution.max_violation <= 1e-8 and len(solution.trace) == 10
        met &= abs(solution.objective - direct.objective) <= 1e-6 * direct.objective
    seconds = (time.perf_counter() - began) / 3
    return (
        f"{', '.join(f'{v:.6e}' for v in values)} from 3 starts; direct {direct.objective:.6e}; {seconds:.1f} s a "
        f"start",
        met,
    )


@row("nonconvex problems of the cookbook",
     "each a finite lower bound; gap <= 1 % on at least half, stated for the rest", "none has one")  # fmt: skip
def nonconvex() -> tuple[str, bool]:
    gaps, finite, began = {}, True, time.perf_counter()
    for recipe in cookbook.NONCONVEX:
        solution = casid.solve(casid.load_problem("cookbook", recipe=recipe), method=retrieval.Global(gap=0.01))
        finite &= bool(np.isfinite(solution.lower_bound)) and solution.lower_bound > 0
        finite &= solution.max_violation <= 1e-8
        gaps[recipe] = solution.gap
    small = sum(gap <= 0.01 for gap in gaps.values())
    text = ", ".join(f"{name} {gap:.1e}" for name, gap in gaps.items())
    return f"gaps: {text}; {time.perf_counter() - began:.0f} s", finite and 2 * small >= len(gaps)


@row("intervals of the 70 Panda parameters",
     "all 140 bounds certified, <= 30 s on one core; identifiable tight, m1 spanning its whole bound")  # fmt: skip
def intervals() -> tuple[str, bool]:
    problem = casid.load_problem("panda_retrieval")
    began = time.process_time()
    found = retrieval.parameter_intervals(problem)
    seconds = time.process_time() - began
    honest = all(e.low <= e.attained_low + 1e-12 and e.attained_high <= e.high + 1e-12 for e in found.entries)
    certified = found.certified(0.01)
    # lx7 and ly7 are coefficients of Table III themselves
    tight = [found[name].width for name in ("lx7", "ly7", "Lzz7")]
    m1 = found["m1"]
    others = 20.0 - m1.high  # what the other six weigh at least, together
    # the same intervals without the bound on the total mass: m1 is then limited by Table VIII alone
    free = retrieval.parameter_intervals(
        problem.without("total mass"), {"m1": problem.variables[0].mass}, limit=found.optimum + found.tolerance
    )
    alone = free["m1"]
    spans = max(m1.low, alone.low) <= 2e-6 and alone.high >= 10.0 - 1e-6 and alone.attained_high >= 9.99
    text = (
        f"{certified} of 140 within 1 % of the width, {found.certified(1e-3)} within 0.1 %, {seconds:.1f} s; widths "
        f"of lx7, ly7, Lzz7 "
        f"{', '.join(f'{w:.1e}' for w in tight)}; m1 in [{m1.low:.1e}, {m1.high:.2f}] kg (20 kg in all, of "
        f"which the others weigh at least {others:.2f}), "
        f"[{alone.low:.1e}, {alone.attained_high:.2f}] without the total mass"
    )
    return text, certified == 140 and honest and seconds <= 30 and max(tight) <= 2e-3 and spans


_STUDY = (
    "import sys, casid\n"
    "casid.study(casid.load_problem('panda_retrieval'), sys.argv[1], starts=int(sys.argv[2]), seed=4)\n"
)


@row("study of 1000 starts killed at a random moment and resumed",
     "same results as uninterrupted, nothing solved twice but the one in flight")  # fmt: skip
def killed_study(starts: int = 1000) -> tuple[str, bool]:
    """A study run in a process of its own, killed at a random moment and resumed, beside an uninterrupted one."""
    problem = casid.load_problem("panda_retrieval")
    with scratch() as folder:
        whole = casid.study(problem, folder / "whole.jsonl", starts=starts, seed=4)
        file = folder / "killed.jsonl"
        process = subprocess.Popen([sys.executable, "-c", _STUDY, str(file), str(starts)])
        while process.poll() is None and not (file.exists() and file.read_bytes().count(b"\n") > 1):
            time.sleep(0.01)
        time.sleep(random.uniform(0.0, 0.8 * whole.time))
        process.send_signal(signal.SIGKILL)
        process.wait()
        before = [json.loads(line)["start"] for line in file.read_bytes().split(b"\n")[1:-1]]
        resumed = casid.study(problem, file, starts=starts, seed=4)
        after = [json.loads(line)["start"] for line in file.read_text().splitlines()[1:]]
    facts = [
        [(r.start, r.seed, r.solution.status, r.solution.objective, r.solution.x.tolist()) for r in one.results]
        for one in (whole, resumed)
    ]
    same, kept = facts[0] == facts[1], after[: len(before)] == before
    once = sorted(after) == list(range(starts)) and resumed.solved == starts - len(before) and kept
    seeds = [r.seed for r in resumed.results] == start_seeds(starts, 4)
    text = (
        f"killed after {len(before)} of {starts}, {resumed.solved} solved on resuming; bitwise equal: {same}; "
        f"each once: {once}"
    )
    return text, same and once and seeds and 0 < len(before) < starts
