"""Fit of the given coefficients: values, deviations, a CSV file, a picture."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from casid.arrays import Array
from casid.dynamics import linear_form
from casid.errors import ProblemError
from casid.files import csv_bytes
from casid.report._section import ReportSection
from casid.report._style import BAND, BLUE, INK, MUTED, ORANGE, new_figure, tidy
from casid.retrieval import Coefficients, Solution
from casid.retrieval.plausible import Believable

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Characters of a label that leave the picture half of its width.
_LONGEST_LABEL = 44


@dataclass(frozen=True, eq=False)
class FittedCoefficients:
    """Linear forms of the parameters with their given and their fitted values.

    Attributes
    ----------
    expressions : tuple of str
        Each written out, e.g. ``Lzz1 + Lyy2``.
    given, fitted : ndarray, shape (r,)
    sd : ndarray, shape (r,), or None
        Standard deviations of the given values.
    used : ndarray of bool, shape (r,)
        Which ones the objective contains.
    """

    expressions: tuple[str, ...]
    given: Array
    fitted: Array
    sd: Array | None
    used: NDArray[np.bool_]


def coefficients(solution: Solution | Believable) -> FittedCoefficients | None:
    """Coefficients of a solution's problem; ``None`` where it was fitted to compressed samples.

    A problem may describe them (`casid.retrieval.Coefficients`); otherwise the rows of the objective are taken.
    """
    problem = solution.problem
    given = problem.coefficients
    if given is None:
        matrix, target = problem.objective.matrix, problem.objective.target
        if matrix.shape[0] >= matrix.shape[1] or len(matrix) == 0:
            return None
        given = Coefficients(matrix, target)
    forms = np.pad(given.forms, ((0, 0), (0, problem.variables.size - given.forms.shape[1])))
    names = problem.variables.names
    expressions = tuple(linear_form(row, names) for row in forms)
    return FittedCoefficients(expressions, given.values, forms @ solution.x, given.sd, given.used)


class FitSection(ReportSection):
    """Fit of each coefficient; without forms where the problem was made from samples."""

    def __init__(self, solution: Solution | Believable) -> None:
        self.solution, self.fit = solution, coefficients(solution)

    def files(self) -> Mapping[str, bytes]:
        """``coefficients.csv``."""
        fit = self.fit
        if fit is None:
            return {}
        deviations = np.full(len(fit.given), None) if fit.sd is None else fit.sd
        rows = zip(fit.expressions, fit.given, deviations, fit.fitted, fit.used, strict=True)
        return {"coefficients.csv": csv_bytes(["coefficient", "given", "sd", "fitted", "used"], list(rows))}

    def pictures(self) -> Mapping[str, Callable[..., Figure]]:
        """``fit``."""
        return {"fit": self._figure}

    def figures(self) -> Mapping[str, Figure]:
        """``fit``, where there are coefficients."""
        return {} if self.fit is None else {"fit": self._figure()}

    def _figure(self) -> Figure:
        fit, name = self.fit, self.solution.problem.name
        if fit is None:
            raise ProblemError(
                f"problem '{name}' was made from samples, not from coefficients: there is no fit of each to draw"
            )
        return fit_figure(fit, f"{name}: fit of each coefficient, sum of squares {self.solution.objective:.4e}")


def fit_figure(fit: FittedCoefficients, title: str) -> Figure:
    """Value of each coefficient, given and fitted, and the difference in standard deviations, or the plain one.

    The last link that leads a term groups the rows.
    """
    expressions, fitted, given, sd, mask = fit.expressions, fit.fitted, fit.given, fit.sd, fit.used
    order = sorted(range(len(given)), key=lambda i: (_link(expressions[i]), i))
    rows = np.empty(len(given))
    rows[order] = np.arange(len(given))

    figure = new_figure(10.0, 1.9 + 0.235 * len(given), title)
    left, right = figure.subplots(1, 2, sharey=True, width_ratios=[1.15, 1.0])
    _bands(left, [_link(expressions[i]) for i in order])
    _bands(right, [_link(expressions[i]) for i in order])
    _values(left, rows, fitted, given, sd, mask)
    _differences(right, rows, fitted - given, sd, mask)
    left.set_yticks(np.arange(len(given)), [_short(expressions[i]) for i in order], fontsize=8)
    left.set_ylim(len(given) - 0.4, -0.6)
    left.tick_params(axis="y", length=0, labelcolor=INK)
    right.tick_params(axis="y", length=0, labelleft=False)
    return figure


def _values(axes: Axes, rows: Array, fitted: Array, given: Array, sd: Array | None, used: NDArray[np.bool_]) -> None:
    axes.errorbar(
        given[used], rows[used], xerr=None if sd is None else sd[used], fmt="o", ms=6.5, mfc="white", mec=INK, mew=1.1,
        ecolor=INK, elinewidth=1.1, capsize=2.5, label="given" if sd is None else "given, ± 1 sd",
    )  # fmt: skip
    if not used.all():
        axes.plot(given[~used], rows[~used], "x", color=MUTED, ms=6.5, label="given, not used in the fit")
    axes.plot(fitted, rows, "o", ms=3.4, color=ORANGE, label="fitted", zorder=4)
    _symlog(axes, np.concatenate([fitted, given]), least=1e-3)
    axes.axvline(0.0, color=MUTED, linewidth=0.7, zorder=0)
    axes.legend(fontsize=8.5, frameon=False, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3, handletextpad=0.3)
    tidy(axes, "x", x="value [kg m² (inertia), kg m (first moment)]")


def _differences(axes: Axes, rows: Array, difference: Array, sd: Array | None, used: NDArray[np.bool_]) -> None:
    if sd is None:
        shown = difference
        label = "fitted − given [kg m², kg m]"
    else:
        shown = np.divide(difference, sd, out=np.full_like(difference, np.nan), where=sd > 0)
        label = "(fitted − given) / sd"
    colours = [ORANGE if use else MUTED for use in used]
    axes.barh(rows, np.nan_to_num(shown), height=0.62, color=colours)
    _symlog(axes, shown[np.isfinite(shown)], least=1.0 if sd is not None else 1e-6)
    if sd is not None:
        axes.axvspan(-2.0, 2.0, color=BLUE, alpha=0.12, linewidth=0, zorder=-1, label="within ± 2 sd")
        axes.legend(fontsize=8.5, frameon=False, loc="lower center", bbox_to_anchor=(0.35, 1.0))
    axes.axvline(0.0, color=MUTED, linewidth=0.7)
    edge = axes.get_yaxis_transform()
    for row, value in zip(rows, difference, strict=True):
        text = f"{value:+.1e}"
        axes.text(1.02, row, text, transform=edge, va="center", fontsize=7.5, color=MUTED, family="monospace")
    head = "fitted − given\n[SI]"
    axes.text(1.02, 1.01, head, transform=axes.transAxes, va="bottom", fontsize=7.5, color=MUTED)
    tidy(axes, "x", x=label)


def _bands(axes: Axes, links: Sequence[int]) -> None:
    """Shade every other group of rows that belong to one link."""
    start = 0
    for shade, (_, members) in enumerate(groupby(links)):
        count = len(list(members))
        if shade % 2 == 0:
            axes.axhspan(start - 0.5, start + count - 0.5, color=BAND, linewidth=0, zorder=-2)
        start += count


def _symlog(axes: Axes, values: Array, least: float) -> None:
    """Linear axis, or symmetric-logarithmic where the values span more than a decade."""
    sizes = np.abs(values[np.isfinite(values)])
    sizes = sizes[sizes > 0]
    if len(sizes) == 0 or np.log10(sizes.max() / max(least, sizes.min())) <= 1:
        axes.locator_params(axis="x", nbins=5)
        return
    axes.set_xscale("symlog", linthresh=least, linscale=1.0)
    limit = 10.0 ** np.ceil(np.log10(sizes.max() * 1.2))
    decades = 10.0 ** np.arange(np.log10(least), np.log10(limit) + 0.5)
    decades = decades[:: max(1, int(np.ceil(len(decades) / 3)))]
    axes.set_xticks(np.concatenate([-decades[::-1], [0.0], decades]))
    axes.set_xticks([], minor=True)
    low, high = np.nanmin(values, initial=0.0), np.nanmax(values, initial=0.0)
    axes.set_xlim(min(1.4 * low, -2.0 * least), max(1.4 * high, 2.0 * least))


def _link(expression: str) -> int:
    """Number of the link whose parameter comes first, e.g. 2 for ``Lxx2 - Lyy2 + ...``; 0 without one."""
    found = re.search(r"[A-Za-z](\d+)\b", expression)
    return int(found.group(1)) if found else 0


def _short(expression: str) -> str:
    return expression if len(expression) <= _LONGEST_LABEL else expression[: _LONGEST_LABEL - 2].rstrip(" +-*(") + " …"
