"""Converters between casid's parameter order and those of other tools.

casid (Sousa 2014): ``Lxx Lxy Lxz Lyy Lyz Lzz lx ly lz m``, inertia about the link-frame origin. All functions take and
return a single link, shape (10,), or a stack of links, shape (..., 10).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from casid.inertia.parameters import Vector

#: Position, in casid's order, of Pinocchio's ``m, mcx, mcy, mcz, Ixx, Ixy, Iyy, Ixz, Iyz, Izz`` (about the origin).
_PINOCCHIO = np.array([9, 6, 7, 8, 0, 1, 3, 2, 4, 5])


def to_pinocchio(parameters: ArrayLike) -> Vector:
    """Pinocchio's ``Inertia.toDynamicParameters`` order: ``m, mc, xx, xy, yy, xz, yz, zz``."""
    return np.asarray(parameters, dtype=float)[..., _PINOCCHIO]


def from_pinocchio(parameters: ArrayLike) -> Vector:
    """Inverse of `to_pinocchio`."""
    return np.asarray(parameters, dtype=float)[..., np.argsort(_PINOCCHIO)]


def to_khalil(parameters: ArrayLike) -> Vector:
    """Khalil and Dombre's ``XX XY XZ YY YZ ZZ MX MY MZ M``: the same order and meaning as casid's."""
    return np.array(parameters, dtype=float)


def from_khalil(parameters: ArrayLike) -> Vector:
    """Inverse of `to_khalil`."""
    return np.array(parameters, dtype=float)
