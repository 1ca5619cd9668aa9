"""The unknowns of a retrieval problem, in physical terms: what a user writes objectives and constraints in."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, TypeAlias
from weakref import WeakValueDictionary

import casadi as ca
import numpy as np

from casid.arrays import Array
from casid.description import LinkBounds, Robot
from casid.errors import ProblemError, UnknownNameError
from casid.files import listed, near
from casid.inertia import link_slice, standard_names, standard_size, tensor

#: Of the entries of a link's inertia, by columns, among its parameters.
_PLACES = tensor(range(6)).astype(int).ravel().tolist()
#: Bounds of all unknowns, shape (N,) each, and of quotients of two of them.
Box: TypeAlias = "tuple[Array, Array, dict[tuple[int, int], Array]]"
#: Symbols of `LinkVariables.mx` -> the unknowns that they stand for.
_STAND_FOR: WeakValueDictionary[int, LinkVariables] = WeakValueDictionary()


class UnknownVariableError(ProblemError, UnknownNameError):
    """A link, unknown or interval that a problem does not have."""


@dataclass(frozen=True, eq=False)
class LinkView:
    """One link's unknowns as expressions of the ten standard parameters: SX, or MX in a view of MX symbols.

    Attributes
    ----------
    name : str
        Name of the link in the robot description.
    index : int
        Position among the robot's moving links.
    parameters : SX, shape (10, 1)
        ``Lxx Lxy Lxz Lyy Lyz Lzz lx ly lz m``.
    bounds : LinkBounds
        A-priori bounds that the robot description gives for this link.
    """

    name: str
    index: int
    parameters: ca.SX
    bounds: LinkBounds = field(repr=False)

    @property
    def mass(self) -> ca.SX:
        """Mass m [kg]."""
        return self.parameters[9]

    @property
    def first_moment(self) -> ca.SX:
        """First moment l = m c, shape (3, 1) [kg.m]; linear in the unknowns."""
        return self.parameters[6:9]

    @property
    def com(self) -> ca.SX:
        """Centre of mass c = l / m in the link frame, shape (3, 1) [m]."""
        return self.first_moment / self.mass

    @property
    def inertia(self) -> ca.SX:
        """Inertia L about the link-frame origin, shape (3, 3) [kg.m^2]; linear in the unknowns."""
        return ca.reshape(self.parameters[_PLACES], 3, 3)

    @property
    def inertia_com(self) -> ca.SX:
        """Inertia ``I = L - (l'l 1 - l l')/m`` about the centre of mass, shape (3, 3) [kg.m^2].

        Gaz et al. 2019, eq. 26.
        """
        moment = self.first_moment
        return self.inertia - (ca.dot(moment, moment) * ca.DM.eye(3) - moment @ moment.T) / self.mass

    @property
    def pseudo_inertia(self) -> ca.SX:
        """Pseudo-inertia ``J = [[tr(L)/2 1 - L, l], [l', m]]``, shape (4, 4); linear in the unknowns (Wensing 2018)."""
        inertia = self.inertia
        sigma = ca.trace(inertia) / 2 * ca.DM.eye(3) - inertia
        moment = self.first_moment
        return ca.vertcat(ca.horzcat(sigma, moment), ca.horzcat(moment.T, self.mass))


@dataclass(frozen=True, eq=False)
class LinkVariables:
    """All unknowns of a problem; iterate over it, or index it by a link's position or name.

    Attributes
    ----------
    robot : Robot
    x : SX, shape (N, 1)
        The standard parameters ``Lxx1 ... m<n>``, then the extras.
    links : tuple of LinkView
    extras : mapping of str to (float, float)
        Further scalar unknowns (friction, rotor inertia) and their bounds, infinite where free.
    parameters : mapping of str to float
        Values of numbers that are no unknowns: data, bounds, lengths that change from one solve to the next
        (`Problem.at`) and that the optimum can be differentiated in (`Solution.derivative`).
    p : SX, shape (P, 1)
        Their symbols.
    """

    robot: Robot
    x: ca.SX
    links: tuple[LinkView, ...]
    extras: Mapping[str, tuple[float, float]]
    parameters: Mapping[str, float] = field(default_factory=dict)
    p: ca.SX = field(default_factory=lambda: ca.SX(0, 1))

    def __repr__(self) -> str:
        more = f", with {listed(self.extras)}" if self.extras else ""
        return f"LinkVariables({self.size} unknowns of {listed(link.name for link in self.links)}{more})"

    def over(self, x: Any) -> LinkVariables:
        """The same quantities of other expressions in place of the unknowns, shape (N, 1): SX, MX or numbers."""
        views = tuple(replace(link, parameters=x[link_slice(link.index)]) for link in self.links)
        return replace(self, x=x, links=views)

    @cached_property
    def mx(self) -> LinkVariables:
        """The same quantities of MX symbols; what is written in them is accepted wherever an SX expression is."""
        symbols = ca.MX.sym("x", self.size + self.p.numel())
        view = self.over(symbols[: self.size])
        vars(view).update(p=symbols[self.size :])
        _STAND_FOR[symbols.__hash__()] = self
        vars(view).update(unknowns=self)  # kept as long as the view is
        return view

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "mx"}  # symbols do not travel

    def __iter__(self) -> Iterator[LinkView]:
        return iter(self.links)

    def __len__(self) -> int:
        return len(self.links)

    def __getitem__(self, key: int | str) -> LinkView:
        if not isinstance(key, str):
            return self.links[key]
        known = {link.name: link for link in self.links}
        if key not in known:
            raise UnknownVariableError(
                f"robot '{self.robot.name}' has no link '{key}'{near(key, known)}; it has {listed(known)}"
            )
        return known[key]

    def __contains__(self, link: object) -> bool:
        return any(link in (own, own.name) for own in self.links)

    @property
    def size(self) -> int:
        """Number N of scalar unknowns."""
        return int(self.x.numel())

    @property
    def standard_size(self) -> int:
        """Number of standard parameters: the extras follow them."""
        return standard_size(len(self.links))

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the unknowns: ``Lxx1 ... m<n>``, then the extras."""
        return standard_names(len(self.links)) + tuple(self.extras)

    def check_symbols(self, expression: ca.SX, what: str) -> None:
        """Refuse an expression of symbols that are not among the unknowns.

        Raises
        ------
        ProblemError
            Naming the first such symbol.
        """
        foreign = ca.Function("free", [self.x], [expression], {"allow_free": True}).free_sx()
        if foreign:
            raise ProblemError(
                f"{what} contains the symbol {foreign[0]}, which is no unknown of the problem; use the quantities of "
                "its own link_variables"
            )

    def with_parameters(self, values: Mapping[str, float]) -> LinkVariables:
        """The same unknowns, with further parameters, or other values of those there are."""
        parameters = {**self.parameters, **values}
        for name, value in parameters.items():
            if name in self.names or not np.isfinite(value):
                raise ProblemError(f"parameter '{name}' = {value}: its name is an unknown's, or it is not finite")
        more = [ca.SX.sym(name) for name in list(parameters)[len(self.parameters) :]]
        return replace(self, parameters=parameters, p=ca.vertcat(self.p, *more) if more else self.p)

    def parameter(self, name: str) -> ca.SX:
        """The symbol of the parameter of that name, to be written into objectives and constraints."""
        return self.p[_place(name, self.parameters, "parameter")]

    def settled(self, expression: ca.SX) -> ca.SX:
        """The expression with the parameters' values in place of their symbols."""
        if not self.parameters or not ca.depends_on(expression, self.p):
            return expression
        return ca.substitute(expression, self.p, ca.SX(ca.DM([float(v) for v in self.parameters.values()])))

    def extra(self, name: str) -> ca.SX:
        """The scalar unknown of that name, e.g. ``fv1``."""
        return self.x[self.standard_size + _place(name, self.extras, "extra unknown")]


def _place(name: str, known: Iterable[str], what: str) -> int:
    """Place of a name among those known."""
    names = [*known]
    if name not in names:
        raise UnknownVariableError(f"there is no {what} '{name}'{near(str(name), names)}; there are {listed(names)}")
    return names.index(name)


def link_variables(
    robot: Robot, extras: Mapping[str, tuple[float, float]] | None = None, parameters: Mapping[str, float] | None = None
) -> LinkVariables:
    """Unknowns of a problem about a robot.

    Parameters
    ----------
    robot
        Its moving links, in the order of its joints, contribute ten standard parameters each.
    extras
        Further scalar unknowns with bounds, e.g. ``{"fv1": (0, inf), "fc1": (0, inf), "fo1": (-inf, inf)}``; they
        follow the standard parameters.
    parameters
        Names and values of data, bounds and lengths that are to be varied: ``links.parameter("r1")``.

    Raises
    ------
    ProblemError
        If an extra's or parameter's name is taken, a parameter is not finite, or its bounds cross or are NaN.
    """
    extras = dict(extras or {})
    names = standard_names(len(robot.joints))
    for name, (lower, upper) in extras.items():
        if name in names:
            raise ProblemError(f"extra unknown '{name}' has the name of a standard parameter")
        if np.isnan(lower) or np.isnan(upper) or lower > upper:
            raise ProblemError(f"extra unknown '{name}': bounds [{lower}, {upper}] cross or are NaN")
    x = ca.vertcat(*[ca.SX.sym(name) for name in (*names, *extras)])
    links = tuple(LinkView(link.name, k, x[link_slice(k)], link.bounds) for k, link in enumerate(robot.links))
    return LinkVariables(robot, x, links, extras).with_parameters(parameters or {})


def in_unknowns(expression: Any, what: str) -> Any:
    """An MX expression of the quantities of `LinkVariables.mx`, written in the unknowns; anything else as it is.

    Functions of scalars are inlined, others are called (`casadi.interpolant`).

    Raises
    ------
    ProblemError
        If it has other symbols.
    """
    if not isinstance(expression, ca.MX):
        return expression
    symbols = ca.symvar(expression)
    known: list[Any] = [_STAND_FOR.get(symbol.__hash__()) for symbol in symbols]
    foreign = [symbol for symbol, variables in zip(symbols, known, strict=True) if variables is None] or symbols[1:]
    if foreign:
        raise ProblemError(
            f"{what} contains the symbol {foreign[0]}, which is no unknown of the problem; write it in the quantities "
            "of its own link_variables(...).mx"
        )
    if not symbols:
        return ca.SX(ca.evalf(expression))
    return ca.Function("of_x", symbols, [expression]).call([ca.vertcat(known[0].x, known[0].p)])[0]
