"""Kinds of files that casid reads: good ones to begin with, and what is read from them."""

from __future__ import annotations

import contextlib
import gzip
import io
import json
import tempfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache, partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np
from typer.main import get_command

import casid
from benchmarks.measure import ROOT, NotMeasured, need_compiler, scratch
from benchmarks.soundness import fuzz_files as made
from benchmarks.soundness.fuzz_files import Seed, bags, csv, csv_text, files, npz, packed, recording, saved
from casid import retrieval
from casid.cli import app
from casid.description import Robot, convert, load_robot
from casid.drives import read_commands
from casid.dynamics import Model
from casid.errors import CasidError
from casid.excitation import fit_capsules
from casid.export import export_c, load
from casid.files import json_bytes, read_toml
from casid.identification import ModelOptions, identify, load_model
from casid.identification.repair import check_file
from casid.inertia import read_parameters, to_standard
from casid.measurement import Dataset, Processing, check_against, read_dataset
from casid.motion import Fourier, Poses, QuinticSpline, Ramped, Trajectory, read_trajectory, trajectory_text
from casid.report import report_of
from casid.testing import recorded

Numbers = Iterable[Any]
ROBOTS = ROOT / "robots"
RECORDINGS = ("recording_short.toml", "recording_long.toml")
ARM, SIDECAR = "ur10e", "machine.urdf.casid.toml"


def sample(name: str) -> bytes:
    """A file that casid does not write itself."""
    return Path(__file__).with_name("samples").joinpath(name).read_bytes()


@dataclass(frozen=True)
class Kind:
    """One kind of file.

    Attributes
    ----------
    name : str
    seeds : callable
        Good inputs.
    read : callable
        Reads a path and uses what it holds; returns all numbers that come out of it.
    bombs : tuple of callable
        Small files that become large ones.
    needs : str
        Package without which it cannot be read.
    pack : callable, optional
        A file of these arrays.
    changes : bool
        Whether reading may go on writing the file.
    """

    name: str
    seeds: Callable[[], list[Seed]]
    read: Callable[[Path], Numbers]
    bombs: tuple[Callable[[], bytes], ...] = ()
    needs: str = "casid"
    pack: Callable[[dict[str, Any]], bytes] | None = None
    changes: bool = False

    def check_available(self) -> None:
        """NotMeasured without the package that it needs."""
        if find_spec(self.needs) is None:
            raise NotMeasured(f"needs the package {self.needs}")


# ---------------------------------------------------------------------- robots


def urdf() -> bytes:
    shapes = ('<box size="0.1 0.1 0.3"/>', '<cylinder radius="0.05" length="0.3"/>', '<sphere radius="0.1"/>')
    rows = zip(shapes, ("revolute", "prismatic", "continuous"), ("base", "link1", "link2"), strict=True)
    link = sample("link.urdf").decode()
    links = [link.format(k=k + 1, shape=shape, type=type, parent=up) for k, (shape, type, up) in enumerate(rows)]
    return sample("arm.urdf").decode().format(links="\n  ".join(links)).encode()


def written(suffix: str, *further: bytes) -> Iterator[bytes]:
    """A format as casid writes it for shipped robots, and further files."""
    yield from further
    for name in ("spatial_2r", "three_link", "panda"):
        yield saved(partial(convert, ROBOTS / f"{name}.toml"), f"machine{suffix}")[f"machine{suffix}"]


TOML = files("machine.toml", lambda: [path.read_bytes() for path in sorted(ROBOTS.glob("*.toml"))])
URDFS = files("machine.urdf", lambda: [urdf()])
XML = files("machine.xml", lambda: written(".xml", *[sample("arm.xml")] * 2))
SDF = files("machine.sdf", lambda: written(".sdf"))


def any_robot() -> list[Seed]:
    return [*TOML(), *URDFS() * 4, *XML(), *SDF()]


