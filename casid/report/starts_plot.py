"""Picture: where the starts of a multi-start ended, and after how much work."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from numpy.typing import ArrayLike, NDArray

from casid.report.style import GREEN, INK, MUTED, RED, new_figure, set_title, tidy

Array = NDArray[np.float64]
#: Relative gaps below this are drawn at it: beyond rounding there is nothing to see.
SMALLEST_GAP = 1e-16


def starts_figure(
    gaps: ArrayLike,
    iterations: ArrayLike,
    certified: ArrayLike,
    tolerance: float,
    title: str = "Convergence of the starts",
) -> Figure:
    """Certified relative gap of every start, sorted, and how many iterations the starts took.

    Parameters
    ----------
    gaps
        Relative gap between each start's objective and the certified lower bound, shape (k,); NaN where a start failed.
    iterations
        Iterations of each start, restarts included, shape (k,).
    certified
        Which starts ended certified, shape (k,), boolean.
    tolerance
        The relative gap up to which a start counts as certified.
    """
    gap = np.asarray(gaps, dtype=float)
    work = np.asarray(iterations, dtype=float)
    good = np.asarray(certified, dtype=bool)
    figure = new_figure(10.0, 4.8)
    left, right = figure.subplots(1, 2, width_ratios=[1.25, 1.0])
    set_title(figure, title)
    _sorted_gaps(left, gap, good, tolerance)
    _iterations(right, work, good)
    return figure


def _sorted_gaps(axes: Axes, gap: Array, good: NDArray[np.bool_], tolerance: float) -> None:
    order = np.argsort(np.where(np.isfinite(gap), gap, np.inf), kind="stable")
    rank = np.empty(len(gap))
    rank[order] = np.arange(1, len(gap) + 1)
    shown = np.maximum(gap, SMALLEST_GAP)
    finite = np.isfinite(gap)
    size = 6.0 if len(gap) <= 40 else 4.0
    low, high = shown[finite].min(initial=tolerance), shown[finite].max(initial=tolerance)
    axes.set_yscale("log")
    for mask, values, mark, colour, label in (
        (good & finite, shown, "o", GREEN, "certified"),
        (~good & finite, shown, "X", RED, "not certified"),
        (~finite, np.full(len(gap), 4 * high), "^", RED, "failed"),
    ):
        if mask.any():
            axes.plot(rank[mask], values[mask], mark, color=colour, ms=size + 2 * (mark != "o"), alpha=0.8, label=label)
    axes.axhline(tolerance, color=INK, linewidth=1.0, linestyle="--", label=f"certified below {tolerance:.0e}")
    axes.set_ylim(low / 8, high * 12)
    axes.set_xlim(0, len(gap) + 1)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.minorticks_off()
    axes.set_xlabel("start, sorted by gap", fontsize=10)
    axes.set_ylabel("relative gap to the lower bound", fontsize=10)
    axes.set_title(f"{good.sum()} of {len(good)} certified", loc="left", fontsize=10, color=INK)
    axes.legend(fontsize=9, frameon=False, loc="upper left", labelcolor=MUTED)
    tidy(axes)


def _iterations(axes: Axes, work: Array, good: NDArray[np.bool_]) -> None:
    edges = np.histogram_bin_edges(work, bins=min(20, max(5, len(work) // 4)))
    axes.hist([work[good], work[~good]], bins=list(edges), stacked=True, color=[GREEN, RED], alpha=0.8, rwidth=0.9)
    axes.yaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_xlabel("iterations, restarts included", fontsize=10)
    axes.set_ylabel("starts", fontsize=10)
    low, middle, high = np.percentile(work, [0, 50, 100])
    axes.set_title(f"median {middle:.0f} iterations, {low:.0f} to {high:.0f}", loc="left", fontsize=10, color=INK)
    tidy(axes, grid="y")
