"""An FMU as one file: model description (variables with units, what depends on what), sources, and the library."""

from __future__ import annotations

import io
import platform
import sys
import tempfile
import warnings
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from html import escape
from importlib.resources import files
from pathlib import Path

from numpy.typing import ArrayLike

from casid.codegen._cache import digest
from casid.codegen._compiler import compile_shared
from casid.description import Robot
from casid.dynamics import Model
from casid.errors import CasidWarning, ExportError
from casid.export._robot import export_robot, model_of
from casid.files._read import read_text
from casid.files._write import prepare_directory, write_files
from casid.inertia import Parameters
from casid.version import __version__

#: Name of the library and of everything that FMI identifies the model by.
IDENTIFIER = "robot"
#: Units by name, as powers of the base units.
_UNITS = {
    "s": {"s": 1}, "rad": {"rad": 1}, "rad/s": {"rad": 1, "s": -1}, "rad/s2": {"rad": 1, "s": -2}, "m": {"m": 1},
    "m/s": {"m": 1, "s": -1}, "m/s2": {"m": 1, "s": -2}, "N": {"kg": 1, "m": 1, "s": -2},
    "N.m": {"kg": 1, "m": 2, "s": -2},
}  # fmt: skip
#: Blocks of variables: causality, initial value ("exact" with a start), of what it is the derivative, units, words.
_BLOCKS = {
    "q": ("output", "exact", "", ("rad", "m"), "joint position"),
    "dq": ("output", "exact", "", ("rad/s", "m/s"), "joint velocity"),
    "tau": ("input", "", "", ("N.m", "N"), "joint torque or force"),
    "ddq": ("output", "calculated", "dq", ("rad/s2", "m/s2"), "joint acceleration"),
    "rate": ("local", "calculated", "q", ("rad/s", "m/s"), "derivative of the position"),
}
_EPOCH = (1980, 1, 1, 0, 0, 0)


@dataclass(frozen=True)
class ExportedFmu:
    """What an export wrote.

    Attributes
    ----------
    path : Path
        The ``.fmu`` file.
    files : tuple of str
        What is in it.
    binary : bool
        Whether it holds a library for this platform, or sources alone.
    """

    path: Path
    files: tuple[str, ...]
    binary: bool


def export_fmu(
    robot: Robot | Model,
    out: str | Path,
    *,
    parameters: Parameters | ArrayLike | None = None,
    payload: ArrayLike | None = None,
    frame: str | None = None,
    step: float = 1e-3,
    fmi: int = 3,
    overwrite: bool = False,
) -> ExportedFmu:
    """Write a robot's forward dynamics as an FMU: FMI 3.0 or 2.0, model exchange and co-simulation.

    Inputs ``tau.JOINT`` [N.m, N], states and outputs ``q.JOINT``, ``dq.JOINT``, outputs ``ddq.JOINT``; with the
    parameters folded in: ``ddq = M^-1 (tau - c - g - joint terms)``. Co-simulation integrates with classical
    Runge-Kutta and inputs held, in equal steps no longer than the parameter ``step``. Every variable has its SI unit.

    Parameters
    ----------
    robot, parameters, payload, frame
        As for `casid.export.export_robot`. Coulomb friction is discontinuous at rest: sticking then shows
        as small jitter.
    out
        The file to write, ``.fmu``.
    step
        Default of the parameter ``step`` [s].
    fmi
        Version of the interface: 3, or 2 for tools that import no FMI 3 yet.
    overwrite
        Replace an existing file.

    Raises
    ------
    ExportError
        If the file is not named ``.fmu``, exists or cannot be written, the step is not positive, or ``fmi`` is neither.
    DatasetError
        If the parameters do not belong to the robot.

    Warns
    -----
    CasidWarning
        Without a C compiler that works: the FMU holds sources alone, which the importing tool must compile.
    InertiaWarning
        If the parameters are those of no real robot.

    References
    ----------
    Modelica Association, "Functional Mock-up Interface Specification 3.0", 2022; "for Model Exchange and
    Co-Simulation, Version 2.0.5", 2024.
    """
    path = _checked_path(Path(out), overwrite, step, fmi)
    model = model_of(robot)
    source = _core_source(model, parameters, payload, frame)
    contents, binary = _contents(model.robot, source, step, fmi, path.name)
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in contents.items():
            archive.writestr(zipfile.ZipInfo(name, _EPOCH), content, zipfile.ZIP_DEFLATED)
    write_files(prepare_directory(path.parent), {path.name: buffer.getvalue()})
    return ExportedFmu(path, tuple(contents), binary)


