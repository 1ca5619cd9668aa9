"""Pages: what is in them, and that a real browser shows them without an error and without the network."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import casid
from casid.description import write_robot
from casid.errors import DatasetError
from casid.excitation import Designer, MotionLimits, Observation
from casid.identification import Identification
from casid.inertia import parameter_csv
from casid.motion import Fourier, Trajectory, trajectory_text
from casid.report import PlainTable, report_of
from casid.report.viewer import Page, view
from casid.testing import motion
from tests.helpers import run

CHROMIUM = next(
    (found for name in ("chromium", "chromium-browser", "google-chrome") if (found := shutil.which(name))), ""
)


def data_of(text: str) -> Any:
    found = re.search(r'<script type="application/json" id="casid-data">(.*?)</script>', text, re.DOTALL)
    assert found
    return json.loads(found[1])


@pytest.fixture(scope="module")
def report(result: Identification) -> str:
    """The page of an identification of a robot of two joints."""
    return report_of(result).html({})


# ---------------------------------------------------------------------- what is in a page


def test_a_scene_holds_the_robots_kinematics_and_the_uniform_ellipsoids() -> None:
    robot = casid.load_robot("ur10e")
    page = Page("ur10e")
    page.robot(robot)
    (record,) = page.robots.values()
    assert [joint["parent"] for joint in record["joints"]] == [joint.parent for joint in robot.joints]
    body = record["sets"][0]["bodies"][1]
    axes = np.array(body["semi_axes"])  # the uniform ellipsoid's second moment of mass is m/5 times the squared axes
    second = body["mass"] / 5 * axes.T @ axes
    inertial = robot.links[1].inertial
    assert inertial is not None
    np.testing.assert_allclose(np.trace(second) * np.eye(3) - second, inertial.inertia_com, atol=1e-6)


def test_charts_are_thinned_and_missing_values_are_null() -> None:
    t = np.linspace(0, 1, 100_000)
    y = np.stack([t, np.where(t > 0.5, np.nan, t)], axis=1)
    page = Page("curves")
    page.curves(t, {"measured": y}, ["a", "b"], "N·m", "g")
    (charts,) = page.plots.values()
    assert [chart["title"] for chart in charts] == ["a", "b"] and len(charts[0]["t"]) == 2500
    assert charts[1]["curves"][0]["y"][-1] is None and charts[0]["curves"][0]["y"][-1] == 1.0


def test_no_text_of_a_file_can_end_the_script_or_become_a_tag() -> None:
    robot = casid.load_robot("spatial_2r")
    evil = "</script><script>alert(1)</script>"
    page = Page(evil, evil)
    page.table(PlainTable(evil, {evil: {}}, [(evil,)], evil), titled=True)
    page.robot(replace(robot, name=evil))
    text = page.html()
    assert "alert(1)</script>" not in text.replace("&lt;/script&gt;", "")
    assert data_of(text)["robots"]["robot1"]["name"] == evil


def test_the_report_holds_bodies_before_and_after_and_every_torque(report: str) -> None:
    data = data_of(report)
    assert [s["label"].partition(",")[0] for s in data["robots"]["robot1"]["sets"]] == ["nominal", "identified"]
    labels = [[[curve["label"] for curve in chart["curves"]] for chart in charts] for charts in data["plots"].values()]
    assert labels == [[["measured (filtered)", "predicted"]] * 2, [["residual"]] * 2]
    assert "http://" not in report and "https://" not in report


# ---------------------------------------------------------------------- any file


def test_every_kind_of_file_is_recognised(tmp_path: Path) -> None:
    robot = casid.load_robot("ur10e")
    assert len(data_of(view("ur10e"))["robots"]["robot1"]["sets"]) >= 1
    (tmp_path / "p.csv").write_bytes(parameter_csv(robot.parameters))
    assert [s["label"] for s in data_of(view(tmp_path / "p.csv", "ur10e"))["robots"]["robot1"]["sets"]][-1] == "p.csv"
    t, q, dq, _ = motion(6, 200, 1)
    np.savez(tmp_path / "run.npz", t=t, q=q, dq=dq, tau=q)
    shown = data_of(view(tmp_path / "run.npz", robot))
    assert len(shown["plots"]) == 3
    np.testing.assert_allclose(shown["robots"]["robot1"]["motion"]["q"], q, atol=1e-6)
    joints = tuple(joint.name for joint in robot.joints)
    basis = Fourier(10.0, 2)
    trajectory = Trajectory(basis, 0.1 * np.ones((6, basis.size)), joints, "ur10e")
    (tmp_path / "trajectory.toml").write_text(trajectory_text(trajectory), encoding="utf-8")
    moving = data_of(view(tmp_path / "trajectory.toml"))["robots"]["robot1"]["motion"]
    k = len(moving["t"]) // 2
    times = trajectory.times(100.0)
    expected = trajectory.derivative([moving["t"][k] + times[0]], 0)[0]
    np.testing.assert_allclose(moving["q"][k], expected, atol=1e-5)


@pytest.mark.claim("casid view reads a log as identify does, and shows named joints at the robot's")
def test_a_log_is_shown_as_it_is_identified(tmp_path: Path) -> None:
    robot = casid.load_robot("ur10e")
    t, q, dq, ddq = motion(6, 400, 1)
    model, pi = casid.Model(robot), robot.standard_parameters()
    tau = np.array([model.inverse_dynamics(*row, pi) for row in zip(q, dq, ddq, strict=True)])
    joints = [joint.name for joint in robot.coordinates][::-1]
    for position, torque, factor in (("q_{}", "tau_{}", 1.0), ("{} angle [deg]", "{} torque [Nm]", 180.0 / np.pi)):
        names = ["t", *(name.format(joint) for name in (position, torque) for joint in joints)]
        log = np.column_stack([t, factor * q[:, ::-1], tau[:, ::-1]])
        np.savetxt(tmp_path / "log.csv", log, delimiter=",", header=",".join(names), comments="")
        shown = data_of(view(tmp_path / "log.csv", robot))["robots"]["robot1"]["motion"]["q"]
        np.testing.assert_allclose(shown, q, atol=1e-6)


def test_an_unphysical_robot_is_shown_before_and_after_repair(tmp_path: Path) -> None:
    robot = casid.load_robot("ur10e")
    pi = np.array(robot.standard_parameters(), dtype=float)
    pi[20:26] = [0.4, 0, 0, 0.01, 0, 0.01]  # no body has Ixx > Iyy + Izz
    pi[26:29] = 0
    path = tmp_path / "bad.urdf"
    write_robot(robot.with_parameters(pi), path)
    sets = data_of(view(path))["robots"]["robot1"]["sets"]
    assert [s["label"] for s in sets] == ["as described", "repaired"]
    assert sets[0]["bodies"][2]["complaint"] and not any(body["complaint"] for body in sets[1]["bodies"] if body)


def test_a_link_without_body_hides_no_other_and_joints_are_locked(tmp_path: Path) -> None:
    path, out = tmp_path / "arm.urdf", tmp_path / "o.html"
    write_robot(casid.load_robot("ur10e"), path)
    text = re.sub(r'(<link name="forearm_link">).*?</inertial>', r"\1", path.read_text(encoding="utf-8"), flags=re.S)
    mesh = '<visual><geometry><mesh filename="package://nowhere/a.stl"/></geometry></visual>'
    path.write_text(text.replace('<link name="wrist_1_link">', f'<link name="wrist_1_link">{mesh}'), encoding="utf-8")
    run("view", path, "--lock", "wrist_3_joint", "--no-browser", "--out", out)
    page = out.read_text(encoding="utf-8")
    (bodies,) = [one["bodies"] for one in data_of(page)["robots"]["robot1"]["sets"]]
    assert [body is None for body in bodies] == [False, False, True, False, False]
    assert "without a body: forearm_link" in page and "Drawn without shapes: " in page and "package://nowhere" in page


@pytest.mark.slow
def test_results_of_a_users_robot_are_opened_with_its_file_and_locked_joints(tmp_path: Path) -> None:
    file, folder, other = tmp_path / "mine.urdf", tmp_path / "motion", tmp_path / "alone"
    shipped = casid.load_robot("ur10e")
    write_robot(shipped, file)
    file.write_text(
        file.read_text(encoding="utf-8").replace('<robot name="ur10e"', '<robot name="mine"'), encoding="utf-8"
    )
    robot = casid.load_robot(file, lock={shipped.joints[-1].name: 0.4})
    model, n = casid.Model(robot), robot.n
    limits = MotionLimits(tuple(j.name for j in robot.joints), -np.full((4, n), 2.0), np.full((4, n), 2.0))
    designer = Designer(Observation.of_model(model), Fourier(0.5, 3), limits, samples=20)
    design = designer.run(iterations=2, robot="mine")
    report_of(design, designer=designer, robot=robot).write(folder)
    for name in ("", "excitation.json", "trajectory.toml"):
        shown = data_of(view(folder / name))["robots"]["robot1"]
        assert shown["links"] == [link.name for link in robot.links] and len(shown["motion"]["q"][0]) == n
    other.mkdir()
    shutil.copy(folder / "trajectory.toml", other)
    with pytest.raises(DatasetError, match="of the robot 'mine', which does not ship with casid: give the robot's"):
        view(other / "trajectory.toml")
    file.unlink()
    with pytest.raises(DatasetError, match=r"mine\.urdf' is not there any more: give the robot's file"):
        view(folder)


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("a.txt", "hello", "not a file that casid writes or reads"),
        ("a.json", "[1, 2]", "not a result of casid"),
        ("a.json", "{}", "no parameters, motion or trajectory"),
        ("a.html", "<html></html>", "not a page written by casid"),
        ("a.csv", "parameter,value,link\nm1,1,a\n", "does not name its robot"),
        ("a.json", '{"parameters": {"m1": 1}, "robot": "mine"}', "robot 'mine', which does not ship"),
    ],
)
def test_a_foreign_file_is_one_sentence(name: str, content: str, words: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(content, encoding="utf-8")
    with pytest.raises(DatasetError, match=words):
        view(tmp_path / name)
    run("view", tmp_path / name, "--no-browser", "--out", tmp_path / "o.html", code=1)
    assert not (tmp_path / "o.html").exists()


def test_a_missing_browser_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("webbrowser.open", lambda url: False)
    assert "no browser found" in run("view", "ur10e", "--out", tmp_path / "o.html")
    assert (tmp_path / "o.html").is_file()


# ---------------------------------------------------------------------- a real browser


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    playwright = pytest.importorskip("playwright.sync_api", reason="needs the extra browser")
    if not CHROMIUM:
        pytest.skip("needs Chromium or Chrome on the path, e.g. apt-get install chromium")
    with playwright.sync_playwright() as started:
        opened = started.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield opened
        opened.close()


class Opened:
    """A page in the browser, with what it complained of and asked for."""

    def __init__(self, browser: Any, path: Path) -> None:
        self.page = browser.new_page(viewport={"width": 1150, "height": 900})
        self.messages: list[str] = []
        self.asked: list[str] = []
        self.page.on("console", lambda message: self.messages.append(message.text))
        self.page.on("pageerror", lambda error: self.messages.append(str(error)))
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.page.goto(path.as_uri())
        assert self.page.evaluate("document.documentElement.dataset.ready") == "yes"

    def circles(self) -> np.ndarray:
        """Centres of the joints' marks in the drawing."""
        nodes = self.page.locator("svg circle[r='5'][stroke]").all()
        return np.array([[float(node.get_attribute(k)) for k in ("cx", "cy")] for node in nodes])

    def done(self) -> None:
        assert self.messages == [] and len(self.asked) == 1 and self.asked[0].startswith("file:")
        self.page.close()


