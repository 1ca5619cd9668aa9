"""An FMU as one file: model description, sources, and the library for this platform."""

from __future__ import annotations

import io
import platform
import sys
import tempfile
import warnings
import zipfile
from dataclasses import dataclass
from html import escape
from importlib.resources import files
from pathlib import Path

from numpy.typing import ArrayLike

from casid.codegen import compile_shared, digest
from casid.description import Robot
from casid.dynamics import Model
from casid.errors import CasidWarning, ExportError
from casid.export import export_robot, model_of, rest
from casid.files import prepare_directory, read_text, template, write_files
from casid.fmu._description import IDENTIFIER, description
from casid.inertia import Parameters
from casid.version import __version__


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
    author: str = "",
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
    author
        Who answers for the model; default: the sources of the description, of its inertials where it gives the
        parameters.
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
    of = ("kinematics", "inertials") if parameters is None else ("kinematics",)
    sources = "; ".join(f"{what}: {model.robot.source[what]}" for what in of if what in model.robot.source)
    author = author or sources or "not stated by the robot's description"
    core = _core(model, parameters, payload, frame)
    contents, binary = _contents(model.robot, core, author, step, fmi, path.name)
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in contents.items():
            archive.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_DEFLATED)
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


def _core(
    model: Model, parameters: Parameters | ArrayLike | None, payload: ArrayLike | None, frame: str | None
) -> tuple[str, str, str]:
    """C source of ``core_forward_dynamics``, its header included; its licence; its frames and units."""
    with tempfile.TemporaryDirectory() as folder:
        core = Path(folder) / "core"
        export_robot(
            model, core, ("forward_dynamics",), parameters=parameters, payload=payload, frame=frame, prefix="core"
        )
        header, source, licence, frames = (
            read_text(core / name, "file", ExportError) for name in ("core.h", "core.c", "LICENSE", "FRAMES.md")
        )
        return source.replace('#include "core.h"', header), licence, frames


def _contents(
    robot: Robot, core: tuple[str, str, str], author: str, step: float, fmi: int, file: str
) -> tuple[dict[str, bytes], bool]:
    """Files of the archive from the forward dynamics of `_core`, and whether a library is among them."""
    source, licence, frames = core
    parts = ((files(__package__) / name).read_text(encoding="utf-8") for name in ("model.c", f"fmi{fmi}.c"))
    wrapper = "\n".join(parts)
    token = digest(source, wrapper, __version__)
    constants = (
        f'#define N {robot.n}\n#define TOKEN "{token}"\n#define DEFAULT_STEP {float(step)!r}\n'
        f"#define REST {{{', '.join(repr(float(q)) for q in rest(robot))}}}\n"
        "#define FORWARD_DYNAMICS core_forward_dynamics\n\n"
    )
    code = source + "\n" + constants + wrapper
    contents: dict[str, bytes] = {
        "modelDescription.xml": description(robot, author, token, step, fmi).encode(),
        f"sources/{IDENTIFIER}.c": code.encode(),
        "documentation/index.html": f"<!doctype html><title>{file}</title><pre>{escape(frames)}</pre>\n".encode(),
        "documentation/licenses/license.txt": licence.encode(),
    }
    if fmi == 3:
        build = template(__package__, "buildDescription.xml", {"identifier": IDENTIFIER})
        contents["sources/buildDescription.xml"] = build.encode()
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