@cache
def sidecars() -> list[Seed]:
    """URDF and what it cannot hold, as casid writes them."""
    source = Path(tempfile.mkdtemp()) / "arm.xml"
    source.write_bytes(sample("arm.xml"))
    robots = (ROBOTS / "panda.toml", ROBOTS / "identified" / "emps.toml", source)
    pairs = [saved(partial(convert, robot), "machine.urdf") for robot in robots if robot.exists()]
    return [Seed(pair, SIDECAR, "machine.urdf") for pair in pairs if SIDECAR in pair]


def robot_numbers(robot: Robot) -> list[Any]:
    numbers: list[Any] = [robot.gravity]
    numbers += [joint.placement for joint in robot.joints] + [joint.axis for joint in robot.joints]
    numbers += [link.inertial.standard_parameters() for link in robot.links if link.inertial is not None]
    numbers += [np.array(list(joint.terms.values())) for joint in robot.joints if joint.terms]
    numbers += [frame.placement for frame in robot.frames]
    return numbers + [np.array([*c.start, *c.end, c.radius]) for c in robot.capsules]


def checked(path: Path) -> Numbers:
    return [link.repaired for link in check_file(path).links]


def read_robot(path: Path) -> Numbers:
    return robot_numbers(load_robot(path))


def read_robot_and_check(path: Path) -> Numbers:
    return [*read_robot(path), *checked(path)]


def read_urdf(path: Path) -> Numbers:
    """Three readers of a URDF: what none of them reads is refused."""
    (good,) = URDFS()
    with scratch() as folder:
        (folder / "good.urdf").write_bytes(good.files["machine.urdf"])
        robot = load_robot(folder / "good.urdf")
    numbers: list[Any] = []
    errors: list[CasidError] = []
    readers: tuple[Callable[[], Numbers], ...] = (
        lambda: read_robot(path),
        lambda: checked(path),
        lambda: [np.array([*c.start, *c.end, c.radius]) for c in fit_capsules(path, robot)],
    )
    for read in readers:
        try:
            numbers += read()
        except CasidError as error:
            errors.append(error)
    if errors and not numbers:
        raise errors[0]
    return numbers


def read_converted(path: Path) -> Numbers:
    """Converted: what is written can be read, by MuJoCo too, and has the same mass matrix."""
    suffix = (".urdf", ".xml", ".sdf", ".toml")[zlib.crc32(path.read_bytes()) % 4]
    with scratch() as folder:
        out = folder / f"written{suffix}"
        refused = any("MuJoCo refuses" in note for note in convert(path, out).notes)
        try:
            before = load_robot(path)
        except CasidError:  # e.g. no moving joint: a description that is converted all the same
            return []
        try:
            after = load_robot(out)
        except CasidError as error:
            raise AssertionError(f"convert wrote a file that casid refuses: {error}") from error
        if before.n != after.n:
            raise AssertionError(f"{before.n} joints became {after.n}")
        bodies = [[link.inertial for link in robot.links] for robot in (before, after)]
        if all(body is not None for body in (*bodies[0], *bodies[1])):
            _same_mass_matrix(before, after)
        heavy = all(body is not None and body.mass > 1e-9 for body in bodies[1])
        if suffix == ".xml" and not refused and heavy and find_spec("mujoco") is not None:
            import mujoco

            try:
                mujoco.MjModel.from_xml_path(str(out))
            except ValueError as error:
                raise AssertionError(f"convert wrote a file that MuJoCo refuses: {error}") from error
        return robot_numbers(after)


def _same_mass_matrix(*robots: Robot) -> None:
    q, matrices = np.linspace(0.1, 0.5, robots[0].n), []
    for robot in robots:
        x = np.concatenate([link.inertial.standard_parameters() for link in robot.links if link.inertial is not None])
        matrices.append(np.asarray(Model(robot).with_parameters(x).mass_matrix(q)))
    scale = np.abs(matrices[0]).max()
    if np.isfinite(scale) and not np.allclose(matrices[0], matrices[1], rtol=1e-6, atol=1e-6 * scale):
        raise AssertionError("the mass matrix of the written file differs")


