"""From recordings to certified parameters in one call, and their validation on other recordings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from casid.description import Robot
from casid.dynamics import JointTerm, Model, terms_of
from casid.errors import DatasetError, RobotError
from casid.files import read_json
from casid.identification.regression import Bounds, FeasibleFit, feasible_regression
from casid.inertia import parameter_record, read_parameters
from casid.measurement import Dataset, Processing, check_against, prepare
from casid.regression import (
    FRICTION_MODELS,
    Fit,
    compress,
    fit_jointly,
    friction_terms,
    irls,
    ols,
    torques,
    unexcited_reasons,
    wls,
)
from casid.retrieval.builders.priors import Prior
from casid.retrieval.constraints import DEFAULT_MARGIN, ConsistencyKind, sensible_bounds
from casid.retrieval.load import ConstraintBuilder

Array = NDArray[np.float64]
#: Condition number from which a note says that the motion excites poorly.
CONDITION = 1e4
#: Linear friction of a joint, the default.
LINEAR_FRICTION = ("viscous", "coulomb", "offset")


@dataclass(frozen=True, eq=False)
class Prediction:
    """Torques of a recording, measured and predicted by Newton-Euler.

    Attributes
    ----------
    dataset : Dataset
        Processed.
    predicted : ndarray, shape (N, n)
        [N.m]
    """

    dataset: Dataset
    predicted: Array

    @property
    def residual(self) -> Array:
        """Measured (filtered) minus predicted torque, shape (N, n) [N.m]; zero where the mask leaves it out."""
        difference = self.dataset.tau - self.predicted
        return np.asarray(difference if self.dataset.mask is None else np.where(self.dataset.mask, difference, 0.0))

    @cached_property
    def rms(self) -> Array:
        """Root mean square residual of each joint [N.m]."""
        return np.asarray(np.sqrt(self.mse))

    @cached_property
    def mse(self) -> Array:
        """Mean square residual of each joint [(N.m)^2]."""
        count = len(self.dataset) if self.dataset.mask is None else np.maximum(self.dataset.mask.sum(axis=0), 1)
        return np.asarray((self.residual**2).sum(axis=0) / count)

    @cached_property
    def relative_errors(self) -> Array:
        """``100 ||residual|| / ||torque||`` of each joint [%]."""
        size = np.linalg.norm(self._counted, axis=0)
        left = np.linalg.norm(self.residual, axis=0)
        return np.asarray(100.0 * np.divide(left, size, out=np.zeros_like(left), where=size > 0))

    @property
    def relative_error(self) -> float:
        """The same over all joints [%]."""
        return 100.0 * float(np.linalg.norm(self.residual) / max(np.linalg.norm(self._counted), np.finfo(float).tiny))

    @property
    def _counted(self) -> Array:
        return self.dataset.tau if self.dataset.mask is None else np.where(self.dataset.mask, self.dataset.tau, 0.0)


@dataclass(frozen=True, eq=False)
class Identification:
    """Result of `identify`.

    Attributes
    ----------
    model : Model
    datasets : tuple of Dataset
        Processed recordings.
    unconstrained : Fit
    feasible : FeasibleFit
    notes : tuple of str
        Everything that deserves a look.
    friction : str
        ``linear``, or the nonlinear friction model, with ``shapes``.
    shapes : ndarray or None
    """

    model: Model
    datasets: tuple[Dataset, ...]
    unconstrained: Fit
    feasible: FeasibleFit
    notes: tuple[str, ...]
    friction: str = "linear"
    shapes: Array | None = None

    @property
    def parameters(self) -> Array:
        """Physically consistent parameters, in the order of ``model.parameter_names``."""
        return self.feasible.parameters

    def predict(self, dataset: Dataset) -> Prediction:
        """Torques of a processed recording by Newton-Euler with the consistent parameters."""
        return predict(self.model, self.parameters, dataset)

    def record(self) -> dict[str, Any]:
        """What `load_model` needs to predict torques again, and what the fit said; plain numbers and text."""
        fit, feasible = self.unconstrained, self.feasible
        solution = feasible.solution
        return {
            "robot": self.model.robot.name,
            "gravity": None if self.model.gravity_vector is None else self.model.gravity_vector.tolist(),
            "terms": [
                f"{t.name}@{j}"
                for t in self.model.terms
                if t.group != "nonlinear_friction"
                for j in (t.joints or [joint.name for joint in self.model.robot.joints])
            ],
            "velocity_deadband": self.model.velocity_deadband,
            "friction": self.friction,
            "friction_shapes": None if self.shapes is None else self.shapes.tolist(),
            **parameter_record(self.model.named(feasible.parameters)),
            "status": solution.status,
            "certified": solution.certified,
            "gap": solution.gap,
            "residual_ratio": feasible.residual_ratio,
            "rank": fit.rank,
            "condition_number": fit.condition_number,
            "relative_error": {"unconstrained": fit.relative_error, "feasible": feasible.relative_error},
            "joints": [
                {
                    "name": joint.name,
                    "rms": float(feasible.rms[k]),
                    "relative_error": float(feasible.relative_errors[k]),
                    "unconstrained_relative_error": float(fit.relative_errors[k]),
                }
                for k, joint in enumerate(self.model.robot.joints)
            ],
            "base_parameters": [
                {
                    "name": name,
                    "expression": expression,
                    "unconstrained": float(fit.beta[k]),
                    "sd": float(fit.sd[k]) if np.isfinite(fit.sd[k]) else None,
                    "feasible": float(feasible.beta[k]),
                }
                for k, (name, expression) in enumerate(zip(fit.data.base.names, fit.data.base.expressions, strict=True))
            ],
            "recordings": list(fit.data.datasets),
            "steps": list(fit.data.steps),
            "notes": list(self.notes),
        }


def identify(
    robot: Robot,
    recordings: Dataset | Sequence[Dataset],
    *,
    processing: Processing | bool | None = None,
    terms: Sequence[str | JointTerm] = LINEAR_FRICTION,
    friction: Literal["linear", "sigmoid", "stribeck", "smooth"] = "linear",
    velocity_deadband: float = 0.0,
    gravity: ArrayLike | None = None,
    method: Literal["WLS", "OLS", "IRLS"] = "WLS",
    consistency: ConsistencyKind = "full",
    margin: float = DEFAULT_MARGIN,
    constraints: ConstraintBuilder | None = sensible_bounds,
    bounds: Bounds | None = None,
    prior: Prior | None = None,
) -> Identification:
    """Identify a robot: check, process, compress, fit without and with physical consistency.

    Parameters
    ----------
    robot
    recordings
        Raw recordings (see `casid.measurement.read_dataset`).
    processing
        Filters and differences. Default: recordings that have dq and ddq already are taken as they are, others are
        processed with `Processing()`. ``False``: all as they are; ``True``: all processed.
    terms
        Joint terms. With nonlinear ``friction``, viscous, coulomb and offset are left out of them.
    friction
        ``linear``, or a model of `casid.regression.FRICTION_MODELS`, fitted jointly with the inertial parameters.
    method
        Of the unconstrained fit, whose weights the feasible one uses.
    consistency, margin, constraints, bounds, prior
        As in `feasible_regression`.
    """
    if method not in ("WLS", "OLS", "IRLS"):
        raise DatasetError(f"unknown method '{method}'; known: WLS, OLS, IRLS")
    raw = (recordings,) if isinstance(recordings, Dataset) else tuple(recordings)
    if not raw:
        raise DatasetError("no recording to identify from")
    datasets = tuple(prepare(check_against(data, robot), processing) for data in raw)
    shapes = None
    if friction == "linear":
        model = Model(robot, terms, gravity, velocity_deadband)
    else:
        rest = [t for t in terms if t not in LINEAR_FRICTION]
        joint_fit = fit_jointly(Model(robot, rest, gravity, velocity_deadband), datasets, friction)
        model, shapes = joint_fit.fit.data.model, joint_fit.shapes
    data = compress(model, datasets)
    fit = ols(data) if method == "OLS" else wls(data)
    if method == "IRLS":
        fit = irls(datasets, fit)
    feasible = feasible_regression(
        fit, consistency=consistency, margin=margin, constraints=constraints, bounds=bounds, prior=prior
    )
    return Identification(model, datasets, fit, feasible, (*data.notes, *_notes(fit, feasible)), friction, shapes)


def _notes(fit: Fit, feasible: FeasibleFit) -> list[str]:
    notes = [f"not identifiable from these data: {reason}" for reason in unexcited_reasons(fit)]
    if fit.condition_number > CONDITION:
        vague = [name for name, sd in zip(fit.data.base.names, fit.relative_sd, strict=True) if 100.0 < sd < np.inf]
        notes.append(
            f"the motion excites poorly: condition number {fit.condition_number:.2g}; {len(vague)} base parameters "
            f"have a standard deviation above their value{': ' + ', '.join(vague) if vague else ''}"
        )
    if feasible.residual_ratio > 1.05:
        notes.append(
            f"physical consistency raises the weighted residual by {100 * (feasible.residual_ratio - 1):.1f} %: the "
            f"unconstrained "
            "fit explains noise with impossible bodies, or a bound or the model is wrong; see the base parameters "
            "whose "
            "values differ by many standard deviations"
        )
    if not feasible.certified:
        notes.append(f"the feasible fit is not certified: relative gap {feasible.gap:.1e}")
    return notes


def predict(model: Model, parameters: ArrayLike, dataset: Dataset) -> Prediction:
    """Torques of a processed recording by Newton-Euler.

    Raises
    ------
    DatasetError
        If the recording has another number of joints, no velocities or accelerations, or parameters are missing.
    """
    pi = np.asarray(parameters, dtype=float)
    if pi.shape != (len(model.parameter_names),):
        raise DatasetError(f"expected {len(model.parameter_names)} parameters, got shape {pi.shape}")
    if dataset.n != model.n or dataset.dq is None or dataset.ddq is None:
        raise DatasetError(f"{dataset.name}: a processed recording of {model.n} joints is needed")
    return Prediction(dataset, torques(model, pi, dataset))


def load_model(record: Mapping[str, Any] | str | Path, robot: Robot) -> tuple[Model, Array]:
    """Model and parameters of an identification's record, or of a file.

    Parameters
    ----------
    record
        What `Identification.record` gives, the ``identification.json`` with it, or any file of parameters
        (`casid.inertia.read_parameters`): the names of its terms then tell the joint terms.

    Raises
    ------
    DatasetError
        If the file is none of these, or belongs to another robot.
    """
    if not isinstance(record, Mapping):
        path = Path(record)
        content = read_json(path, "parameter file", DatasetError) if path.suffix.lower() == ".json" else None
        if not isinstance(content, dict) or "terms" not in content:
            return _model_of_parameters(path, robot)
        record = content
    try:
        terms: list[str | JointTerm] = list(record["terms"])
        if record["friction"] != "linear":
            terms += friction_terms(FRICTION_MODELS[record["friction"]], record["friction_shapes"])
        model = Model(robot, terms, record["gravity"], record["velocity_deadband"])
        values = record["parameters"]
    except KeyError as error:
        raise DatasetError(f"not the record of an identification: key {error} is missing") from None
    except RobotError as error:
        raise DatasetError(
            f"the identification is of robot '{record['robot']}', not of '{robot.name}': {error}"
        ) from error
    missing = [name for name in model.parameter_names if name not in values]
    if missing or len(values) != len(model.parameter_names):
        raise DatasetError(
            f"the identification is of robot '{record.get('robot')}' with {len(values)} parameters; '{robot.name}' "
            f"needs {len(model.parameter_names)}" + (f", among them {missing[0]}" if missing else "")
        )
    return model, np.array([float(values[name]) for name in model.parameter_names])


def _model_of_parameters(path: Path, robot: Robot) -> tuple[Model, Array]:
    given = read_parameters(path)
    try:
        model = Model(robot, terms_of(given.terms, [joint.name for joint in robot.joints]))
    except RobotError as error:
        raise DatasetError(f"parameter file '{path}': {error}") from None
    if given.n != robot.n:
        raise DatasetError(f"parameter file '{path}' is of {given.n} links, robot '{robot.name}' has {robot.n}")
    return model, model.parameters(given)
