"""The command ``feasible``: values of real bodies, values that none has, files that do not fit."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest

import casid
from tests.helpers import run


def write(path: Path, beta: np.ndarray) -> None:
    base = casid.Model(casid.load_robot("ur10e")).base
    rows = [["parameter", "value"], *([name, repr(float(value))] for name, value in zip(base.names, beta, strict=True))]
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows(rows)


@pytest.fixture
def beta() -> np.ndarray:
    robot = casid.load_robot("ur10e")
    return np.asarray(casid.Model(robot).base.values(robot.standard_parameters()))


def test_values_of_real_bodies_are_feasible_and_others_are_moved_onto_the_set(tmp_path: Path, beta: np.ndarray) -> None:
    file, out = tmp_path / "beta.csv", tmp_path / "out"
    write(file, beta)
    run("feasible", "ur10e", file)
    moved = beta.copy()
    moved[0] = -1.0  # an inertia about the first axis
    write(file, moved)
    run("feasible", "ur10e", file, "--out", out, code=1)
    record = json.loads((out / "feasibility.json").read_text())
    assert record["verdict"] == "infeasible"
    assert 0.9 <= record["proven_distance"] <= record["distance"] <= np.linalg.norm(moved - beta)
    lines = csv.DictReader((out / "base_parameters.csv").read_text(encoding="utf-8").splitlines())
    write(file, np.array([float(row["value"]) for row in lines]))
    run("feasible", "ur10e", file)
    assert "physical" in run("check", out / "parameters.csv", "--robot", "ur10e")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("name,value\n", "columns 'parameter' and 'value'"),
        ("parameter,value\nLzz9,1\n", "is no base parameter"),
        ("parameter,value\nLzz1,one\n", "row 1, column 'value'"),
        ("parameter,value\nLzz1,1\n", "no value of"),
    ],
)
def test_a_file_that_does_not_fit_is_named(tmp_path: Path, text: str, words: str) -> None:
    file = tmp_path / "beta.csv"
    file.write_text(text, encoding="utf-8")
    assert words in " ".join(run("feasible", "ur10e", file, code=1).split())
