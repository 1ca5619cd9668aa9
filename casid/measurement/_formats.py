"""Formats of recordings: each turns a file into named arrays. A new format is one more class in `FORMATS`."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from casid.errors import DatasetError
from casid.files import data_limit, gunzip, matlab_arrays, npz_arrays, read_bytes
from casid.measurement._columns import Columns
from casid.measurement._layout import find_layout
from casid.measurement._learning_files import LeRobot, TorchFile
from casid.measurement._rosbag import read_joint_states
from casid.measurement._text import TextLayout, read_cells

_WHAT = "recording"


class RecordingFormat(Protocol):
    """How files of one kind are read."""

    #: How a message names it, e.g. ``.npz``.
    name: str

    def accepts(self, path: Path) -> bool:
        """Whether a path looks like this format."""

    def read(self, path: Path, topic: str | None) -> Columns:
        """Arrays of the file; `DatasetError` if it cannot be read."""


class Npz:
    """NumPy archives."""

    name = ".npz"

    def accepts(self, path: Path) -> bool:
        """By the ending."""
        return path.suffix == ".npz"

    def read(self, path: Path, topic: str | None) -> Columns:
        """All arrays of the archive."""
        content = read_bytes(path, _WHAT, DatasetError, data_limit())
        return Columns(npz_arrays(content, str(path), _WHAT, DatasetError))


class Mat:
    """MATLAB files up to version 7.2."""

    name = ".mat"

    def accepts(self, path: Path) -> bool:
        """By the ending."""
        return path.suffix == ".mat"

    def read(self, path: Path, topic: str | None) -> Columns:
        """All numeric variables."""
        content = read_bytes(path, _WHAT, DatasetError, data_limit())
        return Columns(matlab_arrays(content, str(path), _WHAT, DatasetError))


class Text:
    """Text tables of any layout; may be gzipped. Files of other endings are read as one too, but not taken for one."""

    name = ".csv, .csv.gz"

    def accepts(self, path: Path) -> bool:
        """By the ending."""
        return path.suffix in (".csv", ".tsv") or path.name.endswith((".csv.gz", ".tsv.gz"))

    def read(self, path: Path, topic: str | None, layout: TextLayout | None = None) -> Columns:
        """Columns by name, in the layout that is given or found."""
        content = text_content(path)
        found: tuple[tuple[str, str, str], ...] = ()
        if layout is None:
            layout, found = find_layout(content, path.name)
        cells, notes = read_cells(content, layout, path.name)
        return Columns({}, cells=cells, notes=notes, layout=layout, evidence=found)


class Bag:
    """rosbag2 folders and files, MCAP."""

    name = ".mcap, .db3 or a rosbag2 folder"

    def accepts(self, path: Path) -> bool:
        """By the ending; every folder counts as a bag."""
        try:
            return path.is_dir() or path.suffix in (".mcap", ".db3")
        except OSError:  # a name too long for the file system: the reader of files reports it
            return False

    def read(self, path: Path, topic: str | None) -> Columns:
        """Joint states of one topic."""
        arrays, joints = read_joint_states(path, topic)
        return Columns(arrays, {name: joints for name in arrays if name != "t"})


#: Formats in the order in which they are tried.
FORMATS: tuple[RecordingFormat, ...] = (Npz(), Text(), Mat(), TorchFile(), LeRobot(), Bag())


def is_recording(path: Path) -> bool:
    """Whether a path looks like a recording of a known format."""
    return any(one.accepts(path) for one in FORMATS)


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
        if layout is not None or not path.exists():
            raise
        known = ", ".join(one.name for one in FORMATS)
        raise DatasetError(f"{error}; recordings are {known}, another text table, or a .toml about one") from None


def text_content(path: Path) -> bytes:
    """Bytes of a text table, unpacked."""
    content = read_bytes(path, _WHAT, DatasetError, data_limit())
    return gunzip(content, str(path), _WHAT, DatasetError) if path.suffix == ".gz" else content
