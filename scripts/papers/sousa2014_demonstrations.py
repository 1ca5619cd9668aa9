"""Chapter 5: free fall and control with infeasible and feasible parameters."""

from __future__ import annotations

from functools import partial

import numpy as np
from benchmarks import published
from examples.free_fall import joints_figure, totals_figure

from casid.report import energy_figure, motion_figure, set_title
from papers import wam_cases as thesis
from papers.item import Parts, Setting, checked, compared, holds, items_of, numbers, paragraphs, pictured

item = items_of("sousa2014")

#: Of the integrator, tried beside the one of the picture.
TOLERANCES = (1e-3, 1e-6, 1e-8, 1e-10)


def _seconds(setting: Setting) -> float:
    return 1.0 if setting.quick else 20.0


@item("Fig. 5.1")
def fig_5_1(setting: Setting) -> Parts:
    """Positions with beta_WLS."""
    done = thesis.divergence("beta_WLS")
    rows: list[list[object]] = [
        ["integration stops after [s]", 0.041, done.end.time],
        ["because", "lack of numerical accuracy and stability", str(done.end)],
    ]
    stopped = done.end.time
    yield compared("Free fall with beta_WLS", ("", "printed", "here"), rows)
    yield pictured("fig_5_1", joints_figure(done, "Free fall with beta_WLS, mass matrix not checked"))
    yield holds(not done.end.finished, abs(stopped - 0.041) <= 0.5e-3)


@item("Fig. 5.2")
def fig_5_2(setting: Setting) -> Parts:
    """Its energy."""
    done = thesis.divergence("beta_WLS")
    total, kinetic = done.energy.total, done.energy.kinetic
    late = done.t > done.t[-1] - 0.01
    rises = {tol: float(np.diff(thesis.divergence("beta_WLS", tol).energy.total).max()) for tol in TOLERANCES}
    falling = [f"{tol:g}" for tol, rise in rises.items() if rise < 0]
    yield pictured("fig_5_2", energy_figure(done))
    yield numbers(total[-1], kinetic[-1], np.abs(done.dq[-1]).max(), ", ".join(falling) or "-")
    yield numbers(", ".join(f"{tol:g}" for tol in TOLERANCES))
    yield holds(max(rises.values()) > 0, float(np.ptp(total[late])) >= 0.5 * float(np.ptp(total)))


@item("Fig. 5.3")
def fig_5_3(setting: Setting) -> Parts:
    """Positions with beta*e."""
    yield pictured(
        "fig_5_3", joints_figure(thesis.free_fall("beta*e", _seconds(setting)), "Free fall with beta*e", 6.0)
    )
    yield holds(thesis.free_fall("beta*e", _seconds(setting)).end.finished)


@item("Fig. 5.4")
def fig_5_4(setting: Setting) -> Parts:
    """Energies of all three feasible sets."""
    falls = {name: thesis.free_fall(name, _seconds(setting)) for name in thesis.FEASIBLE}
    rows = [
        [name, float(np.abs(done.dq).max(axis=1).nonzero()[0][-1] / 200.0), done.energy.relative_imbalance]
        for name, done in falls.items()
    ]
    rises = {name: float(np.diff(done.energy.total).max()) for name, done in falls.items()}
    columns = ("set", "moves until [s]", "imbalance of the energy book")
    yield compared("Free fall with feasible parameters", columns, rows)
    yield pictured("fig_5_4", totals_figure(falls))
    yield holds(all(done.end.finished for done in falls.values()), max(rises.values()) <= 1e-9)


MISFIT = "beta_WLS"
#: Factors of the gains (Sec. 5.2: "even if the control gains are decreased to near-zero values").
WEAKER = (0.1, 0.01)
LAW, TIGHT = "computed torque", "computed torque, tight"


def gains_and_tracking(law: str, setting: Setting) -> Parts:
    """A table of gains and what tracking they give."""
    table = published.table(thesis.LAWS[law].gains)
    rows: list[list[object]] = [[f"{key} (printed)", *(row[key] for row in table)] for key in ("Kp", "Kd")]
    done = {name: thesis.track(name, law) for name in (("beta*", "beta*e") if setting.quick else thesis.SETS)}
    for name, one in done.items():
        errors: list[object] = list(thesis.rms_degrees(one).tolist()) if one.end.finished else ["-"] * 7
        rows.append([f"{name}: rms error [deg]", *errors])
    followed = all(done[n].end.finished for n in done if n != MISFIT)
    yield checked("the feasible sets follow to the end", followed)
    if MISFIT in done:
        end = done[MISFIT].end
        still = not end.finished and thesis.MOTION_ON < end.time < thesis.MOTION_ON + 1
        yield checked(f"{MISFIT} holds still and diverges within a second of the start of the motion", still)
        rms = {n: thesis.rms_degrees(done[n]) for n in thesis.FEASIBLE}
        largest = max(float(np.abs(rms[n] - rms["beta*"]).max()) for n in rms)
        words = f"beta' and beta*e differ little from beta* (at most 1 deg rms; here {largest:.1f})"
        yield checked(words, largest <= 1, expected=False)
    yield compared("Gains, and tracking of trajectory B", ("", *(f"joint {k}" for k in range(1, 8))), rows)
    yield paragraphs(*(f"{name}: {one.end}." for name, one in done.items() if not one.end.finished))


def tracking(number: str, name: str, law: str, setting: Setting) -> Parts:
    """Positions over time; whether the infeasible model diverges with weaker control, too."""
    done = thesis.track(name, law)
    shown = motion_figure(done)
    set_title(shown, f"Trajectory B, {law}, model: {name}")
    for factor in (WEAKER[:1] if setting.quick else WEAKER) if name == MISFIT else ():
        end = thesis.track(MISFIT, law, factor).end
        words = f"it diverges with gains decreased to near zero, too: Kp at {factor:g} of Table 5.1 ({end})"
        yield checked(words, not end.finished, expected=factor == WEAKER[0])
    yield pictured(f"fig_5_{number}", shown)
    yield numbers(done.end)


item("Table 5.1")(partial(gains_and_tracking, LAW))
item("Fig. 5.6")(partial(tracking, "6", "beta_WLS", LAW))
item("Table 5.2")(partial(gains_and_tracking, TIGHT))
item("Fig. 5.7")(partial(tracking, "7", "beta*", LAW))
item("Fig. 5.8")(partial(tracking, "8", "beta*", TIGHT))
