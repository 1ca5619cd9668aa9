"""Sec. 2.6: the methods of earlier authors, on one problem."""

from __future__ import annotations

from papers.item import Comparison, Item, Outcome, Setting, Status
from papers.methods.random_data import random_regression
from papers.methods.study import run_size

LINKS = 7


def run(setting: Setting) -> Outcome:
    """Every method's answer, checked here."""
    links = 2 if setting.quick else LINKS
    data = random_regression(links, seed=0, kind="semi")
    size = run_size(data, mata_seconds=1.0 if setting.quick else 20.0, repeats=1)
    rows = [
        [
            name, a.error_above_ols, a.excess / size.optimum - 1, "yes" if a.feasible else "no",
            "yes" if a.solved else "no", 1e3 * a.solve_time,
        ]
        for name, a in size.answers.items()
    ]  # fmt: skip
    columns = (
        "method",
        "error above OLS [%]",
        "excess, relative to the optimum's",
        "feasible",
        "says solved",
        "solver [ms]",
    )
    return Outcome(
        (Comparison.of(f"Constrained regression of {links} links, m > 0 and I > 0", columns, rows),),
        words=(
            "Mata et al. (2005): eigenvalues of the inertias as constraints; Farhat et al. (2008): Sylvester's minors, "
            "by sequential quadratic programming and by IPOPT. Ting et al. (2006): any theta is a body. Ayusawa and "
            "Nakamura (2010): point masses; with the prior of eq. 2.76 in Table 6.2. Diaz-Rodriguez et al. (2010): "
            "model reduction, and Gautier et al. (2013): essential parameters pulled towards CAD values, in Fig. 6.4. "
            "Yoshida and Khalil (2000): their recursion from link to link in Sec. 6.2. Mata et al. with the prior term "
            "of eq. 2.69 in Sec. 2.6.6.",
            "The excess is the sum of squared errors above that of OLS; relative to the optimum's: -1 is OLS itself, 0 "
            'the best feasible fit, 1 twice its excess. "Says solved" is the solver\'s own word.',
            "Margins (1e-6) keep links off the boundary; the eigenvalues' margin is asked of a 3x3 matrix, that of the "
            "program of a 6x6 one, and theta has none: hence excesses just below the optimum's.",
        ),
    )


ITEM = Item(
    "Sec. 2.6",
    "physical feasibility in earlier works",
    Status.IN_KIND,
    "stand-in: random data as in Sec. 6.3.2, for the thesis compares only some of these methods",
    run,
)
