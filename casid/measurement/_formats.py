"""Formats of recordings: each turns a file into named arrays. A new format is one more class in `FORMATS`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from casid import _annexes
from casid.arrays import Array
from casid.errors import DatasetError
from casid.files import (
    data_limit,
    exists,
    gunzip,
    listed,
    matlab_arrays,
    npz_arrays,
    read_bytes,
    reason,
    shown,
    too_large,
)
from casid.measurement._columns import Columns
from casid.measurement._text import TextLayout, find_layout, read_cells

_WHAT = "recording"


class RecordingFormat(Protocol):
    """How files of one kind are read."""

    #: How a message names it, e.g. ``.npz``.
    name: str

    def accepts(self, path: Path) -> bool:
        """Whether a path looks like this format."""

    def read(self, path: Path, topic: str | None) -> Columns:
        """Arrays of the file; `DatasetError` if it cannot be read."""


@dataclass
class Arrays:
    """Files of named arrays: NumPy archives, MATLAB files up to version 7.2."""

    name: str
    unpack: Callable[[bytes, str, str, type[DatasetError]], dict[str, Array]]

    def accepts(self, path: Path) -> bool:
        """By the ending."""
        return path.suffix == self.name

    def read(self, path: Path, topic: str | None) -> Columns:
        """All arrays of the file."""
        content = read_bytes(path, _WHAT, DatasetError, data_limit())
        return Columns(self.unpack(content, str(path), _WHAT, DatasetError))


class Text:
    """Text tables of any layout; may be gzipped. Files of other endings are read as one too, but not taken for one."""

    name = ".csv, .csv.gz"

    def accepts(self, path: Path) -> bool:
        """By the ending."""
        return path.suffix in (".csv", ".tsv") or path.name.endswith((".csv.gz", ".tsv.gz"))

    def read(self, path: Path, topic: str | None, layout: TextLayout | None = None) -> Columns:
        """Columns by name, in the layout that is given or found."""
        content = text_content(path)
        layout, found = find_layout(content, path.name) if layout is None else (layout, ())
        cells, notes = read_cells(content, layout, path.name)
        return Columns({}, cells=cells, notes=notes, layout=layout, evidence=found)


class OfAnnexes:
    """What annexes read; they are loaded where no format before this one fits."""

    name = ".pt, .parquet or a LeRobot folder"

    def accepts(self, path: Path) -> bool:
        """As one of the formats."""
        return path.suffix not in Bag.suffixes and any(form.accepts(path) for form in _annexes.files())

    def read(self, path: Path, topic: str | None) -> Columns:
        """By the first format that accepts it."""
        form: RecordingFormat = next(form for form in _annexes.files() if form.accepts(path))
        return form.read(path, topic)


class Bag:
    """``sensor_msgs/JointState`` of rosbag2 folders and files and MCAP, through the package ``rosbags``."""

    name = ".mcap, .db3 or a rosbag2 folder"
    suffixes = (".mcap", ".db3")

    def accepts(self, path: Path) -> bool:
        """By the ending; every folder counts as a bag."""
        try:
            return path.is_dir() or path.suffix in self.suffixes
        except OSError:  # a name too long for the file system: the reader of files reports it
            return False

    def read(self, path: Path, topic: str | None) -> Columns:
        """Signals of one topic: the given or the only one, or ``/joint_states``; joints in alphabetical order."""
        if path.is_dir() and not (path / "metadata.yaml").is_file():
            hint = f"; name a file in it, {path / 'recording.npz'}" if (path / "recording.npz").is_file() else ""
            raise DatasetError(f"cannot read recording '{path}': a folder without metadata.yaml is no rosbag2{hint}")
        if not exists(path):
            raise DatasetError(f"cannot read recording '{path}': no such file or directory")
        try:
            import rosbags.highlevel  # noqa: F401
        except ImportError:
            raise DatasetError(
                f"'{path.name}': reading bags needs the package rosbags: pip install casid[rosbag]"
            ) from None
        try:
            messages = _messages(path, topic)
        except DatasetError:
            raise
        except (MemoryError, OverflowError):  # asked for in one piece
            raise DatasetError(
                f"cannot read recording '{path}': it is damaged: a length in it is beyond the file"
            ) from None
        except Exception as error:  # rosbags raises its own tree, differing between versions
            raise DatasetError(f"cannot read recording '{path}': {reason(error)}") from None
        arrays, joints = _stacked(messages, path.name)
        return Columns(arrays, {name: joints for name in arrays if name != "t"})


#: Formats in the order in which they are tried.
FORMATS: tuple[RecordingFormat, ...] = (
    Arrays(".npz", npz_arrays), Text(), Arrays(".mat", matlab_arrays), OfAnnexes(), Bag(),
)  # fmt: skip


def read_columns(path: Path, topic: str | None = None, layout: TextLayout | None = None) -> Columns:
    """Arrays of a recording of any format, or columns of a text table.

    Parameters
    ----------
    layout
        Of a text table; found by default.

    Raises
    ------
    DatasetError
        If the file is of no known format, or it cannot be read.
    """
    form = None if layout is not None else next((one for one in FORMATS if one.accepts(path)), None)
    if form is not None:
        return form.read(path, topic)
    try:
        return Text().read(path, topic, layout)
    except DatasetError as error:
        if layout is not None or not exists(path):
            raise
        known = ", ".join(one.name for one in FORMATS)
        raise DatasetError(f"{error}; recordings are {known}, another text table, or a .toml about one") from None


def text_content(path: Path) -> bytes:
    """Bytes of a text table, unpacked."""
    content = read_bytes(path, _WHAT, DatasetError, data_limit())
    return gunzip(content, str(path), _WHAT, DatasetError) if path.suffix == ".gz" else content


# ---------------------------------------------------------------------- joint states of bags

_TYPE = "sensor_msgs/msg/JointState"
#: Signal -> field of these messages.
_FIELDS = {"q": "position", "dq": "velocity", "tau": "effort"}
#: The topic on which robots publish their state, the default.
_USUAL = "/joint_states"


def _messages(path: Path, topic: str | None) -> list[tuple[int, Any]]:
    """Times of recording [ns] and joint states of one topic; the bytes of all together stay below the limit."""
    from rosbags.highlevel import AnyReader
    from rosbags.typesys import Stores, get_typestore

    files = [file for file in (path.iterdir() if path.is_dir() else [path]) if file.is_file()]
    _check_size(sum(file.stat().st_size for file in files), path)
    with AnyReader([path], default_typestore=get_typestore(Stores.LATEST)) as reader:
        counts: dict[str, int] = {}
        for one in reader.connections:
            if one.msgtype == _TYPE:
                counts[one.topic] = counts.get(one.topic, 0) + one.msgcount
        chosen = _topic(counts, topic, path.name)
        messages, size = [], 0
        for connection, stamp, raw in reader.messages([one for one in reader.connections if one.topic == chosen]):
            size += len(raw)
            _check_size(size, path)
            messages.append((stamp, reader.deserialize(raw, connection.msgtype)))
    if not messages:
        raise DatasetError(f"'{path.name}': topic '{chosen}' has no messages")
    return messages


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


def _stacked(messages: Sequence[tuple[int, Any]], where: str) -> tuple[dict[str, Array], tuple[str, ...]]:
    """Arrays t, q, dq, tau of all messages, those that each of them has, and the names of the joints."""
    names = sorted(messages[0][1].name)
    if not names or len(set(names)) != len(names):
        raise DatasetError(f"'{where}': message 0 must name each joint once, it names: {listed(names)}")
    rows: dict[str, list[list[float]]] = {key: [] for key in _FIELDS}
    stamps = []
    for k, (logged, message) in enumerate(messages):
        if sorted(message.name) != names:
            raise DatasetError(f"'{where}': message {k} names other joints than the first: {listed(message.name)}")
        order = [list(message.name).index(name) for name in names]
        stamp = message.header.stamp
        stamps.append((stamp.sec * 10**9 + stamp.nanosec, logged))
        for key, field in _FIELDS.items():
            given = getattr(message, field)
            if len(given) not in (0, len(names)):
                raise DatasetError(f"'{where}': message {k} has {len(given)} values of {field} for {len(names)} joints")
            if len(given):
                rows[key].append([float(given[i]) for i in order])
    source = 0 if any(stamp for stamp, _ in stamps) else 1  # drivers that do not stamp: the time of recording
    first = stamps[0][source]
    arrays: dict[str, Array] = {"t": np.array([1e-9 * float(stamp[source] - first) for stamp in stamps])}
    arrays |= {key: np.array(values) for key, values in rows.items() if len(values) == len(messages)}
    return arrays, tuple(names)
