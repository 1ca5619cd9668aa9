"""``casid export --online``: identification on line as C."""

from __future__ import annotations

from pathlib import Path

import typer

from casid.dynamics import Model
from casid.inertia import Parameters


def export_estimator(
    model: Model,
    given: Parameters | None,
    kind: str,
    deviation: str | None,
    forgetting: float,
    out: Path,
    prefix: str | None,
    overwrite: bool,
) -> None:
    """Write an estimator of the robot or of its load."""
    import numpy as np

    from casid.errors import DatasetError
    from casid.export._online import export_online
    from casid.files._words import comma_numbers
    from casid.identification import Online, OnlineLoad
    from casid.inertia import to_standard

    if kind not in ("robot", "load"):
        raise typer.BadParameter(f"--online is 'robot' or 'load', got '{kind}'")
    if deviation is None:
        raise typer.BadParameter("--online needs --deviation: how far torques are from the model's [N.m]")
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
    done = export_online(estimator, out, prefix or f"{model.robot.name}_{kind}", overwrite=overwrite)
    typer.echo(f"Written to {done.path}: {', '.join(done.files)}")
