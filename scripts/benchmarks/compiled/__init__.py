"""Compiled dynamics: speed beside Pinocchio's C++, operation counts, accuracy, batches, the controller example."""

from __future__ import annotations

import functools
import importlib.metadata
import importlib.util
import platform
import re
import shutil
import time
import timeit
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np

import casid
from benchmarks.measure import ROOT, NotMeasured, Rows, need, need_compiler, process, scratch
from benchmarks.pinocchio import answers, build, parameter_map, relative_error
from casid.codegen import CFunction, Function, batch_source, digest, operation_count, scalar_source
from casid.codegen._compiler import cached_file
from casid.description import Joint, Link, Robot
from casid.dynamics import Model, forward_dynamics_derivatives, inverse_dynamics_derivatives, reduced
from casid.errors import InertiaWarning
from casid.export import FUNCTIONS, PUBLISHED, LoadedLibrary, export_robot, load
from casid.inertia import express_in, from_standard, link_slice, to_standard

MEASURES = row = Rows()

SOURCES = ROOT / "scripts" / "examples" / "controller"


@dataclass(frozen=True)
class Controller:
    """Paths of the programs; ``franka`` only for robots with seven joints and where there is a C++ compiler."""

    computed_torque: Path
    franka: Path | None


def build_controller(robot: Robot, folder: Path, payload: float = 0.0, flags: tuple[str, ...] = ()) -> Controller:
    """Export the controller's model and the plant, whose flange carries ``payload`` kg more, and compile."""
    cc = need_compiler()
    functions = ("inverse_dynamics", "gravity", "forward_dynamics")
    export_robot(robot, folder / "controller", functions, prefix="controller", overwrite=True)
    body = (payload, 0.0, 0.0, 0.05)
    export_robot(robot, folder / "plant", functions, prefix="plant", payload=body, overwrite=True)
    strict = ["-Wall", "-Wextra", "-Wpedantic", "-Werror", "-O3", "-ffp-contract=fast", *(flags or ("-march=native",))]
    includes = [f"-I{folder / name}" for name in ("controller", "plant")]
    objects = []
    for name in ("controller", "plant"):
        objects.append(str(folder / f"{name}.o"))
        process(*cc, "-std=c99", *strict, "-c", str(folder / name / f"{name}.c"), "-o", objects[-1])
    program = folder / "computed_torque"
    source = str(SOURCES / "computed_torque.c")
    process(*cc, "-std=c99", *strict, *includes, f"-DJOINTS={robot.n}", source, *objects, "-lm", "-o", str(program))
    franka, cxx = None, shutil.which("g++") or shutil.which("clang++")
    if robot.n == 7 and cxx is not None:
        franka = folder / "franka_callback"
        source = str(SOURCES / "franka_callback.cpp")
        process(cxx, "-std=c++14", *strict, *includes, source, *objects, "-lm", "-o", str(franka))
    return Controller(program, franka)


def run_controller(controller: Controller, seconds: float, limit: float = 1.0) -> str:
    """What the C program prints."""
    return process(str(controller.computed_torque), str(seconds), str(limit)).stdout.strip()


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
#: States of a pass, and passes of all copies together.
_STATES, _REPEATS = 64, 300
#: Joints from which the derivatives of forward dynamics are left out: their code grows with the cube of the number.
_MANY = 20
_CASID = ("-O3", "-march=native", "-ffp-contract=fast")
_LETTERS = {(1.0, 0.0, 0.0): "x", (0.0, 1.0, 0.0): "y", (0.0, 0.0, 1.0): "z"}


@dataclass(frozen=True)
class Race:
    """Median time of one evaluation by function [ns]; size [bytes], compile time [s] of the regressor's source."""

    times: dict[str, float]
    regressor_size: int
    regressor_compile_time: float

    def ratio(self, ours: str, theirs: str) -> float:
        """Median time of a casid function over that of a Pinocchio algorithm; the fastest of its variants."""
        variants = [t for name, t in self.times.items() if name.startswith(f"pinocchio {theirs}")]
        return self.times[ours] / min(variants)


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


