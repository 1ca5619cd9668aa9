"""Table 4.2: the 76 base parameters of the WAM."""

from __future__ import annotations

import re

import numpy as np
from benchmarks import published

from papers import wam_cases as thesis
from papers.item import Check, Comparison, Item, Outcome, Setting, Status


def printed_form(expression: str, names: tuple[str, ...]) -> np.ndarray:
    """A printed combination as a linear form: ``Fvj1`` is fv1, ``Fvm1`` is fvm1."""
    text = re.sub(r"F([vco])j(\d)", r"f\1\2", re.sub(r"F([vco])m(\d)", r"f\1m\2", expression))
    return published.linear_form(text, names)


def run(setting: Setting) -> Outcome:
    """Every combination as computed beside the printed one."""
    model = thesis.model()
    rows = published.table("wam_table_4_2_base_parameters")
    table, worst = [], 0.0
    for row, form, expression in zip(rows, model.base.K, model.base.expressions, strict=True):
        difference = float(np.abs(printed_form(row["expression"], model.parameter_names) - form).max())
        worst = max(worst, difference)
        table.append([row["beta"], row["expression"], expression, f"{difference:.0e}"])
    return Outcome(
        (Comparison.of("Base parameters", ("", "printed", "computed", "largest difference"), table),),
        words=(f"{model.base.rank} base parameters; largest difference of a coefficient {worst:.1e}.",),
        checks=(
            Check("there are 76 base parameters", model.base.rank == 76),
            Check("their combinations are the printed ones (to the printed digits, 1e-8)", worst <= 1e-8),
        ),
    )


ITEM = Item(
    "Table 4.2",
    "base dynamic parameters of the WAM",
    Status.REPRODUCED,
    "rank and groupings of the regressor with joint and motor friction behind the differentials",
    run,
    repeatable=True,
)
