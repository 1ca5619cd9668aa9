"""The command ``excite``."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import typer

import casid
from casid.cli._excitation import Bounds, _at_home, _box, _note_unchecked, _with_capsules
from casid.errors import DatasetError, RobotError


@pytest.mark.parametrize(
    ("bounds", "notes"),
    [
        (Bounds(), ["no collision check: no capsules known", "no torque limits: the robot's file"]),
        (Bounds(collision=False, torque=False), ["collision check: switched off", "torque limits: switched off"]),
    ],
)
def test_limits_that_are_not_kept_are_noted(
    bounds: Bounds, notes: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    _note_unchecked(casid.load_robot("spatial_2r"), bounds)
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 2 and all(note in line for note, line in zip(notes, lines, strict=True))


URDF = """<robot name="arm"><link name="base"/>
<link name="arm"><collision><geometry><mesh filename="package://maker/arm.stl"/></geometry></collision></link>
<joint name="j" type="revolute"><parent link="base"/><child link="arm"/><axis xyz="0 0 1"/>
<limit lower="-1" upper="1" effort="1" velocity="1"/></joint></robot>"""


@pytest.mark.claim("missing meshes are refused without --no-collision")
def test_missing_meshes_are_refused_and_packages_find_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trimesh = pytest.importorskip("trimesh", reason="needs the extra meshes")
    (tmp_path / "arm.urdf").write_text(URDF)
    name = str(tmp_path / "arm.urdf")
    robot = replace(casid.load_robot(name), capsules=())
    with pytest.raises(RobotError, match=r"arm\.stl.*--packages DIR.*--no-collision"):
        _with_capsules(robot, name, [])
    (tmp_path / "elsewhere" / "maker").mkdir(parents=True)
    trimesh.creation.box((0.1, 0.1, 0.4)).export(tmp_path / "elsewhere" / "maker" / "arm.stl")
    assert len(_with_capsules(robot, name, [tmp_path / "elsewhere"]).capsules) == 1
    monkeypatch.setenv("ROS_PACKAGE_PATH", str(tmp_path / "elsewhere"))
    assert len(_with_capsules(robot, name, []).capsules) == 1
    assert _with_capsules(casid.load_robot("spatial_2r"), "spatial_2r", []).n == 2


def test_other_formats_without_capsules_are_refused(tmp_path: Path) -> None:
    robot = replace(casid.load_robot("spatial_2r"), capsules=())
    with pytest.raises(RobotError, match="--no-collision"):
        _with_capsules(robot, "arm.xml", [])


def test_home_and_workspace_are_read() -> None:
    inf = float("inf")
    assert _box("x=-0.5:0.8, z=0.05:") == ((-0.5, 0.8), (-inf, inf), (0.05, inf)) and _box("") == ()
    assert _at_home({"ramp": 0.5, "home": "0.1,-0.2"}) == {"ramp": 0.5, "home": (0.1, -0.2)}
    for text in ("height=0:1", "z=0.05"):
        with pytest.raises(typer.BadParameter, match="--workspace: expected"):
            _box(text)
    for wrong in ("zero", "0.1,nan"):
        with pytest.raises(typer.BadParameter, match="--home"):
            _at_home({"home": wrong})
    for wrong in ("x=nan:1", "x=2:1", "z=low:1"):
        with pytest.raises(DatasetError, match=r"--workspace, [xz]: "):
            _box(wrong)
