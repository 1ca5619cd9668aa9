"""What leaves casid for controllers: exports as delivered, packages, installation, observers."""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np
from examples import mpc
from scipy.signal import butter, filtfilt

import casid
from benchmarks.measure import ROOT, NotMeasured, Rows, by_acados, data_folder, need, process, scratch
from benchmarks.recordings import UR_GAINS
from casid.control import Passive
from casid.dynamics import momentum_observer
from casid.errors import DatasetError
from casid.export import all_functions, export_robot
from casid.files import read_toml
from casid.fmu import export_fmu
from casid.identification import Checks, Choice, ModelOptions, identify
from casid.inertia import to_standard
from casid.measurement import Processing, read_dataset
from casid.motion import Hold, Sine
from casid.online import OnlineLoad, export_online
from casid.ros2 import export_ros2
from casid.simulation import Plant, simulate
from casid.simulation.integrators import RungeKutta4

row = Rows()

_ROBOTS = ("panda", "ur10e", "kuka_iiwa", "wam7", "tx40", "puma560", "stanford", "three_link", "spatial_2r")
#: Load [kg, m, kg.m^2] put on the UR10e, deviation of its torques [N.m], rate [Hz] and samples of the recording.
_LOAD = to_standard(3.2, [0.02, 0.177, -0.035], np.diag([0.02, 0.015, 0.01]))
_DEVIATION, _RATE, _SAMPLES = 1.0, 500, 5000
#: Newton steps of one call, as in the example that is delivered; calls at most; agreement with Python.
_STEPS, _CALLS, _AGREEMENT = 20, 50, 1e-5


def _tools() -> None:
    if shutil.which("make") is None or shutil.which("cc") is None:
        raise NotMeasured("needs make and a C compiler")


@row("first hour: `make test` of every exported folder of the shipped robots, all functions", "passes",
     "ur10e and wam7 fail (0.3)", _ROBOTS, quick=(_ROBOTS[-2:],), left_out="the larger robots")  # fmt: skip
def _folders(robots: tuple[str, ...]) -> tuple[str, bool]:
    _tools()
    failed, folders, functions = [], 0, 0
    for name in robots:
        robot = casid.load_robot(name)
        known = all(link.inertial is not None for link in robot.links)
        for runtime in ("none", "standard", "base") if known else ("standard", "base"):
            with scratch() as folder:
                names = all_functions(robot, runtime)
                export_robot(robot, folder / "c", names, runtime_parameters=runtime, prefix="arm")
                done = process("make", "-C", folder / "c", "test", may_fail=True)
            folders, functions = folders + 1, functions + done.stdout.count(" ok\n")
            if done.returncode or done.stdout.count(" ok\n") != len(names):
                failed.append(f"{name} ({runtime}): {'; '.join(x for x in done.stdout.splitlines() if 'FAILED' in x)}")
    value = f"{folders - len(failed)} of {folders} folders pass, {functions} functions"
    return value + (f"; failed: {', '.join(failed)}" if failed else ""), not failed


@row("first hour: `estimate(&s, 20)` of an exported load estimator", "converges in some calls, or says that not",
     "stuck with a wrong load, returns 0 (0.3)")  # fmt: skip
