"""Re-check of a solution, away from CasADi: every bound and cone in plain numpy, in physical units."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from casid.inertia import from_standard, pseudo_inertia, spatial_inertia, tensor_entries
from casid.retrieval.constraints import Constraint
from casid.retrieval.problem import Problem

Array = NDArray[np.float64]


def violations(problem: Problem, x: Array) -> dict[str, float]:
    """Largest violation of each constraint and cone at x, by label; 0 where it holds, infinite where it is NaN.

    Mass [kg], centre of mass [m], inertia [kg.m^2] and cones (smallest eigenvalue against the margin) are evaluated
    with numpy. A user's expression is evaluated through its own CasADi function, in its own units.
    """
    result = {}
    users = problem.values(x)
    for constraint in problem.constraints:
        value = _physical_value(constraint, x)
        result[constraint.label] = constraint.violation(users[constraint.label] if value is None else value)
    for cone in problem.cones:
        if cone.kind != "none":
            ten = x[10 * cone.link : 10 * cone.link + 10]
            matrix = pseudo_inertia(ten) if cone.kind == "full" else spatial_inertia(ten)
            smallest = float(np.linalg.eigvalsh(matrix)[0]) if np.isfinite(matrix).all() else -np.inf
            result[cone.label] = max(0.0, cone.margin - smallest)
    standard = 10 * len(problem.variables)
    for k, (name, (low, high)) in enumerate(problem.variables.extras.items()):
        extra = float(x[standard + k])
        result[name] = max(0.0, low - extra, extra - high) if np.isfinite(extra) else np.inf
    return result


def hard_violation(problem: Problem, amounts: dict[str, float]) -> float:
    """Largest violation, soft constraints aside."""
    soft = {c.label for c in problem.constraints if c.weight is not None}
    return max((value for label, value in amounts.items() if label not in soft), default=0.0)


def _physical_value(constraint: Constraint, x: Array) -> Array | None:
    if constraint.quantity == "total_mass":
        return np.array([sum(x[10 * k + 9] for k in constraint.links)])
    if not constraint.quantity:
        return None
    if constraint.quantity == "gyration":
        ten = x[10 * constraint.links[0] : 10 * constraint.links[0] + 10]
        return np.array([(ten[0] + ten[3] + ten[5]) / 2 / ten[9]])
    mass, com, inertia = from_standard(x[10 * constraint.links[0] : 10 * constraint.links[0] + 10])
    return {"mass": np.array([mass]), "com": com, "inertia_com": tensor_entries(inertia)}[constraint.quantity]
