"""What a problem may be given: bounds on expressions and physical quantities of links, and the cone of consistency.

They are read off the graph, entry by entry. ``<`` counts as ``<=``: a closed set has the same optimum.

`Constraint` is any CasADi expression; only its structure is used. Constraints on a physical quantity of links have
equivalent rows that a solver handles better. No other module depends on which kinds there are.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal, TypeAlias, TypeVar, cast

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray

from casid.arrays import Array, read_only
from casid.errors import ProblemError
from casid.expressions import (
    affine_pieces,
    affine_rows,
    alternatives,
    as_function,
    constants,
    evaluate,
    may_hide,
    required_domains,
)
from casid.files import near
from casid.inertia import CONES, MOMENTS, TENSOR_INDEX, ConsistencyCone, mass_index
from casid.retrieval._region import Facts, Quadric, find_quadric
from casid.retrieval._variables import LinkVariables, LinkView, in_unknowns

# ------------------------------------------------------------------ relations

#: Expression, lower and upper bound.
_Bounds: TypeAlias = "tuple[ca.SX, float, float]"
#: Operations that compare, and what to write in place of those that bound nothing.
_ORDERED, _EQUAL = (ca.OP_LE, ca.OP_LT), (ca.OP_EQ,)
_REFUSED = {
    ca.OP_NE: "'!=' leaves out a single value, which no solver can see; write either(label, a <= b - gap, "
    "a >= b + gap)",
    ca.OP_OR: "'or' joins no bounds; write either(label, here, there)",
    ca.OP_NOT: "'not' bounds nothing; write the opposite relation",
}
_LOGIC = (*_ORDERED, *_EQUAL, *_REFUSED, ca.OP_AND)
#: Longest label made of an expression.
_LONGEST = 60


def relation(expression: ca.SX, what: str) -> tuple[ca.SX, Array, Array] | None:
    """Expressions with lower and upper bounds that a relation is, shapes (k, 1), (k,), (k,); None if it is no relation.

    A number on either side becomes the bound; of two expressions their difference is bounded by 0. Relations of one
    expression are joined.

    Raises
    ------
    ProblemError
        For a relation that bounds nothing (``!=``, a disjunction, a negation), that does not depend on anything, or
        that is part of arithmetic.
    """
    function = ca.Function("relation", ca.symvar(expression), [expression])
    if not expression.is_constant() and not any(
        function.instruction_id(k) in _LOGIC for k in range(function.n_instructions())
    ):
        return None
    joined: dict[int, _Bounds] = {}
    for entry in range(expression.numel()):
        for side, low, high in _read(expression[entry], what):
            _, lower, upper = joined.get(side.element_hash(), (side, -np.inf, np.inf))
            joined[side.element_hash()] = side, max(lower, low), min(upper, high)
    sides, lows, highs = zip(*joined.values(), strict=True)
    return ca.vertcat(*sides), np.array(lows), np.array(highs)


def _read(entry: ca.SX, what: str) -> Iterator[_Bounds]:
    if entry.is_constant():
        raise ProblemError(
            f"{what}: a relation is always {bool(float(entry))}, whatever the unknowns are: leave it out"
        )
    operation = entry.op()
    if operation in _REFUSED:
        raise ProblemError(f"{what}: {_REFUSED[operation]}")
    if operation == ca.OP_AND:
        yield from _read(entry.dep(0), what)
        yield from _read(entry.dep(1), what)
        return
    if operation not in (*_ORDERED, *_EQUAL):
        raise ProblemError(
            f"{what}: a comparison within arithmetic bounds nothing; compare the whole expression "
            "(a <= casadi.if_else(condition, b, c)), or write either(label, here, there)"
        )
    left, right = entry.dep(0), entry.dep(1)
    if left.is_constant():
        yield right, float(left), float(left) if operation in _EQUAL else np.inf
    elif right.is_constant():
        yield left, float(right) if operation in _EQUAL else -np.inf, float(right)
    else:
        yield left - right, 0.0 if operation in _EQUAL else -np.inf, 0.0


def label_of(expression: ca.SX) -> str:
    """A label that is the relation as it reads, its first entry where there are several, cut where it is long."""
    text = " ".join(str(expression[0]).split()).removeprefix("(").removesuffix(")")
    text = text if len(text) <= _LONGEST else f"{text[: _LONGEST // 2]}...{text[-_LONGEST // 2 + 3 :]}"
    return text if expression.numel() == 1 else f"{text} and {expression.numel() - 1} more"


# ------------------------------------------------------------------ constraints

Side = Literal["lower", "upper", "both"]
C = TypeVar("C", bound="Constraint")
#: Largest number of alternatives of a minimum or maximum, or of branches, that are examined; they double with each.
MOST_ALTERNATIVES = 16
#: What may be missed of a bound, in its own units, wherever it is judged: of a point, and of a constant.
FEASIBILITY = 1e-8


def missed_by(values: ArrayLike, lower: ArrayLike, upper: ArrayLike) -> Array:
    """By how much values leave their bounds, >= 0, entry by entry; infinite for NaN.

    A difference that is the rounding of the bound itself (four units in its last place) is none.
    """
    values, lower, upper = (np.asarray(v, dtype=float) for v in (values, lower, upper))
    with np.errstate(invalid="ignore"):  # an infinite value against an infinite bound is NaN: missed
        below, above = lower - values, values - upper
        size = 4 * np.finfo(float).eps
        below = np.where(below <= size * np.abs(lower), np.minimum(below, 0.0), below)
        above = np.where(above <= size * np.abs(upper), np.minimum(above, 0.0), above)
    excess = np.maximum(np.maximum(below, above), 0.0)
    return np.asarray(np.where(np.isnan(excess), np.inf, excess))


@dataclass(frozen=True, eq=False)
class Setting:
    """What the rows of a constraint depend on beside itself.

    Attributes
    ----------
    x : SX, shape (N, 1)
        All unknowns.
    positive_mass : tuple of bool
        Links whose mass is not negative, by consistency or by a hard bound: only then may a row be multiplied by it.
    triangle : tuple of bool
        Links whose consistency includes the triangle inequality.
    """

    x: ca.SX
    positive_mass: tuple[bool, ...]
    triangle: tuple[bool, ...]

    @property
    def facts(self) -> tuple[Any, ...]:
        """All of it, to be compared."""
        return self.x, self.positive_mass, self.triangle


@dataclass(frozen=True, eq=False)
class ScalarRow:
    """One row of a constraint in its solver form.

    Attributes
    ----------
    expression : SX
        Scalar.
    lower, upper : float
    linear : bool
        Affine in the unknowns.
    entry : int
        Entry of the constraint's expression that it bounds.
    side : str
        Which bound of that entry.
    mass_of : int or None
        The row is this link's mass times the expression less its bound; None: the expression itself.
    domain : bool
        The row is none of the expression's values: where it is negative, the expression is undefined.
    shared : bool
        Of a soft constraint: the rows of this entry share a slack, the largest of them is priced.
    """

    expression: ca.SX
    lower: float
    upper: float
    linear: bool
    entry: int
    side: Side = "both"
    mass_of: int | None = None
    domain: bool = False
    shared: bool = False


class Kept:
    """What is made of an object once, not again for each problem that has it."""

    def kept(self, what: str, *given: Any) -> list[Any]:
        """A list of what was made of the same arguments, to be filled: empty where it is not made yet."""
        store = vars(self).setdefault("_kept", {})
        old, found = store.get(what, ((), None))
        same = all(a is b or (type(a) is tuple and a == b) for a, b in zip(old, given, strict=False))
        if found is None or not same:
            store[what] = given, found = given, []
        return cast(list[Any], found)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_kept"}


@dataclass(frozen=True, eq=False)
class Constraint(Kept):
    """``lower <= expression <= upper``, entry by entry; or a relation, ``Constraint(links[6].mass <= 1)``.

    Attributes
    ----------
    label : str
        Its name in reports and errors; left out, it is the expression as it reads.
    expression : SX
        Also of MX (`LinkVariables.mx`), and without bounds a relation: ``a <= b``, ``a == b``, entry by entry,
        or several with `casadi.logic_and`; ``<`` counts as ``<=``.
        Any CasADi expression of the problem's variables; a matrix is taken entry by entry, by columns. Expressions that
        are linear in the unknowns (mass, first moment, inertia about the origin, pseudo-inertia) keep the problem
        convex and its certificate tight. A bound that jumps (`casadi.if_else`) is allowed: only the branch taken at the
        present point acts on the solver, so use several starts, or ``method="branches"``.
    lower, upper : ndarray
        Infinite where free; given as a number or one an entry.
    weight : float or None
        ``None`` for a hard constraint; for a soft one the price of a unit of violation (exact l1 penalty, by slacks).
    name : str
        What the expression is called in messages, where that is not the label: of a relation without a label its side.

    Raises
    ------
    ProblemError
        For a missing label, an expression that is none of unknowns, a relation that bounds nothing (``!=``, or, not),
        bounds that cross, are NaN or of the wrong number, a constant NaN, or a weight that is not positive.
    """

    label: str
    expression: Any = None  # SX; MX and relations are accepted
    lower: Any = -np.inf  # numbers and arrays alike: broadcast below
    upper: Any = np.inf
    weight: float | None = None
    name: str = ""

    #: Physical quantity that is bounded, in words; empty for a user's expression.
    quantity: ClassVar[str] = ""
    #: Names of the entries in messages.
    entries: ClassVar[Sequence[str]] = ()
    #: Unit of the expression, empty where it is not known, and the step by which `explain` relaxes a bound.
    unit: ClassVar[str] = ""
    step: ClassVar[float] = 1.0
    #: A bound that Algorithm 1 of Gaz et al. (2019) keeps hard (Tables VIII and IX there).
    hard_in_algorithm_1: ClassVar[bool] = False
    #: Soft rows that are convex (`tangent`) and share one slack: the largest of them is priced, not their sum.
    shared: ClassVar[bool] = False
    #: Left out where a shape is softened: the shape's distance counts it.
    part_of_shape: ClassVar[bool] = False
    #: Kept in the program of the convex relaxation although not convex: seldom active, relaxed in the certificate.
    kept_in_relaxation: ClassVar[bool] = False

    def _quantity(self) -> Any:
        """The expression: what was given, or what follows from the fields of a subclass."""
        return self.expression

    def __post_init__(self) -> None:
        vars(self).update(expression=self._quantity())
        unlabelled = isinstance(self.label, ca.SX | ca.MX) and self.expression is None
        if unlabelled:
            given = in_unknowns(self.label, "a constraint")
            vars(self).update(label=label_of(given), expression=given)
        if not isinstance(self.label, str) or not self.label:
            raise ProblemError(f"a constraint needs a label, a non-empty string; got {self.label!r}")
        vars(self).update(expression=in_unknowns(self.expression, f"constraint '{self.label}'"))
        if not isinstance(self.expression, ca.SX):
            raise ProblemError(
                f"constraint '{self.label}': the expression must be a casadi.SX or MX of link quantities, got "
                f"{type(self.expression).__name__}"
            )
        size = int(self.expression.numel())
        if size == 0:
            raise ProblemError(f"constraint '{self.label}': the expression is empty")
        if np.ndim(self.lower) == np.ndim(self.upper) == 0 and (self.lower, self.upper) == (-np.inf, np.inf):
            found = relation(ca.densify(self.expression), f"constraint '{self.label}'")
            if found is not None:
                vars(self).update(zip(("expression", "lower", "upper"), found, strict=True))
                size = int(self.expression.numel())
                if unlabelled and size == 1:
                    vars(self).update(name=label_of(self.expression))
        object.__setattr__(self, "expression", ca.densify(ca.vec(self.expression)))
        if any(np.isnan(value) for value in constants(self.expression)):
            raise ProblemError(f"constraint '{self.label}': the expression contains the constant NaN")
        for side in ("lower", "upper"):
            object.__setattr__(self, side, _bound(getattr(self, side), size, self.label, side))
        crossing = np.flatnonzero((self.lower > self.upper) | (self.lower == np.inf) | (self.upper == -np.inf))
        if crossing.size:
            entry = "" if size == 1 else f" of entry {crossing[0]}"
            raise ProblemError(
                f"constraint '{self.label}': bounds cross: lower{entry} = {self.lower[crossing[0]]:.6g} exceeds "
                f"upper{entry} = {self.upper[crossing[0]]:.6g}"
            )
        if np.isinf(self.lower).all() and np.isinf(self.upper).all():
            raise ProblemError(f"constraint '{self.label}' bounds nothing: give lower, upper or a relation (<=, ==)")
        if self.weight is not None and not (np.isfinite(self.weight) and self.weight > 0):
            raise ProblemError(f"constraint '{self.label}': the weight must be positive and finite, got {self.weight}")

    @property
    def size(self) -> int:
        """Number of scalar entries."""
        return len(self.lower)

    @property
    def hard(self) -> bool:
        """Whether it must hold."""
        return self.weight is None

    def soften(self: C, weight: float) -> C:
        """The same constraint, soft: a unit of violation costs ``weight``."""
        return replace(self, weight=weight)

    def with_expression(self, expression: ca.SX) -> Constraint:
        """The same bounds on another expression of the unknowns."""
        return Constraint(self.label, expression, self.lower, self.upper, self.weight, self.name)

    def violation(self, value: ArrayLike) -> float:
        """Largest amount by which a value of the expression leaves its bounds; infinite if the value is NaN."""
        return float(missed_by(np.asarray(value, dtype=float).reshape(-1), self.lower, self.upper).max())

    def value(self, x: ca.SX, point: Array) -> Array:
        """Value of the expression at a point of the unknowns x, shape (size,): its graph, evaluated in numpy."""
        return evaluate(self.expression, x, point)

    def entry_name(self, entry: int) -> str:
        """Name of an entry in messages."""
        if self.entries:
            return f"{self.label} {self.entries[entry]}"
        return self.name or self.label if self.size == 1 else f"{self.label}[{entry}]"

    def unit_of(self, entry: int) -> str:
        """Unit of an entry of the expression, empty where it is not known."""
        return self.unit

    def bound_text(self, entry: int, side: Side) -> str:
        """A bound in words: ``link3 mass <= 4 kg``."""
        name, unit = self.entry_name(entry), f" {self.unit_of(entry)}".rstrip()
        lower, upper = self.lower[entry], self.upper[entry]
        if side == "lower" or (side == "both" and np.isinf(upper)):
            return f"{name} >= {lower:.6g}{unit}"
        if side == "upper" or np.isinf(lower):
            return f"{name} <= {upper:.6g}{unit}"
        return f"{lower:.6g} <= {name} <= {upper:.6g}{unit}"

    # ------------------------------------------------------------------ what a solver and a certificate use

    def solver_rows(self, setting: Setting) -> tuple[ScalarRow, ...]:
        """Rows for the solver, equivalent to the bounds wherever the problem's other constraints hold.

        By the structure of each entry, where a subclass knows no better. Affine: linear. Linear over a mass that is
        not negative, ``e = f/m``, and hard: ``f - m bound``, linear. Otherwise the expression as it is.
        A bound on a minimum or maximum that requires all of its parts is one on each of them, where these are affine or
        linear over the mass: ``fmax(a, b) <= bound`` is ``a <= bound`` and ``b <= bound``. Hard: further rows where the
        expression would be undefined unseen (`casid.expressions._intervals`).
        """
        found = self.kept("rows", *setting.facts)
        if not found:
            found.append(tuple(self.own_rows(setting)))
        return cast(tuple[ScalarRow, ...], found[0])

    def own_rows(self, setting: Setting) -> Iterable[ScalarRow]:
        """`solver_rows`, made anew; by the structure, where a subclass has none that a solver handles better."""
        forms = affine_rows(self.expression, setting.x)
        hides = self.hard and not all(forms) and may_hide(as_function(self.expression, setting.x))
        for entry in range(self.size):
            low, high = float(self.lower[entry]), float(self.upper[entry])
            if not (np.isfinite(low) or np.isfinite(high)):
                continue
            expression = self.expression[entry]
            if forms[entry] is not None:
                yield ScalarRow(expression, low, high, True, entry)
                continue
            # a soft row stays as it is: its weight prices the expression, not the expression times a mass
            form = self.quadric(entry, setting) if self.hard else None
            over_mass = _linear_over_mass(form, low, high, entry, setting)
            if over_mass:
                yield from over_mass
            elif self.hard:
                yield from _parts(expression, low, high, entry, setting)
            else:
                yield from _largest(expression, low, high, entry, setting)
            if hides:
                yield from domain_rows(expression, entry, setting.x)

    def quadric(self, entry: int, setting: Setting) -> Quadric | None:
        """The quadratic form of one link's parameters that an entry is, times a power of the link's mass, if it is."""
        return find_quadric(self.expression[entry], setting.x, len(setting.positive_mass))

    def tangent(self, entry: int, x: ca.SX, point: Array) -> Array | None:
        """Slope of a soft row that is convex and homogeneous in x, shape (N,): it is nowhere above it; else None."""
        return None

    def add_facts(self, facts: Facts) -> None:
        """Add what the constraint, if hard, implies for the links' regions."""

    def with_secants(self, com: Array) -> tuple[Constraint, tuple[ca.SX, ...]]:
        """An outer approximation of a hard constraint over boxes of the centres of mass, shape (n, 3, 2).

        Returns
        -------
        The constraint without what is approximated, and rows that must be >= 0 in its place.
        """
        return self, ()

    def moved(self, x: ca.SX, to: ca.SX, links: Sequence[LinkView]) -> Constraint:
        """The same constraint on other expressions ``to`` in place of the unknowns x, and on their links."""
        return self.with_expression(ca.substitute(self.expression, x, to))


