"""URDF, the Unified Robot Description Format of ROS.

Read: ``joint`` (``origin``, ``axis``, ``parent``, ``child``, ``limit``, ``mimic``, ``dynamics``), ``link`` with
``inertial`` (``origin``, ``mass``, ``inertia``). Kept when a file is edited, otherwise not looked at: meshes, colours,
transmissions, plug-ins. The link frame is the joint frame. Written inertials have ``rpy = 0`` and the full tensor, for
some engines drop the rotation. References: https://wiki.ros.org/urdf/XML/joint, https://wiki.ros.org/urdf/XML/link.
"""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np

from casid.arrays import Array
from casid.description._document import MOVING_TYPES, Description, JointLimits, MimicRule, RawJoint
from casid.description._placement import INFINITE, angle_notes, number, numbers, rotation_rpy, rpy_of, xyz_rpy
from casid.description._robot import Inertial, Link
from casid.description.formats._contract import (
    Changes,
    Format,
    Reading,
    frames_as_links,
    links_at_joints,
    weightless_where_fixed,
)
from casid.description.formats._xml import SIX, Element, Elements, XmlFile, document, node, term_words, text_of, turned
from casid.errors import RobotError
from casid.inertia import tensor, tensor_entries

_DYNAMICS = (("damping", "fv"), ("friction", "fc"))


class Urdf(Format):
    """URDF files."""

    name = "URDF"
    suffixes = (".urdf",)
    mark = b"<robot"
    shaped = ("visual", "collision")
    holds = frozenset({"velocity", "effort", "fixed joints", "order", "base"})
    terms = frozenset({"fv", "fc"})

    def read(self, content: bytes, reading: Reading) -> Description:
        """See `Format.read`."""
        file = XmlFile(content, reading.where)
        root = file.root
        if root.tag != "robot":
            raise RobotError(f"{reading.where}: not a URDF: its root element is <{root.tag}>, expected <robot>")
        for element in root.iter():
            if "xacro" in element.tag.partition(":")[0]:
                raise RobotError(
                    f"{reading.where}: contains <{element.tag}>; expand it first: xacro {reading.where} > robot.urdf"
                )
        return _Reader(reading.where, reading.angle_tolerance).description(root, content)

    def prepared(self, description: Description) -> tuple[Description, tuple[str, ...]]:
        """Link frames moved into the joint frames, named frames as links; zero mass where nothing else is known."""
        moved, words = links_at_joints(description)
        return weightless_where_fixed(frames_as_links(moved)), words

    def write(self, description: Description) -> bytes:
        """See `Format.write`."""
        parts = (part for joint in description.joints for part in (_joint(joint), _link(joint.link)))
        return document(node("robot", {"name": description.name}, _link(description.base), *parts))

    def edit(self, content: bytes, changes: Changes, where: str) -> bytes:
        """See `Format.edit`."""
        file = XmlFile(content, where)
        links = ((link.get("name", ""), link) for link in file.root.findall("link"))
        edits, inside = file.inertial_edits(links, changes.inertials, _inertial)
        for joint in file.root.findall("joint"):
            terms = changes.terms.get(joint.get("name", ""))
            if terms is None:
                continue
            found = joint.find("dynamics")
            values = term_words(terms, _DYNAMICS)
            if found is not None:
                edits[found] = file.retagged(found, {"damping": None, "friction": None, **values})
            elif values:
                inside[joint] = ("\n" + text_of(node("dynamics", values), file.indent(joint) + "  ")).encode()
        return file.edited(edits, inside)


