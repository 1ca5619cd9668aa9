"""Commands about what a robot carries: ``payload``, ``gains``."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from casid.cli import options as o
from casid.cli.shared import RobotArgument, out_folder, present, refuse, shown

if TYPE_CHECKING:
    from casid.description import Robot
    from casid.dynamics import Model
    from casid.measurement import Dataset
from casid.files import comma_list

Loaded = Annotated[Path, typer.Argument(metavar="LOADED", help="Recording with the load.")]
Without = Annotated[Path | None, typer.Option(metavar="RECORDING", help="Recording without the load.")]


@dataclass(frozen=True)
class Fit(o.OptionGroup):
    """The model that is fitted."""

    panel = o.MODEL
    drift: bool = o.option(True, "Fit a change of offsets and Coulomb friction between the recordings.")
    terms: str | None = o.option(None, "Joint terms, separated by commas. Default viscous,coulomb,offset.")
    deadband: o.Deadband = None
    only: o.Only = None

    def settings(self, recordings: list[Path], reading: o.Reading) -> o.Settings:
        """With the options of the recordings' TOML files."""
        return o.Settings.merged(
            recordings, terms=self.terms, deadband=self.deadband, only=self.only, **reading.given()
        )


@dataclass(frozen=True)
class Result(o.OptionGroup):
    """Where the result goes."""

    frame: str | None = o.option(None, "Frame of the robot for the result; default: the last on it.")
    out: Path | None = o.option(None, "Folder for payload.json and the page.")


@o.grouped
def payload(
    context: typer.Context,
    robot: RobotArgument,
    loaded: Loaded,
    fit: Fit,
    reading: o.Reading,
    result: Result,
    without: Without = None,
    identification: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="identification.json of the robot alone, in place of a recording."),
    ] = None,
) -> None:
    """Identify a load on the last link: mass, centre of mass, inertia, and the values for the controller."""
    from casid.errors import DatasetError
    from casid.identification import load_information, load_model, read_record
    from casid.loads._payload import payload as run
    from casid.loads._report import flange_of
    from casid.report import report_of

    if (without is None) == (identification is None):
        raise DatasetError(
            "give --without RECORDING, made without the load, or --identification FILE of the robot alone"
        )
    if identification is not None:
        refuse(context, ("terms", "deadband"), "is that of the --identification")
    folder = out_folder(result.out)
    settings = fit.settings([loaded] if without is None else [without, loaded], reading)
    machine = settings.robot(robot)
    flange_of(machine, result.frame)  # refused before anything is read
    with shown("reading") as progress:
        progress("reading", 0, 2)
        if identification is not None:
            model, parameters = load_model(identification, machine)
            known = load_information(read_record(identification), model)
            data = _prepared(loaded, settings, model)
            found = run(model, data, parameters=parameters, information=known, drift=fit.drift)
        else:
            assert without is not None
            model = _model(machine, settings)
            pair = [_prepared(path, settings, model) for path in (loaded, without)]
            found = run(model, *pair, drift=fit.drift)
        progress("payload", 2, 2)
    present(report_of(found, robot=machine, frame=result.frame), folder)


@o.grouped
def gains(
    robot: RobotArgument,
    loaded: Loaded,
    without: Annotated[Path, typer.Option(metavar="RECORDING", help="Recording without the load.")],
    mass: Annotated[float, typer.Option(help="Known mass of the load \\[kg].")],
    fit: Fit,
    reading: o.Reading,
) -> None:
    """Calibrate the drives' gains with a load of known mass."""
    from casid.loads._gains import gains as run
    from casid.report import report_of

    settings = fit.settings([without, loaded], reading)
    machine = settings.robot(robot)
    with shown("reading") as progress:
        progress("reading", 0, 2)
        model = _model(machine, settings)
        data = [_prepared(path, settings, model) for path in (loaded, without)]
        found = run(model, data[0], data[1], mass, drift=fit.drift)
        progress("gains", 2, 2)
    present(report_of(found, joints=[joint.name for joint in machine.coordinates]))


def _prepared(path: Path, settings: o.Settings, model: Model) -> Dataset:
    return settings.of(path).prepared(settings.recording(path, model.robot), None, model)


def _model(machine: Robot, settings: o.Settings) -> Model:
    from casid.dynamics import Model

    given = settings.given.get("terms", "viscous,coulomb,offset")
    return Model(
        machine,
        comma_list(given) if isinstance(given, str) else list(given),
        velocity_deadband=float(settings.given.get("deadband", 0.0)),
    )
