"""The ten standard parameters of a link, their meaning and physical consistency; those of a robot, by name.

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

Three orders of the same numbers are in use: link by link (a robot), link by link with each joint's terms behind its
link (a model), all links and then all terms (a retrieval problem). `Parameters` carries its names, so that
`Parameters.in_order` gives any of them without confusion.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from types import MappingProxyType
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from casid.arrays import Array, read_only
from casid.errors import DatasetError, UnknownNameError

#: Names of a link's ten standard parameters, in order.
STANDARD_NAMES = ("Lxx", "Lxy", "Lxz", "Lyy", "Lyz", "Lzz", "lx", "ly", "lz", "m")
#: Row and column of each of the six tensor entries, in order xx xy xz yy yz zz.
TENSOR_INDEX = ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2))
#: Places of the moments of inertia xx, yy, zz among them.
MOMENTS = [k for k, (i, j) in enumerate(TENSOR_INDEX) if i == j]


@cache
def standard_names(links: int) -> tuple[str, ...]:
    """Names ``Lxx1 ... m1, Lxx2 ... m<links>`` of the standard parameters of a robot."""
    return tuple(f"{name}{k + 1}" for k in range(links) for name in STANDARD_NAMES)


def tensor(six: ArrayLike) -> Array:
    """Symmetric 3x3 matrix from its entries ``xx xy xz yy yz zz``."""
    xx, xy, xz, yy, yz, zz = np.asarray(six, dtype=float)
    return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])


def tensor_entries(matrix: ArrayLike) -> Array:
    """Entries ``xx xy xz yy yz zz`` of a symmetric 3x3 matrix."""
    matrix = np.asarray(matrix, dtype=float)
    return np.array([matrix[i, j] for i, j in TENSOR_INDEX])


def skew(vector: Sequence[float] | Array) -> Array:
    """Matrix ``S(v)`` with ``S(v) w = v x w``."""
    x, y, z = vector
    return np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])


def to_standard(mass: float, com: ArrayLike, inertia_com: ArrayLike) -> Array:
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


def from_standard(parameters: ArrayLike) -> tuple[float, Array, Array]:
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
    with np.errstate(over="ignore", invalid="ignore"):
        com = first_moment / mass if mass else np.zeros(3)
        steiner = com @ first_moment * np.eye(3) - np.outer(com, first_moment)
    if not np.isfinite(steiner).all() and np.isfinite(parameters).all():
        raise DatasetError(
            f"a body of mass {mass:.3g} kg with moments {first_moment} kg.m is too large to compute with; SI units?"
        )
    return mass, com, tensor(parameters[:6]) - steiner


def express_in(parameters: ArrayLike, rotation: ArrayLike, translation: ArrayLike) -> Array:
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


def pseudo_inertia(parameters: ArrayLike) -> Array:
    """Pseudo-inertia J, shape (..., 4, 4), of standard parameters, shape (..., 10)."""
    parameters = np.asarray(parameters, dtype=float)
    return np.reshape(parameters @ PSEUDO_INERTIA_MAP.T, (*parameters.shape[:-1], 4, 4))


def from_pseudo_inertia(matrix: ArrayLike) -> Array:
    """Ten standard parameters of a symmetric 4x4 pseudo-inertia: ``L = tr(Sigma) 1 - Sigma``."""
    matrix = np.asarray(matrix, dtype=float)
    sigma = matrix[:3, :3]
    return np.concatenate([tensor_entries(np.trace(sigma) * np.eye(3) - sigma), matrix[:3, 3], [matrix[3, 3]]])


def _pseudo_inertia_of(parameters: Array) -> Array:
    inertia = tensor(parameters[:6])
    matrix = np.empty((4, 4))
    matrix[:3, :3] = np.trace(inertia) / 2 * np.eye(3) - inertia
    matrix[:3, 3] = matrix[3, :3] = parameters[6:9]
    matrix[3, 3] = parameters[9]
    return matrix


#: Matrix P, shape (16, 10), with ``vec(J) = P pi`` for the ten standard parameters pi of a link.
PSEUDO_INERTIA_MAP = read_only(np.stack([_pseudo_inertia_of(unit).ravel() for unit in np.eye(10)], axis=1))


#: Position, in casid's order, of Pinocchio's ``m, mcx, mcy, mcz, Ixx, Ixy, Iyy, Ixz, Iyz, Izz`` (about the origin).
_PINOCCHIO = np.array([9, 6, 7, 8, 0, 1, 3, 2, 4, 5])


def to_pinocchio(parameters: ArrayLike) -> Array:
    """Pinocchio's ``Inertia.toDynamicParameters`` order: ``m, mc, xx, xy, yy, xz, yz, zz``."""
    return np.asarray(parameters, dtype=float)[..., _PINOCCHIO]


