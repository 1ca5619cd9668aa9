"""The command line: thin, no logic of its own. Heavy modules are imported by the command that needs them."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

import casid
from casid.errors import CasidError, CasidWarning, InertiaWarning

if TYPE_CHECKING:
    from rich.console import Console

#: Columns of a table that goes to a file or a pipe.
_PLAIN_WIDTH = 150


class _Group(TyperGroup):
    """Turns every `CasidError` into a sentence and exit code 1, every `CasidWarning` into a line."""

    def invoke(self, ctx: Any) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("always", CasidWarning)
            warnings.showwarning = _show_warning  # restored on leaving the block
            try:
                return super().invoke(ctx)
            except CasidError as error:
                typer.echo(f"error: {error}", err=True)
                raise typer.Exit(1) from error


def _show_warning(message: Warning | str, category: type[Warning], *_: Any, **__: Any) -> None:
    name = "warning" if issubclass(category, CasidWarning) else category.__name__
    typer.echo(f"{name}: {' '.join(str(message).split())}", err=True)


app = typer.Typer(
    cls=_Group,
    help="Identify robot dynamics and retrieve physically consistent parameters.",
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)


def _version(show: bool) -> None:
    if show:
        typer.echo(f"casid {casid.__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    pass


@app.command()
def robots() -> None:
    """List the robots that ship with casid."""
    from casid.description import load_robot, robot_names
    from casid.report.tables import robots_table

    _console().print(robots_table(load_robot(name) for name in robot_names()))


@app.command()
def base(
    robot: Annotated[str, typer.Argument(metavar="ROBOT", help="A shipped robot's name, or a .toml or .urdf file.")],
) -> None:
    """Print the base parameters of a robot: rank and groupings."""
    from casid.description import load_robot
    from casid.dynamics import Model
    from casid.report.tables import base_table

    model = Model(load_robot(robot))
    _console().print(base_table(model.robot.name, model.base))


@app.command()
def solve(
    problem: Annotated[
        str, typer.Argument(metavar="PROBLEM", help="A shipped problem's name, or a .py file with a function 'build'.")
    ],
    starts: Annotated[
        int | None, typer.Option(min=1, help="Number of random starts; without it, one deterministic start.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the random starts.")] = 0,
    out: Annotated[Path | None, typer.Option(help="Folder for solution.json, CSV files and pictures.")] = None,
) -> None:
    """Solve a problem, certify the solution, and write it to a folder."""
    from casid import retrieval
    from casid.report import prepare_directory, solution_tables, write_solution

    folder = None if out is None else prepare_directory(out)
    loaded = retrieval.load_problem(problem)
    result: retrieval.Solution | retrieval.MultiStart
    if starts is None:
        result = retrieval.solve(loaded)
    else:
        with _progress(f"{loaded.name}: {starts} starts", starts) as advance:
            result = retrieval.multistart(loaded, starts=starts, seed=seed, progress=advance)
    console = _console()
    for table in solution_tables(result):
        console.print(table)
    if folder is not None:
        files = write_solution(result, folder)
        typer.echo(f"Written to {folder}: {', '.join(path.name for path in files)}")


@app.command()
def export(
    robot: Annotated[str, typer.Argument(metavar="ROBOT", help="A shipped robot's name, or a .toml or .urdf file.")],
    out: Annotated[Path, typer.Option(help="Folder to make.")],
    functions: Annotated[
        str | None, typer.Option(metavar="NAME,NAME,...", help="Functions to write; 'all' or see docs/export.md.")
    ] = None,
    parameters: Annotated[
        Path | None, typer.Option(help="Parameters: .json (as `casid solve --out` writes), .csv or .npy.")
    ] = None,
    runtime_parameters: Annotated[
        str, typer.Option(metavar="none|standard|base", help="Parameters as numbers in the code, or as an argument.")
    ] = "none",
    terms: Annotated[str, typer.Option(metavar="NAME,...", help="Joint terms: viscous,coulomb,offset,rotor.")] = "",
    payload: Annotated[
        str | None, typer.Option(metavar="MASS,CX,CY,CZ[,IXX,...]", help="A body at --frame: kg, m, kg.m^2.")
    ] = None,
    frame: Annotated[str | None, typer.Option(help="Frame of the payload and the operational space.")] = None,
    prefix: Annotated[str | None, typer.Option(help="Beginning of all C names; default: the robot's name.")] = None,
    batched: Annotated[bool, typer.Option(help="Add functions for many samples at once (GCC, Clang).")] = False,
    overwrite: Annotated[bool, typer.Option(help="Replace files of an earlier export.")] = False,
) -> None:
    """Write a robot's dynamics as C code for a controller."""
    from casid.description import load_robot
    from casid.dynamics import Model
    from casid.export import all_functions, default_functions, export_robot, numbers, read_parameters
    from casid.report.tables import operations_table

    loaded, chosen_terms = load_robot(robot), _names(terms)
    if functions is None:
        chosen = default_functions(runtime_parameters)
    else:
        chosen = all_functions(loaded, runtime_parameters) if functions == "all" else tuple(_names(functions))
    done = export_robot(
        loaded,
        out,
        chosen,
        parameters=None if parameters is None else read_parameters(parameters, Model(loaded, chosen_terms)),
        runtime_parameters=runtime_parameters,  # type: ignore[arg-type]  # checked by export_robot
        terms=chosen_terms,
        payload=None if payload is None else numbers(payload, "payload"),
        frame=frame,
        prefix=prefix,
        batched=batched,
        overwrite=overwrite,
    )
    console = _console()
    console.print(operations_table("Operations of one call", [(f.name, f.operations) for f in done.functions]))
    console.print(f"Written to {done.path}: {', '.join(done.files)}", highlight=False, soft_wrap=True)


