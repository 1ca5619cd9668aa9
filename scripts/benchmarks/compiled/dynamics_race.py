"""Compiled functions of casid against Pinocchio's C++ algorithms, timed in one process on the same robot and states."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import platform
import shutil
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.measure import NotMeasured, need
from casid.codegen import CFunction, batch_source, digest, find_compiler, scalar_source
from casid.codegen._cache import cached_file
from casid.description import Robot
from casid.dynamics import Model, forward_dynamics_derivatives, inverse_dynamics_derivatives, reduced
from casid.inertia import express_in, from_standard, link_slice, to_standard
from casid.testing._peers import parameter_map

HERE = Path(__file__).resolve().parent
_EIGEN = (Path("/usr/include/eigen3"), Path("/usr/local/include/eigen3"), Path("/opt/homebrew/include/eigen3"))
#: What Pinocchio's own CMake files define; no -march=native, the shipped library has none.
_PINOCCHIO = (
    "-std=c++17", "-O3", "-DNDEBUG", "-DBOOST_MPL_LIMIT_LIST_SIZE=30", "-DBOOST_MPL_LIMIT_VECTOR_SIZE=30",
    "-DBOOST_MPL_CFG_NO_PREPROCESSED_HEADERS", "-DBOOST_FUSION_INVOKE_MAX_ARITY=12",
    "-DPINOCCHIO_ENABLE_TEMPLATE_INSTANTIATION",
)  # fmt: skip
#: The program runs this often, each time from a copy of its own, and the median counts: where the pages of a program
#: happen to lie in memory can slow a long function by half, and stays so for as long as the file lives.
_COPIES = 7
_CASID = ("-O3", "-march=native", "-ffp-contract=fast")
_LETTERS = {(1.0, 0.0, 0.0): "x", (0.0, 1.0, 0.0): "y", (0.0, 0.0, 1.0): "z"}


@dataclass(frozen=True)
class Time:
    """Median and minimum time of one evaluation [ns], largest relative deviation from Pinocchio."""

    median: float
    minimum: float
    error: float


@dataclass(frozen=True)
class Race:
    """Times by function; size [bytes] and compile time [s] of the regressor's source."""

    times: dict[str, Time]
    regressor_size: int
    regressor_compile_time: float

    def ratio(self, ours: str, theirs: str) -> float:
        """Median time of a casid function over that of a Pinocchio algorithm; the fastest of its variants."""
        variants = [t.median for name, t in self.times.items() if name.startswith(f"pinocchio {theirs}")]
        return self.times[ours].median / min(variants)


def random_parameters(robot: Robot, seed: int = 0) -> np.ndarray:
    """Standard parameters of plausible bodies."""
    rng = np.random.default_rng(seed)
    links = []
    for _ in robot.links:
        A = 0.05 * rng.normal(size=(3, 3))
        spread = A @ A.T + 0.01 * np.eye(3)  # second moments about the centre of mass
        inertia = np.trace(spread) * np.eye(3) - spread
        links.append(to_standard(rng.uniform(0.5, 4.0), rng.uniform(-0.1, 0.1, 3), inertia))
    return np.concatenate(links)


