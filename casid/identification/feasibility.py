"""Are given base parameters those of a real robot, and which are the nearest that are (Sousa 2014, Sec. 3.3 and 3.4)?

Both questions are one convex problem, ``minimise ||K pi - beta||^2`` over consistent pi. Its certified lower bound
decides: a positive one proves infeasibility, a consistent pi at distance zero proves feasibility.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from casid.description import Robot
from casid.dynamics import BaseParameters, Model
from casid.errors import DatasetError
from casid.identification.regression import Bounds, _complement, extra_bounds
from casid.inertia import standard_names
from casid.retrieval.constraints import ConsistencyKind, consistency_cone
from casid.retrieval.load import ConstraintBuilder
from casid.retrieval.methods.solve import solve
from casid.retrieval.objectives import LeastSquares
from casid.retrieval.problem import Problem
from casid.retrieval.solution import Solution
from casid.retrieval.solver.options import SolveOptions
from casid.retrieval.variables import link_variables

Array = NDArray[np.float64]

#: Distance, relative to the size of the base parameters, below which given values count as reached.
REACHED = 1e-6


@dataclass(frozen=True, eq=False)
class Feasibility:
    """Verdict on given base parameters, and their nearest feasible correction.

    Attributes
    ----------
    verdict : str
        ``feasible``: consistent parameters with these base parameters were found; ``infeasible``: proven that there are
        none; ``undecided``: within numerical tolerance of the boundary.
    given, corrected : ndarray, shape (rank,)
        Base parameters as given, and the nearest feasible ones.
    distance : float
        Euclidean norm of their difference.
    proven_distance : float
        Certified lower bound of the distance of any feasible base parameters.
    parameters : ndarray
        Consistent parameters of the corrected ones, in the order of ``names``.
    names : tuple of str
    solution : Solution
    """

    verdict: str
    given: Array
    corrected: Array
    distance: float
    proven_distance: float
    parameters: Array
    names: tuple[str, ...]
    solution: Solution

    @property
    def feasible(self) -> bool:
        """Whether the verdict is ``feasible``."""
        return self.verdict == "feasible"


def nearest_feasible(
    robot: Robot,
    forms: ArrayLike,
    values: ArrayLike,
    *,
    names: Sequence[str] | None = None,
    extras: Bounds | None = None,
    consistency: ConsistencyKind = "full",
    margin: float | None = None,
    constraints: ConstraintBuilder | None = None,
    options: SolveOptions | None = None,
) -> Feasibility:
    """Nearest feasible base parameters, with a verdict on the given ones.

    Parameters
    ----------
    robot
        Its links contribute ten parameters each.
    forms
        Base parameters as linear forms of the parameters ``names``, shape (b, N).
    values
        Given base parameters, shape (b,).
    names
        Names of the N parameters: standard ones, and those of ``extras``; default: the standard parameters.
    extras
        Bounds of parameters that are not inertial.
    consistency, margin, constraints
        As in `feasible_regression`; constraints default to none.
    """
    forms, values = np.array(forms, dtype=float), np.array(values, dtype=float)
    names = tuple(standard_names(robot.n) if names is None else names)
    if forms.shape != (len(values), len(names)):
        raise DatasetError(f"forms: expected shape ({len(values)}, {len(names)}), got {forms.shape}")
    if not np.isfinite(values).all():
        raise DatasetError(f"values: base parameter {int(np.flatnonzero(~np.isfinite(values))[0]) + 1} is not finite")
    bounds = dict(extras or {})
    free = [name for name, (low, high) in bounds.items() if np.isneginf(low) and np.isposinf(high)]
    kept = [*standard_names(robot.n), *(name for name in bounds if name not in free)]
    unknown = set(names) - set(kept) - set(free)
    if unknown:
        raise DatasetError(f"names: {sorted(unknown)[0]} is neither a standard parameter nor among the extras")
    columns = {name: forms[:, k] for k, name in enumerate(names)}
    zero = np.zeros(len(values))
    matrix = np.stack([columns.get(name, zero) for name in kept], axis=1)
    freedom = np.stack([columns.get(name, zero) for name in free], axis=1) if free else np.zeros((len(values), 0))
    Q = _complement(freedom)
    variables = link_variables(robot, {name: bounds[name] for name in kept if name in bounds})
    rows = () if constraints is None else constraints(variables)
    objective = LeastSquares.compressed(Q.T @ matrix, Q.T @ values)
    problem = Problem(f"{robot.name} feasibility", variables, objective, rows, consistency, margin)
    solution = solve(problem, options=options or SolveOptions(initial_gradient=1e3))
    x = solution.x
    rest = values - matrix @ x
    loose = np.linalg.lstsq(freedom, rest, rcond=1e-10)[0] if free else np.zeros(0)
    corrected = matrix @ x + freedom @ loose
    found = {**dict(zip(kept, x, strict=True)), **dict(zip(free, loose, strict=True))}
    distance = float(np.linalg.norm(corrected - values))
    proven = float(np.sqrt(max(solution.lower_bound, 0.0)))
    reached = distance <= REACHED * max(float(np.linalg.norm(values)), 1e-12)
    verdict = "feasible" if reached else "infeasible" if proven > 0.5 * distance else "undecided"
    parameters = np.array([found[name] for name in names])
    return Feasibility(verdict, values, corrected, distance, proven, parameters, names, solution)


def feasibility_test(
    model: Model,
    beta: ArrayLike,
    *,
    base: BaseParameters | None = None,
    bounds: Bounds | None = None,
    consistency: ConsistencyKind = "full",
    margin: float | None = None,
    constraints: ConstraintBuilder | None = None,
    options: SolveOptions | None = None,
) -> Feasibility:
    """Verdict on the base parameters of a model, its friction and rotors included (Sousa 2014, Sec. 3.3).

    Parameters
    ----------
    model
    beta
        Values of ``model.base``, shape (rank,).
    bounds
        Of the terms' parameters, see `extra_bounds`.
    """
    base = base or model.base
    return nearest_feasible(
        model.robot,
        base.K,
        beta,
        names=base.parameter_names,
        extras=extra_bounds(model, bounds),
        consistency=consistency,
        margin=margin,
        constraints=constraints,
        options=options,
    )


#: The nearest correction is the test's second half.
nearest_correction = feasibility_test


def nearest_consistent(parameters: ArrayLike, consistency: ConsistencyKind = "full", margin: float = 1e-9) -> Array:
    """Repair of standard parameters: mass and centre of mass kept, inertia moved as little as possible.

    The inertia about the centre of mass is replaced by the nearest one (Frobenius norm of ``Sigma = tr(I)/2 1 - I``,
    or of I for ``semi``) whose smallest eigenvalue is at least ``margin`` [kg.m^2]. A mass that is not positive
    becomes the margin.

    Parameters
    ----------
    parameters
        Shape (10 n,).

    Returns
    -------
    ndarray, shape (10 n,)
    """
    cone = consistency_cone(consistency, "nearest_consistent")
    return np.concatenate(
        [cone.project(ten, margin) for ten in np.reshape(np.asarray(parameters, dtype=float), (-1, 10))]
    )