@app.command()
def ops(
    robot: Annotated[str, typer.Argument(metavar="ROBOT", help="A shipped robot's name, or a .toml or .urdf file.")],
    terms: Annotated[str, typer.Option(metavar="NAME,...", help="Joint terms: viscous,coulomb,offset,rotor.")] = "",
) -> None:
    """Count the operations of a robot's functions, beside the published counts."""
    from casid.description import load_robot
    from casid.dynamics import Model
    from casid.export import count_robot
    from casid.report.tables import operations_table

    model = Model(load_robot(robot), _names(terms))
    _console().print(operations_table(f"Operations: {model.robot.name}", count_robot(model)))


@app.command()
def cache(
    clear: Annotated[bool, typer.Option("--clear", help="Remove all files of the cache.")] = False,
) -> None:
    """Show the folder of compiled code, or empty it."""
    from casid.codegen import cache_directory, cache_entries, clear_cache

    if clear:
        typer.echo(f"{clear_cache()} files removed from {cache_directory()}")
        return
    entries = cache_entries()
    typer.echo(f"{cache_directory()}: {len(entries)} files, {sum(entry.size for entry in entries) / 1e6:.1f} MB")
    for entry in entries:
        typer.echo(f"{entry.size / 1e3:10.0f} kB  {entry.path.name}")


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


