"""Each link's cone of physical consistency, in coordinates in which it is a quadratic image of free numbers.

The factorisations are those of `casid.inertia.cones`, about a nominal body of the link.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from casid.errors import ProblemError
from casid.inertia._cones import ConsistencyCone
from casid.retrieval.constraints import PhysicalConsistency

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Cone:
    """One link's cone: ``x_k = basis y + offset``, shapes (10, 10) and (10,)."""

    link: int
    notion: ConsistencyCone
    margin: float
    basis: Array
    offset: Array

    @classmethod
    def around(cls, consistency: PhysicalConsistency, nominal: Array) -> Cone:
        """Cone with coordinates scaled by a nominal body, shape (10,)."""
        margin, notion = consistency.margin, consistency.cone
        smallest = float(np.linalg.eigvalsh(notion.matrix(nominal))[0])
        if smallest <= margin:
            raise ProblemError(
                f"link '{consistency.name}': the nominal body does not keep the margin "
                f"{margin:.3g} of physical consistency (smallest eigenvalue {smallest:.3g}); lower the margin, or pass "
                "a nominal body that keeps it"
            )
        basis, offset = notion.coordinates(nominal, margin)
        return cls(consistency.link, notion, margin, basis, offset)

    def factor(self, parameters: Array) -> Array:
        """Numbers t of a body, shape (10,); a body outside the cone is lifted to its inside."""
        y: Array = np.asarray(np.linalg.solve(self.basis, parameters - self.offset))
        return self.notion.factor(y)

    def parameters(self, t: Array) -> Array:
        """The ten parameters at t: consistent up to rounding, whatever t."""
        return np.asarray(self.basis @ self.notion.compose(t) + self.offset)