@dataclass(frozen=True, eq=False)
class ObjectivePart(Constraint):
    """What the greatest of some expressions exceeds its floor by: an objective's price beside its squares."""

    shared = True

    def with_expression(self, expression: ca.SX) -> ObjectivePart:
        """See `Constraint.with_expression`."""
        return replace(self, expression=expression)


#: Names of the notions of physical consistency.
ConsistencyKind = Literal["full", "semi", "none"]

#: Default margin of physical consistency, ``J >= margin 1`` (SI units), and its largest share of the second moments
#: ``tr(Sigma)`` that a body of the link's bounds can have: links of grams and millimetres get a smaller one.
DEFAULT_MARGIN, MARGIN_SHARE = 1e-6, 1e-4


@dataclass(frozen=True)
class PhysicalConsistency:
    """A link's cone and margin.

    Attributes
    ----------
    link : int
    name : str
        Of the link.
    cone : ConsistencyCone
        `Full` (J >= margin 1: positive mass, positive inertia and the triangle inequality; Wensing 2018), `Semi` (6x6
        spatial inertia ``[[L, S(l)'], [S(l), m 1]] >= margin 1``: the first two only; Sousa 2014, eq. 3.18-3.21) or
        `Free` (any numbers); also by name.
    margin : float

    Raises
    ------
    ProblemError
        For an unknown name, or a margin that is negative or not finite.
    """

    link: int
    name: str
    cone: ConsistencyCone
    margin: float = DEFAULT_MARGIN

    def __post_init__(self) -> None:
        object.__setattr__(self, "cone", consistency_cone(self.cone, f"link '{self.name}'"))
        if not (np.isfinite(self.margin) and self.margin >= 0):
            raise ProblemError(f"link '{self.name}': the margin must be finite and >= 0, got {self.margin}")

    @property
    def label(self) -> str:
        """Name in reports."""
        return f"{self.name} {self.cone.matrix_name}"

    @property
    def constrains(self) -> bool:
        """Whether it restricts the link's parameters."""
        return self.cone.constrains


