"""A retrieval problem: variables, objective and constraints, and the rows a solver takes. It is solved elsewhere.

A bound on a physical quantity has equivalent forms that a solver handles better: ``l - m lower >= 0`` (linear) for a
centre of mass, ``m (Lxx - upper) <= ly^2 + lz^2`` (no division) for an inertia about it. Each constraint makes its own
(`Constraint.rows`); this module collects them.
"""

from __future__ import annotations

import io
import pickle
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property, lru_cache
from typing import Any, ClassVar, TypeVar, cast

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from casid.arrays import ALIKE, Array
from casid.display import Displayed
from casid.errors import ProblemError
from casid.expressions import (
    Condition,
    NumpyFunction,
    affine_rows,
    as_function,
    conditions,
    exact_value,
    has_conditions,
)
from casid.files import near
from casid.inertia import link_slice, mass_index
from casid.retrieval._objectives import Coefficients, LeastSquares, ObjectiveSum, split_objective
from casid.retrieval._region import Facts, LinkRegion, link_regions, region_box
from casid.retrieval._variables import LinkVariables, in_unknowns
from casid.retrieval.constraints._constraint import (
    Constraint,
    Constraints,
    Kept,
    ObjectivePart,
    PhysicalConsistency,
    ScalarRow,
    Setting,
    Side,
    consistency_cone,
    flattened,
    missed_by,
    scaled_margin,
)

T = TypeVar("T")


