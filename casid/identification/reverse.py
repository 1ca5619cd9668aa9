"""The whole way of Gaz et al. (2019): M(q) and g(q) of a controller, coefficients, feasible links, friction."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from casid.description import Robot
from casid.dynamics import Model
from casid.dynamics.terms._friction import Friction
from casid.errors import DatasetError
from casid.identification.prediction import Prediction, predict
from casid.identification.refit import refit_friction
from casid.measurement import Dataset, Processing, check_angles, prepare
from casid.regression import reverse_engineer, reverse_engineer_with_torques
from casid.regression._reverse_engineering import Estimate
from casid.retrieval.coefficients import Coefficients
from casid.retrieval.constraints import sensible_bounds
from casid.retrieval.load import ConstraintBuilder
from casid.retrieval.methods.solve import solve
from casid.retrieval.objectives import base_parameter_error
from casid.retrieval.problem import Problem
from casid.retrieval.solution import Solution
from casid.retrieval.variables import link_variables

Array = NDArray[np.float64]
#: Coefficients with a larger standard deviation are left out of the retrieval [%] (Gaz et al. 2019, Sec. VI).
LARGEST_SD = 30.0


@dataclass(frozen=True, eq=False)
class ReverseEngineering:
    """What the numbers of a controller's model gave.

    Attributes
    ----------
    estimate : Estimate
        Base parameters with standard deviations: pi_RE.
    solution : Solution
        Feasible links nearest to the reliable ones, certified.
    model : Model
        Links, and friction where a recording was given.
    parameters : ndarray, shape (N,)
        Of the model.
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
    parameters: Array
    friction: Friction | None = None
    validation: Prediction | None = None
    unfitted: Prediction | None = None
    processing: Processing | bool | None = None

    def record(self) -> dict[str, Any]:
        """Plain numbers and text; `casid.identification.load_model` reads the model back."""
        processing = asdict(self.processing) if isinstance(self.processing, Processing) else self.processing
        gravity = self.model.gravity_vector
        return {
            "robot": self.model.robot.name,
            "terms": [],
            "friction": "linear",
            "friction_law": None if self.friction is None else self.friction.record(),
            "gravity": None if gravity is None else list(gravity),
            "velocity_deadband": self.model.velocity_deadband,
            "parameters": dict(zip(self.model.parameter_names, self.parameters.tolist(), strict=True)),
            "processing": processing,
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
        Raw positions and torques; without it there is no friction and no validation. Without mass matrices it tells
        what gravity does not, see `casid.regression.reverse_engineer_with_torques`; the check by Newton-Euler is then
        on torques that were identified from.
    gravity
        Default: the robot's.
    friction
        Law fitted to what the coefficients leave of the recording's torques.
    constraints
        Of the retrieval; default: the robot's bounds.
    largest_sd
        Coefficients with a larger standard deviation are left out [%]; none is where the torques of the recording have
        to tell what gravity does not: what is left open there would be free to predict them badly.

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
    variables = link_variables(robot)
    problem = Problem(
        f"{robot.name} reverse engineering",
        variables,
        base_parameter_error(variables, estimate.base.K[reliable], estimate.values[reliable]),
        () if constraints is None else constraints(variables),
        coefficients=Coefficients(estimate.base.K, estimate.values, estimate.sd, reliable, samples=estimate.samples),
    )
    solution = solve(problem)
    links = solution.standard_parameters
    if data is None:
        return ReverseEngineering(estimate, solution, model, links)
    made = refit_friction(model, links, data, friction)
    return ReverseEngineering(
        estimate,
        solution,
        made.model,
        made.parameters,
        made.friction,
        predict(made.model, made.parameters, data),
        predict(model, links, data),
        processing,
    )