def scaled_margin(second_moment: float) -> float:
    """Default margin of a link whose ``tr(Sigma)`` about its centre is of this size [kg.m^2], infinite if not known."""
    return float(min(DEFAULT_MARGIN, MARGIN_SHARE * second_moment))


def consistency_cone(cone: ConsistencyCone | str, where: str) -> ConsistencyCone:
    """The cone of a name, or the cone itself."""
    if not isinstance(cone, str):
        return cone
    if cone not in CONES:
        raise ProblemError(f"{where}: unknown consistency '{cone}'{near(cone, CONES)}; known: {', '.join(CONES)}")
    return CONES[cone]


#: What may be handed over as constraints: one, a relation (``mass <= 3``), or any nesting of several.
Constraints: TypeAlias = "Constraint | PhysicalConsistency | ca.SX | ca.MX | Iterable[Constraints]"


def flattened(given: Any, where: str) -> Iterator[Any]:
    """Every constraint of any nesting, relations read."""
    if isinstance(given, Constraint | PhysicalConsistency):
        yield given
    elif isinstance(given, ca.SX | ca.MX):
        yield Constraint(given)  # type: ignore[arg-type]
    elif isinstance(given, Iterable) and not isinstance(given, str | bytes | np.ndarray):
        for entry in given:
            yield from flattened(entry, where)
    else:
        raise ProblemError(
            f"{where}: a constraint must be a Constraint or a relation (mass <= 3), got {type(given).__name__}"
        )


