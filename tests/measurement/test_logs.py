"""Logs of any layout: what is found, what is asked for, and that the TOML reads back the truth."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import casid
from casid.description import Robot, load_robot
from casid.errors import DatasetError
from casid.files import parse_toml
from casid.identification import Checks, ModelOptions
from casid.measurement import Answers, Dataset, Processing, Proposal, propose, read_dataset, read_log
from tests.helpers import run
from tests.measurement.conftest import german_log, written

Arm = tuple[Robot, Dataset]
CLEAR = "Zeit [ms];A1_Ist [°];A2_Ist [°];A1_Moment;A2_Moment"


def options(found: Proposal) -> list[str]:
    return [one.option for one in found.questions]


def same(made: Dataset, data: Dataset) -> None:
    """Times, positions and torques are those that were written."""
    for name, off in (("t", 1e-9), ("q", 1e-7), ("tau", 1e-6)):
        np.testing.assert_allclose(getattr(made, name), getattr(data, name), atol=off)


def read(log: Path, robot: Robot, answers: Answers | None = None) -> Dataset:
    """The recording as the TOML of a proposal describes it."""
    found = propose(log, robot, answers)
    assert not found.questions
    log.with_suffix(".toml").write_text(found.toml(), encoding="utf-8")
    return read_dataset(log.with_suffix(".toml"))


# ---------------------------------------------------------------------- a clear log


@pytest.mark.claim("a controller's log needs no edits outside casid")
@pytest.mark.claim("a controller's log is read in one step where nothing about it is open, and a note states how")
def test_a_clear_log_is_a_recording(arm: Arm, tmp_path: Path) -> None:
    robot, data = arm
    log = german_log(tmp_path / "log.csv", data, names=CLEAR)
    with pytest.raises(DatasetError):
        read_dataset(log)
    direct = read_log(log, robot, columns=None)
    said = "log.csv is read as its names and the robot's dynamics say (positions: A1_Ist [°] ... A2_"
    assert said in direct.notes[-1]
    assert list(tmp_path.iterdir()) == [log]
    text = propose(log, robot).settings["text"]
    assert (text["encoding"], text["separator"], text["decimal"]) == ("cp1252", ";", ",")
    same(direct, data)
    same(read(log, robot), data)
    settings, checks = Processing(cutoff=5.0), Checks(folds=0, verdict=False)
    result = casid.identify(robot, log, processing=settings, model=ModelOptions(terms=("viscous",)), checks=checks)
    assert any("log.csv is read as" in note for note in result.notes)


def test_what_is_open_is_named_and_nothing_is_taken(arm: Arm, tmp_path: Path) -> None:
    robot, data = arm
    currents = german_log(tmp_path / "log.csv", data, names="Zeit [ms];A1_Ist [°];A2_Ist [°];Strom_1 [A];Strom_2 [A]")
    with pytest.raises(DatasetError, match=r"answer by --gains of `casid import .*log.csv ROBOT`, .*open is: "):
        read_log(currents, robot)
    with pytest.raises(DatasetError, match=r"answer by --reversed of .* open is: is the sign"):
        read_log(german_log(tmp_path / "reversed.csv", data, -1.0, CLEAR), robot)
    with pytest.raises(DatasetError) as caught:
        read_log(german_log(tmp_path / "named.csv", data, names=CLEAR), robot, columns={"tau": "A1_Moment"})
    assert "casid import" not in str(caught.value)
    twice = ["t", "a_q1", "a_q2", "b_q1", "b_q2", "tau1", "tau2"]
    log = written(tmp_path / "twice.csv", twice, data.t, data.q, data.q + 1e-3, data.tau)
    asked = r"answer by --columns q= of `casid import .*twice.csv .*which are the posit"
    with pytest.raises(DatasetError, match=asked):
        read_log(log, robot)
    noise = replace(data, tau=np.random.default_rng(0).normal(size=data.q.shape))
    log = german_log(tmp_path / "noise.csv", noise, names="Zeit [ms];A1_Ist [°];A2_Ist [°];M_1 [Nm];M_2 [Nm]")
    assert "--as-is" in options(propose(log, robot))


@pytest.mark.parametrize("name", ["\x19odd", "q_" + "9" * 50_000, "9" * 50_000 + "x1"])
def test_a_log_with_an_odd_name_of_a_column_is_described_by_valid_toml(arm: Arm, tmp_path: Path, name: str) -> None:
    robot, data = arm
    names = ["t", "q_1", "q_2", "tau_1", "tau_2", name]
    log = written(tmp_path / "log.csv", names, data.t, data.q, data.tau, data.t)
    read = parse_toml(propose(log, robot, Answers({"q": "2-3", "tau": "4-5"})).toml(), "log.toml", DatasetError)
    assert read["columns"]["q"] == ["q_1", "q_2"]


def test_a_question_shows_a_name_as_it_is(tmp_path: Path) -> None:
    """What a terminal would take for markup is printed."""
    log = written(tmp_path / "log.csv", ["a[/x]", "b[/x]", "c[/x]"], *np.random.default_rng(0).normal(size=(3, 200)))
    said = run("import", log, "spatial_2r", "--out", tmp_path / "log.toml", code=2)
    assert "[/x]" in said[said.index("Open:") :]


@pytest.mark.claim("files of every known format are read by their reader, not as text")
def test_what_is_no_log_keeps_its_message(arm: Arm, tmp_path: Path) -> None:
    for front in (read_log, propose):
        with pytest.raises(DatasetError, match="No such file"):
            front(tmp_path / "none.csv", arm[0])
        (tmp_path / "empty.csv").write_text("a,b\n", encoding="utf-8")
        with pytest.raises(DatasetError, match="no table of numbers"):
            front(tmp_path / "empty.csv", arm[0])
    for name in ("log.pt", "log.npz", "log.mat"):
        (tmp_path / name).write_text("t;q1\n0;1\n")
        with pytest.raises(DatasetError, match=name) as raised:
            propose(tmp_path / name, arm[0])
        assert "separator" not in str(raised.value) and "layout" not in str(raised.value)


@pytest.mark.claim("a log of fewer joints than the robot has names the joints to lock, and casid import takes --lock")
def test_joints_that_a_log_does_not_have_are_to_be_locked(arm: Arm, tmp_path: Path) -> None:
    _, data = arm
    names = ["Zeit [s]", "axis1 [rad]", "axis2 [rad]", "torque1 [Nm]", "torque2 [Nm]", "state"]
    log = written(tmp_path / "log.csv", names, data.t, data.q, data.tau, 0 * data.t)
    with pytest.raises(DatasetError, match=r"3 joints, the log positions of 2 .*: --lock joint3\?") as caught:
        read_log(log, load_robot("three_link"))
    assert str(caught.value).count("axis1") == 1
    printed = run("import", log, "three_link", "--lock", "joint3", "--as-is", "--reversed", "none")
    assert "--lock joint3 --out result" in printed
    names = ["t", "q1", "q2", "q3", "tau1", "tau2"]
    whole = written(tmp_path / "whole.csv", names, data.t, np.column_stack([data.q, data.q[:, 0]]), data.tau)
    with pytest.raises(DatasetError, match="which 3 columns are the torques") as caught:
        read_log(whole, load_robot("three_link"))  # no joint is missing, a torque is
    assert "--lock" not in str(caught.value)


# ---------------------------------------------------------------------- columns


@pytest.mark.parametrize(
    ("positions", "torques", "unit"),
    [
        (("actual_q_{}", "target_q_{}"), ("tau_J_{}", "tau_J_d_{}"), "rad"),
        (("current position {}", "soll_{}"), ("Joint {} Torque (Nm)", "tau_ext_hat_filtered_{}"), "rad"),
        (("Winkel A{} [°]", "A{}_Sollwert [°]"), ("Moment A{} [Nm]", "Temperatur A{} [°C]"), "deg"),
        (("q_{}", "motor position {}"), ("actual torque {}", "commanded torque {}"), "rad"),
        (("joint{}_position_deg", "goal_position_{}"), ("torque {}", "motor torque {}"), "deg"),
    ],
)
def test_names_state_signal_role_joint_and_unit(
    arm: Arm, tmp_path: Path, positions: tuple[str, str], torques: tuple[str, str], unit: str
) -> None:
    """In the file the second joint comes first, and what is commanded, the motor's or another before what is meant."""
    robot, data = arm
    names = [name.format(k) for pair in (positions, torques) for name in reversed(pair) for k in (2, 1)]
    q = data.q[:, ::-1] * (180 / np.pi if unit == "deg" else 1.0)
    other = 0.9 * q + 0.1 * np.sin(3 * data.t)[:, None]
    log = written(tmp_path / "log.csv", ["time", *names], data.t, other, q, 0.5 * data.tau, data.tau[:, ::-1])
    found = propose(log, robot)
    assert not found.questions and found.settings["units"]["q"] == unit
    columns = {key: [name.format(k) for k in (1, 2)] for key, (name, _) in (("q", positions), ("tau", torques))}
    assert {key: found.settings["columns"][key] for key in columns} == columns
    np.testing.assert_allclose(read(log, robot).q, data.q, atol=1e-7)


