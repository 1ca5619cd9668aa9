"""Scaffolds work as written, refuse to overwrite."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import typer

import casid
from casid.cli._new import Answered, _asked
from casid.dynamics import Model
from casid.errors import DatasetError
from casid.files import parse_toml
from casid.measurement import Question, read_dataset
from casid.measurement._readers import _OPTIONS
from casid.testing import motion, recording
from tests.helpers import BODIES, run, two_links


@pytest.mark.parametrize("joints", [1, 6, 7])
def test_a_new_robot_is_one_that_casid_reads(joints: int, tmp_path: Path) -> None:
    path = tmp_path / "arm.toml"
    run("new", "robot", path, "--joints", joints)
    robot = casid.load_robot(path)
    assert robot.n == joints and robot.name == "arm"
    assert casid.Model(robot).base.rank > 0


def test_its_commented_lines_are_valid_too(tmp_path: Path) -> None:
    path = tmp_path / "arm.toml"
    run("new", "robot", path, "--joints", 2)
    text = path.read_text(encoding="utf-8")
    for key in ("mass", "com", "inertia_com", "total_mass"):
        text = text.replace(f"# {key} =", f"{key} =")
    path.write_text(text, encoding="utf-8")
    robot = casid.load_robot(path)
    assert robot.links[0].inertial is not None and robot.total_mass == (10.0, 20.0)


def test_a_new_recording_is_read_as_it_stands_and_with_its_comments(tmp_path: Path) -> None:
    t, q, dq, _ = motion(6, 300, 2)
    np.savez(tmp_path / "run.npz", t=t, q=q, dq=dq, tau=q, current=q, time_ms=1000 * t)
    run("new", "recording", tmp_path / "run.npz")
    plain = read_dataset(tmp_path / "run.toml")
    text = (tmp_path / "run.toml").read_text(encoding="utf-8")
    for line in ("columns", "time_scale", "gains", "cutoff", "gravity", "lock", "total_mass"):
        text = text.replace(f"# {line} =", f"{line} =")
    (tmp_path / "run.toml").write_text(text, encoding="utf-8")
    assert set(parse_toml(text, "run.toml", DatasetError)) >= {"file", "columns", "time_scale", "gains", "options"}
    scaled = read_dataset(tmp_path / "run.toml")
    np.testing.assert_allclose(scaled.t, plain.t, atol=1e-9)
    np.testing.assert_allclose(scaled.tau[:, 0], 10 * plain.tau[:, 0])


@pytest.mark.claim("the template of a recording names every key, and needs no file")
def test_the_template_of_a_recording_names_every_key(tmp_path: Path) -> None:
    run("new", "recording", tmp_path / "absent.csv")
    text = (tmp_path / "absent.toml").read_text(encoding="utf-8")
    guide = Path(__file__).parents[2].joinpath("docs", "identification.md").read_text(encoding="utf-8")
    for key in _OPTIONS:
        assert f"\n# {key} = " in text, key
        assert f"`{key}`" in guide, key


@pytest.mark.parametrize("robot", ["panda", "three_link"])
def test_a_new_problem_solves(robot: str, tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    run("new", "problem", path, "--robot", robot)
    assert casid.solve(casid.load_problem(path)).certified


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["robot", "arm.txt"], "ending .toml"),
        (["robot", "7up.toml"], "is not a name"),
        (["problem", "there.py"], "exists"),
        (["recording", "run.toml"], "name the recording itself"),
        (["problem", "p.py", "--robot", "pandda"], "pandda"),
    ],
)
def test_what_cannot_be_written_is_one_sentence(
    arguments: list[str], words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("there.py").write_text("kept")
    assert words in run("new", *arguments, code=1)
    assert [path.name for path in tmp_path.iterdir()] == ["there.py"] and Path("there.py").read_text() == "kept"


def test_version_and_completion_are_offered() -> None:
    assert run("--version").strip() == f"casid {casid.__version__}"
    assert "--install-completion" in run("--help")


def test_answers_of_the_options() -> None:
    given = Answered(
        ["q=2-7", "tau=M_*"], gains="0.1,0.2", gear="100,50", reversed="2", sampling_rate=500.0, as_is=True
    )
    answers = given.answers()
    assert answers.columns == {"q": "2-7", "tau": "M_*"} and answers.gains == pytest.approx((10.0, 10.0))
    assert answers.reversed == (2,) and answers.rate == 500.0 and answers.as_is
    assert Answered(reversed="none").answers().reversed == () and Answered().answers().reversed is None


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (Answered(["position=2-7"]), "--columns: expected SIGNAL=COLUMNS"),
        (Answered(["q"]), "--columns: expected SIGNAL=COLUMNS"),
        (Answered(gear="100"), "--gear goes with --gains"),
        (Answered(gains="0.1,0.2", gear="100"), "--gear"),
        (Answered(gains="0.1,x"), "--gains"),
        (Answered(reversed="0"), "--reversed: expected numbers of joints from 1"),
    ],
)
def test_wrong_answers_name_the_option(given: Answered, message: str) -> None:
    with pytest.raises(DatasetError, match=message):
        given.answers()


@pytest.mark.parametrize(
    ("option", "answer", "changed"),
    [
        ("--columns tau=", "M_*", {"columns": ["q=2-7", "tau=M_*"]}),
        ("--columns tau=", "q=A_*", {"columns": ["q=2-7", "q=A_*"]}),
        ("--sampling-rate", "500", {"sampling_rate": 500.0}),
        ("--as-is", "Yes", {"as_is": True}),
        ("--reversed", "2,3", {"reversed": "2,3"}),
        ("--gains, --gear", "1,2", {"gains": "1,2"}),
        ("--reversed", "", {}),
    ],
)
def test_an_answered_question_is_an_option(
    monkeypatch: pytest.MonkeyPatch, option: str, answer: str, changed: dict[str, object]
) -> None:
    monkeypatch.setattr(typer, "prompt", lambda *a, **k: answer)
    before = Answered(["q=2-7"])
    after = _asked(before, Question(option, "which?"))
    assert {k: v for k, v in after.__dict__.items() if v != before.__dict__[k]} == changed


@pytest.fixture
def log(tmp_path: Path) -> SimpleNamespace:
    """A log of a robot with friction."""
    robot = two_links()
    model = Model(robot, ("viscous", "coulomb", "offset"))
    data = recording(model, np.array([*BODIES, *[0.3, 0.2, 0.1] * 2]), 600, 0, 0.02)
    table = np.column_stack([data.t, 0.3 * data.q, data.tau])
    path = tmp_path / "log.csv"
    np.savetxt(path, table, delimiter=";", header="t [s];q1 [rad];q2 [rad];tau1 [Nm];tau2 [Nm]", comments="")
    return SimpleNamespace(path=path, data=data)


def test_the_description_is_written_beside_the_log_and_not_twice(log: SimpleNamespace) -> None:
    words = ("import", log.path, "spatial_2r", "--as-is", "--reversed", "none", "--angles", "rad")
    assert "Next: casid identify" in run(*words)
    read = read_dataset(log.path.with_suffix(".toml"))
    np.testing.assert_allclose(read.q, 0.3 * log.data.q, atol=1e-9)
    np.testing.assert_allclose(read.tau, log.data.tau, atol=1e-9)
    assert "exists; choose another name" in run(*words, code=1)
    assert "name the file with the ending .toml" in run(*words, "--out", log.path.with_name("x.txt"), code=1)
    run(*words, "--overwrite")


def test_the_description_of_a_log_in_a_folder_of_others_is_written_elsewhere(
    log: SimpleNamespace, tmp_path_factory: pytest.TempPathFactory
) -> None:
    there = tmp_path_factory.mktemp("mine") / "x.toml"
    run("import", log.path, "spatial_2r", "--as-is", "--reversed", "none", "--angles", "rad", "--out", there)
    np.testing.assert_allclose(read_dataset(there).q, 0.3 * log.data.q, atol=1e-9)


def test_an_open_question_writes_nothing(log: SimpleNamespace) -> None:
    rows = np.loadtxt(log.path, delimiter=";", skiprows=1)
    rows[:, 3:] = np.random.default_rng(0).normal(size=(len(rows), 2))
    np.savetxt(log.path, rows, delimiter=";", header="t [s];q1 [rad];q2 [rad];tau1 [Nm];tau2 [Nm]", comments="")
    assert "--as-is" in run("import", log.path, "spatial_2r", "--angles", "rad", code=2)
    assert not log.path.with_suffix(".toml").exists()
