"""Numbers and rotations as text that reads back the same: the second writing of a file repeats the first."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from casid.description.placement import ANGLE_TOLERANCE, Array, cos_sin, rotation_rpy

#: Angles are written with this many decimals [rad]: far below any tolerance, far above rounding errors.
ANGLE_DECIMALS = 14
#: Limits at least this large mean "none" in XML formats (SDFormat's default limits).
INFINITE = 1e16


def number(value: float) -> str:
    """Shortest text that reads back as the same double; ``0`` for both zeros."""
    value = float(value) + 0.0
    return repr(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(value)


def numbers(values: ArrayLike) -> str:
    """Numbers separated by spaces."""
    return " ".join(number(value) for value in np.asarray(values, dtype=float).ravel())


def rpy_of(rotation: Array) -> tuple[float, float, float]:
    """URDF's ``rpy`` [rad] of a rotation matrix, on a grid of `ANGLE_DECIMALS`, a fixed point of writing and reading.

    ``R = Rot_z(yaw) Rot_y(pitch) Rot_x(roll)``; at pitch = +-pi/2, where only ``yaw -+ roll`` is defined, roll is 0.
    """
    angles = _extract(rotation)
    for _ in range(20):
        again = _extract(rotation_rpy(angles, 0.0))
        if again == angles:
            break
        angles = again
    return angles


def _extract(rotation: Array) -> tuple[float, float, float]:
    """Angles on the grid; yaw with no more digits than it has near pitch = +-pi/2, the others to match it."""
    R = np.asarray(rotation, dtype=float)
    cosine = math.hypot(R[0, 0], R[1, 0])
    digits = math.floor(ANGLE_DECIMALS + math.log10(cosine)) if cosine > 10.0**-ANGLE_DECIMALS else -1
    yaw = 0.0 if digits < 0 else _grid(math.atan2(R[1, 0], R[0, 0]), min(digits, ANGLE_DECIMALS))
    c, s = cos_sin(yaw, 0.0)
    pitch = math.atan2(-R[2, 0], c * R[0, 0] + s * R[1, 0])
    roll = math.atan2(s * R[0, 2] - c * R[1, 2], c * R[1, 1] - s * R[0, 1])
    return (_grid(roll), _grid(pitch), yaw)


def _grid(angle: float, decimals: int = ANGLE_DECIMALS) -> float:
    rounded = round(angle, decimals) + 0.0
    quarter = round(rounded / (math.pi / 2))
    exact = quarter * (math.pi / 2)
    return exact if abs(rounded - exact) <= 10.0**-decimals else rounded


def canonical(rotation: Array) -> Array:
    """The rotation that `rpy_of` stands for, shape (3, 3): what every format writes."""
    return rotation_rpy(rpy_of(rotation), 10.0**-ANGLE_DECIMALS)


def quaternion_of(rotation: Array) -> tuple[float, float, float, float]:
    """Unit quaternion ``w x y z`` of a rotation matrix, ``w >= 0``; exact zeros stay exact."""
    R = canonical(rotation)
    squares = np.array([1 + np.trace(R), *(1 + 2 * R[i, i] - np.trace(R) for i in range(3))]) / 4
    k = int(np.argmax(squares))
    top = math.sqrt(squares[k])
    cross = np.array([R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]]) / (4 * top)
    q = np.zeros(4)
    if k == 0:
        q[0], q[1:] = top, cross
    else:
        i = k - 1
        q[0] = cross[i]
        for j in range(3):
            q[1 + j] = top if j == i else (R[i, j] + R[j, i]) / (4 * top)
    if q[0] < 0 or (q[0] == 0 and q[np.flatnonzero(q)[0]] < 0):
        q = -q
    w, x, y, z = (float(round(value, 16)) + 0.0 for value in q)
    return w, x, y, z


def rotation_of_quaternion(q: ArrayLike, tolerance: float = ANGLE_TOLERANCE) -> Array:
    """Rotation matrix of a quaternion ``w x y z`` of any length, shape (3, 3); exact for multiples of pi/2 about axes.

    Raises
    ------
    ValueError
        For a quaternion without direction.
    """
    q = np.array(q, dtype=float)
    length = float(np.linalg.norm(q))
    if not math.isfinite(length) or length < 1e-12:
        raise ValueError(f"a quaternion needs a direction, got {q.tolist()}")
    w, x, y, z = q / length
    R = np.array(
        [
            [w * w + x * x - y * y - z * z, 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), w * w - x * x + y * y - z * z, 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), w * w - x * x - y * y + z * z],
        ]
    )
    return snapped(R, tolerance)


def snapped(rotation: Array, tolerance: float = ANGLE_TOLERANCE) -> Array:
    """A rotation whose ``rpy`` angles near multiples of pi/2 [rad] are made exact, canonical, so that formats agree."""
    near = np.round(rotation)
    if np.abs(rotation - near).max() <= tolerance:
        return np.asarray(near + 0.0)
    angles = rpy_of(rotation)
    return rotation_rpy(angles, tolerance)
