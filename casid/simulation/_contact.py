"""External forces on a frame: the contract, and a compliant wall."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from casid.errors import DatasetError
from casid.expressions import shaped
from casid.files import numeric_array


class ExternalForce(ABC):
    """What the surroundings do to a frame of the robot, a function of its placement and twist.

    A plant with external forces moves by ``M ddq + c + g + terms = tau + J' w`` (Sousa 2014, eq. 2.28-2.29). A force of
    another kind is a subclass with `wrench`, and `energy` where it stores some.
    """

    #: Name of the link or frame on which it acts.
    frame: str

    @abstractmethod
    def wrench(self, T: ca.SX, twist: ca.SX) -> ca.SX:
        """Force and moment about the frame's origin (6), base axes [N, N.m].

        Parameters
        ----------
        T
            Placement of the frame, (4, 4).
        twist
            Its linear, then angular velocity, base axes, (6).
        """

    def acting(self, T: ca.SX, twist: ca.SX) -> tuple[ca.SX, ca.SX]:
        """`wrench` and `energy`, with their shapes checked; DatasetError for others."""
        where = f"external force '{type(self).__name__}': "
        wrench = shaped(self.wrench(T, twist), (6, 1), f"{where}`wrench`", DatasetError)
        return wrench, shaped(self.energy(T), (1, 1), f"{where}`energy`", DatasetError)

    def energy(self, T: ca.SX) -> ca.SX:
        """Energy stored at a placement [J]; what it takes in beyond that is dissipated."""
        return ca.SX(0)


@dataclass(frozen=True, eq=False)
class Wall(ExternalForce):
    """A compliant wall, frictionless and unilateral: it pushes the frame's origin out and never holds it.

    With the depth ``d = normal'(point - p)`` of the origin p behind the surface the force is ``f normal``::

        f = max(0, stiffness d + damping dd/dt)  for d > 0,   0 otherwise

    a spring and a damper side by side (Kelvin and Voigt; Marhefka and Orin 1999). It stores ``stiffness d^2 / 2`` and
    dissipates the rest, which is never negative. With damping, the force jumps where the wall is hit.

    Attributes
    ----------
    frame : str
        Name of a link or frame.
    point, normal : ndarray, shape (3,)
        A point of the surface [m], and the direction out of the wall (any length), both in base axes.
    stiffness, damping : float
        [N/m], [N.s/m].

    Raises
    ------
    DatasetError
        If a number is missing, not finite or negative, or the normal is zero.
    """

    frame: str
    point: ArrayLike
    normal: ArrayLike
    stiffness: float
    damping: float = 0.0

    def __post_init__(self) -> None:
        for name in ("point", "normal"):
            where = f"wall at frame '{self.frame}': {name}"
            object.__setattr__(
                self, name, numeric_array(getattr(self, name), where, DatasetError, finite=True, shape=(3,))
            )
        length = float(np.linalg.norm(self.normal))
        if not length > 0:
            raise DatasetError(f"wall at frame '{self.frame}': the normal is zero; give the direction out of the wall")
        object.__setattr__(self, "normal", np.asarray(self.normal) / length)
        if not (0 < self.stiffness < np.inf and 0 <= self.damping < np.inf):
            raise DatasetError(
                f"wall at frame '{self.frame}': stiffness must be positive and damping at least 0, got "
                f"{self.stiffness:g} N/m and {self.damping:g} N.s/m"
            )

    def depth(self, T: ca.SX) -> ca.SX:
        """``normal'(point - p)`` [m]: positive inside the wall."""
        return ca.dot(ca.DM(np.asarray(self.normal)), ca.DM(np.asarray(self.point)) - T[:3, 3])

    def wrench(self, T: ca.SX, twist: ca.SX) -> ca.SX:
        """The force along the normal, without moment."""
        normal, depth = ca.DM(np.asarray(self.normal)), self.depth(T)
        force = ca.fmax(self.stiffness * depth - self.damping * ca.dot(normal, twist[:3]), 0)
        return ca.vertcat(ca.if_else(depth > 0, force, 0) * normal, ca.SX(3, 1))

    def energy(self, T: ca.SX) -> ca.SX:
        """``stiffness max(d, 0)^2 / 2``."""
        return self.stiffness * ca.fmax(self.depth(T), 0) ** 2 / 2
