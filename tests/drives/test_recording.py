"""Recordings of commands and encoders, and their servos: read in the robot's order and in SI, cut at gaps."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from casid.description import load_robot
from casid.drives import FREE, CommandRecording, Servo, Unknown, held_commands, identify_from_commands, read_commands
from casid.drives._cli import from_commands
from casid.drives._servo import servo_from
from casid.errors import DatasetError
from casid.measurement import has_commands_only

T = np.arange(60) * 0.02
Q = np.column_stack([np.sin(3 * T), np.cos(2 * T)])
U = Q + 0.1


def log(folder: Path, header: str, *columns: np.ndarray, toml: str = "") -> Path:
    """A table, and the description of it if one is given."""
    np.savetxt(folder / "log.csv", np.column_stack(columns), delimiter=",", header=header, comments="", fmt="%.15g")
    if toml:
        (folder / "log.toml").write_text(f'file = "log.csv"\n{toml}')
    return folder / ("log.toml" if toml else "log.csv")


@pytest.mark.claim("columns of joints that are locked are left out, and the note says how far they move")
def test_columns_of_locked_joints_are_left_out(tmp_path):
    t = np.arange(200) * 0.02
    q = np.column_stack([0.5 * np.sin(t), 0.1 * np.cos(t)])
    np.savez(tmp_path / "a.npz", t=t, q=q, q_des=q)
    robot = load_robot("spatial_2r", lock={"joint1": 0.0})
    data = read_commands(tmp_path / "a.npz", robot)
    np.testing.assert_array_equal(data.q, q[:, 1:])
    assert data.joints == ("joint2",) and "columns left out: joint1 (moves by 0.87)" in data.notes[-1]


def test_columns_come_in_the_robots_order_and_in_radians(tmp_path: Path) -> None:
    robot = load_robot("spatial_2r")
    path = log(
        tmp_path, "t,q1,q2,q3,q_des1,q_des2,q_des3,on", 1e3 * T, np.rad2deg(Q[:, 1]), 0 * T, np.rad2deg(Q[:, 0]),
        np.rad2deg(U[:, 1]), 0 * T, np.rad2deg(U[:, 0]), (T > 0.5).astype(float),
        toml='degrees = true\njoints = ["joint2", "gripper", "joint1"]\nmotion = "swing"\n[units]\nt = "ms"\n'
             '[servo]\nenabled = "on"\ngain = 2.0\n',
    )  # fmt: skip
    assert [joint.name for joint in robot.coordinates] == ["joint1", "joint2"]
    data = read_commands(path, robot)
    np.testing.assert_allclose(data.t, T, atol=1e-12)
    np.testing.assert_allclose(data.q, Q, atol=1e-12)
    np.testing.assert_allclose(data.q_des, U, atol=1e-12)
    np.testing.assert_array_equal(data.on()[:, 0], 2.0 * (T > 0.5))
    assert data.motion == "swing"
    with pytest.raises(DatasetError, match="no column of joint 'joint1'"):
        read_commands(log(tmp_path, "t,q1,q_des1", T, Q[:, 0], U[:, 0], toml='joints = ["joint2"]\n'), robot)
    with pytest.raises(DatasetError, match="1 encoders for the 2 joints"):
        read_commands(log(tmp_path, "t,q1,q_des1", T, Q[:, 0], U[:, 0]), robot)


def test_known_torques_are_read_beside_the_commands(tmp_path: Path) -> None:
    """Feed-forward torques: an array by its name, or a list of columns; as many as encoders."""
    robot, header = load_robot("spatial_2r"), "t,q1,q2,q_des1,q_des2,ff1,ff2"
    for named in ('"ff"', '["ff", "ff"]', '"t"'):
        path = log(tmp_path, header, T, Q, U, 2.0 * U, toml=f"[servo]\ntorque = {named}\n")
        if named == '"ff"':
            np.testing.assert_allclose(read_commands(path, robot).torque, 2.0 * U, atol=1e-12)
            continue
        with pytest.raises(DatasetError, match=r"torque \(.*\) beside encoders"):
            read_commands(path, robot)


@pytest.mark.parametrize(
    ("values", "known", "gain", "said"),
    [
        ({"kp": [20.0, 30.0], "kd": 1.5}, {"kp": [20.0, 30.0], "kd": [1.5, 1.5]}, 1.0, "kp = 20, 30 and kd = 1.5"),
        ({"kp": np.tile([20.0, 30.0], (60, 1))}, {"kp": [20.0, 30.0]}, 1.0, "known gains"),
        ({"kp": np.int64(200)}, {}, 200.0, "kp = 200 is taken as the setting"),
        ({"kp": 1.0 + (T > 0.5)}, {}, 1.0, "kp changes"),
        ({"tau": np.abs(Q)}, {}, 1.0, "magnitudes"),
    ],
)
def test_gains_and_magnitudes_of_a_file_are_noted(tmp_path, values, known, gain, said):
    """Gains are known where the file has them, in the robot's order; |current| is no torque."""
    robot, path = load_robot("spatial_2r"), tmp_path / "log.npz"
    np.savez(path, t=T, q=Q, q_des=U, **values)
    data = read_commands(path, robot)
    assert {key: value.tolist() for key, value in data.known.items()} == known and data.gain == gain
    assert len(data.notes) == 1 and said in data.notes[0]
    assert has_commands_only(path) is True
    (tmp_path / "log.toml").write_text('file = "log.npz"\n[servo]\nkp = "free"\n[columns]\ntau = "q"\n')
    described = read_commands(tmp_path / "log.toml", robot)
    assert (described.known, described.gain, described.notes) == ({}, 1.0, ())


