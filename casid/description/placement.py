"""Placements of frames as 4x4 homogeneous transforms, exact where the geometry is exact.

Sines and cosines of angles within `ANGLE_TOLERANCE` of a multiple of pi/2 are exactly 0, +1 or -1. These structural
zeros survive products of transforms and keep the CasADi graphs built on them sparse.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]

#: Angles this close to a multiple of pi/2 [rad] count as that multiple. URDF files print pi/2 as 1.57079632679, which
#: is 5e-12 off; files with fewer digits (1.5708) need a larger tolerance, given on purpose.
ANGLE_TOLERANCE = 1e-9


def cos_sin(angle: float, tolerance: float = ANGLE_TOLERANCE) -> tuple[float, float]:
    """Cosine and sine of an angle [rad], exact at multiples of pi/2."""
    quarter = round(angle / (math.pi / 2))
    if abs(angle - quarter * (math.pi / 2)) <= tolerance:
        return ((1.0, 0.0), (0.0, 1.0), (-1.0, 0.0), (0.0, -1.0))[quarter % 4]
    return math.cos(angle), math.sin(angle)


def rotation_x(angle: float, tolerance: float = ANGLE_TOLERANCE) -> Array:
    """Rotation matrix, shape (3, 3), by an angle [rad] about x."""
    c, s = cos_sin(angle, tolerance)
    return np.array([[1.0, 0.0, 0.0], [0.0, c, -s], [0.0, s, c]]) + 0.0


def rotation_y(angle: float, tolerance: float = ANGLE_TOLERANCE) -> Array:
    """Rotation matrix, shape (3, 3), by an angle [rad] about y."""
    c, s = cos_sin(angle, tolerance)
    return np.array([[c, 0.0, s], [0.0, 1.0, 0.0], [-s, 0.0, c]]) + 0.0


def rotation_z(angle: float, tolerance: float = ANGLE_TOLERANCE) -> Array:
    """Rotation matrix, shape (3, 3), by an angle [rad] about z."""
    c, s = cos_sin(angle, tolerance)
    return np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]]) + 0.0


def rotation_rpy(rpy: Sequence[float], tolerance: float = ANGLE_TOLERANCE) -> Array:
    """Rotation ``Rot_z(yaw) Rot_y(pitch) Rot_x(roll)`` of URDF's ``rpy = (roll, pitch, yaw)`` [rad], shape (3, 3)."""
    roll, pitch, yaw = rpy
    # `+ 0.0` turns -0.0 into 0.0
    return rotation_z(yaw, tolerance) @ rotation_y(pitch, tolerance) @ rotation_x(roll, tolerance) + 0.0


def rotation_about(axis: ArrayLike, angle: float, tolerance: float = ANGLE_TOLERANCE) -> Array:
    """Rotation by an angle [rad] about a unit vector (Rodrigues' formula), shape (3, 3)."""
    c, s = cos_sin(angle, tolerance)
    x, y, z = np.asarray(axis, dtype=float)
    cross = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    return c * np.eye(3) + s * cross + (1.0 - c) * np.outer([x, y, z], [x, y, z]) + 0.0


def transform(rotation: ArrayLike | None = None, translation: ArrayLike | None = None) -> Array:
    """Homogeneous transform, shape (4, 4), of a rotation (3, 3) and a translation (3,) [m]; each defaults to none."""
    placement = np.eye(4)
    if rotation is not None:
        placement[:3, :3] = rotation
    if translation is not None:
        placement[:3, 3] = translation
    return placement


def xyz_rpy(xyz: Sequence[float], rpy: Sequence[float], tolerance: float = ANGLE_TOLERANCE) -> Array:
    """Transform with URDF's ``xyz`` [m] and ``rpy`` [rad], shape (4, 4)."""
    return transform(rotation_rpy(rpy, tolerance), xyz)


def modified_dh(a: float, alpha: float, d: float, theta: float, tolerance: float = ANGLE_TOLERANCE) -> Array:
    """Modified Denavit-Hartenberg transform ``Rot_x(alpha) Trans_x(a) Rot_z(theta) Trans_z(d)``, shape (4, 4).

    Parameters
    ----------
    a, d
        [m]
    alpha, theta
        [rad]

    References
    ----------
    J. J. Craig, *Introduction to Robotics*, 3rd ed., 2005, eq. 3.6.
    """
    twist = transform(rotation_x(alpha, tolerance)) @ transform(translation=[a, 0.0, 0.0])
    return twist @ transform(rotation_z(theta, tolerance), [0.0, 0.0, d]) + 0.0


def standard_dh(a: float, alpha: float, d: float, theta: float, tolerance: float = ANGLE_TOLERANCE) -> Array:
    """Standard Denavit-Hartenberg transform ``Rot_z(theta) Trans_z(d) Trans_x(a) Rot_x(alpha)``, shape (4, 4).

    Parameters
    ----------
    a, d
        [m]
    alpha, theta
        [rad]

    References
    ----------
    R. P. Paul, *Robot Manipulators: Mathematics, Programming, and Control*, 1981, eq. 2.34.
    """
    screw = transform(rotation_z(theta, tolerance), [0.0, 0.0, d])
    return screw @ transform(rotation_x(alpha, tolerance), [a, 0.0, 0.0]) + 0.0


def unit_axis(axis: ArrayLike, tolerance: float = ANGLE_TOLERANCE) -> Array:
    """Unit vector along ``axis``, shape (3,); components within ``tolerance`` of 0, +1 or -1 become exactly that.

    Raises
    ------
    ValueError
        If ``axis`` has no direction (zero length) or is not finite.
    """
    vector = np.array(axis, dtype=float)
    length = float(np.linalg.norm(vector))
    if not math.isfinite(length) or length < 1e-12:
        raise ValueError(f"an axis needs a direction, got {vector.tolist()}")
    unit = vector if abs(length - 1.0) <= 2e-15 else vector / length  # a unit vector stays as it is
    small = (np.abs(unit) <= tolerance) & (unit != 0.0)
    if small.any():
        unit[small] = 0.0
        unit /= np.linalg.norm(unit)
    exact = np.abs(np.abs(unit) - 1.0) <= tolerance
    unit[exact] = np.sign(unit[exact])
    return np.asarray(unit + 0.0)