def motions() -> Iterator[bytes]:
    rng, fourier = np.random.default_rng(4), Fourier(0.5, 3)
    for basis in (fourier, QuinticSpline(10.0, 12, False), Ramped(fourier, 0.5), Poses(6)):
        yield trajectory_text(Trajectory(basis, rng.normal(size=(3, basis.size)), ("a", "b", "c"), "arm")).encode()


def read_motion(path: Path) -> Numbers:
    trajectory = read_trajectory(path)
    return [trajectory.coefficients, *trajectory.motion(trajectory.basis.samples(20))]


# ---------------------------------------------------------------------- recordings


@cache
def three_link() -> Robot:
    return load_robot("three_link")


def dataset_numbers(data: Dataset) -> list[Any]:
    return [value for value in (data.t, data.q, data.tau, data.dq, data.ddq) if value is not None]


def read_recording(path: Path) -> Numbers:
    """Read, checked against a robot, and filtered."""
    data = check_against(read_dataset(path), three_link())
    return [*dataset_numbers(data), *dataset_numbers(Processing().apply(data))]


@cache
def command_recordings() -> list[Seed]:
    """A recording of commands and encoders with its TOML: the one or the other is spoilt."""
    arrays, names = recording(120), [joint.name for joint in three_link().coordinates]
    header = ["t", *(f"{signal}_{name}" for signal in ("q", "q_des") for name in names), "on"]
    table = csv_text(header, np.column_stack([arrays["t"], arrays["q"], arrays["q"] + 0.01, np.ones(120)]))
    both = {"run.csv": table, "run.toml": sample("commands.toml") % ", ".join(f'"{name}"' for name in names).encode()}
    return [Seed(both, name, "run.toml") for name in both]


def read_command_recording(path: Path) -> Numbers:
    data = read_commands(path, three_link())
    return [data.t, data.q, data.q_des]


# ---------------------------------------------------------------------- results


def problem() -> retrieval.Problem:
    """The smallest problem: the bodies of a robot from its base parameters."""
    robot = load_robot("spatial_2r")
    links, base = retrieval.link_variables(robot), Model(robot).base
    error = retrieval.base_parameter_error(links, base.K, base.values(bodies(robot.n)))
    return retrieval.Problem("small", links, error, retrieval.robot_bounds(links))


def bodies(n: int) -> Any:
    return np.array([0.1, 0, 0, 0.1, 0, 0.1, 0, 0, 0.1, 2.0] * n)


@cache
def arm_model() -> Model:
    return Model(three_link(), ["viscous", "coulomb"])


def named_parameters() -> dict[str, float]:
    model = arm_model()
    values = np.asarray(model.parameters(bodies(model.n))).tolist()
    return dict(zip(model.parameter_names, values, strict=True))


def parameter_csv() -> Iterator[bytes]:
    for separator in (",", ";"):
        yield "\n".join(
            separator.join(map(str, row)) for row in [("parameter", "value"), *named_parameters().items()]
        ).encode()


def parameter_json() -> Iterator[bytes]:
    yield json.dumps({"parameters": named_parameters()}, indent=1).encode()
    yield json.dumps(list(named_parameters().values())).encode()


def parameter_npy() -> Iterator[bytes]:
    vector = np.array(list(named_parameters().values()))
    yield from (made.npy({"x": vector.astype(kind)}) for kind in ("<f8", ">f8"))


def read_parameter_file(path: Path) -> Numbers:
    return [np.asarray(read_parameters(path, arm_model()).values)]


def read_solution(path: Path) -> Numbers:
    return [np.asarray(read_parameters(path, Model(load_robot("spatial_2r"))).values), *checked(path)]


def identification() -> Iterator[bytes]:
    run = recording(600)
    data = Dataset(run["t"], run["q"], run["tau"])
    for friction in ("linear", "stribeck"):
        options = ModelOptions(terms=["viscous", "coulomb"], friction=friction)
        with contextlib.suppress(TypeError):  # models of friction differ between versions; the linear one is enough
            yield json_bytes(identify(three_link(), data, model=options).record())


