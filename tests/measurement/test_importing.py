"""Logs of any layout: what is found, what is asked for, and that the TOML reads back the truth."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from casid.description import Robot, load_robot
from casid.errors import DatasetError
from casid.measurement import Answers, Dataset, propose, read_dataset
from casid.measurement._evidence import _basis
from casid.measurement._names import Meaning, meaning
from casid.measurement._text import find_layout
from tests.measurement.conftest import german_log


@pytest.mark.claim("a controller's log needs no edits outside casid")
def test_a_german_log_reads_without_a_question(arm: tuple[Robot, Dataset], tmp_path: Path) -> None:
    robot, data = arm
    log = german_log(tmp_path / "log.csv", data, names="Zeit [ms];A1_Ist [°];A2_Ist [°];A1_Moment;A2_Moment")
    found = propose(log, robot)
    assert not found.questions
    assert found.settings["text"]["encoding"] == "cp1252" and found.settings["text"]["decimal"] == ","
    (tmp_path / "log.toml").write_text(found.toml(), encoding="utf-8")
    read = read_dataset(tmp_path / "log.toml")
    np.testing.assert_allclose(read.t, data.t, atol=1e-9)
    np.testing.assert_allclose(read.q, data.q, atol=1e-7)
    np.testing.assert_allclose(read.tau, data.tau, atol=1e-6)


def test_a_reversed_torque_is_asked_for(arm: tuple[Robot, Dataset], tmp_path: Path) -> None:
    robot, data = arm
    log = german_log(tmp_path / "log.csv", data, -1.0, "Zeit [ms];A1_Ist [°];A2_Ist [°];A1_Moment;A2_Moment")
    assert [one.option for one in propose(log, robot).questions] == ["--reversed"]
    found = propose(log, robot, Answers(reversed=(2,)))
    assert not found.questions and found.settings["gains"] == [1.0, -1.0]


def test_currents_and_wrong_columns_are_asked_for(arm: tuple[Robot, Dataset], tmp_path: Path) -> None:
    robot, data = arm
    log = german_log(tmp_path / "log.csv", data, names="Zeit [ms];A1_Ist [°];A2_Ist [°];Strom_1 [A];Strom_2 [A]")
    assert "--gains" in [one.option for one in propose(log, robot).questions]
    noise = Dataset(data.t, data.q, np.random.default_rng(0).normal(size=data.q.shape))
    log = german_log(tmp_path / "noise.csv", noise, names="Zeit [ms];A1_Ist [°];A2_Ist [°];M_1 [Nm];M_2 [Nm]")
    assert "--as-is" in [one.option for one in propose(log, robot).questions]


def test_decimal_commas_between_commas_are_refused() -> None:
    lines = ["t,q1,q2", *("0,01,1,5,2,5" for _ in range(9))]
    with pytest.raises(DatasetError, match="3 names for 6 cells"):
        find_layout("\n".join(lines).encode(), "log.csv")


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("actual_q_3", Meaning("q", "measured", False, "3", "")),
        ("A1_Sollwert [°]", Meaning("q", "commanded", False, "a1", "deg")),
        ("tau_J_d_0", Meaning("tau", "commanded", False, "j0", "")),
        ("Motorstrom A2 [A]", Meaning("current", "", False, "a2", "A")),
        ("current position 2", Meaning("q", "measured", False, "2", "")),
        ("Joint 4 Velocity (deg/s)", Meaning("dq", "", False, "joint4", "deg/s")),
        ("tau_ext_hat_filtered_0", Meaning("other", "", False, "tauhat0", "")),
    ],
)
def test_names_say_signal_role_joint_and_unit(name: str, expected: Meaning) -> None:
    got = meaning(name)
    assert (got.signal, got.role, got.unit) == (expected.signal, expected.role, expected.unit)
    if expected.signal != "other":
        assert got.label == expected.label


def test_times_of_day_pass_midnight(tmp_path: Path) -> None:
    rows = [
        f"23:59:{59 + k / 10:07.4f};{k};{k}" if k < 10 else f"00:00:{(k - 10) / 10:07.4f};{k};{k}" for k in range(20)
    ]
    (tmp_path / "a.log").write_text("\n".join(["when;q1;tau1", *rows]))
    (tmp_path / "a.toml").write_text(
        'file = "a.log"\ntext = { separator = ";" }\ncolumns = { t = "when", q = ["q1"], tau = ["tau1"] }\n'
        'units = { q = "deg", tau = "mN.m" }\n'
    )
    read = read_dataset(tmp_path / "a.toml")
    np.testing.assert_allclose(read.t, np.arange(20) / 10, atol=1e-6)
    np.testing.assert_allclose(read.q[:, 0], np.deg2rad(np.arange(20)))
    np.testing.assert_allclose(read.tau[:, 0], 1e-3 * np.arange(20))


@pytest.mark.claim("a column that only rounding fills decides nothing about the signs of torques")
def test_columns_of_rounding_are_no_part_of_a_basis() -> None:
    rng = np.random.default_rng(0)
    columns = np.column_stack([rng.normal(size=(8, 2)), np.full(8, 5e-324), 1e-14 * rng.normal(size=8)])
    basis = _basis(columns)
    assert basis.shape == (8, 2) and np.allclose(basis.T @ basis, np.eye(2))


@pytest.mark.claim("a second encoder that does not move is not taken for the joints' positions")
def test_one_of_two_measured_signals_is_not_taken_without_a_word(arm: tuple[Robot, Dataset], tmp_path: Path) -> None:
    robot, data = arm
    path = tmp_path / "log.npz"
    second = data.q * [1.0, 0.0]
    np.savez(path, t=data.t, act_pos_se_rad=second, act_pos_mot_rad=data.q, tau=data.tau)
    (question,) = (one for one in propose(path, robot).questions if "positions" in one.text)
    assert question.option == "--columns q=" and "act_pos_se_rad" in question.text and "act_pos_mot" in question.text
    found = propose(path, robot, Answers({"q": "act_pos_mot_rad"}))
    assert not found.questions and found.settings["columns"]["q"] == "act_pos_mot_rad"
    np.savez(path, t=data.t, q=data.q, tau_current=data.tau, tau_sensor=data.tau, tau_model=data.tau)
    (question,) = propose(path, robot).questions
    assert question.text == "which are the torques: tau_current or tau_sensor?"
    np.savez(path, t=data.t, act_pos_se_rad=data.q, act_pos_mot_rad=100 * data.q, tau=data.tau)
    assert propose(path, robot).settings["columns"]["q"] == "act_pos_se_rad"


@pytest.mark.parametrize(
    ("answers", "message"),
    [
        (Answers(time_unit="weeks"), "--time-unit: expected s, ms, .*, got 'weeks'"),
        (Answers(angles="grad"), "--angles: expected rad, deg, .*, got 'grad'"),
        (Answers(rate=-5.0), "--sampling-rate: expected a positive number .*, got -5"),
        (Answers(reversed=(3,)), "--reversed: expected joints from 1 to 2, got 3"),
    ],
)
def test_answers_that_no_log_can_have_are_refused(
    arm: tuple[Robot, Dataset], tmp_path: Path, answers: Answers, message: str
) -> None:
    robot, data = arm
    with pytest.raises(DatasetError, match=message):
        propose(german_log(tmp_path / "log.csv", data), robot, answers)


@pytest.mark.claim("files of every known format are read by their reader, not as text")
def test_another_format_is_read_by_its_own_reader(tmp_path: Path) -> None:
    for name, words in (("log.pt", "log.pt"), ("log.npz", "log.npz"), ("log.mat", "log.mat")):
        path = tmp_path / name
        path.write_text("t;q1\n0;1\n")
        with pytest.raises(DatasetError, match=words) as raised:
            propose(path, load_robot("three_link"))
        assert "separator" not in str(raised.value) and "layout" not in str(raised.value)
    with pytest.raises(DatasetError, match="nowhere"):
        propose(tmp_path / "nowhere.csv", load_robot("three_link"))


@pytest.mark.claim("a number that no sensor measures is named, not computed with")
def test_a_number_that_no_sensor_measures_is_named(tmp_path):
    log = tmp_path / "log.csv"
    angles = np.sin(np.outer(np.arange(200) / 20, [1.0, 1.3]))
    rows = [f"{k * 0.01:.2f},{a:.6f},{b:.6f},{a:.6f},{b:.6f}" for k, (a, b) in enumerate(angles)]
    rows[57] = "0.57,1e308,0.1,0.2,0.3"
    log.write_text("t,q1,q2,tau1,tau2\n" + "\n".join(rows), encoding="utf-8")
    with pytest.raises(DatasetError, match=r"sample 58 of q.*1e\+308"):
        propose(log, load_robot("spatial_2r"))


@pytest.mark.claim("a cell of 50,000 digits is refused at once")
def test_a_cell_of_many_digits_is_read_at_once():
    import time

    from casid.measurement._text import is_number

    began = time.perf_counter()
    assert not is_number("1" * 50_000 + "x", ".")
    assert not is_number("1" * 50_000 + "x", ",")
    assert time.perf_counter() - began < 1.0  # quadratic time would be a minute
