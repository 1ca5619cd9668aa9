"""Sets of files: all or nothing."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from casid.errors import ExportError
from casid.files import write_directory, write_files


def test_a_set_of_files_appears_whole_or_not_at_all(tmp_path: Path) -> None:
    with pytest.raises(ExportError, match="cannot write"):
        write_files(tmp_path / "none", {"a": b""})
    (tmp_path / "b").mkdir()  # a file cannot be renamed onto a folder
    with pytest.raises(ExportError):
        write_files(tmp_path, {"a": b"", "b": b""})
    with pytest.raises(ExportError):
        write_files(tmp_path, {"a": b"", "c\0": b""})
    assert [path.name for path in tmp_path.iterdir()] == ["b"]
    write_directory(tmp_path / "out", {"a.txt": "ä", "src/b.txt": b"b"})
    assert (tmp_path / "out" / "src" / "b.txt").read_bytes() == b"b"
    with pytest.raises(ExportError, match="not empty"):
        write_directory(tmp_path / "out", {"a.txt": "x"})
    write_directory(tmp_path / "out", {"a.txt": "x"}, overwrite=True)
    assert (tmp_path / "out" / "a.txt").read_text() == "x"
    assert json.dumps(sorted(p.name for p in tmp_path.iterdir())) == '["b", "out"]'
    with pytest.raises(ExportError, match="cannot be written"):
        write_directory(tmp_path / "out" / "a.txt" / "x", {"a": b""})