@dataclass(frozen=True, eq=False, repr=False)
class Problem(Displayed):
    """Minimise an objective over physically consistent parameters that obey the constraints.

    An objective that is no sum of squares is ``f(x) = ||R x - r||^2 + g(x)``: what g exceeds its floor by is the price
    of a soft constraint ``g(x) <= floor``, the floor being the least value that interval arithmetic allows g within the
    region of the hard constraints. The lower bound is that of any problem with a soft constraint: never below the
    floor, and tight where g is linear. What is reported of a point is the value of the expression as it was stated,
    and a bound counts only as far as its parts do not exceed that (`excess`).

    Attributes
    ----------
    name : str
    variables : LinkVariables
    objective : LeastSquares
        Or any CasADi expression of the unknowns, or a sum of both (``fit - 1e-4 * links[6].mass``).
    constraints : tuple of Constraint
        Hard and soft; any nesting of tuples is flattened. `PhysicalConsistency` entries may be mixed in.
    consistency : ConsistencyCone
        Default of every link: `Full` (J >= margin 1), `Semi` (m > 0 and I > 0 only) or `Free`; or by name, ``full``,
        ``semi``, ``none``.
    margin : float or None
        Default margin of consistency; None: 1e-6, less for links whose bounds are those of a tiny body
        (`casid.retrieval.constraints.scaled_margin`).
    link_consistency : tuple of PhysicalConsistency
        Links with a notion or margin of their own; those found among the constraints are moved here, and replace an
        earlier one of the same link.
    coefficients : Coefficients or None
        What the objective was made from, for reports and for the noise.
    source : str
        Where the numbers come from.
    objective_labels : tuple of str
        Labels of the soft constraints for the parts of an objective that are no sum of squares.
    stated : SX or None
        The objective as it was stated, where that was an expression.
    templates : mapping
        Expressions with parameters, by the constraint's label, "" for the objective: made here from what is given.

    Raises
    ------
    ProblemError
        For anything that is no constraint, labels that occur twice, symbols of other variables, an objective of
        another size, or an expression that the constraints do not bound from below.
    """

    name: str
    variables: LinkVariables
    objective: LeastSquares  # a CasADi expression or a sum of both is accepted
    constraints: Any = ()  # tuple of Constraint; any nesting is accepted
    consistency: Any = "full"  # ConsistencyCone; its name is accepted
    margin: float | None = None
    link_consistency: tuple[PhysicalConsistency, ...] = ()
    coefficients: Coefficients | None = None
    source: str = ""
    objective_labels: tuple[str, ...] = ()
    stated: ca.SX | None = None
    templates: Mapping[str, Any] = field(default_factory=dict)
    cones: tuple[PhysicalConsistency, ...] = field(default=(), init=False)
    #: What its solver solves, for other solvers: stated where that is known (`casid.retrieval._solver`).
    nlp: ClassVar[Callable[[Problem], dict[str, Any]]]
    opti: ClassVar[Callable[[Problem], tuple[ca.Opti, LinkVariables]]]

    def __post_init__(self) -> None:
        own = {entry.link: entry for entry in self.link_consistency}
        constraints: list[Constraint] = []
        for entry in flattened(self.constraints, f"problem '{self.name}'"):
            if isinstance(entry, PhysicalConsistency):
                own[entry.link] = entry
            else:
                constraints.append(entry)
        stated: Any = self.objective
        if isinstance(stated, ObjectiveSum):
            stated = stated.expression(self.variables.x)
        stated = in_unknowns(stated, f"problem '{self.name}': the objective")
        written = {c.label: c.expression for c in constraints} | {"": stated}
        settled = {key: self.variables.settled(e) for key, e in written.items() if isinstance(e, ca.SX)}
        changed = {key: written[key] for key, e in settled.items() if e is not written[key]}
        vars(self).update(templates={**{k: e for k, e in self.templates.items() if k in written}, **changed})
        constraints = [c.with_expression(settled[c.label]) if c.label in changed else c for c in constraints]
        stated = settled.get("", stated)
        whole = {*self.objective_labels} <= {c.label for c in constraints}
        if isinstance(stated, LeastSquares) and not whole and self.stated is not None:
            stated = self.stated  # constraints in place of all others: the objective stays
        if isinstance(stated, ca.SX):  # in place of what was minimised before
            constraints = [c for c in constraints if c.label not in self.objective_labels]
            vars(self).update(objective_labels=(), stated=stated)
        elif not isinstance(stated, LeastSquares):
            raise ProblemError(
                f"problem '{self.name}': the objective must be a casadi.SX expression, or made by least_squares or "
                f"base_parameter_error; got {type(self.objective).__name__}"
            )
        elif stated.matrix.shape[1] != self.variables.size:
            raise ProblemError(
                f"problem '{self.name}': the objective has {stated.matrix.shape[1]} columns for {self.variables.size} "
                "variables"
            )
        stranger = next((link for link in own if link >= len(self.variables)), None)
        if stranger is not None:
            raise ProblemError(f"problem '{self.name}': consistency of link {stranger + 1}, but it has fewer links")
        cone = consistency_cone(self.consistency, f"problem '{self.name}'")
        vars(self).update(consistency=cone, constraints=tuple(constraints), link_consistency=tuple(own.values()))
        default = {k.index: PhysicalConsistency(k.index, k.name, cone, self._margin(k.index)) for k in self.variables}
        vars(self).update(cones=tuple({**default, **own}.values()))
        if self.coefficients is not None and self.coefficients.forms.shape[1] > self.variables.size:
            raise ProblemError(
                f"problem '{self.name}': its coefficients are forms of {self.coefficients.forms.shape[1]} unknowns, it "
                f"has {self.variables.size}"
            )
        self._check_constraints()
        if isinstance(stated, ca.SX):
            self._take(stated)

    def _take(self, expression: ca.SX) -> None:
        """An expression as the objective: its squares, and what is left as prices of soft constraints."""
        x, margins = self.variables.x, [entry.margin if entry.cone.triangle else 0.0 for entry in self.cones]
        region = region_box(self.regions, tuple(self.variables.extras.values()), margins)
        squares, left = split_objective(expression, self.variables, f"problem '{self.name}'", region)
        for part, floor in left:
            pieces = ca.vertcat(*[piece for piece in part.pieces if ca.depends_on(piece, x)])
            forms = [form for form in affine_rows(pieces, x) if form is not None]
            size = max((float(np.abs(form.coefficients).max()) for form in forms), default=1.0)
            unit, label = float(np.exp2(np.round(np.log2(size)))), self.free_label("objective")
            own = ObjectivePart(label, pieces / unit, upper=floor / unit, weight=part.weight * unit)
            squares = replace(squares, constant=squares.constant + part.weight * floor)
            vars(self).update(constraints=(*self.constraints, own), objective_labels=(*self.objective_labels, label))
        vars(self).update(objective=squares)

    def _margin(self, link: int) -> float:
        return scaled_margin(self.facts.second_moment(link)) if self.margin is None else self.margin

    def _check_constraints(self) -> None:
        labels = [c.label for c in self.constraints]
        if len({*labels}) < len(labels):
            twice = min(label for label in labels if labels.count(label) > 1)
            raise ProblemError(
                f"problem '{self.name}': two constraints are called '{twice}'; labels must be unique, so give one "
                "of them another (dataclasses.replace(constraint, label=...))"
            )
        x = self.variables.x
        for constraint in self.constraints:
            checked = constraint.kept("checked", x)
            if not checked:
                self._check_expression(constraint)
                checked.append(True)

    def _check_expression(self, constraint: Constraint) -> None:
        self.variables.check_symbols(constraint.expression, f"constraint '{constraint.label}'")
        for i in range(constraint.size):
            if not ca.depends_on(constraint.expression[i], self.variables.x):
                entry = "" if constraint.size == 1 else f" (entry {i})"
                raise ProblemError(f"constraint '{constraint.label}'{entry} does not depend on any variable")

    def __repr__(self) -> str:
        stated = [c for c in self.constraints if c.label not in self.objective_labels]
        soft = sum(not c.hard for c in stated)
        extras = f", {len(self.variables.extras)} extras" if self.variables.extras else ""
        return (
            f"<Problem '{self.name}': {len(self.variables)} links of '{self.variables.robot.name}'{extras}, "
            f"{len(stated)} constraints{f' ({soft} soft)' if soft else ''}, "
            f"consistency {self.consistency.name}, margin {max(entry.margin for entry in self.cones):g}>"
        )

    # ------------------------------------------------------------------ edits

    def add(self, *more: Constraints) -> Problem:
        """The same problem with further constraints, or relations (``links[6].mass <= 1``); all else stays as it is."""
        return replace(self, constraints=(*self.constraints, *more))

    def with_parameters(self, **values: float) -> Problem:
        """The same problem with further parameters and their values: numbers that are varied, see `at`."""
        return replace(self, variables=self.variables.with_parameters(values))

    def at(self, **values: float) -> Problem:
        """The same problem with other values of its parameters (`with_parameters`, `casid.retrieval.link_variables`).

        Raises
        ------
        ProblemError
            For a name that is none of its parameters.
        """
        for name in values:
            self.variables.parameter(name)
        variables = self.variables.with_parameters(values)
        now = {label: variables.settled(expression) for label, expression in self.templates.items()}
        kept = [c for c in self.constraints if c.label not in self.objective_labels]
        own = tuple(c.with_expression(now[c.label]) if c.label in now else c for c in kept)
        objective: Any = now.get("", self.objective if self.stated is None else self.stated)
        return replace(self, variables=variables, constraints=own, objective=objective, stated=None)

    def without(self, *labels: str) -> Problem:
        """The same problem without some of its constraints.

        Raises
        ------
        ProblemError
            If there is no constraint of such a label, or it is the label of the objective.
        """
        known = {c.label for c in self.constraints} - {*self.objective_labels}
        for label in labels:
            if label not in known:
                if label in self.objective_labels:
                    raise ProblemError(f"problem '{self.name}': '{label}' is its objective, no constraint")
                raise ProblemError(
                    f"problem '{self.name}' has no constraint '{label}'{near(label, known)}; it has "
                    f"{', '.join(sorted(known)) or 'none'}"
                )
        return replace(self, constraints=tuple(c for c in self.constraints if c.label not in labels))

    def below(self, *labels: str) -> Problem:
        """A problem whose optimum is not above this one's: without some constraints, and parts of the objective."""
        kept = tuple(c for c in self.constraints if c.label not in labels)
        left = tuple(label for label in self.objective_labels if label not in labels)
        if left == self.objective_labels:
            return replace(self, constraints=kept)
        return replace(self, constraints=kept, objective_labels=left, stated=None)

    # ------------------------------------------------------------------ the objective's value

    def value(self, x: NDArray[np.float64]) -> float:
        """The objective at x, as it was stated: in rational numbers where rounding would tell, if it is rational."""
        parts = self._parts_value(x)
        if self.stated is None:
            return parts
        own = float(self._stated(np.asarray(x, dtype=float))[0])
        if not abs(own - parts) <= ALIKE * abs(own):
            exact = exact_value(self.stated, self.variables.x, x)
            own = own if exact is None else float(exact)
        return own

    def excess(self, x: NDArray[np.float64]) -> float:
        """By how much the parts that a bound is made from exceed the objective as it was stated, at x, >= 0."""
        return max(self._parts_value(x) - self.value(x), 0.0)

    def _parts_value(self, x: NDArray[np.float64]) -> float:
        prices = self.prices(x)
        return self.objective(x) + sum(prices[label] for label in self.objective_labels)

    @cached_property
    def _stated(self) -> NumpyFunction:
        assert self.stated is not None
        return NumpyFunction(self.stated, self.variables.x)

    def require_squares(self, purpose: str) -> None:
        """Refuse what needs a sum of squares as objective.

        Raises
        ------
        ProblemError
            If the objective is another expression.
        """
        if self.objective_labels:
            raise ProblemError(
                f"problem '{self.name}': {purpose} need a sum of squares as objective, this problem minimises another "
                "expression; state the fit with least_squares or base_parameter_error"
            )

    def free_label(self, text: str) -> str:
        """The text, numbered where a constraint already has it as its label."""
        return unused(text, {c.label for c in self.constraints})

    # ------------------------------------------------------------------ what follows from it

    def _by_bounds(self, what: str, make: Callable[[tuple[Constraint, ...]], T], *given: Any) -> T:
        """What is made of the hard constraints that imply anything for the links' regions, kept with them."""
        bounding = tuple(c for c in self.constraints if c.hard and type(c).add_facts is not Constraint.add_facts)
        found = bounding[0].kept(what, bounding, self.variables.links, *given) if bounding else []
        if not found:
            found.append(make(bounding))
        return cast(T, found[0])

    @cached_property
    def facts(self) -> Facts:
        """What the hard constraints imply for the links."""

        def made(bounding: tuple[Constraint, ...]) -> Facts:
            found = Facts(self.variables)
            for constraint in bounding:
                constraint.add_facts(found)
            return found

        return self._by_bounds("facts", made)

    @cached_property
    def regions(self) -> tuple[LinkRegion, ...]:
        """Limits of every link's parameters."""
        cones = tuple(entry.cone for entry in self.cones)
        return self._by_bounds("regions", lambda _: link_regions(self.facts, cones), cones)

    @cached_property
    def setting(self) -> Setting:
        """What the rows of a constraint may depend on."""
        return Setting(
            self.variables.x,
            tuple(region.positive_mass for region in self.regions),
            tuple(entry.cone.triangle for entry in self.cones),
        )

    @cached_property
    def conditions(self) -> tuple[tuple[str, Condition], ...]:
        """Conditions of the constraints' if-else, each with the label of the first constraint that holds it."""
        found: dict[str, tuple[str, Condition]] = {}
        for constraint in self.constraints:
            own = constraint.kept("conditions", self.variables.x)
            if not own:
                own.append(_conditions(constraint.expression, self.variables.x))
            for condition in own[0]:
                found.setdefault(condition.key, (constraint.label, condition))
        return tuple(found.values())

    @cached_property
    def parts(self) -> tuple[tuple[tuple[int, ...], tuple[Constraint, ...]], ...]:
        """Places and constraints, those apart that depend on parameters: problems at other values share the rest."""
        split = [
            [(k, c) for k, c in enumerate(self.constraints) if (c.label in self.templates) == varied]
            for varied in (False, True)
        ]
        return tuple((tuple(k for k, _ in some), tuple(c for _, c in some)) for some in split if some)

    def values(self, x: NDArray[np.float64]) -> dict[str, NDArray[np.float64]]:
        """Value of every constraint's expression at x, by label, NaN where it is undefined."""
        x, found = np.asarray(x, dtype=float), dict[str, NDArray[np.float64]]()
        for _, some in self.parts:
            function = some[0].kept("values", some, self.variables.x)
            if not function:
                function.append(_values(some, self.variables.x))
            every = function[0](x)
            ends = np.cumsum([c.size for c in some]).tolist()
            found |= {c.label: every[end - c.size : end] for c, end in zip(some, ends, strict=True)}
        return {c.label: found[c.label] for c in self.constraints}

    def undefined(self, x: NDArray[np.float64]) -> str | None:
        """Label of a constraint that has no value at x."""
        return next((label for label, value in self.values(x).items() if not np.isfinite(value).all()), None)

    @cached_property
    def _own_labels(self) -> tuple[dict[PhysicalConsistency, str], dict[str, str]]:
        """Labels of the cones, and of the extras' bounds, among the violations."""
        cones, extras = [entry for entry in self.cones if entry.constrains], [*self.variables.extras]
        texts = [*(entry.label for entry in cones), *extras]
        labels = numbered(texts, [c.label for c in self.constraints])
        return dict(zip(cones, labels, strict=False)), dict(zip(extras, labels[len(cones) :], strict=True))

    def violations(self, x: NDArray[np.float64]) -> dict[str, float]:
        """Largest violation of each constraint, cone and extra's bounds at x, by label; 0 where it holds.

        In the constraint's own units; for a cone the smallest eigenvalue against the margin. Infinite where it is NaN.
        Values are those of CasADi's own function of the expressions, compared with numpy's and with interval arithmetic
        at the point, away from the solver (`casid.expressions._evaluate`); NaN where an expression is undefined. An
        extra or cone of the name of a constraint is numbered.
        """
        x = np.asarray(x, dtype=float)
        values, sizes = self.values(x), [c.size for c in self.constraints]
        result = dict[str, float]()
        if values:
            every = (values.values(), (c.lower for c in self.constraints), (c.upper for c in self.constraints))
            missed = missed_by(*(np.concatenate([*some]) for some in every))
            largest = np.maximum.reduceat(missed, np.cumsum([0, *sizes[:-1]]))
            result.update(zip(values, largest.tolist(), strict=True))
        cones, extras = self._own_labels
        for entry, label in cones.items():
            result[label] = entry.cone.violation(x[link_slice(entry.link)], entry.margin)
        standard = self.variables.standard_size
        for k, (name, (low, high)) in enumerate(self.variables.extras.items()):
            extra = float(x[standard + k])
            result[extras[name]] = max(0.0, low - extra, extra - high) if np.isfinite(extra) else np.inf
        return result

    def hard_violation(self, amounts: Mapping[str, float]) -> float:
        """Largest of some `violations`, soft constraints aside."""
        soft = {c.label for c in self.constraints if not c.hard}
        return max((value for label, value in amounts.items() if label not in soft), default=0.0)

    def met(self, amounts: Mapping[str, float], tolerance: float) -> bool:
        """Whether `violations` are within the tolerance, and every body is physical: half of each margin is kept.

        Without the second, a body of grams and millimetres, whose second moments are no larger than the tolerance,
        could be any matrix.
        """
        bodies = all(amounts[label] <= e.margin / 2 for e, label in self._own_labels[0].items() if e.margin > 0)
        return bodies and self.hard_violation(amounts) <= tolerance

    @cached_property
    def _soft_rows(self) -> tuple[NumpyFunction, Array, Array, Array, list[tuple[str, int]]] | None:
        """Soft constraints' solver rows, their bounds and weights; label and group, of which the largest is priced."""
        rows = [(row, c) for c in self.constraints if not c.hard for row in c.solver_rows(self.setting)]
        if not rows:
            return None
        function = NumpyFunction(ca.vertcat(*[row.expression for row, _ in rows]), self.variables.x)
        low, high = np.array([row.lower for row, _ in rows]), np.array([row.upper for row, _ in rows])
        groups = [0 if c.shared else 1 + row.entry if row.shared else -1 - k for k, (row, c) in enumerate(rows)]
        keys = [(c.label, group) for (_, c), group in zip(rows, groups, strict=True)]
        return function, low, high, np.array([c.weight for _, c in rows], dtype=float), keys

    def prices(self, x: NDArray[np.float64]) -> dict[str, float]:
        """Price of each soft constraint's violation at x: of its solver rows, see `soften`; infinite if undefined."""
        if self._soft_rows is None:
            return {}
        function, low, high, weights, keys = self._soft_rows
        value = function(np.asarray(x, dtype=float))
        prices = np.nan_to_num(weights * np.maximum(np.maximum(low - value, value - high), 0.0), nan=np.inf)
        largest = dict.fromkeys(keys, 0.0)
        for key, price in zip(keys, prices.tolist(), strict=True):
            largest[key] = max(largest[key], price)
        found = dict.fromkeys((label for label, _ in keys), 0.0)
        for (label, _), price in largest.items():
            found[label] += price
        return found

    def penalty(self, x: NDArray[np.float64]) -> float:
        """Price of all soft constraints' violations at x."""
        return sum(self.prices(x).values())

    # ------------------------------------------------------------------ pickling

    def __getstate__(self) -> tuple[tuple[str, ...], tuple[str, ...], str, bytes]:
        """Names of the unknowns and parameters, all expressions as one function of them, and the fields with places."""
        buffer = io.BytesIO()
        writer = _Writer(buffer)
        writer.dump({f.name: getattr(self, f.name) for f in fields(self)})
        function = ca.Function("expressions", [self.variables.x, self.variables.p], writer.expressions)
        return self.variables.names, tuple(self.variables.parameters), str(function.serialize()), buffer.getvalue()

    def __setstate__(self, state: tuple[tuple[str, ...], tuple[str, ...], str, bytes]) -> None:
        *names, function, content = state
        symbols = [ca.vertcat(ca.SX(0, 1), *[ca.SX.sym(name) for name in some]) for some in names]
        vars(self).update(_Reader(io.BytesIO(content), ca.Function.deserialize(function).call(symbols)).load())