def soften(constraint: Constraint | Iterable[Constraint], weight: float) -> Any:
    """The same constraint, or all of several, soft: a unit of violation costs ``weight`` (exact l1 penalty).

    The unit is that of the expression, except for a centre of mass, in a box or a shape (kg.m: mass times the distance
    outside, ``l - m lower >= 0`` of a box; a shape's distance counts once, the convex cone about it is kept convex) and
    for bounds of an inertia (kg^2.m^2: that of ``m (I - lower) >= 0``), whose solver forms are softened.
    """
    if isinstance(constraint, Constraint | ca.SX | ca.MX):
        return next(flattened(constraint, "soften")).soften(weight)
    return tuple(one.soften(weight) for one in flattened(constraint, "soften") if not one.part_of_shape)


def domain_rows(expression: ca.SX, entry: int, x: ca.SX) -> Iterator[ScalarRow]:
    """Rows >= 0 of a scalar expression's domain that its value does not show."""
    required = required_domains(expression, x)
    forms = affine_rows(ca.vertcat(*required), x) if required else ()
    for row, form in zip(required, forms, strict=True):
        if ca.depends_on(row, x):
            yield ScalarRow(row, 0.0, np.inf, form is not None, entry, "lower", domain=True)


def _over_mass(numerator: ca.SX, mass: ca.SX, low: float, high: float, entry: int, link: int) -> Iterator[ScalarRow]:
    """``low <= numerator / mass <= high`` of a mass that is not negative, as linear rows."""
    if np.isfinite(low):
        yield ScalarRow(numerator - low * mass, 0.0, np.inf, True, entry, "lower", link)
    if np.isfinite(high):
        yield ScalarRow(high * mass - numerator, 0.0, np.inf, True, entry, "upper", link)