def race(robot: Robot, states: int = 64, repeats: int = 300) -> Race:
    """Build both sides and let them run.

    Raises
    ------
    NotMeasured
        Without Pinocchio's wheel, Eigen's headers, or a C++ compiler.
    """
    prefix, eigen, cxx = _tools()
    model = Model(robot)
    pi = random_parameters(robot)
    given = reduced(model, pi)
    functions = {
        "inverse_dynamics": model.inverse_dynamics,
        "inverse_dynamics_numeric": given.inverse_dynamics,
        "regressor": model.regressor,
        "mass_matrix": given.mass_matrix,
        "forward_dynamics": given.forward_dynamics,
        "inverse_dynamics_derivatives": inverse_dynamics_derivatives(given),
        "forward_dynamics_derivatives": forward_dynamics_derivatives(given),
    }
    built = {name: CFunction(function, f"casid_{name}") for name, function in functions.items()}
    cc = find_compiler()
    assert cc is not None  # _tools has looked
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        (folder / "scalar.c").write_text(scalar_source(list(built.values()), "casid"))
        (folder / "batch.c").write_text(batch_source([built["regressor"]], "casid_batch"))
        (folder / "regressor.c").write_text(scalar_source([built["regressor"]], "casid"))
        _write_robot(folder / "robot.txt", robot, pi)
        compile_times = []
        for _ in range(3):
            start = time.perf_counter()
            _run([*cc, "-std=c99", *_CASID, "-c", "regressor.c", "-o", "regressor.o"], folder)
            compile_times.append(time.perf_counter() - start)
        for name in ("scalar", "batch"):
            _run([*cc, "-std=gnu11", *_CASID, "-c", f"{name}.c", "-o", f"{name}.o"], folder)
        library = prefix / "lib"
        link = [f"-L{library}", "-lpinocchio_default", f"-Wl,-rpath,{library}", "-Wl,--allow-shlib-undefined", "-lm"]
        _run([cxx, str(_pinocchio_object(prefix, eigen, cxx)), "scalar.o", "batch.o", *link, "-o", "race"], folder)
        runs = []
        for i in range(_COPIES):
            shutil.copy(folder / "race", folder / f"race{i}")
            runs.append(_run([f"./race{i}", "robot.txt", str(states), str(-(-repeats // _COPIES))], folder))
        size = (folder / "regressor.c").stat().st_size
    rows: dict[str, list[list[float]]] = {}
    for line in "".join(runs).splitlines():
        name, *numbers = line.split(",")
        rows.setdefault(name, []).append([float(number) for number in numbers])
    times = {}
    for name, values in rows.items():
        median, minimum, error = np.array(values).T
        times[name] = Time(float(np.median(median)), float(minimum.min()), float(error.max()))
    return Race(times, size, float(np.median(compile_times)))


def _tools() -> tuple[Path, Path, str]:
    """Prefix of Pinocchio's wheel, Eigen's headers, C++ compiler."""
    need("pinocchio")
    spec = importlib.util.find_spec("cmeel")
    roots = [Path(p).parent / "cmeel.prefix" for p in (spec.submodule_search_locations or [])] if spec else []
    prefix = next((p for p in roots if (p / "include" / "pinocchio").is_dir()), None)
    if prefix is None:
        raise NotMeasured("Pinocchio's C++ headers are not where its wheel (pip install pin) has them")
    eigen = next((p for p in (*_EIGEN, prefix / "include" / "eigen3") if (p / "Eigen").is_dir()), None)
    if eigen is None:
        raise NotMeasured("needs Eigen's headers (Debian: apt-get install libeigen3-dev)")
    cxx = shutil.which("g++")
    if cxx is None or find_compiler() is None or platform.machine() != "x86_64":
        raise NotMeasured("needs gcc and g++ on x86-64 (Debian: apt-get install gcc g++)")
    return prefix, eigen, cxx


def _pinocchio_object(prefix: Path, eigen: Path, cxx: str) -> Path:
    """Object file of dynamics_race.cpp, which no robot enters; compiled once, it takes a minute."""
    source = HERE / "dynamics_race.cpp"
    command = [cxx, *_PINOCCHIO, f"-I{eigen}", f"-I{prefix / 'include'}"]
    version = importlib.metadata.version("pin")
    key = digest(source.read_bytes(), " ".join(command), version, _run([cxx, "--version"], HERE))

    def compile_to(path: Path) -> None:
        _run([*command, "-c", str(source), "-o", str(path)], HERE)

    return cached_file(f"race-{key}.o", compile_to)


def _run(command: list[str], folder: Path) -> str:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command[:1])} failed: {(done.stderr or done.stdout)[-600:]}")
    return done.stdout


def _write_robot(path: Path, robot: Robot, pi: np.ndarray) -> None:
    """The text that dynamics_race.cpp reads."""
    lines = [f"{robot.n} {_text(robot.gravity)}"]
    for k, joint in enumerate(robot.joints):
        above = robot.joints[joint.parent].link_placement if joint.parent >= 0 else np.eye(4)
        placement = above @ joint.placement
        moved = joint.link_placement
        mass, com, inertia = from_standard(express_in(pi[link_slice(k)], moved[:3, :3], moved[:3, 3]))
        kind = ("r" if joint.type == "revolute" else "p") + _LETTERS.get(tuple(joint.axis.tolist()), "u")
        six = inertia[np.triu_indices(3)]
        numbers = [joint.axis, placement[:3, :3], placement[:3, 3], mass, com, six]
        lines.append(f"{joint.parent} {kind} " + " ".join(_text(value) for value in numbers))
    lines += [f"{len(pi)} {_text(pi)}", _text(parameter_map(robot))]
    path.write_text("\n".join(lines) + "\n")


def _text(values: object) -> str:
    return " ".join(repr(float(value)) for value in np.ravel(np.asarray(values, dtype=float)))
