"""The record of an identification: what is written, and what is needed to predict torques with it again."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from casid.description import Robot
from casid.dynamics import Model
from casid.dynamics.terms._friction import Friction, friction_terms
from casid.dynamics.terms._joint_terms import JointTerm, terms_of
from casid.errors import DatasetError, RobotError
from casid.files._texts import finite_number, read_json
from casid.inertia import read_parameters
from casid.measurement import Processing

Array = NDArray[np.float64]


def read_record(path: str | Path) -> dict[str, Any]:
    """Record of an identification from its JSON file; empty for another file of parameters.

    Raises
    ------
    DatasetError
        If the file cannot be read or is not a record.
    """
    if Path(path).suffix.lower() != ".json":
        return {}
    record = read_json(path, "identification", DatasetError)
    if not isinstance(record, dict):
        raise DatasetError(f"'{path}' is not the record of an identification")
    return record


def load_processing(record: Mapping[str, Any]) -> Processing | bool | None:
    """The processing that the identification was told to use; ``None``, the default, where an old record is silent."""
    settings = record.get("processing")
    if settings is None or isinstance(settings, bool):
        return settings
    try:
        return Processing(**settings)
    except TypeError as error:
        raise DatasetError(f"the record's processing is of another version: {error}") from None


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
        joints = [joint.name for joint in robot.coordinates]
        if record.get("friction_law") is not None:
            terms += Friction.from_record(record["friction_law"]).terms(joints)
        elif record["friction"] != "linear":  # as version 0.1 wrote it
            terms += friction_terms(record["friction"], record["friction_shapes"])
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
    names = model.parameter_names
    return model, np.array([finite_number(values[name], f"identification, '{name}'", DatasetError) for name in names])


def _model_of_parameters(path: Path, robot: Robot) -> tuple[Model, Array]:
    given = read_parameters(path)
    try:
        model = Model(robot, terms_of(given.terms, [joint.name for joint in robot.joints]))
    except RobotError as error:
        raise DatasetError(f"parameter file '{path}': {error}") from None
    if given.n != len(robot.links):
        raise DatasetError(
            f"parameter file '{path}' is of {given.n} links, robot '{robot.name}' has {len(robot.links)}"
        )
    return model, model.parameters(given)
