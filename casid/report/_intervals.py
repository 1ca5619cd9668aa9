"""Intervals of parameters: a table, a picture, and the effect of further measurements."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np
from rich.table import Table
from rich.text import Text

from casid.arrays import ALIKE
from casid.dynamics import Model
from casid.files import csv_bytes
from casid.report._section import Report, SectionOf, report_of
from casid.report._style import BAND, FAINT, GREEN, INK, MUTED, ORANGE, RED, Figure, new_figure, tidy
from casid.report._tables import NAME, NUMBER, TEXT, WORD, Cell, PlainTable, numbers
from casid.retrieval.insight import Intervals, ParameterInterval, WhatIf

#: A quantity of certain sign is known where its range is at most this part of its size, roughly known up to the second.
_KNOWN, _ROUGHLY = 0.1, 0.5
#: A parameter is small where its whole range makes at most this part of each joint's torque.
_SMALL = 0.01
#: States that the torque is taken of.
_STATES = 200
_COLOURS = {"known": GREEN, "roughly known": ORANGE, "no effect": FAINT, "small": MUTED, "open": RED}


def digits(entry: ParameterInterval) -> float:
    """Decimal digits that the data add to the bounds, ``log10(prior width / width)``; without bounds, to its size."""
    prior = entry.prior[1] - entry.prior[0]
    size = max(abs(entry.attained_low), abs(entry.attained_high))
    reference = prior if np.isfinite(prior) else size
    return float(max(0.0, np.log10(max(reference, 1e-300) / max(entry.width, 1e-300))))


def verdict(entry: ParameterInterval, torque: float = np.inf) -> str:
    """``known``, ``roughly known``, ``no effect``, ``small`` or ``open``: by the value, then by the torque.

    Parameters
    ----------
    torque
        Part of a joint's torque that the width of the interval makes, see `torque_shares`.
    """
    size = max(abs(entry.low), abs(entry.high))
    if entry.low > 0 or entry.high < 0:
        if entry.width <= _KNOWN * size:
            return "known"
        if entry.width <= _ROUGHLY * size:
            return "roughly known"
    return "no effect" if torque <= ALIKE else "small" if torque <= _SMALL else "open"


def torque_shares(intervals: Intervals) -> dict[str, float]:
    """Part of a joint's torque that the width of each parameter's interval makes, the largest of all joints.

    ``max_j rms(Y_jk) (high - low) / rms(Y_j pi)`` over random states within the robot's limits, ``pi`` a set that
    explains the data; of a base parameter, k is that of its leading parameter. Other quantities are left out.
    """
    robot = intervals.problem.variables.robot
    model, limits, rng = Model(robot), robot.limits, np.random.default_rng(0)
    columns = {name: k for k, name in enumerate(model.parameter_names)}
    columns |= dict(zip(model.base.expressions, model.base.independent, strict=True))
    entries = [e for e in intervals.entries if e.name in columns]
    if not entries:
        return {}
    bounded = np.isfinite(limits.lower) & np.isfinite(limits.upper)
    low, high = np.where(bounded, limits.lower, -np.pi), np.where(bounded, limits.upper, np.pi)
    most = (np.minimum(limits.velocity, 2.0), np.minimum(limits.acceleration, 5.0))
    q = rng.uniform(low, high, (_STATES, model.n)).T
    dq, ddq = (rng.uniform(-m, m, (_STATES, model.n)).T for m in most)
    Y = model.regressor.map(_STATES)(q, dq, ddq).full().reshape(model.n, _STATES, -1)
    pi = entries[0].low_point[: Y.shape[2]]
    torque = np.sqrt(np.mean((Y @ pi) ** 2, axis=1))
    makes = np.sqrt(np.mean(Y**2, axis=1)) / np.maximum(torque, 1e-300)[:, None]
    largest = makes.max(axis=0)
    return {e.name: float(largest[columns[e.name]] * e.width) for e in entries}


def judged(intervals: Intervals) -> list[tuple[ParameterInterval, float, str]]:
    """Each quantity with its share of the torque, infinite where that is not defined, and its verdict."""
    shares = torque_shares(intervals)
    return [(e, share, verdict(e, share)) for e in intervals.entries for share in (shares.get(e.name, np.inf),)]


def _alone(intervals: Intervals) -> list[str]:
    """Quantities, where those of all base parameters are there without the sums of several parameters among them."""
    base, names = Model(intervals.problem.variables.robot).base, [e.name for e in intervals.entries]
    sums = {*base.expressions} - {*base.parameter_names} if {*base.expressions} <= {*names} else {}
    return [name for name in names if name not in sums]


class IntervalsSection(SectionOf[Intervals]):
    """Proven ends of each quantity beside its bounds, the torque that its range makes, a verdict."""

    def tables(self) -> Sequence[Table]:
        """One row for each quantity, with a verdict; the base parameters, where they were asked for, on their own."""
        intervals, alone = self.result, _alone(self.result)
        colours = {"known": "green", "roughly known": "yellow", "no effect": "dim", "small": "dim", "open": "red"}
        cells: dict[str, tuple[Cell, ...]] = {}
        for e, share, known in judged(intervals):
            part = f"{100 * share:.2g} %" if np.isfinite(share) else "-"
            ends = (f"{v:.4g}" for v in (e.low, e.high, *e.prior))
            cells[e.name] = (*ends, part, Text(known, style=colours[known]))
        columns = numbers("at least", "at most", "bounds from", "to", "of the torque") | {"verdict": WORD}
        title = (
            f"{intervals.problem.name}: values that explain the data up to a sum of squares of "
            f"{intervals.optimum:.6g} + {intervals.tolerance:.3g}"
        )
        note = (
            f"known: certain sign, range within {100 * _KNOWN:.0f} % of the value; roughly known: "
            f"{100 * _ROUGHLY:.0f} %; no effect: torques do not depend on it; small: the whole range makes at most "
            f"{100 * _SMALL:.0f} % of each joint's torque; intervals.csv has the values that sets attain, too"
        )
        rows = [(name, *cells[name]) for name in alone]
        table = PlainTable(title, {"name": NAME} | columns, rows, note)
        base = Model(intervals.problem.variables.robot).base
        if len(alone) == len(cells):
            return (table,)
        found = [(name, *cells[f][:2], *cells[f][4:]) for name, f in zip(base.names, base.expressions, strict=True)]
        columns = {"leads": NAME} | numbers("at least", "at most", "of the torque") | {"verdict": WORD}
        note = "each is the sum that its first parameter leads: intervals.csv and `casid base` have the sums"
        return table, PlainTable("Base parameters: all that torques depend on", columns, found, note)

    def files(self) -> Mapping[str, bytes]:
        """``intervals.csv``."""
        rows = [
            (e.name, e.low, e.high, e.attained_low, e.attained_high, *e.prior, digits(e), known)
            for e, _, known in judged(self.result)
        ]
        header = ("quantity", "low", "high", "attained_low", "attained_high", "bound_low", "bound_high")
        return {"intervals.csv": csv_bytes((*header, "digits", "verdict"), rows)}

    def pictures(self) -> Mapping[str, Callable[..., Figure]]:
        """``intervals``: each within its bounds."""
        return {"intervals": lambda: intervals_figure(self.result)}


class MeasurementsSection(SectionOf[Iterable[WhatIf]]):
    """Effect of further measurements on the intervals, the most helpful first."""

    def tables(self) -> Sequence[Table]:
        """One row for each candidate."""
        rows = []
        for effect in self.result:
            helped = ", ".join(
                f"{name} {100 * share:.0f} %" for name, share in effect.most_helped if round(100 * share)
            )
            rows.append((effect.candidate, f"{100 * effect.reduction:.1f} %", helped or "-"))
        columns = {"measurement": NAME, "intervals shrink by": NUMBER, "most helped": TEXT}
        return (PlainTable("What an extra measurement would determine", columns, rows),)


def intervals_figure(intervals: Intervals) -> Figure:
    """Each quantity's interval within its bounds, and the digits that the data add to them."""
    alone = _alone(intervals)
    entries, verdicts = zip(*((e, known) for e, _, known in judged(intervals) if e.name in alone), strict=True)
    rows = np.arange(len(entries))
    title = f"{intervals.problem.name}: what the data and the constraints determine"
    figure = new_figure(10.0, 1.8 + 0.19 * len(entries), title)
    left, right = figure.subplots(1, 2, sharey=True, width_ratios=[1.5, 1.0])
    for k, e in enumerate(entries):
        low, high = e.prior
        span = high - low
        if not np.isfinite(span):
            centre = (e.attained_low + e.attained_high) / 2
            low, span = centre - 2 * max(e.width, 1e-12), 4 * max(e.width, 1e-12)
        left.barh(k, 1.0, height=0.72, color=BAND, edgecolor=FAINT, linewidth=0.4)
        colour = _COLOURS[verdicts[k]]
        a, b = (e.low - low) / span, (e.high - low) / span
        left.plot([a, b], [k, k], color=colour, linewidth=4.0, solid_capstyle="butt")
        left.plot([(a + b) / 2], [k], marker="|", color=colour, markersize=7)
        right.barh(k, digits(e), height=0.62, color=colour)
    left.set_yticks(rows, [e.name for e in entries], fontsize=7)
    left.set_ylim(len(entries) - 0.4, -0.6)
    left.set_xlim(-0.02, 1.02)
    left.set_xticks([0, 1], ["lower bound", "upper bound"])
    tidy(left, "x", x="proven interval within the bounds")
    tidy(right, "x", x="digits that the data add to the bounds")
    left.tick_params(axis="y", labelcolor=INK, labelsize=7, length=0)
    right.tick_params(axis="y", length=0, labelleft=False)
    handles = [
        right.plot([], [], color=colour, linewidth=6, label=f"{word}: {verdicts.count(word)}")[0]
        for word, colour in _COLOURS.items()
    ]
    figure.legend(handles=handles, frameon=False, ncols=5, loc="outside lower right", labelcolor=MUTED)
    return figure


@report_of.register(Intervals)
def _of_intervals(intervals: Intervals, effects: Iterable[WhatIf] = ()) -> Report:
    more = (MeasurementsSection(tuple(effects)),) if effects else ()
    sections = (IntervalsSection(intervals), *more)
    return Report(f"{intervals.problem.name}: intervals", sections, page="intervals.html")