@pytest.mark.claim("names as users' recorders write them are read alike by the readers of identify and of casid import")
@pytest.mark.parametrize(
    ("time", "position", "torque", "unit"),
    [
        ("Time", "Q{}", "Tau{}", "rad"),
        ("time", "position_{}", "effort_{}", "rad"),
        ("__time", "/joint_states/position[{}]", "/joint_states/effort[{}]", "rad"),
        ("%time", "field.position{}", "field.effort{}", "rad"),
        ("__time", "/joint_states/joint{}/position", "/joint_states/joint{}/effort", "rad"),
        ("Timestamp", "Joint{}.Pos", "Joint{}.Torque", "rad"),
        ("time [s]", "joint{} [rad]", "joint{} [Nm]", "rad"),
        ("t_s", "jointPosition{}", "jointTorque{}", "rad"),
        ("t", "joint{}_pos", "joint{}_torque", "rad"),
        ("t_s", "q_{}_rad", "tau_{}_Nm", "rad"),
        ("Zeit [s]", "Achswinkel A{} [°]", "Moment A{} [Nm]", "deg"),
        ("temps (s)", "angle axe {} (deg)", "couple axe {} (N.m)", "deg"),
    ],
)
def test_names_of_recorders_are_read(
    arm: Arm, tmp_path: Path, time: str, position: str, torque: str, unit: str
) -> None:
    robot, data = arm
    q = np.rad2deg(data.q) if unit == "deg" else data.q
    names = [time, *(name.format(k) for name in (position, torque) for k in (1, 2))]
    log = written(tmp_path / "log.csv", names, data.t, q, data.tau)
    same(read_log(log, robot), data)
    same(read(log, robot), data)


