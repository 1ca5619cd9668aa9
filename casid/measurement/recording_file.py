"""A TOML that says how another file is to be read::

    file = "recording.npz"                # beside the TOML file
    columns = { t = "clock", tau = "current" }
    time_scale = 0.001
    gains = [10.0, 10.7, 8.5, 9.0, 9.5, 10.1]   # N.m/A

Any option of `read_dataset` may stand in it, and a table ``[options]`` of the commands that take the recording.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from casid.errors import DatasetError
from casid.files._table import Table
from casid.files._texts import read_toml

#: Option -> how it is taken from the table.
_OPTIONS: dict[str, Callable[[Table, str], Any]] = {
    "columns": lambda table, key: _texts(table, key),
    "rate": lambda table, key: table.number(key),
    "time_scale": lambda table, key: table.number(key),
    "degrees": lambda table, key: table.flag(key),
    "gains": lambda table, key: table.numbers(key),
    "transmission": lambda table, key: _square(table, key),
    "position_offset": lambda table, key: table.numbers(key),
    "unwrap": lambda table, key: table.flag(key),
    "rows": lambda table, key: _pair(table, key),
    "between": lambda table, key: table.array(key, (2,), entries="first, last").tolist(),
    "topic": lambda table, key: table.text(key),
    "name": lambda table, key: table.text(key),
}


def read_description(path: Path) -> tuple[Path, dict[str, Any]]:
    """Path of the recording that a TOML file describes, and the options that it gives.

    Raises
    ------
    DatasetError
        Naming the file and the key.
    """
    table = Table(read_toml(path, "recording", DatasetError), path.name, ("file", "options", *_OPTIONS))
    if "file" not in table:
        table.fail("missing key 'file', the recording it describes")
    file = path.parent / table.text("file")
    if file.suffix == ".toml":
        table.fail("key 'file': a recording is described by one TOML file, not by a chain of them")
    return file, {key: read(table, key) for key, read in _OPTIONS.items() if key in table}


def _texts(table: Table, key: str) -> dict[str, str]:
    value = table.data[key]
    names = table.table(key, value if isinstance(value, dict) else ())
    assert names is not None
    return {name: names.text(name) for name in names.data}


def _pair(table: Table, key: str) -> tuple[int, int]:
    first, last = table.array(key, (2,), entries="first, last")
    if not (first.is_integer() and last.is_integer() and 0 <= first < last):
        table.fail(f"key '{key}': expected two whole numbers, the first below the second")
    return int(first), int(last)


def _square(table: Table, key: str) -> list[list[float]]:
    value = table.data[key]
    count = len(value) if isinstance(value, list) else 1
    rows: list[list[float]] = table.array(key, (count, count)).tolist()
    return rows