def _estimates() -> tuple[str, bool]:
    """The load of `_LOAD`, from the first sample on; calls of `_STEPS` after the last one, or ten a second."""
    _tools()
    model = casid.Model(casid.load_robot("ur10e"))
    pi = model.parameters(model.robot.standard_parameters())
    loaded = pi.copy()
    loaded[list(model.link_columns[-1])] += _LOAD
    t = np.arange(_SAMPLES) / _RATE
    motion = Sine.within(model.robot, 1.0, 0.3, 20.0).at(t)
    rng = np.random.default_rng(0)
    tau = model.inverse_dynamics(*motion, loaded)
    tau = tau + _DEVIATION * rng.normal(size=tau.shape)
    body = to_standard(1.0, [0.0, 0.0, 0.05], np.diag([3e-3] * 3))
    texts, fine = [], True
    for forgetting in (1.0, 0.999):
        online = OnlineLoad(model, pi, np.full(model.n, 1 / _DEVIATION), body, forgetting=forgetting)
        with scratch() as folder:
            export_online(online, folder / "c", "load")
            process("make", "-C", folder / "c", "libload.so")
            library = ctypes.CDLL(f"{folder}/c/libload.so")
        online.update(motion.q, motion.dq, motion.ddq, tau)
        expected = online.estimate(200).parameters
        for every in (_SAMPLES, _RATE // 10):
            state = (ctypes.c_double * 100_000)()
            library.load_init(state)
            codes: list[int] = []
            unsaid = 0
            for k in range(_SAMPLES):
                rows = [np.ascontiguousarray(part[k]) for part in (*motion, tau)]
                library.load_update(state, *(row.ctypes.data_as(ctypes.c_void_p) for row in rows))
                if (k + 1) % every == 0:
                    codes.append(int(library.load_estimate(state, _STEPS)))
                    unsaid += codes[-1] == 0 and not np.isfinite(state[10])
            calls = 1
            while codes[-1] == 1 and calls < _CALLS:
                codes.append(int(library.load_estimate(state, _STEPS)))
                calls += 1
            off = float(np.abs(np.array(state[:10]) - expected).max() / np.abs(expected).max())
            fine &= codes[-1] == 0 and unsaid == 0 and off < _AGREEMENT
            texts.append(
                f"forgetting {forgetting:g}, a call in {every} samples: {codes.count(1)} of {len(codes)} calls not "
                f"converged, {unsaid} of them unsaid, at last within {off:.1e} of Python"
            )
    return "; ".join(texts), bool(fine)


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


@row("ROS 2 package against stub headers", "0 warnings, 1e-12, >= 10 x smaller",
     "Petrone et al. 2025, Franka by MATLAB: 183 kB and more")  # fmt: skip
def _ros2() -> tuple[str, bool]:
    if shutil.which("gcc") is None or shutil.which("g++") is None:
        raise NotMeasured("needs gcc and g++")
    model, pi = _panda()
    with scratch() as place:
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
            output += process(*command).stderr
        test = process(place / "test", may_fail=True)
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


@row("FMU in FMPy against casid's simulation", "1e-6 rad", "FMPy, co-simulation")
def _fmu() -> tuple[str, bool]:
    fmpy = need("fmpy", "fmu")
    robot = casid.load_robot("ur10e")
    plant = Plant.of(robot, viscous=0.05)
    q0 = np.array([0.1, -1.0, 0.6, -0.4, 0.5, 0.2])
    duration, step = 0.5, 1e-3
    done = simulate(plant, Passive(6), Hold(q0), duration, integrator=RungeKutta4(step), rate=1 / step)
    with scratch() as folder:
        path = folder / "arm.fmu"
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


@row("MPC with Opti: inverse against forward dynamics", "converge, limits kept, implicit <= explicit per iteration",
     "scripts/examples/mpc.py")  # fmt: skip
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


@row("MPC with do-mpc", "converges, limits kept", "scripts/examples/mpc_do_mpc.py")
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


@row("MPC with acados", "converge, limits kept, implicit <= explicit per iteration", "scripts/examples/mpc_acados.py")
def _acados() -> tuple[str, bool]:
    script = ROOT / "scripts" / "examples" / "mpc_acados.py"
    found = {form: by_acados(script, "--form", form, "--steps", 15) for form in ("implicit", "explicit")}
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
        if python and not process(python, "-c", "", may_fail=True).returncode:
            return python
    return None


#: What a wheel is built from.
FOLDERS, FILES = ("casid", "robots", "problems"), ("pyproject.toml", "README.md", "LICENSE")


def shipped() -> set[str]:
    """Files of the package that a wheel has to hold: its modules, and what they read beside them."""
    inside = [path for path in (ROOT / "casid").rglob("*") if path.is_file() and "__pycache__" not in path.parts]
    robots = ROOT / "robots"
    further = [*robots.glob("*.py"), *robots.rglob("*.toml"), *robots.glob("*.urdf"), *(ROOT / "problems").glob("*.py")]
    return {str(path.relative_to(ROOT)) for path in inside} | {f"casid/{path.relative_to(ROOT)}" for path in further}


def sources(place: Path, *further: str) -> Path:
    """A copy of what a wheel is built from, and of further files, in a folder of its own."""
    source = place / "source"
    for name in FOLDERS:
        shutil.copytree(ROOT / name, source / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in (*FILES, *further):
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, source / name)
    return source


def wheel(place: Path) -> Path:
    """A wheel of this version, built in a folder of its own."""
    process(sys.executable, "-m", "build", "--no-isolation", "--wheel", "--outdir", place, sources(place))
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


@row("wheel in clean Pythons 3.10-3.13", "README's first command works, <= 60 s each; 120 from nothing", "")
def _wheel() -> tuple[str, bool]:
    need("build", "test")
    spent: dict[str, tuple[float, float]] = {}
    absent: list[str] = []
    with scratch() as place:
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


RECIPE = ROOT / "docs" / "packaging" / "conda" / "recipe.yaml"


def _stand_ins(python: Path, version: str) -> Mapping[str, tuple[str, str]]:
    """Version and build script of what the recipe's build needs: a link to an interpreter, pip and setuptools."""
    place = f"$PREFIX/lib/python{version}/site-packages"
    settings = f"home = {python.parent}\\nversion = {version}\\ninclude-system-site-packages = false\\n"
    links = "; ".join(f"ln -s {python} $PREFIX/bin/{name}" for name in ("python", f"python{version}"))
    script = f"mkdir -p $PREFIX/bin {place}; {links}; printf '{settings}' > $PREFIX/pyvenv.cfg"
    found = {"python": (f"{version}.0", script)}
    for name, folders in (("pip", ("pip",)), ("setuptools", ("setuptools", "_distutils_hack"))):
        own = metadata.distribution(name)
        parts = " ".join(str(own.locate_file(part)) for part in (*folders, f"{name}-{own.version}.dist-info"))
        found[name] = (own.version, f"mkdir -p {place}; cp -r {parts} {place}")
    return found


def _package(builder: Any, place: Path, python: Path, version: str) -> Any:
    """The recipe built from a copy of the sources, in a folder that is thrown away."""
    source = sources(place, str(RECIPE.relative_to(ROOT)))
    for name, (number, script) in _stand_ins(python, version).items():
        build = {"script": [script], "dynamic_linking": {"binary_relocation": False}}
        stand_in = {"package": {"name": name, "version": number}, "build": build}
        builder.Stage0Recipe.from_dict(stand_in).run_build(output_dir=place / "channel", channels=[])
    recipe = builder.Stage0Recipe.from_file(source / RECIPE.relative_to(ROOT))
    settings = builder.ToolConfiguration(test_strategy="skip")  # its tests need casadi and others from a channel
    channel = (place / "channel").as_uri()
    (done,) = recipe.run_build(output_dir=place / "out", channels=[channel], tool_config=settings)
    return builder.Package.from_file(done.packages[0])


@row("conda recipe", "built once, every file of the wheel", "rattler-build")
def _built() -> tuple[str, bool]:
    builder = need("rattler_build", "conda")
    project = read_toml(ROOT / "pyproject.toml", "project", DatasetError)["project"]
    version = project["requires-python"].removeprefix(">=")
    python = interpreter(version)
    if python is None:
        raise NotMeasured(f"needs Python {version} on the path or in pyenv")
    with scratch() as folder:
        package = _package(builder, folder, Path(python), version)
        held = {name.removeprefix("site-packages/") for name in package.files}
        name = Path(package.path).name
    expected = shipped()
    missing = sorted(expected - held)
    text = (
        f"{name} by rattler-build {metadata.version('py-rattler-build')}: {len(held)} files, "
        f"{len(missing)} of {len(expected)} missing{': ' + missing[0] if missing else ''}; "
        f"{len(package.depends)} requirements; Python {version}, pip and setuptools are this machine's"
    )
    return text, not missing and len(package.depends) > len(project["dependencies"])


#: Gain of the observer [1/s]; margin over what the recordings of the fit show; seconds that a motion is remembered.
_GAIN, _MARGIN, _MEMORY = 60.0, 1.5, 0.5
#: Slower than this [rad/s] the robot counts as slow; as resting at ten times the resolution of the recorded speeds.
_STILL, _RESTING = 0.02, 1e-3
#: Recordings that the model is fitted on, and those that set the thresholds; all others are new to both.
_TRAINING = ("ur-20_02_10-30sec_12harm", "ur-20_02_12-40sec_12harm")
_CALIBRATION = (
    *(f"identification_data/{name}" for name in (*_TRAINING, "ur-20_02_05-20sec_8harm")),
    *(f"jointwise_motion/ur-20_01_22-joint_{k}" for k in range(1, 7)),
    *(f"validation_data/ur-20_01_17-p{k}" for k in (1, 3, 5)),
)
_LOADED = "ur-20_02_19_14harm50secLoad"  # carries a load: not free


def _arrays(path: str) -> tuple[np.ndarray, ...]:
    with np.load(data_folder() / "ur10e" / f"{path}.npz") as file:
        return file["t"] - file["t"][0], file["q"], file["dq"], file["i"] * np.array(UR_GAINS)


@cache
def _observer() -> tuple[ca.Function, ca.Function]:
    """The observer of a model identified on two free motions."""
    folder = data_folder() / "ur10e" / "identification_data"
    data = [read_dataset(folder / f"{name}.npz", columns={"tau": "i"}, gains=UR_GAINS) for name in _TRAINING]
    robot = casid.load_robot("ur10e")
    options = ModelOptions(terms=("viscous", "coulomb", "offset", "rotor"), velocity_deadband=0.01)
    settings = Processing(cutoff=7.5, rate=None)
    choice, checks = Choice(believable=False), Checks(folds=0)
    found = identify(robot, data, processing=settings, model=options, choice=choice, checks=checks)
    return momentum_observer(found.model, found.parameters, _GAIN)


def residuals(t: np.ndarray, q: np.ndarray, dq: np.ndarray, tau: np.ndarray) -> np.ndarray:
    """The observer's residual at every sample, shape (N, n), in one call."""
    start, step = _observer()
    n = q.shape[1]
    names = ["q", "dq", "tau", "dt"]
    q_, dq_, tau_, state = (ca.SX.sym(name, n) for name in ("q", "dq", "tau", "state"))
    dt = ca.SX.sym("dt")
    r, following = step(q_, dq_, tau_, state, dt)
    fold = ca.Function("fold", [state, q_, dq_, tau_, dt], [following, r], ["state", *names], ["next", "r"])
    steps = np.diff(t, prepend=t[0])
    initial = start(q[0], dq[0])
    _, found = fold.mapaccum("run", len(t))(initial, q.T, dq.T, tau.T, steps[None])
    values: np.ndarray = np.asarray(found.full(), dtype=float).T
    return values


def _lasting(residual: np.ndarray) -> np.ndarray:
    """What two samples in a row have in common: a single spike is none, the rest keeps its size."""
    before = np.vstack([np.zeros(residual.shape[1]), residual[:-1]])
    common: np.ndarray = np.where(np.sign(before) == np.sign(residual), np.minimum(abs(before), abs(residual)), 0.0)
    return common


def _speed(t: np.ndarray, dq: np.ndarray) -> np.ndarray:
    """The fastest joint's speed, remembered with an exponential decay: models are worst while and after moving."""
    grown = np.exp(t / _MEMORY)
    found: np.ndarray = np.maximum.accumulate(np.abs(dq).max(axis=1) * grown) / grown
    return found


def _change(t: np.ndarray, residual: np.ndarray, resting: np.ndarray) -> np.ndarray:
    """The residual less its mean over the rest so far, of `_MEMORY` at most; zero while moving.

    Resting friction holds any torque within its limits, so that a constant residual tells nothing, a change does.
    """
    change, mean, since = np.zeros_like(residual), np.zeros(residual.shape[1]), 0
    for k in range(1, len(t)):
        since = since + 1 if resting[k] else 0
        change[k] = residual[k] - mean if since > 1 else 0.0
        mean = mean + max(1 / since, (t[k] - t[k - 1]) / _MEMORY) * (residual[k] - mean) if since else mean
    return change


@cache
def _watched(name: str) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Times, lasting residuals, remembered speeds and lasting changes at rest of a recording."""
    t, q, dq, tau = _arrays(name)
    residual, speed = residuals(t, q, dq, tau), _speed(t, dq)
    settled = t > 5 / _GAIN  # the observer has forgotten its start
    return t, _lasting(residual), speed, _lasting(_change(t, residual, settled & (speed < _RESTING)))


@cache
def _calibration() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Threshold while slow, its growth with the speed, that of changes at rest: the largest of the calibration."""
    seen = [_watched(name) for name in _CALIBRATION]
    still = np.max([r[v < _STILL].max(axis=0, initial=0.0) for _, r, v, _ in seen], axis=0)
    growth = [np.maximum(r - still, 0)[v >= _STILL] / v[v >= _STILL, None] for _, r, v, _ in seen]
    resting = np.max([change.max(axis=0) for *_, change in seen], axis=0)
    return still, np.max([slope.max(axis=0, initial=0.0) for slope in growth], axis=0), resting


def _share(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Times, and the largest joint's residual, or its change at rest, as a share of its threshold."""
    still, growth, resting = _calibration()
    t, r, v, change = _watched(name)
    shares = np.hstack([r / (still + growth * v[:, None]), change / resting])
    return t, shares.max(axis=1) / _MARGIN


def _free() -> list[str]:
    root = data_folder() / "ur10e"
    files = [path for folder in ("identification_data", "jointwise_motion", "validation_data")
             for path in sorted((root / folder).glob("*.npz"))]  # fmt: skip
    return [f"{path.parent.name}/{path.stem}" for path in files if path.stem != _LOADED]


@row("collision observer on the UR10e's push recording", "push within 50 ms of an oracle, 0 false alarms",
     "De Luca and Mattone 2003; oracle: zero-phase torques")  # fmt: skip
def _push() -> tuple[str, bool]:
    name = "collision/ur-20_01_22-push_pose_1"
    t, share = _share(name)
    # the oracle sees the whole recording: torque less that of the quiet first second, zero-phase at 10 Hz
    tau = _arrays(name)[3]
    b, a = butter(3, 10.0 / (0.5 / np.median(np.diff(t))))
    external = np.abs(filtfilt(b, a, tau - np.median(tau[t < 1.0], axis=0), axis=0))
    outside = (external > _MARGIN * _calibration()[2]).any(axis=1)
    if not (share > 1).any() or not outside.any():
        return "no push seen", False
    seen, onset = t[np.argmax(share > 1)], t[np.argmax(outside)]
    noise = 5 * external[t < 1.0].max(axis=0)
    first = t[np.argmax((external > noise).any(axis=1))]
    shares = {free: float(_share(free)[1].max()) for free in _free()}
    false = [free for free, worst in shares.items() if worst > 1]
    nearest = max(shares, key=lambda free: shares[free])
    new = sum(free not in _CALIBRATION for free in shares)
    return (
        f"seen at {seen:.2f} s, {1e3 * (seen - onset):.0f} ms after the oracle passes the thresholds "
        f"({1e3 * (seen - first):.0f} ms after it leaves the noise); {len(false)} of {len(shares)} free recordings "
        f"alarm ({new} of the {len(shares)} are new to model and thresholds); nearest {nearest.rpartition('/')[2]} at "
        f"{100 * shares[nearest]:.0f} %",
        bool(seen - first <= 0.05 and not false),
    )