@pytest.mark.claim("a joint whose name has a word for a signal in it is found by its whole name")
def test_joints_are_found_by_their_names(arm: Arm, tmp_path: Path) -> None:
    robot, data = arm
    for names in (("wrist_angle", "wrist_torque_tube"), ("shoulder", "elbow_joint")):
        own = replace(robot, joints=tuple(replace(j, name=n) for j, n in zip(robot.joints, names, strict=True)))
        heads = [f"{n.removesuffix('_joint')}_{s}" for s in ("position_deg", "torque") for n in reversed(names)]
        log = written(tmp_path / "log.csv", ["t", *heads], data.t, np.rad2deg(data.q[:, ::-1]), data.tau[:, ::-1])
        same(read(log, own), data)


def test_columns_that_a_user_names(arm: Arm, tmp_path: Path) -> None:
    robot, data = arm
    log = written(tmp_path / "log.csv", ["t", "M2", "M1", "I [A]", "x"], data.t, data.q[:, ::-1], data.tau)
    for q, tau, order in (("M1|M2", "4-5", [1, 0]), ("3-3|M2", "", []), ("M*", "I [[]A]|x", [])):
        answers = Answers({"q": q, "tau": tau or "4-5"}, angles="rad", torque_unit="N.m", as_is=True, reversed=())
        if order:
            np.testing.assert_allclose(read(log, robot, answers).q, data.q, atol=1e-8)
    assert propose(log, robot, Answers({"q": "M*", "tau": "4-5"})).settings["columns"]["q"] == ["M2", "M1"]
    with pytest.raises(DatasetError, match=r"log.csv: 'M.' names 2 columns of numbers, 3 are needed; there are t, M2"):
        propose(log, load_robot("three_link"), Answers({"q": "M*"}))


