"""Sec. 2.6.6: the constrained regression of Mata et al. (2005) with its prior term, eq. 2.69."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from matplotlib.figure import Figure

from casid.arrays import Array
from casid.report import BLUE, ORANGE, new_figure, set_title, tidy
from papers.item import Check, Comparison, Item, Outcome, Setting, Status, below
from papers.methods.lmi import lmi
from papers.methods.mata import prior
from papers.methods.mata_eigenvalues import mata_eigenvalues
from papers.methods.random_data import random_regression
from papers.methods.regression import Answer, Regression

#: Links; weights of the prior term relative to the data term (lambda_beta over lambda_omega, both scaled by the mean
#: diagonal of W'W).
LINKS, WEIGHTS = 7, (0.0, 1e-6, 1e-4, 1e-2, 1.0, 100.0)


@dataclass(frozen=True, eq=False)
class Pulled:
    """Answers to eq. 2.69 for one weight, by Mata's nonlinear program and by the semidefinite one.

    ``least`` is the value below which the objective cannot be.
    """

    weight: float
    least: float
    sequential: Answer
    semidefinite: Answer

    @property
    def above(self) -> float:
        """How far Mata's value of eq. 2.69 is above the semidefinite one, relative."""
        return (self.sequential.excess - self.semidefinite.excess) / (self.least + self.semidefinite.excess)


def with_prior(data: Regression, towards: Array, weight: float) -> Regression:
    """``lambda_omega |omega - W delta|^2 + lambda_beta |beta_hat - delta|^2`` as one regression with more rows.

    Random data determine all standard parameters: the base parameters of eq. 2.69 are delta itself, K = 1.
    """
    size = len(towards)
    pull = np.sqrt(weight * float(np.mean(np.diag(data.R.T @ data.R)))) * np.eye(size)
    return replace(
        data, W=np.concatenate([data.triangle[:, :-1], pull]),
        tau=np.concatenate([data.triangle[:, -1], pull @ towards]), outputs=1,
    )  # fmt: skip


def study(links: int, seconds: float) -> tuple[Regression, Array, list[Pulled]]:
    """All weights on one draw of random data, towards uniform bodies half as large as the links' boxes."""
    data = random_regression(links, seed=0, kind="semi")
    towards, found = prior(data), []
    for weight in WEIGHTS:
        pulled = with_prior(data, towards, weight)
        found.append(Pulled(weight, pulled.constant, mata_eigenvalues(pulled, seconds=seconds), lmi(pulled, 1e-11)))
    return data, towards, found


def picture(data: Regression, towards: Array, found: list[Pulled]) -> Figure:
    """Error above OLS and distance from the prior over the weight."""
    figure = new_figure(9.0, 4.2)
    set_title(figure, "The prior term of eq. 2.69: fit against distance from the prior (links: 7)")
    axes = figure.subplots()
    weights = [max(one.weight, 1e-8) for one in found]
    axes.loglog(
        weights,
        [data.error_above_ols(one.semidefinite.x) for one in found],
        "o-",
        color=BLUE,
        label="error above OLS [%]",
    )
    axes.loglog(weights, [100 * distance(one.semidefinite.x, towards) for one in found], "s-", color=ORANGE,
                label="distance from the prior, relative [%]")  # fmt: skip
    axes.set(xlabel="weight of the prior term (leftmost: none)")
    axes.legend(frameon=False)
    tidy(axes)
    return figure


def distance(x: Array, towards: Array) -> float:
    """Relative to the prior."""
    return float(np.linalg.norm(x - towards) / np.linalg.norm(towards))


def run(setting: Setting) -> Outcome:
    """Both solvers for every weight."""
    links = 2 if setting.quick else LINKS
    data, towards, found = study(links, 2.0 if setting.quick else 20.0)
    rows = [
        [f"{one.weight:g}", data.error_above_ols(one.semidefinite.x), data.error_above_ols(one.sequential.x),
         100 * distance(one.semidefinite.x, towards), "yes" if one.sequential.success else "no",
         one.sequential.iterations, below(abs(one.above), 1e-6)]
        for one in found
    ]  # fmt: skip
    columns = (
        "lambda_beta / lambda_omega", "error above OLS [%], LMI-SDP", "by Mata (eigenvalues, SQP)",
        "distance from the prior [%]", "solved and feasible", "iterations", "objective apart from LMI-SDP, relative",
    )  # fmt: skip
    errors = np.array([data.error_above_ols(one.semidefinite.x) for one in found])
    iterations = [one.sequential.iterations for one in found]
    return Outcome(
        (Comparison.of(f"Constrained regression of {links} links with a prior term, m > 0 and I > 0", columns, rows),),
        {"prior_term": picture(data, towards, found)},
        (
            "beta_hat: uniform bodies half as large as each link's box, with the mass of ordinary least squares, as "
            "from drawings. Weights multiply the mean diagonal of W'W. The thesis notes that neither the prior nor the "
            "weights are discussed by the authors: the fit is the constrained one for small weights and the prior's "
            "for large ones. The same objective is a semidefinite program, too: its optimum is the reference.",
        ),
        (
            Check("the error rises with the weight of the prior",
                  bool((np.diff(errors) >= -1e-5 * errors.max()).all())),
            Check("the prior steadies the nonlinear program: the largest weight needs fewer iterations than none",
                  iterations[-1] < iterations[0]),
            Check("with every weight it ends at the semidefinite optimum (to 1e-6 of the objective)",
                  all(abs(one.above) <= 1e-6 for one in found)),
        ),
    )  # fmt: skip


ITEM = Item(
    "Sec. 2.6.6",
    "method of Mata et al. (2005) with its prior term (eq. 2.69)",
    Status.IN_KIND,
    "stand-in: random data as in Sec. 6.3.2; the thesis gives no numbers of it",
    run,
)
