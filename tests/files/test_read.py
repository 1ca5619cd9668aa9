"""Bytes and text of files, within limits."""

from __future__ import annotations

import gzip
import io
import zipfile
from pathlib import Path

import pytest

from casid.errors import DatasetError, RobotError
from casid.files._read import gunzip, read_bytes, read_text, unzip

MEBIBYTE = 2**20


def zipped(members: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return buffer.getvalue()


def test_only_regular_files_within_the_limit_are_read(tmp_path: Path) -> None:
    for path, words in ((tmp_path, "is a folder"), (tmp_path / "none", "no such file"), ("a\0b", "null")):
        with pytest.raises(RobotError, match=f"(?i){words}"):
            read_bytes(path, "robot file", RobotError)
    (tmp_path / "large").write_bytes(b"x" * 101)
    assert len(read_bytes(tmp_path / "large", "file", RobotError, limit=101)) == 101
    with pytest.raises(RobotError, match="holds more than"):
        read_bytes(tmp_path / "large", "file", RobotError, limit=100)
    (tmp_path / "marked").write_bytes("\ufeffä".encode())
    assert read_text(tmp_path / "marked", "file", RobotError) == "ä"


@pytest.mark.claim("gzip and zip bombs are refused while they are unpacked")
def test_bombs_are_refused_on_the_way() -> None:
    bomb = gzip.compress(bytes(64 * MEBIBYTE))
    with pytest.raises(DatasetError, match=r"run.csv.gz.*more than 8 MiB"):
        gunzip(bomb, "run.csv.gz", "recording", DatasetError, limit=8 * MEBIBYTE)
    assert gunzip(gzip.compress(b"a") + gzip.compress(b"b"), "x", "x", DatasetError) == b"ab"
    archive = zipped({"q.npy": bytes(64 * MEBIBYTE)})
    with pytest.raises(DatasetError, match=r"run.npz.*more than 8 MiB"):
        unzip(archive, "run.npz", "recording", DatasetError, limit=8 * MEBIBYTE)
    small = zipped({"a": b"1", "b": b"22"})
    assert unzip(small, "x", "x", DatasetError) == {"a": b"1", "b": b"22"}
