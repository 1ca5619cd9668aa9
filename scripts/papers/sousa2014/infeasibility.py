"""Fig. 6.1: share of positive definite mass matrices from infeasible to feasible parameters."""

from __future__ import annotations

import numpy as np

from papers.item import Check, Comparison, Item, Outcome, Setting, Status
from papers.methods.figures import pd_ratio_figure
from papers.methods.positive_definite_ratio import pd_curve, published_ends

POSES = 10_000


def run(setting: Setting) -> Outcome:
    """The curve of the thesis's own printed parameters."""
    weights = np.linspace(0.0, 1.2, 13 if setting.quick else 25)
    curve = pd_curve(*published_ends(), weights, 300 if setting.quick else POSES)
    rows = [[f"{w:.2f}", float(percent)] for w, percent in zip(weights, curve, strict=True)]
    return Outcome(
        (Comparison.of("Positive definite mass matrices [%]", ("lambda", "here"), rows),),
        {"fig_6_1": pd_ratio_figure(weights, {"the thesis's printed parameters": curve})},
        ("Feasible from lambda = 1 on; the figure's own numbers are not printed.",),
        (
            Check("at lambda = 0 the mass matrix is indefinite at some poses", curve[0] < 100),
            Check("from lambda = 1 on it is positive definite at all", bool((curve[weights >= 1 - 1e-9] == 100).all())),
            Check(
                "before, it is positive definite at most poses (90 %) while the parameters are infeasible",
                bool((curve[weights < 1 - 1e-9] >= 90).any()),
            ),
        ),
    )


ITEM = Item(
    "Fig. 6.1",
    "ratio of positive definite inertia matrices over the degree of infeasibility",
    Status.REPRODUCED,
    "from beta_WLS and beta* of Table 4.9 at 10000 random poses",
    run,
    repeatable=True,
)