def flat(points: np.ndarray, page: Any, azimuth: float = -1.1, elevation: float = 0.3) -> np.ndarray:
    """Where points of the base frame appear: orthographic, from casid's own kinematics."""
    ca, sa, ce, se = np.cos(azimuth), np.sin(azimuth), np.cos(elevation), np.sin(elevation)
    right, up = np.array([-sa, ca, 0]), np.array([-se * ca, -se * sa, ce])
    drawing = page.locator("svg").first
    scale = float(drawing.get_attribute("data-scale"))
    d = points - np.array([float(c) for c in drawing.get_attribute("data-centre").split()])
    return np.stack([460 + scale * d @ right, 400 - scale * d @ up], axis=1)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["panda", "stanford"])
def test_joints_stand_where_the_kinematics_put_them(name: str, browser: Any, tmp_path: Path) -> None:
    robot = casid.load_robot(name)
    text = view(name)
    (tmp_path / "v.html").write_text(text, encoding="utf-8")
    opened, record = Opened(browser, tmp_path / "v.html"), data_of(text)["robots"]["robot1"]
    q = np.array(record["posture"])
    moved = opened.page.locator("input[type=range]").nth(1)
    low, high = (float(moved.get_attribute(k)) for k in ("min", "max"))
    q[1] = 0.3 * low + 0.7 * high
    moved.evaluate("(node, value) => { node.value = value; node.dispatchEvent(new Event('input')); }", float(q[1]))
    placements = [np.array(T) for T in casid.Model(robot).forward_kinematics(q)]
    origins = []
    for joint in robot.joints:
        parent = placements[joint.parent] if joint.parent >= 0 else np.eye(4)
        origins.append((parent @ joint.placement)[:3, 3])
    expected, seen = flat(np.array(origins), opened.page), opened.circles()
    for place in expected:
        assert np.abs(seen - place).max(axis=1).min() < 0.05
    opened.done()