@app.command()
def excite(
    robot: Annotated[str, typer.Argument(metavar="ROBOT", help="A shipped robot's name, or a .toml or .urdf file.")],
    criterion: Annotated[
        str, typer.Option(help="What to make small: condition, d-optimal, a-optimal or largest-sd.")
    ] = "condition",
    parameter: Annotated[
        list[str] | None, typer.Option(help="For largest-sd: a base parameter that matters; may be repeated.")
    ] = None,
    harmonics: Annotated[int, typer.Option(help="Harmonics of the Fourier series.")] = 5,
    duration: Annotated[float, typer.Option(help="Length of one period [s].")] = 20.0,
    basis: Annotated[str, typer.Option(help="Kind of motion: fourier, spline or poses.")] = "fourier",
    ramp: Annotated[float, typer.Option(min=0, help="Ramps from and to rest [s]; 0: none.")] = 0.0,
    rest: Annotated[bool, typer.Option("--rest", help="Begin and end at rest, without ramps.")] = False,
    poses: Annotated[int, typer.Option(min=1, help="Number of static poses, with --basis poses.")] = 50,
    terms: Annotated[
        str, typer.Option(help="Joint effects that are identified too, separated by commas.")
    ] = "viscous,coulomb,offset",
    payload: Annotated[bool, typer.Option("--payload", help="Only a load on the last link is unknown.")] = False,
    share: Annotated[float, typer.Option(help="Part of the velocity and acceleration limits to use.")] = 1.0,
    collision: Annotated[bool, typer.Option(help="Keep the robot's capsules apart.")] = True,
    torque: Annotated[bool, typer.Option(help="Keep torque limits, with the nominal parameters.")] = True,
    floor: Annotated[float | None, typer.Option(help="Smallest height of the link frames, base frame [m].")] = None,
    samples: Annotated[int, typer.Option(min=2, help="Samples of the observation matrix.")] = 160,
    starts: Annotated[int, typer.Option(min=1, help="Number of random starts.")] = 1,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the first start.")] = 0,
    seconds: Annotated[float | None, typer.Option(min=0.1, help="Time limit of each start [s].")] = None,
    evaluate: Annotated[Path | None, typer.Option(help="Only evaluate this trajectory (TOML).")] = None,
    rate: Annotated[float, typer.Option(help="Rate of the CSV and ROS 2 files [Hz].")] = 100.0,
    out: Annotated[Path | None, typer.Option(help="Folder for the trajectory, pictures and an animation.")] = None,
) -> None:
    """Design a motion (or static poses) that makes identification good. Ctrl-C keeps the best so far."""
    from casid.description import load_robot
    from casid.excitation import Study, evaluate_trajectory, read_trajectory
    from casid.report import excitation_tables, prepare_directory, write_excitation

    folder = None if out is None else prepare_directory(out)
    machine = load_robot(robot)
    study = Study(
        criterion=criterion, parameters=tuple(parameter or ()), harmonics=harmonics, duration=duration, basis=basis,
        ramp=ramp, rest=rest, poses=poses, terms=tuple(word.strip() for word in terms.split(",") if word.strip()),
        payload=payload, samples=samples, share=share, collision=collision, torque=torque, floor=floor,
    )  # fmt: skip
    if evaluate is None:
        designer = study.designer(machine)
        with _design_progress(machine.name) as progress:
            design = designer.run(
                starts, seed, progress=progress, max_seconds=seconds or float("inf"), robot=machine.name
            )
    else:
        designer, design = evaluate_trajectory(study, machine, read_trajectory(evaluate))
    console = _console()
    for table in excitation_tables(designer, design):
        console.print(table)
    if folder is not None:
        files = write_excitation(machine, designer, design, folder, rate)
        typer.echo(f"Written to {folder}: {', '.join(path.name for path in files)}")


@contextmanager
def _design_progress(name: str) -> Iterator[Callable[..., None]]:
    """One line on stderr with the current value of the criterion."""
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    console = Console(stderr=True)
    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task(f"{name}: first motion")

        def show(at: Any) -> None:
            where = f"start {at.start}/{at.starts}, stage {at.stage}/{at.stages}, iteration {at.iteration}"
            bar.update(task, description=f"{name}: {where}: {at.value:.4g}, best kept {at.best:.4g}")

        yield show


