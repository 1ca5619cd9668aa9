"""Options that commands about recordings share, and what they turn into; the recording's TOML may hold them too."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args

import typer

from casid.cli.shared import names
from casid.errors import DatasetError

if TYPE_CHECKING:
    from casid.description import Robot
    from casid.dynamics import Model
    from casid.measurement import Dataset, Processing

Cutoff = Annotated[
    str | None, typer.Option(help="Cut-off of the zero-phase low-pass filter [Hz]; 'auto' (default) or 'none'.")
]
CutoffTorque = Annotated[str | None, typer.Option(help="Cut-off for the torques [Hz]; 'same' (default) or 'none'.")]
Order = Annotated[int | None, typer.Option(help="Order of the filter, default 4.")]
Rate = Annotated[float | None, typer.Option(help="Uniform grid [Hz]; default: where time stamps are irregular.")]
Velocity = Annotated[str | None, typer.Option(help="differentiate (default) or measured.")]
Trim = Annotated[float | None, typer.Option(help="Seconds dropped at both ends, default 0.5.")]
Every = Annotated[str | None, typer.Option(help="Keep every so many samples; default: 'auto', from the cut-off.")]
Delay = Annotated[
    str | None,
    typer.Option(metavar="SECONDS|auto", help="Time by which the torques lag behind the positions; auto: estimated."),
]
Deadband = Annotated[float | None, typer.Option(help="Speed below which the sign of a velocity counts as 0 \\[rad/s].")]
Torque = Annotated[str | None, typer.Option(help="Name of the torque array in the file.")]
Gravity = Annotated[
    str | None, typer.Option(metavar="X,Y,Z", help="Acceleration of gravity in the base frame \\[m/s^2], or +x ... -z.")
]
Lock = Annotated[
    str | None, typer.Option(metavar="JOINT,...", help="Joints that are fixed; joint=position, default 0.")
]
Only = Annotated[str | None, typer.Option(metavar="JOINT,...", help="Use the torques of these joints only.")]
AngleTolerance = Annotated[
    float | None, typer.Option(help="Angles this near a multiple of pi/2 count as it \\[rad]; 1e-5 for printed 1.5708.")
]
Share = Annotated[
    float | None,
    typer.Option(help="By how much the residual's norm may grow for more plausible links, e.g. 0.005."),
]
TotalMass = Annotated[str | None, typer.Option(metavar="LOW:HIGH", help="Mass of all moving links \\[kg].")]
BoundsOption = Annotated[
    list[str] | None,
    typer.Option(metavar="NAME=LOW:HIGH", help="Bounds of a parameter, e.g. m7=0:3 or fc2=0:20; may be repeated."),
]
#: How a recording is read and of which robot it is: options of all commands about recordings.
_READING = {
    "cutoff": Cutoff, "cutoff_torque": CutoffTorque, "order": Order, "rate": Rate, "velocity": Velocity, "trim": Trim,
    "every": Every, "delay": Delay, "tau": Torque, "gravity": Gravity, "lock": Lock,
    "angle_tolerance": AngleTolerance,
}  # fmt: skip
#: Those of them that say nothing of the robot.
OF_RECORDINGS = tuple(name for name in _READING if name not in ("gravity", "lock", "angle_tolerance"))
#: Settings of `Processing` by the option's name.
_PROCESSING = {
    "cutoff": "cutoff", "cutoff_torque": "torque_cutoff", "order": "order", "rate": "rate", "velocity": "velocity",
    "trim": "trim", "every": "every",
}  # fmt: skip
_ROBOT = ("delay", "gravity", "lock", "only", "angle_tolerance", "total_mass", "bounds")
_STANDARD_G = 9.80665
#: Table of a recording's TOML that holds options.
TABLE = "options"


def with_reading(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options of how a recording is read in place of its parameter ``reading``.

    The command gets their values as one dictionary by name, ``None`` where an option was not given.
    """
    own = inspect.signature(command, eval_str=True)
    shared = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=_in_panel(annotation))
        for name, annotation in _READING.items()
    ]
    parameters: list[inspect.Parameter] = []
    for name, parameter in own.parameters.items():
        parameters += shared if name == "reading" else [parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY)]

    def called(**given: Any) -> None:
        reading = {name: given.pop(name) for name in _READING}
        command(**given, reading=reading)

    called.__name__, called.__doc__ = command.__name__, command.__doc__
    vars(called)["__signature__"] = own.replace(parameters=parameters)
    called.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return called


