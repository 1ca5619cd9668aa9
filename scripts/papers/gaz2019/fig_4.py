"""Fig. 4: friction of each joint over its velocity."""

from __future__ import annotations

import numpy as np
from benchmarks import published
from matplotlib.figure import Figure
from scipy.special import expit

from casid.report import BLUE, new_figure, set_title, tidy
from casid.report._style import GREEN, RED
from papers import panda
from papers.item import Comparison, Item, Outcome, Setting, Status


def sigmoid(phi: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Eq. 25."""
    one, two, three = phi
    return np.asarray(one * (expit(two * (v + three)) - expit(two * three)))


def printed_shapes() -> np.ndarray:
    """Phi of Table I of the supplement, shape (7, 3)."""
    rows = published.table("panda_table_I_friction")
    return np.array([[float(row[f"joint_{k}"]) for row in rows] for k in range(1, 8)])


def run(setting: Setting) -> Outcome:
    """Residual torques of pi_RE over velocity with the fitted curve."""
    data, found, printed = panda.recording(), panda.validations()["pi_RE"], printed_shapes()
    assert data.dq is not None
    figure = new_figure(11.0, 6.0)
    set_title(figure, "Friction: residual torque of pi_RE over velocity")
    rows = []
    for k, axes in enumerate(np.ravel(figure.subplots(2, 4))):
        if k == 7:
            axes.set_axis_off()
            continue
        v = np.linspace(data.dq[:, k].min(), data.dq[:, k].max(), 200)
        axes.plot(data.dq[:, k], data.tau[:, k] - found.rigid[:, k], ".", color=RED, markersize=1, label="residual")
        axes.plot(v, sigmoid(found.shapes[k], v), color=BLUE, label="fitted here")
        axes.plot(v, sigmoid(printed[k], v), "--", color=GREEN, label="printed (Suppl. Table I)")
        axes.set_title(f"joint {k + 1}", fontsize=9)
        axes.set_xlabel("velocity [rad/s]", fontsize=8)
        if k % 4 == 0:
            axes.set_ylabel("torque [N m]", fontsize=8)
        tidy(axes)
        level = sigmoid(found.shapes[k], np.array([1.0, -1.0])), sigmoid(printed[k], np.array([1.0, -1.0]))
        rows.append([k + 1, float(np.ptp(level[0])), float(np.ptp(level[1]))])
    _legend(figure)
    columns = ("joint", "here", "printed")
    return Outcome(
        (Comparison.of("Jump of the friction from -1 to 1 rad/s [N m]", columns, rows),),
        {"fig_4": figure},
        (
            "Constant torques that the residual has, too, go into the third parameter of the sigmoid. The residual "
            "of joint 2 scatters by more than its friction: there the fit is a step.",
        ),
    )


def _legend(figure: Figure) -> None:
    handles, labels = figure.axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3, frameon=False)


ITEM = Item(
    "Fig. 4",
    "joint friction estimates",
    Status.IN_KIND,
    "stand-in: the recorded exciting motion in place of the sinusoids' recording, which is not public",
    run,
)