def from_pinocchio(parameters: ArrayLike) -> Array:
    """Inverse of `to_pinocchio`."""
    return np.asarray(parameters, dtype=float)[..., np.argsort(_PINOCCHIO)]


def spatial_inertia(parameters: ArrayLike) -> Array:
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


_STANDARD = re.compile(rf"({'|'.join(STANDARD_NAMES)})([1-9][0-9]{{0,4}})")


class HasParameterNames(Protocol):
    """Anything with an order of parameters, e.g. `casid.Model`."""

    @property
    def parameter_names(self) -> tuple[str, ...]:
        """Names in order."""
        ...


def link_slice(k: int) -> slice:
    """Where the ten standard parameters of link k (from 0) stand in ``Lxx1 ... m<n>``."""
    return slice(len(STANDARD_NAMES) * k, len(STANDARD_NAMES) * (k + 1))


def moment_slice(k: int) -> slice:
    """Where the first moment of link k (from 0) stands in ``Lxx1 ... m<n>``."""
    return slice(len(STANDARD_NAMES) * k + 6, len(STANDARD_NAMES) * k + 9)


def mass_index(k: int) -> int:
    """Where the mass of link k (from 0) stands in ``Lxx1 ... m<n>``."""
    return len(STANDARD_NAMES) * k + 9


def standard_size(links: int) -> int:
    """Number of standard parameters of so many links."""
    return len(STANDARD_NAMES) * links


@dataclass(frozen=True, eq=False)
class LinkParameters:
    """One link's values in its link frame.

    Attributes
    ----------
    name : str
    standard : ndarray, shape (10,)
        Read-only: ``Lxx Lxy Lxz Lyy Lyz Lzz lx ly lz m`` [kg.m^2, kg.m, kg].
    """

    name: str
    standard: Array

    def __post_init__(self) -> None:
        object.__setattr__(self, "standard", read_only(self.standard))

    @property
    def mass(self) -> float:
        """Mass m [kg]."""
        return float(self.standard[9])

    @cached_property
    def com(self) -> Array:
        """Centre of mass ``c = l / m``, shape (3,) [m]; zeros where the mass is zero."""
        return read_only(from_standard(self.standard)[1])

    @cached_property
    def inertia_com(self) -> Array:
        """Inertia I about the centre of mass, shape (3, 3) [kg.m^2]."""
        return read_only(from_standard(self.standard)[2])

    @cached_property
    def principal_moments(self) -> Array:
        """Eigenvalues of I, ascending, shape (3,) [kg.m^2]."""
        return read_only(np.linalg.eigvalsh(self.inertia_com))

    @property
    def pseudo_inertia(self) -> Array:
        """Pseudo-inertia J, shape (4, 4) (Wensing et al. 2018)."""
        return pseudo_inertia(self.standard)

    def __repr__(self) -> str:
        c = ", ".join(f"{1e3 * value:.1f}" for value in self.com)
        return f"LinkParameters({self.name}: {self.mass:.4g} kg, centre of mass ({c}) mm)"


