"""Sec. V: constant penalties, which the authors left, against penalties that grow with the violation."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from casid.arrays import Array
from casid.report import BLUE, INK, ORANGE, new_figure, set_title, tidy
from papers.item import Check, Comparison, Item, Outcome, Setting, Status
from papers.methods.global_search import annealing
from papers.methods.penalised_retrieval import FEASIBLE, PenalisedRetrieval, Runs, panda

#: Starts, successive solves, evaluations of each: those of Algorithm 1's item.
STARTS, KAPPA, EVALUATIONS = 100, 10, 1000


class ConstantPenalties(PenalisedRetrieval):
    """``phi + xi_k (number of violated constraints)``: a step at each constraint, with no slope that leads back."""

    def value(self, p: Array, weight: float) -> Array:
        """F at points of shape (..., 10 n)."""
        broken = self.violations(p) > FEASIBLE
        return np.asarray(self.phi(p) + weight * broken.sum(axis=-1))

    def value_and_gradient(self, p: Array, weight: float) -> tuple[float, Array]:
        """F at one point, and its gradient wherever it has one: that of phi."""
        gradient = super().value_and_gradient(p, 0.0)[1]
        return float(self.value(p, weight)), gradient


def constant(problem: PenalisedRetrieval) -> ConstantPenalties:
    """The same problem with constant penalties."""
    return ConstantPenalties(problem.forms, problem.values, problem.lower, problem.upper, problem.total)


def picture(found: dict[str, Runs], optimum: float) -> Figure:
    """Where the runs end, in order; filled where feasible."""
    figure = new_figure(9.0, 4.4)
    set_title(figure, "Annealing with constant and with violation-dependent penalties, the same 100 starts")
    axes = figure.subplots()
    for (name, runs), colour in zip(found.items(), (ORANGE, BLUE), strict=True):
        order = np.argsort(runs.phi)
        place, phi, good = (np.arange(len(order)) + 0.5) / len(order), runs.phi[order], runs.feasible_runs[order]
        axes.plot(100 * place[good], phi[good], "o", color=colour, markersize=4, label=name)
        axes.plot(100 * place[~good], phi[~good], "o", color=colour, markersize=4, markerfacecolor="white")
    axes.axhline(optimum, color=INK, linewidth=1.2, label="certified optimum")
    axes.set(
        yscale="log", xlabel="share of the runs that end at or below [%]; open: not feasible", ylabel="|pi(p) - pi_RE|²"
    )
    axes.legend(frameon=False)
    tidy(axes)
    return figure


def run(setting: Setting) -> Outcome:
    """Both penalties from the same starts."""
    problem, solution = panda()
    starts, kappa, evaluations = (3, 2, 200) if setting.quick else (STARTS, KAPPA, EVALUATIONS)
    found = {
        "constant": annealing(constant(problem), starts, kappa, evaluations, jobs=1),
        "violation-dependent": annealing(problem, starts, kappa, evaluations, jobs=1),
    }
    optimum, rows = solution.lower_bound, list[list[object]]()
    for name, runs in found.items():
        good = runs.feasible
        middle = float(np.median(good)) if len(good) else None
        rows.append(
            [name, starts, len(good), float(good.min()) if len(good) else None, middle,
             None if middle is None else middle / optimum, int((good <= 10 * optimum).sum()), runs.seconds]
        )  # fmt: skip
    columns = (
        "penalty", "starts", "end feasible", "best", "median of the feasible", "over the optimum",
        "feasible within 10 times the optimum", "s a run",
    )  # fmt: skip
    old, new = found["constant"], found["violation-dependent"]
    return Outcome(
        (
            Comparison.of(
                "Algorithm 1 by annealing, |pi(p) - pi_RE|^2 over the 41 reliable coefficients", columns, rows
            ),
        ),
        {"penalties": picture(found, optimum)},
        (
            "Constant: xi_k times the number of violated constraints (the seven triangle inequalities and the total "
            "mass), the same xi_k = 10 (k - 1). The paper gives no number of either; the search, its starts and its "
            f"budget ({EVALUATIONS} evaluations for each of the {KAPPA} solves, then the local search) are those of "
            "the item Algorithm 1. A violation counts from 1e-6 on.",
        ),
        (
            Check(
                "with violation-dependent penalties more of the starts end feasible",
                len(new.feasible) > len(old.feasible),
            ),
        ),
    )


ITEM = Item(
    "Sec. V",
    "constant and violation-dependent penalties",
    Status.REPRODUCED,
    "ablation of the penalty: SciPy's dual annealing on the paper's problem from the same 100 starts",
    run,
)