def _in_panel(annotation: Any) -> Any:
    """The option, listed with the others of its kind in the command's help."""
    kind, option = get_args(annotation)
    option = copy(option)
    option.rich_help_panel = "How the recording is read"
    return Annotated[kind, option]


@dataclass
class Settings:
    """Options of one run: those of the recording's TOML first, those of the command line over them."""

    given: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def merged(cls, recordings: Sequence[Path], **options: Any) -> Settings:
        """From the ``[options]`` of TOML recordings and the command line's own (``None``: not given)."""
        found: dict[str, Any] = {}
        for path in recordings:
            found.update(_options_of(path))
        found.update({name: value for name, value in options.items() if value is not None})
        return cls(found)

    def processing(self, default: Processing | bool | None = None) -> Processing | bool | None:
        """Processing with what was given over a default, or the default itself where nothing was."""
        from dataclasses import asdict

        from casid.measurement import Processing

        if not any(name in self.given for name in _PROCESSING):
            return default
        settings = asdict(default if isinstance(default, Processing) else Processing())
        for name, field_name in _PROCESSING.items():
            if name in self.given:
                settings[field_name] = _setting(name, self.given[name])
        return Processing(**settings)

    def prepared(self, data: Dataset, default: Processing | bool | None, model: Model) -> Dataset:
        """The recording through the processing, its delay taken out if that was asked for.

        Parameters
        ----------
        default
            Processing where nothing was given.
        model
            For the estimate of a delay.
        """
        from casid.identification.diagnosis._delay import without_delay
        from casid.measurement import prepare

        processing, delay = self.processing(default), self.delay()
        ready = prepare(data, processing)
        if delay is None:
            return ready
        (made,), _, said = without_delay(model, [data], [ready], processing, None if delay == "auto" else delay)
        if said:
            typer.echo(f"note: {data.name}: {said}", err=True)
        return made

    def robot(self, name: str) -> Robot:
        """The robot with gravity, locked joints, angle tolerance and total mass as given."""
        from dataclasses import replace

        from casid.description import load_robot

        robot = load_robot(name, **self.reading())
        for note in robot.notes:
            typer.echo(f"note: {note}", err=True)
        if "total_mass" in self.given:
            robot = replace(robot, total_mass=_range("--total-mass", self.given["total_mass"]))
        return robot

    def reading(self) -> dict[str, Any]:
        """Gravity, locked joints and angle tolerance as given, by the names that `load_robot` has for them."""
        options: dict[str, Any] = {}
        if "gravity" in self.given:
            options["gravity"] = vector(self.given["gravity"])
        if "lock" in self.given:
            options["lock"] = _locked(self.given["lock"])
        if "angle_tolerance" in self.given:
            tolerance = float(self.given["angle_tolerance"])
            if not 0 <= tolerance < 0.1:
                raise DatasetError(f"--angle-tolerance: expected radians from 0 to 0.1, got {tolerance:g}")
            options["angle_tolerance"] = tolerance
        return options

    def recording(self, path: Path, robot: Robot) -> Dataset:
        """A recording in the order of the robot's joints, locked ones left out, the torques of the chosen joints only.

        Parameters
        ----------
        path
            The file.
        robot
            As `robot` made it.
        """
        from casid.measurement import check_against, read_dataset, without_locked

        data = read_dataset(path, columns={"tau": self.given["tau"]} if "tau" in self.given else None)
        return self._counted(check_against(without_locked(data, robot), robot), robot)

    def _counted(self, data: Dataset, robot: Robot) -> Dataset:
        """The recording with the torques of the chosen joints only."""
        if "only" not in self.given:
            return data
        known = [joint.name for joint in robot.coordinates]
        chosen = _words(self.given["only"])
        if not chosen:
            raise DatasetError(f"--only: it names no joint; robot '{robot.name}' has {', '.join(known)}")
        for name in chosen:
            if name not in known:
                raise DatasetError(f"--only: robot '{robot.name}' has no joint '{name}'; it has {', '.join(known)}")
        return data.only([known.index(name) for name in chosen])

    def bounds(self) -> dict[str, tuple[float, float]]:
        """Bounds of single parameters."""
        given = self.given.get("bounds", ())
        pairs = given.items() if isinstance(given, Mapping) else [_split(entry, "--bounds") for entry in given]
        return {name: _range(f"bounds of {name}", text) for name, text in pairs}

    def delay(self) -> float | Literal["auto"] | None:
        """Delay of the torques [s]."""
        value = self.given.get("delay")
        if value is None or (isinstance(value, str) and value.strip().lower() == "auto"):
            return None if value is None else "auto"
        try:
            return float(value)
        except (TypeError, ValueError):
            raise DatasetError(f"delay: expected seconds or 'auto', got '{value}'") from None


