"""Mistakes that users make: each is one clear line before the work, not a traceback and not a result beside it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import casid
from casid.cli import app
from casid.errors import DatasetError, ProblemError
from casid.measurement import Dataset, read_dataset
from casid.motion import Sine
from casid.retrieval import link_variables, load_problem
from tests.helpers import RUNNER, run


def failing(*arguments: object) -> str:
    """Output of a command that must fail, in one line."""
    done = RUNNER.invoke(app, [str(argument) for argument in arguments])
    assert done.exit_code != 0, done.output
    assert isinstance(done.exception, SystemExit), repr(done.exception)
    return " ".join(done.output.replace("│", " ").split())


@pytest.fixture(scope="module")
def motion(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A recording of two joints."""
    path = tmp_path_factory.mktemp("recorded") / "run.npz"
    t = np.arange(500) * 0.01
    q = np.sin(np.outer(t, [1.0, 2.0]))
    np.savez(path, t=t, q=q, tau=q)
    return path


@pytest.mark.parametrize("more, message_part", [
    (["--urdf", "found.sdf"], "name the file with the ending .urdf"),
    (["--mjcf", "nowhere/found.xml"], "there is no folder 'nowhere'"),
    (["--share", "nan"], "share: expected a positive number"),
    (["--share", "-1"], "share: expected a positive number"),
    (["--folds", "1"], "expected 2 parts of the motion or more"),
])  # fmt: skip
def test_options_of_identify_are_checked_before_the_work(
    motion: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, more: list[str], message_part: str
) -> None:
    monkeypatch.chdir(tmp_path)
    message = failing("identify", "spatial_2r", motion, *more)
    assert message_part in message and "Verdict" not in message
    assert not list(tmp_path.iterdir())


def test_what_is_given_twice_too_long_or_in_a_folder_is_named(motion: Path) -> None:
    assert "run.npz' is given twice" in failing("identify", "spatial_2r", motion, motion)
    long = failing("simulate", "panda", "--duration", "1e9")
    assert "at most 1e8, got 1000000000.0 s" in long
    (motion.parent / "recording.npz").write_bytes(motion.read_bytes())
    assert f"name a file in it, {motion.parent}" in failing("identify", "spatial_2r", motion.parent)


def test_the_nearest_name_is_proposed(motion: Path) -> None:
    identify = ("identify", "spatial_2r", motion)
    assert "did you mean 'WLS'? known" in failing(*identify, "--method", "WSLS")
    assert "did you mean 'stribeck'? known" in failing(*identify, "--friction", "stribek")
    with pytest.raises(AttributeError, match="did you mean 'identify'"):
        _ = casid.idntify
    shown = repr(link_variables(casid.load_robot("panda"), {"fv1": (0.0, 1.0)}))
    assert shown.startswith("LinkVariables(71 unknowns of link1, link2") and shown.endswith("with fv1)")


def test_joints_that_a_recording_lacks_are_offered_to_lock(motion: Path) -> None:
    assert "or lock the joints that did not move, e.g. --lock joint3" in failing("identify", "three_link", motion)


