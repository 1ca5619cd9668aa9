"""SDFormat, the files of Gazebo and Drake: one model of rigid links.

Read: versions 1.4 to 1.12; ``pose`` with ``relative_to`` (or the older ``frame``), ``inertial``, ``joint`` with
``axis`` (``expressed_in``, ``use_parent_model_frame``, ``limit``, ``dynamics``, ``mimic``), ``frame``. Kept when a
file is edited, otherwise not looked at: visuals, collisions, sensors, plug-ins. Refused by name: included and nested
models, several models in one file. Reference: http://sdformat.org/spec.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

import numpy as np

from casid.arrays import Array
from casid.description._document import MOVING_TYPES, Description, JointLimits, MimicRule, RawFrame, RawJoint
from casid.description._placement import INFINITE, Poses, angle_notes, number, numbers, rpy_of, xyz_rpy
from casid.description._robot import Inertial, Link
from casid.description.formats._contract import Changes, Format, Reading, free_name, links_beside_world
from casid.description.formats._xml import SIX, Element, Elements, XmlFile, document, node, term_words, text_of, turned
from casid.inertia import tensor, tensor_entries

_DYNAMICS = (("damping", "fv"), ("friction", "fc"), ("spring_stiffness", "ks"))
_WORLD = "world"


class Sdf(Format):
    """SDFormat files."""

    name = "SDF"
    suffixes = (".sdf", ".world")
    mark = b"<sdf"
    shaped = ("visual", "collision")
    holds = frozenset({"velocity", "effort", "fixed joints", "order"})
    terms = frozenset({"fv", "fc", "ks"})

    def read(self, content: bytes, reading: Reading) -> Description:
        """See `Format.read`."""
        return _Reader(reading).description(XmlFile(content, reading.where))

    def prepared(self, description: Description) -> tuple[Description, tuple[str, ...]]:
        """No link with a body can be called ``world``."""
        return links_beside_world(description)

    def joint_names(self, description: Description) -> dict[str, str]:
        """Links, joints and frames share one set of names."""
        taken = {link.name for link in description.links} | {frame.name for frame in description.frames}
        names: dict[str, str] = {}
        for joint in description.joints:
            if joint.name in taken:
                names[joint.name] = free_name(f"{joint.name}_joint", taken)
            taken.add(names.get(joint.name, joint.name))
        return names

    def write(self, description: Description) -> bytes:
        """See `Format.write`."""
        base = description.base
        parts: list[Element] = []
        if base.name != _WORLD:
            ends = node("parent", {}, _WORLD), node("child", {}, base.name)
            parts += [_link(base, None), node("joint", {"name": _mount(description), "type": "fixed"}, *ends)]
        for joint in description.joints:
            parts += [_joint(joint, base.name), _link(joint.link, joint)]
        for frame in description.frames:
            where = {} if frame.link == _WORLD else {"attached_to": frame.link}
            parts.append(node("frame", {"name": frame.name, **where}, _pose(frame.placement)))
        return document(node("sdf", {"version": "1.11"}, node("model", {"name": description.name}, *parts)))

    def edit(self, content: bytes, changes: Changes, where: str) -> bytes:
        """See `Format.edit`."""
        file = XmlFile(content, where)
        links = ((link.get("name", ""), link) for link in file.root.iter("link"))
        edits, inside = file.inertial_edits(links, changes.inertials, _inertial)
        for joint in file.root.iter("joint"):
            terms, axis = changes.terms.get(joint.get("name", "")), joint.find("axis")
            if terms is None or axis is None:
                continue
            found = axis.find("dynamics")
            kept = [] if found is None else [e for e in found if e.tag not in dict(_DYNAMICS)]
            rest = {e.tag: (e.text or "").strip() for e in kept}
            values = term_words(terms, _DYNAMICS)
            pad = file.indent(axis) + "  "
            block = text_of(_block("dynamics", {**values, **rest}), pad).strip()
            if found is not None:
                edits[found] = block.encode() if values or rest else None
            elif values:
                inside[axis] = f"\n{pad}{block}".encode()
        return file.edited(edits, inside)


class _Reader(Elements):
    def __init__(self, reading: Reading) -> None:
        super().__init__(reading.where, reading.angle_tolerance)
        self.poses = Poses(reading.where)

    def description(self, file: XmlFile) -> Description:
        model, world, version = self._model(file.root)
        bodies: dict[str, Link] = {}
        for element in model.findall("link"):
            name = self.name(element)
            self.unique(Link(name, self._inertial(element, f"link '{name}'")), bodies)
            self._place(element, name, "")
        elements = model.findall("joint")
        for element in elements:
            name = self.name(element)  # older files may call a joint like a link
            self._place(element, self._frame_of(name, bodies), self._end(element, "child", bodies))
        for element in model.findall("frame"):
            self._place(element, self.name(element), element.get("attached_to", ""))
        joints, base = self._joints(elements, bodies, version)
        frames = []
        known = {base, *(joint.link.name for joint in joints)}
        for element in model.findall("frame"):
            name = self.name(element)
            carrier = self.poses.carrier(name, known, base)
            frames.append(RawFrame(name, carrier, self.poses.relative(carrier if carrier in bodies else "", name)))
        gravity = self.child(world, "gravity", "world")
        return Description(
            model.get("name") or Path(self.where).stem,
            self.where,
            bodies.get(base, Link(base)),
            tuple(joints),
            frames=tuple(frames),
            gravity=None if gravity is None else np.array(self.text_numbers(gravity, 3, "world", (0, 0, 0))),
            notes=tuple(angle_notes(self.angles, self.tolerance)),
            format=Sdf.name,
            content=file.content,
        )

    def _model(self, root: Element) -> tuple[Element, Element | None, tuple[int, ...]]:
        if root.tag != "sdf":
            self.fail(f"not SDF: its root element is <{root.tag}>, expected <sdf>")
        try:
            version = tuple(int(word) for word in root.get("version", "1.6").split("."))
        except ValueError:
            self.fail(f"its version '{root.get('version')}' is not of the form 1.x")
        world = self.child(root, "world", "the file")
        models = (root if world is None else world).findall("model")
        names = ", ".join(f"'{model.get('name', '?')}'" for model in models)
        if len(models) != 1:
            self.fail(f"holds {len(models)} models ({names or 'none'}); casid reads files of one: split it")
        (model,) = models
        for kind in ("include", "model"):
            nested = model.find(kind)
            if nested is not None:
                self.fail(f"model {names}: has a nested <{kind}>, which casid does not read; flatten it: gz sdf -p")
        return model, world, version

    def _place(self, element: Element, name: str, default: str) -> None:
        what = f"{element.tag} '{name}'"
        pose = self.child(element, "pose", what)
        parent = ("" if pose is None else pose.get("relative_to", pose.get("frame", ""))) or default
        self.poses.add(name, "" if parent in ("__model__", _WORLD) else parent, self._pose(pose, what))

    def _pose(self, pose: Element | None, what: str) -> Array:
        if pose is None:
            return np.eye(4)
        if pose.get("rotation_format", "euler_rpy") != "euler_rpy":
            self.fail(f"{what}: <pose rotation_format> other than euler_rpy is not read; write x y z roll pitch yaw")
        six = self.text_numbers(pose, 6, what, (0.0,) * 6)
        if pose.get("degrees") == "true":
            six[3:] = [math.radians(angle) for angle in six[3:]]
        self.angles += [(f"{what}, pose", angle) for angle in six[3:]]
        return xyz_rpy(six[:3], six[3:], self.tolerance)

    def _inertial(self, link: Element, what: str) -> Inertial | None:
        found = self.child(link, "inertial", what)
        if found is None:
            return None
        mass, inertia = (self.child(found, key, what) for key in ("mass", "inertia"))
        if found.find("fluid_added_mass") is not None:
            self.fail(f"{what}: <fluid_added_mass> is not modelled; remove it")
        entries = dict.fromkeys(SIX, 0.0) | dict.fromkeys(("ixx", "iyy", "izz"), 1.0)  # SDFormat's defaults
        if inertia is not None:
            entries = {key: self.text_number(self.child(inertia, key, what), what, entries[key]) for key in SIX}
        pose = self._pose(self.child(found, "pose", what), what)
        matrix = turned(tensor(list(entries.values())), pose[:3, :3])
        return Inertial(self.text_number(mass, what, 1.0), pose[:3, 3], matrix)

    def _end(self, joint: Element, end: str, bodies: Mapping[str, Link]) -> str:
        found = self.child(joint, end, f"joint '{self.name(joint)}'")
        name = "" if found is None else (found.text or "").strip()
        name = name or ("" if found is None else found.get("link_name", ""))
        if not name:
            self.fail(f"joint '{self.name(joint)}' has no <{end}>")
        if name not in bodies and not (end == "parent" and name == _WORLD):
            self.fail(f"joint '{self.name(joint)}': its {end} '{name}' is not a link of the model")
        return name

    def _joints(
        self, elements: list[Element], bodies: Mapping[str, Link], version: tuple[int, ...]
    ) -> tuple[list[RawJoint], str]:
        joints = [self._joint(element, bodies, version) for element in elements]
        rooted = [j for j in joints if j.parent == _WORLD]
        if not rooted:
            return joints, self.tree(bodies, joints).name
        if len(rooted) > 1 or rooted[0].type != "fixed" or not np.array_equal(rooted[0].rest, np.eye(4)):
            return joints, _WORLD
        (mount,) = rooted  # a fixed base: the joint that fixes it is no joint of the robot
        return [j for j in joints if j is not mount], mount.link.name

    def _joint(self, element: Element, bodies: Mapping[str, Link], version: tuple[int, ...]) -> RawJoint:
        name, kind = self.name(element), element.get("type", "")
        what = f"joint '{name}'"
        parent, child = self._end(element, "parent", bodies), self._end(element, "child", bodies)
        axis = self.child(element, "axis", what)
        moves = kind != "fixed"
        frame = self._frame_of(name, bodies)
        placement = self.poses.relative("" if parent == _WORLD else parent, frame)
        return RawJoint(
            name=name,
            type="revolute" if kind == "continuous" else kind,
            parent=parent,
            link=bodies[child],
            placement=placement,
            axis=self._axis(axis, what, frame, version) if moves else np.array([0.0, 0.0, 1.0]),
            link_placement=self.poses.relative(frame, child),
            limits=self._limits(axis, kind, what),
            mimic=self._mimic(element, axis, what) if moves else None,
            terms=self._terms(axis, what) if moves else {},
        )

    @staticmethod
    def _frame_of(joint: str, bodies: Mapping[str, Link]) -> str:
        return f"joint {joint}" if joint in bodies else joint

    def _axis(self, axis: Element | None, what: str, joint: str, version: tuple[int, ...]) -> Array:
        xyz = self.child(axis, "xyz", what)
        vector = np.array(self.text_numbers(xyz, 3, what, (0.0, 0.0, 1.0)))
        frame = "" if xyz is None else xyz.get("expressed_in", "")
        old = self.child(axis, "use_parent_model_frame", what)
        in_model = version < (1, 5) if old is None else (old.text or "").strip() in ("1", "true")
        if frame or (in_model and version < (1, 7)):
            frame = "" if frame in ("__model__", _WORLD) else frame
            vector = self.poses.relative(joint, frame)[:3, :3] @ vector
        return self.axis(vector, what)

    def _limits(self, axis: Element | None, kind: str, what: str) -> JointLimits:
        limit = self.child(axis, "limit", what)
        if limit is None or kind not in MOVING_TYPES:
            return JointLimits()
        values = {}
        for key, default in (("lower", -INFINITE), ("upper", INFINITE), ("velocity", INFINITE), ("effort", INFINITE)):
            found = self.child(limit, key, what)
            text = "" if found is None else (found.text or "").strip().lower()
            value = default if text in ("inf", "+inf", "-inf") else self.text_number(found, what, default)
            free = abs(value) >= INFINITE or (key in ("velocity", "effort") and value < 0)
            free = free or (kind == "continuous" and key in ("lower", "upper"))
            values[key] = math.copysign(math.inf, default) if free else value
        return JointLimits(**values)

    def _mimic(self, joint: Element, axis: Element | None, what: str) -> MimicRule | None:
        found = self.child(axis, "mimic", what)
        if found is None:
            return None
        leader = self.leader(found, what)
        usual = {"multiplier": 1.0, "reference": 0.0, "offset": 0.0}
        ratio, reference, offset = (self.text_number(self.child(found, key, what), what, usual[key]) for key in usual)
        return MimicRule(leader, ratio, offset - ratio * reference)

    def _terms(self, axis: Element | None, what: str) -> dict[str, float]:
        found = self.child(axis, "dynamics", what)
        if found is None:
            return {}
        terms = {symbol: self.text_number(self.child(found, key, what), what, 0.0) for key, symbol in _DYNAMICS}
        if terms["ks"] and self.text_number(self.child(found, "spring_reference", what), what, 0.0):
            self.fail(f"{what}: a spring whose rest position is not 0 is not modelled; set spring_reference to 0")
        return {symbol: value for symbol, value in terms.items() if value}


def _mount(description: Description) -> str:
    """Name of the joint that fixes the base to the world."""
    return free_name(f"{description.base.name}_mount", {joint.name for joint in description.joints})


def _pose(placement: Array, attributes: Mapping[str, str] = MappingProxyType({})) -> Element:
    return node("pose", attributes, f"{numbers(placement[:3, 3])} {numbers(rpy_of(placement[:3, :3]))}")


def _block(name: str, values: Mapping[str, str]) -> Element:
    return node(name, {}, *(node(key, {}, value) for key, value in values.items()))


def _inertial(body: Inertial) -> Element:
    entries = dict(zip(SIX, map(number, tensor_entries(body.inertia_com)), strict=True))
    pose, mass = node("pose", {}, f"{numbers(body.com)} 0 0 0"), node("mass", {}, number(body.mass))
    return node("inertial", {}, pose, mass, _block("inertia", entries))


def _link(link: Link, joint: RawJoint | None) -> Element:
    pose = [] if joint is None else [_pose(joint.link_placement, {"relative_to": joint.name})]
    return node("link", {"name": link.name}, *pose, *([] if link.inertial is None else [_inertial(link.inertial)]))


def _joint(joint: RawJoint, base: str) -> Element:
    kind = joint.written_type
    parts = [
        _pose(joint.placement, {"relative_to": "__model__" if joint.parent == base == _WORLD else joint.parent}),
        node("parent", {}, joint.parent),
        node("child", {}, joint.link.name),
    ]
    if joint.type != "fixed":
        axis = node("axis", {}, node("xyz", {}, numbers(joint.axis)))
        keys = ("effort", "velocity") if kind == "continuous" else ("lower", "upper", "effort", "velocity")
        limits = {key: number(value) for key, value in joint.limits.finite(keys).items()}
        terms, rule = term_words(joint.terms, _DYNAMICS), joint.mimic
        axis.extend(_block(name, values) for name, values in (("limit", limits), ("dynamics", terms)) if values)
        if rule is not None:
            words = {"multiplier": number(rule.multiplier), "offset": number(rule.offset), "reference": "0"}
            axis.append(node("mimic", {"joint": rule.joint}, *_block("", words)))
        parts.append(axis)
    return node("joint", {"name": joint.name, "type": kind}, *parts)
