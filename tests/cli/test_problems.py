"""Commands about problems."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import matplotlib.image
import numpy as np
import pytest

import casid
from casid.inertia import read_parameters
from tests.helpers import run

MINE = """
import numpy as np
import casid
from casid.problems.spatial_2r import true_parameters
from casid.retrieval import Problem, base_parameter_error, link_variables, robot_bounds, {imports}

def build():
    robot = casid.load_robot("spatial_2r")
    variables = link_variables(robot)
    base = casid.Model(robot).base
    goal = base_parameter_error(variables, base.K, base.values(true_parameters()))
    {more}
    return Problem("mine", variables, goal, (*robot_bounds(variables), {constraints}))
"""


def user_file(folder: Path, imports: str = "total_mass", more: str = "pass", constraints: str = "") -> Path:
    path = folder / "mine.py"
    path.write_text(MINE.format(imports=imports, more=more, constraints=constraints), encoding="utf-8")
    return path


@pytest.mark.slow
def test_solve_writes_everything_it_promises(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "out"
    text = run("solve", "panda_retrieval", "--out", folder)
    assert "certified" in text and "link7" in text
    names = {path.name for path in folder.iterdir()}
    tables = {"parameters.csv", "links.csv", "coefficients.csv"}
    assert names == {"solution.json", *tables, "fit.png", "links.png", "best_fit"}
    assert {path.name for path in (folder / "best_fit").iterdir()} == names - {"best_fit"}
    choice = json.loads((folder / "solution.json").read_text(encoding="utf-8"))
    best = choice["best_fit"]["objective"]
    assert 0 <= choice["gap"] <= 1e-6 and best < choice["objective"] <= choice["allowed"] * (1 + 1e-9)
    assert len(choice["starts"]) == 1 and choice["seed"] is None
    assert "physical" in run("check", folder / "solution.json", "--robot", "panda")
    folder = folder / "best_fit"
    record = json.loads((folder / "solution.json").read_text(encoding="utf-8"))
    assert record["objective"] == best and record["parameters"] != choice["parameters"]
    assert record["problem"] == "panda_retrieval" and record["status"] == "optimal" and record["certified"] is True
    assert record["lower_bound"] <= record["objective"] <= 3.8608e-4
    assert record["gap"] <= 1e-7 and max(record["violations"].values()) <= 1e-8
    assert "casadi" in record["versions"]

    robot = casid.load_robot("panda")
    assert tuple(record["parameters"]) == robot.parameter_names()
    assert record["links"] == [link.name for link in robot.links]
    parameters = np.array(list(record["parameters"].values()))
    with (folder / "coefficients.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 43 and sum(row["used"] == "True" for row in rows) == 41
    difference = [float(row["fitted"]) - float(row["given"]) for row in rows if row["used"] == "True"]
    assert np.sum(np.square(difference)) == pytest.approx(record["objective"], rel=1e-9)
    base = casid.Model(robot).base
    assert np.allclose([float(row["fitted"]) for row in rows], base.values(parameters), rtol=0, atol=1e-12)

    with (folder / "links.csv").open(encoding="utf-8") as file:
        links = list(csv.DictReader(file))
    assert [link["link"] for link in links] == list(record["link_parameters"])
    for k, link in enumerate(links):
        moment = float(link["mass [kg]"]) * np.array([float(link[f"com_{axis} [m]"]) for axis in "xyz"])
        assert np.allclose(moment, parameters[10 * k + 6 : 10 * k + 9], rtol=0, atol=1e-12)
        assert record["link_parameters"][link["link"]]["mass"] == float(link["m [kg]"])
    for name in ("fit", "links"):
        picture = matplotlib.image.imread(folder / f"{name}.png")
        assert picture.shape[1] >= 1000 and picture.std() > 0.01


@pytest.mark.slow
def test_the_same_seed_gives_the_same_file(tmp_path: Path) -> None:
    records = []
    for name in ("a", "b"):
        run("solve", user_file(tmp_path), "--starts", 3, "--seed", 5, "--out", tmp_path / name)
        record = json.loads((tmp_path / name / "solution.json").read_text(encoding="utf-8"))
        records.append(record)
    assert records[0]["parameters"] == records[1]["parameters"]
    assert [start["seed"] for start in records[0]["starts"]] == [start["seed"] for start in records[1]["starts"]]
    assert records[0]["seed"] == 5 and len(records[0]["starts"]) == 3
    assert matplotlib.image.imread(tmp_path / "a" / "starts.png").std() > 0.01


@pytest.mark.slow
def test_solve_takes_a_method(tmp_path: Path) -> None:
    assert "lower bound" in run("solve", user_file(tmp_path), "--method", "branches")
    said = run("solve", "panda_retrieval", "--method", "penalti", code=1)
    assert "unknown method 'penalti'; did you mean 'penalty'?; known: auto, direct, penalty" in said
    text = run("solve", user_file(tmp_path), "--method", "penalty", "--starts", 2, "--verbose")
    assert "Algorithm 1, kappa" in text and "of 2 certified" in text and "0 of 2" not in text


def test_unknown_problem_suggests_a_near_name() -> None:
    text = run("solve", "panda_retrieva", code=1)
    assert text.startswith("error: unknown problem 'panda_retrieva'") and "panda_retrieval" in text


def test_output_folder_that_cannot_be_written_stops_before_solving(tmp_path: Path) -> None:
    file = tmp_path / "taken"
    file.write_text("mine")
    text = run("solve", user_file(tmp_path, more="raise RuntimeError('must not be reached')"), "--out", file, code=1)
    assert "output folder" in text and str(file) in text and "must not be reached" not in text
    assert file.read_text() == "mine"


def test_user_file_that_raises_is_one_sentence_with_its_line(tmp_path: Path) -> None:
    path = user_file(tmp_path, more="robot.no_such_thing")
    text = run("solve", path, "--out", tmp_path / "out", code=1)
    assert "no_such_thing" in text and "AttributeError" in text and "mine.py" in text
    assert text.startswith("error: ") and ", line " in text and "Traceback" not in text
    assert "casid/retrieval" not in text and "casid/cli" not in text
    assert not (tmp_path / "out").exists()


def test_a_robot_is_converted_with_the_links_of_a_result(tmp_path: Path) -> None:
    run("solve", "spatial_2r", "--no-believable", "--out", tmp_path / "out")
    run("convert", "spatial_2r", tmp_path / "arm.toml", "--parameters", tmp_path / "out" / "solution.json")
    written = casid.load_robot(tmp_path / "arm.toml").standard_parameters()
    known = read_parameters(tmp_path / "out" / "solution.json").standard
    np.testing.assert_allclose(written, known, rtol=1e-9, atol=1e-12)
