"""Tables 5.1, 5.2 and Figs. 5.6-5.8: control of the arm with infeasible and feasible parameters."""

from __future__ import annotations

import numpy as np
from benchmarks import published

from casid.report import set_title
from casid.report._simulation import motion_figure
from papers import wam_cases as thesis
from papers.item import Check, Comparison, Item, Outcome, Setting, Status

STAND_IN = (
    "stand-in: the arm itself; a simulated one with beta*e, its friction and rotors, under the thesis's control, "
    "scripts/examples/trajectory_b.py"
)
MISFIT = "beta_WLS"
#: Factors of the gains (Sec. 5.2: "even if the control gains are decreased to near-zero values").
WEAKER = (0.1, 0.01)
LAW, TIGHT = "computed torque", "computed torque, tight"


def gains(number: str, law: str) -> Item:
    """A table of gains and what tracking they give."""
    printed = thesis.LAWS[law].gains

    def run(setting: Setting) -> Outcome:
        table = published.table(printed)
        rows: list[list[object]] = [[f"{key} (printed)", *(row[key] for row in table)] for key in ("Kp", "Kd")]
        done = {name: thesis.track(name, law) for name in (("beta*", "beta*e") if setting.quick else thesis.SETS)}
        for name, one in done.items():
            errors: list[object] = list(thesis.rms_degrees(one).tolist()) if one.end.finished else ["-"] * 7
            rows.append([f"{name}: rms error [deg]", *errors])
        stopped = [f"{name}: {one.end}." for name, one in done.items() if not one.end.finished]
        columns = ("", *(f"joint {k}" for k in range(1, 8)))
        checks = [Check("the feasible sets follow to the end", all(done[n].end.finished for n in done if n != MISFIT))]
        if MISFIT in done:
            end = done[MISFIT].end
            checks.append(
                Check(
                    f"{MISFIT} holds still and diverges within a second of the start of the motion",
                    not end.finished and thesis.MOTION_ON < end.time < thesis.MOTION_ON + 1,
                )
            )
            largest = max(
                float(np.abs(thesis.rms_degrees(done[n]) - thesis.rms_degrees(done["beta*"])).max())
                for n in ("beta'", "beta*e")
            )
            words = f"beta' and beta*e differ little from beta* (at most 1 deg rms; here {largest:.1f})"
            checks.append(Check(words, largest <= 1, expected=False))
        return Outcome(
            (Comparison.of("Gains, and tracking of trajectory B", columns, rows),),
            words=(
                "The thesis gives no errors (Fig. 5.6-5.8 only). They are large by design: gains are low, the "
                "reference has positions alone, and friction is not compensated; light joints lag most.",
                *stopped,
            ),
            checks=tuple(checks),
        )

    return Item(f"Table {number}", f"PD gains, {law}", Status.IN_KIND, STAND_IN, run)


def _weaker(setting: Setting, law: str) -> list[Check]:
    """Whether the infeasible model diverges with weaker control, too."""
    found = []
    for factor in WEAKER[:1] if setting.quick else WEAKER:
        end = thesis.track(MISFIT, law, factor).end
        words = f"it diverges with gains decreased to near zero, too: Kp at {factor:g} of Table 5.1 ({end})"
        found.append(Check(words, not end.finished, expected=factor == WEAKER[0]))
    return found


def picture(number: str, name: str, law: str, title: str) -> Item:
    """Positions over time."""

    def run(setting: Setting) -> Outcome:
        done = thesis.track(name, law)
        shown = motion_figure(done)
        set_title(shown, f"Trajectory B, {law}, model: {name}")
        return Outcome(
            pictures={f"fig_{number.replace('.', '_')}": shown},
            words=(f"The simulation {done.end}.",),
            checks=(*_weaker(setting, law),) if name == MISFIT else (),
        )

    return Item(f"Fig. {number}", title, Status.IN_KIND, STAND_IN, run)


ITEMS = (
    gains("5.1", LAW),
    picture("5.6", "beta_WLS", LAW, "control with infeasible parameters"),
    gains("5.2", TIGHT),
    picture("5.7", "beta*", LAW, "control with optimal feasible parameters"),
    picture("5.8", "beta*", TIGHT, "the same with tight gains"),
)
