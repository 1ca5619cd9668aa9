"""Joint states of ROS 2 bags."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import casid
from casid.cli import app
from casid.control import ComputedTorque, nominal
from casid.errors import DatasetError
from casid.measurement import read_dataset
from casid.motion import Fourier, Sine, Trajectory, trajectory_text
from casid.simulation import Plant, Sensor, simulate

yaml = pytest.importorskip("yaml", reason="needs the extra all-tests")


def test_joint_states_of_a_bag(tmp_path):
    rosbags = pytest.importorskip("rosbags.rosbag2", reason="needs the extra rosbag")
    from rosbags.typesys import Stores, get_typestore

    store = get_typestore(Stores.LATEST)
    types = store.types
    State, Header, Time = (
        types[f"{n}"] for n in ("sensor_msgs/msg/JointState", "std_msgs/msg/Header", "builtin_interfaces/msg/Time")
    )
    with rosbags.Writer(tmp_path / "bag", version=9) as writer:
        connection = writer.add_connection("/joint_states", State.__msgtype__, typestore=store)
        for k in range(30):
            header = Header(Time(sec=k // 10, nanosec=(k % 10) * 10**8), "")
            message = State(header, ["b", "a"], np.array([k, -1.0 * k]), np.zeros(2), np.array([0.5 * k, 0.25 * k]))
            writer.write(connection, k * 10**8, store.serialize_cdr(message, State.__msgtype__))
    data = read_dataset(tmp_path / "bag")
    np.testing.assert_allclose(data.q[:, 0], -np.arange(30.0))
    np.testing.assert_allclose(data.tau[:, 1], 0.5 * np.arange(30))
    np.testing.assert_allclose(data.t, 0.1 * np.arange(30))


def bag(path: Path, count: int = 30, stamped: bool = True, topics: tuple[str, ...] = ("/joint_states",)) -> None:
    rosbags = pytest.importorskip("rosbags.rosbag2", reason="needs the extra rosbag")
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
def test_what_a_compressed_bag_unpacks_to_is_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rosbags = pytest.importorskip("rosbags.rosbag2", reason="needs the extra 'rosbag'")
    from rosbags.typesys import Stores, get_typestore

    store = get_typestore(Stores.LATEST)
    kind = "sensor_msgs/msg/JointState"
    State, Header, Time = (store.types[name] for name in (kind, "std_msgs/msg/Header", "builtin_interfaces/msg/Time"))
    writer = rosbags.Writer(tmp_path / "bag", version=9, storage_plugin=rosbags.StoragePlugin.MCAP)
    writer.set_compression(rosbags.CompressionMode.STORAGE, rosbags.CompressionFormat.ZSTD)
    with writer:
        connection = writer.add_connection("/joint_states", kind, typestore=store)
        message = State(Header(Time(sec=0, nanosec=0), "x" * 2**23), ["a"], np.zeros(1), np.zeros(1), np.zeros(1))
        writer.write(connection, 1, store.serialize_cdr(message, kind))
    assert sum(file.stat().st_size for file in (tmp_path / "bag").iterdir()) < 2**16
    monkeypatch.setenv("CASID_MAX_BYTES", str(2**20))
    with pytest.raises(DatasetError, match="more than 1 MiB; set CASID_MAX_BYTES"):
        read_dataset(tmp_path / "bag")


rosbag2 = pytest.importorskip("rosbags.rosbag2", reason="needs the extra rosbag")


STORAGES = ["SQLITE3", "MCAP"]


def store() -> Any:
    from rosbags.typesys import Stores, get_typestore

    return get_typestore(Stores.ROS2_HUMBLE)


def header(types: Any, seconds: float) -> Any:
    nanoseconds = round(seconds * 1e9)
    time = types["builtin_interfaces/msg/Time"](sec=nanoseconds // 10**9, nanosec=nanoseconds % 10**9)
    return types["std_msgs/msg/Header"](stamp=time, frame_id="base")


@pytest.mark.parametrize("storage", STORAGES)
def test_joint_states_of_a_bag_are_the_recording(storage: str, tmp_path: Path) -> None:
    robot = casid.load_robot("panda")
    names = [joint.name for joint in robot.joints]
    rng = np.random.default_rng(3)
    t = 100.0 + np.arange(60) / 50
    q, dq, tau = rng.standard_normal((3, 60, 7))
    types = store()
    with rosbag2.Writer(tmp_path / "bag", version=9, storage_plugin=getattr(rosbag2.StoragePlugin, storage)) as writer:
        joints = writer.add_connection("/joint_states", "sensor_msgs/msg/JointState", typestore=types)
        other = writer.add_connection("/rosout", "std_msgs/msg/String", typestore=types)
        for k, instant in enumerate(t):
            order = rng.permutation(7)  # drivers need not keep an order
            message = types.types["sensor_msgs/msg/JointState"](
                header(types.types, instant), [names[i] for i in order], q[k][order], dq[k][order], tau[k][order]
            )
            stamp = round(instant * 1e9) + 7_000_000  # the bag's clock is late; the header counts
            writer.write(joints, stamp, types.serialize_cdr(message, joints.msgtype))
            text = types.types["std_msgs/msg/String"]("text")
            writer.write(other, stamp, types.serialize_cdr(text, other.msgtype))
    data = read_dataset(tmp_path / "bag")
    np.testing.assert_allclose(data.t - data.t[0], t - t[0], atol=1e-9)
    for got, expected in ((data.q, q), (data.dq, dq), (data.tau, tau)):
        np.testing.assert_array_equal(got, expected)


@pytest.mark.slow
@pytest.mark.parametrize("storage", STORAGES)
def test_a_bag_is_identified_from_the_command_line(storage: str, tmp_path: Path) -> None:
    plant = Plant.of(casid.load_robot("panda"), viscous=0.5)
    names = [joint.name for joint in plant.model.robot.joints]
    law = ComputedTorque(*nominal(plant.model.robot), kp=100, kd=20)
    run = simulate(plant, law, Sine.within(plant.model.robot), 8.0, rate=200, sensor=Sensor(torque=0.05)).dataset()
    assert run.dq is not None
    types = store()
    with rosbag2.Writer(tmp_path / "bag", version=9, storage_plugin=getattr(rosbag2.StoragePlugin, storage)) as writer:
        joints = writer.add_connection("/joint_states", "sensor_msgs/msg/JointState", typestore=types)
        for k, instant in enumerate(run.t):
            message = types.types["sensor_msgs/msg/JointState"](
                header(types.types, float(instant)), names, run.q[k], run.dq[k], run.tau[k]
            )
            writer.write(joints, round(float(instant) * 1e9), types.serialize_cdr(message, joints.msgtype))
    out = tmp_path / "result"
    done = CliRunner().invoke(
        app, ["identify", "panda", str(tmp_path / "bag"), "--terms", "viscous", "--no-believable", "--out", str(out)]
    )
    assert done.exit_code == 0, done.output
    assert (out / "parameters.csv").is_file()


def test_a_joint_trajectory_is_a_message_that_bags_carry(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    basis = Fourier(1.0, 3)
    motion = Trajectory(basis, 0.1 * rng.standard_normal((2, basis.size)), ("shoulder: left", "elbow"))
    written = yaml.safe_load(trajectory_text(motion, "ros2", 20.0))
    types = store()
    known = types.types
    duration = known["builtin_interfaces/msg/Duration"]
    points = [
        known["trajectory_msgs/msg/JointTrajectoryPoint"](
            np.array(point["positions"]), np.array(point["velocities"]), np.array(point["accelerations"]),
            np.zeros(0), duration(**point["time_from_start"]),
        )
        for point in written["points"]
    ]  # fmt: skip
    kind = "trajectory_msgs/msg/JointTrajectory"
    message = known[kind](header(known, 0.0), written["joint_names"], points)
    for storage in STORAGES:
        folder = tmp_path / storage
        with rosbag2.Writer(folder, version=9, storage_plugin=getattr(rosbag2.StoragePlugin, storage)) as writer:
            topic = writer.add_connection("/reference", kind, typestore=types)
            writer.write(topic, 1, types.serialize_cdr(message, kind))
        with rosbag2.Reader(folder) as reader:
            ((_, _, raw),) = list(reader.messages())
        back = types.deserialize_cdr(raw, kind)
        assert list(back.joint_names) == ["shoulder: left", "elbow"]
        t = np.array([p.time_from_start.sec + 1e-9 * p.time_from_start.nanosec for p in back.points])
        expected = motion.motion(t + motion.times(20.0)[0])
        for name, values in zip(("positions", "velocities", "accelerations"), expected, strict=True):
            np.testing.assert_allclose([getattr(p, name) for p in back.points], values, rtol=1e-8, atol=1e-8)


def test_a_bag_beyond_the_limit_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "r.mcap").write_bytes(bytes(5000))
    monkeypatch.setenv("CASID_MAX_BYTES", "1000")
    with pytest.raises(DatasetError, match="CASID_MAX_BYTES"):
        read_dataset(tmp_path / "r.mcap")