@pytest.mark.parametrize("line, message_part", [
    ("simulate ur10e --step nan", "the step must be positive"),
    ("simulate ur10e --step 0 --exact", "tolerance"),
    ("simulate ur10e --frequency 0", "the frequency must be positive"),
    ("simulate ur10e --amplitude nan", "the amplitude must be zero or positive"),
    ("simulate ur10e --controller passive --kp 3", "--kp has no effect on the controller 'passive'"),
    ("simulate ur10e --frame nosuch", "--frame has no effect on the controller 'computed-torque'"),
    ("simulate ur10e --kp 1 --kd 1 --bandwidth 3", "--bandwidth has no effect"),
    ("simulate ur10e --exact --smooth 0.1", "--smooth contradicts --exact"),
    ("simulate ur10e --trajectory x.toml --amplitude 1", "--amplitude is of the sines"),
    ("export spatial_2r --out made --deviation 0.1", "--deviation is for --online"),
    ("export spatial_2r --out made --online robot --deviation 0.1 --ros2", "--ros2 does not go with --online"),
    ("export spatial_2r --out made --online robot --deviation 0.1 --payload 1,0,0,0", "--payload does not go with"),
    ("export spatial_2r --out made --ros2 --languages python", "--languages is for the folder of C code"),
    ("excite spatial_2r --basis poses --ramp 1", "--ramp is of motions"),
    ("excite spatial_2r --basis spline --ramp 1", "--ramp is of --basis fourier"),
    ("excite spatial_2r --rest --ramp 1", "--ramp and --rest exclude each other"),
    ("excite spatial_2r --poses 20", "--poses needs --basis poses"),
    ("excite spatial_2r --output-rate nan", "the sampling rate must be positive"),
    ("view panda --no-browser --out .", "is a folder; give the name of a file"),
    ("solve spatial_2r --share nan", "share: expected a positive number of at most 1, e.g. 0.005, got nan"),
    ("solve spatial_2r --seed 3", "--seed is of random starts"),
    ("solve spatial_2r --no-believable --share 0.1", "--share does not go with --no-believable"),
    ("identify spatial_2r run.npz --no-believable --share 0.1", "--share does not go with --no-believable"),
    ("payload panda run.npz --identification found.json --terms viscous", "--terms is that of the --identification"),
    ("check panda --robot ur10e", "'panda' is the file of a robot"),
    ("reverse-engineer spatial_2r samples.npz --friction stribek", "--friction needs a RECORDING"),
    ("reverse-engineer spatial_2r samples.npz --cutoff 3", "--cutoff needs a RECORDING"),
])  # fmt: skip
def test_options_without_effect_are_refused(
    line: str, message_part: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert message_part in failing(*line.split())
    assert not list(tmp_path.iterdir())


def test_a_step_alone_is_that_of_the_usual_integrator() -> None:
    done = [
        run("simulate", "ur10e", "--duration", "0.2", "--bandwidth", "3", *more)
        for more in (["--step", "1e-3"], ["--step", "1e-3", "--integrator", "runge-kutta"])
    ]
    assert done[0] == done[1] and "finished" in done[0]
    with pytest.raises(DatasetError, match="frequency"):
        Sine.within(casid.load_robot("panda"), frequency=-1.0)


def test_poses_in_degrees_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    model = casid.Model("panda")
    q = np.random.default_rng(0).uniform(-1.5, -0.2, (30, 7))
    g = np.array([model.gravity(x, model.robot.standard_parameters()) for x in q])
    np.savez("samples.npz", q=np.rad2deg(q), g=g)
    assert "look like degrees" in failing("reverse-engineer", "panda", "samples.npz")


def test_a_folder_that_is_no_bag(tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match=r"a folder without metadata\.yaml is no rosbag2"):
        read_dataset(tmp_path)


def test_what_a_description_says_is_named_with_its_file(motion: Path) -> None:
    with pytest.raises(DatasetError, match=r"run\.npz: gains: expected shape \(2,\)"):
        read_dataset(motion, gains=[1.0])
    with pytest.raises(DatasetError, match=r"run\.npz: rows 600 to 699 are beyond its 500 samples"):
        read_dataset(motion, rows=[600, 700])
    assert "kept rows 400 to 499" in read_dataset(motion, rows=[400, 5000]).steps


@pytest.mark.claim("time stamps that are all zero ended identify in a ZeroDivisionError")
@pytest.mark.parametrize("time", [0.0, 12.5])
def test_a_clock_that_stands_still_is_named(tmp_path: Path, time: float) -> None:
    q = np.random.default_rng(0).normal(size=(100, 2))
    np.savez(tmp_path / "run.npz", t=np.full(100, time), q=q, tau=q)
    with pytest.raises(DatasetError, match=r"run\.npz: answer by --sampling-rate .*'t' does not advance from sample"):
        casid.identify("spatial_2r", tmp_path / "run.npz")
    with pytest.raises(DatasetError, match=rf"run: column t: the time is {time:g} s in all 100 samples"):
        Dataset(np.full(100, time), q, q, name="run")


@pytest.mark.parametrize("text, parts", [
    ("from casid.problems.spatial_2r import build as given\ndef build():\n"
     "    if given().variables['link1'].mass > 3:\n        pass\n", ["line 3, in build", "casadi.if_else"]),
    ("def build():\n    raise SystemExit(3)\n", ["line 2, in build", "SystemExit: 3"]),
])  # fmt: skip
def test_a_problem_file_that_ends_or_asks_symbols_for_truth(tmp_path: Path, text: str, parts: list[str]) -> None:
    (tmp_path / "mine.py").write_text(text, encoding="utf-8")
    with pytest.raises(ProblemError) as caught:
        load_problem(tmp_path / "mine.py")
    assert all(part in caught.value.message for part in parts), caught.value.message


def test_an_error_without_frames_is_reported_once(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("def build(x):\n    pass\n", encoding="utf-8")
    with pytest.raises(ProblemError, match="missing 1 required positional argument") as caught:
        load_problem(tmp_path / "mine.py")
    assert caught.value.detail == ""


def test_an_empty_robot_file_and_a_misspelt_type(tmp_path: Path) -> None:
    file = tmp_path / "arm.urdf"
    file.write_bytes(b"")
    assert "arm.urdf: is empty" in failing("base", file)
    links = '<link name="base"/><link name="a"/>'
    joint = '<joint name="j" type="revolut"><parent link="base"/><child link="a"/></joint>'
    file.write_text(f'<robot name="arm">{links}{joint}</robot>', encoding="utf-8")
    message = failing("base", file)
    assert "did you mean 'revolute'?" in message and "--lock j" in message
