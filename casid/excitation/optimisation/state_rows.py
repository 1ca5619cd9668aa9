"""Rows of state constraints: chosen components at chosen instants."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from casid.excitation.limits.constraints import StateConstraint
from casid.excitation.motions.basis import Array, Basis
from casid.excitation.motions.trajectory import Motion


@dataclass(frozen=True, eq=False)
class StateRows:
    """Rows of one state constraint that the optimisation looks at: components ``component[k]`` at ``instants[k]``.

    ``backoff`` tightens the bounds, in units of the constraint.
    """

    constraint: StateConstraint
    component: np.ndarray
    instants: Array
    backoff: float = 0.0

    def selected(self, basis: Basis) -> SelectedRows:
        """Return the rows for repeated evaluation."""
        return SelectedRows(self, basis)


class SelectedRows:
    """State rows with the basis evaluated at their instants."""

    def __init__(self, rows: StateRows, basis: Basis) -> None:
        self.constraint = rows.constraint
        instants, self.sample = np.unique(rows.instants, return_inverse=True)
        self.component = rows.component
        self.matrices = [basis.matrix(instants, order) for order in range(3)]
        unit = rows.constraint.unit[self.component]
        self.unit = unit
        self.lower = rows.constraint.lower[self.component] / unit + rows.backoff
        self.upper = rows.constraint.upper[self.component] / unit - rows.backoff

    def values(self, coefficients: Array) -> Array:
        """Values in units of the constraint, shape (rows,)."""
        motion = Motion(*(coefficients @ B.T for B in self.matrices))
        return np.asarray(self.constraint.values(motion)[self.component, self.sample] / self.unit)

    def jacobian(self, coefficients: Array) -> tuple[Array, Array]:
        """Values (rows,) and derivatives (rows, n * size)."""
        motion = Motion(*(coefficients @ B.T for B in self.matrices))
        c, J = self.constraint.jacobian(motion)
        n = len(coefficients)
        picked = J[self.component, :, self.sample] / self.unit[:, None]  # (rows, 3 n)
        dense = sum(
            picked[:, order * n : (order + 1) * n, None] * B[self.sample][:, None, :]
            for order, B in enumerate(self.matrices)
        )
        return np.asarray(c[self.component, self.sample] / self.unit), np.asarray(dense).reshape(len(self.unit), -1)