def robot_of(name: str, lock: str | None, gravity: str | None, angle_tolerance: float | None) -> Robot:
    """The robot that a command is about, with the options that every such command has."""
    return Settings.merged((), lock=lock, gravity=gravity, angle_tolerance=angle_tolerance).robot(name)


def reading_options(lock: str | None, gravity: str | None, angle_tolerance: float | None) -> dict[str, Any]:
    """How a robot's file is to be read, see `Settings.reading`."""
    return Settings.merged((), lock=lock, gravity=gravity, angle_tolerance=angle_tolerance).reading()


def vector(value: Any) -> list[float]:
    """Gravity: three numbers, or an axis of the base frame that it points along, ``-z`` as usual."""
    if isinstance(value, str):
        axis = value.strip().lower()
        if len(axis) == 2 and axis[0] in "+-" and axis[1] in "xyz":
            return [(_STANDARD_G if axis[0] == "+" else -_STANDARD_G) * (letter == axis[1]) for letter in "xyz"]
        parts: Any = axis.split(",")
    else:
        parts = value
    try:
        numbers = [float(part) for part in parts]
    except (TypeError, ValueError):
        numbers = []
    if len(numbers) != 3:
        raise DatasetError(f"gravity: expected three numbers or +x ... -z, got '{value}'")
    return numbers


def _options_of(path: Path) -> dict[str, Any]:
    if path.suffix.lower() != ".toml":
        return {}
    from casid.files._texts import read_toml

    table = read_toml(path, "recording", DatasetError).get(TABLE, {})
    if not isinstance(table, Mapping):
        raise DatasetError(f"{path.name}: '{TABLE}' must be a table of options")
    known = (*_PROCESSING, *_ROBOT, "terms", "friction", "deadband", "method")
    for key in table:
        if key not in known:
            raise DatasetError(f"{path.name}: unknown option '{key}'; known: {', '.join(known)}")
    return dict(table)


def _setting(name: str, value: Any) -> Any:
    if isinstance(value, str) and name in ("cutoff", "cutoff_torque", "every"):
        word = value.strip().lower()
        if word in ("auto", "same"):
            return word
        if word == "none":
            return None
        try:
            return int(word) if name == "every" else float(word)
        except ValueError:
            raise DatasetError(f"--{name.replace('_', '-')}: expected a number, got '{value}'") from None
    return value


def _words(value: Any) -> list[str]:
    return names(value) if isinstance(value, str) else [str(entry) for entry in value]


def _locked(value: Any) -> dict[str, float]:
    if isinstance(value, Mapping):
        return {str(k): float(v) for k, v in value.items()}
    found = {}
    for word in _words(value):
        name, _, position = word.partition("=")
        try:
            found[name] = float(position or 0.0)
        except ValueError:
            raise DatasetError(f"--lock: the position of '{name}' is no number: '{position}'") from None
    return found


def _split(text: str, option: str) -> tuple[str, str]:
    name, sign, value = text.partition("=")
    if not sign or not name:
        raise DatasetError(f"{option}: expected NAME=LOW:HIGH, got '{text}'")
    return name.strip(), value


def _range(what: str, value: Any) -> tuple[float, float]:
    """``LOW:HIGH``, either side may be left out; a pair of numbers; one number for both."""
    try:
        if isinstance(value, str):
            low, colon, high = value.partition(":")
            pair = (float(low or "-inf"), float(high or "inf")) if colon else (float(low), float(low))
        elif isinstance(value, (int, float)):
            pair = (float(value), float(value))
        else:
            pair = (float(value[0]), float(value[1]))
    except (TypeError, ValueError, IndexError):
        raise DatasetError(f"{what}: expected LOW:HIGH, got '{value}'") from None
    if not pair[0] <= pair[1]:
        raise DatasetError(f"{what}: {pair[0]:g} exceeds {pair[1]:g}")
    return pair
