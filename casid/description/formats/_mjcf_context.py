"""What an MJCF element inherits: classes of defaults, the compiler's angles, orientations in all their forms."""

from __future__ import annotations

import math
from collections.abc import Container, Iterator, Mapping
from pathlib import Path

import numpy as np

from casid.arrays import ROUNDING, Array
from casid.description._document import MimicRule
from casid.description._placement import (
    rotation_about,
    rotation_of_quaternion,
    rotation_x,
    rotation_y,
    rotation_z,
    snapped,
    transform,
    unit_axis,
)
from casid.description.formats._xml import Element, Elements, XmlFile
from casid.errors import RobotError
from casid.files import read_bytes

_ORIENTATIONS = ("quat", "axisangle", "euler", "xyaxes", "zaxis")


class Context(Elements):
    """Defaults and compiler settings of one file.

    Parameters
    ----------
    root
        The file's ``<mujoco>``, includes already in place.
    where
        The file, for messages.
    tolerance
        Angles this close to a multiple of pi/2 count as that multiple [rad].
    """

    def __init__(self, root: Element, where: str, tolerance: float) -> None:
        super().__init__(where, tolerance)
        words = {key: word for element in root.findall("compiler") for key, word in element.items()}
        self.compiler = Element("compiler", words)
        if self.compiler.get("coordinate", "local") != "local":
            self.fail('<compiler coordinate="global"> is not read (MuJoCo dropped it in 2.3.4); convert the file first')
        self.degrees = self.compiler.get("angle", "degree") != "radian"
        self.sequence = self.compiler.get("eulerseq", "xyz")
        if len(self.sequence) != 3 or set(self.sequence.lower()) - set("xyz"):
            self.fail(f'<compiler eulerseq="{self.sequence}"> is not three letters of xyzXYZ')
        self.classes: dict[str, dict[str, dict[str, str]]] = {"main": {}}
        for element in root.findall("default"):
            self._default(element, {}, element.get("class", "main"))

    def _default(self, element: Element, above: dict[str, dict[str, str]], name: str) -> None:
        mine = {tag: dict(attributes) for tag, attributes in above.items()}
        for child in element:
            if child.tag != "default":
                self.child(element, child.tag, f"default class '{name}'")
                mine.setdefault(child.tag, {}).update(child.attrib)
        self.classes[name] = {**self.classes.get(name, {}), **mine}
        for child in element.findall("default"):
            inner = child.get("class")
            if not inner or inner in self.classes:
                self.fail(f"a nested <default> has {'the class of another' if inner else 'no class'}: '{inner or ''}'")
            self._default(child, self.classes[name], inner)

    def attributes(self, element: Element, childclass: str | None) -> Element:
        """The element with what it inherits: its own attributes win over its class, else over ``childclass``."""
        name = element.get("class") or childclass or "main"
        if name not in self.classes:
            self.fail(f"<{element.tag} name=\"{element.get('name', '')}\">: there is no default class '{name}'")
        inherited = dict(self.classes[name].get(element.tag, {}))
        if any(key in element.attrib for key in _ORIENTATIONS):
            for key in _ORIENTATIONS:
                inherited.pop(key, None)
        return Element(element.tag, {**inherited, **element.attrib})

    def angle(self, value: float) -> float:
        """An angle of the file [rad]."""
        return math.radians(value) if self.degrees else value

    def placement(self, element: Element, what: str) -> Array:
        """``pos`` and orientation of a body, frame, geom, site or inertial, shape (4, 4)."""
        return transform(self._rotation(element, what), self.numbers(element, "pos", 3, what, (0.0,) * 3))

    def _rotation(self, element: Element, what: str) -> Array:
        given = [key for key in _ORIENTATIONS if key in element.attrib]
        if not given:
            return np.eye(3)
        if len(given) > 1:
            self.fail(f"{what}: gives both {given[0]} and {given[1]}")
        try:
            return np.asarray(getattr(self, f"_{given[0]}")(element, what))
        except ValueError as error:
            self.fail(f"{what}, {given[0]}: {error}")

    def _quat(self, element: Element, what: str) -> Array:
        return rotation_of_quaternion(self.numbers(element, "quat", 4, what), self.tolerance)

    def _axisangle(self, element: Element, what: str) -> Array:
        x, y, z, angle = self.numbers(element, "axisangle", 4, what)
        return rotation_about(unit_axis([x, y, z], self.tolerance), self.angle(angle), self.tolerance)

    def _euler(self, element: Element, what: str) -> Array:
        turns = {"x": rotation_x, "y": rotation_y, "z": rotation_z}
        R = np.eye(3)
        for letter, angle in zip(self.sequence, self.numbers(element, "euler", 3, what), strict=True):
            turn = turns[letter.lower()](self.angle(angle), self.tolerance)
            R = R @ turn if letter.islower() else turn @ R  # small letters: about the turned axes
        return R + 0.0

    def _xyaxes(self, element: Element, what: str) -> Array:
        six = self.numbers(element, "xyaxes", 6, what)
        x = unit_axis(six[:3], self.tolerance)
        y = np.array(six[3:]) - (np.array(six[3:]) @ x) * x
        y = unit_axis(y, self.tolerance)
        return snapped(np.column_stack([x, y, np.cross(x, y)]), self.tolerance)

    def _zaxis(self, element: Element, what: str) -> Array:
        z = unit_axis(self.numbers(element, "zaxis", 3, what), self.tolerance)
        axis = np.cross([0.0, 0.0, 1.0], z)
        length = float(np.linalg.norm(axis))
        if length < ROUNDING:
            return np.eye(3) if z[2] > 0 else rotation_x(math.pi)
        return rotation_about(axis / length, math.atan2(length, z[2]), self.tolerance)


