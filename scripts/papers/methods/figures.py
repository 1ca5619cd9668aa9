"""Pictures of Fig. 6.1-6.4 of Sousa (2014), made anew, each with what the thesis says about its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from textwrap import fill
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from papers.methods.comparison import Size
from papers.methods.reduction import ReductionPath
from papers.methods.regression import Answer
from papers.pictures import panels

from casid.arrays import Array
from casid.report import BLUE, FAINT, GREEN, INK, MUTED, ORANGE, RED

_STYLES: dict[str, tuple[str, str, str]] = {  # colour, marker, line
    "OLS": (MUTED, "", ":"),
    "WLS": (MUTED, "", "--"),
    "LMI-SDP": (BLUE, "o", "-"),
    "casid": (INK, "x", "none"),
    "Point masses (3^3)": (ORANGE, "s", "-"),
    "Point masses (5^3)": (ORANGE, "^", "--"),
    "Mata (SQP)": (RED, "v", "none"),
    "Mata (IPOPT)": (GREEN, "D", "none"),
    "Mata (eigenvalues)": ("#be185d", "<", "none"),
    "Ting (theta)": ("#0891b2", ">", "none"),
    "Model reduction": ("#7c3aed", "P", ":"),
}
#: Errors above OLS [%] that are rounding alone: drawn here on a logarithmic axis.
LEAST = 1e-6
#: All but least squares, of which the errors are the measure.
_PLOTTED = tuple(_STYLES)[2:]


def pd_ratio_figure(weights: Array, curve: Array) -> Figure:
    """Fig. 6.1: share of positive definite mass matrices along the line from infeasible to feasible parameters."""
    figure, (axes,) = panels("Infeasible parameters can look harmless (Sousa 2014, Fig. 6.1)", 9.0, 5.2)
    label = "the thesis's printed parameters"
    axes.plot(weights, curve, "o-", color=BLUE, label=label, markersize=3.5, linewidth=1.4)
    axes.axvline(1.0, color=MUTED, linewidth=0.8, linestyle="--")
    axes.annotate("feasible from here on", (1.0, 4), xytext=(6, 0), textcoords="offset points", color=MUTED, fontsize=9)
    axes.set(
        xlabel="λ  (0: infeasible estimate, 1: feasible estimate)",
        ylabel="positive definite mass matrices [%]",
        ylim=(-2, 103),
    )
    axes.legend(frameon=False, loc="upper left")
    _says(
        figure,
        "close to the boundary the inertia matrix is positive definite at most joint positions although the parameters "
        "are infeasible, so that such an estimate can be taken for a valid one",
    )
    return figure


def error_figure(sizes: Sequence[Size]) -> Figure:
    """Fig. 6.2: regression error above that of ordinary least squares; overview and zoom into the smaller sizes."""
    figure, (top, bottom) = panels("Regression error of the methods (Sousa 2014, Fig. 6.2)", 10.0, 8.6, 2)
    zoomed = [size for size in sizes if size.links <= 17]
    for axes, chosen, floor in ((top, sizes, LEAST), (bottom, zoomed, 0.0)):
        for name in _PLOTTED:
            _curve(axes, chosen, name, partial(_at_least, floor), legend=axes is top)
        axes.set(ylabel="error above OLS [%]", xlabel="links")
    top.set_yscale("log")
    highest = max((size.answers["Point masses (3^3)"].error_above_ols for size in zoomed), default=1.0)
    bottom.set_ylim(-0.03 * highest, 1.5 * highest)
    overview = "overview (logarithmic, from 1e-6 on); open markers: infeasible or not solved"
    for axes, title in ((top, overview), (bottom, "the first 17 sizes (linear)")):
        axes.set_title(title, loc="left", fontsize=10, color=MUTED)
    top.legend(frameon=False, fontsize=9, ncols=4, loc="lower right")
    _says(
        figure,
        "LMI-SDP always has the lowest error, the bound of any method; point masses rise about twice as far above OLS; "
        "the method of Mata et al. is unpredictable, sometimes close to the optimum and sometimes far from it",
    )
    return figure


def _at_least(floor: float, answer: Answer) -> float:
    return max(answer.error_above_ols, floor)


def time_figure(sizes: Sequence[Size]) -> Figure:
    """Fig. 6.3: solver times."""
    figure, (axes,) = panels("Solver times of the methods (Sousa 2014, Fig. 6.3)", 10.0, 6.4)
    for name in ("OLS", *_PLOTTED):
        _curve(axes, sizes, name, lambda a: a.solve_time, legend=True, line=True)
    axes.set_yscale("log")
    axes.set(xlabel="links", ylabel="solver time, one thread [s]")
    axes.legend(frameon=False, fontsize=9, ncols=4, loc="lower right")
    _says(
        figure,
        "the times of LMI-SDP grow predictably with the number of links; point masses are as fast as OLS; those of "
        "Mata et al. are always higher than the others'",
    )
    return figure


def reduction_figure(path: ReductionPath) -> Figure:
    """Fig. 6.4: relative error and distance to the feasible set along the model reduction."""
    title = "Model reduction until feasible, simulated WAM, first seed (Sousa 2014, Fig. 6.4)"
    figure, (top, bottom) = panels(title, 9.5, 7.2, 2, sharex=True)
    top.plot(path.removed, path.error, "o-", color=BLUE, markersize=3, linewidth=1.2, label="reduced model")
    for error, what, colour, line in ((path.feasible, "f", ORANGE, "--"), (path.weighted, "inf", MUTED, ":")):
        label = f"{what}easible estimate, nothing removed: {error:.4f} %"
        top.axhline(error, color=colour, linewidth=1.1, linestyle=line, label=label)
    top.set(ylabel="relative error [%]")
    top.legend(frameon=False, loc="upper left", fontsize=9)
    bottom.plot(path.removed, path.distance, "o-", color=BLUE, markersize=3, linewidth=1.2)
    bottom.set(xlabel="base parameters removed", ylabel="distance to the feasible set")
    if path.feasible_at is not None:
        for axes in (top, bottom):
            axes.axvline(path.feasible_at, color=GREEN, linewidth=1.0)
        bottom.annotate(
            f"feasible: {path.feasible_at} removed", (path.feasible_at, 0.02), xycoords=("data", "axes fraction"),
            xytext=(-6, 4), textcoords="offset points", ha="right", color=GREEN, fontsize=9,
        )  # fmt: skip
    _says(
        figure,
        "36 of 76 base parameters had to go before the estimate was feasible; its error was then 4.66 %, against "
        "4.57 % of the full infeasible estimate and 4.62 % of the full feasible one (LMI-SDP)",
    )
    return figure


def _curve(
    axes: Axes, sizes: Sequence[Size], name: str, value: Callable[[Answer], float], legend: bool, line: bool = False
) -> None:
    """One method's points: filled where it answered with feasible parameters, open where not."""
    chosen = [(size.links, size.answers[name]) for size in sizes if name in size.answers]
    if not chosen:
        return
    colour, marker, path = _STYLES[name]
    links = np.array([k for k, _ in chosen])
    values = np.array([value(a) for _, a in chosen])
    good = np.array([a.success or (line and name == "OLS") for _, a in chosen])
    label = name if legend else None
    if path != "none" or line:
        axes.plot(links, values, linestyle="-" if path == "none" else path, color=colour, linewidth=1.0, alpha=0.7)
    style: dict[str, Any] = {"marker": marker or ".", "color": colour, "markersize": 4, "linestyle": "none"}
    shown: dict[str, Any] = {"label": label if good.any() else None, "zorder": 5 if name == "casid" else 2}
    axes.plot(links[good], values[good], **style, **shown)
    empty: dict[str, Any] = {"markerfacecolor": "white", "label": None if good.any() else label}
    axes.plot(links[~good], values[~good], **style, **empty)


def _says(figure: Figure, text: str) -> None:
    """What the thesis says of its figure, below the picture."""
    figure.set_layout_engine("constrained", rect=(0, 0.085, 1, 0.915))
    words = fill(f"What the thesis says of its own: {text}.", 125)
    box = {"facecolor": "white", "edgecolor": FAINT, "pad": 4}
    figure.text(0.012, 0.012, words, fontsize=9, color=MUTED, style="italic", va="bottom", bbox=box)
