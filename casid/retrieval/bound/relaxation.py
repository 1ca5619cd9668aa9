"""Linear rows that every feasible point obeys, in place of nonlinear ones: for the certificate.

Each hard row whose side has a quadratic form (`casid.retrieval.quadrics`) is replaced by a cut of it: the tangent of a
cone or of a concave form, the secant over the box of the centre of mass of a convex one::

    2 t l - m t^2 <= l^2/m <= (a + b) l - a b m       (a <= c <= b; tangent at any t; m > 0)

so a bound on ``Ixx = Lxx - (ly^2 + lz^2)/m`` from above relaxes through the secants, one from below through the
tangents at the present c. The others are left out.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from casid.retrieval.bound.cuts import Relaxation
from casid.retrieval.rows import NonlinearRows

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class RelaxedRows:
    """``lower <= matrix z <= upper`` with multipliers, > 0 at an upper bound."""

    matrix: Array
    lower: Array
    upper: Array
    multipliers: Array


def relaxed_rows(relaxation: Relaxation, nonlinear: NonlinearRows, multipliers: Array, x: Array) -> RelaxedRows:
    """Cuts that stand for the nonlinear rows with a multiplier, made near x."""
    cuts = [
        found
        for row, multiplier in zip(nonlinear.rows, multipliers, strict=True)
        if row.weight is None and (found := relaxation.row_cut(row, float(multiplier), x)) is not None
    ]
    return RelaxedRows(
        np.array([cut.form for cut, _ in cuts]).reshape(len(cuts), len(x)),
        np.array([cut.low for cut, _ in cuts]),
        np.full(len(cuts), np.inf),
        np.array([-amount for _, amount in cuts]),
    )