class _Writer(pickle.Pickler):
    """Writes the place in `expressions` in place of each expression: CasADi's own cannot be pickled."""

    def __init__(self, file: io.BytesIO) -> None:
        super().__init__(file)
        self.expressions: list[ca.SX] = []

    def persistent_id(self, value: object) -> int | None:
        if not isinstance(value, ca.SX):
            return None
        self.expressions.append(value)
        return len(self.expressions) - 1


class _Reader(pickle.Unpickler):
    """Reads what `_Writer` wrote, with other expressions."""

    def __init__(self, file: io.BytesIO, expressions: list[ca.SX]) -> None:
        super().__init__(file)
        self._expressions = expressions

    def persistent_load(self, place: int) -> ca.SX:
        return self._expressions[place]


def _conditions(expression: ca.SX, x: ca.SX) -> tuple[Condition, ...]:
    """`conditions`, where there are any: to see that there are none is faster."""
    return conditions(expression, x) if has_conditions(expression, x) else ()


def _values(constraints: tuple[Constraint, ...], x: ca.SX) -> NumpyFunction:
    """Of all entries of the constraints."""
    return NumpyFunction(ca.vertcat(*[c.expression for c in constraints]), x)


def unused(text: str, taken: Collection[str]) -> str:
    """The text, numbered where it is taken."""
    found, number = text, 1
    while found in taken:
        number += 1
        found = f"{text} ({number})"
    return found