@pytest.mark.claim("a second encoder that does not move is not taken for the joints' positions")
def test_one_of_two_measured_signals_is_not_taken_without_a_word(arm: Arm, tmp_path: Path) -> None:
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


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 0, 1), (1, 2, 0)])
def test_columns_without_names_are_those_that_fit_the_dynamics(arm: Arm, tmp_path: Path, order: Sequence[int]) -> None:
    robot, data = arm
    parts = [data.q, np.gradient(data.q, data.t, axis=0), data.tau]
    rows = np.column_stack([data.t, *(parts[k] for k in order)])
    np.savetxt(tmp_path / "log.txt", rows, delimiter=" ", fmt="%.9g")
    same(read(tmp_path / "log.txt", robot), data)
    rows[:, 1:] = np.random.default_rng(0).normal(size=rows[:, 1:].shape)
    np.savetxt(tmp_path / "log.txt", rows, delimiter=" ", fmt="%.9g")
    assert {"--columns q=", "--columns tau="} <= set(options(propose(tmp_path / "log.txt", robot)))


# ---------------------------------------------------------------------- clocks, units, gains and signs


def test_clocks(arm: Arm, tmp_path: Path) -> None:
    """Times of day pass midnight; a count of samples, and a clock that stands or goes back, are no time."""
    robot, data = arm
    names = ["q1", "q2", "tau1", "tau2"]
    rest = np.column_stack([data.q, data.tau])
    log = written(tmp_path / "log.csv", ["n", *names], np.arange(len(data)), rest)
    assert options(propose(log, robot)) == ["--sampling-rate HZ"]
    np.testing.assert_allclose(read(log, robot, Answers(rate=100.0)).t, data.t, atol=1e-9)
    back = np.where(np.arange(len(data)) % 20 == 7, 0.0, data.t)
    for clock in (back, 0 * data.t):
        question = propose(written(log, ["time", *names], clock, rest), robot).questions[0]
        assert "'time' does not advance" in question.text
    seconds = data.t + 86396.0
    stamps = [f"{s // 3600 % 24:02.0f}:{s // 60 % 60:02.0f}:{s % 60:09.6f}" for s in seconds]
    rows = [";".join([stamp, *(f"{x:.9g}" for x in row)]) for stamp, row in zip(stamps, rest, strict=True)]
    log.write_text("\n".join([";".join(["when", *names]), *rows]))
    np.testing.assert_allclose(read(log, robot).t, data.t, atol=1e-6)


@pytest.mark.claim("a reversed joint keeps its gain, and milliamperes are thousandths")
@pytest.mark.parametrize(("unit", "size"), [("A", 1.0), ("mA", 1e3)])
def test_gains_signs_and_units_of_currents_are_those_of_the_torques(
    arm: Arm, tmp_path: Path, unit: str, size: float
) -> None:
    robot, data = arm
    gains = np.array([4.0, 0.5])
    currents = replace(data, tau=size * data.tau / gains)
    names = f"Zeit [ms];A1_Ist [°];A2_Ist [°];Strom_1 [{unit}];Strom_2 [{unit}]"
    log = german_log(tmp_path / "log.csv", currents, -1.0, names)
    assert options(propose(log, robot, Answers(gains=tuple(gains)))) == ["--reversed"]
    made = read(log, robot, Answers(gains=tuple(gains), reversed=(2,)))
    np.testing.assert_allclose(made.tau, data.tau, atol=1e-5)


