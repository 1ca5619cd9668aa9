"""JSON, TOML, XML and CSV: plain values and short messages."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from casid.description import load_robot
from casid.errors import DatasetError, RobotError
from casid.excitation import fit_capsules
from casid.files import csv_table, parse_json, parse_toml, parse_xml
from casid.identification.repair import check_file


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