def humanoid() -> Robot:
    """Thirty joints from a fixed pelvis, of a grown person's proportions: two legs, waist, two arms and a head."""
    x, y, z = np.eye(3)
    legs = [(z, (0.0, 0.09, -0.1)), (x, (0.0, 0.0, 0.0)), (y, (0.0, 0.0, 0.0)), (y, (0.0, 0.0, -0.4)),
            (y, (0.0, 0.0, -0.4)), (x, (0.0, 0.0, 0.0))]  # fmt: skip
    arms = [(z, (0.0, 0.15, 0.3)), (x, (0.0, 0.05, 0.0)), (z, (0.0, 0.0, -0.1)), (y, (0.02, 0.0, -0.2)),
            (z, (-0.02, 0.0, -0.25)), (x, (0.0, 0.0, 0.0)), (y, (0.0, 0.0, 0.0))]  # fmt: skip
    waist, head = [(z, (0.0, 0.0, 0.1)), (y, (0.0, 0.0, 0.05))], [(y, (0.0, 0.0, 0.4)), (z, (0.0, 0.0, 0.0))]
    joints: list[Joint] = []
    for name, limb, side, parent in (
        ("left_leg", legs, 1, -1), ("right_leg", legs, -1, -1), ("waist", waist, 1, -1),
        ("left_arm", arms, 1, 13), ("right_arm", arms, -1, 13), ("head", head, 1, 13),
    ):  # fmt: skip
        for k, (axis, place) in enumerate(limb):
            placement = np.eye(4)
            placement[:3, 3] = np.array(place) * [1, side, 1]
            above = len(joints) - 1 if k else parent
            joints.append(Joint(f"{name}{k + 1}", "revolute", above, Link(f"{name}_link{k + 1}"), placement, axis))
    return Robot("humanoid", tuple(joints))