def read_identification(path: Path) -> Numbers:
    model, parameters = load_model(path, three_link())
    zero = np.zeros(model.n)
    signal = [zero] if "signal" in model.inverse_dynamics.name_in() else []
    torques = np.array(ca.DM(model.inverse_dynamics(zero + 0.1, zero + 0.2, zero, parameters, *signal)))
    return [parameters, torques, *checked(path)]


def study(path: Path) -> Numbers:
    """Read and continued."""
    return [solution.x for solution in casid.study(problem(), path, starts=3, seed=1).solutions]


CONSTRAINTS = b'''"""Constraints of a regression."""

from casid.retrieval import sensible_bounds, total_mass


def constraints(variables):
    links = variables.links if hasattr(variables, "links") else variables
    bounds = sensible_bounds(variables)
    return (*bounds, total_mass(variables, 0.5, 20.0))
'''


def read_constraints(path: Path) -> Numbers:
    retrieval.load_constraints(path)(retrieval.link_variables(three_link()))
    return []


@cache
def exported() -> list[Seed]:
    need_compiler()
    x, M = ca.SX.sym("x", 3), ca.SX.sym("M", 3, 3)
    functions = [
        ca.Function("product", [M, x], [M @ x], ["M", "x"], ["y"]),
        ca.Function("norm", [x], [ca.sumsqr(x), 2 * x], ["x"], ["square", "double_x"]),
    ]
    return [Seed(saved(lambda folder: export_c(functions, folder, "mine"), "c"), "mine.json", "")]


def read_export(path: Path) -> Numbers:
    numbers: list[Any] = []
    for function in load(path).values():
        arrays = [np.ones(function.shape_in(i)) for i in range(function.n_in())]
        found = function(*arrays)
        numbers += list(found) if isinstance(found, tuple) else [found]
    return numbers


# ---------------------------------------------------------------------- commands


@cache
def command() -> Any:
    """The command line, built once."""
    return get_command(app)


def run(*words: str) -> str:
    """Output of a command.

    Raises
    ------
    CasidError
        With its line of error, where it ends with another exit code than 0.
    """
    out, err, code = io.StringIO(), io.StringIO(), None
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            command()(list(words), standalone_mode=True)
        except SystemExit as end:
            code = end.code
    if code in (0, None):
        named = any(b'"nan"' in Path(word).read_bytes() for word in words if Path(word).is_file())
        printed = [line.split()[named:] for line in out.getvalue().replace(",", " ").splitlines()]  # without the name
        if any("nan" in line for line in printed):
            raise AssertionError("'nan' is printed")
        return out.getvalue()
    lines = [line for line in err.getvalue().splitlines() if line.startswith("error:")]
    if not lines and code == 1 and out.getvalue().strip():  # a finding, as `check` reports it
        raise CasidError(f"{words[0]}: exit code 1 and a table")
    if not lines and code == 2:
        raise CasidError(" ".join(err.getvalue().split()) or "exit code 2")
    if len(lines) != 1:
        raise AssertionError(f"{words[0]}: exit code {code} with {len(lines)} lines of error")
    raise CasidError(lines[0])


def check_command(path: Path) -> Numbers:
    run("check", str(path))
    return []


def view_command(path: Path) -> Numbers:
    with scratch() as folder:
        page = folder / "page.html"
        run("view", str(path), "--out", str(page), "--no-browser")
        if not page.read_text(encoding="utf-8").rstrip().endswith("</html>"):
            raise AssertionError("half a page is written")
    return []


@cache
def arm_log(load: float) -> bytes:
    """A log of an arm whose torques its dynamics explain, with a load."""
    robot = load_robot(ARM)
    body = to_standard(load, [0.0, 0.0, 0.1], np.eye(3) * 4e-3 * load)
    t, q, dq, _, tau, _ = recorded(Model(robot, ["viscous", "coulomb", "offset"]), 200, body, 0.02)
    header = ["t", *(f"{signal}_{joint.name}" for signal in ("q", "dq", "tau") for joint in robot.coordinates)]
    return csv_text(header, np.column_stack([t, q, dq, tau]))