def _linear_over_mass(form: Quadric | None, low: float, high: float, entry: int, setting: Setting) -> list[ScalarRow]:
    """Linear rows of a form that is linear over a mass that is not negative, times that mass; none for another."""
    if form is None or form.power != 2 or not form.linear or not setting.positive_mass[form.link]:
        return []
    mass = setting.x[mass_index(form.link)]
    return list(_over_mass(form.numerator(setting.x), mass, low, high, entry, form.link))


def _parts(expression: ca.SX, low: float, high: float, entry: int, setting: Setting) -> list[ScalarRow]:
    """Rows of an expression that is neither affine nor linear over a mass: minima and maxima taken apart."""
    split: list[ScalarRow] = []
    whole: Side | None = "both"
    for upper, bound in ((False, low), (True, high)):
        rows = _required(expression, bound, upper, entry, setting) if np.isfinite(bound) else None
        if rows is not None:
            split += rows
            low, high = (low, np.inf) if upper else (-np.inf, high)
            whole = "lower" if np.isfinite(low) else "upper" if np.isfinite(high) else None
    return split if whole is None else [*split, ScalarRow(expression, low, high, False, entry, whole)]


def _required(
    expression: ca.SX, bound: float, upper: bool, entry: int, setting: Setting, soft: bool = False
) -> list[ScalarRow] | None:
    """Linear rows of all that an upper bound on a maximum or a sum of maxima requires (a lower one: of minima).

    None where a part is not linear. The largest violation of the rows is that of the bound only where none is
    multiplied by a mass and no alternative is left out: a soft bound has no other rows.
    """
    sign, low, high = (1.0, -np.inf, bound) if upper else (-1.0, bound, np.inf)
    pieces = affine_pieces(sign * expression, setting.x)
    options: tuple[ca.SX, ...] = () if pieces is None else (sign * ca.vertcat(*pieces),)
    if pieces is None and not soft:
        options = alternatives(expression, setting.x, MOST_ALTERNATIVES, upper)
    possible = [part for option in options if (part := _unsettled(option, setting.x, low, high)) is not None]
    if any(not part.numel() for part in possible):
        return []  # a constant meets the bound, whatever x is
    if len(possible) != 1:
        return None
    found: list[ScalarRow] = []
    for part, form in zip(ca.vertsplit(possible[0]), affine_rows(possible[0], setting.x), strict=True):
        rows = [ScalarRow(part, low, high, True, entry, "upper" if upper else "lower")]
        if form is None:
            quadric = find_quadric(part, setting.x, len(setting.positive_mass))
            rows = _linear_over_mass(quadric, low, high, entry, setting)
        if not rows:
            return None
        found += rows
    return found


