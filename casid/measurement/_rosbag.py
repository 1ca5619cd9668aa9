"""``sensor_msgs/JointState`` of rosbag2 and MCAP files, through the package ``rosbags`` (extra ``rosbag``)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from casid.arrays import Array
from casid.errors import DatasetError
from casid.files import data_limit, listed, reason, shown, too_large

_TYPE = "sensor_msgs/msg/JointState"
#: The topic on which robots publish their state, the default.
_USUAL = "/joint_states"


def read_joint_states(path: Path, topic: str | None) -> tuple[dict[str, Array], tuple[str, ...]]:
    """Arrays t, q, dq, tau of all messages of one topic, and the names of the joints, in alphabetical order.

    Parameters
    ----------
    path
        File or folder.
    topic
        By default the only topic of joint states that has messages, else ``/joint_states`` where it is one of several.

    Raises
    ------
    DatasetError
        If ``rosbags`` is missing, the file cannot be read, or the topic is unknown or ambiguous.
    """
    if path.is_dir() and not (path / "metadata.yaml").is_file():
        hint = f"; name a file in it, {path / 'recording.npz'}" if (path / "recording.npz").is_file() else ""
        raise DatasetError(f"cannot read recording '{path}': a folder without metadata.yaml is no rosbag2{hint}")
    try:
        from rosbags.highlevel import AnyReader
        from rosbags.typesys import Stores, get_typestore
    except ImportError:
        raise DatasetError(
            f"'{path.name}': reading bags needs the package rosbags: pip install casid[rosbag]"
        ) from None
    try:
        if not path.exists():
            raise DatasetError(f"cannot read recording '{path}': no such file or directory")
        files = [file for file in (path.iterdir() if path.is_dir() else [path]) if file.is_file()]
        _check_size(sum(file.stat().st_size for file in files), path)
        with AnyReader([path], default_typestore=get_typestore(Stores.LATEST)) as reader:
            counts: dict[str, int] = {}
            for c in reader.connections:
                if c.msgtype == _TYPE:
                    counts[c.topic] = counts.get(c.topic, 0) + c.msgcount
            chosen = _topic(counts, topic, path.name)
            connections = [c for c in reader.connections if c.topic == chosen]
            messages, size = [], 0
            for connection, stamp, raw in reader.messages(connections):
                size += len(raw)
                _check_size(size, path)
                messages.append((stamp, reader.deserialize(raw, connection.msgtype)))
        if not messages:
            raise DatasetError(f"'{path.name}': topic '{chosen}' has no messages")
        return _stack(messages, path.name)
    except DatasetError:
        raise
    except (MemoryError, OverflowError):  # asked for in one piece
        raise DatasetError(
            f"cannot read recording '{path}': it is damaged: a length in it is beyond the file"
        ) from None
    except Exception as error:  # rosbags raises its own tree, differing between versions
        raise DatasetError(f"cannot read recording '{path}': {reason(error)}") from None


def _check_size(size: int, path: Path) -> None:
    """Refuse a bag whose files, or what they unpack to, are beyond the limit of recordings."""
    if size > data_limit():
        raise DatasetError(f"cannot read recording '{path}': {too_large(data_limit())}")


def _topic(counts: Mapping[str, int], wanted: str | None, where: str) -> str:
    known = listed(sorted(counts))
    if wanted is not None:
        if wanted not in counts:
            raise DatasetError(f"'{where}': no joint states on topic {shown(wanted)}; there are: {known}")
        return wanted
    filled = [topic for topic, count in counts.items() if count] or list(counts)
    if len(filled) == 1:
        return filled[0]
    if _USUAL in filled:
        return _USUAL
    raise DatasetError(f"'{where}': name the topic of the joint states (topic); topics of that type: {known}")


def _stack(messages: Sequence[tuple[int, Any]], where: str) -> tuple[dict[str, Array], tuple[str, ...]]:
    names = sorted(messages[0][1].name)
    if not names or len(set(names)) != len(names):
        raise DatasetError(f"'{where}': message 0 must name each joint once, it names: {listed(names)}")
    rows: dict[str, list[list[float]]] = {"position": [], "velocity": [], "effort": []}
    stamps = []
    for k, (logged, message) in enumerate(messages):
        if sorted(message.name) != names:
            raise DatasetError(f"'{where}': message {k} names other joints than the first: {listed(message.name)}")
        order = [list(message.name).index(name) for name in names]
        stamp = message.header.stamp
        stamps.append((stamp.sec * 10**9 + stamp.nanosec, logged))
        for field, values in rows.items():
            given = getattr(message, field)
            if len(given) not in (0, len(names)):
                raise DatasetError(f"'{where}': message {k} has {len(given)} values of {field} for {len(names)} joints")
            if len(given):
                values.append([float(given[i]) for i in order])
    source = 0 if any(stamp for stamp, _ in stamps) else 1  # drivers that do not stamp: the time of recording
    first = stamps[0][source]
    arrays: dict[str, Array] = {"t": np.array([1e-9 * float(stamp[source] - first) for stamp in stamps])}
    for field, key in (("position", "q"), ("velocity", "dq"), ("effort", "tau")):
        if len(rows[field]) == len(messages):
            arrays[key] = np.array(rows[field])
    return arrays, tuple(names)
