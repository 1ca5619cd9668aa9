"""Files that results are written to."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

from casid.errors import ExportError
from casid.files import csv_bytes, json_bytes, prepare_directory, write_files


def test_files_are_written_completely_or_not_at_all(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("old")
    written = write_files(tmp_path, {"a.txt": b"new", "b.txt": b"more"})
    assert [path.name for path in written] == ["a.txt", "b.txt"]
    assert (tmp_path / "a.txt").read_text() == "new"
    (tmp_path / "b.txt").unlink()
    with pytest.raises(ExportError, match="cannot write"):
        write_files(tmp_path, {"a.txt": b"newer", "a.txt/b.txt": b"more"})
    assert (tmp_path / "a.txt").read_text() == "new"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.txt"]


def test_output_folder_that_is_a_file_or_lies_in_one_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("")
    for path in (file, file / "below"):
        with pytest.raises(ExportError, match=re.escape(str(path))):
            prepare_directory(path)
    assert prepare_directory(tmp_path / "a" / "b").is_dir()
    assert not list((tmp_path / "a" / "b").iterdir())


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_numbers_that_are_not_finite_never_reach_a_file(value: float) -> None:
    with pytest.raises(ExportError, match=r"links\.link1\.mass\[1\]"):
        json_bytes({"links": {"link1": {"mass": np.array([1.0, value])}}})
    with pytest.raises(ExportError, match="row 2, column 'm'"):
        csv_bytes(["name", "m"], [("a", 1.0), ("b", np.float64(value))])


def test_json_and_csv_keep_every_digit() -> None:
    numbers = np.random.default_rng(1).normal(size=20)
    assert json.loads(json_bytes({"x": numbers, "n": np.int64(3), "none": None})) == {
        "x": numbers.tolist(), "n": 3, "none": None,
    }  # fmt: skip
    lines = csv_bytes(["x"], [(x,) for x in numbers]).decode().splitlines()
    assert [float(line) for line in lines[1:]] == numbers.tolist()
