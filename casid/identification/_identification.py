"""The result of an identification, its record on disk, and the model read back from a record."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from casid.arrays import Array
from casid.description import Robot, robot_reference
from casid.display import Displayed
from casid.dynamics import Model
from casid.dynamics.terms import Friction
from casid.errors import DatasetError, RobotError
from casid.files import finite_number, open_end, read_json
from casid.identification._accuracy import (
    ChosenValue,
    HeldOut,
    Prediction,
    centre_intervals,
    determined,
    mass_intervals,
    other_motion_errors,
    predict,
    without_intervals,
)
from casid.identification._consistent_fits import SharePath
from casid.identification._joint_terms import FoundSpring
from casid.identification._regression import FeasibleFit
from casid.identification._samples import Samples, posterior_samples
from casid.identification.diagnosis._findings import Verdict
from casid.inertia import Parameters, parameter_record, read_parameters
from casid.measurement import Dataset, Processing
from casid.regression import Fit
from casid.regression.friction import Candidate
from casid.retrieval import ParameterResult
from casid.retrieval.insight import Intervals

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True, eq=False, repr=False)
class Identification(ParameterResult, Displayed):
    """Result of `identify`.

    Attributes
    ----------
    model : Model
    datasets : tuple of Dataset
        Processed recordings.
    unconstrained : Fit
    feasible : FeasibleFit
        Physically consistent: of all sets that explain the data as well as the best, the most plausible.
    notes : tuple of str
        What to check: parameters that are not identifiable, bounds that are reached, ...
    processing : Processing, bool or None
        As used, an estimated delay included.
    friction : str
        `ModelOptions.friction`.
    law : Friction or None
        Nonlinear friction, joint by joint.
    candidates : tuple of Candidate
        Friction laws that it was chosen from.
    held_out : HeldOut or None
        Errors on parts of the motion that a fit did not see.
    verdict : Verdict or None
        Whether the model is right, and the findings.
    intervals : Intervals or None
        Proven ranges of the links' masses, if asked for.
    share : SharePath or None
        How much of the residual the choice of plausible links may cost, and what that rests on.
    springs : tuple of FoundSpring
        Springs and counterbalances that were found and are part of the model.
    """

    model: Model
    datasets: tuple[Dataset, ...]
    unconstrained: Fit
    feasible: FeasibleFit
    notes: tuple[str, ...]
    processing: Processing | bool | None
    friction: str = "linear"
    law: Friction | None = None
    candidates: tuple[Candidate, ...] = ()
    held_out: HeldOut | None = None
    verdict: Verdict | None = None
    intervals: Intervals | None = None
    share: SharePath | None = None
    springs: tuple[FoundSpring, ...] = ()

    @property
    def parameters(self) -> Parameters:
        """Physically consistent parameters by name."""
        return self.feasible.parameters

    @property
    def determined(self) -> tuple[ChosenValue, ...]:
        """For every parameter its interval from the data alone; without one, its value is the plausible choice."""
        return determined(self.unconstrained, self.feasible.values)

    @cached_property
    def mass_ranges(self) -> tuple[ChosenValue, ...]:
        """Interval of 95 % of the mass of all links, then of each: `casid.identification._accuracy`."""
        return mass_intervals(self.model.robot, self.feasible, self.intervals, self._right)

    @cached_property
    def centre_ranges(self) -> tuple[ChosenValue, ...]:
        """Interval of 95 % of each coordinate of each link's centre of mass [m], in its frame."""
        return centre_intervals(self.model.robot, self.feasible, self._right)

    @property
    def _right(self) -> bool:
        return self.verdict is None or self.verdict.right

    @property
    def total_mass_range(self) -> tuple[float, float]:
        """Ends of the interval of the mass of all links [kg]; infinite where the fit is wrong."""
        whole = self.mass_ranges[0]
        return whole.low, whole.high

    @property
    def other_motion_errors(self) -> tuple[float, float] | None:
        """Ends of nine in ten errors on other motions [%] (`casid.identification.other_motion_errors`).

        None where nothing was held out, the verdict is WRONG, or the motion leaves base parameters open.
        """
        fit = self.unconstrained
        if self.held_out is None or not self._right or fit.rank < fit.data.base.rank:
            return None
        return other_motion_errors(self.held_out.tested["consistent"].total)

    def samples(self, count: int = 1000, seed: int = 0) -> Samples:
        """Parameter sets within the intervals of masses and centres (`posterior_samples`), for simulators' robots.

        Raises
        ------
        DatasetError
            If masses have no intervals, such as where the verdict is WRONG.
        """
        reason = without_intervals(self.model.robot, self.feasible, self._right)
        if reason:
            raise DatasetError(f"no samples: {reason}")
        return posterior_samples(self.feasible, count, seed, self.mass_ranges, self.centre_ranges)

    def predict(self, dataset: Dataset) -> Prediction:
        """Torques of a processed recording by Newton-Euler with the consistent parameters."""
        return predict(self.model, self.feasible.values, dataset)

    def plot_torques(self, recording: int = 0) -> tuple[Axes, ...]:
        """Draw measured and predicted torques of a recording, one picture a joint, the residual beside them."""
        return self._plot("torques", recording=recording)

    def plot_friction(self) -> tuple[Axes, ...]:
        """Draw the torque beyond the links' own over the velocity of each joint, and the fitted joint terms."""
        return self._plot("friction")

    def plot_base_parameters(self) -> tuple[Axes, ...]:
        """Draw how far consistency moves each base parameter, in standard deviations of the unconstrained fit."""
        return self._plot("base_parameters")

    def plot_links(self) -> tuple[Axes, ...]:
        """Draw the identified links as ellipsoids of uniform density, from two sides."""
        return self._plot("links")

    def record(self) -> dict[str, Any]:
        """Plain numbers and text: the result, and what `load_model` needs to predict torques again."""
        fit, feasible = self.unconstrained, self.feasible
        solution = feasible.solution
        return {
            **self._model_record(),
            "status": solution.status,
            "certified": solution.certified,
            "gap": open_end(solution.gap),
            "residual_ratio": open_end(feasible.residual_ratio),
            "rank": fit.rank,
            "condition_number": open_end(fit.condition_number),
            "relative_error": {"unconstrained": fit.relative_error, "feasible": feasible.relative_error},
            "joints": self._joint_records(),
            "base_parameters": self._base_records(),
            "information": dict(zip(("rows", "targets"), (part.tolist() for part in fit.information), strict=True)),
            "verdict": None if self.verdict is None else self.verdict.record(),
            "active_bounds": [bound.text for bound in feasible.active],
            "believable": self._choice(),
            "share": None if self.share is None else self.share.record(),
            "masses": {e.name: [e.value, open_end(e.low), open_end(e.high)] for e in self.mass_ranges},
            "springs": [dataclasses.asdict(spring) for spring in self.springs],
            "determined": [
                {**dataclasses.asdict(e), "low": open_end(e.low), "high": open_end(e.high), "by_data": e.by_data}
                for e in self.determined
            ],
            "intervals": None
            if self.intervals is None
            else {e.name: [open_end(e.low), open_end(e.high)] for e in self.intervals.entries},
            "held_out": None if self.held_out is None else self.held_out.record(),
            "other_motion_errors": self.other_motion_errors,
            "processing": processing_record(self.processing),
            "recordings": list(fit.data.datasets),
            "steps": list(fit.data.steps),
            "notes": list(self.notes),
        }

    def _model_record(self) -> dict[str, Any]:
        """The model and its parameters."""
        return {
            **model_record(self.model),
            "friction": self.friction,
            "friction_candidates": [dataclasses.asdict(candidate) for candidate in self.candidates],
            **parameter_record(self.parameters),
        }

    def _joint_records(self) -> list[dict[str, Any]]:
        """Errors of every joint."""
        feasible, names = self.feasible, [joint.name for joint in self.model.robot.coordinates]
        columns = {
            "rms": feasible.rms,
            "relative_error": feasible.relative_errors,
            "unconstrained_relative_error": self.unconstrained.relative_errors,
        }
        return [{"name": name, **{key: float(v[k]) for key, v in columns.items()}} for k, name in enumerate(names)]

    def _base_records(self) -> list[dict[str, Any]]:
        """Base parameters of both fits; the torque that a unit of each makes, at the joint where it is largest."""
        fit, feasible = self.unconstrained, self.feasible
        rank, counts = fit.data.base.rank, np.maximum(fit.data.counts, 1)
        columns = np.array([np.linalg.norm(factor[:, :rank], axis=0) for factor in fit.data.factors])
        sizes = columns / np.sqrt(counts)[:, None]
        joints = [joint.name for joint in self.model.robot.coordinates]
        return [
            {
                "name": name,
                "expression": expression,
                "unconstrained": float(fit.beta[k]),
                "sd": open_end(fit.sd[k]),
                "feasible": float(feasible.beta[k]),
                "torque_per_unit": float(sizes[:, k].max()),
                "joint": joints[int(sizes[:, k].argmax())],
            }
            for k, (name, expression) in enumerate(zip(fit.data.base.names, fit.data.base.expressions, strict=True))
        ]

    def _choice(self) -> dict[str, Any] | None:
        choice = self.feasible.believable
        if choice is None:
            return None
        return {
            "share": open_end(choice.share),
            "divergence": choice.divergence,
            "lower_bound": open_end(choice.choice.lower_bound),
            "gap": open_end(choice.gap),
            "certified": choice.certified,
            "scale": choice.scale,
            "bodies": dict(zip((k.name for k in self.model.robot.links), choice.bodies.origins, strict=True)),
        }

    def __repr__(self) -> str:
        """Short form for an interactive prompt."""
        fit, feasible = self.unconstrained, self.feasible
        apart = "" if self.held_out is None else f", held out {self.held_out.tested['consistent'].total:.2f} %"
        return (
            f"Identification({self.model.robot.name}: {', '.join(fit.data.datasets)}; "
            f"error {feasible.relative_error:.2f} %{apart}, {fit.rank} of {fit.data.base.rank} base parameters, "
            f"{'certified' if feasible.certified else 'not certified'}"
            f"{'' if self.verdict is None or self.verdict.right else '; WRONG: see verdict'})"
        )


