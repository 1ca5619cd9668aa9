"""Options that commands share, as groups, and their evaluation; a recording's TOML may hold them too."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from math import pi
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, TypeVar, get_type_hints

import typer

import casid
from casid.cli.shared import note, out_file
from casid.errors import DatasetError
from casid.files import assignments, comma_list, comma_numbers, near

#: Panels of options in the help of a command, after the plain ones.
MODEL, READING, ROBOT_FILE, ADVANCED, OUTPUT = (
    "Model", "How the recording is read", "How the robot is read", "Advanced", "Output",
)  # fmt: skip

T = TypeVar("T")
Deadband = Annotated[
    float | None,
    typer.Option(help="Speed below which the sign of a velocity counts as 0 \\[rad/s].", rich_help_panel=MODEL),
]
Only = Annotated[
    str | None,
    typer.Option(metavar="JOINT,...", help="Use the torques of these joints only.", rich_help_panel=READING),
]
Share = Annotated[
    float | None,
    typer.Option(
        help="Allowed growth of the residual's norm for more plausible links, e.g. 0.005.", rich_help_panel=ADVANCED
    ),
]


def option(default: T, text: str, *flags: str, **settings: Any) -> T:
    """Option of an `OptionGroup`.

    Parameters
    ----------
    default, text
        Its value where it is not given, and its help.
    flags
        Its names, where they are not those of the field.
    settings
        Further ones of `typer.Option`; ``panel`` of the command's help, in place of the group's.
    """
    if "panel" in settings:
        settings["rich_help_panel"] = settings.pop("panel")
    return field(default=default, metadata={"option": (flags, {"help": text, **settings})})


@dataclass(frozen=True)
class OptionGroup:
    """Options that a command takes as one object; a dataclass whose fields are options with defaults.

    Attributes
    ----------
    panel : str
        Panel of the command's help for those options that name none.
    """

    panel: ClassVar[str] = ""

    def given(self) -> dict[str, Any]:
        """Values by name."""
        return dict(vars(self))


@dataclass(frozen=True)
class RobotOptions(OptionGroup):
    """How a robot's file is read."""

    panel = ROBOT_FILE
    lock: str | None = option(None, "Joints that are fixed; joint=position, default 0.", metavar="JOINT,...")
    gravity: str | None = option(
        None, "Acceleration of gravity in the base frame \\[m/s^2], or +x ... -z.", metavar="X,Y,Z"
    )
    angle_tolerance: float | None = option(
        None, "Angles this near a multiple of pi/2 are rounded to it \\[rad]; 1e-5 for printed 1.5708."
    )

    def robot(self, name: str) -> casid.Robot:
        """The robot of this name or file."""
        return Settings.merged((), **self.given()).robot(name)

    def reading(self) -> dict[str, Any]:
        """Keywords of `load_robot`."""
        return Settings.merged((), **self.given()).reading()


@dataclass(frozen=True)
class RobotFiles(OptionGroup):
    """Files that a robot is written to."""

    urdf: Path | None = option(None, "Write the robot to this URDF.")
    mjcf: Path | None = option(None, "Write the robot to this MJCF file (.xml).")
    sdf: Path | None = option(None, "Write the robot to this SDF file.")
    toml: Path | None = option(None, "Write the robot to this TOML file.")

    def robots(self) -> list[Path]:
        """Robot files to write, checked."""
        checked = (out_file(getattr(self, name), *known) for name, known in ENDINGS.items())
        return [path for path in checked if path is not None]


@dataclass(frozen=True)
class RecordingOptions(OptionGroup):
    """How a recording is read and processed."""

    panel = READING
    cutoff: str | None = option(None, "Cut-off of the zero-phase low-pass filter [Hz]; 'auto' (default) or 'none'.")
    cutoff_torque: str | None = option(None, "Cut-off for the torques [Hz]; 'same' (default) or 'none'.")
    order: int | None = option(None, "Order of the filter, default 4.")
    rate: float | None = option(None, "Uniform grid [Hz]; default: only where time stamps are irregular.")
    velocity: str | None = option(None, "differentiate (default) or measured.")
    trim: float | None = option(None, "Seconds dropped at both ends, default 0.5.")
    every: str | None = option(None, "Keep every so many samples; default: 'auto', from the cut-off.")
    delay: str | None = option(
        None, "Lag of the torques; default: what held-out data prove, else 0.", metavar="SECONDS|auto"
    )
    tau: str | None = option(None, "Name of the torque array in the file.")


@dataclass(frozen=True)
class Reading(RobotOptions, RecordingOptions):
    """How a recording is read, and of which robot."""


