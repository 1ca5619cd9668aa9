"""Builds the controller example: two exports, a C program, a C++ program."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from benchmarks.measure import NotMeasured
from casid.codegen import find_compiler
from casid.description import Robot
from casid.export import export_robot

SOURCES = Path(__file__).resolve().parents[2] / "examples" / "controller"


@dataclass(frozen=True)
class Controller:
    """Paths of the programs; ``franka`` only for robots with seven joints and where there is a C++ compiler."""

    computed_torque: Path
    franka: Path | None


def build_controller(robot: Robot, folder: Path, payload: float = 0.0, flags: tuple[str, ...] = ()) -> Controller:
    """Export the controller's model and the plant, whose flange carries ``payload`` kg more, and compile."""
    cc = find_compiler()
    if cc is None:
        raise NotMeasured("needs a C compiler (Debian: apt-get install gcc)")
    functions = ("inverse_dynamics", "gravity", "forward_dynamics")
    export_robot(robot, folder / "controller", functions, prefix="controller", overwrite=True)
    body = (payload, 0.0, 0.0, 0.05)
    export_robot(robot, folder / "plant", functions, prefix="plant", payload=body, overwrite=True)
    strict = ["-Wall", "-Wextra", "-Wpedantic", "-Werror", "-O3", "-ffp-contract=fast", *(flags or ("-march=native",))]
    includes = [f"-I{folder / name}" for name in ("controller", "plant")]
    objects = []
    for name in ("controller", "plant"):
        objects.append(str(folder / f"{name}.o"))
        _run([*cc, "-std=c99", *strict, "-c", str(folder / name / f"{name}.c"), "-o", objects[-1]])
    program = folder / "computed_torque"
    source = str(SOURCES / "computed_torque.c")
    _run([*cc, "-std=c99", *strict, *includes, f"-DJOINTS={robot.n}", source, *objects, "-lm", "-o", str(program)])
    franka, cxx = None, shutil.which("g++") or shutil.which("clang++")
    if robot.n == 7 and cxx is not None:
        franka = folder / "franka_callback"
        source = str(SOURCES / "franka_callback.cpp")
        _run([cxx, "-std=c++14", *strict, *includes, source, *objects, "-lm", "-o", str(franka)])
    return Controller(program, franka)


def run_controller(controller: Controller, seconds: float, limit: float = 1.0) -> str:
    """What the C program prints."""
    return _run([str(controller.computed_torque), str(seconds), str(limit)]).strip()


def _run(command: list[str]) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)} failed:\n{done.stdout}{done.stderr}")
    return done.stdout
