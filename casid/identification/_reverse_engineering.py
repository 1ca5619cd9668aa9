"""Feasible links from a controller's M(q) and g(q), and friction of known links (Gaz et al. 2019)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from casid.description import Robot
from casid.dynamics import Model
from casid.dynamics.terms._friction import Friction, JointFriction
from casid.dynamics.terms._laws import FrictionLaw
from casid.errors import DatasetError
from casid.identification._identification import model_record, processing_record
from casid.identification._prediction import Prediction, predict
from casid.inertia import Parameters
from casid.measurement import Dataset, Processing, check_angles, prepare
from casid.regression import reverse_engineer
from casid.regression._reverse_engineering import Estimate, reverse_engineer_with_torques
from casid.regression.friction._shape_fits import fit_friction
from casid.retrieval._objectives import Coefficients, base_parameter_error
from casid.retrieval._problem import Problem
from casid.retrieval._problem_files import ConstraintBuilder
from casid.retrieval._result import ParameterResult
from casid.retrieval._solution import Solution
from casid.retrieval._variables import link_variables
from casid.retrieval.constraints._bounds import sensible_bounds
from casid.retrieval.methods._solve import solve

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Refitted(ParameterResult):
    """Links with fitted friction.

    Attributes
    ----------
    model : Model
        The friction is among its joint terms.
    values : ndarray, shape (N,)
        All parameters, in the order of ``model.parameter_names``; by name: `parameters`.
    friction : Friction
        Law and shape of every joint.
    """

    model: Model
    values: Array
    friction: Friction

    @cached_property
    def parameters(self) -> Parameters:
        """All parameters by name."""
        return self.model.named(self.values)


def refit_friction(
    model: Model, parameters: Parameters | ArrayLike, dataset: Dataset, friction: str | FrictionLaw = "sigmoid"
) -> Refitted:
    """The links of a model with friction fitted to a recording (Gaz et al. 2019, Sec. IV-B).

    The joint terms of the model are left out; the residual torque of each joint, over its velocity, is fitted by the
    law alone, so that the links stay what they are.

    Parameters
    ----------
    model
        Any joint terms in it are replaced.
    parameters
        Of the model: by name, or shape (N,).
    dataset
        Processed: with velocities and accelerations.
    friction
        A law of the velocity alone.

    Raises
    ------
    DatasetError
        If the recording does not fit the model, or a joint does not move.
    """
    pi = model.parameters(parameters)
    links = model.like(terms=())
    found = predict(links, pi[np.ravel(model.link_columns)], dataset)
    if dataset.dq is None:
        raise DatasetError(f"{dataset.name}: a processed recording is needed to fit friction")
    joints, values = [], dict(zip(links.parameter_names, pi[np.ravel(model.link_columns)], strict=True))
    for k in range(model.n):
        kept = slice(None) if dataset.mask is None else dataset.mask[:, k]
        fit = fit_friction(dataset.dq[kept, k], found.residual[kept, k], friction)
        joints.append(JointFriction(fit.model, tuple(fit.shape.tolist())))
        for amplitude, value in zip(fit.model.amplitudes, fit.amplitudes.tolist(), strict=True):
            values[f"{amplitude.symbol}{k + 1}"] = value
    laws = Friction(tuple(joints))
    made = links.with_friction(laws)
    return Refitted(made, np.array([values[name] for name in made.parameter_names]), laws)


#: Coefficients with a larger standard deviation are left out of the retrieval [%] (Gaz et al. 2019, Sec. VI).
LARGEST_SD = 30.0


@dataclass(frozen=True, eq=False)
class ReverseEngineering(ParameterResult):
    """Coefficients, feasible links and friction from the numbers of a controller's model.

    Attributes
    ----------
    estimate : Estimate
        Base parameters with standard deviations: pi_RE.
    solution : Solution
        Feasible links nearest to the reliable ones, certified.
    model : Model
        Links, and friction where a recording was given.
    values : ndarray, shape (N,)
        All parameters, in the order of ``model.parameter_names``; by name: `parameters`.
    friction : Friction or None
        Shapes of every joint's friction.
    validation : Prediction or None
        Torques of the recording by Newton-Euler, friction included.
    unfitted : Prediction or None
        The same without friction.
    processing : Processing, bool or None
        Of the recording.
    """

    estimate: Estimate
    solution: Solution
    model: Model
    values: Array
    friction: Friction | None = None
    validation: Prediction | None = None
    unfitted: Prediction | None = None
    processing: Processing | bool | None = None

    @cached_property
    def parameters(self) -> Parameters:
        """All parameters by name."""
        return self.model.named(self.values)

    def record(self) -> dict[str, Any]:
        """Plain numbers and text; `casid.identification.load_model` reads the model back."""
        return {
            **model_record(self.model),
            "parameters": self.parameters.to_dict(),
            "processing": processing_record(self.processing),
            "coefficients": {
                name: {"value": float(value), "sd_percent": float(sd) if np.isfinite(sd) else None}
                for name, value, sd in zip(
                    self.estimate.base.expressions, self.estimate.values, self.estimate.relative_sd, strict=True
                )
            },
            "condition_number": self.estimate.condition_number,
            "relative_error": self.estimate.relative_error,
            "objective": self.solution.objective,
            "lower_bound": self.solution.lower_bound,
            "validation_relative_error": None if self.validation is None else self.validation.relative_error,
        }


def reverse_engineered(
    robot: Robot,
    q: ArrayLike,
    mass_matrices: ArrayLike | None,
    gravity_torques: ArrayLike,
    recording: Dataset | None = None,
    *,
    gravity: ArrayLike | None = None,
    friction: str = "sigmoid",
    constraints: ConstraintBuilder | None = sensible_bounds,
    largest_sd: float = LARGEST_SD,
    processing: Processing | bool | None = None,
) -> ReverseEngineering:
    """From a controller's mass matrices and gravity torques to a robot's feasible links, and its friction.

    Parameters
    ----------
    robot
        Kinematics and bounds.
    q, mass_matrices, gravity_torques
        See `casid.regression.reverse_engineer`.
    recording
        Raw positions and torques; without it there is no friction and no validation. Without mass matrices its torques
        determine what gravity does not (`reverse_engineer_with_torques`); the validation is then on
        the torques of the identification itself.
    gravity
        Default: the robot's.
    friction
        Law fitted to what the coefficients leave of the recording's torques.
    constraints
        Of the retrieval; default: the robot's bounds.
    largest_sd
        Coefficients with a larger standard deviation are left out [%]; without effect where the torques of the
        recording take the place of the mass matrices, because coefficients left open would predict them badly.

    Raises
    ------
    DatasetError, SolveError
        If the numbers cannot be used, none is reliable, or no feasible links exist.
    """
    model = Model(robot, (), gravity)
    data = None if recording is None else prepare(recording, processing)
    measured = mass_matrices is None and data is not None
    if measured and data is not None:
        estimate = reverse_engineer_with_torques(model, q, gravity_torques, data)
    else:
        estimate = reverse_engineer(model, q, mass_matrices, gravity_torques)
    check_angles(np.asarray(q, dtype=float), robot, "q")
    reliable = estimate.reliable(np.inf if measured else largest_sd)
    if not reliable.any():
        raise DatasetError(f"no coefficient has a standard deviation of at most {largest_sd:g} %: take more poses")
    solution = _nearest_links(robot, estimate, reliable, constraints)
    links = solution.standard_parameters
    if data is None:
        return ReverseEngineering(estimate, solution, model, links)
    made = refit_friction(model, links, data, friction)
    validation, unfitted = predict(made.model, made.values, data), predict(model, links, data)
    return ReverseEngineering(
        estimate, solution, made.model, made.values, made.friction, validation, unfitted, processing
    )


def _nearest_links(
    robot: Robot, estimate: Estimate, reliable: NDArray[np.bool_], constraints: ConstraintBuilder | None
) -> Solution:
    """The certified feasible links whose coefficients are nearest to the reliable ones."""
    variables = link_variables(robot)
    problem = Problem(
        f"{robot.name} reverse engineering",
        variables,
        base_parameter_error(variables, estimate.base.K[reliable], estimate.values[reliable]),
        () if constraints is None else constraints(variables),
        coefficients=Coefficients(estimate.base.K, estimate.values, estimate.sd, reliable, samples=estimate.samples),
    )
    return solve(problem)
