"""Commands about recordings and what they gave: ``identify``, ``validate``, ``check``."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, cast

import typer

import casid
from casid._annexes import recordings
from casid.cli import options as o
from casid.cli.shared import (
    RobotArgument,
    announce_conversion,
    announce_written,
    note,
    out_folder,
    present,
    refuse,
    say,
    shown,
)
from casid.errors import DatasetError, InertiaWarning
from casid.files import comma_list


@dataclass(frozen=True)
class Modelled(o.OptionGroup):
    """The model that is identified."""

    panel = o.MODEL
    terms: str | None = o.option(
        None,
        "Joint terms, separated by commas; name@joint for one joint. Default viscous,coulomb,offset,rotor and "
        "those of motors that turn several joints.",
    )
    friction: str | None = o.option(
        None,
        "static (default: chosen by cross-validation, linear in doubt and with --terms), auto (from laws with "
        "memory too), linear, or a law such as stribeck.",
    )
    total_mass: str | None = o.option(None, "Mass of all moving links \\[kg].", metavar="LOW:HIGH")
    bounds: list[str] | None = o.option(
        None, "Bounds of a parameter, e.g. m7=0:3 or fc2=0:20; may be repeated.", metavar="NAME=LOW:HIGH"
    )
    method: str | None = o.option(None, "WLS (default), OLS, IRLS, or ML: maximum likelihood, positions noisy too.")
    deadband: o.Deadband = None
    only: o.Only = None


@dataclass(frozen=True)
class Choices(o.OptionGroup):
    """Choice of the physically consistent parameters, and what is checked."""

    panel = o.ADVANCED
    consistency: str = o.option("full", "full, or semi (no triangle inequality).")
    constraints: Path | None = o.option(
        None, "A .py file with a function 'constraints(variables)'; default: the robot's bounds."
    )
    prior: float = o.option(0.0, "Weight of the distance from the robot's nominal bodies.")
    believable: bool = o.option(True, "Of all parameters that explain the data as well, take the most plausible.")
    share: o.Share = None
    intervals: bool = o.option(False, "Also prove between which ends each link's mass lies.", "--intervals")
    folds: int = o.option(4, "Parts of the motion held out in turn, two or more; 0: none.", min=0)
    verdict: bool = o.option(True, "Look for what the recording says against the robot's file.")
    quick: bool = o.option(False, "Parameters alone: nothing held out, no delay looked for, no verdict.", "--quick")
    profile: list[str] | None = o.option(
        None,
        "Of recordings of commands: also the interval of this unknown (armature, 'armature elbow', all) by "
        "optimising the others again along it. May be repeated.",
    )

    def checks(self) -> casid.identification.Checks:
        """What is examined beside the fit."""
        folds, verdict = (0, False) if self.quick else (self.folds, self.verdict)
        return casid.identification.Checks(folds, verdict, self.intervals)


@dataclass(frozen=True)
class Output(o.RobotFiles):
    """Files of the identified robot."""

    panel = o.OUTPUT
    out: Path | None = o.option(None, "Folder for the report, tables and pictures.")
    actuators: list[Path] | None = o.option(
        None,
        "Write the servos found from commands; the ending is the format: .usda, .isaac.json, .pace.yaml, "
        ".mjlab.yaml, .bam.json, .ranges.json. May be repeated.",
    )
    samples: int = o.option(
        0, "So many parameter sets that data and plausible links leave open, and their ranges, in --out.", min=0
    )


def _terms(given: Mapping[str, Any]) -> dict[str, Any]:
    """Friction and joint terms as given, by the names that `ModelOptions` has for them."""
    found = {"friction": given["friction"]} if "friction" in given else {}
    if "terms" in given:
        found["terms"] = comma_list(given["terms"]) if isinstance(given["terms"], str) else list(given["terms"])
    return found


@o.grouped
def identify(
    context: typer.Context,
    robot: RobotArgument,
    recording: Annotated[
        list[Path],
        typer.Argument(metavar="RECORDING...", help="npz, csv, mat, mcap, rosbag2, or a toml that describes one."),
    ],
    modelled: Modelled,
    output: Output,
    reading: o.Reading,
    choices: Choices,
) -> None:
    """Identify a robot from recordings: consistent, certified parameters and a report.

    Recordings without torques but with commanded positions, or whose TOML describes a servo, are identified by
    simulation: gains, armature, friction, delay and what the data tell of each.
    """
    with shown("reading"):
        from casid.identification import Choice, Constraints, ModelOptions
        from casid.report import report_of
        from casid.retrieval import Prior, load_constraints

        if not choices.believable:
            refuse(context, ("share",), "does not go with --no-believable")
        if output.samples and output.out is None:
            refuse(context, ("samples",), "needs --out, where they are written")
        folder, files = out_folder(output.out), output.robots()
        for path in recording:
            if recording.count(path) > 1:
                raise DatasetError(f"recording '{path}' is given twice")
        settings = o.Settings.merged(recording, **modelled.given(), **reading.given())
        loaded, given = settings.robot(robot), settings.given
        simulated = reading.tau is None and any(
            casid.measurement.has_commands_only(path) is not False for path in recording
        )
    for kind in recordings() if simulated else ():
        commanded = kind.from_commands(loaded, recording)
        if commanded is not None:
            refuse(context, ("samples",), "needs recordings with torques")
            kind.identify_commands(loaded, commanded, files, folder, output.actuators or (), choices.profile or ())
            return
    refuse(context, ("actuators", "profile"), "needs recordings of commands without torques")
    with shown("reading") as progress:
        data = [settings.recording(path, loaded, signs=False) for path in recording]
        result = casid.identify(
            loaded,
            data,
            processing=[settings.of(path).processing() for path in recording],
            delay=settings.delay(),
            model=ModelOptions(velocity_deadband=float(given.get("deadband", 0.0)), **_terms(given)),
            estimator=given.get("method", "WLS"),
            constraints=Constraints(
                "default" if choices.constraints is None else load_constraints(choices.constraints),
                settings.bounds() or {},
                cast(Literal["full", "semi", "none"], choices.consistency),
                prior=Prior(loaded, loaded.standard_parameters(), choices.prior) if choices.prior else None,
            ),
            choice=Choice(choices.believable, share=choices.share),
            checks=choices.checks(),
            progress=progress,
        )
    if choices.quick and "delay" not in given:
        note("--quick looks for no delay of the torques, which shifts rotor inertias and friction: --delay auto")
    present(report_of(result), folder)
    for path in files:
        announce_conversion(casid.description.write_robot(loaded.with_parameters(result.parameters), path))
    if output.samples and folder is not None:
        announce_written(folder, casid.files.write_files(folder, result.samples(output.samples).files()))


@o.grouped
def validate(
    robot: RobotArgument,
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="[IDENTIFICATION] RECORDING",
            help="identification.json or its folder, solution.json or a csv, without which the parameters of ROBOT's "
            "own file count; and a recording that was not used for it.",
        ),
    ],
    *,
    reading: o.Reading,
    only: o.Only = None,
    refit_friction: Annotated[
        str | None, typer.Option(metavar="LAW", help="Fit this friction law to the recording first, links unchanged.")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Folder for validation.json, the page and the picture.")] = None,
) -> None:
    """Predict the torques of another recording by Newton-Euler and compare.

    The recording goes through the processing of the identification, unless options change it.
    """
    *found, recording = files
    if len(found) > 1:
        raise typer.BadParameter(f"one RECORDING at a time, behind at most one IDENTIFICATION; got {len(files)} files")
    if recording.suffix == ".json" or (recording / "identification.json").is_file():
        raise typer.BadParameter(f"'{recording}' is an IDENTIFICATION; the RECORDING behind it is missing")
    from casid.identification import load_model, load_processing, predict, read_record

    folder = out_folder(out)
    settings = o.Settings.merged([recording], only=only, **reading.given()).of(recording)
    loaded = settings.robot(robot)
    if found:
        record = read_record(found[0])
        model, parameters = load_model(found[0], loaded)
    else:
        record, model = dict[str, Any](), casid.Model.of_parameters(loaded, loaded.parameters)
        parameters = model.parameters(loaded.parameters)
        if not model.terms:
            note(f"the file of robot '{loaded.name}' has no joint terms: friction counts as zero")
    if "gravity" in settings.given:  # mounted another way since
        model = casid.Model(loaded, model.terms, velocity_deadband=model.velocity_deadband)
    data = settings.recording(recording, loaded)
    if refit_friction is not None:
        ready = settings.prepared(data, load_processing(record), model)
        fitted = casid.identification.refit_friction(model, parameters, ready, refit_friction)
        model, parameters = fitted.model, fitted.values
    prediction = predict(model, parameters, settings.prepared(data, load_processing(record), model))
    note(*prediction.dataset.notes)
    found_for = record.get("robot", loaded.name)
    if found_for != loaded.name:
        note(f"{found[0]} was found for robot '{found_for}', not for '{loaded.name}'")
    present(casid.report.report_of(prediction, joints=[joint.name for joint in loaded.coordinates]), folder)


def compare(
    before: Annotated[Path, typer.Argument(metavar="BEFORE", help="identification.json, or its folder.")],
    after: Annotated[Path, typer.Argument(metavar="AFTER", help="identification.json of another recording.")],
    out: Annotated[Path | None, typer.Option(help="Folder for comparison.json, the page and the picture.")] = None,
) -> None:
    """Compare two identifications of a robot, e.g. before and after service: what differs beyond chance."""
    folder = out_folder(out)
    files = [path / "identification.json" if path.is_dir() else path for path in (before, after)]
    present(casid.report.report_of(casid.identification.compare(*files)), folder)


@o.grouped
def check(
    parameters: Annotated[
        str,
        typer.Argument(metavar="PARAMETERS", help="A robot, its file, an identification.json or a csv of parameters."),
    ],
    robot: Annotated[
        str | None,
        typer.Option(metavar="ROBOT", help="Robot of the parameters in a json or csv file."),
    ] = None,
    *,
    options: o.RobotOptions,
    out: Annotated[Path | None, typer.Option(help="Folder for the repaired file.")] = None,
) -> None:
    """Find links that are unphysical, whether the dynamics are, and write a repaired file. Exit code 1 if any is.

    The repair keeps the base parameters, and with them the dynamics, wherever a consistent set has them.
    """
    from casid.identification.repair import check_file

    folder = out_folder(out)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InertiaWarning)  # the table is more detailed
        owner = None if robot is None else options.robot(robot)
        result = check_file(parameters, owner, **options.reading())
    present(casid.report.report_of(result, name=parameters), folder)
    if result.unphysical:
        raise typer.Exit(1)


@o.grouped
def reverse_engineer(
    context: typer.Context,
    robot: RobotArgument,
    samples: Annotated[
        Path, typer.Argument(metavar="SAMPLES", help="npz of a controller: q, g (N, n) and, if known, M (N, n, n).")
    ],
    recording: Annotated[
        Path | None, typer.Argument(metavar="[RECORDING]", help="Positions and torques: for friction and validation.")
    ] = None,
    friction: Annotated[
        str, typer.Option(help="Law fitted to the torques that the coefficients do not explain.")
    ] = "sigmoid",
    *,
    reading: o.Reading,
    out: Annotated[Path | None, typer.Option(help="Folder for solution.json, identification.json and tables.")] = None,
) -> None:
    """Find feasible links from a controller's mass matrices and gravity torques, and friction from a recording.

    Every number counts by the error that it shows; of all links that explain them as well the most plausible are taken.
    """
    from casid.report import report_of

    if recording is None:
        refuse(context, ("friction", *o.OF_RECORDINGS), "needs a RECORDING")
    folder = out_folder(out)
    settings = o.Settings.merged([] if recording is None else [recording], **reading.given()).of(recording)
    loaded = settings.robot(robot)
    arrays = _controller_samples(samples)
    data = None if recording is None else settings.recording(recording, loaded)
    result = casid.identification.reverse_engineered(
        loaded, arrays["q"], arrays.get("M"), arrays["g"], data, gravity=None, friction=friction,
        processing=settings.processing(),
    )  # fmt: skip
    estimate = result.estimate
    if "M" not in arrays:
        rest = "the recording determines the rest" if recording else "only what gravity depends on is determined"
        note(f"no mass matrices 'M': {rest}")
    say(
        f"{estimate.rank} coefficients; condition number {estimate.condition_number:.4g}, relative error "
        f"{estimate.relative_error:.4g} %"
    )
    for finding in result.findings:
        say(f"WRONG: {finding.text}", err=True)
    reports = [report_of(result)]
    if result.validation is not None:
        reports.append(report_of(result.validation, joints=[joint.name for joint in loaded.joints]))
    for report in reports:
        present(report)
    if folder is not None:
        contents = {"identification.json": casid.files.json_bytes(result.record())}
        for report in reports:
            contents |= report.files()
        announce_written(folder, casid.files.write_files(folder, contents))


def _controller_samples(path: Path) -> dict[str, Any]:
    """Arrays of a controller's samples: q, g and, if known, M."""
    content = casid.files.read_bytes(path, "samples", DatasetError)
    arrays = casid.files.npz_arrays(content, str(path), "samples", DatasetError)
    for name in ("q", "g"):
        if name not in arrays:
            known = ", ".join(arrays) or "none"
            raise DatasetError(f"{path}: array '{name}' is missing; needed are q, g and M, there are {known}")
    return arrays