def with_includes(file: XmlFile, folder: Path | None, depth: int = 0) -> Element:
    """The root element with every ``<include>`` replaced by what the file holds.

    Raises
    ------
    RobotError
        For files that include each other, or that cannot be read.
    """
    if depth > 20:
        Elements(file.where).fail("files include each other in a circle")
    return _expanded(file.root, file.where, folder, depth)


def _expanded(element: Element, where: str, folder: Path | None, depth: int) -> Element:
    result = Element(element.tag, element.attrib)
    for child in element:
        if child.tag != "include":
            result.append(_expanded(child, where, folder, depth))
            continue
        name = child.get("file", "")
        if folder is None or not name:
            Elements(where).fail(f'<include file="{name}"> cannot be followed: read the robot from its file')
        included = XmlFile(read_bytes(folder / name, "included file", RobotError), name)
        result.extend(list(with_includes(included, folder, depth + 1)))
    return result


#: Elements below bodies that make more bodies or constraints.
_MAKERS = {
    "flexcomp": "a deformable body",
    "composite": "a body of many parts",
    "replicate": "copies of bodies",
    "attach": "bodies of another model",
}
_TENDON_FORCES = ("stiffness", "damping", "frictionloss", "armature")


def unsupported(root: Element, context: Context) -> tuple[str, ...]:
    """Notes about elements without influence on the model of the links.

    Raises
    ------
    RobotError
        Listing every element whose forces casid does not model: closed loops, deformable bodies, tendons with forces.
    """
    notes: list[str] = []
    held = {tendon for _, tendon, _, _ in _held_tendons(root, context)}
    refused = list(_equalities(root, context, held))
    refused += [
        f"<{element.tag}> '{element.get('name', element.get('prefix', '?'))}' ({_MAKERS[element.tag]})"
        for element in root.iter()
        if element.tag in _MAKERS
    ]
    for group in root.findall("tendon"):
        for tendon in group:
            full = context.attributes(tendon, None)
            name = f"tendon '{tendon.get('name', '?')}'"
            forces = [key for key in _TENDON_FORCES if any(context.numbers(full, key, None, name, (0.0,)))]
            if tendon.get("name") in held:
                notes.append(f"{name} couples two joints; forces along it do no work")
            elif forces:
                refused.append(f"{name} with {', '.join(forces)}")
            else:
                notes.append(f"{name} is not modelled: it only hands on what actuators pull")
    for group in root.findall("deformable"):
        for element in group:
            name = f"{element.tag} '{element.get('name', '?')}'"
            if element.tag == "skin":
                notes.append(f"{name} is not modelled: it has no mass")
            else:
                refused.append(f"{name} (deformable)")
    if refused:
        context.fail(
            f"has {'; '.join(refused)}: casid does not model {'this' if len(refused) == 1 else 'these'}; remove "
            f'{"it" if len(refused) == 1 else "them"} from the file (or set active="false" where that is possible)'
        )
    for option in root.findall("option"):
        for key in ("density", "viscosity", "wind"):
            if any(context.numbers(option, key, None, "option", (0.0,))):
                notes.append(f"<option {key}>: forces of the surrounding medium are not modelled")
    helped = [e.get("name", "?") for e in root.iter("body") if any(context.numbers(e, "gravcomp", 1, "body", (0.0,)))]
    if helped:
        notes.append(f"gravcomp of bodies {', '.join(helped)} is not modelled: all links weigh what they weigh")
    return tuple(notes)