def test_measured_torques_beside_commands_are_looked_for(tmp_path: Path) -> None:
    """What casid's own words do not name may still be a torque; that of a model, or of commands, is none."""
    path = tmp_path / "log.npz"
    for name, known in (("tau_current", None), ("tau_model", True), ("tau_cmd", True), ("tau", False)):
        np.savez(path, t=T, q=Q, q_des=U, **{name: Q - U})
        assert has_commands_only(path) is known, name


def test_different_gains_of_recordings_are_refused() -> None:
    first, second = (CommandRecording(T, Q, U, name=f"log {k}", known={"kp": np.full(2, k)}) for k in (1.0, 2.0))
    with pytest.raises(DatasetError, match=r"log 1\.0 and log 2\.0 have different gains"):
        identify_from_commands(load_robot("spatial_2r"), [first, second])


@pytest.mark.parametrize("words", ["true", "True"])
def test_servos_are_switched_by_booleans_too(tmp_path, words):
    robot, on = load_robot("spatial_2r"), T > 0.5
    np.savez(tmp_path / "log.npz", t=T, q=Q, q_des=U, on=on)
    rows = [f"{t},{a},{b},{c},{d},{words if o else 'false'}" for t, (a, b), (c, d), o in zip(T, Q, U, on, strict=True)]
    (tmp_path / "log.csv").write_text("t,q1,q2,q_des1,q_des2,on\n" + "\n".join(rows) + "\n")
    for name in ("log.npz", "log.csv"):
        (tmp_path / "log.toml").write_text(f'file = "{name}"\n[servo]\nenabled = "on"\n')
        np.testing.assert_array_equal(read_commands(tmp_path / "log.toml", robot).on()[:, 1], on)


def test_one_toml_describes_many_files(tmp_path):
    robot, path = load_robot("spatial_2r"), tmp_path / "logs.toml"
    for name in ("a1", "a2", "b"):
        np.savez(tmp_path / f"{name}.npz", t=T, q=np.rad2deg(Q), q_des=np.rad2deg(U))
    path.write_text('file = ["b.npz", "a*.npz"]\ndegrees = true\n[servo]\nkd = 0.1\n')
    pairs = from_commands(robot, [path])
    assert pairs is not None and [one for one, _ in pairs] == [path] * 3
    read = [read_commands(one, robot, settings) for one, settings in pairs]
    assert [data.name for data in read] == ["b", "a1", "a2"]
    np.testing.assert_allclose(read[2].q, Q)
    path.write_text('file = "c*.npz"\n[servo]\n')
    with pytest.raises(DatasetError, match=r"no file fits 'c\*\.npz'"):
        from_commands(robot, [path])


def test_a_gain_that_changes_is_refused(tmp_path: Path) -> None:
    path = log(tmp_path, "t,q1,q2,q_des1,q_des2,p", T, Q, U, 1.0 + (T > 0.5), toml='[servo]\ngain = "p"\n')
    with pytest.raises(DatasetError, match="gain 'p' changes"):
        read_commands(path, load_robot("spatial_2r"))


