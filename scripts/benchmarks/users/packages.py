"""Packages for other tools: ROS 2, FMU; model predictive control; the wheel in clean Pythons."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from examples import mpc

import casid
from benchmarks.measure import Measure, NotMeasured, need
from casid.control import Passive
from casid.fmu import export_fmu
from casid.inertia import to_standard
from casid.motion import Hold
from casid.ros2 import export_ros2
from casid.simulation import Plant, simulate
from casid.simulation.integrators import RungeKutta4

ROOT = Path(__file__).resolve().parents[3]
STUBS = ROOT / "tests" / "ros2" / "stubs"
_STRICT = ("-Wall", "-Wextra", "-Wpedantic", "-O1")
#: Sources of the dynamics in the Franka plugin of Petrone et al. (2025) that MATLAB generated [kB]: the least that is
#: published of it, and mass matrix, Coriolis and gravity of a later version together.
_FRANKA, _LATER = 183.0, 250.2 + 4527.4 + 9.8


def _panda() -> tuple[casid.Model, np.ndarray]:
    """A Panda with real bodies and friction."""
    model = casid.Model(casid.load_robot("panda"), ("viscous", "coulomb", "offset"))
    rng = np.random.default_rng(3)
    pi = rng.uniform(0.1, 1.0, len(model.parameter_names))
    for columns in model.link_columns:
        pi[list(columns)] = to_standard(
            rng.uniform(1, 3), rng.uniform(-0.1, 0.1, 3), np.diag(rng.uniform(0.02, 0.03, 3))
        )
    return model, pi


def _ros2() -> tuple[str, bool]:
    if shutil.which("gcc") is None or shutil.which("g++") is None:
        raise NotMeasured("needs gcc and g++")
    model, pi = _panda()
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        done = export_ros2(model, place / "arm", parameters=pi)
        folders = [STUBS / "ros", done.path / "include", done.path / "src"]
        folders += [] if Path("/usr/include/eigen3").is_dir() else [STUBS / "eigen"]
        include = [f"-I{path}" for path in folders]
        core, output = next((done.path / "src").glob("*.c")), ""
        commands: list[list[str]] = [
            ["gcc", "-std=c99", *_STRICT, "-c", str(core), "-o", str(place / "core.o")],
            ["g++", "-std=c++17", *_STRICT, *include, "-c", str(done.path / "src/computed_torque_controller.cpp"), "-o",
             str(place / "controller.o")],
            ["g++", "-std=c++17", *_STRICT, *include, str(done.path / "test/test_solver.cpp"),
             str(done.path / "src/solver.cpp"), str(place / "core.o"), "-o", str(place / "test"), "-lm"],
        ]  # fmt: skip
        for command in commands:
            output += subprocess.run(command, capture_output=True, text=True, check=True).stderr
        test = subprocess.run([str(place / "test")], capture_output=True, text=True, check=False)
        worst = max(
            float(line.split("deviation ")[1].split()[0]) for line in test.stdout.splitlines() if "deviation" in line
        )
        sizes = {path.name: path.stat().st_size / 1e3 for path in (done.path / "src").iterdir()}
        del sizes[f"{core.stem}.h"]
        size, whole = sizes[core.name] + sizes["dynamics.hpp"], sum(sizes.values())
    return (
        f"{output.count('warning')} warnings; largest relative deviation {worst:.1e}; dynamics in {size:.1f} kB, "
        f"{_FRANKA / size:.1f} x smaller than {_FRANKA:.0f} kB, {_LATER / size:.0f} x than {_LATER:.0f} kB of a later "
        f"version; plugin and controller included {whole:.1f} kB, {_FRANKA / whole:.1f} x smaller",
        not output and test.returncode == 0 and worst <= 1e-12 and size * 10 <= _FRANKA,
    )


def _fmu() -> tuple[str, bool]:
    fmpy = need("fmpy", "fmu")
    robot = casid.load_robot("ur10e")
    plant = Plant.of(robot, viscous=0.05)
    q0 = np.array([0.1, -1.0, 0.6, -0.4, 0.5, 0.2])
    duration, step = 0.5, 1e-3
    done = simulate(plant, Passive(6), Hold(q0), duration, integrator=RungeKutta4(step), rate=1 / step)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "arm.fmu"
        export_fmu(plant.model, path, parameters=plant.parameters, step=step)
        joints = [joint.name for joint in robot.joints]
        start = {f"q.{name}": value for name, value in zip(joints, q0, strict=True)}
        got = fmpy.simulate_fmu(
            str(path), fmi_type="CoSimulation", stop_time=duration, output_interval=step, step_size=step,
            start_values=start, output=[f"q.{name}" for name in joints],
        )  # fmt: skip
    q = np.array([[row[f"q.{name}"] for name in joints] for row in got])
    samples = min(len(q), len(done.q))
    error = float(np.abs(q[:samples] - done.q[:samples]).max())
    travel = float(np.abs(done.q - q0).max())
    return f"{error:.1e} rad over {samples} samples of a fall of {travel:.1f} rad", error <= 1e-6 and samples > 450


def _opti() -> tuple[str, bool]:
    model, parameters = mpc.panda()
    found = {form: mpc.solve(model, parameters, form, 15) for form in ("implicit", "explicit")}
    ratio = found["implicit"].per_iteration / found["explicit"].per_iteration
    kept = all(r.largest_torque <= 1 + 1e-6 and r.largest_speed <= 1 + 1e-6 for r in found.values())
    text = "; ".join(
        f"{r.form}: {r.iterations} iterations of {1e3 * r.per_iteration:.1f} ms, torque {100 * r.largest_torque:.0f} %"
        for r in found.values()
    )
    same = abs(found["implicit"].objective / found["explicit"].objective - 1)
    text += f"; implicit / explicit {ratio:.2f}; objectives agree to {same:.0e}"
    return text, kept and ratio <= 1 and all(r.converged for r in found.values())


def _do_mpc() -> tuple[str, bool]:
    need("do_mpc", "mpc")
    from examples import mpc_do_mpc

    done = mpc_do_mpc.control(4)
    before, after = done["error"]
    return (
        f"{'every' if done['converged'] else 'not every'} solve converges; torque at most "
        f"{100 * done['largest_torque']:.0f} % of the limit; error {before:.2f} -> {after:.2f} rad",
        bool(done["converged"] and done["largest_torque"] <= 1 + 1e-6 and after < before),
    )


def _acados() -> tuple[str, bool]:
    python = os.environ.get("CASID_ACADOS_PYTHON", sys.executable)
    script = ROOT / "scripts" / "mpc_acados.py"
    found = {}
    for form in ("implicit", "explicit"):
        command = [python, str(script), "--form", form, "--steps", "15"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if "No module named 'acados'" in done.stderr:
            raise NotMeasured(
                "needs acados: set CASID_ACADOS_PYTHON to a Python that has it, see scripts/examples/mpc_acados.py"
            )
        found[form] = json.loads(done.stdout)
    ratio = found["implicit"]["per_iteration"] / found["explicit"]["per_iteration"]
    kept = all(max(r["largest_torque"], r["largest_speed"]) <= 1 + 1e-4 for r in found.values())
    text = "; ".join(
        f"{form}: {r['iterations']} iterations of {1e3 * r['per_iteration']:.2f} ms, torque "
        f"{100 * r['largest_torque']:.0f} %"
        for form, r in found.items()
    )
    return f"{text}; implicit / explicit {ratio:.2f}", kept and ratio <= 1 and all(
        r["converged"] for r in found.values()
    )


def interpreter(version: str) -> str | None:
    """A Python of this version that runs: on the path, or one that pyenv holds."""
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    held = sorted(str(path) for path in pyenv.glob(f"versions/{version}.*/bin/python{version}"))
    for python in (shutil.which(f"python{version}"), *held):
        if python and not subprocess.run([python, "-c", ""], capture_output=True, check=False).returncode:
            return python
    return None


def wheel(place: Path) -> Path:
    """A wheel of this version, built in a folder of its own."""
    source = place / "source"
    for name in ("casid", "robots", "problems"):
        shutil.copytree(ROOT / name, source / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    command = [sys.executable, "-m", "build", "--no-isolation", "--wheel", "--outdir", str(place), str(source)]
    subprocess.run(command, capture_output=True, check=True)
    (made,) = place.glob("*.whl")
    return made


def installed(file: Path, home: Path, python: str = sys.executable) -> dict[str, str]:
    """A fresh environment with the wheel; the variables of a shell in which it is active."""
    clean = {key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "VIRTUAL_ENV"))}
    for step in (
        [python, "-m", "venv", str(home)],
        [str(home / "bin/pip"), "install", "-q", "--disable-pip-version-check", str(file)],
    ):
        subprocess.run(step, capture_output=True, check=True, env=clean)
    return {**clean, "PATH": f"{home / 'bin'}{os.pathsep}{clean.get('PATH', '')}", "BROWSER": "true"}


def _wheel() -> tuple[str, bool]:
    need("build", "test")
    spent: dict[str, tuple[float, float]] = {}
    absent: list[str] = []
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        file = wheel(place)
        for version in ("3.10", "3.11", "3.12", "3.13"):
            python = interpreter(version)
            if python is None:
                absent.append(version)
                continue
            home = place / f"venv{version}"
            start = time.perf_counter()
            shell = installed(file, home, python)
            ready = time.perf_counter()
            first = ["casid", "solve", "panda_retrieval", "--out", "out"]
            done = subprocess.run(
                [str(home / "bin" / first[0]), *first[1:]], cwd=home, capture_output=True, check=False, env=shell
            )
            end = time.perf_counter()
            spent[version] = (end - start, end - ready) if done.returncode == 0 else (float("inf"),) * 2
    words = ", ".join(f"{version}: {whole:.0f} s, of it {own:.0f}" for version, (whole, own) in spent.items())
    text = f"from nothing, and README's first command: {words}"
    text += f"; not installed here: {', '.join(absent)}" if absent else ""
    if not spent:
        raise NotMeasured("needs python3.10 to python3.13 on the path or in pyenv")
    met = all(whole <= 120 and own <= 60 for whole, own in spent.values())
    return text, not absent and met


ROWS = [
    Measure(
        "ROS 2 package against stub headers", "0 warnings, 1e-12, >= 10 x smaller",
        "Petrone et al. 2025, Franka by MATLAB: 183 kB and more", _ros2,
    ),
    Measure("FMU in FMPy against casid's simulation", "1e-6 rad", "FMPy, co-simulation", _fmu),
    Measure(
        "MPC with Opti: inverse against forward dynamics", "converge, limits kept, implicit <= explicit per iteration",
        "scripts/examples/mpc.py", _opti,
    ),
    Measure(
        "MPC with acados", "converge, limits kept, implicit <= explicit per iteration",
        "scripts/examples/mpc_acados.py",
        _acados,
    ),
    Measure("MPC with do-mpc", "converges, limits kept", "scripts/examples/mpc_do_mpc.py", _do_mpc),
    Measure(
        "wheel in clean Pythons 3.10-3.13", "README's first command works, <= 60 s each; 120 from nothing", "", _wheel
    ),
]  # fmt: skip
