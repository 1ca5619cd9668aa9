"""The command ``import``: what the user says, what is asked for, where it is written."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import typer

import casid
from casid.cli._import import Answered, _asked
from casid.dynamics import Model
from casid.errors import DatasetError
from casid.measurement import read_dataset
from casid.measurement.importing._proposal import Question
from casid.testing import recording
from tests.helpers import run


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
    body = [0.3, 0.01, 0.02, 0.3, 0.01, 0.2, 0.1, 0.05, 0.1, 2.0, 0.2, 0.01, 0.01, 0.2, 0.01, 0.1, 0.2, 0.05, 0.1, 1.5]
    robot = casid.load_robot("spatial_2r").with_parameters(body)
    model = Model(robot, ("viscous", "coulomb", "offset"))
    data = recording(model, np.array([*body, *[0.3, 0.2, 0.1] * 2]), 600, 0, 0.02)
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
    assert "in the folder of the log" in run(*words, "--out", log.path.parent.parent / "x.toml", code=1)
    run(*words, "--overwrite")


def test_an_open_question_writes_nothing(log: SimpleNamespace) -> None:
    rows = np.loadtxt(log.path, delimiter=";", skiprows=1)
    rows[:, 3:] = np.random.default_rng(0).normal(size=(len(rows), 2))
    np.savetxt(log.path, rows, delimiter=";", header="t [s];q1 [rad];q2 [rad];tau1 [Nm];tau2 [Nm]", comments="")
    assert "--as-is" in run("import", log.path, "spatial_2r", "--angles", "rad", code=2)
    assert not log.path.with_suffix(".toml").exists()
