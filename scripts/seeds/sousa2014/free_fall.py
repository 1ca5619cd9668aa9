"""Figs. 5.1-5.4: free fall with infeasible and feasible parameters."""

from __future__ import annotations

import numpy as np
from free_fall import joints_figure, totals_figure
from measures import thesis

from casid.report.simulation_plots import energy_figure
from seeds.item import Comparison, Item, Outcome, Setting, Status

HOW = "free fall of the arm with the printed base parameters (Table 4.9); scripts/free_fall.py"


def _seconds(setting: Setting) -> float:
    return 1.0 if setting.quick else 20.0


def fig_5_1(setting: Setting) -> Outcome:
    """Positions with beta_WLS."""
    done = thesis.divergence("beta_WLS")
    rows: list[list[object]] = [
        ["integration stops after [s]", 0.041, done.end.time],
        ["because", "not said", str(done.end)],
    ]
    return Outcome(
        (Comparison.of("Free fall with beta_WLS", ("", "printed", "here"), rows),),
        {"fig_5_1": joints_figure(done, "Free fall with beta_WLS, mass matrix not checked")},
    )


def fig_5_2(setting: Setting) -> Outcome:
    """Its energy."""
    return Outcome(pictures={"fig_5_2": energy_figure(thesis.divergence("beta_WLS"))})


def fig_5_3(setting: Setting) -> Outcome:
    """Positions with beta*e."""
    return Outcome(pictures={"fig_5_3": joints_figure(thesis.free_fall("beta*e", _seconds(setting)), "beta*e")})


def fig_5_4(setting: Setting) -> Outcome:
    """Energies of all three feasible sets."""
    falls = {name: thesis.free_fall(name, _seconds(setting)) for name in thesis.FEASIBLE}
    rows = [
        [name, float(np.abs(done.dq).max(axis=1).nonzero()[0][-1] / 200.0), done.energy.relative_imbalance]
        for name, done in falls.items()
    ]
    columns = ("set", "moves until [s]", "imbalance of the energy book")
    return Outcome((Comparison.of("Energy only falls", columns, rows),), {"fig_5_4": totals_figure(falls)})


ITEMS = (
    Item("Fig. 5.1", "free fall with beta_WLS: joint positions", Status.REPRODUCED, HOW, fig_5_1),
    Item("Fig. 5.2", "free fall with beta_WLS: total energy", Status.REPRODUCED, HOW, fig_5_2),
    Item("Fig. 5.3", "free fall with beta*e: joint positions", Status.REPRODUCED, HOW, fig_5_3),
    Item("Fig. 5.4", "free fall with the feasible sets: total energy", Status.REPRODUCED, HOW, fig_5_4),
)
