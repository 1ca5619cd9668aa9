"""Linear rows that every feasible point obeys, in place of nonlinear ones: for the certificate.

With ``a <= c <= b`` the box of the centre of mass, ``l = m c`` and m > 0::

    2 t l - m t^2 <= l^2/m <= (a + b) l - a b m       (tangent at any t; secant)

so a bound on ``Ixx = Lxx - (ly^2 + lz^2)/m`` from above relaxes through the secants, one from below through the
tangents at the present c.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from casid.inertia import TENSOR_INDEX
from casid.retrieval.bound.cuts import Relaxation
from casid.retrieval.bound.region import link_regions
from casid.retrieval.problem import Problem
from casid.retrieval.program.rows import NonlinearRows

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class RelaxedRows:
    """``lower <= matrix z <= upper`` with multipliers, > 0 at an upper bound."""

    matrix: Array
    lower: Array
    upper: Array
    multipliers: Array


def relaxed_rows(
    problem: Problem, nonlinear: NonlinearRows, multipliers: Array, x: Array, relaxation: Relaxation | None = None
) -> RelaxedRows:
    """Relaxations of the hard inertia bounds, and of rows that are quadratic in a link's parameters.

    Others are left out.

    The solver's row of an inertia bound is ``m (L - bound) - steiner``: m times the relaxed one, so its multiplier
    counts m times. That of a user's row is the expression itself, ``m^(1 - power)`` times its quadratic form
    (`casid.retrieval.bound.quadrics`).
    """
    regions = link_regions(problem)
    forms, lows, highs, scaled = [], [], [], []
    for row, multiplier in zip(nonlinear.rows, multipliers, strict=True):
        constraint = problem.constraints[row.constraint]
        i, j = TENSOR_INDEX[row.entry] if constraint.quantity == "inertia_com" else (0, 1)
        if row.weight is not None:
            continue
        if i != j:
            cut = None if relaxation is None else relaxation.row_cut(row, multiplier, x)
            if cut is not None:
                forms.append(cut[0].form)
                lows.append(cut[0].low)
                highs.append(np.inf)
                scaled.append(-cut[1])
            continue
        link = constraint.links[0]
        mass = x[10 * link + 9]
        upper_side = multiplier > 0
        bound = constraint.upper[row.entry] if upper_side else constraint.lower[row.entry]
        if problem.cones[link].kind == "none" or not np.isfinite(bound) or mass <= 0 or not np.isfinite(multiplier):
            continue
        across = [axis for axis in range(3) if axis != i]
        if upper_side and not np.isfinite(regions[link].com[across]).all():
            continue  # no secant over an unbounded box
        form = np.zeros(len(x))
        form[10 * link + row.entry] = 1.0
        for axis in across:
            low, high = regions[link].com[axis]
            if upper_side:
                slope, offset = low + high, -low * high
            else:
                centre = x[10 * link + 6 + axis] / mass
                slope, offset = 2 * centre, -(centre**2)
            form[10 * link + 6 + axis] -= slope
            form[10 * link + 9] -= offset
        forms.append(form)
        lows.append(-np.inf if upper_side else bound)
        highs.append(bound if upper_side else np.inf)
        scaled.append(multiplier * mass)
    return RelaxedRows(np.array(forms).reshape(len(forms), len(x)), np.array(lows), np.array(highs), np.array(scaled))