class _Links(dict[str, LinkParameters]):
    """Links by name; a name that is not there raises `UnknownNameError`."""

    def __missing__(self, name: str) -> LinkParameters:
        raise UnknownNameError(f"there is no link '{name}'; there are {_summary(tuple(self))}")


@dataclass(frozen=True, eq=False, repr=False)
class Parameters:
    """Named parameters of a robot: ten standard ones a link and, where there are any, those of joint terms.

    Read-only; ``parameters["m7"]`` is a value, iteration gives the names.

    Parameters
    ----------
    names
        ``Lxx1 ... m<n>`` for links 1 to n without gaps, and names of terms such as ``fv1``; any order.
    values
        Shape (N,), finite, SI units.
    link_names
        Names of the n links; default ``link1 ... link<n>``.

    Raises
    ------
    DatasetError
        If a name appears twice, a value is not finite, or a link has only some of its ten parameters.

    Examples
    --------
    >>> import casid
    >>> parameters = casid.load_robot("kuka_iiwa").parameters
    >>> parameters.links["lwr_arm_1_link"].mass == parameters["m1"]  # doctest: +SKIP
    True
    """

    names: tuple[str, ...]
    values: Array
    link_names: tuple[str, ...] = ()
    _position: Mapping[str, int] = field(init=False)

    def __post_init__(self) -> None:
        names = tuple(str(name) for name in self.names)
        values = np.array(self.values, dtype=float)
        if values.shape != (len(names),):
            raise DatasetError(f"{len(names)} names of parameters, but values of shape {values.shape}")
        position = {name: index for index, name in enumerate(names)}
        if len(position) < len(names):
            twice = next(name for index, name in enumerate(names) if position[name] != index)
            raise DatasetError(f"parameter '{twice}' appears twice")
        bad = np.flatnonzero(~np.isfinite(values))
        if len(bad):
            raise DatasetError(f"parameter '{names[bad[0]]}' is not a finite number: {values[bad[0]]}")
        numbers = [int(match[2]) for match in map(_STANDARD.fullmatch, names) if match]
        links = max(numbers, default=0)
        if len(numbers) < len(STANDARD_NAMES) * links:  # a huge number in a name must not cost memory
            held = set(names)
            gap = next(f"{s}{k}" for k in range(1, links + 1) for s in STANDARD_NAMES if f"{s}{k}" not in held)
            raise DatasetError(f"parameter '{gap}' is missing: each of the {links} links needs all ten of its own")
        link_names = tuple(self.link_names) or tuple(f"link{k + 1}" for k in range(links))
        if len(link_names) != links or len(set(link_names)) != links:
            raise DatasetError(f"expected {links} different names of links, got {', '.join(link_names) or 'none'}")
        object.__setattr__(self, "names", names)
        object.__setattr__(self, "values", read_only(values))
        object.__setattr__(self, "link_names", link_names)
        object.__setattr__(self, "_position", position)

    @classmethod
    def of_links(
        cls, standard: ArrayLike, link_names: Sequence[str] = (), terms: Mapping[str, float] | None = None
    ) -> Parameters:
        """From the standard parameters of all links, shape (10 n,) or (n, 10), and the values of terms by name."""
        inertial = np.ravel(np.asarray(standard, dtype=float))
        links, left = divmod(len(inertial), len(STANDARD_NAMES))
        if left:
            raise DatasetError(f"expected ten standard parameters a link, got {len(inertial)} numbers")
        extra = dict(terms or {})
        values = np.concatenate([inertial, np.array(list(extra.values()), dtype=float)])
        return cls((*standard_names(links), *extra), values, tuple(link_names))

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> Array:
        """The values, so that numpy functions take `Parameters` for a vector."""
        return np.array(self.values, dtype=dtype) if copy or dtype else self.values

    # ------------------------------------------------------------------ by name

    def __getitem__(self, name: str) -> float:
        return float(self.values[self._at(name)])

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __len__(self) -> int:
        return len(self.names)

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and name in self._position

    def keys(self) -> tuple[str, ...]:
        """The names, so that ``dict(parameters)`` works."""
        return self.names

    def to_dict(self) -> dict[str, float]:
        """Names and values."""
        return dict(zip(self.names, self.values.tolist(), strict=True))

    # ------------------------------------------------------------------ parts and orders

    @property
    def n(self) -> int:
        """Number of links."""
        return len(self.link_names)

    @cached_property
    def standard(self) -> Array:
        """The standard parameters of all links, ``Lxx1 ... m<n>``, shape (10 n,), read-only."""
        return read_only(self._take(standard_names(self.n)))

    @cached_property
    def links(self) -> Mapping[str, LinkParameters]:
        """Each link's values by its name, in the order of the links."""
        own = {name: LinkParameters(name, self.standard[link_slice(k)]) for k, name in enumerate(self.link_names)}
        return MappingProxyType(_Links(own))

    @cached_property
    def terms(self) -> Mapping[str, float]:
        """Values of the parameters that are no link's: friction, rotors, springs, ..."""
        return MappingProxyType({name: self[name] for name in self.names if not _STANDARD.fullmatch(name)})

    def in_order(self, of: HasParameterNames | Sequence[str]) -> Array:
        """Values in the order of a model, or of any list of names.

        Parameters
        ----------
        of
            A `casid.Model` (or anything with ``parameter_names``), or the names themselves.

        Returns
        -------
        ndarray, shape (N,)
            Terms that these parameters do not hold are zero. Shapes of friction laws (``stribeck.width3``) have no
            place in it: they are part of a model's terms.

        Raises
        ------
        DatasetError
            If a link's parameter is missing, or one of these parameters has no place in the order.
        """
        names = tuple(of) if isinstance(of, Sequence) else of.parameter_names
        wanted = set(names)
        for name in self.names:
            if name not in wanted and "." not in name:
                raise DatasetError(
                    f"parameter '{name}' has no place among {_summary(names)}: the robot has another number of links, "
                    "or the model lacks that joint term"
                )
        for name in names:
            if name not in self._position and _STANDARD.fullmatch(name):
                raise DatasetError(f"parameter '{name}' is missing; there are {_summary(self.names)}")
        return np.array([self.values[self._position[n]] if n in self._position else 0.0 for n in names])

    def only(self, names: Sequence[str]) -> Parameters:
        """The same parameters without those that are not among these names."""
        kept = tuple(name for name in self.names if name in set(names))
        return Parameters(kept, self._take(kept), self.link_names)

    def with_values(self, changes: Mapping[str, float]) -> Parameters:
        """The same parameters with some values changed; UnknownNameError for a name that is not there."""
        values = self.values.copy()
        values[[self._at(name) for name in changes]] = list(changes.values())
        return Parameters(self.names, values, self.link_names)

    def _at(self, name: str) -> int:
        if name not in self._position:
            raise UnknownNameError(f"there is no parameter '{name}'; there are {_summary(self.names)}")
        return self._position[name]

    def _take(self, names: Sequence[str]) -> Array:
        return self.values[[self._position[name] for name in names]]

    def __repr__(self) -> str:
        mass = sum(self[f"m{k + 1}"] for k in range(self.n))
        terms = f", {len(self.terms)} of joint terms ({_summary(tuple(self.terms))})" if self.terms else ""
        return f"Parameters({len(self)}: {self.n} links, {mass:.4g} kg{terms})"

    def __getstate__(self) -> dict[str, object]:
        return {"names": self.names, "values": self.values, "link_names": self.link_names}

    def __setstate__(self, state: dict[str, object]) -> None:
        for name, value in state.items():
            object.__setattr__(self, name, value)
        self.__post_init__()


def _summary(names: Sequence[str]) -> str:
    if len(names) <= 4:
        return ", ".join(names) or "none"
    return f"{names[0]}, {names[1]} ... {names[-1]} ({len(names)} names)"
