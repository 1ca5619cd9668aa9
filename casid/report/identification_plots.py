"""Pictures of an identification: torques, residuals over velocity, base parameters."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from casid.identification import Identification, Prediction, predict
from casid.report.style import BAND, BLUE, FAINT, GREEN, INK, MUTED, ORANGE, new_figure, set_title, tidy

#: Most points of a curve; more do not show.
_POINTS = 3000


def torque_figure(prediction: Prediction, names: tuple[str, ...], title: str) -> Figure:
    """Measured and predicted torque of each joint over time, the residual below on the same scale."""
    n = prediction.dataset.n
    figure = new_figure(11.0, 1.75 * n + 0.8)
    axes = np.atleast_1d(figure.subplots(n, 1, sharex=True))
    step = max(1, len(prediction.dataset) // _POINTS)
    t = prediction.dataset.t[::step]
    for k, ax in enumerate(axes):
        ax.plot(t, prediction.dataset.tau[::step, k], color=BLUE, linewidth=1.4, label="measured (filtered)")
        ax.plot(t, prediction.predicted[::step, k], color=ORANGE, linewidth=1.0, linestyle="--", label="predicted")
        ax.plot(t, prediction.residual[::step, k], color=MUTED, linewidth=0.8, label="residual")
        tidy(ax)
        ax.set_ylabel("N·m")
        mask = prediction.dataset.mask
        if mask is not None and not mask[:, k].any():
            text = "not used"
        else:
            text = f"RMS {prediction.rms[k]:.3g} N·m, {prediction.relative_errors[k]:.2f} %"
        ax.set_title(f"{names[k]}: {text}", loc="left", fontsize=10, color=INK)
    axes[0].legend(loc="lower right", bbox_to_anchor=(1.0, 1.0), borderpad=0, ncols=3, fontsize=8, frameon=False)
    axes[-1].set_xlabel("time [s]")
    set_title(figure, title)
    return figure


def friction_figure(identification: Identification) -> Figure:
    """Torque without that of the links over the velocity of each joint, and the fitted friction."""
    model, names = identification.model, [j.name for j in identification.model.robot.coordinates]
    n = model.n
    columns = min(n, 4)
    rows = -(-n // columns)
    figure = new_figure(3.1 * columns, 2.6 * rows + 0.6)
    axes = np.atleast_1d(figure.subplots(rows, columns, squeeze=False)).ravel()
    rigid = identification.feasible.values.copy()
    friction = np.zeros_like(rigid)
    for column, (term, _) in model.term_columns.items():
        if not term.inertial:
            friction[column], rigid[column] = rigid[column], 0.0
    for data in identification.datasets:
        left = predict(model, rigid, data).residual
        shape = predict(model, friction, data).predicted
        step = max(1, len(data) // _POINTS)
        for k in range(n):
            assert data.dq is not None
            axes[k].plot(data.dq[::step, k], left[::step, k], ".", color=BLUE, markersize=2, alpha=0.4)
            axes[k].plot(data.dq[::step, k], shape[::step, k], ".", color=ORANGE, markersize=2)
    for k, ax in enumerate(axes):
        if k >= n:
            ax.set_visible(False)
            continue
        tidy(ax)
        ax.set_title(names[k], loc="left", fontsize=10, color=INK)
        ax.xaxis.set_major_locator(MaxNLocator(4))
        ax.set_xlabel("velocity [rad/s]")
        ax.set_ylabel("N·m")
    set_title(figure, "Torque beyond the links' own (blue) and fitted joint terms (orange)")
    return figure


def base_figure(identification: Identification) -> Figure:
    """How far consistency moves each base parameter, in standard deviations of the unconstrained fit."""
    fit, feasible = identification.unconstrained, identification.feasible
    known = np.flatnonzero(np.isfinite(fit.sd) & (fit.sd > 0))
    names = [fit.data.base.names[k] for k in known]
    moved = (feasible.beta[known] - fit.beta[known]) / fit.sd[known]
    figure = new_figure(max(8.0, 0.17 * len(names) + 2.0), 3.4)
    ax = figure.subplots()
    positions = np.arange(len(names))
    ax.axhspan(-2, 2, color=BAND, zorder=0)
    ax.axhline(0, color=FAINT, linewidth=0.8)
    limit = max(5.0, float(np.abs(moved).max(initial=0.0)) * 1.15)
    ax.vlines(positions, 0, moved, color=MUTED, linewidth=0.8)
    ax.plot(positions, moved, "o", markersize=4, color=GREEN)
    ax.set_ylim(-limit, limit)
    ax.set_xticks(positions, names, rotation=90, fontsize=7)
    ax.set_xlim(-1, len(names))
    ax.set_ylabel("shift / sd")
    tidy(ax, grid="y")
    set_title(figure, "Base parameters: consistent fit against the unconstrained one (band: 2 sd)")
    return figure
