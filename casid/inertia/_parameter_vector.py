"""The parameters of a robot as one vector with names: what solutions, robots, models and files exchange.

Three orders of the same numbers are in use: link by link (a robot), link by link with each joint's terms behind its
link (a model), all links and then all terms (a retrieval problem). `Parameters` carries its names, so that
`Parameters.in_order` gives any of them without confusion.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from casid.errors import DatasetError, UnknownNameError
from casid.inertia._parameters import STANDARD_NAMES, Vector, from_standard, pseudo_inertia, standard_names

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
    standard: Vector

    def __post_init__(self) -> None:
        object.__setattr__(self, "standard", _frozen(self.standard))

    @property
    def mass(self) -> float:
        """Mass m [kg]."""
        return float(self.standard[9])

    @cached_property
    def com(self) -> Vector:
        """Centre of mass ``c = l / m``, shape (3,) [m]; zeros where the mass is zero."""
        return _frozen(from_standard(self.standard)[1])

    @cached_property
    def inertia_com(self) -> Vector:
        """Inertia I about the centre of mass, shape (3, 3) [kg.m^2]."""
        return _frozen(from_standard(self.standard)[2])

    @cached_property
    def principal_moments(self) -> Vector:
        """Eigenvalues of I, ascending, shape (3,) [kg.m^2]."""
        return _frozen(np.linalg.eigvalsh(self.inertia_com))

    @property
    def pseudo_inertia(self) -> Vector:
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
    values: Vector
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
        object.__setattr__(self, "values", _frozen(values))
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

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> Vector:
        """The values, so that numpy functions take `Parameters` for a vector."""
        return np.array(self.values, dtype=dtype) if copy or dtype else self.values

    # ------------------------------------------------------------------ by name

    def __getitem__(self, name: str) -> float:
        if name not in self._position:
            raise UnknownNameError(f"there is no parameter '{name}'; there are {_summary(self.names)}")
        return float(self.values[self._position[name]])

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
    def standard(self) -> Vector:
        """The standard parameters of all links, ``Lxx1 ... m<n>``, shape (10 n,), read-only."""
        return _frozen(self._take(standard_names(self.n)))

    @cached_property
    def links(self) -> Mapping[str, LinkParameters]:
        """Each link's values by its name, in the order of the links."""
        own = {name: LinkParameters(name, self.standard[link_slice(k)]) for k, name in enumerate(self.link_names)}
        return MappingProxyType(_Links(own))

    @cached_property
    def terms(self) -> Mapping[str, float]:
        """Values of the parameters that are no link's: friction, rotors, springs, ..."""
        return MappingProxyType({name: self[name] for name in self.names if not _STANDARD.fullmatch(name)})

    def in_order(self, of: HasParameterNames | Sequence[str]) -> Vector:
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
        for name, value in changes.items():
            if name not in self._position:
                raise UnknownNameError(f"there is no parameter '{name}'; there are {_summary(self.names)}")
            values[self._position[name]] = value
        return Parameters(self.names, values, self.link_names)

    def _take(self, names: Sequence[str]) -> Vector:
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


def _frozen(values: ArrayLike) -> Vector:
    array = np.array(values, dtype=float)
    array.setflags(write=False)
    return array


def _summary(names: Sequence[str]) -> str:
    if len(names) <= 4:
        return ", ".join(names) or "none"
    return f"{names[0]}, {names[1]} ... {names[-1]} ({len(names)} names)"
