"""Feasibility of given base parameters, and the nearest feasible ones (Sousa 2014, Sec. 3.3 and 3.4).

Both are one convex problem, ``minimise ||K pi - beta||^2`` over consistent pi. Its certified lower bound
decides: a positive one proves infeasibility, a consistent pi at distance zero proves feasibility.

Where nothing bounds the links, the infimum may lie at bodies without end, and the multipliers of such a solution prove
little. A plane that separates the given parameters from those of all consistent bodies, whatever their size, then gives
the bound (`casid.identification.repair._separating_plane`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from casid.arrays import Array
from casid.description import Robot
from casid.dynamics import Model
from casid.errors import DatasetError
from casid.identification._regression import Bounds, complement, extra_bounds
from casid.identification.repair._separating_plane import ConsistentForms, Plane, energy_shares
from casid.inertia import Parameters, standard_names
from casid.retrieval import (
    ConstraintBuilder,
    LeastSquares,
    ParameterResult,
    Problem,
    Solution,
    SolveOptions,
    link_variables,
)
from casid.retrieval.constraints import ConsistencyKind, PhysicalConsistency, consistency_cone
from casid.retrieval.methods import solve

#: Distance, relative to the size of the base parameters, below which given values count as reached.
REACHED = 1e-6


@dataclass(frozen=True, eq=False)
class Feasibility(ParameterResult):
    """Given base parameters, and their nearest feasible correction.

    Attributes
    ----------
    given, corrected : ndarray, shape (rank,)
        Base parameters as given, and the nearest feasible ones.
    names, values : tuple of str, ndarray
        All inertial parameters and extras that were asked for, consistent, with the corrected base parameters; by
        name: `parameters`.
    solution : Solution
        Of the problem ``min ||K pi - beta||^2``.
    plane : Plane
        Separates the given base parameters from those of all consistent bodies; of distance 0 where none was found.
        The bound of the solution holds within its ``search_region``, that of the plane everywhere.
    """

    given: Array
    corrected: Array
    names: tuple[str, ...]
    values: Array
    solution: Solution
    plane: Plane = field(default_factory=lambda: Plane(np.zeros(0), 0.0))

    @cached_property
    def parameters(self) -> Parameters:
        """Consistent parameters with the corrected base parameters."""
        links = tuple(link.name for link in self.solution.problem.variables)
        return Parameters(self.names, self.values, links)

    @property
    def distance(self) -> float:
        """Euclidean norm of what the correction changes."""
        return float(np.linalg.norm(self.corrected - self.given))

    @property
    def proven_distance(self) -> float:
        """Certified lower bound of the distance of any feasible base parameters."""
        return max(float(np.sqrt(max(self.solution.lower_bound, 0.0))), self.plane.distance)

    def excludes(self, half_width: float) -> bool:
        """Whether no feasible base parameters lie in the box ``|beta_i - given_i| <= half_width`` (rounded digits).

        Two planes can separate them. Every feasible beta has ``p'(beta - given) >= distance`` with the unit vector p of
        `plane`, every beta in the box ``p'(beta - given) <= half_width ||p||_1``. With ``d = corrected - given``, the
        certificate's bound b of ``||K pi - given||^2`` is one of its linearisation at the solution, hence
        ``d'(beta - given) >= (b + d'd) / 2`` for every feasible beta.
        """
        d, p = self.corrected - self.given, self.plane.direction
        if self.plane.distance > half_width * float(np.abs(p).sum()):
            return True
        return (self.solution.lower_bound + float(d @ d)) / 2 > half_width * float(np.abs(d).sum())

    @property
    def verdict(self) -> str:
        """Whether the given base parameters are those of a consistent set.

        ``feasible``: consistent parameters with these base parameters were found; ``infeasible``: proven, by any bound
        above rounding, that there are none; ``undecided``: neither.
        """
        size = max(float(np.linalg.norm(self.given)), 1e-12)
        if self.distance <= REACHED * size:
            return "feasible"
        rounding = np.sqrt(np.finfo(float).eps)  # of squared values
        return "infeasible" if self.proven_distance > rounding * size else "undecided"

    @property
    def feasible(self) -> bool:
        """Whether the verdict is ``feasible``."""
        return self.verdict == "feasible"


@dataclass(frozen=True, eq=False)
class _LinearForms:
    """Linear forms of named parameters, ``matrix x + freedom y``, that are to take values.

    Attributes
    ----------
    kept, free : tuple of str
        Names of x, the inertial and the bounded parameters, and of y, those without any bound.
    matrix, freedom : ndarray
        Shapes (b, len(kept)), (b, len(free)).
    values : ndarray, shape (b,)
    """

    kept: tuple[str, ...]
    free: tuple[str, ...]
    matrix: Array
    freedom: Array
    values: Array

    @classmethod
    def of(
        cls, forms: Array, values: Array, names: Sequence[str], inertial: Sequence[str], extras: Bounds
    ) -> _LinearForms:
        """Forms of ``names``: some of the inertial parameters and extras, in any order."""
        if forms.shape != (len(values), len(names)):
            raise DatasetError(f"forms: expected shape ({len(values)}, {len(names)}), got {forms.shape}")
        if not np.isfinite(values).all():
            at = int(np.flatnonzero(~np.isfinite(values))[0])
            raise DatasetError(f"values: base parameter {at + 1} is not finite")
        unknown = sorted(set(names) - set(inertial) - set(extras))
        if unknown:
            raise DatasetError(f"names: {unknown[0]} is neither a standard parameter nor among the extras")
        free = tuple(name for name, (low, high) in extras.items() if np.isneginf(low) and np.isposinf(high))
        kept = (*inertial, *(name for name in extras if name not in free))
        given = dict(zip(names, forms.T, strict=True))

        def columns(chosen: Sequence[str]) -> Array:
            chosen_forms = [given.get(name, np.zeros(len(values))) for name in chosen]
            return np.ascontiguousarray(np.reshape(chosen_forms, (-1, len(values))).T)

        return cls(kept, free, columns(kept), columns(free), values)

    def objective(self) -> LeastSquares:
        """``min_y ||matrix x + freedom y - values||^2``, a function of x alone."""
        Q = complement(self.freedom)
        return LeastSquares.compressed(Q.T @ self.matrix, Q.T @ self.values)

    def plane(self, robot: Robot, cones: Sequence[PhysicalConsistency], extras: Bounds) -> Plane:
        """The best plane between the values and the forms of consistent parameters of any size.

        Of extras with two bounds the lower one counts, which is sound.
        """
        bounds = np.array([extras[name] for name in self.kept[10 * len(cones) :]]).reshape(-1, 2)
        from_above = np.isinf(bounds[:, 0])
        signs = np.concatenate([np.ones(10 * len(cones)), np.where(from_above, -1.0, 1.0)])
        complete = complement(self.freedom)
        forms = ConsistentForms(
            complete.T @ self.matrix * signs,
            [(cone.cone, cone.margin) for cone in cones],
            np.where(from_above, -bounds[:, 1], bounds[:, 0]),
            np.concatenate([energy_shares(robot), np.ones(len(bounds))]),
        )
        found = forms.separate(complete.T @ self.values)
        return Plane(complete @ found.direction, found.distance)

    def best_free(self, x: Array) -> Array:
        """The y of that minimum."""
        if not self.free:
            return np.zeros(0)
        return np.asarray(np.linalg.lstsq(self.freedom, self.values - self.matrix @ x, rcond=1e-10)[0])


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

    Raises
    ------
    DatasetError
        For forms of another shape, values that are not finite, or names of no parameter.
    """
    inertial, extras = standard_names(len(robot.joints)), dict(extras or {})
    names = tuple(inertial if names is None else names)
    given = _LinearForms.of(np.array(forms, dtype=float), np.array(values, dtype=float), names, inertial, extras)
    variables = link_variables(robot, {name: extras[name] for name in given.kept if name in extras})
    rows = () if constraints is None else constraints(variables)
    problem = Problem(f"{robot.name} feasibility", variables, given.objective(), rows, consistency, margin)
    solution = solve(problem, options=SolveOptions(initial_gradient=1e3))
    x, y = solution.x, given.best_free(solution.x)
    corrected = given.matrix @ x + given.freedom @ y
    found = Feasibility(given.values, corrected, (*given.kept, *given.free), np.concatenate([x, y]), solution)
    if found.feasible or not all(cone.constrains for cone in problem.cones):
        return found
    return replace(found, plane=given.plane(robot, problem.cones, extras))


def feasibility_test(
    model: Model,
    beta: ArrayLike,
    *,
    bounds: Bounds | None = None,
    consistency: ConsistencyKind = "full",
    margin: float | None = None,
    constraints: ConstraintBuilder | None = None,
) -> Feasibility:
    """Verdict on the base parameters of a model, and their nearest correction (Sousa 2014, Sec. 3.3 and 3.4).

    Friction and rotors are included.

    Parameters
    ----------
    model
    beta
        Values of ``model.base``, shape (rank,).
    bounds
        Of the terms' parameters, see `extra_bounds`.
    """
    base = model.base
    return nearest_feasible(
        model.robot,
        base.K,
        beta,
        names=base.parameter_names,
        extras=extra_bounds(model, bounds),
        consistency=consistency,
        margin=margin,
        constraints=constraints,
    )


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
