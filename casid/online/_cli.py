"""``casid export --online``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import typer

from casid.dynamics import Model
from casid.errors import DatasetError
from casid.files import comma_numbers
from casid.inertia import Parameters, to_standard
from casid.online._estimator import Online
from casid.online._export import export_online
from casid.online._online_load import OnlineLoad

if TYPE_CHECKING:
    from casid.export import ExportedDirectory


def write(
    model: Model,
    given: Parameters | None,
    settings: tuple[str, str | None, float],
    out: Path,
    prefix: str | None,
    overwrite: bool,
) -> ExportedDirectory:
    """Write an on-line estimator: ``settings`` are its kind, robot or load, the deviation of torques, the forgetting.

    Raises
    ------
    BadParameter
        For options that are missing or do not fit.
    """
    kind, deviation, forgetting = settings
    if kind not in ("robot", "load"):
        raise typer.BadParameter(f"--online is 'robot' or 'load', got '{kind}'")
    if deviation is None:
        raise typer.BadParameter("--online needs --deviation: deviation of torques from the model's [N.m]")
    sizes = np.array(comma_numbers(deviation, "--deviation", DatasetError))
    if sizes.size not in (1, model.n) or not (np.isfinite(sizes).all() and (sizes > 0).all()):
        raise typer.BadParameter(f"--deviation: one or {model.n} positive numbers, got {deviation}")
    weights = np.broadcast_to(1.0 / sizes, (model.n,))
    estimator: Online | OnlineLoad
    if kind == "robot":
        estimator = Online(model, weights, forgetting=forgetting)
    elif given is None:
        raise typer.BadParameter("--online load needs --parameters: the robot's without the load")
    else:
        body = to_standard(1.0, [0.0, 0.0, 0.05], np.diag([3e-3] * 3))
        estimator = OnlineLoad(model, given.in_order(model), weights, body, forgetting=forgetting)
    return export_online(estimator, out, prefix or f"{model.robot.name}_{kind}", overwrite=overwrite)