def _largest(expression: ca.SX, low: float, high: float, entry: int, setting: Setting) -> list[ScalarRow]:
    """Rows of a soft bound on one side: linear ones, the largest of which is missed by what it is; else itself."""
    upper = bool(np.isinf(low))
    one_sided = upper or np.isinf(high)
    rows = _required(expression, high if upper else low, upper, entry, setting, soft=True) if one_sided else None
    if not rows:
        return [ScalarRow(expression, low, high, False, entry)]
    return [replace(row, shared=True) for row in rows]


def _unsettled(rows: ca.SX, x: ca.SX, low: float, high: float) -> ca.SX | None:
    """The rows that depend on x; None where a constant one is not within the bounds."""
    live, _, values = constant_rows(rows, x)
    return rows[live] if (missed_by(values, low, high) <= FEASIBILITY).all() else None


def constant_rows(rows: ca.SX, x: ca.SX) -> tuple[list[int], list[int], Array]:
    """Places of the rows that depend on x, those of the others, and the values of these."""
    live = [i for i in range(rows.numel()) if ca.depends_on(rows[i], x)]
    still = [i for i in range(rows.numel()) if i not in live]
    return live, still, evaluate(rows[still], x, np.zeros(x.numel())) if still else np.zeros(0)


def _bound(value: ArrayLike, size: int, label: str, side: str) -> NDArray[np.float64]:
    try:
        array = np.asarray(value, dtype=float).reshape(-1)
    except (TypeError, ValueError):
        raise ProblemError(f"constraint '{label}': {side} bound must be a number or an array of numbers") from None
    if array.size not in (1, size):
        raise ProblemError(f"constraint '{label}': expected 1 or {size} {side} bounds, got {array.size}")
    if np.isnan(array).any():
        raise ProblemError(f"constraint '{label}': {side} bound is NaN")
    return read_only(np.full(size, array[0]) if array.size == 1 else array)


# ------------------------------------------------------------------ bounds on physical quantities

#: What `sensible_bounds` assumes where a description has no bounds: kg a link, times the nominal mass, radius [m].
LARGEST_MASS, NOMINAL_TIMES, SMALLEST_RADIUS = 100.0, 4.0, 1.0
_AXES = "xyz"


@dataclass(frozen=True, eq=False)
class LinkConstraint(Constraint):
    """Bounds on a physical quantity of links: the expression follows from the links and cannot be replaced.

    Attributes
    ----------
    links : tuple of LinkView
        Links that the quantity belongs to.
    """

    expression: ca.SX = field(init=False)
    links: tuple[LinkView, ...] = ()

    def _rows_over_mass(self, numerators: ca.SX, setting: Setting) -> Iterable[ScalarRow]:
        """Rows of numerators over the first link's mass, where that is not negative; priced as such where soft."""
        link = self.links[0]
        if not setting.positive_mass[link.index]:
            yield from super().own_rows(setting)
            return
        for entry, (low, high) in enumerate(zip(self.lower.tolist(), self.upper.tolist(), strict=True)):
            yield from _over_mass(numerators[entry], link.mass, low, high, entry, link.index)

    def moved(self, x: ca.SX, to: ca.SX, links: Sequence[LinkView]) -> Constraint:
        """See `Constraint.moved`: the same quantity of other links."""
        return replace(self, links=tuple(links[link.index] for link in self.links))


@dataclass(frozen=True, eq=False)
class TotalMass(LinkConstraint):
    """``lower <= sum of the links' masses <= upper`` [kg]; of one link or of several."""

    quantity: ClassVar[str] = "total mass"
    unit: ClassVar[str] = "kg"
    step: ClassVar[float] = 0.1

    def _quantity(self) -> ca.SX:
        return ca.SX(ca.sum1(ca.vertcat(*[link.mass for link in self.links])))

    def add_facts(self, facts: Facts) -> None:
        facts.total_within(self.links, float(self.lower[0]), float(self.upper[0]))


@dataclass(frozen=True, eq=False)
class MassBounds(TotalMass):
    """``lower <= m <= upper`` [kg] of one link."""

    quantity: ClassVar[str] = "mass"
    hard_in_algorithm_1: ClassVar[bool] = True

    def add_facts(self, facts: Facts) -> None:
        facts.within("mass", self.links[0], float(self.lower[0]), float(self.upper[0]))


def mass_bounds(link: LinkView, lower: float | None = None, upper: float | None = None) -> MassBounds:
    """``lower <= m <= upper`` [kg]; bounds not given are those of the robot description."""
    own = link.bounds.mass
    low, high = own[0] if lower is None else lower, own[1] if upper is None else upper
    return MassBounds(f"{link.name} mass", low, high, links=(link,))


