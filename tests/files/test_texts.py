"""JSON, TOML, XML, CSV, tables and lists that users type: plain values and short messages."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pytest

from casid.description import load_robot
from casid.errors import DatasetError, RobotError
from casid.excitation import fit_capsules
from casid.files import (
    Table,
    assignments,
    comma_list,
    comma_numbers,
    csv_table,
    near,
    number_list,
    parse_json,
    parse_toml,
)
from casid.identification.repair import check_file

DATA = {"rate": 100.0, "name": "x", "on": True, "box": [[0, 1], [2, 3]], "count": 3, "inner": {"a": 1}}


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
    for content in (b"<a", b"<a>\xff</a>", b'<?xml version="1.0" encoding="nonsense"?><a/>'):
        path.write_bytes(content)
        with pytest.raises(RobotError, match="not well-formed"):
            load_robot(path)


def test_csv_delimiters_are_found() -> None:
    for delimiter in (",", ";", "\t", " "):
        table = csv_table(delimiter.join(["t", "q1", "q2"]) + "\n" + delimiter.join("123") + "\n", "x", DatasetError)
        assert table.header == ("t", "q1", "q2") and table.rows("x", DatasetError) == [["1", "2", "3"]]
    with pytest.raises(DatasetError, match="row 1 has 2 cells"):
        csv_table("a,b,c\n1,2\n", "x", DatasetError).rows("x", DatasetError)
    for text, words in (("\n\n", "is empty"), ("q" * 10**4, "must name the columns")):
        with pytest.raises(DatasetError, match=words):
            csv_table(text, "x", DatasetError)


def test_values_of_a_table_are_read_by_type_and_others_refused_with_the_place() -> None:
    table = Table(DATA, "r.toml", DATA)
    assert (table.number("rate"), table.text("name"), table.flag("on"), table.integer("count")) == (100.0, "x", True, 3)
    np.testing.assert_array_equal(table.array("box", (2, 2)), [[0, 1], [2, 3]])
    inner = table.table("inner", ("a",))
    assert inner is not None and inner.number("a") == 1.0 and "b" not in inner
    for read in (
        lambda: table.number("name"), lambda: table.text("rate"), lambda: table.flag("count"),
        lambda: table.integer("rate"), lambda: table.array("box", (3,)), lambda: table.require("missing"),
        lambda: table.choice("name", ("a", "b")),
    ):  # fmt: skip
        with pytest.raises(DatasetError, match=r"r\.toml"):
            read()
    with pytest.raises(DatasetError, match="unknown key 'rates'; did you mean 'rate'"):
        Table({"rates": 1}, "r.toml", ("rate",))


@pytest.mark.claim("digits with underscores are no numbers")
def test_lists_that_users_type() -> None:
    assert comma_list(" a, b,,c ") == ["a", "b", "c"]
    assert number_list(("1", " 2e3")) == [1.0, 2000.0]
    assert number_list(("1", "a")) is None and number_list(("1", "2_0")) is None
    assert comma_numbers("1, 2,3e-1", "x", DatasetError) == [1.0, 2.0, 0.3]
    assert assignments("viscous=0.5, coulomb = 2", "x", DatasetError) == {"viscous": 0.5, "coulomb": 2.0}
    assert assignments("joint1,joint2=0.5", "x", DatasetError, 0.0) == {"joint1": 0.0, "joint2": 0.5}
    assert near("viscos", ["viscous", "coulomb"]) == "; did you mean 'viscous'?" and near("other", ["viscous"]) == ""
    for text, count, what in (("1,a", None, "numbers"), ("1,2", 3, "three numbers"), ("", 4, "4 numbers")):
        with pytest.raises(DatasetError) as caught:
            comma_numbers(text, "noise", DatasetError, count)
        assert caught.value.message == f"noise: expected {what} separated by commas, got '{text}'"
    for text in ("viscous", "viscous=a", "=1,b="):
        with pytest.raises(DatasetError, match=r"--friction: expected NAME=NUMBER"):
            assignments(text, "--friction", DatasetError)