def model_record(model: Model) -> dict[str, Any]:
    """Robot and gravity as `load_model` reads them; joint terms and friction laws follow from the parameters."""
    gravity = model.gravity_vector
    return {**robot_reference(model.robot), "gravity": None if gravity is None else gravity.tolist()}


def processing_record(processing: Processing | bool | None) -> dict[str, Any] | bool | None:
    """A processing as `load_processing` reads it."""
    return dataclasses.asdict(processing) if isinstance(processing, Processing) else processing


def record_file(path: str | Path) -> Path:
    """The file of a record: that in a folder of results, or the path itself."""
    return Path(path) / "identification.json" if Path(path).is_dir() else Path(path)


def read_record(path: str | Path) -> dict[str, Any]:
    """Record of an identification from its JSON file; empty for another file of parameters.

    Raises
    ------
    DatasetError
        If the file cannot be read or is not a record.
    """
    path = record_file(path)
    if path.suffix.lower() != ".json":
        return {}
    record = read_json(path, "identification", DatasetError)
    if not isinstance(record, dict):
        raise DatasetError(f"'{path}' is not the record of an identification")
    return record


def load_processing(record: Mapping[str, Any]) -> Processing | bool | None:
    """The processing of the identification; ``None``, the default, where an old record has none."""
    settings = record.get("processing")
    if settings is None or isinstance(settings, bool):
        return settings
    try:
        return Processing(**settings)
    except TypeError as error:
        raise DatasetError(f"the record's processing is of another version: {error}") from None