@pytest.mark.slow
def test_the_report_turns_hides_sorts_zooms_and_darkens(report: str, browser: Any, tmp_path: Path) -> None:
    (tmp_path / "report.html").write_text(report, encoding="utf-8")
    assert len(report.encode()) < 6e6
    opened = Opened(browser, tmp_path / "report.html")
    page = opened.page
    ellipses = page.locator("svg ellipse")
    assert ellipses.count() == 2
    before = opened.circles()
    page.locator("svg").scroll_into_view_if_needed()
    box = page.locator("svg").bounding_box()
    page.mouse.move(box["x"] + 60, box["y"] + 60)
    page.mouse.down()
    page.mouse.move(box["x"] + 160, box["y"] + 90)
    page.mouse.up()
    assert np.abs(opened.circles() - before).max() > 5
    ellipses.first.dispatch_event("pointermove", {"clientX": 100, "clientY": 100})
    assert "kg" in page.locator(".tip").inner_text()
    page.get_by_label("outline the others").check()
    assert ellipses.count() == 4
    page.locator(".robot fieldset", has_text="Links").locator("input").first.uncheck()
    assert ellipses.count() == 2
    head = page.locator("th", has_text="mass").first
    table = head.locator("xpath=ancestor::table")
    for order in (1, -1):
        head.click()
        masses = [float(text) for text in table.locator("tbody td:nth-child(2)").all_inner_texts()]
        assert masses == sorted(masses, reverse=order < 0)
    figure = page.locator("figure.plot").first
    canvas = figure.locator("canvas")
    canvas.scroll_into_view_if_needed()
    canvas.hover()
    page.mouse.wheel(0, -400)
    page.locator("figure.plot[data-range]").first.wait_for()
    low, high = map(float, figure.get_attribute("data-range").split())
    assert 0 < high - low < 9
    assert "N·m" in figure.locator("figcaption").inner_text()
    assert canvas.evaluate("c => c.getContext('2d').getImageData(0, 0, c.width, c.height).data.some((v) => v)")
    paper = page.evaluate("getComputedStyle(document.body).backgroundColor")
    page.locator("#theme").click()
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") != paper
    opened.done()


