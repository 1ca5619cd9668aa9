"""The FMU: FMPy finds nothing to complain about, and simulates what casid simulates."""

from __future__ import annotations

import shutil
import subprocess
import zipfile
from pathlib import Path

import numpy as np
import pytest

import casid
from casid.errors import CasidWarning, ExportError
from casid.fmu import export_fmu
from tests.helpers import needs_compiler, random_parameters, run

fmpy = pytest.importorskip("fmpy", reason="needs the extra fmu")
validation = pytest.importorskip("fmpy.validation", reason="needs the extra fmu")


@pytest.fixture(scope="module")
def arm() -> tuple[casid.Model, np.ndarray]:
    model = casid.Model(casid.load_robot("spatial_2r"), ("viscous",))
    return model, random_parameters(model, 1)


@pytest.fixture(scope="module", params=[3, 2], ids=["fmi3", "fmi2"])
def fmu(
    request: pytest.FixtureRequest, arm: tuple[casid.Model, np.ndarray], tmp_path_factory: pytest.TempPathFactory
) -> Path:
    model, pi = arm
    out = tmp_path_factory.mktemp("fmu") / "arm.fmu"
    return export_fmu(model, out, parameters=pi, fmi=request.param).path


@needs_compiler
def test_fmpy_has_nothing_to_complain_about(fmu: Path) -> None:
    assert validation.validate_fmu(str(fmu)) == []
    description = fmpy.read_model_description(str(fmu))
    assert description.fmiVersion in ("2.0", "3.0") and description.coSimulation and description.modelExchange
    units = {variable.name.partition(".")[0]: variable.unit for variable in description.modelVariables}
    expected = {"time": "s", "q": "rad", "dq": "rad/s", "tau": "N.m", "ddq": "rad/s2", "rate": "rad/s", "step": "s"}
    assert units == expected
    assert set(units.values()) == {unit.name for unit in description.unitDefinitions}


@needs_compiler
@pytest.mark.parametrize("version", [3, 2])
def test_author_licence_frames_and_starts_inside_the_limits(version: int, tmp_path: Path) -> None:
    robot, out = casid.load_robot("panda"), tmp_path / "panda.fmu"
    assert "documentation/index.html" in run("export", "panda", "--fmu", "--fmi", version, "--out", out)
    description = fmpy.read_model_description(str(out))
    assert validation.validate_fmu(str(out)) == []
    assert description.author.startswith("kinematics: C. Gaz") and "; inertials: Gaz" in description.author
    assert description.license == robot.source["licence"]
    starts = [float(variable.start) for variable in description.modelVariables if variable.name.startswith("q.")]
    assert starts[3] == np.mean([robot.limits.lower[3], robot.limits.upper[3]]) and np.count_nonzero(starts) == 1
    result = fmpy.simulate_fmu(str(out), stop_time=1e-3, step_size=1e-3, output_interval=1e-3)
    np.testing.assert_array_equal([result[0][f"q.{joint.name}"] for joint in robot.joints], starts)
    with zipfile.ZipFile(out) as archive:
        assert "Redistributions of source code" in archive.read("documentation/licenses/license.txt").decode()
        assert "| 3 | joint4 | revolute | rad, N.m |" in archive.read("documentation/index.html").decode()
    given = export_fmu(robot, out, parameters=robot.parameters, author="A & B", overwrite=True).path
    assert fmpy.read_model_description(str(given)).author == "A & B"
    export_fmu(robot, out, parameters=robot.parameters, overwrite=True)
    assert "inertials" not in fmpy.read_model_description(str(out)).author  # given, not the description's