def total_mass(
    links: LinkVariables | Iterable[LinkView], lower: float = 0.0, upper: float = np.inf, label: str = "total mass"
) -> TotalMass:
    """``lower <= sum of the links' masses <= upper`` [kg] (Gaz et al. 2019, eq. 30); of all links or of some."""
    return TotalMass(label, lower, upper, links=tuple(links))


@dataclass(frozen=True, eq=False)
class ComBox(LinkConstraint):
    """``lower <= c <= upper`` [m], axis by axis; for the solver linear: ``l - m lower >= 0``, ``m upper - l >= 0``."""

    quantity: ClassVar[str] = "centre of mass"
    entries: ClassVar[Sequence[str]] = _AXES
    unit: ClassVar[str] = "m"
    step: ClassVar[float] = 0.01
    hard_in_algorithm_1: ClassVar[bool] = True

    def _quantity(self) -> ca.SX:
        return self.links[0].com

    def own_rows(self, setting: Setting) -> Iterable[ScalarRow]:
        return self._rows_over_mass(self.links[0].first_moment, setting)

    def add_facts(self, facts: Facts) -> None:
        facts.within("com", self.links[0], self.lower, self.upper)


def com_box(
    link: LinkView, lower: ArrayLike | None = None, upper: ArrayLike | None = None, label: str | None = None
) -> ComBox:
    """``lower <= c <= upper`` [m], axis by axis, in the link frame; bounds not given are those of the description.

    Linear for the solver: ``l - m lower >= 0``.
    """
    own = link.bounds.com
    low, high = own[:, 0] if lower is None else lower, own[:, 1] if upper is None else upper
    return ComBox(label or f"{link.name} com", low, high, links=(link,))


@dataclass(frozen=True, eq=False)
class GyrationBound(LinkConstraint):
    """``tr(Sigma) / m <= radius^2`` [m^2]; for the solver linear, ``radius^2 m - tr(L)/2 >= 0``."""

    quantity: ClassVar[str] = "extent"
    unit: ClassVar[str] = "m^2"
    step: ClassVar[float] = 0.01

    def _quantity(self) -> ca.SX:
        return ca.trace(self.links[0].inertia) / 2 / self.links[0].mass

    def own_rows(self, setting: Setting) -> Iterable[ScalarRow]:
        return self._rows_over_mass(ca.trace(self.links[0].inertia) / 2, setting)

    def add_facts(self, facts: Facts) -> None:
        facts.reach_below(self.links[0], float(self.upper[0]))


def gyration_bound(link: LinkView, radius: float) -> GyrationBound:
    """``tr(Sigma) / m <= radius^2`` [m^2]: the mean square distance of a link's mass from the link-frame origin.

    Linear for the solver, ``tr(L)/2 <= radius^2 m``. A generous radius excludes no real body, keeps what the data do
    not determine within reason, and gives the certificate a bounded region.

    Raises
    ------
    ProblemError
        If the radius is not positive and finite.
    """
    if not (np.isfinite(radius) and radius > 0):
        raise ProblemError(f"constraint '{link.name} extent': the radius must be positive and finite, got {radius}")
    return GyrationBound(f"{link.name} extent", upper=radius**2, links=(link,))


@dataclass(frozen=True, eq=False)
class InertiaBounds(LinkConstraint):
    """Bounds on ``Ixx Ixy Ixz Iyy Iyz Izz`` [kg.m^2]; for the solver ``m (L - bound) - steiner``, no division."""

    quantity: ClassVar[str] = "inertia"
    entries: ClassVar[Sequence[str]] = tuple(_AXES[i] + _AXES[j] for i, j in TENSOR_INDEX)
    unit: ClassVar[str] = "kg.m^2"
    step: ClassVar[float] = 0.01
    hard_in_algorithm_1: ClassVar[bool] = True
    kept_in_relaxation: ClassVar[bool] = True

    def _quantity(self) -> ca.SX:
        tensor = self.links[0].inertia_com
        return ca.vertcat(*[tensor[i, j] for i, j in TENSOR_INDEX])

    def own_rows(self, setting: Setting) -> Iterable[ScalarRow]:
        """Rows for the solver, those that the triangle inequality implies left out.

        With J > 0 the diagonal of I is positive and ``|Ixy| <= Izz / 2``, so that non-positive lower bounds of the
        diagonal, and bounds of ``Ixy`` beyond half the upper bound of ``Izz``, are redundant.
        """
        link = self.links[0]
        if not setting.positive_mass[link.index]:
            yield from super().own_rows(setting)
            return
        implied = setting.triangle[link.index] and self.hard
        sides: tuple[tuple[Side, float, float], ...] = ("lower", 0.0, np.inf), ("upper", -np.inf, 0.0)
        for entry, (i, j) in enumerate(TENSOR_INDEX):
            for side, low, high in sides:
                bound = float(getattr(self, side)[entry])
                if np.isfinite(bound) and not (implied and self._implied(entry, bound, side)):
                    row = link.mass * (link.inertia[i, j] - bound) - _steiner(link, i, j)
                    yield ScalarRow(row, low, high, False, entry, side, link.index)

    def _implied(self, entry: int, bound: float, side: Side) -> bool:
        i, j = TENSOR_INDEX[entry]
        if i == j:
            return side == "lower" and bound <= 0
        reach = self.upper[MOMENTS[3 - i - j]] / 2
        return bool(abs(bound) >= reach and (bound <= 0 if side == "lower" else bound >= 0))

    def quadric(self, entry: int, setting: Setting) -> Quadric:
        i, j = TENSOR_INDEX[entry]
        square = np.zeros((3, 3))
        if i == j:
            square[[a for a in range(3) if a != i], [a for a in range(3) if a != i]] = -1.0
        else:
            square[i, j] = square[j, i] = 0.5
        return Quadric(self.links[0].index, 1, np.eye(10)[entry], square)

    def add_facts(self, facts: Facts) -> None:
        facts.within("inertia_com", self.links[0], self.lower, self.upper)

    def with_secants(self, com: NDArray[np.float64]) -> tuple[Constraint, tuple[ca.SX, ...]]:
        """Upper bounds of the diagonal as secants ``ly^2/m <= (a + b) ly - a b m``; products of inertia left out."""
        link = self.links[0]
        diagonal = np.isin(np.arange(6), MOMENTS)
        lower, rows = np.where(diagonal, self.lower, -np.inf), []
        for axis, entry in enumerate(MOMENTS):
            across = [a for a in range(3) if a != axis]
            box = com[link.index]
            if np.isfinite(self.upper[entry]) and np.isfinite(box[across]).all():
                steiner = sum(
                    (box[a].sum() * link.first_moment[a] - box[a].prod() * link.mass for a in across), ca.SX(0)
                )
                rows.append(self.upper[entry] - (link.parameters[entry] - steiner))
        if not np.isfinite(lower).any():
            lower = np.where(diagonal, -1e6, -np.inf)  # a constraint must bound something; inertias are positive
        return replace(self, lower=lower, upper=np.full(6, np.inf)), tuple(rows)


