"""Picture: where the starts of a multi-start ended, and after how much work."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
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
    """Certified relative gap of every start, sorted, and against its iterations.

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
    left, right = figure.subplots(1, 2, sharey=True)
    set_title(figure, title)
    order = np.argsort(np.where(np.isfinite(gap), gap, np.inf), kind="stable")
    rank = np.empty(len(gap))
    rank[order] = np.arange(1, len(gap) + 1)
    for axes, x in ((left, rank), (right, work)):
        _points(axes, x, gap, good, tolerance)
    left.set_xlabel("start, sorted by gap", fontsize=10)
    left.set_ylabel("relative gap to the lower bound", fontsize=10)
    left.set_xlim(0, len(gap) + 1)
    left.xaxis.get_major_locator().set_params(integer=True)
    right.set_xlabel("iterations, restarts included", fontsize=10)
    right.set_xlim(0, max(1.0, 1.1 * work.max(initial=0.0)))
    left.legend(fontsize=9, frameon=False, loc="upper left", labelcolor=MUTED)
    left.set_title(f"{good.sum()} of {len(good)} certified", loc="left", fontsize=10, color=INK)
    if len(work):
        low, middle, high = np.percentile(work, [0, 50, 100])
        several = f"median {middle:.0f} iterations, {low:.0f} to {high:.0f}"
        text = several if len(work) > 1 else f"{middle:.0f} iterations"
        right.set_title(text, loc="left", fontsize=10, color=INK)
    return figure


def _points(axes: Axes, x: Array, gap: Array, good: NDArray[np.bool_], tolerance: float) -> None:
    shown = np.maximum(gap, SMALLEST_GAP)
    finite = np.isfinite(gap)
    size = 6.0 if len(gap) <= 40 else 4.0
    axes.set_yscale("log")
    axes.plot(x[good & finite], shown[good & finite], "o", color=GREEN, ms=size, alpha=0.8, label="certified")
    bad = ~good & finite
    if bad.any():
        axes.plot(x[bad], shown[bad], "X", color=RED, ms=size + 2, label="not certified")
    low, high = shown[finite].min(initial=tolerance), shown[finite].max(initial=tolerance)
    axes.set_ylim(low / 8, high * 12)
    if (~finite).any():
        axes.plot(x[~finite], np.full((~finite).sum(), high * 4), "^", color=RED, ms=size + 2, label="failed")
    axes.axhline(tolerance, color=INK, linewidth=1.0, linestyle="--", label=f"certified below {tolerance:.0e}")
    axes.minorticks_off()
    tidy(axes)
