"""Files, tables and pictures of a result."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path

import matplotlib.image
import numpy as np
import pytest
from matplotlib.figure import Figure
from rich.console import Console

from casid.description import Inertial, Joint, Limits, Link, Robot
from casid.dynamics import Model
from casid.errors import CasidWarning, DatasetError, ExportError
from casid.files import write_files
from casid.files._texts import csv_bytes, json_bytes
from casid.files._write import prepare_directory
from casid.inertia import LinkParameters, to_standard
from casid.report.fit_plot import fit_figure
from casid.report.links_plot import link_placements, links_figure, middle_posture
from casid.report.plain_table import PlainTable
from casid.report.starts_plot import starts_figure
from casid.report.tables import base_table, links_table, robots_table
from casid.report.write import pictures, png_bytes


def arm(n: int = 3) -> Robot:
    """A chain of n links of 0.3 m with alternating axes; link k weighs k + 1 kg."""
    joints = []
    for k in range(n):
        placement = np.eye(4)
        placement[2, 3] = 0.3
        inertial = Inertial(k + 1.0, [0.0, 0.0, 0.15], np.diag([0.01, 0.01, 0.004]))
        axis = np.array([0.0, 0.0, 1.0]) if k % 2 == 0 else np.array([0.0, 1.0, 0.0])
        joints.append(Joint(f"joint{k + 1}", "revolute", k - 1, Link(f"link{k + 1}", inertial), placement, axis))
    free = np.full(n, np.inf)
    limits = Limits(np.full(n, -1.0), np.append(np.full(n - 1, 2.0), np.inf), free, free, free, free)
    return Robot("arm", tuple(joints), limits=limits, source={"kinematics": "made up", "licence": "BSD-3-Clause"})


def text_of(renderable: object) -> str:
    console = Console(width=150, file=io.StringIO())
    console.print(renderable)
    return console.file.getvalue()


# ---------------------------------------------------------------------- files


def test_files_are_written_completely_or_not_at_all(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("old")
    written = write_files(tmp_path, {"a.txt": b"new", "b.txt": b"more"})
    assert [path.name for path in written] == ["a.txt", "b.txt"]
    assert (tmp_path / "a.txt").read_text() == "new"
    (tmp_path / "b.txt").unlink()
    with pytest.raises(ExportError, match="cannot write"):
        write_files(tmp_path, {"a.txt": b"newer", "missing/b.txt": b"more"})
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


# ---------------------------------------------------------------------- tables


def test_links_table_shows_mass_centre_and_principal_moments() -> None:
    bodies = [(link.name, link.inertial) for link in arm().links]
    links = [LinkParameters(name, to_standard(body.mass, body.com, body.inertia_com)) for name, body in bodies]
    text = text_of(links_table(links))
    assert "mass [kg]" in text and "centre of mass [m]" in text
    assert "+0.0000  +0.0000  +0.1500" in text
    assert "4.00e-03  1.00e-02  1.00e-02" in text
    assert re.search(r"total\s+6\.0000", text)


def test_robots_table_says_what_is_known() -> None:
    text = text_of(robots_table([arm()]))
    assert re.search(r"arm\s+3\s+RRR\s+6\s+made up", text)
    assert "BSD" not in text


def test_base_table_lists_every_grouping() -> None:
    base = Model(arm(2)).base
    text = text_of(base_table("arm", base))
    assert f"{base.rank} base parameters of 20" in text
    assert all(expression in text for expression in base.expressions)
    assert "Without effect" in text and "Lxx1" in text


# ---------------------------------------------------------------------- pictures


def read_png(figure: Figure, path: Path) -> np.ndarray:
    path.write_bytes(png_bytes(figure))
    return matplotlib.image.imread(path)


def test_fit_picture_has_a_row_and_a_difference_for_each_coefficient(tmp_path: Path) -> None:
    names = [f"Lxx{k + 1} + 0.25*(m{k + 2} + m{k + 3})" for k in range(12)]
    given = np.linspace(-1.0, 1.0, 12)
    used = np.arange(12) != 5
    figure = fit_figure(names, given + 1e-3, given, 0.01 * np.ones(12), used)
    left, right = figure.axes
    assert [tick.get_text() for tick in left.get_yticklabels()] == names
    assert np.allclose([bar.get_width() for bar in right.containers[0]], 0.1)
    assert "given, not used in the fit" in [text.get_text() for text in left.get_legend().get_texts()]
    assert read_png(figure, tmp_path / "fit.png").shape[1] >= 1000


def test_fit_picture_without_deviations_shows_plain_differences() -> None:
    figure = fit_figure(["m1", "m2"], [1.0, 2.0], [1.5, 2.25])
    assert [patch.get_width() for patch in figure.axes[1].containers[0]] == [-0.5, -0.25]


def test_links_picture_shows_each_mass(tmp_path: Path) -> None:
    robot = arm(3)
    figure = links_figure(robot, robot.standard_parameters())
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["link1  1 kg", "link2  2 kg", "link3  3 kg"]
    assert read_png(figure, tmp_path / "links.png").std() > 0.01
    with pytest.raises(DatasetError, match="expected 30 parameters"):
        links_figure(robot, np.zeros(20))


def test_ellipsoid_is_the_uniform_body() -> None:
    """A solid ellipsoid of semi-axes a has moments m/5 (a_j^2 + a_k^2); its picture must have those semi-axes."""
    from casid.report.links_plot import _ellipsoid

    semi_axes, mass = np.array([0.1, 0.2, 0.4]), 3.0
    inertia = np.diag(mass / 5 * (np.sum(semi_axes**2) - semi_axes**2))
    parameters = Inertial(mass, [0.3, -0.2, 0.1], inertia).standard_parameters()
    centre, _, surface = _ellipsoid(parameters, np.eye(4))
    assert np.allclose(centre, [0.3, -0.2, 0.1])
    offset = surface - centre[:, None, None]
    assert np.allclose(np.sum((offset / semi_axes[:, None, None]) ** 2, axis=0), 1.0)


def test_posture_is_the_middle_of_the_limits_and_placements_follow_the_tree() -> None:
    robot = arm(3)
    assert middle_posture(robot).tolist() == [0.5, 0.5, 0.0]
    heights = [T[2, 3] for T in link_placements(robot, np.zeros(3))]
    assert np.allclose(heights, [0.3, 0.6, 0.9])


@pytest.mark.parametrize("count", [2, 30])
def test_starts_picture_counts_the_certified(count: int, tmp_path: Path) -> None:
    gaps = np.geomspace(1e-14, 1e-3, count)
    gaps[count // 7] = np.nan
    certified = gaps < 1e-6
    figure = starts_figure(gaps, np.arange(count) + 20, certified, 1e-6)
    assert figure.axes[0].get_title(loc="left") == f"{certified.sum()} of {count} certified"
    assert read_png(figure, tmp_path / "starts.png").shape[1] >= 1000


# ---------------------------------------------------------------------- names


NASTY = ("a$b$c", "x_{$\\frac$", "[/x]", "[bold]name", ":warning:", "\U000e0001", "100 %", "<b>&")


@pytest.mark.claim("names with markup, formulas or emoji are shown as they are")
@pytest.mark.parametrize("name", NASTY)
def test_any_name_is_shown_in_tables_and_pictures(name: str, tmp_path: Path) -> None:
    table = PlainTable(name)
    table.add_column(name)
    table.add_row(name)
    table.note(name)
    text = text_of(table)
    assert text.count(name) == 4
    figure = Figure()
    axes = figure.subplots()
    axes.set_title(name)
    axes.set_yticks([0, 1], [name, "10"])
    axes.plot([1, 1000], [0, 1], label=name)
    axes.legend()
    axes.set_xscale("log")
    assert png_bytes(figure).startswith(b"\x89PNG")


@pytest.mark.claim("a picture that cannot be drawn never costs the results")
def test_a_picture_that_fails_is_a_warning() -> None:
    good, bad = Figure(), Figure()
    bad.text(0, 0, "x").set_fontproperties(None)
    bad.savefig = lambda *_, **__: 1 / 0
    with pytest.warns(CasidWarning, match=r"bad.png could not be drawn.*division by zero"):
        assert set(pictures(lambda: {"good": good, "bad": bad})) == {"good.png"}
    with pytest.warns(CasidWarning, match=r"the pictures could not be drawn"):
        assert pictures(lambda: {"a": 1 / 0}) == {}
