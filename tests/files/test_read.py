"""Bytes, text and arrays of files, within limits: nothing is allocated before the data are there."""

from __future__ import annotations

import gzip
import io
import zipfile
from pathlib import Path

import numpy as np
import pytest
from scipy.io import savemat

from casid.errors import DatasetError, RobotError
from casid.files import (
    finite_number,
    gunzip,
    matlab_arrays,
    npy_array,
    npz_arrays,
    numeric_array,
    read_bytes,
    read_text,
    unzip,
)

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
def test_bombs_are_refused_on_the_way(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CASID_MAX_BYTES", str(8 * MEBIBYTE))
    bomb = gzip.compress(bytes(64 * MEBIBYTE))
    with pytest.raises(DatasetError, match=r"run.csv.gz.*more than 8 MiB"):
        gunzip(bomb, "run.csv.gz", "recording", DatasetError)
    assert gunzip(gzip.compress(b"a") + gzip.compress(b"b"), "x", "x", DatasetError) == b"ab"
    archive = zipped({"q.npy": bytes(64 * MEBIBYTE)})
    with pytest.raises(DatasetError, match=r"run.npz.*more than 8 MiB"):
        unzip(archive, "run.npz", "recording", DatasetError)
    small = zipped({"a": b"1", "b": b"22"})
    assert unzip(small, "x", "x", DatasetError) == {"a": b"1", "b": b"22"}


def npy(array: np.ndarray) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, array)
    return buffer.getvalue()


@pytest.mark.claim("an announced size takes no memory: of npy headers, and of MATLAB variables that are compressed")
def test_sizes_are_announced_before_memory_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    content = npy(np.arange(6.0))
    for shape in ("(1000000000000,)", "(-6,)", str((2**62, 8))):
        with pytest.raises(DatasetError, match=r"x\.npy: not a valid npy file"):
            npy_array(
                content.replace(b"(6,), }" + b" " * len(shape), f"{shape}, }}    ".encode()), "x.npy", DatasetError
            )
    fortran = np.asfortranarray(np.arange(6.0).reshape(2, 3))
    assert np.array_equal(npy_array(npy(fortran), "x.npy", DatasetError), fortran)
    with pytest.raises(DatasetError, match=r"not a valid npy file.*Object arrays"):
        npy_array(npy(np.array([None])), "x.npy", DatasetError)
    mat = io.BytesIO()
    savemat(mat, {"q": np.zeros(8 * MEBIBYTE)}, do_compression=True)
    monkeypatch.setenv("CASID_MAX_BYTES", str(MEBIBYTE))
    assert len(mat.getvalue()) < MEBIBYTE
    with pytest.raises(DatasetError, match="CASID_MAX_BYTES"):
        matlab_arrays(mat.getvalue(), "x.mat", "recording", DatasetError)
    with pytest.raises(DatasetError, match="save -v7"):
        matlab_arrays(b"MATLAB 7.3 MAT-file".ljust(200), "x.mat", "recording", DatasetError)


@pytest.mark.claim("complex positions with an imaginary part are refused, not cut to the real one")
def test_numbers_are_real_numbers() -> None:
    assert numeric_array(np.array([1 + 0j, 2]), "q", DatasetError).tolist() == [1.0, 2.0]
    assert numeric_array([1, 2**70], "q", DatasetError).tolist() == [1.0, 2.0**70]
    for value in (np.array([1 + 2j]), ["a"], [True], [[1], [1, 2]], [None], np.array(["2020-01-01"], "M8[s]")):
        with pytest.raises(DatasetError, match=r"^q: "):
            numeric_array(value, "q", DatasetError)
    with pytest.raises(DatasetError, match=r"entry \(1, 0\) is not a finite number"):
        numeric_array([[0.0], [np.inf]], "q", DatasetError, finite=True)
    for value in (True, "1", None, float("nan"), 10**400):
        with pytest.raises(DatasetError):
            finite_number(value, "m", DatasetError)


@pytest.mark.claim("every truncated npz, npy, gzip, mat file is one clear error")
def test_cut_files_are_one_line() -> None:
    rng = np.random.default_rng(3)
    t, q = np.arange(20.0), rng.standard_normal((20, 2))
    buffer = io.BytesIO()
    np.savez_compressed(buffer, t=t, q=q)
    mat = io.BytesIO()
    savemat(mat, {"t": t, "q": q}, do_compression=True)
    readers = {
        "npz": (buffer.getvalue(), lambda b: npz_arrays(b, "x.npz", "recording", DatasetError)),
        "npy": (npy(q), lambda b: npy_array(b, "x.npy", DatasetError)),
        "gz": (gzip.compress(q.tobytes()), lambda b: gunzip(b, "x.gz", "recording", DatasetError)),
        "mat": (mat.getvalue(), lambda b: matlab_arrays(b, "x.mat", "recording", DatasetError)),
    }
    for content, read in readers.values():
        read(content)
        for cut in rng.integers(1, len(content) - 1, 60).tolist():
            with pytest.raises(DatasetError) as caught:
                read(content[:cut])
            assert "\n" not in str(caught.value)
            assert len(str(caught.value)) < 400
