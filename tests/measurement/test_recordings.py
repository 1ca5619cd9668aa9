"""Recordings as users have them: names of columns, delimiters, units, and what is wrong with them in one sentence."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest
from scipy.io import savemat

from casid import load_robot
from casid.errors import DatasetError
from casid.measurement import Dataset, Processing, read_dataset
from casid.measurement._checks import check_against
from casid.testing._synthetic import motion

T, Q, DQ, _ = motion(3, 40, 1)
TAU = 2.0 * Q + 1.0


def csv(header: list[str], table: np.ndarray, delimiter: str = ",") -> str:
    rows = (delimiter.join(repr(float(x)) for x in row) for row in table)
    return "\n".join([delimiter.join(header), *rows]) + "\n"


def named(*signals: str) -> list[str]:
    return [pattern.format(j) for pattern in signals for j in ("elbow", "wrist1", "wrist2")]


@pytest.mark.parametrize(
    "header",
    [
        ["t", *named("q_{}", "tau_{}")],
        ["__time", *named("/joint_states/{}/position", "/joint_states/{}/effort")],
        ["time", *named("{}.position", "{}.effort")],
        ["Time", *named("/joint_states/position/{}", "/joint_states/effort/{}")],
        ["timestamp", *(f"/joint_states/{s}[{k}]" for s in ("position", "effort") for k in range(3))],
        ["t", *(f"{s}[{k}]" for s in ("q", "tau") for k in range(3))],
        ["t", *(f"{s}_{k}" for s in ("q", "tau") for k in (1, 2, 3))],
        ["t", *(f"actual_{s}_{k}" for s in ("q",) for k in (1, 2, 3)), "tau1", "tau2", "tau3"],
    ],
    ids=lambda header: header[1],
)
def test_columns_are_found_by_number_and_by_joint_name(tmp_path: Path, header: list[str]) -> None:
    (tmp_path / "r.csv").write_text(csv(header, np.column_stack([T, Q, TAU])), encoding="utf-8")
    columns = {"q": "actual_q"} if header[1].startswith("actual") else None
    data = read_dataset(tmp_path / "r.csv", columns=columns)
    np.testing.assert_array_equal(data.q, Q)
    np.testing.assert_array_equal(data.tau, TAU)
    assert data.joints == (("elbow", "wrist1", "wrist2") if "elbow" in header[1] else ())


def test_named_joints_are_put_in_the_order_of_the_robot() -> None:
    robot = load_robot("three_link")
    names = [joint.name for joint in robot.joints]
    q, tau = np.column_stack([Q[:, 2], Q[:, :1], Q[:, 0], Q[:, 1]]), np.column_stack([TAU[:, 2], Q[:, :1], TAU[:, :2]])
    file = Dataset(T, q, tau, joints=(f"arm_{names[2]}", "gripper", names[0].upper(), names[1]))
    data = check_against(file, robot)
    np.testing.assert_array_equal(data.q, Q)
    np.testing.assert_array_equal(data.tau, TAU)
    assert "left out: gripper" in " ".join(data.steps)


@pytest.mark.claim("torques named by joint follow positions into the robot's order")
def test_signals_named_alike_are_ordered_alike(tmp_path: Path) -> None:
    header = ["t", "q_joint3", "q_joint1", "q_joint2", "tau_joint1", "tau_joint2", "tau_joint3"]
    (tmp_path / "r.csv").write_text(csv(header, np.column_stack([T, Q[:, [2, 0, 1]], TAU])), encoding="utf-8")
    data = check_against(read_dataset(tmp_path / "r.csv"), load_robot("three_link"))
    np.testing.assert_array_equal(data.q, Q)
    np.testing.assert_array_equal(data.tau, TAU)


def test_joints_by_name_and_torques_by_number_are_refused(tmp_path: Path) -> None:
    header = ["t", *(f"q_{joint}" for joint in ("elbow", "wrist1", "wrist2")), "tau1", "tau2", "tau3"]
    (tmp_path / "r.csv").write_text(csv(header, np.column_stack([T, Q, TAU])), encoding="utf-8")
    with pytest.raises(DatasetError, match="'tau' is numbered: name all columns alike"):
        read_dataset(tmp_path / "r.csv")


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|", " "])
def test_delimiters_and_decimal_commas(tmp_path: Path, delimiter: str) -> None:
    header = ["t", "q1", "q2", "q3", "tau1", "tau2", "tau3"]
    text = csv(header, np.column_stack([T, Q, TAU]), delimiter)
    (tmp_path / "r.csv").write_text(text.replace(".", ",") if delimiter == ";" else text, encoding="utf-8")
    np.testing.assert_array_equal(read_dataset(tmp_path / "r.csv").q, Q)


def test_time_in_other_units(tmp_path: Path) -> None:
    header = ["q1", "q2", "q3", "tau1", "tau2", "tau3"]
    ms = np.arange(0.0, 2 * len(T), 2.0)
    for name, factor in (("t_ms", 1e-3), ("time_us", 1e-6)):
        (tmp_path / "r.csv").write_text(csv([name, *header], np.column_stack([ms, Q, TAU])), encoding="utf-8")
        np.testing.assert_allclose(read_dataset(tmp_path / "r.csv").t, factor * ms)
    table = np.column_stack([np.arange(80.0) * 2, np.tile(Q, (2, 1)), np.tile(TAU, (2, 1))])
    (tmp_path / "r.csv").write_text(csv(["t", *header], table), encoding="utf-8")
    with pytest.raises(DatasetError, match="seems to count milliseconds"):
        read_dataset(tmp_path / "r.csv")
    assert read_dataset(tmp_path / "r.csv", time_scale=1).t[1] == 2.0


FAULTS = {
    "header only": ("t,q1,tau1\n", "it has a header and no samples"),
    "no header": ("1,2,3\n4,5,6\n", "first line must name the columns"),
    "missing joint": ("t,q1,q2,q4,tau1,tau2,tau4\n" + "0,1,2,3,4,5,6\n" * 12, "it has q4 but no q3"),
    "first joint missing": ("t,q2,tau2\n" + "0,1,2\n" * 12, "it has q2 but no q1"),
    "twice": ("t,q1,q1,tau1\n" + "0,1,2,3\n" * 12, "columns 'q1' and 'q1' mean the same"),
    "ambiguous": ("t,a/j/q,b/j/q,tau_j\n" + "0,1,2,3\n" * 12, "both look like q of joint 'j'"),
    "no torque": ("t,q1\n" + "0,1\n" * 12, "no torques: it has t, q"),
    "word": ("t,q1,tau1\n0,1,2\n0,x,2\n", "row 2 below the header, column 'q1' is no number: 'x'"),
    "ragged": ("t,q1,tau1\n0,1,2\n0,1\n", "row 2 below the header has 2 cells, the header names 3"),
    "empty": ("", "is empty"),
    "short rows": ("t,q1,tau1\n1,2\n", "3 column names for 2 columns"),
    "not a number": (
        "t,q1,tau1\n" + "".join(f"{k},nan,1\n" for k in range(12)),
        "q of joint 1, sample 0 is not",
    ),
    "huge": ("t,q1,tau1\n" + "".join(f"{k},1e300,1\n" for k in range(12)), "which no robot does"),
    "long name": ("q" * 10**4 + "1" * 10**4 + ",t\n1,2\n", "the first line must name the columns"),
}


@pytest.mark.claim("a recording that cannot be used says in one short sentence why")
@pytest.mark.parametrize("case", FAULTS)
def test_what_is_wrong_with_a_csv(tmp_path: Path, case: str) -> None:
    text, message = FAULTS[case]
    (tmp_path / "r.csv").write_text(text, encoding="utf-8")
    with pytest.raises(DatasetError, match=message) as caught:
        read_dataset(tmp_path / "r.csv")
    assert len(str(caught.value)) < 400


def test_standstill_is_refused() -> None:
    robot = load_robot("three_link")
    with pytest.raises(DatasetError, match="no joint moves"):
        check_against(Dataset(T, np.ones_like(Q), TAU), robot)


@pytest.mark.claim('degrees = "false" in a recording\'s TOML is an error, not true')
@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('degrees = "false"', "expected true or false, got the string 'false'"),
        ("unwrap = 1", "expected true or false"),
        ("rate = nan", "is or holds NaN"),
        ("rate = -1.0", "sampling rate must be positive"),
        ('rate = "100"', "expected a number"),
        ("gains = [1.0, inf, 1.0]", "must be finite"),
        ("gains = [1.0]", "expected 3 finite numbers"),
        ("rows = [3]", "expected 2 numbers"),
        ("rows = [5, 3]", "the first below the second"),
        ("transmission = [[1, 0], [0]]", "expected 2 x 2 numbers"),
        ("transmission = [[1, 0, 0], [1, 0, 0], [0, 0, 1]]", "transmission is singular"),
        ("columns = 3", "expected a table"),
        ("columns = { q = 3 }", "expected a string"),
        ('columns = { speed = "q" }', "columns may name"),
        ('topic = ""', "expected a string"),
        ("degree = true", "unknown key 'degree'; did you mean 'degrees'"),
    ],
)
def test_types_in_a_recordings_toml(tmp_path: Path, line: str, message: str) -> None:
    np.savez(tmp_path / "r.npz", q=Q, tau=TAU)
    rate = "" if line.startswith("rate") else "rate = 100\n"
    (tmp_path / "r.toml").write_text(f'file = "r.npz"\n{rate}{line}\n', encoding="utf-8")
    with pytest.raises(DatasetError, match=message):
        read_dataset(tmp_path / "r.toml")


@pytest.mark.claim("a recording's TOML that describes itself ends in one error")
def test_descriptions_do_not_chain(tmp_path: Path) -> None:
    (tmp_path / "r.toml").write_text('file = "r.toml"\n', encoding="utf-8")
    with pytest.raises(DatasetError, match="not by a chain"):
        read_dataset(tmp_path / "r.toml")


@pytest.mark.claim("complex, text and object arrays in recordings are refused")
def test_arrays_must_hold_real_numbers(tmp_path: Path) -> None:
    for value, message in ((Q * (1 + 1j), "complex"), (Q.astype(str), "text"), (Q > 0, "true or false")):
        np.savez(tmp_path / "r.npz", t=T, q=value, tau=TAU)
        with pytest.raises(DatasetError, match=message):
            read_dataset(tmp_path / "r.npz")
    savemat(tmp_path / "r.mat", {"t": T, "q": Q * (1 + 1j), "tau": TAU})
    with pytest.raises(DatasetError, match="complex"):
        read_dataset(tmp_path / "r.mat")


@pytest.mark.claim("one jump of the clock does not take gigabytes")
def test_a_clock_jump_is_refused_before_memory_is_taken() -> None:
    t = np.arange(2000.0) * 1e-3
    t[1000:] += 3e5  # 300 million samples of the grid
    phase = np.sin(np.arange(2000.0))[:, None]
    with pytest.raises(DatasetError, match=r"(?i)clock|grid"):
        Processing().apply(Dataset(t, phase, phase, name="jump"))


def bag(path: Path, count: int = 30, stamped: bool = True, topics: tuple[str, ...] = ("/joint_states",)) -> None:
    rosbags = pytest.importorskip("rosbags.rosbag2", reason="needs the extra 'rosbag'")
    from rosbags.typesys import Stores, get_typestore

    store = get_typestore(Stores.LATEST)
    kind = "sensor_msgs/msg/JointState"
    State, Header, Time = (store.types[name] for name in (kind, "std_msgs/msg/Header", "builtin_interfaces/msg/Time"))
    with rosbags.Writer(path, version=9, storage_plugin=rosbags.StoragePlugin.MCAP) as writer:
        for topic in topics:
            connection = writer.add_connection(topic, kind, typestore=store)
            for k in range(count):
                header = Header(Time(sec=k // 10 * stamped, nanosec=(k % 10) * 10**8 * stamped), "")
                message = State(header, ["b", "a"], np.array([k, -1.0 * k]), np.zeros(2), np.array([0.5 * k, 0.25 * k]))
                writer.write(connection, 10**9 + k * 10**8, store.serialize_cdr(message, kind))


def test_bags_find_their_topic_and_their_clock(tmp_path: Path) -> None:
    bag(tmp_path / "two", topics=("/joint_states", "/gripper"))
    assert read_dataset(tmp_path / "two").joints == ("a", "b")
    bag(tmp_path / "other", stamped=False, topics=("/arm/state",))
    np.testing.assert_allclose(read_dataset(tmp_path / "other").t, 0.1 * np.arange(30))
    bag(tmp_path / "none", topics=("/left", "/right"))
    with pytest.raises(DatasetError, match=r"name the topic.*: /left, /right"):
        read_dataset(tmp_path / "none")
    with pytest.raises(DatasetError, match="no such file"):
        read_dataset(tmp_path / "absent.mcap")


@pytest.mark.claim("compressed chunks of a bag cannot unpack without end")
def test_a_compressed_bag_is_counted_before_it_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rosbags = pytest.importorskip("rosbags.rosbag2", reason="needs the extra 'rosbag'")
    from rosbags.typesys import Stores, get_typestore

    store = get_typestore(Stores.LATEST)
    kind = "std_msgs/msg/String"
    writer = rosbags.Writer(tmp_path / "bag", version=9, storage_plugin=rosbags.StoragePlugin.MCAP)
    writer.set_compression(rosbags.CompressionMode.STORAGE, rosbags.CompressionFormat.ZSTD)
    with writer:
        connection = writer.add_connection("/text", kind, typestore=store)
        writer.write(connection, 1, store.serialize_cdr(store.types[kind]("x" * 2**23), kind))
    assert sum(file.stat().st_size for file in (tmp_path / "bag").iterdir()) < 2**16
    monkeypatch.setenv("CASID_MAX_BYTES", str(2**20))
    with pytest.raises(DatasetError, match="more than 1 MiB; set CASID_MAX_BYTES"):
        read_dataset(tmp_path / "bag")


def test_a_large_recording_says_how_to_allow_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    buffer = io.BytesIO()
    np.savez_compressed(buffer, t=T, q=np.zeros((40, 5000)), tau=np.zeros((40, 5000)))
    (tmp_path / "r.npz").write_bytes(buffer.getvalue())
    assert read_dataset(tmp_path / "r.npz").n == 5000
    monkeypatch.setenv("CASID_MAX_BYTES", "100000")
    with pytest.raises(DatasetError, match="set CASID_MAX_BYTES to allow more"):
        read_dataset(tmp_path / "r.npz")