@app.command()
def identify(
    robot: Annotated[str, typer.Argument(metavar="ROBOT", help="A shipped robot's name, or a .toml or .urdf file.")],
    recording: Annotated[
        list[Path],
        typer.Argument(metavar="RECORDING...", help="npz, csv, mat, mcap, rosbag2, or a toml that describes one."),
    ],
    terms: Annotated[
        str, typer.Option(help="Joint terms, separated by commas; name@joint for a single joint.")
    ] = "viscous,coulomb,offset",
    friction: Annotated[str, typer.Option(help="linear, smooth, stribeck or sigmoid (fitted jointly).")] = "linear",
    cutoff: Annotated[float, typer.Option(help="Cut-off of the zero-phase low-pass filter [Hz].")] = 5.0,
    order: Annotated[int, typer.Option(help="Order of the filter.")] = 4,
    rate: Annotated[
        float | None, typer.Option(help="Uniform grid [Hz]; default: where time stamps are irregular.")
    ] = None,
    velocity: Annotated[str, typer.Option(help="differentiate or measured.")] = "differentiate",
    trim: Annotated[float, typer.Option(help="Seconds dropped at both ends.")] = 0.5,
    every: Annotated[int, typer.Option(help="Keep every so many samples.")] = 10,
    deadband: Annotated[
        float, typer.Option(help="Speed below which the sign of a velocity counts as 0 [rad/s].")
    ] = 0.0,
    tau: Annotated[str | None, typer.Option(help="Name of the torque array in the file.")] = None,
    method: Annotated[str, typer.Option(help="WLS, OLS or IRLS.")] = "WLS",
    consistency: Annotated[str, typer.Option(help="full, or semi (no triangle inequality).")] = "full",
    constraints: Annotated[
        Path | None,
        typer.Option(help="A .py file with a function 'constraints(variables)'; default: the robot's bounds."),
    ] = None,
    prior: Annotated[float, typer.Option(help="Weight of the pull towards the robot's nominal bodies.")] = 0.0,
    out: Annotated[Path | None, typer.Option(help="Folder for the report, tables and pictures.")] = None,
) -> None:
    """Identify a robot from recordings: consistent, certified parameters and a report."""
    from casid.description import load_robot
    from casid.measurement import read_dataset
    from casid.report import identification_tables, prepare_directory, write_identification
    from casid.retrieval import Prior, load_constraints, sensible_bounds
    from casid.retrieval import identify as run

    folder = None if out is None else prepare_directory(out)
    loaded = load_robot(robot)
    names: dict[str, Any] = {} if tau is None else {"columns": {"tau": tau}}
    data = [read_dataset(path, **names) for path in recording]
    settings = _processing(cutoff=cutoff, order=order, rate=rate, velocity=velocity, trim=trim, every=every)
    options: dict[str, Any] = {"friction": friction, "method": method, "consistency": consistency}
    result = run(
        loaded,
        data,
        processing=settings,
        terms=[t.strip() for t in terms.split(",") if t.strip()],
        velocity_deadband=deadband,
        constraints=sensible_bounds if constraints is None else load_constraints(constraints),
        prior=Prior(loaded, loaded.standard_parameters(), prior) if prior else None,
        **options,
    )
    console = _console()
    for table in identification_tables(result):
        console.print(table)
    if folder is not None:
        files = write_identification(result, folder)
        typer.echo(f"Written to {folder}: {', '.join(path.name for path in files)}")


@app.command()
def validate(
    robot: Annotated[str, typer.Argument(metavar="ROBOT", help="A shipped robot's name, or a .toml or .urdf file.")],
    identification: Annotated[
        Path, typer.Argument(metavar="IDENTIFICATION", help="identification.json of 'casid identify'.")
    ],
    recording: Annotated[Path, typer.Argument(metavar="RECORDING", help="A recording that was not used for it.")],
    cutoff: Annotated[float, typer.Option(help="Cut-off of the zero-phase low-pass filter [Hz].")] = 5.0,
    order: Annotated[int, typer.Option(help="Order of the filter.")] = 4,
    rate: Annotated[
        float | None, typer.Option(help="Uniform grid [Hz]; default: where time stamps are irregular.")
    ] = None,
    velocity: Annotated[str, typer.Option(help="differentiate or measured.")] = "differentiate",
    trim: Annotated[float, typer.Option(help="Seconds dropped at both ends.")] = 0.5,
    every: Annotated[int, typer.Option(help="Keep every so many samples.")] = 10,
    tau: Annotated[str | None, typer.Option(help="Name of the torque array in the file.")] = None,
    out: Annotated[Path | None, typer.Option(help="Folder for validation.json and the picture.")] = None,
) -> None:
    """Predict the torques of another recording by Newton-Euler and compare."""
    from casid.description import load_robot
    from casid.measurement import check_against, read_dataset
    from casid.report import prepare_directory, validation_tables, write_validation
    from casid.retrieval import load_model, predict

    folder = None if out is None else prepare_directory(out)
    loaded = load_robot(robot)
    model, parameters = load_model(identification, loaded)
    names: dict[str, Any] = {} if tau is None else {"columns": {"tau": tau}}
    data = check_against(read_dataset(recording, **names), loaded)
    settings = _processing(cutoff=cutoff, order=order, rate=rate, velocity=velocity, trim=trim, every=every)
    prediction = predict(model, parameters, settings.apply(data))
    joints = [joint.name for joint in loaded.joints]
    console = _console()
    for table in validation_tables(prediction, joints):
        console.print(table)
    for note in prediction.dataset.notes:
        typer.echo(f"note: {note}", err=True)
    if folder is not None:
        files = write_validation(prediction, joints, folder)
        typer.echo(f"Written to {folder}: {', '.join(path.name for path in files)}")


