"""An FMU as one file: model description, sources, and the library for this platform."""

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
_IDENTIFIER = "robot"
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
    overwrite: bool = False,
) -> ExportedFmu:
    """Write a robot's forward dynamics as an FMU: FMI 3.0, model exchange and co-simulation.

    Inputs ``tau.JOINT`` [N.m, N], states and outputs ``q.JOINT``, ``dq.JOINT``, outputs ``ddq.JOINT``; with the
    parameters folded in: ``ddq = M^-1 (tau - c - g - joint terms)``. Co-simulation integrates with classical
    Runge-Kutta and inputs held, in equal steps no longer than the parameter ``step``.

    Parameters
    ----------
    robot, parameters, payload, frame
        As for `casid.export.export_robot`. Coulomb friction is discontinuous at rest: sticking then shows
        as small jitter.
    out
        The file to write, ``.fmu``.
    step
        Default of the parameter ``step`` [s].
    overwrite
        Replace an existing file.

    Raises
    ------
    ExportError
        If the file is not named ``.fmu``, exists or cannot be written, or the step is not positive.
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
    Modelica Association, "Functional Mock-up Interface Specification 3.0", 2022.
    """
    path = _checked_path(Path(out), overwrite)
    if not 0 < step < float("inf"):
        raise ExportError(f"step: expected a positive number of seconds, got {step:g}")
    model = model_of(robot)
    contents, binary = _contents(model.robot, _core_source(model, parameters, payload, frame), step, path.name)
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in contents.items():
            archive.writestr(zipfile.ZipInfo(name, _EPOCH), content, zipfile.ZIP_DEFLATED)
    write_files(prepare_directory(path.parent), {path.name: buffer.getvalue()})
    return ExportedFmu(path, tuple(contents), binary)


def _checked_path(path: Path, overwrite: bool) -> Path:
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


def _contents(robot: Robot, source: str, step: float, file: str) -> tuple[dict[str, bytes], bool]:
    """Files of the archive from the C source of the forward dynamics, and whether a library is among them."""
    wrapper = (files(__package__) / "fmi3.c").read_text(encoding="utf-8")
    token = digest(source, wrapper, __version__)
    constants = (
        f'#define N {robot.n}\n#define TOKEN "{token}"\n#define DEFAULT_STEP {float(step)!r}\n'
        "#define FORWARD_DYNAMICS core_forward_dynamics\n\n"
    )
    code = source + "\n" + constants + wrapper
    contents: dict[str, bytes] = {
        "modelDescription.xml": _description(robot, token, step).encode(),
        f"sources/{_IDENTIFIER}.c": code.encode(),
        "sources/buildDescription.xml": _BUILD.encode(),
    }
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
        folder, suffix = _platform()
        contents[f"binaries/{folder}/{_IDENTIFIER}{suffix}"] = library
    return contents, bool(library)


_BUILD = f"""<?xml version="1.0" encoding="UTF-8"?>
<fmiBuildDescription fmiVersion="3.0">
  <BuildConfiguration modelIdentifier="{_IDENTIFIER}">
    <SourceFileSet language="C99">
      <SourceFile name="{_IDENTIFIER}.c"/>
    </SourceFileSet>
    <Library name="m" external="true"/>
  </BuildConfiguration>
</fmiBuildDescription>
"""


def _platform() -> tuple[str, str]:
    """Folder of this platform's binaries in an FMU, and the suffix of libraries."""
    machine = platform.machine().lower()
    machine = {"amd64": "x86_64", "arm64": "aarch64"}.get(machine, machine)
    system, suffix = {"linux": ("linux", ".so"), "darwin": ("darwin", ".dylib"), "win32": ("windows", ".dll")}.get(
        sys.platform, (sys.platform, ".so")
    )
    return f"{machine}-{system}", suffix


def _description(robot: Robot, token: str, step: float) -> str:
    """``modelDescription.xml``."""
    capabilities = f'modelIdentifier="{_IDENTIFIER}" canGetAndSetFMUState="true"'
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        f'<fmiModelDescription fmiVersion="3.0" modelName="{escape(robot.name)}" instantiationToken="{token}" '
        f'generationTool="casid {escape(__version__)}" variableNamingConvention="structured">',
        f"  <ModelExchange {capabilities}/>",
        f'  <CoSimulation {capabilities} canHandleVariableCommunicationStepSize="true"/>',
        f'  <DefaultExperiment startTime="0" stopTime="1" stepSize="{float(step)!r}"/>',
        "  <ModelVariables>",
        *(f"    {line}" for line in _variables(robot, step)),
        "  </ModelVariables>",
        "  <ModelStructure>",
        *(f"    {line}" for line in _structure(robot.n)),
        "  </ModelStructure>",
        "</fmiModelDescription>",
    ]
    return "\n".join(lines) + "\n"


def _variables(robot: Robot, step: float) -> Iterator[str]:
    n = robot.n
    yield '<Float64 name="time" valueReference="0" causality="independent" variability="continuous"/>'
    blocks = (
        ("q", 'causality="output" variability="continuous" initial="exact" start="0"', "joint position [rad, m]"),
        ("dq", 'causality="output" variability="continuous" initial="exact" start="0"', "joint velocity [rad/s, m/s]"),
        ("tau", 'causality="input" variability="continuous" start="0"', "joint torque or force [N.m, N]"),
        ("ddq", 'causality="output" variability="continuous" initial="calculated" derivative="{of}"',
         "joint acceleration [rad/s^2, m/s^2]"),
        ("rate", 'causality="local" variability="continuous" initial="calculated" derivative="{of}"',
         "derivative of the position [rad/s, m/s]"),
    )  # fmt: skip
    for block, (name, properties, words) in enumerate(blocks):
        for k, joint in enumerate(robot.coordinates):
            of = {"ddq": 1 + n + k, "rate": 1 + k}.get(name, 0)
            yield (
                f'<Float64 name="{name}.{escape(joint.name)}" valueReference="{1 + block * n + k}" '
                f'{properties.format(of=of)} description="{words}"/>'
            )
    yield (
        f'<Float64 name="step" valueReference="{1 + 5 * n}" causality="parameter" variability="tunable" '
        f'initial="exact" start="{float(step)!r}" description="longest step of co-simulation [s]"/>'
    )


def _structure(n: int) -> Iterator[str]:
    q, dq, tau, ddq, rate = (range(1 + block * n, 1 + (block + 1) * n) for block in range(5))
    every = " ".join(str(r) for r in (*q, *dq, *tau))
    for r in (*q, *dq):
        yield f'<Output valueReference="{r}"/>'
    for r in ddq:
        yield f'<Output valueReference="{r}" dependencies="{every}"/>'
    for r, of in zip(rate, dq, strict=True):
        yield f'<ContinuousStateDerivative valueReference="{r}" dependencies="{of}"/>'
    for r in ddq:
        yield f'<ContinuousStateDerivative valueReference="{r}" dependencies="{every}"/>'
    for r in ddq:
        yield f'<InitialUnknown valueReference="{r}" dependencies="{every}"/>'
    for r, of in zip(rate, dq, strict=True):
        yield f'<InitialUnknown valueReference="{r}" dependencies="{of}"/>'