def _checked_path(path: Path, overwrite: bool, step: float, fmi: int) -> Path:
    """The path, once the arguments can be exported."""
    if not 0 < step < float("inf"):
        raise ExportError(f"step: expected a positive number of seconds, got {step:g}")
    if fmi not in (2, 3):
        raise ExportError(f"fmi: expected 2 or 3, got {fmi}")
    if path.suffix != ".fmu":
        raise ExportError(f"'{path}': an FMU is a file; name it with the ending .fmu")
    if path.exists() and not overwrite:
        raise ExportError(f"'{path}' exists; choose another name, or ask to overwrite it")
    return path


def _core_source(
    model: Model, parameters: Parameters | ArrayLike | None, payload: ArrayLike | None, frame: str | None
) -> str:
    """C source of ``core_forward_dynamics``, its header included."""
    with tempfile.TemporaryDirectory() as folder:
        core = Path(folder) / "core"
        export_robot(
            model, core, ("forward_dynamics",), parameters=parameters, payload=payload, frame=frame, prefix="core"
        )
        header = read_text(core / "core.h", "header", ExportError)
        return read_text(core / "core.c", "source", ExportError).replace('#include "core.h"', header)


def _contents(robot: Robot, source: str, step: float, fmi: int, file: str) -> tuple[dict[str, bytes], bool]:
    """Files of the archive from the C source of the forward dynamics, and whether a library is among them."""
    parts = ((files(__package__) / name).read_text(encoding="utf-8") for name in ("model.c", f"fmi{fmi}.c"))
    wrapper = "\n".join(parts)
    token = digest(source, wrapper, __version__)
    constants = (
        f'#define N {robot.n}\n#define TOKEN "{token}"\n#define DEFAULT_STEP {float(step)!r}\n'
        "#define FORWARD_DYNAMICS core_forward_dynamics\n\n"
    )
    code = source + "\n" + constants + wrapper
    contents: dict[str, bytes] = {
        "modelDescription.xml": description(robot, token, step, fmi).encode(),
        f"sources/{IDENTIFIER}.c": code.encode(),
    }
    if fmi == 3:
        contents["sources/buildDescription.xml"] = _BUILD.encode()
    try:
        library = compile_shared(code, "fmu", native=False).read_bytes()
    except ExportError as error:
        library = b""
        warnings.warn(
            f"'{file}' holds sources alone, which the tool that imports it must compile: {error}",
            CasidWarning,
            stacklevel=3,
        )
    if library:
        folder, suffix = _platform(fmi)
        contents[f"binaries/{folder}/{IDENTIFIER}{suffix}"] = library
    return contents, bool(library)


_BUILD = f"""<?xml version="1.0" encoding="UTF-8"?>
<fmiBuildDescription fmiVersion="3.0">
  <BuildConfiguration modelIdentifier="{IDENTIFIER}">
    <SourceFileSet language="C99">
      <SourceFile name="{IDENTIFIER}.c"/>
    </SourceFileSet>
    <Library name="m" external="true"/>
  </BuildConfiguration>
</fmiBuildDescription>
"""


def _platform(fmi: int) -> tuple[str, str]:
    """Folder of this platform's binaries in an FMU, and the suffix of libraries."""
    machine = platform.machine().lower()
    machine = {"amd64": "x86_64", "arm64": "aarch64"}.get(machine, machine)
    system, suffix = {"linux": ("linux", ".so"), "darwin": ("darwin", ".dylib"), "win32": ("windows", ".dll")}.get(
        sys.platform, (sys.platform, ".so")
    )
    if fmi == 2:
        return ("win" if system == "windows" else system) + ("64" if sys.maxsize > 2**32 else "32"), suffix
    return f"{machine}-{system}", suffix


@dataclass(frozen=True)
class _Variable:
    """A variable; value references count them in their order, from 0."""

    name: str
    causality: str
    unit: str
    initial: str = ""
    start: str = ""
    derivative: int | None = None
    variability: str = "continuous"
    words: str = ""