@needs_compiler
@pytest.mark.parametrize("interface", ["CoSimulation", "ModelExchange"])
def test_fmpy_simulates_what_casid_simulates(arm: tuple[casid.Model, np.ndarray], fmu: Path, interface: str) -> None:
    model, pi = arm
    joints = [joint.name for joint in model.robot.joints]
    start = {f"q.{joints[0]}": 0.3, f"q.{joints[1]}": -0.5, f"dq.{joints[0]}": 0.2}
    times = np.arange(0, 1.0005, 1e-3)
    held = 0.01 * np.round(times / 0.01)  # inputs that change every tenth sample only
    signals = np.zeros(len(times), dtype=[("time", float), *((f"tau.{name}", float) for name in joints)])
    signals["time"] = times
    for k, name in enumerate(joints):
        signals[f"tau.{name}"] = 0.5 * np.sin(3 * held + k)
    constant = interface == "ModelExchange"  # its solver may look at inputs between samples
    if constant:
        for name in joints:
            signals[f"tau.{name}"] = 0.7
    got = fmpy.simulate_fmu(
        str(fmu), fmi_type=interface, start_time=0.0, stop_time=1.0, output_interval=1e-3, step_size=1e-3,
        start_values=start, input=signals, relative_tolerance=1e-10, solver="CVode",
        output=[f"{v}.{name}" for v in ("q", "dq") for name in joints],
    )  # fmt: skip
    assert len(got) == len(times)
    state = np.array([0.3, -0.5, 0.2, 0.0])
    tau = np.array([[signals[f"tau.{name}"][i] for name in joints] for i in range(len(times))])
    expected = [state]
    for i in range(len(times) - 1):
        expected.append(_step(model, pi, expected[-1], tau[i], 1e-3))
    values = np.array([[row[f"{v}.{name}"] for v in ("q", "dq") for name in joints] for row in got])
    np.testing.assert_allclose(values, expected, atol=1e-9 if not constant else 1e-6)


def _step(model: casid.Model, pi: np.ndarray, state: np.ndarray, tau: np.ndarray, h: float) -> np.ndarray:
    def slope(x: np.ndarray) -> np.ndarray:
        n = model.n
        return np.concatenate([x[n:], np.array(model.forward_dynamics(x[:n], x[n:], tau, pi), dtype=float).ravel()])

    a = slope(state)
    b = slope(state + h / 2 * a)
    c = slope(state + h / 2 * b)
    return state + h / 6 * (a + 2 * b + 2 * c + slope(state + h * c))


@needs_compiler
def test_the_sources_compile_with_the_standards_headers(fmu: Path, tmp_path: Path) -> None:
    if shutil.which("gcc") is None:
        pytest.skip("needs gcc")
    with zipfile.ZipFile(fmu) as archive:
        archive.extract("sources/robot.c", tmp_path)
    strict = ("-Wall", "-Wextra", "-Wpedantic", "-Werror", "-std=c99", "-c")
    done = subprocess.run(
        ["gcc", *strict, tmp_path / "sources/robot.c", "-o", tmp_path / "robot.o"], capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    version = fmpy.read_model_description(str(fmu)).fmiVersion[0]
    standard = Path(fmpy.__file__).parent / f"c-code/fmi{version}Functions.h"
    if shutil.which("nm") is None or not standard.is_file():
        pytest.skip("needs nm and the standard's header")
    declared = {
        line.split()[-1].rstrip(";")
        for line in standard.read_text().splitlines()
        if f"FMI{version}_Export fmi{version}" in line
    }
    symbols = subprocess.run(["nm", tmp_path / "robot.o"], capture_output=True, text=True, check=True).stdout
    assert len(declared) > (70 if version == "3" else 40)
    assert {f" T {name}\n" in symbols for name in declared} == {True}


def test_a_wrong_target_is_one_sentence(arm: tuple[casid.Model, np.ndarray], fmu: Path, tmp_path: Path) -> None:
    model, pi = arm
    with pytest.raises(ExportError, match=r"ending \.fmu"):
        export_fmu(model, tmp_path / "arm", parameters=pi)
    with pytest.raises(ExportError, match="exists"):
        export_fmu(model, fmu, parameters=pi)
    with pytest.raises(ExportError, match="positive number of seconds"):
        export_fmu(model, tmp_path / "a.fmu", parameters=pi, step=0)


def test_without_a_compiler_the_sources_are_written_and_a_message_names_it(
    arm: tuple[casid.Model, np.ndarray], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CASID_CC", "no-such-compiler")
    model, pi = arm
    with pytest.warns(CasidWarning, match="no C compiler"):
        done = export_fmu(model, tmp_path / "arm.fmu", parameters=pi)
    assert not done.binary and "sources/robot.c" in done.files


@needs_compiler
def test_the_command(tmp_path: Path) -> None:
    out = tmp_path / "panda.fmu"
    assert "modelDescription.xml" in run("export", "ur10e", "--fmu", "--out", out) and out.is_file()
    again = run("export", "ur10e", "--fmu", "--batched", "--out", out, code=2)
    assert "--batched is for the folder of C code" in again