def numbered(texts: Iterable[str], taken: Iterable[str] = ()) -> list[str]:
    """The texts, numbered where one occurs twice or is taken."""
    known, found = [*taken], list[str]()
    for text in texts:
        found.append(unused(text, [*known, *found]))
    return found


# ------------------------------------------------------------------ solver forms of the constraints


@dataclass(frozen=True)
class Row:
    """Origin of a scalar row: for messages, relaxations and soft weights.

    Attributes
    ----------
    constraint : int
        Place among the problem's constraints; -1 for the bounds of an extra.
    entry : int
        Entry of the constraint's expression.
    weight : float or None
        Of a soft constraint.
    text : str
        The bound in words ("total mass >= 30 kg").
    side : str
        Which bound of the entry.
    mass_of : int or None
        The row is this link's mass times the expression less its bound.
    relaxed : bool
        It only stands for the bound, in other units.
    label : str
        Label of the constraint, or name of the extra.
    group : int or None
        Soft rows of one group share a slack.
    """

    constraint: int
    entry: int
    weight: float | None
    text: str
    side: Side = "both"
    mass_of: int | None = None
    relaxed: bool = False
    label: str = ""
    group: int | None = None

    @classmethod
    def of(cls, index: int, constraint: Constraint, entry: int, side: Side, text: str = "", **more: Any) -> Row:
        """A row that stands for a bound of a constraint, in its words."""
        words = text or constraint.bound_text(entry, side)
        return cls(index, entry, constraint.weight, words, side, label=constraint.label, **more)

    def unit_size(self, x: Array) -> float:
        """What a unit of the bound is in the row, at x: 1, or the mass by which it was multiplied."""
        return 1.0 if self.mass_of is None else float(x[mass_index(self.mass_of)])