def load_command(name: str, *words: str) -> Callable[[Path], Numbers]:
    def read(path: Path) -> Numbers:
        run(name, ARM, str(path), "--without", str(path.parent / "empty.csv"), *words)
        return []

    return read


class _Half(CasidError):
    """A file that is not whole; worse than an error of the command."""

    def __init__(self, message: str) -> None:
        raise AssertionError(f"half a file is written: {message}")


def import_command(path: Path) -> Numbers:
    """The import assistant: a description that can be read, a question (exit code 2) or an error."""
    description = path.with_suffix(".toml")
    try:
        run("import", str(path), ARM, "--out", str(description))
        return dataset_numbers(read_dataset(description))
    except CasidError:  # a log that needs a cut, e.g.: what is written for the user to complete is whole
        if description.exists():
            read_toml(description, "recording", _Half)
        raise
    finally:
        description.unlink(missing_ok=True)


TEXT = (made.large_text,)
#: Compressed or not, and the version of the format.
MATLAB = ((True, "5"), (False, "5"), (False, "4"))
LOADED = {"empty_csv": lambda: arm_log(0.0)}
KINDS = (
    Kind("robot TOML", TOML, read_robot, TEXT),
    Kind("URDF", URDFS, read_urdf, TEXT),
    Kind("trajectory", files("motion.toml", motions), read_motion, TEXT),
    Kind("npz", files("run.npz", lambda: [npz(recording()), packed(np.savez_compressed, **recording())]),
         read_recording, (made.zip_bomb,), pack=npz),
    Kind("csv", files("run.csv", csv), read_recording, TEXT),
    Kind("csv.gz", files("run.csv.gz", lambda: [gzip.compress(text) for text in csv()]), read_recording,
         (made.gzip_bomb,)),
    Kind("mat", files("run.mat", lambda: [made.mat(recording(), *how) for how in MATLAB]), read_recording,
         (made.matlab_bomb,), pack=made.mat),
    Kind("bag", bags, read_recording, needs="rosbags"),
    Kind("recording TOML", files("run.toml", lambda: map(sample, RECORDINGS), run_npz=lambda: npz(recording())),
         read_recording, TEXT),
    Kind("solution JSON", files("solution.json", lambda: [json_bytes(report_of(retrieval.solve(problem())).record())]),
         read_solution, TEXT),
    Kind("identification JSON", files("identification.json", identification), read_identification, TEXT),
    Kind("parameter CSV", files("parameters.csv", parameter_csv), read_parameter_file, TEXT),
    Kind("parameter JSON", files("parameters.json", parameter_json), read_parameter_file, TEXT),
    Kind("parameter npy", files("parameters.npy", parameter_npy), read_parameter_file, pack=made.npy),
    Kind("study file", files("study.jsonl", lambda: saved(study, "study.jsonl").values()), study, TEXT, changes=True),
    Kind("constraint file", files("mine.py", lambda: [CONSTRAINTS]), read_constraints, TEXT),
    Kind("export JSON", exported, read_export, TEXT),
    Kind("MJCF", XML, read_robot_and_check, TEXT),
    Kind("SDF", SDF, read_robot_and_check, TEXT),
    Kind("sidecar", sidecars, read_robot, TEXT),
    Kind("convert", any_robot, read_converted, TEXT),
    Kind("parquet", files("run.parquet", made.parquet), read_command_recording, needs="pyarrow"),
    Kind("PyTorch file", files("run.pt", lambda: [packed(made.torch_file, recording(120))]), read_recording),
    Kind("command recording", command_recordings, read_command_recording, TEXT),
    Kind("command check", any_robot, check_command, TEXT),
    Kind("command view", any_robot, view_command, TEXT),
    Kind("command payload", files("run.csv", lambda: [arm_log(2.0)], **LOADED), load_command("payload")),
    Kind("command gains", files("run.csv", lambda: [arm_log(2.0)], **LOADED), load_command("gains", "--mass", "2.0")),
    Kind("command import", files("run.csv", lambda: [arm_log(2.0)]), import_command),
)  # fmt: skip
