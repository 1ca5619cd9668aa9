"""The ten standard parameters of a link: their order, meaning, conversions and physical consistency.

Order (Sousa 2014): ``Lxx Lxy Lxz Lyy Lyz Lzz lx ly lz m`` with

* ``L`` the inertia tensor about the **link-frame origin** [kg.m^2] (matrix elements, so ``Lxy = -int x y dm``),
* ``l = m c`` the first moment [kg.m] and ``c`` the centre of mass [m],
* ``m`` the mass [kg].

``I`` is the inertia tensor about the centre of mass. Steiner's theorem (Gaz et al. 2019, eq. 26)::

    L = I + m (c'c 1 - c c')

* ``full`` consistency (the default everywhere): pseudo-inertia ``J > 0``, i.e. positive mass, positive definite inertia
  about the centre of mass, and the triangle inequality (Gaz et al. 2019, eq. 11, 16; Wensing et al. 2018).
* ``semi`` consistency: only ``m > 0`` and ``I > 0``, i.e. the 6x6 matrix ``[[L, S(l)'], [S(l), m 1]] > 0``
  (Yoshida and Khalil 2000; Sousa 2014, eq. 3.18-3.21).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from casid.errors import DatasetError

#: Names of a link's ten standard parameters, in order.
STANDARD_NAMES = ("Lxx", "Lxy", "Lxz", "Lyy", "Lyz", "Lzz", "lx", "ly", "lz", "m")
#: Row and column of each of the six tensor entries, in order xx xy xz yy yz zz.
TENSOR_INDEX = ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2))

Vector = NDArray[np.float64]


def standard_names(links: int) -> tuple[str, ...]:
    """Names ``Lxx1 ... m1, Lxx2 ... m<links>`` of the standard parameters of a robot."""
    return tuple(f"{name}{k + 1}" for k in range(links) for name in STANDARD_NAMES)


def tensor(six: ArrayLike) -> Vector:
    """Symmetric 3x3 matrix from its entries ``xx xy xz yy yz zz``."""
    xx, xy, xz, yy, yz, zz = np.asarray(six, dtype=float)
    return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])


def tensor_entries(matrix: ArrayLike) -> Vector:
    """Entries ``xx xy xz yy yz zz`` of a symmetric 3x3 matrix."""
    matrix = np.asarray(matrix, dtype=float)
    return np.array([matrix[i, j] for i, j in TENSOR_INDEX])


def skew(vector: Sequence[float] | Vector) -> Vector:
    """Matrix ``S(v)`` with ``S(v) w = v x w``."""
    x, y, z = vector
    return np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])


def to_standard(mass: float, com: ArrayLike, inertia_com: ArrayLike) -> Vector:
    """Ten standard parameters of a body.

    Parameters
    ----------
    mass
        Mass m [kg].
    com
        Centre of mass c in the link frame, shape (3,) [m].
    inertia_com
        Inertia tensor I about the centre of mass, axes of the link frame, shape (3, 3) [kg.m^2].

    Returns
    -------
    ndarray, shape (10,)
        ``Lxx Lxy Lxz Lyy Lyz Lzz lx ly lz m``.

    Raises
    ------
    DatasetError
        If finite numbers are so large that the parameters are not.
    """
    com, own = np.asarray(com, dtype=float), np.asarray(inertia_com, dtype=float)
    with np.errstate(over="ignore", invalid="ignore"):
        about_origin = own + mass * (com @ com * np.eye(3) - np.outer(com, com))
        result = np.concatenate([tensor_entries(about_origin), mass * com, [mass]])
    if not np.isfinite(result).all() and np.isfinite([mass, *com, *own.ravel()]).all():
        raise DatasetError(f"a body of mass {mass:.3g} kg at {com} m is too large to compute with; SI units?")
    return result


def from_standard(parameters: ArrayLike) -> tuple[float, Vector, Vector]:
    """Mass, centre of mass and inertia about it from the ten standard parameters; inverse of `to_standard`.

    Returns
    -------
    mass : float
        [kg]
    com : ndarray, shape (3,)
        [m]; zeros where the mass is zero, or below 1e-100 kg (the centre of mass is then undefined).
    inertia_com : ndarray, shape (3, 3)
        [kg.m^2]

    Raises
    ------
    DatasetError
        If finite numbers are so large that the tensor is not.
    """
    parameters = np.asarray(parameters, dtype=float)
    mass, first_moment = float(parameters[9]), parameters[6:9]
    com = first_moment / mass if abs(mass) > 1e-100 else np.zeros(3)
    with np.errstate(over="ignore", invalid="ignore"):
        steiner = com @ first_moment * np.eye(3) - np.outer(com, first_moment)
    if not np.isfinite(steiner).all() and np.isfinite(parameters).all():
        raise DatasetError(
            f"a body of mass {mass:.3g} kg with moments {first_moment} kg.m is too large to compute with; SI units?"
        )
    return mass, com, tensor(parameters[:6]) - steiner


def express_in(parameters: ArrayLike, rotation: ArrayLike, translation: ArrayLike) -> Vector:
    """Parameters of the same body in another frame.

    Parameters
    ----------
    parameters
        Ten standard parameters in frame B.
    rotation, translation
        Placement of frame B in frame A, shapes (3, 3) and (3,): ``p_A = R p_B + t``.

    Returns
    -------
    ndarray, shape (10,)
        The standard parameters in frame A. With ``l' = R l``: ``l_A = l' + m t`` and
        ``L_A = R L R' - S(t) S(l') - S(l') S(t) - m S(t) S(t)``; linear in the parameters, so it holds for any of them.
    """
    parameters = np.asarray(parameters, dtype=float)
    rotation, translation = np.asarray(rotation, dtype=float), np.asarray(translation, dtype=float)
    mass = parameters[9]
    moment = rotation @ parameters[6:9]
    shift, rotated = skew(translation), skew(moment)
    inertia = rotation @ tensor(parameters[:6]) @ rotation.T - shift @ rotated - rotated @ shift - mass * shift @ shift
    return np.concatenate([tensor_entries(inertia), moment + mass * translation, [mass]])


def pseudo_inertia(parameters: ArrayLike) -> Vector:
    """Pseudo-inertia J, shape (..., 4, 4), of standard parameters, shape (..., 10)."""
    parameters = np.asarray(parameters, dtype=float)
    return np.reshape(parameters @ PSEUDO_INERTIA_MAP.T, (*parameters.shape[:-1], 4, 4))


def from_pseudo_inertia(matrix: ArrayLike) -> Vector:
    """Ten standard parameters of a symmetric 4x4 pseudo-inertia: ``L = tr(Sigma) 1 - Sigma``."""
    matrix = np.asarray(matrix, dtype=float)
    sigma = matrix[:3, :3]
    return np.concatenate([tensor_entries(np.trace(sigma) * np.eye(3) - sigma), matrix[:3, 3], [matrix[3, 3]]])


def _pseudo_inertia_of(parameters: Vector) -> Vector:
    inertia = tensor(parameters[:6])
    matrix = np.empty((4, 4))
    matrix[:3, :3] = np.trace(inertia) / 2 * np.eye(3) - inertia
    matrix[:3, 3] = matrix[3, :3] = parameters[6:9]
    matrix[3, 3] = parameters[9]
    return matrix


#: Matrix P, shape (16, 10), with ``vec(J) = P pi`` for the ten standard parameters pi of a link.
PSEUDO_INERTIA_MAP: Vector = np.stack([_pseudo_inertia_of(unit).ravel() for unit in np.eye(10)], axis=1)
PSEUDO_INERTIA_MAP.setflags(write=False)


#: Position, in casid's order, of Pinocchio's ``m, mcx, mcy, mcz, Ixx, Ixy, Iyy, Ixz, Iyz, Izz`` (about the origin).
_PINOCCHIO = np.array([9, 6, 7, 8, 0, 1, 3, 2, 4, 5])


def to_pinocchio(parameters: ArrayLike) -> Vector:
    """Pinocchio's ``Inertia.toDynamicParameters`` order: ``m, mc, xx, xy, yy, xz, yz, zz``."""
    return np.asarray(parameters, dtype=float)[..., _PINOCCHIO]


def from_pinocchio(parameters: ArrayLike) -> Vector:
    """Inverse of `to_pinocchio`."""
    return np.asarray(parameters, dtype=float)[..., np.argsort(_PINOCCHIO)]


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
