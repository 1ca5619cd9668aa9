"""``sensor_msgs/JointState`` of rosbag2 and MCAP files, through the package ``rosbags`` (extra ``rosbag``)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from casid.errors import DatasetError
from casid.measurement.dataset import Array

_TYPE = "sensor_msgs/msg/JointState"


def read_joint_states(path: Path, topic: str | None) -> dict[str, Array]:
    """Arrays t, q, dq, tau of all messages of one topic; joints in alphabetical order of the first message's names.

    Raises
    ------
    DatasetError
        If ``rosbags`` is missing, the file cannot be read, or the topic is unknown or ambiguous.
    """
    try:
        from rosbags.highlevel import AnyReader
        from rosbags.typesys import Stores, get_typestore
    except ImportError:
        raise DatasetError(
            f"'{path.name}': reading bags needs the package rosbags: pip install casid[rosbag]"
        ) from None
    try:
        with AnyReader([path], default_typestore=get_typestore(Stores.LATEST)) as reader:
            topics = {c.topic for c in reader.connections if c.msgtype == _TYPE}
            if topic is None and len(topics) != 1:
                listed = ", ".join(sorted(topics)) or "none"
                raise DatasetError(f"'{path.name}': name the topic of the joint states; topics of that type: {listed}")
            chosen = topic or topics.pop()
            if topic is not None and topic not in topics:
                raise DatasetError(
                    f"'{path.name}': no joint states on topic '{topic}'; there are: {', '.join(sorted(topics))}"
                )
            connections = [c for c in reader.connections if c.topic == chosen]
            messages = [reader.deserialize(raw, c.msgtype) for c, _, raw in reader.messages(connections)]
    except DatasetError:
        raise
    except Exception as error:  # rosbags raises its own tree, differing between versions
        raise DatasetError(f"cannot read '{path}': {error}") from error
    if not messages:
        raise DatasetError(f"'{path.name}': topic '{chosen}' has no messages")
    return _stack(messages, path.name)


def _stack(messages: list[Any], where: str) -> dict[str, Array]:
    names = sorted(messages[0].name)
    rows: dict[str, list[list[float]]] = {"position": [], "velocity": [], "effort": []}
    stamps = []
    for k, message in enumerate(messages):
        if sorted(message.name) != names:
            raise DatasetError(f"'{where}': message {k} names other joints than the first: {', '.join(message.name)}")
        order = [list(message.name).index(name) for name in names]
        stamps.append(message.header.stamp.sec + 1e-9 * message.header.stamp.nanosec)
        for field, values in rows.items():
            given = getattr(message, field)
            if len(given):
                values.append([float(given[i]) for i in order])
    arrays: dict[str, Array] = {"t": np.array(stamps) - stamps[0]}
    for field, key in (("position", "q"), ("velocity", "dq"), ("effort", "tau")):
        if len(rows[field]) == len(messages):
            arrays[key] = np.array(rows[field])
    return arrays
