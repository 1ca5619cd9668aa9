"""A rigid body: its nominal inertial values and bounds on them."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

from casid.errors import RobotError
from casid.inertia import to_standard

Array = NDArray[np.float64]


def readonly(value: ArrayLike, shape: tuple[int, ...], what: str) -> Array:
    """A copy that cannot be written to; RobotError if it has another shape or NaN."""
    array = np.array(value, dtype=float)
    if array.shape != shape:
        raise RobotError(f"{what}: expected shape {shape}, got {array.shape}")
    if np.isnan(array).any():
        raise RobotError(f"{what}: contains NaN")
    array.setflags(write=False)
    return array


@dataclass(frozen=True, eq=False)
class Inertial:
    """Mass [kg], centre of mass [m] and inertia about it [kg.m^2], in the axes of the link frame."""

    mass: float
    com: Array
    inertia_com: Array

    def __post_init__(self) -> None:
        object.__setattr__(self, "com", readonly(self.com, (3,), "centre of mass"))
        object.__setattr__(self, "inertia_com", readonly(self.inertia_com, (3, 3), "inertia"))

    def standard_parameters(self) -> Array:
        """The ten standard parameters ``Lxx Lxy Lxz Lyy Lyz Lzz lx ly lz m``."""
        return to_standard(self.mass, self.com, self.inertia_com)


@dataclass(frozen=True, eq=False)
class LinkBounds:
    """A-priori bounds on a link's physical parameters (Gaz et al. 2019, Sec. V): lower and upper, infinite where free.

    Attributes
    ----------
    mass : ndarray, shape (2,)
        [kg]
    com : ndarray, shape (3, 2)
        Box that holds the centre of mass [m].
    inertia_com : ndarray, shape (6, 2)
        Entries ``xx xy xz yy yz zz`` of the inertia about the centre of mass [kg.m^2].
    """

    mass: Array = field(default_factory=lambda: np.array([0.0, np.inf]))
    com: Array = field(default_factory=lambda: np.tile([-np.inf, np.inf], (3, 1)))
    inertia_com: Array = field(default_factory=lambda: np.tile([-np.inf, np.inf], (6, 1)))

    def __post_init__(self) -> None:
        for name, shape in (("mass", (2,)), ("com", (3, 2)), ("inertia_com", (6, 2))):
            bounds = readonly(getattr(self, name), shape, f"bounds of {name}")
            if (bounds[..., 0] > bounds[..., 1]).any():
                raise RobotError(f"bounds of {name} cross: a lower bound exceeds its upper bound in {bounds.tolist()}")
            object.__setattr__(self, name, bounds)


@dataclass(frozen=True, eq=False)
class Link:
    """A rigid body: its name, nominal inertial values where known, and bounds on them."""

    name: str
    inertial: Inertial | None = None
    bounds: LinkBounds = field(default_factory=LinkBounds)