@app.command()
def check(
    parameters: Annotated[
        str,
        typer.Argument(metavar="PARAMETERS", help="A .urdf, a robot, an identification.json or a csv of parameters."),
    ],
    out: Annotated[Path | None, typer.Option(help="Folder for the repaired file.")] = None,
) -> None:
    """Say which links are unphysical, by how much, and write the nearest repaired file. Exit code 1 if any is."""
    from casid.report import check_table, prepare_directory
    from casid.report.write import write_files
    from casid.retrieval import check_file

    folder = None if out is None else prepare_directory(out)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InertiaWarning)  # the table says more
        result = check_file(parameters)
    _console().print(check_table(parameters, result))
    if folder is not None:
        (path,) = write_files(folder, {result.repaired_name: result.repaired})
        typer.echo(f"Written to {folder}: {path.name}")
    if result.unphysical:
        raise typer.Exit(1)


def _processing(rate: float | None, **options: Any) -> Any:
    from casid.measurement import Processing

    return Processing(rate="auto" if rate is None else rate, **options)


@app.command()
def intervals(
    problem: Annotated[
        str, typer.Argument(metavar="PROBLEM", help="A shipped problem's name, or a .py file with a function 'build'.")
    ],
    tolerance: Annotated[
        float | None, typer.Option(help="Allowed increase of the sum of squares; default: what noise explains.")
    ] = None,
    weigh: Annotated[bool, typer.Option("--weigh", help="Also tell what weighing each link would settle.")] = False,
    out: Annotated[Path | None, typer.Option(help="Folder for intervals.csv and intervals.png.")] = None,
) -> None:
    """Find how far the data and the constraints pin each parameter down."""
    from casid import retrieval
    from casid.report import intervals_table, prepare_directory, what_if_table, write_intervals

    folder = None if out is None else prepare_directory(out)
    found = retrieval.parameter_intervals(retrieval.load_problem(problem), tolerance=tolerance)
    console = _console()
    console.print(intervals_table(found))
    if weigh:
        candidates = retrieval.weigh_each_link(found.problem, found)
        console.print(what_if_table(retrieval.what_if(found, candidates)))
    if folder is not None:
        files = write_intervals(found, folder)
        typer.echo(f"Written to {folder}: {', '.join(path.name for path in files)}")


@app.command()
def study(
    problem: Annotated[
        str, typer.Argument(metavar="PROBLEM", help="A shipped problem's name, or a .py file with a function 'build'.")
    ],
    file: Annotated[Path, typer.Argument(metavar="FILE", help="JSON-lines file of the results; resumed if it exists.")],
    starts: Annotated[int, typer.Option(min=1, help="Number of random starts.")] = 100,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the random starts.")] = 0,
    jobs: Annotated[int, typer.Option(help="Processes; needs joblib if not 1.")] = 1,
    cluster: Annotated[str | None, typer.Option(help="Address of a Dask scheduler in place of processes.")] = None,
    penalty: Annotated[bool, typer.Option("--penalty", help="Algorithm 1 of Gaz et al. 2019, kappa = 10.")] = False,
) -> None:
    """Solve a problem from many starts; results stream to a file, and a killed study continues where it stopped."""
    from casid import retrieval

    loaded = retrieval.load_problem(problem)
    with _progress(f"{loaded.name}: {starts} starts", starts) as advance:
        found = retrieval.run_study(
            loaded, file, starts, seed, "penalty" if penalty else "direct", jobs, cluster, progress=advance
        )
    best = found.best
    typer.echo(
        f"{len(found.results)} starts, {found.certified} certified, {found.solved} solved now in {found.time:.1f} s; "
        f"best: {best.status}, sum of squares {best.objective:.6e} (start {best.start}, seed {best.seed})"
    )


@app.command()
def explain(
    problem: Annotated[
        str, typer.Argument(metavar="PROBLEM", help="A shipped problem's name, or a .py file with a function 'build'.")
    ],
) -> None:
    """Solve a problem and tell what holds its solution where it is."""
    from casid import retrieval

    typer.echo(str(retrieval.solve(retrieval.load_problem(problem)).explain()))


@contextmanager
def _progress(text: str, total: int) -> Iterator[Callable[..., None]]:
    """Progress bar on stderr; the function it gives is called once for each finished start."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task(text, total=total)
        yield lambda *_: bar.advance(task)


def _console() -> Console:
    from rich.console import Console

    return Console() if sys.stdout.isatty() else Console(width=_PLAIN_WIDTH)


def main() -> None:
    """Entry point of the command ``casid``."""
    app()