def description(robot: Robot, token: str, step: float, fmi: int) -> str:
    """The model description.

    Parameters
    ----------
    token
        Identifies the model: the library refuses another.
    step
        Default of the longest step of co-simulation [s].
    fmi
        Version of the interface, 2 or 3.
    """
    variables, states = _variables(robot, step), 2 * robot.n
    older = fmi == 2
    able = f'modelIdentifier="{IDENTIFIER}" canGetAndSetFMU{"s" if older else "S"}tate="true"'
    inside = f'><SourceFiles><File name="{IDENTIFIER}.c"/></SourceFiles></' if older else ""
    close = (f"{inside}ModelExchange>", f"{inside}CoSimulation>") if older else ("/>", "/>")
    identity = (
        f'fmiVersion="2.0" modelName="{escape(robot.name)}" guid="{token}"' if older
        else f'fmiVersion="3.0" modelName="{escape(robot.name)}" instantiationToken="{token}"'
    )  # fmt: skip
    indicators = ' numberOfEventIndicators="0"' if older else ""
    write, structure = (_scalar, _structure_2) if older else (_float, _structure_3)
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        f'<fmiModelDescription {identity} generationTool="casid {escape(__version__)}" '
        f'variableNamingConvention="structured"{indicators}>',
        f"  <ModelExchange {able}{close[0]}",
        f'  <CoSimulation {able} canHandleVariableCommunicationStepSize="true"{close[1]}',
        "  <UnitDefinitions>",
        *(f"    {line}" for line in _units({variable.unit for variable in variables})),
        "  </UnitDefinitions>",
        f'  <DefaultExperiment startTime="0" stopTime="1" stepSize="{float(step)!r}"/>',
        "  <ModelVariables>",
        *(f"    {write(number, variable)}" for number, variable in enumerate(variables)),
        "  </ModelVariables>",
        "  <ModelStructure>",
        *(f"    {line}" for line in structure(states // 2)),
        "  </ModelStructure>",
        "</fmiModelDescription>",
    ]
    return "\n".join(lines) + "\n"


def _units(used: set[str]) -> Iterator[str]:
    for name in sorted(used):
        powers = " ".join(f'{base}="{power}"' for base, power in _UNITS[name].items())
        yield f'<Unit name="{name}"><BaseUnit {powers}/></Unit>'


def _variables(robot: Robot, step: float) -> list[_Variable]:
    first = {name: 1 + block * robot.n for block, name in enumerate(_BLOCKS)}
    found = [_Variable("time", "independent", "s")]
    for name, (causality, initial, of, units, words) in _BLOCKS.items():
        for k, joint in enumerate(robot.coordinates):
            found.append(
                _Variable(
                    f"{name}.{joint.name}", causality, units[joint.type == "prismatic"], initial,
                    "" if initial == "calculated" else "0", first[of] + k if of else None, words=words,
                )
            )  # fmt: skip
    words = "longest step of co-simulation"
    return [*found, _Variable("step", "parameter", "s", "exact", repr(float(step)), None, "tunable", words)]


def _common(number: int, variable: _Variable) -> str:
    pairs = {"name": variable.name, "valueReference": str(number), "causality": variable.causality,
             "variability": variable.variability, "initial": variable.initial,
             "description": variable.words}  # fmt: skip
    return " ".join(f'{key}="{escape(value)}"' for key, value in pairs.items() if value)


def _float(number: int, variable: _Variable) -> str:
    """A variable of FMI 3; a derivative names the value reference of what it is of."""
    own = {"unit": variable.unit, "start": variable.start}
    of = "" if variable.derivative is None else f' derivative="{variable.derivative}"'
    return f"<Float64 {_common(number, variable)} {_pairs(own)}{of}/>"


def _scalar(number: int, variable: _Variable) -> str:
    """A variable of FMI 2; a derivative names the place in the list, from 1, of what it is of."""
    own = {"unit": variable.unit, "start": variable.start}
    of = "" if variable.derivative is None else f' derivative="{variable.derivative + 1}"'
    return f"<ScalarVariable {_common(number, variable)}><Real {_pairs(own)}{of}/></ScalarVariable>"


def _pairs(values: dict[str, str]) -> str:
    return " ".join(f'{key}="{value}"' for key, value in values.items() if value)


def _references(n: int) -> tuple[range, ...]:
    return tuple(range(1 + block * n, 1 + (block + 1) * n) for block in range(5))


def _structure_3(n: int) -> Iterator[str]:
    q, dq, tau, ddq, rate = _references(n)
    every = " ".join(str(r) for r in (*q, *dq, *tau))
    for r in (*q, *dq):
        yield f'<Output valueReference="{r}"/>'
    for r in ddq:
        yield f'<Output valueReference="{r}" dependencies="{every}"/>'
    for kind in ("ContinuousStateDerivative", "InitialUnknown"):
        known = {r: str(of) for r, of in zip(rate, dq, strict=True)} | dict.fromkeys(ddq, every)
        for r in (*rate, *ddq) if kind == "ContinuousStateDerivative" else (*ddq, *rate):
            yield f'<{kind} valueReference="{r}" dependencies="{known[r]}"/>'


def _structure_2(n: int) -> Iterator[str]:
    q, dq, tau, ddq, rate = _references(n)
    every = " ".join(str(r + 1) for r in (*q, *dq, *tau))
    known = {r: str(of + 1) for r, of in zip(rate, dq, strict=True)} | dict.fromkeys(ddq, every)
    parts = {"Outputs": (*q, *dq, *ddq), "Derivatives": (*rate, *ddq), "InitialUnknowns": (*ddq, *rate)}
    for kind, listed in parts.items():
        yield f"<{kind}>"
        for r in listed:
            needs = f' dependencies="{known[r]}"' if r in known else ""
            yield f'  <Unknown index="{r + 1}"{needs}/>'
        yield f"</{kind}>"
