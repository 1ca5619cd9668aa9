"""The ROS 2 package: no warning against stand-ins of its interfaces, and the values that casid computes."""

from __future__ import annotations

import shutil
import subprocess
import warnings
import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pytest

import casid
from casid.codegen import find_compiler
from casid.description.joint_parameters import JointParameter
from casid.dynamics.terms import JointTerm
from casid.errors import CasidWarning, ExportError
from casid.inertia import parameter_csv
from casid.ros2 import export_ros2
from tests.helpers import random_parameters, run

STUBS = Path(__file__).parent / "stubs"
STRICT = ("-Wall", "-Wextra", "-Wpedantic", "-Werror", "-O1")
needs_compilers = pytest.mark.skipif(
    find_compiler() is None or shutil.which("g++") is None, reason="needs a C and a C++ compiler"
)


FRICTION = ("viscous", "coulomb", "offset")


def parameters_with_friction(name: str, terms: tuple[str, ...] = FRICTION) -> tuple[casid.Model, np.ndarray]:
    model = casid.Model(casid.load_robot(name), terms)
    return model, random_parameters(model, 3)


def execute(*command: object, text: str = "") -> str:
    done = subprocess.run([str(c) for c in command], input=text, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert not done.stderr
    return done.stdout


def build(package: Path, out: Path, eigen: bool, *defines: str) -> tuple[Path, list[object]]:
    """The package's core and plugin as objects; the flags that others need."""
    core = next(path for path in (package / "src").glob("*.c"))
    folders = [STUBS / "ros", package / "include", package / "src"]
    if eigen or not Path("/usr/include/eigen3").is_dir():
        folders.append(STUBS / "eigen")
    flags = [*STRICT, *defines, *(f"-I{folder}" for folder in folders)]
    execute("gcc", "-std=c99", *STRICT, "-fPIC", "-c", core, "-o", out / "core.o")
    cxx = ["g++", "-std=c++17", *flags]
    return out / "core.o", cxx


@pytest.mark.slow
@needs_compilers
@pytest.mark.parametrize(
    ("name", "terms"), [("panda", FRICTION), ("panda", (*FRICTION, "rotor")), ("spatial_2r", FRICTION)]
)
def test_the_plugin_computes_what_the_graph_does(name: str, terms: tuple[str, ...], tmp_path: Path) -> None:
    model, pi = parameters_with_friction(name, terms=terms)
    done = export_ros2(model, tmp_path / "arm_dynamics", parameters=pi)
    core, cxx = build(done.path, tmp_path, eigen=name == "panda")
    execute(
        *cxx, done.path / "test/test_solver.cpp", done.path / "src/solver.cpp", core, "-o", tmp_path / "test", "-lm"
    )
    output = execute(tmp_path / "test")
    assert output.count(" ok") == 6
    assert f"refused: joint_positions: expected {model.n} values, got {model.n + 1}" in output
    execute("gcc", "-std=c99", *STRICT, f"-I{done.path / 'src'}", done.path / "test/self_test.c", core, "-o",
        tmp_path / "self", "-lm")  # fmt: skip
    assert "FAILED" not in execute(tmp_path / "self")


def test_licence_frames_and_a_start_inside_the_limits(tmp_path: Path) -> None:
    model, pi = parameters_with_friction("panda")
    done = export_ros2(model, tmp_path / "arm", parameters=pi)
    assert "Licence of its description" in (done.path / "LICENSE").read_text(encoding="utf-8")
    assert "| link7 |" in (done.path / "FRAMES.md").read_text(encoding="utf-8")
    assert ET.parse(done.path / "package.xml").find("license").attrib == {"file": "LICENSE"}
    control = ET.parse(done.path / "urdf/panda.urdf").find("ros2_control")
    starts = np.array([float(value.text) for value in control.iter("param")])
    assert len(starts) == 7 and ((model.robot.limits.lower <= starts) & (starts <= model.robot.limits.upper)).all()


@pytest.mark.slow
@needs_compilers
def test_a_wrong_number_in_the_core_fails_the_packages_test(tmp_path: Path) -> None:
    model, pi = parameters_with_friction("spatial_2r")
    done = export_ros2(model, tmp_path / "arm", parameters=pi)
    header = next((done.path / "src").glob("*.h")).stem
    solver = done.path / "src/solver.cpp"
    text = solver.read_text(encoding="utf-8")
    solver.write_text(text.replace("  return inertia;", "  inertia(0, 0) *= 1 + 1e-9;\n  return inertia;"))
    core, cxx = build(done.path, tmp_path, eigen=False)
    if not Path("/usr/include/eigen3").is_dir():
        pytest.skip("needs Eigen")
    execute(*cxx, done.path / "test/test_solver.cpp", solver, core, "-o", tmp_path / "test", "-lm")
    failed = subprocess.run([tmp_path / "test"], capture_output=True, text=True, check=False)
    assert failed.returncode == 1 and "FAILED" in failed.stdout and header


@needs_compilers
@pytest.mark.parametrize(
    "defines",
    [pytest.param((), marks=pytest.mark.slow, id="humble"), pytest.param(("-DCASID_NEW_INTERFACES",), id="later")],
)
def test_the_controller_commands_computed_torque_within_limits(defines: tuple[str, ...], tmp_path: Path) -> None:
    model, pi = parameters_with_friction("panda")
    done = export_ros2(model, tmp_path / "arm", parameters=pi)
    core, cxx = build(done.path, tmp_path, True, *defines)
    header = done.path / "include/arm/computed_torque_controller.hpp"
    execute(*cxx, f'-DCONTROLLER_HEADER="{header}"', "-DCONTROLLER=arm::ComputedTorqueController",
        STUBS / "run_controller.cpp", done.path / "src/computed_torque_controller.cpp", core, "-o", tmp_path / "run",
        "-lm")  # fmt: skip
    q, dq, wanted, rate, change = np.random.default_rng(5).uniform(-0.4, 0.4, (5, 7))
    numbers = [*np.stack([q, dq], axis=1).ravel(), *wanted, *rate, *change]
    efforts = np.array(execute(tmp_path / "run", text=" ".join(map(repr, map(float, numbers)))).split(), dtype=float)
    limit = model.robot.limits.effort
    for got, acceleration in zip(
        efforts.reshape(2, 7), (-20 * dq, change + 20 * (rate - dq) + 100 * (wanted - q)), strict=True
    ):
        torque = np.array(model.inverse_dynamics(q, dq, acceleration, pi), dtype=float).ravel()
        np.testing.assert_allclose(got, np.clip(torque, -limit, limit), rtol=1e-11, atol=1e-11)


def test_the_package_is_whole_and_its_robot_reads_back(tmp_path: Path) -> None:
    model, pi = parameters_with_friction("spatial_2r")
    done = export_ros2(model, tmp_path / "arm", parameters=pi)
    assert {path.relative_to(done.path).as_posix() for path in done.path.rglob("*") if path.is_file()} == set(
        done.files
    )
    manifest = ET.parse(done.path / "package.xml").getroot()
    depends = {element.text for element in manifest if element.tag.endswith("depend")}
    found = (done.path / "CMakeLists.txt").read_text(encoding="utf-8")
    assert manifest.findtext("name") == "arm"
    for needed in ("inverse_dynamics_solver", "pluginlib", "controller_interface", "trajectory_msgs"):
        assert needed in depends and f"find_package({needed} REQUIRED)" in found
    assert "@" not in found.replace("@package", "@package") and "@" not in (done.path / "src/solver.cpp").read_text()
    urdf = done.path / "urdf/spatial_2r.urdf"
    assert len(ET.parse(urdf).getroot().find("ros2_control").findall("joint")) == 2  # type: ignore[union-attr]
    back = casid.Model(casid.load_robot(urdf), ("viscous", "coulomb"))
    assert back.n == 2
    compile((done.path / "launch/controller.launch.py").read_text(encoding="utf-8"), "launch", "exec")


def test_a_term_of_the_acceleration_that_is_no_rotor_is_refused(tmp_path: Path) -> None:
    term = JointTerm("lag", JointParameter("g", "kg.m^2", "of no rotor"), lambda signals: signals.ddq * signals.ddq)
    with pytest.raises(ExportError, match="depends on the acceleration"):
        export_ros2(
            casid.Model(casid.load_robot("spatial_2r"), ("viscous", term)), tmp_path / "arm", parameters=np.ones(24)
        )


def test_a_term_of_positions_is_left_out_with_a_word(tmp_path: Path) -> None:
    given, pi = parameters_with_friction("spatial_2r")
    known = dict(zip(given.parameter_names, np.asarray(pi).ravel(), strict=True))
    plain, sprung = (casid.Model(given.robot, terms) for terms in (("viscous",), ("viscous", "spring")))
    of_plain, of_sprung = ([known.get(name, 0.1) for name in model.parameter_names] for model in (plain, sprung))
    with pytest.warns(CasidWarning, match="left out of the package: they depend on joint positions"):
        done = export_ros2(sprung, tmp_path / "arm", parameters=of_sprung)
    without = export_ros2(plain, tmp_path / "plain" / "arm", parameters=of_plain)
    for name in ("src/spatial_2r.c", "test/test_solver.cpp"):
        assert (done.path / name).read_text() == (without.path / name).read_text()


def test_friction_that_is_missing_or_impossible_is_refused(tmp_path: Path) -> None:
    with pytest.warns(CasidWarning, match="without friction: getFrictionVector returns zeros"):
        export_ros2(casid.load_robot("ur10e"), tmp_path / "arm")
    with pytest.raises(ExportError, match="no name of a ROS 2 package"):
        export_ros2(casid.load_robot("ur10e"), tmp_path / "My-Robot")


def test_the_command_takes_parameters_with_their_terms(tmp_path: Path) -> None:
    model, pi = parameters_with_friction("spatial_2r")
    (tmp_path / "p.csv").write_bytes(parameter_csv(model.named(pi)))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run("export", "spatial_2r", "--ros2", "--parameters", tmp_path / "p.csv", "--out", tmp_path / "arm")
    assert "viscous, coulomb, offset" in (tmp_path / "arm/README.md").read_text(encoding="utf-8")