def _active(root: Element, context: Context) -> Iterator[Element]:
    for group in root.findall("equality"):
        for element in group:
            if context.attributes(Element("equality", element.attrib), None).get("active", "true") != "false":
                yield element


def _held_tendons(root: Element, context: Context) -> Iterator[tuple[str, str, list[tuple[str, float]], float]]:
    """Fixed tendons of two joints whose length is held: name of the equality and the tendon, joints, extra length."""
    fixed = {t.get("name"): t for group in root.findall("tendon") for t in group.findall("fixed")}
    for element in _active(root, context):
        tendon = fixed.get(element.get("tendon1", ""))
        if element.tag != "tendon" or tendon is None or "tendon2" in element.attrib:
            continue
        what = f"tendon '{tendon.get('name')}'"
        joints = [(j.get("joint", ""), context.number(j, "coef", what)) for j in tendon.findall("joint")]
        pulled = [(joint, coefficient) for joint, coefficient in joints if coefficient]
        if len(pulled) == 2 and pulled[0][0] != pulled[1][0]:
            length = context.numbers(element, "polycoef", None, what, (0.0,))[0]
            yield element.get("name", "?"), tendon.get("name", ""), pulled, length


def _equalities(root: Element, context: Context, held: Container[str | None]) -> Iterator[str]:
    for element in _active(root, context):
        name = f"equality {element.tag} '{element.get('name', '?')}'"
        if element.tag == "tendon" and element.get("tendon1") in held and "tendon2" not in element.attrib:
            continue
        if element.tag != "joint":
            yield name
        elif "joint2" not in element.attrib:
            yield f"{name}, which holds joint '{element.get('joint1', '?')}' (lock that joint instead)"
        elif any(context.numbers(element, "polycoef", None, name, (0.0, 1.0))[2:]):
            yield f"{name}, whose polycoef is not linear"


def joint_couplings(root: Element, context: Context, references: Mapping[str, float]) -> dict[str, MimicRule]:
    """Linear couplings of two joints by the name of the one that follows.

    ``<joint>``: ``q1 - ref1 = a0 + a1 (q2 - ref2)``, the first follows the second. A fixed tendon of two joints whose
    length is held: ``c1 (q1 - ref1) + c2 (q2 - ref2) = a0``, the second follows the first.
    """
    rules: dict[str, MimicRule] = {}

    def add(what: str, follower: str, leader: str, a0: float, a1: float) -> None:
        for joint in (follower, leader):
            if joint not in references:
                context.fail(f"{what}: there is no hinge or slide joint '{joint}'")
        if follower in rules:
            context.fail(f"{what}: joint '{follower}' already follows joint '{rules[follower].joint}'")
        rules[follower] = MimicRule(leader, a1, a0 + references[follower] - a1 * references[leader])

    for element in _active(root, context):
        if element.tag == "joint" and "joint2" in element.attrib:
            what = f"equality joint '{element.get('name', '?')}'"
            a0, a1 = [*context.numbers(element, "polycoef", None, what, (0.0, 1.0)), 0.0, 0.0][:2]
            add(what, element.get("joint1", ""), element.get("joint2", ""), a0, a1)
    for name, _, ((leader, c1), (follower, c2)), length in _held_tendons(root, context):
        add(f"equality tendon '{name}'", follower, leader, length / c2, -c1 / c2)
    return rules
