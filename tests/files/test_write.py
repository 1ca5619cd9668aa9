"""What is written: all or nothing, finite numbers with all their digits."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

from casid.errors import ExportError
from casid.files import csv_bytes, json_bytes, prepare_directory, write_directory, write_files


def test_a_set_of_files_appears_whole_or_not_at_all(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("old")
    assert [path.name for path in write_files(tmp_path, {"a": b"new", "c": b"more"})] == ["a", "c"]
    (tmp_path / "b").mkdir()  # a file cannot be renamed onto a folder
    for contents in ({"a": b"newer", "b": b""}, {"a": b"newer", "d\0": b""}):
        with pytest.raises(ExportError, match="cannot write"):
            write_files(tmp_path, contents)
    assert (tmp_path / "a").read_text() == "new" and sorted(p.name for p in tmp_path.iterdir()) == ["a", "b", "c"]


def test_a_folder_appears_whole_and_is_not_overwritten_unasked(tmp_path: Path) -> None:
    write_directory(tmp_path / "out", {"a.txt": "ä", "src/b.txt": b"b"})
    assert (tmp_path / "out" / "src" / "b.txt").read_bytes() == b"b"
    with pytest.raises(ExportError, match="not empty"):
        write_directory(tmp_path / "out", {"a.txt": "x"})
    write_directory(tmp_path / "out", {"a.txt": "x"}, overwrite=True)
    assert (tmp_path / "out" / "a.txt").read_text() == "x" and [p.name for p in tmp_path.iterdir()] == ["out"]
    with pytest.raises(ExportError, match="cannot be written"):
        write_directory(tmp_path / "out" / "a.txt" / "x", {"a": b""})
    for path in (tmp_path / "out" / "a.txt", tmp_path / "out" / "a.txt" / "below"):
        with pytest.raises(ExportError, match=re.escape(str(path))):
            prepare_directory(path)
    assert prepare_directory(tmp_path / "a" / "b").is_dir() and not list((tmp_path / "a" / "b").iterdir())


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_numbers_that_are_not_finite_never_reach_a_file(value: float) -> None:
    with pytest.raises(ExportError, match=r"links\.link1\.mass\[1\]"):
        json_bytes({"links": {"link1": {"mass": np.array([1.0, value])}}})
    with pytest.raises(ExportError, match="row 2, column 'm'"):
        csv_bytes(["name", "m"], [("a", 1.0), ("b", np.float64(value))])


def test_json_and_csv_keep_every_digit() -> None:
    numbers = np.random.default_rng(1).normal(size=20)
    read = json.loads(json_bytes({"x": numbers, "n": np.int64(3), "none": None}))
    assert read == {"x": numbers.tolist(), "n": 3, "none": None}
    lines = csv_bytes(["x"], [(x,) for x in numbers]).decode().splitlines()
    assert [float(line) for line in lines[1:]] == numbers.tolist()
