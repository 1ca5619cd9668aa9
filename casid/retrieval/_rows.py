"""Solver forms of the constraints: scalar rows, linear ones as numbers, the others as well-behaved expressions.

A bound on a physical quantity has equivalent forms that a solver handles better: ``l - m lower >= 0`` (linear) for a
centre of mass, ``m (Lxx - upper) <= ly^2 + lz^2`` (no division) for an inertia about it. Each constraint makes its own
(`Constraint.rows`); this module collects them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import casadi as ca
import numpy as np

from casid.arrays import Array
from casid.expressions import as_function
from casid.inertia import mass_index
from casid.retrieval._problem import Problem
from casid.retrieval.constraints._constraint import Constraint, Kept, ScalarRow, Setting, Side


@dataclass(frozen=True)
class Row:
    """Origin of a scalar row: for messages, relaxations and soft weights.

    Attributes
    ----------
    constraint : int
        Place among the problem's constraints; -1 for the bounds of an extra.
    entry : int
        Entry of the constraint's expression.
    weight : float or None
        Of a soft constraint.
    text : str
        The bound in words ("total mass >= 30 kg").
    side : str
        Which bound of the entry.
    mass_of : int or None
        The row is this link's mass times the expression less its bound.
    relaxed : bool
        It only stands for the bound, in other units.
    label : str
        Label of the constraint, or name of the extra.
    quantity : str
        Physical quantity that is bounded (`Constraint.quantity`), empty where it is not known.
    group : int or None
        Soft rows of one group share a slack.
    """

    constraint: int
    entry: int
    weight: float | None
    text: str
    side: Side = "both"
    mass_of: int | None = None
    relaxed: bool = False
    label: str = ""
    quantity: str = ""
    group: int | None = None

    @classmethod
    def of(cls, index: int, constraint: Constraint, entry: int, side: Side, text: str = "", **more: Any) -> Row:
        """A row that stands for a bound of a constraint, in its words."""
        words, quantity = text or constraint.bound_text(entry, side), constraint.quantity
        return cls(index, entry, constraint.weight, words, side, label=constraint.label, quantity=quantity, **more)

    def unit_size(self, x: Array) -> float:
        """What a unit of the bound is in the row, at x: 1, or the mass by which it was multiplied."""
        return 1.0 if self.mass_of is None else float(x[mass_index(self.mass_of)])


@dataclass(frozen=True, eq=False)
class LinearRows:
    """``lower <= matrix x <= upper``, shapes (k, N), (k,), (k,)."""

    matrix: Array
    lower: Array
    upper: Array
    rows: tuple[Row, ...]

    def hard(self) -> LinearRows:
        """Without the soft rows."""
        keep = _hard(self.rows)
        return LinearRows(self.matrix[keep], self.lower[keep], self.upper[keep], tuple(self.rows[k] for k in keep))

    @classmethod
    def joined(cls, *parts: LinearRows) -> LinearRows:
        """The rows of some parts, one after another."""
        return cls(
            np.vstack([part.matrix for part in parts]),
            np.concatenate([part.lower for part in parts]),
            np.concatenate([part.upper for part in parts]),
            tuple(row for part in parts for row in part.rows),
        )

    @classmethod
    def none(cls, size: int) -> LinearRows:
        """No rows of ``size`` unknowns."""
        return cls(np.zeros((0, size)), np.zeros(0), np.zeros(0), ())


@dataclass(frozen=True, eq=False)
class NonlinearRows(Kept):
    """``lower <= expression(x) <= upper``, k scalar SX expressions."""

    expression: ca.SX
    lower: Array
    upper: Array
    rows: tuple[Row, ...]

    @property
    def size(self) -> int:
        """Number of rows."""
        return len(self.rows)

    def values(self, symbols: ca.SX, x: Array) -> Array:
        """Values at x, shape (k,)."""
        function = self.kept("function", symbols)
        if not function:
            function.append(as_function(self.expression, symbols))
        return np.array(function[0](x)).reshape(-1)

    def hard(self) -> NonlinearRows:
        """Without the soft rows."""
        keep = _hard(self.rows)
        return NonlinearRows(
            self.expression[keep], self.lower[keep], self.upper[keep], tuple(self.rows[k] for k in keep)
        )

    @classmethod
    def none(cls) -> NonlinearRows:
        """No rows."""
        return cls(ca.SX(0, 1), np.zeros(0), np.zeros(0), ())


def _hard(rows: tuple[Row, ...]) -> list[int]:
    return [k for k, row in enumerate(rows) if row.weight is None]


def slacks(rows: Sequence[Row]) -> tuple[list[int], list[int], Array]:
    """Places of the soft rows, the slack of each, and what a unit of each slack costs."""
    soft = {i: row for i, row in enumerate(rows) if row.weight is not None}
    keys = [("row", i) if row.group is None else ("group", row.group) for i, row in soft.items()]
    weights = dict(zip(keys, (row.weight for row in soft.values()), strict=True))
    return list(soft), [[*weights].index(key) for key in keys], np.array([*weights.values()], dtype=float)


def split_rows(problem: Problem) -> tuple[LinearRows, NonlinearRows]:
    """All constraints of a problem as scalar rows, linear and nonlinear; rows implied by consistency are left out."""
    x, standard = problem.variables.x, problem.variables.standard_size
    linear, curved = [LinearRows.none(x.numel())], list[NonlinearRows]()
    for at, some in problem.parts:
        found = some[0].kept("split", at, some, *problem.setting.facts)
        if not found:
            found += _split(problem.setting, at, some)
        straight, bent = found
        linear.append(straight)
        curved += [bent] if bent.size else []
    extras = [(k, *entry) for k, entry in enumerate(problem.variables.extras.items()) if np.isfinite(entry[1]).any()]
    low, high = np.array([bounds for *_, bounds in extras], dtype=float).reshape(-1, 2).T
    own = tuple(Row(-1, k, None, f"{a:.6g} <= {name} <= {b:.6g}", label=name) for k, name, (a, b) in extras)
    linear.append(LinearRows(np.eye(x.numel())[[standard + k for k, *_ in extras]], low, high, own))
    return LinearRows.joined(*linear), _joined(tuple(curved), x.numel())


def _group(index: int, constraint: Constraint, row: ScalarRow) -> int | None:
    """One number for all rows that share a slack: of a constraint, or of one of its entries."""
    if constraint.hard or not (constraint.shared or row.shared):
        return None
    return index if constraint.shared else (row.entry + 1) * 2**32 + index


def _split(setting: Setting, at: tuple[int, ...], some: tuple[Constraint, ...]) -> tuple[LinearRows, NonlinearRows]:
    """The linear rows of constraints at some places, and the others."""
    rows = []
    for index, constraint in zip(at, some, strict=True):
        for row in constraint.solver_rows(setting):
            text = f"domain of {constraint.entry_name(row.entry)}" if row.domain else ""
            more: dict[str, Any] = {"mass_of": row.mass_of, "group": _group(index, constraint, row)}
            rows.append((row, Row.of(index, constraint, row.entry, row.side, text, **more)))
    bent = [pair for pair in rows if not pair[0].linear]
    return _numbers([pair for pair in rows if pair[0].linear], setting.x), NonlinearRows(
        ca.vertcat(ca.SX(0, 1), *[row.expression for row, _ in bent]),
        np.array([row.lower for row, _ in bent]),
        np.array([row.upper for row, _ in bent]),
        tuple(source for _, source in bent),
    )


@lru_cache(16)
def _joined(parts: tuple[NonlinearRows, ...], size: int) -> NonlinearRows:
    """One and the same for the same parts of so many unknowns: what is made of it is made once."""
    return NonlinearRows(
        ca.vertcat(ca.SX(0, 1), *[part.expression for part in parts]),
        np.concatenate([np.zeros(0), *(part.lower for part in parts)]),
        np.concatenate([np.zeros(0), *(part.upper for part in parts)]),
        tuple(row for part in parts for row in part.rows),
    )


def _numbers(rows: list[tuple[ScalarRow, Row]], x: ca.SX) -> LinearRows:
    """Slope and offset of affine rows, all in one function."""
    if not rows:
        return LinearRows.none(x.numel())
    expression = ca.vertcat(*[row.expression for row, _ in rows])
    function = ca.Function("affine", [x], [ca.jacobian(expression, x), expression])
    slope, offset = function(ca.DM.zeros(x.numel()))
    shift = np.array(ca.densify(offset)).reshape(-1)
    return LinearRows(
        np.array(ca.densify(slope)).reshape(len(rows), x.numel()),
        np.array([row.lower for row, _ in rows], dtype=float) - shift,
        np.array([row.upper for row, _ in rows], dtype=float) - shift,
        tuple(source for _, source in rows),
    )