#: Names of the options about recordings alone.
OF_RECORDINGS = tuple(field.name for field in fields(RecordingOptions))
#: Settings of `Processing` by the option's name.
_PROCESSING = {
    "cutoff": "cutoff", "cutoff_torque": "torque_cutoff", "order": "order", "rate": "rate", "velocity": "velocity",
    "trim": "trim", "every": "every",
}  # fmt: skip
_ROBOT = ("delay", "gravity", "lock", "only", "angle_tolerance", "total_mass", "bounds")
#: Options that belong to one recording; all others of a TOML are about the robot and its model, common to all.
_OWN = (*_PROCESSING, "only")
#: Endings of robot files by the option that names them.
ENDINGS = {"urdf": (".urdf",), "mjcf": (".xml", ".mjcf"), "sdf": (".sdf", ".world"), "toml": (".toml",)}
#: Table of a recording's TOML that holds options.
TABLE = "options"


def grouped(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command each option of its `OptionGroup` parameters; the command itself gets the groups."""
    own = inspect.signature(command, eval_str=True)
    groups: dict[str, type[OptionGroup]] = {}
    parameters: list[inspect.Parameter] = []
    for name, parameter in own.parameters.items():
        kind = parameter.annotation
        if isinstance(kind, type) and issubclass(kind, OptionGroup):
            groups[name] = kind
            parameters += _options_in(kind)
        else:
            parameters.append(parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY))

    def called(**given: Any) -> None:
        made = {
            name: kind(**{field.name: given.pop(field.name) for field in fields(kind)}) for name, kind in groups.items()
        }
        command(**given, **made)

    called.__name__, called.__doc__ = command.__name__, command.__doc__
    vars(called)["__signature__"] = own.replace(parameters=parameters)
    called.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return called


def _options_in(group: type[OptionGroup]) -> list[inspect.Parameter]:
    """Options of a group as parameters of a command, each in the panel that it or its class names."""
    hints, made = get_type_hints(group, include_extras=True), []
    for one in fields(group):
        owner: Any = next(kind for kind in group.__mro__ if one.name in vars(kind).get("__annotations__", {}))
        annotation, stated = hints[one.name], one.metadata.get("option")
        if stated is not None:
            flags, settings = stated
            annotation = Annotated[
                annotation, typer.Option(*flags, **{"rich_help_panel": owner.panel or None, **settings})
            ]
        kind = inspect.Parameter.KEYWORD_ONLY
        made.append(inspect.Parameter(one.name, kind, default=one.default, annotation=annotation))
    return made


@dataclass
class Settings:
    """Options of one run: those of the recording's TOML first, those of the command line over them."""

    given: dict[str, Any] = field(default_factory=dict)
    own: dict[Path, dict[str, Any]] = field(default_factory=dict)

    @classmethod
    def merged(cls, recordings: Sequence[Path], **options: Any) -> Settings:
        """From the ``[options]`` of TOML recordings and the command line's own (``None``: not given).

        What is about a recording, as its filter and the joints that count, stays with it (`of`); the rest is common,
        and `DatasetError` where two recordings contradict each other in it.
        """
        line = {name: value for name, value in options.items() if value is not None}
        common: dict[str, Any] = {}
        source: dict[str, Path] = {}
        own: dict[Path, dict[str, Any]] = {}
        for path in recordings:
            found = _options_of(path)
            own[path] = {name: value for name, value in found.items() if name in _OWN} | line
            for name, value in found.items():
                if name in _OWN or name in line:
                    continue
                if name in common and common[name] != value:
                    raise DatasetError(
                        f"{source[name].name} and {path.name} contradict each other: {name} = {common[name]} and "
                        f"{value}; it is common to all recordings: say it alike, or on the command line"
                    )
                common[name], source[name] = value, path
        return cls(common | line, own)

    def of(self, path: Path | None) -> Settings:
        """The settings of one recording: the common ones and its own; the common ones alone without a recording."""
        return Settings(self.given if path is None else self.given | self.own.get(path, {}))

    def processing(self, default: casid.Processing | bool | None = None) -> casid.Processing | bool | None:
        """Processing with what was given over a default, or the default itself where nothing was."""
        if not any(name in self.given for name in _PROCESSING):
            return default
        settings = asdict(default if isinstance(default, casid.Processing) else casid.Processing())
        for name, field_name in _PROCESSING.items():
            if name in self.given:
                settings[field_name] = _setting(name, self.given[name])
        return casid.Processing(**settings)

    def prepared(
        self, data: casid.Dataset, default: casid.Processing | bool | None, model: casid.Model
    ) -> casid.Dataset:
        """The recording through the processing, its delay taken out if that was asked for.

        Parameters
        ----------
        default
            Processing where nothing was given.
        model
            For the estimate of a delay.
        """
        processing, delay = self.processing(default), self.delay()
        ready = casid.measurement.prepare(data, processing)
        if delay is None:
            return ready
        known = None if delay == "auto" else delay
        (made,), _, remark = casid.identification.without_delay(model, [data], [ready], processing, known)
        if remark:
            note(f"{data.name}: {remark}")
        return made

    def robot(self, name: str) -> casid.Robot:
        """The robot with gravity, locked joints, angle tolerance and total mass as given."""
        robot = casid.load_robot(name, **self.reading())
        note(*robot.notes)
        if "total_mass" in self.given:
            robot = replace(robot, total_mass=interval("--total-mass", self.given["total_mass"]))
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
            if not 0 <= tolerance < pi / 4:  # beyond it every angle is near one
                raise DatasetError(f"--angle-tolerance: expected radians from 0 to pi/4, got {tolerance:g}")
            options["angle_tolerance"] = tolerance
        return options

    def recording(self, path: Path, robot: casid.Robot, signs: bool = True) -> casid.Dataset:
        """A recording in the order of the robot's joints, locked ones left out, the torques of the chosen joints only.

        Parameters
        ----------
        path
            The file.
        robot
            As `robot` made it.
        signs
            Whether torques of the wrong sign are looked for: `casid.identify` does so itself.
        """
        from casid.measurement import check_against, check_columns, read_log, without_locked

        own = self.of(path)
        columns = {"tau": own.given["tau"]} if "tau" in own.given else None
        data = read_log(path, robot, columns=columns, rate_without_time=own.given.get("rate"))
        check = check_against if signs else check_columns
        return own._counted(check(without_locked(data, robot), robot), robot)

    def _counted(self, data: casid.Dataset, robot: casid.Robot) -> casid.Dataset:
        """The recording with the torques of the chosen joints only."""
        if "only" not in self.given:
            return data
        known = [joint.name for joint in robot.coordinates]
        chosen = _words(self.given["only"])
        if not chosen:
            raise DatasetError(f"--only names no joint; robot '{robot.name}' has {', '.join(known)}")
        for name in chosen:
            if name not in known:
                raise DatasetError(f"--only: robot '{robot.name}' has no joint '{name}'; it has {', '.join(known)}")
        return data.only([known.index(name) for name in chosen])

    def bounds(self) -> dict[str, tuple[float, float]]:
        """Bounds of single parameters."""
        given = self.given.get("bounds", ())
        pairs = given.items() if isinstance(given, Mapping) else [_split(entry, "--bounds") for entry in given]
        return {name: interval(f"bounds of {name}", text) for name, text in pairs}

    def delay(self) -> float | Literal["auto"] | None:
        """Delay of the torques [s]."""
        value = self.given.get("delay")
        if value is None or (isinstance(value, str) and value.strip().lower() == "auto"):
            return None if value is None else "auto"
        try:
            return float(value)
        except (TypeError, ValueError):
            raise DatasetError(f"delay: expected seconds or 'auto', got '{value}'") from None


def vector(value: Any) -> list[float]:
    """Gravity: three numbers, or an axis of the base frame that it points along, ``-z`` as usual."""
    if isinstance(value, str):
        axis = value.strip().lower()
        if len(axis) == 2 and axis[0] in "+-" and axis[1] in "xyz":
            g = casid.description.STANDARD_G * (1 if axis[0] == "+" else -1)
            return [g * (letter == axis[1]) for letter in "xyz"]
    text = value if isinstance(value, str) else ",".join(map(str, value)) if isinstance(value, Sequence) else str(value)
    return comma_numbers(text, "gravity (+x ... -z, or a vector)", DatasetError, 3)


def _options_of(path: Path) -> dict[str, Any]:
    if path.suffix.lower() != ".toml":
        return {}
    table = casid.files.read_toml(path, "recording", DatasetError).get(TABLE, {})
    if not isinstance(table, Mapping):
        raise DatasetError(f"{path.name}: '{TABLE}' must be a table of options")
    known = (*_PROCESSING, *_ROBOT, "terms", "friction", "deadband", "method")
    for key in table:
        if key not in known:
            raise DatasetError(f"{path.name}: unknown option '{key}'{near(key, known)}; known: {', '.join(known)}")
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
    return comma_list(value) if isinstance(value, str) else [str(entry) for entry in value]


def _locked(value: Any) -> dict[str, float]:
    if isinstance(value, Mapping):
        return {str(k): float(v) for k, v in value.items()}
    return assignments(",".join(_words(value)), "--lock", DatasetError, 0.0)


def _split(text: str, option: str) -> tuple[str, str]:
    name, sign, value = text.partition("=")
    if not sign or not name:
        raise DatasetError(f"{option}: expected NAME=LOW:HIGH, got '{text}'")
    return name.strip(), value


def interval(what: str, value: Any) -> tuple[float, float]:
    """Ends of ``LOW:HIGH``, either side may be left out; a pair of numbers; one number for both."""
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
        raise DatasetError(f"{what}: {pair[0]:g} exceeds {pair[1]:g}; the lower end stands first, LOW:HIGH")
    return pair
