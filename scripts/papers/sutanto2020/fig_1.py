"""Fig. 1: learning from batches in the order in which they come."""

from __future__ import annotations

import numpy as np
from benchmarks.learning.data import DURATION
from benchmarks.learning.sequential import BATCH, curves
from matplotlib.figure import Figure

from casid.learning._parametrisations import PARAMETRISATIONS
from casid.report import INK, new_figure, set_title, tidy
from papers.item import Check, Comparison, Item, Outcome, Setting, Status

#: Parametrisations that the paper calls the fastest.
PHYSICAL = ("spd", "tri", "cov")


def figure(found: dict[str, list[float]]) -> Figure:
    """Error on the whole set over batches."""
    made = new_figure(10.0, 5.0)
    set_title(made, "Error on the whole set while it comes in")
    axes = made.subplots()
    for name, errors in found.items():
        own, style = name.startswith("casid"), ":" if name in PARAMETRISATIONS else "--"
        axes.semilogy(
            np.arange(1, len(errors) + 1), errors, label=name, linewidth=2.4 if own else 1.2,
            color=INK if own else None, linestyle="-" if own else style,
        )  # fmt: skip
    axes.set(xlabel=f"batches of {BATCH} samples", ylabel="NMSE on the whole set")
    axes.legend(frameon=False, fontsize=8, ncols=2)
    tidy(axes)
    return made


def _ordered(found: dict[str, list[float]]) -> tuple[str, bool]:
    """Whether the physical parametrisations are the best of the paper's models, as in the figure."""
    ends = {name: errors[-1] for name, errors in found.items()}
    physical = max(ends[name] for name in PHYSICAL)
    others = min(error for name, error in ends.items() if name not in PARAMETRISATIONS and not name.startswith("casid"))
    words = f"the worst of {', '.join(PHYSICAL)} has {physical:.2g}, the best network {others:.2g}"
    return words, physical < min(others, ends["symm"], ends["nostr"])


def run(setting: Setting) -> Outcome:
    """Every model without noise."""
    found = curves(0.0, 5.0 if setting.quick else DURATION)
    last = len(next(iter(found.values()))) - 1
    marks = (0, last // 4, last)
    rows = [[name, *(errors[k] for k in marks)] for name, errors in found.items()]
    columns = ("model", *(f"after batch {k + 1}" for k in marks))
    words, first = _ordered(found)
    return Outcome(
        (Comparison.of("NMSE on the whole set, mean of the joints", columns, rows),),
        {"fig_1": figure(found)},
        (
            "The figure's numbers are not printed. casid on line solves for all parameters after every batch; the "
            "others take ten Adam steps on it. Dotted: parametrisations of links; dashed: networks. At the end "
            f"{words}.",
        ),
        checks=(Check("spd, tri and cov generalise best to what is not yet seen", first),),
    )


ITEM = Item(
    "Fig. 1",
    "online learning in simulation",
    Status.IN_KIND,
    "stand-in: casid's simulated iiwa in place of PyBullet's",
    run,
)
