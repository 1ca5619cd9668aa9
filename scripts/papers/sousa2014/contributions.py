"""Sec. 8.1, future work: what each base parameter contributes to the infeasibility of an estimate."""

from __future__ import annotations

from functools import cache

import clarabel
import numpy as np
from benchmarks import published
from matplotlib.figure import Figure
from scipy import sparse
from scipy.stats import spearmanr

from casid.arrays import Array
from casid.report import BLUE, ORANGE, new_figure, set_title, tidy
from papers import wam_cases as thesis
from papers.item import Check, Comparison, Item, Outcome, Setting, Status, differs
from papers.methods.cones import stack
from papers.methods.feasibility_test import closest_feasible
from papers.methods.lmi import settings
from papers.sousa2014.infeasible_terms import feasible_set

#: Share of the squared distance from which on a parameter is counted [%].
SMALL = 1.0

#: Share of the squared distance below which a parameter does not move [%]: the change is the cone solver's tolerance.
UNMOVED = 1e-4


@cache
def printed() -> tuple[Array, Array, Array, tuple[str, ...]]:
    """beta_WLS, its relative standard deviations [%], K, and the leading terms' names."""
    rows = published.table("wam_table_4_9_feasible_estimates")
    deviations = published.column(published.table("wam_table_4_6_classical_estimates"), "sd_WLS_percent")
    names = tuple(row["first_term"] for row in rows)
    return published.column(rows, "beta_WLS"), deviations, thesis.model().base.K, names


@cache
def plane() -> Array:
    """``d = beta' - beta_WLS``, normal of the plane that separates the estimate from all feasible parameters."""
    beta, _, K, _ = printed()
    return np.asarray(K @ closest_feasible(K, beta, feasible_set())[0] - beta)


def without(index: int) -> float:
    """Distance that is left when one base parameter may take any value."""
    beta, _, K, _ = printed()
    keep = np.arange(len(beta)) != index
    return closest_feasible(K[keep], beta[keep], feasible_set())[1]


def alone(index: int) -> float:
    """Smallest change of one base parameter by itself that makes the set feasible; infinite where there is none."""
    beta, _, K, _ = printed()
    S, cones, _ = feasible_set().rows()
    size, unit = K.shape[1], sparse.csc_matrix(np.eye(len(beta))[:, [index]])
    P = sparse.block_diag([sparse.csc_matrix((size, size)), sparse.identity(1)], format="csc")
    A = stack([[sparse.csc_matrix(K), -unit], [-S, None]])
    b = np.concatenate([beta, np.zeros(S.shape[0])])
    cones = [clarabel.ZeroConeT(len(beta)), *cones]
    result = clarabel.DefaultSolver(P, np.zeros(size + 1), A, b, cones, settings(1e-8)).solve()
    return abs(float(result.x[-1])) if str(result.status) in ("Solved", "AlmostSolved") else np.inf


def picture(share: Array, deviations: Array, names: tuple[str, ...]) -> Figure:
    """Shares of the squared distance, and shares over relative standard deviations."""
    figure = new_figure(11.0, 4.6)
    set_title(figure, "What each base parameter of beta_WLS contributes to its infeasibility")
    left, right = figure.subplots(1, 2)
    first = np.argsort(-share)[:12]
    left.barh([names[k] for k in first][::-1], share[first][::-1], color=BLUE)
    left.set(xlabel="share of the squared distance [%]", xscale="log")
    right.loglog(deviations, np.maximum(share, 1e-9), "o", color=ORANGE, markersize=4)
    right.set(xlabel="relative standard deviation of the estimate [%]", ylabel="share of the squared distance [%]")
    for axes in (left, right):
        tidy(axes)
    return figure


def run(setting: Setting) -> Outcome:
    """Shares, what is left without each parameter, and repairs by one parameter alone."""
    beta, deviations, _, names = printed()
    d = plane()
    share, distance = 100 * d**2 / float(d @ d), float(np.linalg.norm(d))
    order = np.argsort(-share)[: 4 if setting.quick else 12]
    sigma = np.abs(beta) * deviations / 100
    rows = [
        [names[k], float(beta[k]), float(d[k]), float(share[k]), float(deviations[k]),
         float(abs(d[k]) / sigma[k]) if sigma[k] > 0 else None, float(100 * (1 - (without(k) / distance) ** 2))]
        for k in order
    ]  # fmt: skip
    repairs = [] if setting.quick else [names[k] for k in range(len(beta)) if np.isfinite(alone(k))]
    moved = np.isfinite(deviations) & (deviations > 0) & (share > UNMOVED)
    relation = spearmanr(share[moved], deviations[moved])
    columns = (
        "beta", "beta_WLS", "change to beta'", "share of the squared distance [%]", "standard deviation [%]",
        "change in standard deviations", "distance lost if it were free [% of the square]",
    )  # fmt: skip
    large = int((share > SMALL).sum())
    return Outcome(
        (Comparison.of("Parameters with the largest shares", columns, rows),),
        {"contributions": picture(share, deviations, names)},
        (
            "With d from the estimate to its nearest feasible set, d'(beta - beta_WLS) >= d'd for every feasible beta: "
            "the share of a parameter is its part d_i^2 of d'd, in SI units and in the base parameters of Table 4.2 "
            "(another grouping has other shares). Beside it stands what the squared distance loses when the parameter "
            "is left free, which other parameters may make up for.",
            f"{large} of {len(beta)} parameters have more than {SMALL:g} %. Repairs by one parameter alone: "
            f"{', '.join(repairs) or 'none'}.",
            f"The thesis supposes a relation with poorly identified parameters. Among the {int(moved.sum())} that "
            f"move (more than {UNMOVED:g} %), the rank correlation of shares and relative standard deviations is "
            f"{relation.statistic:.2f} (p = {relation.pvalue:.2g}): none. The two that carry most of the distance, a "
            "Coulomb friction and a rotor inertia with the wrong sign, have small standard deviations "
            f"({deviations[order[0]]:g} % and {deviations[order[1]]:g} %) and change by many of them: there the model "
            "is wrong, not the data poor.",
        ),
        (
            Check("two parameters, Fcj2 and Iam4, carry 90 % of the squared distance",
                  {names[k] for k in order[:2]} == {"Fcj2", "Iam4"} and float(share[order[:2]].sum()) >= 90),
            differs("shares and relative standard deviations rise together (rank correlation positive, p < 0.05)",
                    float(relation.statistic) > 0 and float(relation.pvalue) < 0.05),
            differs("the parameters that carry most are poorly identified (standard deviation above 30 %)",
                    bool((deviations[order[:2]] > 30).all())),
            Check("no change of one parameter alone makes the estimate feasible", not repairs),
        ),
    )  # fmt: skip


ITEM = Item(
    "Sec. 8.1 (parameters)",
    "future work: contribution of each parameter to the infeasibility",
    Status.REPRODUCED,
    "the separating plane of the printed beta_WLS, parameter by parameter, beside its printed standard deviations",
    run,
    repeatable=True,
)