@pytest.mark.claim("torques far beyond what the drives can give are of another unit: it is asked for")
@pytest.mark.parametrize(("times", "asked"), [(2.5, False), (3.5, True), (100.0, True), (1e-3, True), (3e-3, False)])
def test_torques_beyond_the_limits_are_asked_for(arm: Arm, tmp_path: Path, times: float, asked: bool) -> None:
    robot, data = arm
    rated = replace(robot, limits=replace(robot.limits, effort=np.abs(data.tau).max(axis=0) / times))
    log = german_log(tmp_path / "log.csv", data, names=CLEAR)
    assert options(propose(log, rated)) == ["--torque-unit"] * asked


@pytest.mark.claim("lost torques are said to be lost, not of another unit")
@pytest.mark.parametrize("lost", [(slice(0, 300), slice(None)), (slice(None), 1)], ids=["samples", "joint"])
def test_lost_torques_are_no_question_of_units(arm: Arm, tmp_path: Path, lost: Any) -> None:
    robot, data = arm
    rated = replace(robot, limits=replace(robot.limits, effort=2.0 * np.abs(data.tau).max(axis=0)))
    tau = data.tau.copy()
    tau[lost] = np.nan
    log = german_log(tmp_path / "log.csv", SimpleNamespace(**{**vars(data), "tau": tau}), names=CLEAR)
    assert options(propose(log, rated)) == []
    with pytest.raises(DatasetError, match="sample 0 is not a finite number"):
        read(log, rated)


@pytest.mark.claim("velocities that are not the derivative of the positions in any unit are left out of a log")
@pytest.mark.parametrize(
    ("factor", "noise", "taken"), [(1.0, 0.0, True), (2.0, 0.0, False), (1.15, 0.0, False), (0.5, 0.7, False)]
)
def test_velocities_of_a_log_are_the_derivative_or_left_out(
    arm: Arm, tmp_path: Path, factor: float, noise: float, taken: bool
) -> None:
    robot, data = arm
    exact = np.gradient(data.q, data.t, axis=0)
    dq = factor * exact + noise * exact.std(axis=0) * np.random.default_rng(0).normal(size=exact.shape)
    names = ["t", "q1", "q2", "dq1", "dq2", "tau1", "tau2"]
    found = propose(written(tmp_path / "log.csv", names, data.t, data.q, dq, data.tau), robot)
    assert ("dq" in found.settings["columns"]) is taken
    assert any(what == "velocities" and (guess == "left out") is not taken for what, guess, _ in found.evidence)


@pytest.mark.parametrize(
    ("answers", "message"),
    [
        (Answers(time_unit="weeks"), "--time-unit: expected s, ms, .*, got 'weeks'"),
        (Answers(angles="grad"), "--angles: expected rad, deg, .*, got 'grad'"),
        (Answers(rate=-5.0), "--sampling-rate: expected a positive number .*, got -5"),
        (Answers(reversed=(3,)), "--reversed: expected joints from 1 to 2, got 3"),
        (Answers(gains=(1.0,)), "--gains: 1 numbers for 2 joints"),
        (Answers(torque_unit="lb"), "--torque-unit: 'lb'; known are N.m"),
    ],
)
def test_answers_that_no_log_can_have_are_refused(arm: Arm, tmp_path: Path, answers: Answers, message: str) -> None:
    robot, data = arm
    with pytest.raises(DatasetError, match=message):
        propose(german_log(tmp_path / "log.csv", data, names=CLEAR), robot, answers)


# ---------------------------------------------------------------------- layouts of text