def load_information(record: Mapping[str, Any], model: Model) -> tuple[Array, Array] | None:
    """What the recordings determine of the base parameters (`Fit.information`); None where an old record has none.

    Raises
    ------
    DatasetError
        If it does not fit the model.
    """
    if record.get("information") is None:
        return None
    try:
        rows, targets = (np.array(record["information"][name], dtype=float) for name in ("rows", "targets"))
        column = {str(entry["expression"]): k for k, entry in enumerate(record["base_parameters"])}
    except (KeyError, TypeError, ValueError):
        raise DatasetError("the record's information: expected rows and targets, arrays of numbers") from None
    base = model.base
    if rows.ndim != 2 or rows.shape != (len(targets), base.rank) or not np.isfinite(rows).all():
        raise DatasetError(f"the record's information: expected rows of {base.rank} numbers and as many targets")
    if set(column) != set(base.expressions):
        raise DatasetError("the record's information is about other base parameters than the robot's")
    return rows[:, [column[expression] for expression in base.expressions]], targets


def load_model(record: Mapping[str, Any] | str | Path, robot: Robot) -> tuple[Model, Array]:
    """Model and parameters of an identification's record, or of a file.

    Parameters
    ----------
    record
        `Identification.record`, the ``identification.json`` with it, or any file of parameters
        (`casid.inertia.read_parameters`), whose names determine the joint terms.
    robot

    Returns
    -------
    Model
    ndarray, shape (N,)
        In the order of ``model.parameter_names``; ``model.named(...)`` names them.

    Raises
    ------
    DatasetError
        If the file is none of these, or belongs to another robot.
    """
    where, gravity = "the identification's record", None
    if isinstance(record, Mapping):
        named, found_for = record.get("parameters"), record.get("robot", robot.name)
        if not isinstance(named, Mapping):
            raise DatasetError("not the record of an identification: its parameters are missing")
        numbers = [finite_number(value, f"identification, '{name}'", DatasetError) for name, value in named.items()]
        given, gravity = Parameters(tuple(named), np.array(numbers)), record.get("gravity")
        where = f"the identification of robot '{found_for}'"
    else:
        path = record_file(record)
        if path.suffix.lower() == ".json":
            content = read_json(path, "parameter file", DatasetError)
            if isinstance(content, Mapping) and "gravity" in content:
                return load_model(content, robot)
        given, where = read_parameters(path), f"parameter file '{path}'"
    if given.n != len(robot.links):
        raise DatasetError(f"{where} is of {given.n} links, robot '{robot.name}' has {len(robot.links)}")
    try:
        model = Model.of_parameters(robot, given, gravity)
    except RobotError as error:
        raise DatasetError(f"{where}: {error}") from None
    return model, model.parameters(given)
