"""A machine with a gripper in a URDF, shared by the tests of robot files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from casid.description import Description, Link, Lock, Robot
from casid.description._document import assemble
from casid.description._raw import RawJoint, base_link

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


def build(
    joints: list[RawJoint], lock: Lock = (), base: str | None = None, loose: tuple[str, ...] = (), **options: Any
) -> Robot:
    """A robot of these joints."""
    where = "machine.toml"
    base = base_link(joints, base, loose, where)
    return assemble(Description("machine", where, Link(base), tuple(joints), **options), lock)