def test_a_german_table_with_two_header_lines(tmp_path: Path) -> None:
    rows = [f"0,{k:02d};1.234,{k % 10};{k / 1000:.1e}".replace("1.0e", "1,0e") for k in range(12)]
    text = "\n".join(["% Zeit;Achse 1;;Zustand", ";q;tau;", "", *(f"{row};läuft" for row in rows), "Ende", ""])
    (tmp_path / "a.log").write_bytes(text.replace("e-0", "e-").replace(".0e", ",0e").encode("cp1252"))
    layout = {"encoding": "cp1252", "separator": ";", "decimal": ",", "header": [1, 2], "first": 3}
    columns = {"t": "Zeit", "q": ["Achse 1 q"], "tau": [3]}
    data = read_dataset(tmp_path / "a.log", text=layout, columns=columns, units={"tau": "mN.m", "q": "deg"})
    np.testing.assert_allclose(data.q[:, 0], np.deg2rad([1234 + k % 10 / 10 for k in range(12)]), rtol=1e-12)
    assert len(data) == 12 and any("line 16 and what follows is no row: left out" in note for note in data.notes)


def test_separators_at_the_ends_of_lines_and_names_of_rows_are_no_signal(tmp_path: Path) -> None:
    rows = [(0.1 * k, np.sin(k), np.cos(k)) for k in range(12)]
    ended = "t,q,tau,\n" + "".join(f"{t},{q},{tau},\n" for t, q, tau in rows)
    named = "t q tau\n" + "".join(f"r{k} {t} {q} {tau}\n" for k, (t, q, tau) in enumerate(rows))  # as R writes them
    quoted = '"t","q","tau"\n' + "".join(f'"{t}","{q}","{tau}"\n'.replace(".", ",") for t, q, tau in rows)
    for text in (ended, named, quoted):
        (tmp_path / "a.csv").write_text(text)
        np.testing.assert_allclose(read_dataset(tmp_path / "a.csv").q[:, 0], [q for _, q, _ in rows], rtol=1e-12)


@pytest.mark.claim("an encoding that does not exist is named as the key text.encoding of the recording's TOML")
@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"encoding": "klingon"}, "text.encoding"), ({"separator": ""}, "text.separator"),
        ({"decimal": ";"}, "text.decimal"), ({"header": [2, 1]}, "ascending"), ({"headers": [1]}, "text.headers"),
        ({"first": "3"}, "text.first"), ({"first": 40}, "no numbers from line 40 on"),
    ],
)  # fmt: skip
def test_mistakes_in_a_layout_name_the_key(tmp_path: Path, given: dict[str, object], message: str) -> None:
    (tmp_path / "log.csv").write_text("t,q,tau\n" + "0,1,2\n" * 12)
    with pytest.raises(DatasetError, match=message):
        read_dataset(tmp_path / "log.csv", text=given)


@pytest.mark.claim("a cell of 50,000 digits is refused at once")
@pytest.mark.claim("a number that no sensor measures is named, not computed with")
def test_cells_that_no_sensor_writes(arm: Arm, tmp_path: Path) -> None:
    robot, data = arm
    log = written(tmp_path / "log.csv", ["t", "q1", "q2", "tau1", "tau2"], data.t, data.q, data.tau)
    lines = log.read_text().split("\n")
    lines[58] = "0.57,1e308,0.1,0.2,0.3"
    log.write_text("\n".join(lines))
    with pytest.raises(DatasetError, match=r"sample 58 of q.*1e\+308"):
        propose(log, robot)
    lines[58] = f"0.57,{'1' * 50_000}x,0.1,0.2,0.3"
    log.write_text("\n".join(lines))
    began = time.perf_counter()
    assert any("line 59, column 'q1'" in why for _, _, why in propose(log, robot).evidence)
    assert time.perf_counter() - began < 20.0  # quadratic time would be minutes
    log.write_text("t,q1,q2\n" + "0,01,1,5,2,5\n" * 9)
    with pytest.raises(DatasetError, match="3 names for 6 cells"):
        propose(log, robot)