def test_pieces_end_at_gaps_and_are_no_longer_than_asked() -> None:
    t = np.concatenate([T, T + T[-1] + 0.2, [9.0]])
    data = CommandRecording(t, np.tile(Q, (3, 1))[: len(t)], np.tile(U, (3, 1))[: len(t)], joints=("a", "b"))
    assert [(s.start, s.stop) for s in data.pieces()] == [(0, 60), (60, 120)]  # a single sample is no piece
    assert [(s.start, s.stop) for s in data.pieces(0.6)] == [(0, 30), (30, 60), (60, 90), (90, 120)]
    part = data.rows(slice(10, 40))
    assert part.joints == ("a", "b") and np.array_equal(part.q, data.q[10:40]) and part.enabled is None


@pytest.mark.parametrize("linear", [False, True])
def test_the_integral_of_held_commands_is_that_of_their_values(linear: bool) -> None:
    fine = np.linspace(-0.1, T[-1] + 0.1, 40001)
    value, integral = held_commands(T, U[:, 0], fine, linear)
    summed = np.concatenate([[0.0], np.cumsum(np.diff(fine) * (value[1:] + value[:-1]) / 2)])
    np.testing.assert_allclose(integral - integral[0], summed, atol=2e-4 if not linear else 1e-8)
    expected = np.interp(fine, T, U[:, 0]) if linear else U[np.clip((fine / 0.02 + 1e-9).astype(int), 0, 59), 0]
    np.testing.assert_allclose(np.sort(np.abs(value - expected))[:-80], 0.0, atol=1e-12)


@pytest.mark.parametrize("given", ["1979-05-27", '"q1"', "[1, 2]"])
@pytest.mark.claim("joints of a recording are a list of names, or named in the error")
def test_joints_that_are_no_list_of_names_are_refused(tmp_path, given):
    path = log(tmp_path, "t,q1,q2,q_des1,q_des2", T, Q, U, toml=f"joints = {given}\n[servo]\n")
    with pytest.raises(DatasetError, match="joints: expected a list of names"):
        read_commands(path, load_robot("spatial_2r"))


def test_values_of_servos_are_known_free_or_with_a_prior() -> None:
    made = servo_from(
        {"servo": {"kp": 20.0, "kd": {"value": 1.5, "sd": 0.1}, "enabled": "on"},
         "unknown": {"armature": ["free", 0.01]}, "links": "scaled"}, "a.toml",
    )  # fmt: skip
    assert made.kp == 20.0 and made.kd == Unknown(1.5, 0.1) and made.links == "scaled"
    assert made.of("armature", 2) == [FREE, 0.01]
    servo_from({"servo": {"kp": {"value": 1.0, "upper": float("inf")}}}, "log")
    assert servo_from({"servo": {"same": [["pan", "lift"]]}}, "log").same == [["pan", "lift"]]


@pytest.mark.claim("numbers of a servo's table are finite, or named")
@pytest.mark.parametrize(
    ("tables", "message"),
    [
        ({"servo": {"kpp": 1.0}}, "a.toml.*kpp.*kp"),
        ({"servo": {"kp": "stiff"}}, "a.toml.*kp.*free"),
        ({"servo": {"kp": [1.0, [2.0]]}}, "a.toml.*kp.*free"),
        ({"servo": {"kp": {"value": 1.0, "sd": -1.0}}}, "deviation"),
        ({"servo": {"kp": 1.0}, "unknown": {"kp": 1.0}}, "leave one out"),
        ({"links": "rubber"}, "nominal"),
        ({"servo": {"same": ["pan", "lift"]}}, r"a.toml: \[servo\] same.*groups of joints"),
        *(({"servo": {"kp": value}}, r"a.toml: \[servo\] kp")
          for number in (10**400, float("nan"), True) for value in (number, {"value": number})),
    ],
)  # fmt: skip
def test_mistakes_about_servos_name_file_and_key(tables, message) -> None:
    with pytest.raises(DatasetError, match=message):
        servo_from(tables, "a.toml")


def test_impossible_known_values_are_refused() -> None:
    with pytest.raises(DatasetError, match="kp of joint 2"):
        Servo(kp=[1.0, -2.0]).of("kp", 2)
    with pytest.raises(DatasetError, match="3 values for 2"):
        Servo(kp=[1.0, 2.0, 3.0]).of("kp", 2)