@dataclass(frozen=True, eq=False)
class LinearRows:
    """``lower <= matrix x <= upper``, shapes (k, N), (k,), (k,)."""

    matrix: Array
    lower: Array
    upper: Array
    rows: tuple[Row, ...]

    @classmethod
    def joined(cls, *parts: LinearRows) -> LinearRows:
        """The rows of some parts, one after another."""
        return cls(
            np.vstack([part.matrix for part in parts]),
            np.concatenate([part.lower for part in parts]),
            np.concatenate([part.upper for part in parts]),
            tuple(row for part in parts for row in part.rows),
        )


@dataclass(frozen=True, eq=False)
class NonlinearRows(Kept):
    """``lower <= expression(x) <= upper``, k scalar SX expressions."""

    expression: ca.SX
    lower: Array
    upper: Array
    rows: tuple[Row, ...]

    @property
    def size(self) -> int:
        """Number of rows."""
        return len(self.rows)

    def values(self, symbols: ca.SX, x: Array) -> Array:
        """Values at x, shape (k,)."""
        function = self.kept("function", symbols)
        if not function:
            function.append(as_function(self.expression, symbols))
        return np.array(function[0](x)).reshape(-1)

    @classmethod
    def none(cls) -> NonlinearRows:
        """No rows."""
        return cls(ca.SX(0, 1), np.zeros(0), np.zeros(0), ())


