"""Tables 5.1, 5.2 and Figs. 5.6-5.8: control of the arm with infeasible and feasible parameters."""

from __future__ import annotations

from measures import published, thesis

from casid.report.simulation_plots import motion_figure
from seeds.item import Comparison, Item, Outcome, Setting, Status

STAND_IN = (
    "stand-in: the arm itself; a simulated one with beta*e, its friction and rotors, under the thesis's control, "
    "scripts/trajectory_b.py"
)
LAW, TIGHT = "computed torque", "computed torque, tight"


def gains(number: str, law: str) -> Item:
    """A table of gains and what tracking they give."""
    printed = thesis.LAWS[law].gains

    def run(setting: Setting) -> Outcome:
        table = published.table(printed)
        rows: list[list[object]] = [[key, *(row[key] for row in table)] for key in ("Kp", "Kd")]
        for name in ("beta*e",) if setting.quick else tuple(thesis.SETS):
            done = thesis.track(name, law)
            errors: list[object] = list(thesis.rms_degrees(done).tolist()) if done.end.finished else ["-"] * 7
            rows.append([f"{name}: rms error [deg], {done.end}", *errors])
        columns = ("", *(f"joint {k}" for k in range(1, 8)))
        return Outcome((Comparison.of("Gains, and tracking of trajectory B", columns, rows),))

    return Item(f"Table {number}", f"PD gains, {law}", Status.IN_KIND, STAND_IN, run)


def picture(number: str, name: str, law: str, title: str) -> Item:
    """Positions over time."""

    def run(setting: Setting) -> Outcome:
        done = thesis.track(name, law)
        return Outcome(pictures={f"fig_{number.replace('.', '_')}": motion_figure(done)}, words=(f"{done.end}.",))

    return Item(f"Fig. {number}", title, Status.IN_KIND, STAND_IN, run)


ITEMS = (
    gains("5.1", LAW),
    picture("5.6", "beta_WLS", LAW, "control with infeasible parameters"),
    gains("5.2", TIGHT),
    picture("5.7", "beta*", LAW, "control with optimal feasible parameters"),
    picture("5.8", "beta*", TIGHT, "the same with tight gains"),
)
