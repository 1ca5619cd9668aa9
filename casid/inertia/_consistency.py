"""Physical consistency of a link's ten parameters, and its margins.

* ``full`` consistency (the default everywhere): pseudo-inertia ``J > 0``, i.e. positive mass, positive definite inertia
  about the centre of mass, and the triangle inequality (Gaz et al. 2019, eq. 11, 16; Wensing et al. 2018).
* ``semi`` consistency: only ``m > 0`` and ``I > 0``, i.e. the 6x6 matrix ``[[L, S(l)'], [S(l), m 1]] > 0``
  (Yoshida and Khalil 2000; Sousa 2014, eq. 3.18-3.21).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from casid.inertia._parameters import Vector, from_standard, pseudo_inertia, skew, tensor


def spatial_inertia(parameters: ArrayLike) -> Vector:
    """The 6x6 matrix ``[[L, S(l)'], [S(l), m 1]]`` whose positive definiteness is ``semi`` consistency."""
    parameters = np.asarray(parameters, dtype=float)
    moment = skew(parameters[6:9])
    return np.block([[tensor(parameters[:6]), moment.T], [moment, parameters[9] * np.eye(3)]])


@dataclass(frozen=True)
class Consistency:
    """Physical margins of one link; each is positive where the property holds.

    Attributes
    ----------
    mass : float
        m [kg].
    smallest_principal_moment : float
        Smallest eigenvalue of I [kg.m^2].
    triangle_margin : float
        ``tr(I)/2 - lambda_max(I)`` [kg.m^2] (Gaz et al. 2019, eq. 16).
    pseudo_inertia_margin : float
        Smallest eigenvalue of J (mixed SI units); > 0 is ``full`` consistency.
    """

    mass: float
    smallest_principal_moment: float
    triangle_margin: float
    pseudo_inertia_margin: float

    @property
    def full(self) -> bool:
        """Positive density is possible: m > 0 and the triangle inequality."""
        return self.mass > 0 and self.triangle_margin > 0

    @property
    def semi(self) -> bool:
        """Positive mass and positive definite inertia about the centre of mass."""
        return self.mass > 0 and self.smallest_principal_moment > 0

    def complaint(self) -> str:
        """Which condition fails and by how much; empty where the link is fully consistent."""
        if self.mass <= 0:
            return f"its mass is {self.mass:.6g} kg, it must be positive"
        if self.smallest_principal_moment <= 0:
            return (
                "its inertia about the centre of mass is not positive definite: "
                f"smallest principal moment {self.smallest_principal_moment:.3g} kg.m^2"
            )
        if self.triangle_margin <= 0:
            return (
                "its principal moments violate the triangle inequality: "
                f"tr(I)/2 - lambda_max(I) = {self.triangle_margin:.3g} kg.m^2, it must be positive"
            )
        return ""


def consistency(parameters: ArrayLike) -> Consistency:
    """Physical margins of a link's ten standard parameters."""
    mass, _, inertia = from_standard(parameters)
    moments = np.linalg.eigvalsh(inertia)
    return Consistency(
        mass=mass,
        smallest_principal_moment=float(moments[0]),
        triangle_margin=float(moments.sum() / 2 - moments[2]),
        pseudo_inertia_margin=float(np.linalg.eigvalsh(pseudo_inertia(parameters))[0]),
    )
