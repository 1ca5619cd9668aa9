"""Figs. 5.1-5.4: free fall with infeasible and feasible parameters."""

from __future__ import annotations

import numpy as np
from examples.free_fall import joints_figure, totals_figure

from casid.report._simulation import energy_figure
from papers import wam_cases as thesis
from papers.item import Check, Comparison, Item, Outcome, Setting, Status, differs

#: Of the integrator, tried beside the one of the picture.
TOLERANCES = (1e-3, 1e-6, 1e-8, 1e-10)
HOW = "free fall of the arm with the printed base parameters (Table 4.9); scripts/examples/free_fall.py"


def _seconds(setting: Setting) -> float:
    return 1.0 if setting.quick else 20.0


def fig_5_1(setting: Setting) -> Outcome:
    """Positions with beta_WLS."""
    done = thesis.divergence("beta_WLS")
    rows: list[list[object]] = [
        ["integration stops after [s]", 0.041, done.end.time],
        ["because", "lack of numerical accuracy and stability", str(done.end)],
    ]
    stopped = done.end.time
    return Outcome(
        (Comparison.of("Free fall with beta_WLS", ("", "printed", "here"), rows),),
        {"fig_5_1": joints_figure(done, "Free fall with beta_WLS, mass matrix not checked")},
        checks=(
            Check("the integration cannot go on, although nothing but the integrator stops it", not done.end.finished),
            differs("it stops at 0.041 s (to the printed digits)", abs(stopped - 0.041) <= 0.5e-3),
        ),
    )


def fig_5_2(setting: Setting) -> Outcome:
    """Its energy."""
    done = thesis.divergence("beta_WLS")
    total, kinetic = done.energy.total, done.energy.kinetic
    late = done.t > done.t[-1] - 0.01
    rises = {tol: float(np.diff(thesis.divergence("beta_WLS", tol).energy.total).max()) for tol in TOLERANCES}
    falling = [f"{tol:g}" for tol, rise in rises.items() if rise < 0]
    return Outcome(
        pictures={"fig_5_2": energy_figure(done)},
        words=(
            f"The total energy ends at {total[-1]:.2f} J, the kinetic energy at {kinetic[-1]:.2f} J: a negative one is "
            "what no machine has, for its mass matrix is positive definite. So the total can fall without end while "
            f"the joints speed up, to {np.abs(done.dq[-1]).max():.0f} rad/s in the picture. The thesis says that its "
            "energy does not only fall. Here it falls in every millisecond with integrators of the tolerances "
            f"{', '.join(falling) or '-'} (of {', '.join(f'{tol:g}' for tol in TOLERANCES)}).",
        ),
        checks=(
            differs("the energy does not only fall", max(rises.values()) > 0),
            Check(
                "it is unstable in the last milliseconds: half of all its change is in the last ten",
                float(np.ptp(total[late])) >= 0.5 * float(np.ptp(total)),
            ),
        ),
    )


def fig_5_3(setting: Setting) -> Outcome:
    """Positions with beta*e."""
    return Outcome(
        pictures={
            "fig_5_3": joints_figure(thesis.free_fall("beta*e", _seconds(setting)), "Free fall with beta*e", 6.0)
        },
        checks=(
            Check(
                "the integration goes on as long as wanted (20 s)",
                thesis.free_fall("beta*e", _seconds(setting)).end.finished,
            ),
        ),
    )


def fig_5_4(setting: Setting) -> Outcome:
    """Energies of all three feasible sets."""
    falls = {name: thesis.free_fall(name, _seconds(setting)) for name in thesis.FEASIBLE}
    rows = [
        [name, float(np.abs(done.dq).max(axis=1).nonzero()[0][-1] / 200.0), done.energy.relative_imbalance]
        for name, done in falls.items()
    ]
    rises = {name: float(np.diff(done.energy.total).max()) for name, done in falls.items()}
    columns = ("set", "moves until [s]", "imbalance of the energy book")
    return Outcome(
        (Comparison.of("Free fall with feasible parameters", columns, rows),),
        {"fig_5_4": totals_figure(falls)},
        checks=(
            Check("all three simulations finish", all(done.end.finished for done in falls.values())),
            Check("the energy of all three only falls (rises by at most 1e-9 J)", max(rises.values()) <= 1e-9),
        ),
    )


ITEMS = (
    Item("Fig. 5.1", "free fall with beta_WLS: joint positions", Status.REPRODUCED, HOW, fig_5_1),
    Item("Fig. 5.2", "free fall with beta_WLS: total energy", Status.REPRODUCED, HOW, fig_5_2),
    Item("Fig. 5.3", "free fall with beta*e: joint positions", Status.REPRODUCED, HOW, fig_5_3),
    Item("Fig. 5.4", "free fall with the feasible sets: total energy", Status.REPRODUCED, HOW, fig_5_4),
)