def test_keys_turn_zoom_and_reset_and_curves_show_the_values_under_the_mouse(browser: Any, tmp_path: Path) -> None:
    page = Page("m")
    page.robot(casid.load_robot("spatial_2r"))
    t = np.linspace(0.0, 10.0, 101)
    page.curves(t, {"speed": 3.0 + 0.0 * t[:, None]}, ["joint1"], "rad/s", "g")
    (tmp_path / "m.html").write_text(page.html(), encoding="utf-8")
    opened = Opened(browser, tmp_path / "m.html")
    shown, drawing, figure = opened.page, opened.page.locator(".robot svg"), opened.page.locator("figure.plot")
    start = opened.circles()
    for _ in range(9):
        shown.keyboard.press("Tab")
        if drawing.evaluate("node => node === document.activeElement"):
            break
    for key in ("ArrowLeft", "ArrowDown"):
        before = opened.circles()
        shown.keyboard.press(key)
        assert np.abs(opened.circles() - before).max() > 1
    scale = float(drawing.get_attribute("data-scale"))
    shown.keyboard.press("+")
    assert float(drawing.get_attribute("data-scale")) > scale
    figure.press("+")
    low, high = map(float, figure.get_attribute("data-range").split())
    assert high - low < 9
    figure.locator("canvas").hover()
    assert "s: speed 3 rad/s" in figure.locator("figcaption").inner_text()
    shown.keyboard.press("Escape")
    np.testing.assert_allclose(opened.circles(), start)
    assert figure.get_attribute("data-range") == "0 10"
    opened.done()


