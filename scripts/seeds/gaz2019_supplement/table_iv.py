"""Table IV and Figs. 1-3: torque predictions of p_hat and delta on validation motions."""

from __future__ import annotations

import numpy as np
from measures import published

from seeds import panda
from seeds.item import Comparison, Item, Outcome, Setting, Status
from seeds.pictures import joints_figure

STAND_IN = "stand-in: two-second parts of the recorded exciting motion; the 10 validation recordings are not public"
PARTS = 10


def fig_1(setting: Setting) -> Outcome:
    """Torques of both printed sets."""
    data, sets = panda.recording(), panda.validations()
    shown = {"measured": data.tau} | {name: sets[name].rigid + sets[name].friction for name in ("p_hat", "delta")}
    return Outcome(pictures={"fig_1": joints_figure(data.t, shown, "Torques of p_hat and delta", "N m")})


def fig_2(setting: Setting) -> Outcome:
    """Positions of the parts."""
    data = panda.recording()
    return Outcome(pictures={"fig_2": joints_figure(data.t, {"q": data.q}, "Joint positions of the parts", "rad")})


def fig_3(setting: Setting) -> Outcome:
    """Torques of the parts."""
    data = panda.recording()
    return Outcome(pictures={"fig_3": joints_figure(data.t, {"torque": data.tau}, "Joint torques of the parts", "N m")})


def run(setting: Setting) -> Outcome:
    """Mean square errors, and their spread over the parts."""
    printed = {row["parameter_set"]: row for row in published.table("panda_table_IV_mse")}
    rows: list[list[object]] = []
    for name, found in panda.validations().items():
        if name in printed:
            rows.append([f"{name}, printed", *(float(printed[name][f"joint_{k}_Nm2"]) for k in range(1, 8))])
        rows.append([f"{name}, here", *found.mse.tolist()])
        parts = np.array([np.mean(part**2, axis=0) for part in np.array_split(found.residual, PARTS)])
        rows.append([f"{name}, largest part", *parts.max(axis=0).tolist()])
    return Outcome(
        (Comparison.of("Mean square error [(N m)^2]", ("set", *panda.JOINTS), rows),),
        words=(
            "The printed errors are those of ten other motions, with friction fitted elsewhere; here friction is "
            "fitted on the recording that is predicted, and torques are filtered: all errors are ten times smaller. "
            "Which of p_hat and delta is better at a joint is what can be compared.",
        ),
    )


ITEMS = (
    Item("Fig. 1", "measured and predicted torques, p_hat and delta", Status.IN_KIND, STAND_IN, fig_1),
    Item("Table IV", "mean square errors of torque predictions", Status.IN_KIND, STAND_IN, run),
    Item("Fig. 2", "joint positions of the validation motions", Status.IN_KIND, STAND_IN, fig_2),
    Item("Fig. 3", "joint torques of the validation motions", Status.IN_KIND, STAND_IN, fig_3),
)
