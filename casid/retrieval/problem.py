"""A retrieval problem: variables, objective and constraints. It is stated here and solved elsewhere."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from casid.errors import ProblemError
from casid.retrieval.constraints import DEFAULT_MARGIN, ConsistencyKind, Constraint, PhysicalConsistency
from casid.retrieval.objectives import LeastSquares
from casid.retrieval.variables import LinkVariables, link_variables


@dataclass(frozen=True, eq=False)
class Problem:
    """Minimise a sum of squares over physically consistent parameters that obey the constraints.

    Attributes
    ----------
    name : str
    variables : LinkVariables
    objective : LeastSquares
    constraints : tuple of Constraint
        Hard and soft. `PhysicalConsistency` entries may be mixed in; they replace the default of their link.
    consistency : str
        Default of every link: ``full`` (J >= margin 1), ``semi`` (m > 0 and I > 0 only) or ``none``.
    margin : float
        Default margin of consistency.
    notes : mapping
        Anything a report may want to show: sources, names of the coefficients.
    """

    name: str
    variables: LinkVariables
    objective: LeastSquares
    constraints: tuple[Constraint, ...] = ()
    consistency: ConsistencyKind = "full"
    margin: float = DEFAULT_MARGIN
    notes: Mapping[str, Any] = field(default_factory=dict)
    cones: tuple[PhysicalConsistency, ...] = field(default=(), init=False)

    def __post_init__(self) -> None:
        given: Iterable[Any] = tuple(self.constraints)
        cones = [PhysicalConsistency(k.index, k.name, self.consistency, self.margin) for k in self.variables]
        constraints: list[Constraint] = []
        for entry in given:
            if isinstance(entry, PhysicalConsistency):
                cones[entry.link] = entry
            elif isinstance(entry, Constraint):
                constraints.append(entry)
            else:
                raise ProblemError(
                    f"problem '{self.name}': a constraint must be a Constraint with bounds, got "
                    f"{type(entry).__name__}; wrap the expression: Constraint(label, expression, lower, upper)"
                )
        if not isinstance(self.objective, LeastSquares):
            raise ProblemError(
                f"problem '{self.name}': the objective must be a LeastSquares (see casid.retrieval.objectives), got "
                f"{type(self.objective).__name__}"
            )
        columns = self.objective.matrix.shape[1]
        if columns != self.variables.size:
            raise ProblemError(
                f"problem '{self.name}': the objective has {columns} columns for {self.variables.size} variables"
            )
        object.__setattr__(self, "constraints", tuple(constraints))
        object.__setattr__(self, "cones", tuple(cones))
        object.__setattr__(self, "notes", MappingProxyType(dict(self.notes)))
        self._check_labels()
        self._check_expressions()

    def _check_labels(self) -> None:
        labels = [c.label for c in self.constraints]
        twice = sorted({label for label in labels if labels.count(label) > 1})
        if twice:
            raise ProblemError(
                f"problem '{self.name}': two constraints are called '{twice[0]}'; labels must be unique, so give one "
                "of them another (dataclasses.replace(constraint, label=...))"
            )

    def _check_expressions(self) -> None:
        x = self.variables.x
        for constraint in self.constraints:
            unknown = ca.Function("free", [x], [constraint.expression], {"allow_free": True}).free_sx()
            if unknown:
                raise ProblemError(
                    f"constraint '{constraint.label}' contains the symbol {unknown[0]}, which is no variable of "
                    f"problem '{self.name}'; use the quantities of its own link_variables"
                )
            idle = [i for i in range(constraint.size) if not ca.depends_on(constraint.expression[i], x)]
            if idle:
                entry = "" if constraint.size == 1 else f" (entry {idle[0]})"
                raise ProblemError(f"constraint '{constraint.label}'{entry} does not depend on any variable")

    def values(self, x: NDArray[np.float64]) -> dict[str, NDArray[np.float64]]:
        """Value of every constraint's expression at x, by label, from its CasADi function."""
        if not self.constraints:
            return {}
        function = ca.Function("values", [self.variables.x], [c.expression for c in self.constraints])
        results = function.call([ca.DM(x)])
        return {c.label: np.array(v).reshape(-1) for c, v in zip(self.constraints, results, strict=True)}

    def __getstate__(self) -> dict[str, Any]:
        expressions = ca.Function("expressions", [self.variables.x], [c.expression for c in self.constraints])
        plain = [{**c.__dict__, "expression": None} for c in self.constraints]
        return {
            "name": self.name,
            "robot": self.variables.robot,
            "extras": dict(self.variables.extras),
            "objective": self.objective,
            "constraints": plain,
            "expressions": expressions.serialize(),
            "cones": self.cones,
            "consistency": self.consistency,
            "margin": self.margin,
            "notes": dict(self.notes),
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        variables = link_variables(state["robot"], state["extras"])
        expressions = ca.Function.deserialize(state["expressions"]).call([variables.x])
        constraints = tuple(
            Constraint(**{**plain, "expression": expression})
            for plain, expression in zip(state["constraints"], expressions, strict=True)
        )
        for name in ("name", "objective", "cones", "consistency", "margin"):
            object.__setattr__(self, name, state[name])
        object.__setattr__(self, "variables", variables)
        object.__setattr__(self, "constraints", constraints)
        object.__setattr__(self, "notes", MappingProxyType(state["notes"]))

    def without(self, *labels: str) -> Problem:
        """The same problem without some of its constraints."""
        known = {c.label for c in self.constraints}
        for label in labels:
            if label not in known:
                raise ProblemError(f"problem '{self.name}' has no constraint '{label}'")
        kept: Any = (*(c for c in self.constraints if c.label not in labels), *self.cones)
        return replace(self, constraints=kept)