def inertia_bounds(link: LinkView, lower: ArrayLike | None = None, upper: ArrayLike | None = None) -> InertiaBounds:
    """Bounds on ``Ixx Ixy Ixz Iyy Iyz Izz`` about the centre of mass [kg.m^2].

    Lower bounds of the diagonal are convex. Upper ones are not, ``m (Lxx - upper) <= ly^2 + lz^2``; over a CoM box the
    certificate replaces them by the secant ``ly^2/m <= (a + b) ly - a b m``.
    """
    own = link.bounds.inertia_com
    low, high = own[:, 0] if lower is None else lower, own[:, 1] if upper is None else upper
    return InertiaBounds(f"{link.name} inertia", low, high, links=(link,))


def _steiner(link: LinkView, i: int, j: int) -> ca.SX:
    """Mass times the Steiner term of entry ij."""
    moment = link.first_moment
    if i != j:
        return -moment[i] * moment[j]
    return sum((moment[a] ** 2 for a in range(3) if a != i), ca.SX(0))


def robot_bounds(variables: LinkVariables) -> tuple[Constraint, ...]:
    """All bounds that the robot description gives: masses, centres of mass, inertias, total mass."""
    constraints: list[Constraint] = []
    for link in variables.links:
        own = link.bounds
        makers = (own.mass, mass_bounds), (own.com, com_box), (own.inertia_com, inertia_bounds)
        constraints += [make(link) for known, make in makers if np.isfinite(known).any()]
    lower, upper = variables.robot.total_mass
    bounded = lower > 0 or np.isfinite(upper)
    return (*constraints, *([total_mass(variables, lower, upper)] if bounded else ()))


def sensible_bounds(
    variables: LinkVariables, heaviest: float | None = None, radius: float | None = None
) -> tuple[Constraint, ...]:
    """`robot_bounds`, and generous limits of mass and extent for links that it leaves unbounded.

    Parameters
    ----------
    variables
        Of the problem.
    heaviest
        Mass that no link exceeds whose mass the description does not limit [kg], or four times its nominal mass where
        that is more. Default: 1 kg, or 100 kg where the nominal mass is not known; no limit where that of the total
        mass bounds each link.
    radius
        Of gyration about the link frame's origin [m]. Default: 1 m, or twice the length of the robot's longest
        placement.
    """
    robot = variables.robot
    if radius is None:
        lengths = [np.linalg.norm(p[:3, 3]) for joint in robot.joints for p in (joint.placement, joint.link_placement)]
        radius = max(SMALLEST_RADIUS, 2.0 * float(max(lengths)))
    limited = heaviest is None and np.isfinite(robot.total_mass[1])
    found = {constraint.label: constraint for constraint in robot_bounds(variables)}
    for view, link in zip(variables.links, robot.links, strict=True):
        own: list[Constraint] = [gyration_bound(view, radius)]
        if not limited and not np.isfinite(view.bounds.mass[1]):  # in place of a lower bound alone, of the same label
            nominal = None if link.inertial is None else NOMINAL_TIMES * link.inertial.mass
            least = heaviest if heaviest is not None else LARGEST_MASS if nominal is None else 1.0
            own.append(mass_bounds(view, max(float(view.bounds.mass[0]), 0.0), max(least, nominal or 0.0)))
        found.update((constraint.label, constraint) for constraint in own)
    return tuple(found.values())
