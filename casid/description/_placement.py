"""Placements of frames as 4x4 homogeneous transforms, exact where the geometry is exact.

Sines and cosines of angles within `ANGLE_TOLERANCE` of a multiple of pi/2 are exactly 0, +1 or -1. These structural
zeros survive products of transforms and keep the CasADi graphs built on them sparse.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence

import numpy as np
from numpy.typing import ArrayLike

from casid.arrays import ALIKE, ROUNDING, Array
from casid.errors import RobotError
from casid.files import listed, near

#: Angles this close to a multiple of pi/2 [rad] count as that multiple. URDF files print pi/2 as 1.57079632679, which
#: is 5e-12 off; files with fewer digits (1.5708) need a larger tolerance, given on purpose.
ANGLE_TOLERANCE = ALIKE


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

    Parameters as of `modified_dh` (R. P. Paul, *Robot Manipulators: Mathematics, Programming, and Control*, 1981,
    eq. 2.34).
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
    if not math.isfinite(length) or length < ROUNDING:
        raise ValueError(f"an axis needs a direction, got {vector.tolist()}")
    unit = vector if round(length, ANGLE_DECIMALS) == 1 else vector / length  # a unit vector stays as it is
    small = (np.abs(unit) <= tolerance) & (unit != 0.0)
    if small.any():
        unit[small] = 0.0
        unit /= np.linalg.norm(unit)
    exact = np.abs(np.abs(unit) - 1.0) <= tolerance
    unit[exact] = np.sign(unit[exact])
    return np.asarray(unit + 0.0)


#: Angles are written with this many decimals [rad]: far below any tolerance, far above rounding errors.
ANGLE_DECIMALS = 14
#: Limits at least this large mean "none" in XML formats (SDFormat's default limits).
INFINITE = 1e16


def number(value: float) -> str:
    """Shortest text that reads back as the same double; ``0`` for both zeros."""
    value = float(value) + 0.0
    return repr(int(value)) if value.is_integer() and abs(value) < 2**53 else repr(value)


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
    digits = math.floor(ANGLE_DECIMALS + math.log10(cosine)) if cosine else -1
    yaw = 0.0 if digits < 0 else _grid(math.atan2(R[1, 0], R[0, 0]), min(digits, ANGLE_DECIMALS))
    c, s = cos_sin(yaw, 0.0)
    pitch = math.atan2(-R[2, 0], c * R[0, 0] + s * R[1, 0])
    roll = math.atan2(s * R[0, 2] - c * R[1, 2], c * R[1, 1] - s * R[0, 1])
    return (_grid(roll), _grid(pitch), yaw)


def _grid(angle: float, decimals: int = ANGLE_DECIMALS) -> float:
    rounded = round(angle, decimals) + 0.0
    quarter = round(rounded / (math.pi / 2))
    exact = quarter * (math.pi / 2)
    return exact if abs(rounded - exact) * 10**decimals <= 1 else rounded


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
        q[0], q[1:] = cross[i], (R[i] + R[:, i]) / (4 * top)
        q[k] = top
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
    if not math.isfinite(length) or length < ROUNDING:
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
    return rotation_rpy(rpy_of(rotation), tolerance)


class Poses:
    """A forest of named frames; the empty name is the model's own frame.

    Parameters
    ----------
    where
        The file, for messages.
    """

    def __init__(self, where: str) -> None:
        self.where = where
        self._frames: dict[str, tuple[str, Array]] = {}

    def add(self, name: str, parent: str, placement: Array) -> None:
        """Place a frame in another one, which may be added later."""
        if name in self._frames:
            raise RobotError(f"{self.where}: two links, joints or frames are named '{name}'; names must be unique")
        self._frames[name] = (parent, placement)

    def _chain(self, name: str) -> list[tuple[str, Array]]:
        """The frames from ``name`` to the model, each with the placement of ``name`` in it."""
        chain, placement = [(name, np.eye(4))], np.eye(4)
        while name:
            if name not in self._frames:
                raise RobotError(
                    f"{self.where}: there is no frame '{name}'{near(name, self._frames)} "
                    f"(frames: {listed(self._frames)})"
                )
            parent, step = self._frames[name]
            placement = step @ placement + 0.0
            if any(parent == seen for seen, _ in chain):
                raise RobotError(f"{self.where}: frame '{parent}' is placed relative to itself")
            chain.append((parent, placement))
            name = parent
        return chain

    def relative(self, frame: str, other: str) -> Array:
        """Placement of ``other`` in ``frame``, through their nearest common frame (exact where one holds the other)."""
        up = dict(self._chain(frame))
        for name, placement in self._chain(other):
            if name not in up:
                continue
            here = up[name]
            if np.array_equal(here, np.eye(4)):
                return placement
            back = here[:3, :3].T
            result = transform(back, -back @ here[:3, 3]) @ placement
            result[:3, :3] = snapped(result[:3, :3], ROUNDING)
            result[:3, 3] = np.where(np.abs(result[:3, 3]) < ROUNDING, 0.0, result[:3, 3])
            return result
        raise AssertionError("the model's frame is common to all")

    def carrier(self, name: str, links: Collection[str], base: str) -> str:
        """The link that a frame moves with: the first one above it, else the base."""
        for parent, _ in self._chain(name)[1:]:
            if parent in links:
                return parent
        return base


#: An angle this close to a multiple of pi/2, but not close enough to count as one, looks like one that was printed with
#: three decimals or more [rad].
PRINTED = 5e-4


def angle_notes(angles: Sequence[tuple[str, float]], tolerance: float) -> list[str]:
    """A note on the angles [rad], each with what it is of, that look like multiples of pi/2 printed with few digits."""
    offs = [(abs(x - round(x / (math.pi / 2)) * (math.pi / 2)), what, x) for what, x in angles if abs(x) > 1.0]
    found = [entry for entry in offs if tolerance < entry[0] < PRINTED]
    if not found:
        return []
    off, what, angle = max(found)
    more = "" if len(found) == 1 else f", {len(found) - 1} more at most as far"
    need = 10.0 ** math.ceil(math.log10(off))
    return [
        f"{what}: {angle!r} is {off:.1e} rad from a multiple of pi/2{more}; if that is meant, read the file "
        f"with an angle tolerance of {need:.0e}"
    ]


def degrees_slip(value: float) -> bool:
    """Whether an angle given in degrees looks like radians: +-pi/2, +-pi, +-2 pi to three decimals."""
    return any(abs(abs(value) - k * math.pi / 2) < PRINTED for k in (1, 2, 3, 4))
