"""Options of ``identify`` as users give them: on the command line, in the recording's TOML, and wrong."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import casid
from casid.cli import app
from casid.dynamics import Model
from casid.errors import DatasetError, RobotError
from casid.inertia import to_standard
from casid.testing import motion

LINKS = np.concatenate(
    [
        to_standard(4.0, [0, 0.05, 0.02], np.diag([0.05, 0.06, 0.04])),
        to_standard(3.0, [0.45, 0.02, 0.03], np.diag([0.02, 0.2, 0.21])),
        to_standard(1.5, [0.3, 0.01, 0.01], np.diag([0.004, 0.05, 0.052])),
    ]
)
TERMS = [1.0, 2.0, 0.3, 0.8, 1.5, -0.2, 0.4, 0.7, 0.1]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Recordings of the three-link robot: all joints moving, and the last one held."""
    folder = tmp_path_factory.mktemp("recordings")
    model = Model(casid.load_robot("three_link"), ("viscous", "coulomb", "offset"))
    x = model.parameters(LINKS, TERMS)
    t, q, dq, ddq = motion(3, 600, 1)
    for name, held in (("run", False), ("held", True)):
        if held:
            q, dq, ddq = (a.copy() for a in (q, dq, ddq))
            q[:, 2], dq[:, 2], ddq[:, 2] = 0.5, 0.0, 0.0
        tau = model.inverse_dynamics(q, dq, ddq, x)
        tau = tau + 0.05 * np.random.default_rng(0).normal(size=q.shape)
        np.savez(folder / f"{name}.npz", t=t, q=q, torque=tau)
        header = ["t", *(f"/joint_states/joint{k}/{s}" for s in ("position", "effort") for k in (3, 1, 2))]
        rows = np.column_stack([t, q[:, [2, 0, 1]], tau[:, [2, 0, 1]]])
        np.savetxt(folder / f"{name}.csv", rows, delimiter="|", header="|".join(header), comments="")
    return folder


@pytest.fixture(autouse=True)
def _record_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pictures take longer than the identification."""

    monkeypatch.setattr("casid.report._section.pictures", lambda make: {})


def run(folder: Path, *options: str, file: str = "run.npz") -> dict:
    """Record of an identification; its exit code and output where it fails."""
    out = folder / "out"
    arguments = ["identify", "three_link", str(folder / file), "--folds", "0", *options, "--out", str(out)]
    result = CliRunner().invoke(app, arguments)
    if result.exit_code:
        return {"code": result.exit_code, "output": " ".join(result.output.split())}
    return json.loads((out / "identification.json").read_text(encoding="utf-8")) | {"output": result.output}


@pytest.fixture(scope="module")
def plain(folder: Path) -> dict:
    """Record of the identification without options."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("casid.report._section.pictures", lambda make: {})
        return run(folder)


