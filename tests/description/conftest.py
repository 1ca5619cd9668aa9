"""A machine with a gripper in a URDF, shared by the tests of robot files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from casid.description import Robot
from casid.description.formats import Reading, Toml

URDF = """<?xml version="1.0"?>
<!-- a comment before -->
<robot name="arm">
  <link name="base"><inertial><mass value="4"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>
  </link>
  <link name="upper">
    <!-- from CAD -->
    <visual><geometry><mesh filename="package://arm/upper.stl"/></geometry></visual>
    <inertial>
      <origin xyz="0.1 0.2 0.3" rpy="0.3 -0.2 1.1"/>
      <mass value="2.5"/>
      <inertia ixx="0.11" ixy="0.01" ixz="-0.02" iyy="0.12" iyz="0.005" izz="0.09"/>
    </inertial>
  </link>
  <link name="tool"><inertial><origin xyz="0 0 0.1"/><mass value="0.5"/>
    <inertia ixx="0.002" ixy="0" ixz="0" iyy="0.002" iyz="0" izz="0.001"/></inertial></link>
  <link name="finger1"><inertial><mass value="0.1"/>
    <inertia ixx="1e-4" ixy="0" ixz="0" iyy="1e-4" iyz="0" izz="1e-4"/></inertial></link>
  <link name="finger2"><inertial><mass value="0.1"/>
    <inertia ixx="1e-4" ixy="0" ixz="0" iyy="1e-4" iyz="0" izz="1e-4"/></inertial></link>
  <joint name="shoulder" type="revolute">
    <origin xyz="0 0 0.333" rpy="0.1 0.2 -2.9"/><parent link="base"/><child link="upper"/><axis xyz="0 0.6 0.8"/>
    <limit lower="-2.1" upper="2.2" effort="80" velocity="2.175"/>
    <dynamics damping="0.7" friction="0.2"/>
  </joint>
  <joint name="weld" type="fixed"><origin xyz="0.4 0 0" rpy="0 1.5707963267948966 0"/><parent link="upper"/>
    <child link="tool"/></joint>
  <joint name="slide" type="prismatic"><origin xyz="0.05 0 0"/><parent link="tool"/><child link="finger1"/>
    <axis xyz="0 1 0"/><limit lower="0" upper="0.04" effort="20" velocity="0.2"/></joint>
  <joint name="slide2" type="prismatic"><origin xyz="0.05 0 0"/><parent link="tool"/><child link="finger2"/>
    <axis xyz="0 -1 0"/><limit lower="0" upper="0.04" effort="20" velocity="0.2"/>
    <mimic joint="slide" multiplier="0.5" offset="0.01"/></joint>
</robot>
<!-- a comment behind -->
"""


@pytest.fixture
def arm(tmp_path: Path) -> Path:
    path = tmp_path / "arm.urdf"
    path.write_text(URDF, encoding="utf-8")
    return path


def rpy_matrix(roll: float, pitch: float, yaw: float) -> np.ndarray:
    """W. Khalil's roll-pitch-yaw matrix, written out."""
    cr, sr, cp, sp, cy, sy = (f(a) for a in (roll, pitch, yaw) for f in (np.cos, np.sin))
    return np.array(
        [
            [cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr],
            [sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr],
            [-sp, cp * sr, cp * cr],
        ]
    )


def parsed(text: str, name: str = "machine.toml", **options: Any) -> Robot:
    """The robot of a TOML file's text."""
    return Toml().read(text.encode(), Reading(name)).robot(**options)


def joint(name: str, parent: str, child: str, kind: str = "revolute", **more: Any) -> dict[str, Any]:
    """One joint of a TOML file in the convention ``placement``."""
    return {"name": name, "type": kind, "parent": parent, "link": {"name": child, **more.pop("link", {})}, **more}


def build(joints: list[dict[str, Any]], head: str = "", tail: str = "", **options: Any) -> Robot:
    """The robot of these joints, read as TOML."""
    blocks = ["\n".join(["[[joint]]", *(f"{key} = {_value(value)}" for key, value in one.items())]) for one in joints]
    text = "\n".join(['schema = 1\nname = "machine"\nconvention = "placement"', head, *blocks, tail])
    return parsed(text, **options)


def _value(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key} = {_value(item)}" for key, item in value.items()) + "}"
    return json.dumps(value.tolist() if isinstance(value, np.ndarray) else value)
