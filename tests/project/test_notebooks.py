"""Notebooks run as they are; results show themselves and draw their pictures."""

from __future__ import annotations

import json
import re
import runpy
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import casid
from casid.identification import Checks, Choice, ModelOptions
from casid.retrieval import Constraint, LeastSquares, parameter_intervals

FOLDER = Path(__file__).parents[2] / "docs" / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))


@pytest.fixture(autouse=True)
def figures() -> Iterator[None]:
    """Nothing opens, and nothing stays open."""
    import matplotlib
    import matplotlib.pyplot as plt

    with matplotlib.rc_context({"backend": "agg"}):
        plt.switch_backend("agg")
        yield
        plt.close("all")


def test_the_page_names_every_notebook() -> None:
    page = (FOLDER.parent / "notebooks.md").read_text(encoding="utf-8")
    assert NOTEBOOKS
    assert set(re.findall(r"\((notebooks/\S+\.ipynb)\)", page)) == {f"notebooks/{path.name}" for path in NOTEBOOKS}


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_the_first_cell_installs_casid_where_it_is_missing(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = next(cell for cell in json.loads(path.read_text(encoding="utf-8"))["cells"] if cell["cell_type"] == "code")
    source = "".join(first["source"]).replace("%pip", "installed.append('pip') #")
    for found in (True, False):
        installed: list[str] = []
        monkeypatch.setattr("importlib.util.find_spec", lambda name, found=found: found or None)
        exec(source, {"installed": installed})
        assert bool(installed) != found


def test_notebooks_of_a_repository_on_github_open_in_colab_and_binder() -> None:
    pytest.importorskip("mkdocs", reason="needs the extra site")
    module = runpy.run_path(str(FOLDER.parent / "site" / "notebooks.py"))
    path = NOTEBOOKS[0]
    text = module["page"](path, "https://github.com/them/theirs.git")
    assert f"colab.research.google.com/github/them/theirs/blob/main/docs/notebooks/{path.name}" in text
    assert f"mybinder.org/v2/gh/them/theirs/main?labpath=docs/notebooks/{path.name}" in text
    assert "colab" not in module["page"](path).lower().replace("colab, binder: upload", "")


def kinds(cells: list[Any]) -> list[list[str]]:
    """Kinds of each cell's outputs; how often a stream is flushed does not count."""
    made = [[out["output_type"] for out in cell.get("outputs", [])] for cell in cells]
    return [[b for a, b in pairwise(["", *one]) if not a == b == "stream"] for one in made]


@pytest.mark.slow
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_notebook_runs(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    nbformat = pytest.importorskip("nbformat", reason="needs the extra notebooks")
    nbclient = pytest.importorskip("nbclient", reason="needs the extra notebooks")
    if "casid[teaching]" in path.read_text(encoding="utf-8"):
        pytest.importorskip("sympy", reason="needs the extra teaching")
    pytest.importorskip("ipykernel", reason="needs the extra notebooks")
    monkeypatch.setenv("MPLBACKEND", "module://matplotlib_inline.backend_inline")
    notebook = nbformat.read(path, 4)
    nbclient.NotebookClient(notebook, timeout=300, kernel_name="python3").execute(cwd=str(tmp_path))
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    shown = {kind for output in outputs for kind in output.get("data", {})}
    assert {"image/png", "text/html"} <= shown or "text/latex" in shown
    assert kinds(nbformat.read(path, 4).cells) == kinds(notebook.cells)
    assert not [output for output in outputs if output.get("name") == "stderr"]


def rows(html: str) -> list[list[str]]:
    """Cells of every line of every table; every element that opens also closes."""
    opened = re.findall(r"<(\w+)", html)
    assert sorted(opened) == sorted(re.findall(r"</(\w+)", html))
    return [re.findall(r"<t[dh][^>]*>(.*?)</t[dh]>", line) for line in re.findall(r"<tr>(.*?)</tr>", html)]


def test_a_robot_shows_its_joints() -> None:
    robot = casid.load_robot("panda")
    lines = rows(robot._repr_html_())
    assert [line[0] for line in lines[1:]] == [joint.name for joint in robot.joints]
    assert float(lines[1][-1]) == pytest.approx(robot.links[0].inertial.mass, rel=1e-3)  # type: ignore[union-attr]
    assert len(robot.plot_links()) == 2
    with pytest.raises(casid.CasidError, match="the mass of link 'link1' is not known"):
        casid.load_robot("spatial_2r").plot_links()


def test_problems_solutions_and_intervals_show_themselves() -> None:
    problem = casid.load_problem("spatial_2r")
    odd = problem.add(Constraint("<b>light & 'odd'", problem.variables["link2"].mass, upper=4.9))
    html = odd._repr_html_()
    assert "<b>light" not in html and "&lt;b&gt;light &amp; " in html
    assert [line[0] for line in rows(html)][-1] == "&lt;b&gt;light &amp; &#x27;odd&#x27;"
    solution = casid.solve(problem)
    shown = dict(line for line in rows(solution._repr_html_()) if len(line) == 2)
    assert shown["certified"].startswith("yes")
    assert len(solution.plot_links()) == 2 and len(solution.plot_fit()) == 2
    quantities = {"m2": problem.variables["link2"].mass}
    found = parameter_intervals(problem, quantities, tolerance=1e-4, solution=solution)
    assert rows(found._repr_html_())[-1][0] == "m2" and len(found.plot()) == 2
    many = casid.multistart(problem, 2)
    assert "of 2 certified" in many._repr_html_()
    assert len(many.plot_starts()) == 2


def test_pictures_hold_the_numbers_and_belong_to_pyplot() -> None:
    import matplotlib.pyplot as plt

    from casid.control import ComputedTorque, nominal
    from casid.motion import Sine
    from casid.simulation import Plant, Sensor, simulate

    robot = casid.load_robot("panda")
    law = ComputedTorque(*nominal(robot), kp=100, kd=20)
    run = simulate(Plant.of(robot, viscous=0.5), law, Sine.within(robot), 6.0, rate=200, sensor=Sensor(torque=0.1))
    axes = run.plot_motion()
    assert len(axes) == 14 and axes[0].figure.number in plt.get_fignums()  # type: ignore[union-attr]
    np.testing.assert_array_equal(axes[0].lines[1].get_ydata(), run.q[:, 0])
    assert len(run.plot_energy()) == 2
    result = casid.identify(
        robot,
        run.dataset("run"),
        model=ModelOptions(terms=("viscous",)),
        choice=Choice(believable=False),
        checks=Checks(folds=0),
    )
    torques = result.plot_torques()
    np.testing.assert_allclose(torques[2 * 2].lines[0].get_ydata(), result.datasets[0].tau[:, 2])
    with pytest.raises(casid.CasidError, match="there is no recording 1: there are 1"):
        result.plot_torques(1)
    assert len(result.plot_friction()) == 8 and len(result.plot_base_parameters()) == 1 and result.plot_links()
    assert "panda identification" in result._repr_html_()


def test_a_problem_from_samples_has_no_fit_to_draw() -> None:
    problem = casid.load_problem("spatial_2r")
    size = problem.variables.size
    matrix = np.vstack([problem.objective.matrix, np.zeros((size, size))])
    target = np.concatenate([problem.objective.target, np.zeros(size)])
    samples = replace(problem, objective=LeastSquares(matrix, target), coefficients=None)
    with pytest.raises(casid.CasidError, match="made from samples"):
        casid.solve(samples).plot_fit()


def test_a_design_draws_itself() -> None:
    from casid.excitation import Designer, MotionLimits, Observation
    from casid.motion import Fourier

    model = casid.Model(casid.load_robot("spatial_2r"))
    limits = MotionLimits(("a", "b"), -np.full((4, 2), 2.0), np.full((4, 2), 2.0))
    design = Designer(Observation.of_model(model), Fourier(0.5, 3), limits, samples=20).run(max_seconds=2)
    assert "condition number" in design._repr_html_()
    assert len(design.plot_motion(limits)) == 3 and len(design.plot_motion()) == 3
    assert len(design.plot_singular_values()) == 1 and len(design.plot_deviations()) == 1