@pytest.mark.claim("every option does on the command line what it does in the recording's TOML")
@pytest.mark.parametrize(
    ("options", "text"),
    [
        (["--gravity", "+z"], 'gravity = "+z"'),
        (["--only", "joint1,joint2"], 'only = ["joint1", "joint2"]'),
        (["--bounds", "m3=0:1.2", "--bounds", "fc2=0:1"], 'bounds = { m3 = [0, 1.2], fc2 = "0:1" }'),
        (["--cutoff", "6", "--cutoff-torque", "8"], "cutoff = 6\ncutoff_torque = 8"),
        (["--deadband", "0.1"], "deadband = 0.1"),
        (["--rate", "100", "--every", "3", "--trim", "1"], "rate = 100\nevery = 3\ntrim = 1"),
        (["--total-mass", "8:9"], "total_mass = [8, 9]"),
        (["--delay", "0.002"], "delay = 0.002"),
        (["--angle-tolerance", "1e-5"], "angle_tolerance = 1e-5"),
        (["--terms", "viscous,coulomb", "--method", "OLS"], 'terms = ["viscous", "coulomb"]\nmethod = "OLS"'),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else "",
)
def test_options_on_the_command_line_and_in_the_file(folder: Path, plain: dict, options: list[str], text: str) -> None:
    (folder / "run.toml").write_text(f'file = "run.npz"\n\n[options]\n{text}\n', encoding="utf-8")
    here, there = run(folder, "--quick", *options), run(folder, "--quick", file="run.toml")
    assert here["parameters"] == pytest.approx(there["parameters"], rel=1e-6, abs=1e-9)
    same = here["parameters"] == pytest.approx(plain["parameters"], rel=1e-6, abs=1e-9)
    assert same == (options[0] == "--angle-tolerance")  # a robot of exact angles


def test_quick_gives_the_parameters_alone(folder: Path, plain: dict) -> None:
    quick = run(folder, "--quick")
    assert quick["parameters"] == pytest.approx(plain["parameters"], rel=1e-6, abs=1e-9)
    assert plain["verdict"] and not quick["verdict"] and not quick["held_out"]


def test_what_options_do(folder: Path) -> None:
    bounded = run(folder, "--quick", "--bounds", "m3=0:1.2", "--total-mass", "8:9")["parameters"]
    assert 0 < bounded["m3"] <= 1.2 + 1e-6 and 8 - 1e-6 <= sum(bounded[f"m{k}"] for k in (1, 2, 3)) <= 9 + 1e-6
    assert "--gravity=-z" in run(folder, "--gravity", "+z")["output"]
    by_name = run(folder, "--quick", "--only", "joint1,joint2", file="run.csv")
    by_number = run(folder, "--quick", "--only", "joint1,joint2")
    assert by_name["parameters"] == pytest.approx(by_number["parameters"], rel=1e-5, abs=1e-7)


@pytest.mark.claim("a recording of all joints is read where some of them are locked")
@pytest.mark.parametrize("file", ["held.npz", "held.csv"])
def test_locked_joints_are_left_out_of_the_recording(folder: Path, file: str) -> None:
    found = run(folder, "--lock", "joint3=0.5", file=file)
    assert "fv2" in found["parameters"] and "fv3" not in found["parameters"]
    assert found["relative_error"]["feasible"] < 1.0
    assert "use --lock joint3=0.5" in run(folder, "--lock", "joint3", file=file)["output"]
    assert "joint 'joint3' is to be locked, but moves by" in run(folder, "--lock", "joint3", file="run.npz")["output"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            ["--gravity", "1,2"],
            "gravity (+x ... -z, or a vector): expected three numbers separated by commas, got '1,2'",
        ),
        (["--lock", "joint3=abc"], "--lock: expected NAME=NUMBER, got 'joint3=abc'"),
        (["--lock", "joint9"], "cannot lock joint 'joint9', there is none of that name; did you mean"),
        (["--only", "foo"], "has no joint 'foo'; it has joint1, joint2, joint3"),
        (["--only", ""], "--only names no joint"),
        (["--bounds", "m9=0:1"], "there is no parameter 'm9'"),
        (["--bounds", "fc2=3:1"], "bounds of fc2: 3 exceeds 1"),
        (["--bounds", "fc2"], "expected NAME=LOW:HIGH, got 'fc2'"),
        (["--cutoff", "500"], "cut-off 500 Hz must lie below half the sampling rate"),
        (["--cutoff-torque", "x"], "--cutoff-torque: expected a number, got 'x'"),
        (["--deadband", "-1"], "must be a number that is not negative"),
        (["--angle-tolerance", "-1"], "--angle-tolerance: expected radians from 0 to pi/4"),
        (["--rate", "-5"], "rate must be positive"),
        (["--every", "0"], "every must be at least 1, got 0"),
        (["--total-mass", "9:8"], "--total-mass: 9 exceeds 8"),
        (["--delay", "x"], "expected seconds or 'auto', got 'x'"),
        (["--method", "XX"], "unknown method 'XX'; known: WLS, OLS, IRLS, ML"),
        (["--friction", "foo"], "unknown friction model 'foo'; known: linear"),
        (["--terms", "foo"], "unknown joint term 'foo'; known: viscous"),
        (["--tau", "tork"], "no column 'tork'; "),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_wrong_options_are_one_line(folder: Path, options: list[str], message: str) -> None:
    found = run(folder, *options)
    assert found["code"] == 1 and message in found["output"] and found["output"].startswith("error: ")
    assert len(found["output"]) < 700


@pytest.mark.claim("identify takes names and paths as Model does")
def test_names_and_paths_are_read(tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match=r"absent\.npz"):
        casid.identify("spatial_2r", tmp_path / "absent.npz")
    with pytest.raises(RobotError, match="no_such_robot"):
        casid.identify("no_such_robot", [])