def race(robot: Robot) -> Race:
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
    }
    if robot.n < _MANY:
        functions["forward_dynamics_derivatives"] = forward_dynamics_derivatives(given)
    built = {name: CFunction(function, f"casid_{name}") for name, function in functions.items()}
    cc = need_compiler()
    with scratch() as folder:
        (folder / "scalar.c").write_text(scalar_source(list(built.values()), "casid"))
        (folder / "batch.c").write_text(batch_source([built["regressor"]], "casid_batch"))
        (folder / "regressor.c").write_text(scalar_source([built["regressor"]], "casid"))
        _write_robot(folder / "robot.txt", robot, pi)
        compiling = (*cc, "-std=c99", *_CASID, "-c", "regressor.c", "-o", "regressor.o")
        compile_times = timeit.repeat(lambda: process(*compiling, folder=folder), number=1, repeat=3)
        for name in ("scalar", "batch"):
            process(*cc, "-std=gnu11", *_CASID, "-c", f"{name}.c", "-o", f"{name}.o", folder=folder)
        library = prefix / "lib"
        link = [f"-L{library}", "-lpinocchio_default", f"-Wl,-rpath,{library}", "-Wl,--allow-shlib-undefined", "-lm"]
        process(cxx, _pinocchio_object(prefix, eigen, cxx), "scalar.o", "batch.o", *link, "-o", "race", folder=folder)
        runs = []
        for i in range(_COPIES):
            shutil.copy(folder / "race", folder / f"race{i}")
            runs.append(process(f"./race{i}", "robot.txt", _STATES, -(-_REPEATS // _COPIES), folder=folder).stdout)
        size = (folder / "regressor.c").stat().st_size
    medians: dict[str, list[float]] = {}
    for line in "".join(runs).splitlines():
        name, median, *_ = line.split(",")
        medians.setdefault(name, []).append(float(median))
    times = {name: float(np.median(values)) for name, values in medians.items()}
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
    if cxx is None or platform.machine() != "x86_64":
        raise NotMeasured("needs gcc and g++ on x86-64 (Debian: apt-get install gcc g++)")
    return prefix, eigen, cxx


def _pinocchio_object(prefix: Path, eigen: Path, cxx: str) -> Path:
    """Object file of dynamics_race.cpp, which no robot enters; compiled once, it takes a minute."""
    source = HERE / "dynamics_race.cpp"
    command = [cxx, *_PINOCCHIO, f"-I{eigen}", f"-I{prefix / 'include'}"]
    version = importlib.metadata.version("pin")
    key = digest(source.read_bytes(), " ".join(command), version, process(cxx, "--version", folder=HERE).stdout)

    def compile_to(path: Path) -> None:
        process(*command, "-c", str(source), "-o", str(path), folder=HERE)

    return cached_file(f"race-{key}.o", compile_to)


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


ROBOTS = ("panda", "kuka_iiwa")
#: Samples of the published Panda trajectory.
SAMPLES = 20544


@functools.lru_cache(maxsize=4)
def _race(name: str) -> Race:
    return race(casid.load_robot(name))


@row("regressor, one C call", "<= 0.11 x Pinocchio C++ computeJointTorqueRegressor", "0.12", "regressor",
     "computeJointTorqueRegressor", 0.11)  # fmt: skip
@row("same, numeric base-parameter form", "<= 0.13 x Pinocchio C++ rnea", "0.16", "inverse_dynamics_numeric", "rnea",
     0.13)  # fmt: skip
@row("inverse dynamics, one C call, run-time standard parameters", "<= 0.18 x Pinocchio C++ rnea", "0.17",
     "inverse_dynamics", "rnea", 0.18)  # fmt: skip
def ratio(ours: str, theirs: str, bar: float) -> tuple[str, bool]:
    """Ratio of median times on both robots."""
    races = {name: _race(name) for name in ROBOTS}
    ratios = {name: r.ratio(ours, theirs) for name, r in races.items()}
    text = ", ".join(f"{name} {ratios[name]:.3f} ({races[name].times[ours]:.0f} ns)" for name in ROBOTS)
    return text, max(ratios.values()) <= bar


@row("regressor, batched, per sample", "<= 0.02 x the same", "0.015-0.025")
def batched() -> tuple[str, bool]:
    text, met = ratio("regressor_block", "computeJointTorqueRegressor", 0.02)
    rows, _ = ratio("regressor_batch", "computeJointTorqueRegressor", 0.02)
    return f"{text}; transposed to one sample after the other: {rows}", met


@row("mass matrix; forward dynamics; derivatives of inverse dynamics",
     "<= 0.25 x Pinocchio's crba, aba, computeRNEADerivatives")  # fmt: skip
def three_ratios() -> tuple[str, bool]:
    pairs = (
        ("mass_matrix", "crba"), ("forward_dynamics", "aba"), ("inverse_dynamics_derivatives",
        "computeRNEADerivatives"), ("forward_dynamics_derivatives", "computeABADerivatives"),
    )  # fmt: skip
    results = [(ours, *ratio(ours, theirs, 0.25)) for ours, theirs in pairs]
    # The derivatives of forward dynamics are shown beside; the bar speaks of the first three.
    return "\n".join(f"{ours}: {text}" for ours, text, _ in results), all(met for _, _, met in results[:3])


@row("operations of inverse dynamics (mul/add)",
     "Panda <= 340/275 in base-parameter form; Stanford, Puma 560, WAM < 0.7 x Table 7.1 "
        "(477/393, 576/454, 626/493)",
     "Panda 389/293")  # fmt: skip
def operations() -> tuple[str, bool]:
    lines, met = [], True
    for name in ("panda", *PUBLISHED):
        robot = casid.load_robot(name)
        for terms in ((), ("viscous", "coulomb")):
            model = Model(robot, terms)
            numbers = reduced(model, np.random.default_rng(1).uniform(0.1, 1.0, len(model.parameter_names)))
            folded = operation_count(numbers.inverse_dynamics)
            based = operation_count(model.with_base_parameters().inverse_dynamics)
            standard = operation_count(model.inverse_dynamics)
            counts = {"base parameters as numbers": folded, "as argument": based, "standard": standard}
            text = ", ".join(f"{what} {own.multiplications}/{own.additions}" for what, own in counts.items())
            lines.append(f"{name}{' with viscous and Coulomb friction' if terms else ''}: {text}")
            if name == "panda":
                met &= bool(terms) or (folded.multiplications <= 340 and folded.additions <= 275)
            else:  # the table does not say whether friction is counted: both must do
                for own in (folded, based):
                    met &= own.multiplications < 0.7 * PUBLISHED[name].multiplications
                    met &= own.additions < 0.7 * PUBLISHED[name].additions
    return "\n".join(lines), met


@row("20544 samples of the Panda regressor (7 x 43) from Python", "<= 60 ms, one core")
def batch_from_python() -> tuple[str, bool]:
    need_compiler()
    model = Model(casid.load_robot("panda"))
    rng = np.random.default_rng(0)
    function, times = model.base_regressor, []
    function(*rng.normal(size=(3, 8, 7)), compiled=True)  # compile, or find in the cache
    for _ in range(25):
        q, dq, ddq = rng.normal(size=(3, SAMPLES, 7))
        start = time.perf_counter()
        Y = function(q, dq, ddq, compiled=True)
        times.append(time.perf_counter() - start)
    mapped = function(q, dq, ddq, compiled=False)
    assert Y.shape == (SAMPLES, 7, 43)
    error = np.abs(Y - mapped).max() / np.abs(mapped).max()
    text = f"median {1e3 * np.median(times):.1f} ms, slowest {1e3 * max(times):.1f} ms"
    text += f"; mapped CasADi agrees to {error:.0e}"
    return text, bool(np.median(times) <= 0.060 and error <= 1e-11)


@row("C source and compile time of the Panda regressor", "<= 200 kB, <= 5 s at -O3", "1 s")
def size_and_compile_time() -> tuple[str, bool]:
    result = _race("panda")
    text = f"{result.regressor_size / 1e3:.0f} kB, {result.regressor_compile_time:.2f} s"
    return text, result.regressor_size <= 200e3 and result.regressor_compile_time <= 5.0


@row("every exported function against the CasADi graph and Pinocchio", "<= 1e-12 relative (scalar), <= 1e-11 (vector)")
def accuracy() -> tuple[str, bool]:
    """Every exportable function, all three parametrisations, against the graph and, where it can, Pinocchio."""
    need_compiler()
    need("pinocchio")
    graph, peer, vector = (0.0, ""), (0.0, ""), (0.0, "")
    compared = 0
    for name in ROBOTS:
        robot = casid.load_robot(name)
        pi = random_parameters(robot, seed=3)
        model = Model(robot)
        with scratch() as place, warnings.catch_warnings():
            warnings.simplefilter("ignore", InertiaWarning)
            for mode in ("none", "standard", "base"):
                functions = [f for f in FUNCTIONS if mode != "base" or f not in ("joint_wrenches", "potential_energy")]
                folder = place / mode
                exported = export_robot(robot, folder, functions, parameters=pi, runtime_parameters=mode)
                library = load(folder)
                values = {"pi": pi, "beta": model.base.values(pi)}
                for c in exported.functions:
                    f = library[c.name.removeprefix(f"{robot.name}_")]
                    label = f"{name} {mode} {f.name()}"
                    graph = max(graph, (_against_graph(f, c.function, values), label))
                    vector = max(vector, (_batch_against_graph(c.function, values), label))
                    compared += 1
                errors = _against_pinocchio(robot, library, pi, values)
                peer = max(peer, *((error, f"{name} {mode} {function}") for function, error in errors.items()))
    text = f"{compared} functions: scalar against graph {graph[0]:.1e} ({graph[1]}), against Pinocchio "
    text += f"{peer[0]:.1e} ({peer[1]}), vector {vector[0]:.1e} ({vector[1]})"
    return text, graph[0] <= 1e-12 and peer[0] <= 1e-12 and vector[0] <= 1e-11


def _states(function: ca.Function, values: dict[str, np.ndarray], count: int) -> list[list[np.ndarray]]:
    rng = np.random.default_rng(11)
    return [
        [values.get(n, rng.uniform(-1.5, 1.5, function.size1_in(i))) for i, n in enumerate(function.name_in())]
        for _ in range(count)
    ]


def _against_graph(f: Callable[..., Any], graph: ca.Function, values: dict[str, np.ndarray]) -> float:
    worst = 0.0
    for state in _states(graph, values, 10):
        ours = f(*state)
        for value, expected in zip(ours if isinstance(ours, tuple) else (ours,), graph.call(state), strict=True):
            worst = max(worst, relative_error(value, expected.full()))
    return worst


def _batch_against_graph(graph: ca.Function, values: dict[str, np.ndarray]) -> float:
    states = _states(graph, values, 19)
    arrays = [
        values[name] if name in values else np.array([state[i] for state in states])
        for i, name in enumerate(graph.name_in())
    ]
    ours = Function(graph, 2)(*arrays, compiled=True)
    worst = 0.0
    for o, batch in enumerate(ours if isinstance(ours, tuple) else (ours,)):
        for value, state in zip(batch, states, strict=True):
            worst = max(worst, relative_error(value, graph.call(state)[o].full()))
    return worst


def _against_pinocchio(
    robot: Robot, library: LoadedLibrary, pi: np.ndarray, values: dict[str, np.ndarray]
) -> dict[str, float]:
    peer, data = build(robot, pi)
    rng = np.random.default_rng(12)
    errors: dict[str, float] = {}
    for _ in range(10):
        for name, (state, truths) in answers(robot, peer, data, *rng.uniform(-1.5, 1.5, (3, robot.n))).items():
            if name == "potential_energy" and name not in library:  # not of base parameters
                continue
            f = library[name]
            result = f(*state, *(values[key] for key in f.name_in() if key in values))
            pairs = zip(result if isinstance(result, tuple) else (result,), truths, strict=True)
            errors[name] = max(errors.get(name, 0.0), *(relative_error(value, true) for value, true in pairs))
    return errors


@row("valgrind on the controller example", "0 allocations in the loop, 0 errors")
def valgrind() -> tuple[str, bool]:
    """Heap allocations must not depend on the number of control cycles, and no error may be found."""
    if shutil.which("valgrind") is None:
        raise NotMeasured("needs valgrind (Debian: apt-get install valgrind)")
    counts, errors = [], 0
    with scratch() as place:
        # valgrind does not know AVX-512
        built = build_controller(casid.load_robot("panda"), place, payload=1.0, flags=("-march=x86-64-v3",))
        for seconds in ("0.01", "1.0"):
            command = ["valgrind", "--error-exitcode=9", "--leak-check=full", str(built.computed_torque), seconds]
            done = process(*command, may_fail=True)
            heap = re.search(r"total heap usage: ([\d,]+) allocs", done.stderr)
            found = re.search(r"ERROR SUMMARY: (\d+) errors", done.stderr)
            if heap is None or found is None:
                raise RuntimeError(f"valgrind failed: {done.stderr[-300:]}")
            counts.append(int(heap[1].replace(",", "")))
            errors += int(found[1])
    inside = counts[1] - counts[0]
    text = f"{inside} allocations in 990 more cycles ({counts[0]} in all), {errors} errors"
    return text, inside == 0 and errors == 0