def slacks(rows: Sequence[Row]) -> tuple[list[int], list[int], Array]:
    """Places of the soft rows, the slack of each, and what a unit of each slack costs."""
    soft = {i: row for i, row in enumerate(rows) if row.weight is not None}
    keys = [("row", i) if row.group is None else ("group", row.group) for i, row in soft.items()]
    weights = dict(zip(keys, (row.weight for row in soft.values()), strict=True))
    return list(soft), [[*weights].index(key) for key in keys], np.array([*weights.values()], dtype=float)


def split_rows(problem: Problem) -> tuple[LinearRows, NonlinearRows]:
    """All constraints of a problem as scalar rows, linear and nonlinear; rows implied by consistency are left out."""
    x, standard = problem.variables.x, problem.variables.standard_size
    linear, curved = list[LinearRows](), list[NonlinearRows]()
    for at, some in problem.parts:
        found = some[0].kept("split", at, some, *problem.setting.facts)
        if not found:
            found.append(_split(problem.setting, at, some))
        straight, bent = found[0]
        linear.append(straight)
        curved += [bent] if bent.size else []
    extras = [(k, *entry) for k, entry in enumerate(problem.variables.extras.items()) if np.isfinite(entry[1]).any()]
    low, high = np.array([bounds for *_, bounds in extras], dtype=float).reshape(-1, 2).T
    own = tuple(Row(-1, k, None, f"{a:.6g} <= {name} <= {b:.6g}", label=name) for k, name, (a, b) in extras)
    linear.append(LinearRows(np.eye(x.numel())[[standard + k for k, *_ in extras]], low, high, own))
    return LinearRows.joined(*linear), _joined(tuple(curved), x.numel())


