"""Reader of MJCF."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from casid.arrays import Array
from casid.description._document import Description, JointLimits, RawFrame, RawJoint, fixed_name, motion
from casid.description._placement import transform
from casid.description._robot import Inertial, Link
from casid.description.formats._contract import NO_BODY, Reading
from casid.description.formats._mjcf_context import Context, joint_couplings, unsupported, with_includes
from casid.description.formats._mjcf_geoms import Meshes, body_of_geoms
from casid.description.formats._xml import Element, XmlFile, turned
from casid.errors import RobotError
from casid.inertia import tensor

_WORLD = "world"
#: Attributes of a joint that are joint terms, and their symbols.
TERMS = (("damping", "fv"), ("frictionloss", "fc"), ("armature", "Ia"), ("stiffness", "ks"))
_KINDS = {"hinge": "revolute", "slide": "prismatic", "ball": "ball", "free": "floating"}


@dataclass
class _Body:
    """One ``<body>`` with what ``<frame>`` elements around and in it add."""

    element: Element
    name: str
    placement: Array
    childclass: str | None
    inertial: Inertial | None = None
    joints: list[tuple[Element, Array]] = field(default_factory=list)
    geoms: list[tuple[Element, Array]] = field(default_factory=list)
    sites: list[tuple[Element, Array]] = field(default_factory=list)
    children: list[_Body] = field(default_factory=list)


def read_mjcf_content(content: bytes, reading: Reading) -> Description:
    """The machine of an MJCF file; RobotError names every element that casid does not model."""
    file = XmlFile(content, reading.where)
    if file.root.tag != "mujoco":
        raise RobotError(f"{reading.where}: not MJCF: its root element is <{file.root.tag}>, expected <mujoco>")
    included = file.root.find(".//include") is not None
    return _Reader(with_includes(file, reading.folder), reading).description(content, included)


class _Reader(Context):
    def __init__(self, root: Element, reading: Reading) -> None:
        super().__init__(root, reading.where, reading.angle_tolerance)
        self.root = root
        self.meshes = Meshes(root, self, reading.folder)
        self.notes = list(unsupported(root, self))
        self.count = 0
        self.joints: list[RawJoint] = []
        self.frames: list[RawFrame] = []
        self.unknown: list[str] = []
        self.references: dict[str, float] = {}
        self.efforts = self._actuators()

    def description(self, content: bytes, included: bool) -> Description:
        world = _Body(Element("body"), _WORLD, np.eye(4), None)
        for element in self.root.findall("worldbody"):
            world.childclass = element.get("childclass", world.childclass)
            self._fill(world, element, np.eye(4))
        if world.joints or world.inertial is not None:
            self.fail("<worldbody> holds a joint or an <inertial> that is in no <body>; put it into one")
        top, base = world, Link(_WORLD)
        if len(world.children) == 1 and not world.sites:
            (only,) = world.children
            if not only.joints and np.array_equal(only.placement, np.eye(4)):
                top, base = only, Link(only.name, self._inertial(only, False))
        self._sites(top, base.name)
        for child in top.children:
            self._body(child, base.name, False)
        base, scaled = self._scaled(base)
        framed = self.root.find(".//frame/inertial") is not None
        kept = not (included or scaled or framed)  # what stands elsewhere, or means something else, cannot be edited
        option = next((e for e in reversed(self.root.findall("option")) if "gravity" in e.attrib), None)
        # MuJoCo's own default [m/s^2]
        gravity = (0.0, 0.0, -9.81) if option is None else self.numbers(option, "gravity", 3, "option")
        flags = [self.child(e, "flag", "option") for e in self.root.findall("option")]
        if any(flag is not None and flag.get("gravity") == "disable" for flag in flags):
            gravity = (0.0, 0.0, 0.0)
        couplings = joint_couplings(self.root, self, self.references)
        joints = tuple(replace(j, mimic=couplings.get(j.name)) for j in self.joints)
        names = {joint.link.name for joint in joints} | {base.name}
        clash = [frame.name for frame in self.frames if frame.name in names]
        if clash:
            self.notes.append(f"sites {', '.join(clash)} have names of bodies and are no frames")
        return Description(
            self.root.get("model") or Path(self.where).stem,
            self.where,
            base,
            joints,
            frames=tuple(frame for frame in self.frames if frame.name not in names),
            gravity=np.array(gravity),
            notes=tuple(self.notes),
            format="MJCF" if kept else "",
            content=content if kept else b"",
        )

    def _scaled(self, base: Link) -> tuple[Link, bool]:
        """All bodies scaled to the compiler's ``settotalmass``, the base's as the result, and whether there is one."""
        total = self.number(self.compiler, "settotalmass", "compiler", -1.0)
        if not total > 0:
            return base, False
        if self.unknown:
            self.fail(f'<compiler settotalmass="{total:g}"> needs the mass of body {", ".join(self.unknown)}')
        bodies = [link.inertial for link in (base, *(joint.link for joint in self.joints)) if link.inertial is not None]
        mass = sum(body.mass for body in bodies)
        if not mass > 0:
            self.fail(f'<compiler settotalmass="{total:g}"> of bodies without mass')
        factor = total / mass

        def link(of: Link) -> Link:
            return of if of.inertial is None else replace(of, inertial=of.inertial.scaled(factor))

        self.joints = [replace(joint, link=link(joint.link)) for joint in self.joints]
        return link(base), True

    # ------------------------------------------------------------------ bodies

    def _fill(self, body: _Body, element: Element, frame: Array) -> None:
        """Collect what stands in a body, through its ``<frame>`` elements."""
        for child in element:
            what = f"{child.tag} '{child.get('name', '?')}' in body '{body.name}'"
            if child.tag == "frame":
                outer = body.childclass
                body.childclass = child.get("childclass", outer)
                self._fill(body, child, frame @ self.placement(child, what))
                body.childclass = outer
            elif child.tag == "body":
                self.count += 1
                name = child.get("name") or f"body{self.count}"
                placement = frame @ self.placement(child, f"body '{name}'") + 0.0
                inner = _Body(child, name, placement, child.get("childclass", body.childclass))
                self._fill(inner, child, np.eye(4))
                body.children.append(inner)
            elif child.tag == "freejoint":
                body.joints.append((Element("joint", {"type": "free", **child.attrib}), frame))
            elif child.tag in ("joint", "geom", "site"):
                getattr(body, f"{child.tag}s").append((self.attributes(child, body.childclass), frame))
            elif child.tag == "inertial":
                if body.inertial is not None:
                    self.fail(f"body '{body.name}' has more than one <inertial>; keep the one that holds")
                body.inertial = self._own_inertial(child, frame, f"body '{body.name}'")

    def _body(self, body: _Body, parent: str, moves: bool) -> None:
        """Joints of a body and all that it carries; ``moves``: the parent is not welded to the world."""
        moves = moves or bool(body.joints)
        if len(body.joints) > 1 and any(element.get("type") == "free" for element, _ in body.joints):
            self.fail(f"body '{body.name}' has other joints beside a free one; keep the free joint alone")
        link = Link(body.name, self._inertial(body, moves))
        if not body.joints:
            self.joints.append(RawJoint(fixed_name(body.name), "fixed", parent, link, placement=body.placement))
        before, at = parent, body.placement
        for k, (element, frame) in enumerate(body.joints):
            last = k == len(body.joints) - 1
            name = element.get("name") or f"{body.name}_joint{k + 1}"
            carried = link if last else Link(f"{body.name}/{name}", NO_BODY)
            self.joints.append(self._joint(element, frame, name, before, carried, at))
            before, at = carried.name, np.eye(4)
        self._sites(body, body.name)
        for child in body.children:
            self._body(child, body.name, moves)

    def _joint(self, element: Element, frame: Array, name: str, parent: str, link: Link, at: Array) -> RawJoint:
        what = f"joint '{name}'"
        kind = element.get("type", "hinge")
        if kind not in _KINDS:
            self.fail(f"{what}: its type '{kind}' is not one of {', '.join(_KINDS)}")
        if kind in ("free", "ball"):
            return RawJoint(name, _KINDS[kind], parent, link, placement=at)
        axis = self.axis(frame[:3, :3] @ np.array(self.numbers(element, "axis", 3, what, (0.0, 0.0, 1.0))), what)
        anchor = frame[:3, :3] @ np.array(self.numbers(element, "pos", 3, what, (0.0,) * 3)) + frame[:3, 3]
        turn = self.angle if kind == "hinge" else float
        reference = turn(self.number(element, "ref", what, 0.0))
        self.references[name] = reference
        placement = at @ transform(translation=anchor)
        if reference:
            placement = placement @ motion(_KINDS[kind], axis, -reference, self.tolerance)
        terms = {symbol: self._first(element, key, what) for key, symbol in TERMS}
        if terms["ks"]:
            terms["fo"] = -terms["ks"] * turn(self.number(element, "springref", what, 0.0))
        return RawJoint(
            name,
            _KINDS[kind],
            parent,
            link,
            placement=placement + 0.0,
            axis=axis,
            link_placement=transform(translation=-anchor) + 0.0,
            limits=self._limits(element, name, what, kind == "hinge"),
            terms={symbol: value for symbol, value in terms.items() if value},
        )

    def _first(self, element: Element, key: str, what: str) -> float:
        """A coefficient that newer files may give as a polynomial; only its linear part is modelled."""
        values = self.numbers(element, key, None, what, (0.0,))
        if any(values[1:]):
            self.fail(f"{what}: {key} is a polynomial, casid models its first coefficient only")
        if values and values[0] < 0:
            self.fail(f"{what}: {key} is {values[0]:g}; it must not be negative")
        return values[0] if values else 0.0

    def _limits(self, element: Element, name: str, what: str, turns: bool) -> JointLimits:
        lower, upper = -math.inf, math.inf
        limited = element.get("limited", "auto")
        automatic = self.compiler.get("autolimits", "true") == "true"
        if limited == "true" or (limited == "auto" and automatic and "range" in element.attrib):
            low, high = self.numbers(element, "range", 2, what, (0.0, 0.0))
            if (low, high) != (0.0, 0.0) or limited == "true":
                lower, upper = (self.angle(low), self.angle(high)) if turns else (low, high)
        effort = self.efforts.get(name, math.inf)
        if "actuatorfrcrange" in element.attrib and element.get("actuatorfrclimited", "auto") != "false":
            effort = max(abs(x) for x in self.numbers(element, "actuatorfrcrange", 2, what))
        return JointLimits(lower, upper, effort=effort)

    # ------------------------------------------------------------------ inertia

    def _inertial(self, body: _Body, moves: bool) -> Inertial | None:
        """The mass of a body; of one that is welded to the world it does not matter, and may stay unknown."""
        choice = self.compiler.get("inertiafromgeom", "auto")
        own = body.inertial if choice != "true" else None
        if own is not None or choice == "false":
            return own
        try:
            return body_of_geoms(body.geoms, self, self.meshes, f"body '{body.name}'")
        except RobotError as error:
            if moves:
                raise
            self.unknown.append(f"'{body.name}'")
            self.notes.append(f"the mass of a body that never moves is not read: {error}")
            return None

    def _own_inertial(self, element: Element, frame: Array, what: str) -> Inertial:
        mass = self.number(element, "mass", what)
        placed = frame @ self.placement(element, what)
        if "fullinertia" in element.attrib:
            xx, yy, zz, xy, xz, yz = self.numbers(element, "fullinertia", 6, what)
            matrix = tensor([xx, xy, xz, yy, yz, zz])
        else:
            matrix = np.diag(self.numbers(element, "diaginertia", 3, what, (0.0,) * 3))
        matrix = turned(matrix, placed[:3, :3])
        mass = max(mass, self.number(self.compiler, "boundmass", "compiler", 0.0)) if mass >= 0 else mass
        least = self.number(self.compiler, "boundinertia", "compiler", 0.0)
        moments, axes = np.linalg.eigh(matrix)
        if least > 0 and moments[0] < least:
            moments = np.maximum(moments, least)
            matrix = axes @ np.diag(moments) @ axes.T
        if self.compiler.get("balanceinertia") == "true" and moments[0] + moments[1] < moments[2]:
            matrix = moments.mean() * np.eye(3)
        return Inertial(mass, placed[:3, 3], matrix)

    # ------------------------------------------------------------------ sites and actuators

    def _sites(self, body: _Body, link: str) -> None:
        for element, frame in body.sites:
            name = element.get("name")
            if name:
                placement = frame @ self.placement(element, f"site '{name}'") + 0.0
                self.frames.append(RawFrame(name, link, placement))

    def _actuators(self) -> dict[str, float]:
        """Largest torque of each joint that its actuators' ranges allow."""
        efforts: dict[str, float] = {}
        for group in self.root.findall("actuator"):
            for element in group:
                full = self.attributes(element, None)
                joint = full.get("joint")
                key = "forcerange" if "forcerange" in full.attrib else "ctrlrange" if element.tag == "motor" else ""
                if joint is None or key not in full.attrib or full.get(key.replace("range", "limited")) == "false":
                    continue
                what = f"actuator of joint '{joint}'"
                gear = (self.numbers(full, "gear", None, what, (1.0,)) or [1.0])[0]
                top = max(abs(x) for x in self.numbers(full, key, 2, what)) * abs(gear)
                if top > 0:
                    efforts[joint] = efforts.get(joint, 0.0) + top
        return efforts
