"""Pictures that several items share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from casid.arrays import Array
from casid.report import BLUE, GREEN, INK, MUTED, ORANGE, RED, new_figure, set_title, tidy

COLOURS = (MUTED, BLUE, ORANGE, GREEN, RED, INK)


def panels(
    title: str, width: float, height: float, rows: int = 1, columns: int = 1, **shared: Any
) -> tuple[Figure, list[Axes]]:
    """A picture of this size [inch] with its title and tidy panels, row by row."""
    figure = new_figure(width, height)
    set_title(figure, title)
    axes = list(np.ravel(figure.subplots(rows, columns, **shared)))
    for one in axes:
        tidy(one)
    return figure, axes


def joints_figure(
    t: Array,
    series: Mapping[str, Array],
    title: str,
    unit: str,
    errors: Mapping[str, Array] | None = None,
    columns: int = 2,
    label: str = "joint {}",
) -> Figure:
    """One panel a joint; each series has the shape (samples, n). Errors are dashed, in the colours after the first."""
    count = next(iter(series.values())).shape[1]
    rows = -(-count // columns)
    figure, each = panels(title, 11.0, 1.9 * rows + 0.8, rows, columns, sharex=True)
    for k, axes in enumerate(each):
        if k >= count:
            axes.set_axis_off()
            continue
        for (name, values), colour in zip(series.items(), COLOURS, strict=False):
            axes.plot(t, values[:, k], color=colour, linewidth=1.0, label=name)
        for (name, values), colour in zip((errors or {}).items(), COLOURS[1:], strict=False):
            axes.plot(t, values[:, k], "--", color=colour, linewidth=0.8, label=name)
        axes.set_ylabel(f"{label.format(k + 1)} [{unit}]", fontsize=8)
        if k >= count - columns:
            axes.set_xlabel("time [s]")
            axes.tick_params(labelbottom=True)
    if len(series) + len(errors or {}) > 1:
        legend(figure)
    return figure


def bars_figure(labels: Sequence[str], series: Mapping[str, Array], title: str, unit: str) -> Figure:
    """Grouped bars; each series has one number a label."""
    figure, (axes,) = panels(title, 10.0, 4.2)
    width = 0.8 / len(series)
    for i, ((name, values), colour) in enumerate(zip(series.items(), COLOURS[1:], strict=False)):
        axes.bar(np.arange(len(labels)) + (i - (len(series) - 1) / 2) * width, values, width, color=colour, label=name)
    axes.set_xticks(range(len(labels)), labels)
    axes.set_ylabel(unit)
    legend(figure)
    return figure


def legend(figure: Figure, columns: int = 0) -> None:
    """Below the picture, of the first panel; in one row unless a number of columns is given."""
    handles, labels = figure.axes[0].get_legend_handles_labels()
    figure.legend(
        handles, labels, loc="outside lower center", ncols=columns or len(labels), frameon=False, labelcolor=INK
    )