@pytest.mark.slow
def test_a_motion_plays(browser: Any, tmp_path: Path) -> None:
    robot = casid.load_robot("spatial_2r")
    page = Page("m")
    page.robot(robot, motion=([0.0, 0.3], [[0.0, 0.0], [1.0, 0.5]]))
    (tmp_path / "m.html").write_text(page.html(), encoding="utf-8")
    opened = Opened(browser, tmp_path / "m.html")
    opened.page.get_by_text("Play").click()
    opened.page.locator(".value", has_text="57°").first.wait_for()
    opened.done()


@pytest.mark.slow
@pytest.mark.claim("link1 of the Panda was cut off")
@pytest.mark.parametrize("window", [(1200, 850, "light"), (390, 844, "dark")], ids=["desktop", "phone"])
def test_nothing_is_cut_off_at_any_limit(window: tuple[int, int, str], browser: Any, tmp_path: Path) -> None:
    width, height, scheme = window
    (tmp_path / "v.html").write_text(view("panda"), encoding="utf-8")
    page = browser.new_page(viewport={"width": width, "height": height}, color_scheme=scheme)
    page.goto((tmp_path / "v.html").as_uri())
    outside = """() => {
      const frame = document.querySelector("svg").getBoundingClientRect();
      return [...document.querySelectorAll("svg *")].filter((node) => {
        const box = node.getBoundingClientRect();
        const aside = box.left < frame.left - 1 || box.right > frame.right + 1;
        return aside || box.top < frame.top - 1 || box.bottom > frame.bottom + 1;
      }).length;
    }"""
    assert page.locator("svg line.ground").count() > 4 and " m" in page.locator("svg .scale text").text_content()
    assert page.evaluate(outside) == 0
    sliders = page.locator("input[type=range]")
    for end in ("max", "min"):
        for k in range(sliders.count()):
            move = f"node => {{ node.value = node.{end}; node.dispatchEvent(new Event('input')); }}"
            sliders.nth(k).evaluate(move)
            assert page.evaluate(outside) == 0, (end, k)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.close()


def test_a_page_is_shown_as_it_is_unless_it_is_cut_off(report: str, tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    path.write_text(report, encoding="utf-8")
    assert view(path) == report
    path.write_text(report[: len(report) // 3], encoding="utf-8")
    with pytest.raises(DatasetError, match="cut off"):
        view(path)


def test_shapes_of_the_robot_file_stand_behind_the_bodies(browser: Any, tmp_path: Path) -> None:
    pytest.importorskip("trimesh", reason="needs the extra meshes")
    path = tmp_path / "arm.urdf"
    path.write_text("""<robot name="arm"><link name="base"/>
<joint name="turn" type="revolute"><parent link="base"/><child link="arm"/><axis xyz="0 0 1"/>
<limit lower="-1" upper="1" effort="1" velocity="1"/></joint>
<link name="arm"><inertial><origin xyz="0.2 0 0"/><mass value="1"/>
<inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial>
<visual><origin xyz="0.3 0 0"/><geometry><box size="0.6 0.1 0.1"/></geometry></visual></link></robot>""")
    (tmp_path / "arm.html").write_text(view(path), encoding="utf-8")
    page = browser.new_page(viewport={"width": 1150, "height": 900})
    page.goto((tmp_path / "arm.html").as_uri())
    drawn = page.locator("svg .shapes path")
    assert drawn.count() > 0
    left = page.locator("svg").bounding_box()
    box = page.locator("svg .shapes").bounding_box()
    assert box["x"] > left["x"] and box["x"] + box["width"] < left["x"] + left["width"]
    page.get_by_label("shapes of the robot file").uncheck()
    assert drawn.count() == 0
    page.close()