def _group(index: int, constraint: Constraint, row: ScalarRow) -> int | None:
    """One number for all rows that share a slack: of a constraint, or of one of its entries."""
    if constraint.hard or not (constraint.shared or row.shared):
        return None
    return index if constraint.shared else (row.entry + 1) * 2**32 + index


def _split(setting: Setting, at: tuple[int, ...], some: tuple[Constraint, ...]) -> tuple[LinearRows, NonlinearRows]:
    """The linear rows of constraints at some places, and the others."""
    rows = []
    for index, constraint in zip(at, some, strict=True):
        for row in constraint.solver_rows(setting):
            text = f"domain of {constraint.entry_name(row.entry)}" if row.domain else ""
            more: dict[str, Any] = {"mass_of": row.mass_of, "group": _group(index, constraint, row)}
            rows.append((row, Row.of(index, constraint, row.entry, row.side, text, **more)))
    straight = _stacked([pair for pair in rows if pair[0].linear])
    function = ca.Function("affine", [setting.x], [ca.jacobian(straight.expression, setting.x), straight.expression])
    slope, offset = (np.array(ca.densify(value)) for value in function(ca.DM.zeros(setting.x.numel())))
    ends = straight.lower - offset[:, 0], straight.upper - offset[:, 0]
    return LinearRows(slope, *ends, straight.rows), _stacked([pair for pair in rows if not pair[0].linear])


def _stacked(rows: list[tuple[ScalarRow, Row]]) -> NonlinearRows:
    """Rows below each other, each with its origin."""
    return NonlinearRows(
        ca.vertcat(ca.SX(0, 1), *[row.expression for row, _ in rows]),
        np.array([row.lower for row, _ in rows], dtype=float),
        np.array([row.upper for row, _ in rows], dtype=float),
        tuple(source for _, source in rows),
    )


@lru_cache(16)
def _joined(parts: tuple[NonlinearRows, ...], size: int) -> NonlinearRows:
    """One and the same for the same parts of so many unknowns: what is made of it is made once."""
    return NonlinearRows(
        ca.vertcat(ca.SX(0, 1), *[part.expression for part in parts]),
        np.concatenate([np.zeros(0), *(part.lower for part in parts)]),
        np.concatenate([np.zeros(0), *(part.upper for part in parts)]),
        tuple(row for part in parts for row in part.rows),
    )
