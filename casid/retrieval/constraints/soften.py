"""Hard constraints made soft."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar, overload

from casid.retrieval.constraints.constraint import Constraint

C = TypeVar("C", bound=Constraint)


@overload
def soften(constraint: C, weight: float) -> C: ...
@overload
def soften(constraint: Iterable[Constraint], weight: float) -> tuple[Constraint, ...]: ...
def soften(constraint: Constraint | Iterable[Constraint], weight: float) -> Constraint | tuple[Constraint, ...]:
    """The same constraint, or all of several, soft: a unit of violation costs ``weight`` (exact l1 penalty).

    The unit is that of the expression, except for a centre of mass (kg.m: the violation of ``l - m lower >= 0``) and
    for bounds of an inertia (kg^2.m^2: that of ``m (I - lower) >= 0``), whose solver forms are softened.
    """
    if isinstance(constraint, Constraint):
        return constraint.soften(weight)
    return tuple(one.soften(weight) for one in constraint)
