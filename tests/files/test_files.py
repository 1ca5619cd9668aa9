"""The door for files: limits, types, short messages on the way in; all or nothing on the way out."""

from __future__ import annotations

import gzip
import io
import json
import struct
import time
import zipfile
import zlib
from pathlib import Path

import numpy as np
import pytest
from scipy.io import savemat

from casid.description import load_robot
from casid.errors import CasidError, DatasetError, ExportError, RobotError
from casid.excitation import fit_capsules
from casid.files import read_text, write_files
from casid.files._arrays import matlab_arrays, npy_array, npz_arrays, numeric_array
from casid.files._read import gunzip, read_bytes, unzip
from casid.files._texts import csv_table, finite_number, parse_json, parse_toml, parse_xml
from casid.files._write import write_directory
from casid.identification.repair._check import check_file

MEBIBYTE = 2**20


def npy(array: np.ndarray) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, array)
    return buffer.getvalue()


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


def test_an_npy_header_cannot_make_memory_out_of_nothing() -> None:
    header = b"{'descr': '<f8', 'fortran_order': False, 'shape': (10000000000, 100), }"
    header += b" " * (63 - (len(header) + 10) % 64) + b"\n"
    content = b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + bytes(80)
    with pytest.raises(DatasetError, match="cut short"):
        npy_array(content, "x.npy", DatasetError)
    for shape in ((-1, 2), (2**62, 8)):
        with pytest.raises(DatasetError):
            npy_array(content.replace(b"(10000000000, 100)", repr(shape).encode().ljust(18)), "x.npy", DatasetError)
    fortran = np.asfortranarray(np.arange(6.0).reshape(2, 3))
    assert np.array_equal(npy_array(npy(fortran), "x.npy", DatasetError), fortran)
    with pytest.raises(DatasetError, match="Python objects"):
        buffer = io.BytesIO()
        np.save(buffer, np.array([None]), allow_pickle=True)
        npy_array(buffer.getvalue(), "x.npy", DatasetError)


def test_a_compressed_matlab_variable_cannot_unpack_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CASID_MAX_BYTES", str(MEBIBYTE))
    body = zlib.compress(bytes(64 * MEBIBYTE))
    content = b"MATLAB 5.0 MAT-file".ljust(124) + b"\x00\x01IM" + struct.pack("<II", 15, len(body)) + body
    with pytest.raises(DatasetError, match="CASID_MAX_BYTES"):
        matlab_arrays(content, "x.mat", "recording", DatasetError)
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


def test_json_has_finite_numbers_and_each_key_once() -> None:
    assert parse_json('{"a": [1, 2.5]}', "x", DatasetError) == {"a": [1, 2.5]}
    texts = ["", "{", '{"a": NaN}', '{"a": -Infinity}', '{"a": 1e999}', '{"a": 1, "a": 2}', "[" * 10**5, "9" * 5000]
    for text in texts:
        with pytest.raises(DatasetError, match="cannot read x: not valid JSON") as caught:
            parse_json(text, "x", DatasetError)
        assert len(str(caught.value)) < 400


def test_toml_takes_linear_time() -> None:
    assert parse_toml('a.b = "x.y"\nc = [1.5]', "x", DatasetError) == {"a": {"b": "x.y"}, "c": [1.5]}
    began = time.perf_counter()
    for text in ("a" + ".a" * 10**5 + " = 1", "a" + " . a" * 10**5 + "=1", "a = " + "[" * 10**5, "a = {" * 10**5):
        with pytest.raises(DatasetError, match=r"not valid TOML"):
            parse_toml(text, "x", DatasetError)
    assert time.perf_counter() - began < 5


@pytest.mark.claim("all three URDF parsers refuse document type definitions")
def test_document_types_are_refused_wherever_a_urdf_is_read(tmp_path: Path) -> None:
    path = tmp_path / "bomb.urdf"
    entities = "".join(f'<!ENTITY a{k + 1} "{f"&a{k};" * 10}">' for k in range(9))
    path.write_text(f'<!DOCTYPE x [<!ENTITY a0 "x">{entities}]><robot name="&a9;"/>', encoding="utf-8")
    robot = load_robot("three_link")
    for read in (load_robot, check_file, lambda p: fit_capsules(p, robot)):
        with pytest.raises(RobotError, match=r"bomb.urdf: has a document type definition"):
            read(path)
    with pytest.raises(RobotError, match="nested"):
        parse_xml(b"<a>" * 10**4, "x", RobotError)
    for content in (b"", b"<a", b"<a>\xff</a>", b'<?xml version="1.0" encoding="nonsense"?><a/>'):
        with pytest.raises(RobotError, match="not well-formed"):
            parse_xml(content, "x", RobotError)


def test_csv_delimiters_are_found() -> None:
    for delimiter in (",", ";", "\t", " "):
        table = csv_table(delimiter.join(["t", "q1", "q2"]) + "\n" + delimiter.join("123") + "\n", "x", DatasetError)
        assert table.header == ("t", "q1", "q2")
        assert table.rows("x", DatasetError) == [["1", "2", "3"]]
    with pytest.raises(DatasetError, match="row 1 has 2 cells"):
        csv_table("a,b,c\n1,2\n", "x", DatasetError).rows("x", DatasetError)
    with pytest.raises(DatasetError, match="is empty"):
        csv_table("\n\n", "x", DatasetError)
    with pytest.raises(DatasetError, match="must name the columns"):
        csv_table("q" * 10**4, "x", DatasetError)


@pytest.mark.claim("messages are one short line whatever a file holds")
def test_messages_are_one_short_line() -> None:
    error = CasidError("a\n\x1b[31m" + "x" * 10**7)
    assert len(str(error)) < 3000
    assert str(error).isprintable()


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