class _Reader(Elements):
    def description(self, root: Element, content: bytes) -> Description:
        links: dict[str, Link] = {}
        for element in root.findall("link"):
            self.unique(self._link(element), links)
        joints = tuple(self._joint(element, links) for element in root.findall("joint"))
        return Description(
            root.get("name") or Path(self.where).stem,
            self.where,
            self.tree(links, joints),
            joints,
            notes=tuple(angle_notes(self.angles, self.tolerance)),
            format=Urdf.name,
            content=content,
        )

    def _origin(self, element: Element, what: str) -> tuple[list[float], list[float]]:
        origin = self.child(element, "origin", what)
        rpy = self.numbers(origin, "rpy", 3, what, (0.0,) * 3)
        self.angles += [(f"{what}, rpy", angle) for angle in rpy]
        return self.numbers(origin, "xyz", 3, what, (0.0,) * 3), rpy

    def _link(self, element: Element) -> Link:
        name = self.name(element)
        what = f"link '{name}'"
        inertial = self.child(element, "inertial", what)
        if inertial is None:
            return Link(name)
        mass, inertia = (self.child(inertial, key, what) for key in ("mass", "inertia"))
        if mass is None or inertia is None:
            self.fail(f"{what}: <inertial> has no <{'mass' if mass is None else 'inertia'}>")
        xyz, rpy = self._origin(inertial, what)
        matrix = tensor([self.number(inertia, key, what) for key in SIX])
        matrix = turned(matrix, rotation_rpy(rpy, self.tolerance))
        return Link(name, Inertial(self.number(mass, "value", what), np.array(xyz), matrix))

    def _joint(self, element: Element, links: dict[str, Link]) -> RawJoint:
        name = self.name(element)
        what = f"joint '{name}'"
        kind = element.get("type")
        if kind is None:
            self.fail(f"{what} has no attribute 'type'")
        ends: dict[str, str] = {}
        for end in ("parent", "child"):
            found = self.child(element, end, what)
            link = None if found is None else found.get("link")
            if not link:
                self.fail(f'{what} has no <{end} link="..."/>')
            if link not in links:
                self.fail(f"{what}: its {end} link '{link}' does not exist")
            ends[end] = link
        moves = kind != "fixed"  # a fixed joint follows nothing, whatever its mimic element
        return RawJoint(
            name=name,
            type="revolute" if kind == "continuous" else kind,
            parent=ends["parent"],
            link=links[ends["child"]],
            placement=xyz_rpy(*self._origin(element, what), tolerance=self.tolerance),
            axis=self._axis(element, what) if moves else np.array([0.0, 0.0, 1.0]),
            limits=self._limits(element, kind, what),
            mimic=self._mimic(element, what) if moves else None,
            terms=self._terms(element, what) if moves else {},
        )

    def _mimic(self, element: Element, what: str) -> MimicRule | None:
        found = self.child(element, "mimic", what)
        if found is None:
            return None
        leader = self.leader(found, what, '; write <mimic joint="..."/>')
        return MimicRule(leader, self.number(found, "multiplier", what, 1.0), self.number(found, "offset", what, 0.0))

    def _terms(self, element: Element, what: str) -> dict[str, float]:
        found = self.child(element, "dynamics", what)
        terms = {symbol: self.number(found, key, what, 0.0) for key, symbol in _DYNAMICS}
        for symbol, value in terms.items():
            if value < 0:
                self.fail(f"{what}: <dynamics> has a negative value ({symbol} = {value:g}); friction is not negative")
        return {symbol: value for symbol, value in terms.items() if value}

    def _axis(self, element: Element, what: str) -> Array:
        return self.axis(self.numbers(self.child(element, "axis", what), "xyz", 3, what, (1.0, 0.0, 0.0)), what)

    def _limits(self, element: Element, kind: str, what: str) -> JointLimits:
        limit = self.child(element, "limit", what)
        if limit is None or kind not in MOVING_TYPES:
            return JointLimits()
        # URDF's default of 0 for lower and upper would forbid all motion where a file gives neither: then it is free
        bounded = kind != "continuous" and not (limit.get("lower") is None and limit.get("upper") is None)
        values = {
            "lower": self.number(limit, "lower", what, 0.0) if bounded else -math.inf,
            "upper": self.number(limit, "upper", what, 0.0) if bounded else math.inf,
            "velocity": self.number(limit, "velocity", what, INFINITE),
            "effort": self.number(limit, "effort", what, INFINITE),
        }
        return JointLimits(**{k: math.copysign(math.inf, v) if abs(v) >= INFINITE else v for k, v in values.items()})


def _inertial(body: Inertial) -> Element:
    return node(
        "inertial",
        {},
        node("origin", {"xyz": numbers(body.com), "rpy": "0 0 0"}),
        node("mass", {"value": number(body.mass)}),
        node("inertia", dict(zip(SIX, map(number, tensor_entries(body.inertia_com)), strict=True))),
    )


def _link(link: Link) -> Element:
    return node("link", {"name": link.name}, *([] if link.inertial is None else [_inertial(link.inertial)]))


def _joint(joint: RawJoint) -> Element:
    placement, kind, rule = joint.placement, joint.written_type, joint.mimic
    parts = [
        node("origin", {"xyz": numbers(placement[:3, 3]), "rpy": numbers(rpy_of(placement[:3, :3]))}),
        node("parent", {"link": joint.parent}),
        node("child", {"link": joint.link.name}),
    ]
    if joint.type != "fixed":
        parts += [node("axis", {"xyz": numbers(joint.axis)}), *_limit(joint.limits, kind)]
        if rule is not None:
            words = {"joint": rule.joint, "multiplier": number(rule.multiplier), "offset": number(rule.offset)}
            parts.append(node("mimic", words))
        terms = term_words(joint.terms, _DYNAMICS)
        if terms:
            parts.append(node("dynamics", terms))
    return node("joint", {"name": joint.name, "type": kind}, *parts)


def _limit(limits: JointLimits, kind: str) -> list[Element]:
    """A joint that moves needs ``effort`` and ``velocity`` wherever it has a limit at all, and a slider always does."""
    keys = ("effort", "velocity") if kind == "continuous" else ("lower", "upper", "effort", "velocity")
    if kind not in MOVING_TYPES or (kind == "continuous" and not limits.finite(keys)):
        return []
    values = {key: float(np.clip(getattr(limits, key), -INFINITE, INFINITE)) for key in keys}
    return [node("limit", {key: number(value) for key, value in values.items()})]
