"""Reader of URDF, the Unified Robot Description Format of ROS.

Honoured: ``joint`` (``origin``, ``axis``, ``parent``, ``child``, ``limit``), ``link`` with ``inertial`` (``origin``,
``mass``, ``inertia``). Ignored: everything that does not move mass (meshes, colours, transmissions, ...). The link
frame is the joint frame. References: https://wiki.ros.org/urdf/XML/joint, https://wiki.ros.org/urdf/XML/link.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn
from xml.etree import ElementTree

import numpy as np
from numpy.typing import ArrayLike

from casid.description.assembly import assemble
from casid.description.placement import ANGLE_TOLERANCE, Array, rotation_rpy, unit_axis, xyz_rpy
from casid.description.raw import JointLimits, Lock, RawJoint
from casid.description.robot import STANDARD_GRAVITY, Inertial, Link, Robot
from casid.errors import RobotError
from casid.files import read_xml
from casid.inertia import tensor

_Element = ElementTree.Element


def read_urdf(
    path: str | Path,
    *,
    lock: Lock = (),
    gravity: ArrayLike = STANDARD_GRAVITY,
    angle_tolerance: float = ANGLE_TOLERANCE,
) -> Robot:
    """Read a robot from a URDF file.

    Parameters
    ----------
    path
        The file; xacro must be expanded before.
    lock
        Names of joints to fix at position 0, or a mapping from names to positions [rad or m]. The way to leave out
        grippers, and the way to read files with mimic, planar or floating joints.
    gravity
        Acceleration of gravity in the base frame, shape (3,) [m/s^2]; a URDF does not say.
    angle_tolerance
        Angles this close to a multiple of pi/2 count as that multiple [rad]; 1e-5 suits files that print 1.5708.

    Returns
    -------
    Robot
        Revolute, continuous and prismatic joints move; a continuous one has no position limits. The links of fixed
        joints are lumped into the moving link that carries them and kept as `Frame`s.

    Raises
    ------
    RobotError
        Naming the file, the element and what to do.

    Warns
    -----
    InertiaWarning
        For each link whose mass and inertia no real body can have.
    """
    path = Path(path)
    return _Reader(path.name, angle_tolerance).robot(_root(path), path.stem, lock, gravity)


def _root(path: Path) -> _Element:
    root = read_xml(path, "robot file", RobotError)
    if root.tag != "robot":
        raise RobotError(f"{path.name}: not a URDF: its root element is <{str(root.tag)[:60]}>, expected <robot>")
    for element in root.iter():
        if isinstance(element.tag, str) and element.tag.startswith("{") and "xacro" in element.tag:
            tag = element.tag.rsplit("}", 1)[1]
            raise RobotError(f"{path.name}: contains <xacro:{tag}>; expand it first: xacro {path.name} > robot.urdf")
    return root


class _Reader:
    """The elements of one file; every message starts with its name."""

    def __init__(self, where: str, angle_tolerance: float) -> None:
        self.where = where
        self.tolerance = angle_tolerance

    def robot(self, root: _Element, stem: str, lock: Lock, gravity: ArrayLike) -> Robot:
        links: dict[str, Link] = {}
        for element in root.findall("link"):
            link = self._link(element)
            if link.name in links:
                self._fail(f"two links are named '{link.name}'; link names must be unique")
            links[link.name] = link
        joints = [self._joint(element, links) for element in root.findall("joint")]
        mentioned = {name for joint in joints for name in (joint.parent, joint.link.name)}
        return assemble(
            root.get("name") or stem,
            joints,
            where=self.where,
            loose=[name for name in links if name not in mentioned],
            gravity=gravity,
            source={"description": f"URDF file {self.where}"},
            lock=lock,
        )

    def _fail(self, message: str) -> NoReturn:
        raise RobotError(f"{self.where}: {message}")

    def _name(self, element: _Element) -> str:
        name = element.get("name")
        if not name:
            self._fail(f"a <{element.tag}> has no name")
        return name

    def _numbers(
        self, element: _Element, key: str, count: int, what: str, default: Sequence[float] | None
    ) -> list[float]:
        text = element.get(key)
        if text is None:
            if default is None:
                self._fail(f"{what}: <{element.tag}> has no attribute '{key}'")
            return list(default)
        shown = f'{what}: <{element.tag} {key}="{text}">'
        try:
            numbers = [float(word) for word in text.split()]
        except ValueError:
            self._fail(f"{shown} is not {'a number' if count == 1 else f'{count} numbers separated by spaces'}")
        if len(numbers) != count:
            self._fail(f"{shown} must hold {count} number{'s' if count > 1 else ''}, got {len(numbers)}")
        if not all(map(math.isfinite, numbers)):
            self._fail(f"{shown} must be finite")
        return numbers

    def _number(self, element: _Element, key: str, what: str, default: float | None = None) -> float:
        return self._numbers(element, key, 1, what, None if default is None else (default,))[0]

    def _origin(self, element: _Element, what: str) -> tuple[list[float], list[float]]:
        origin = element.find("origin")
        if origin is None:
            return [0.0] * 3, [0.0] * 3
        return self._numbers(origin, "xyz", 3, what, (0,) * 3), self._numbers(origin, "rpy", 3, what, (0,) * 3)

    def _link(self, element: _Element) -> Link:
        name = self._name(element)
        what = f"link '{name}'"
        inertial = element.find("inertial")
        if inertial is None:
            return Link(name)
        mass, inertia = inertial.find("mass"), inertial.find("inertia")
        if mass is None or inertia is None:
            self._fail(f"{what}: <inertial> has no <{'mass' if mass is None else 'inertia'}>")
        xyz, rpy = self._origin(inertial, what)
        rotation = rotation_rpy(rpy, self.tolerance)
        six = [self._number(inertia, key, what) for key in ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")]
        rotated = rotation @ tensor(six) @ rotation.T
        return Link(
            name,
            Inertial(self._number(mass, "value", what), np.array(xyz), (rotated + rotated.T) / 2),
        )

    def _joint(self, element: _Element, links: dict[str, Link]) -> RawJoint:
        name = self._name(element)
        what = f"joint '{name}'"
        kind = element.get("type")
        if kind is None:
            self._fail(f"{what} has no attribute 'type'")
        ends: dict[str, str] = {}
        for end in ("parent", "child"):
            found = element.find(end)
            link = None if found is None else found.get("link")
            if not link:
                self._fail(f'{what} has no <{end} link="..."/>')
            if link not in links:
                self._fail(f"{what}: its {end} link '{link}' does not exist")
            ends[end] = link
        mimic = element.find("mimic") if kind != "fixed" else None  # a fixed joint follows nothing, whatever it says
        return RawJoint(
            name=name,
            type=kind,
            parent=ends["parent"],
            link=links[ends["child"]],
            placement=xyz_rpy(*self._origin(element, what), tolerance=self.tolerance),
            axis=self._axis(element, what) if kind != "fixed" else np.array([0.0, 0.0, 1.0]),
            limits=self._limits(element, kind, what),
            mimic=None if mimic is None else mimic.get("joint", "?"),
        )

    def _axis(self, element: _Element, what: str) -> Array:
        found = element.find("axis")
        xyz = [1.0, 0.0, 0.0] if found is None else self._numbers(found, "xyz", 3, what, (1.0, 0.0, 0.0))
        try:
            return unit_axis(xyz, self.tolerance)
        except ValueError as error:
            self._fail(f"{what}: {error}")

    def _limits(self, element: _Element, kind: str, what: str) -> JointLimits:
        limit = element.find("limit")
        if limit is None or kind not in ("revolute", "continuous", "prismatic"):
            return JointLimits()
        # URDF's default of 0 for lower and upper would forbid all motion where a file gives neither: then it is free
        bounded = kind != "continuous" and not (limit.get("lower") is None and limit.get("upper") is None)
        return JointLimits(
            lower=self._number(limit, "lower", what, 0.0) if bounded else -math.inf,
            upper=self._number(limit, "upper", what, 0.0) if bounded else math.inf,
            velocity=self._number(limit, "velocity", what, math.inf) if "velocity" in limit.attrib else math.inf,
            effort=self._number(limit, "effort", what, math.inf) if "effort" in limit.attrib else math.inf,
        )
