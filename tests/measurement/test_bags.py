"""Joint states of ROS 2 bags."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import casid
from casid.control import ComputedTorque, nominal
from casid.errors import DatasetError
from casid.measurement import read_dataset
from casid.motion import Fourier, Sine, Trajectory, trajectory_text
from casid.simulation import Plant, Sensor, simulate
from tests.helpers import run

yaml = pytest.importorskip("yaml", reason="needs the extra all-tests")
rosbag2 = pytest.importorskip("rosbags.rosbag2", reason="needs the extra rosbag")
STORAGES = ["SQLITE3", "MCAP"]
STATE = "sensor_msgs/msg/JointState"


@pytest.fixture(scope="module")
def store() -> Any:
    from rosbags.typesys import Stores, get_typestore

    return get_typestore(Stores.ROS2_HUMBLE)


def header(store: Any, seconds: float, frame: str = "base") -> Any:
    nanoseconds = round(seconds * 1e9)
    time = store.types["builtin_interfaces/msg/Time"](sec=nanoseconds // 10**9, nanosec=nanoseconds % 10**9)
    return store.types["std_msgs/msg/Header"](stamp=time, frame_id=frame)


def state(store: Any, stamp: float, names: Sequence[str], *values: np.ndarray, frame: str = "base") -> Any:
    return store.types[STATE](header(store, stamp, frame), list(names), *(np.asarray(v, dtype=float) for v in values))


def bag(
    store: Any, path: Path, messages: Iterable[tuple[float, Any]], topics: Sequence[str] = ("/joint_states",),
    storage: str = "MCAP", compressed: bool = False,
) -> Path:  # fmt: skip
    """The same messages, each with the time of recording [s], on every topic."""
    writer = rosbag2.Writer(path, version=9, storage_plugin=getattr(rosbag2.StoragePlugin, storage))
    if compressed:
        writer.set_compression(rosbag2.CompressionMode.STORAGE, rosbag2.CompressionFormat.ZSTD)
    with writer:
        connections = [writer.add_connection(topic, STATE, typestore=store) for topic in topics]
        other = writer.add_connection("/rosout", "std_msgs/msg/String", typestore=store)
        text = store.serialize_cdr(store.types["std_msgs/msg/String"]("text"), "std_msgs/msg/String")
        for stamp, message in messages:
            for connection in connections:
                writer.write(connection, round(stamp * 1e9), store.serialize_cdr(message, STATE))
            writer.write(other, round(stamp * 1e9), text)
    return path


def test_bags_find_their_topic_and_their_clock(store: Any, tmp_path: Path) -> None:
    def messages(stamped: bool) -> list[tuple[float, Any]]:
        values = [([k, -k], [0, 0], [0.5 * k, 0.25 * k]) for k in range(30)]
        return [(1 + 0.1 * k, state(store, 0.1 * k * stamped, "ba", *v)) for k, v in enumerate(values)]

    data = read_dataset(bag(store, tmp_path / "two", messages(True), ("/joint_states", "/gripper")))
    assert data.joints == ("a", "b")
    np.testing.assert_allclose(data.q[:, 0], -np.arange(30.0))
    np.testing.assert_allclose(data.tau[:, 1], 0.5 * np.arange(30))
    for stamped, topic in ((True, "/joint_states"), (False, "/arm/state")):
        made = read_dataset(bag(store, tmp_path / f"other{stamped}", messages(stamped), (topic,)))
        np.testing.assert_allclose(made.t, 0.1 * np.arange(30))
    none = bag(store, tmp_path / "none", messages(True), ("/left", "/right"))
    with pytest.raises(DatasetError, match=r"name the topic.*: /left, /right"):
        read_dataset(none)
    assert len(read_dataset(none, topic="/left")) == 30
    for path, topic, message in (
        (none, "/middle", "no joint states on topic '/middle'"), (tmp_path / "absent.mcap", None, "no such file"),
    ):  # fmt: skip
        with pytest.raises(DatasetError, match=message):
            read_dataset(path, topic=topic)


@pytest.mark.claim("compressed chunks of a bag cannot unpack without end")
def test_what_a_bag_holds_or_unpacks_to_is_counted(store: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    large = state(store, 0.0, "a", [0], [0], [0], frame="x" * 2**23)
    path = bag(store, tmp_path / "bag", [(0.0, large)], compressed=True)
    assert sum(file.stat().st_size for file in path.iterdir()) < 2**16
    (tmp_path / "r.mcap").write_bytes(bytes(2**20 + 1))
    monkeypatch.setenv("CASID_MAX_BYTES", str(2**20))
    for file in (path, tmp_path / "r.mcap"):
        with pytest.raises(DatasetError, match="more than 1 MiB; set CASID_MAX_BYTES"):
            read_dataset(file)


@pytest.mark.parametrize("storage", STORAGES)
def test_joint_states_of_a_bag_are_the_recording(store: Any, storage: str, tmp_path: Path) -> None:
    """Drivers need not keep an order of the joints; the bag's clock is late, the header's counts."""
    names = np.array([joint.name for joint in casid.load_robot("panda").joints])
    rng = np.random.default_rng(3)
    t = 100.0 + np.arange(60) / 50
    q, dq, tau = rng.standard_normal((3, 60, 7))
    orders = [rng.permutation(7) for _ in t]
    messages = [
        (s + 0.007, state(store, s, names[order], q[k][order], dq[k][order], tau[k][order]))
        for k, (s, order) in enumerate(zip(t, orders, strict=True))
    ]
    data = read_dataset(bag(store, tmp_path / "bag", messages, storage=storage))
    np.testing.assert_allclose(data.t - data.t[0], t - t[0], atol=1e-9)
    for got, expected in ((data.q, q), (data.dq, dq), (data.tau, tau)):
        np.testing.assert_array_equal(got, expected)


@pytest.mark.slow
def test_a_bag_is_identified_from_the_command_line(store: Any, tmp_path: Path) -> None:
    plant = Plant.of(casid.load_robot("panda"), viscous=0.5)
    names = [joint.name for joint in plant.model.robot.joints]
    law = ComputedTorque(*nominal(plant.model.robot), kp=100, kd=20)
    made = simulate(plant, law, Sine.within(plant.model.robot), 8.0, rate=200, sensor=Sensor(torque=0.05)).dataset()
    rows = zip(made.t, made.q, made.dq, made.tau, strict=True)
    path = bag(store, tmp_path / "bag", [(s, state(store, s, names, *values)) for s, *values in rows])
    run("identify", "panda", path, "--terms", "viscous", "--no-believable", "--out", tmp_path / "result")
    assert (tmp_path / "result" / "parameters.csv").is_file()


def test_a_joint_trajectory_is_a_message_that_bags_carry(store: Any, tmp_path: Path) -> None:
    basis = Fourier(1.0, 3)
    coefficients = 0.1 * np.random.default_rng(0).standard_normal((2, basis.size))
    motion = Trajectory(basis, coefficients, ("shoulder: left", "elbow"))
    text = yaml.safe_load(trajectory_text(motion, "ros2", 20.0))
    known, kind = store.types, "trajectory_msgs/msg/JointTrajectory"
    points = [
        known["trajectory_msgs/msg/JointTrajectoryPoint"](
            *(np.array(point[name]) for name in ("positions", "velocities", "accelerations")), np.zeros(0),
            known["builtin_interfaces/msg/Duration"](**point["time_from_start"]),
        )
        for point in text["points"]
    ]  # fmt: skip
    message = known[kind](header(store, 0.0), text["joint_names"], points)
    back = store.deserialize_cdr(store.serialize_cdr(message, kind), kind)
    assert list(back.joint_names) == ["shoulder: left", "elbow"]
    t = np.array([p.time_from_start.sec + 1e-9 * p.time_from_start.nanosec for p in back.points])
    expected = motion.motion(t + motion.times(20.0)[0])
    for name, values in zip(("positions", "velocities", "accelerations"), expected, strict=True):
        np.testing.assert_allclose([getattr(p, name) for p in back.points], values, rtol=1e-8, atol=1e-8)
