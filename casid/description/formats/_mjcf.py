"""MJCF, the files of MuJoCo.

Read: nested bodies with any number of hinge and slide joints, ``<inertial>`` (diagonal or full) or mass from geoms,
meshes included, ``settotalmass``, classes of defaults, the compiler's angles, Euler sequences and bounds of inertia,
``<frame>``, ``<include>``, couplings of two joints by ``<equality>`` of joints or of a fixed tendon, springs (one that
rests elsewhere than at 0 has an offset ``fo``), effort limits of joints and actuators, sites as frames. Kept when a
file is edited, otherwise not looked at: other geoms, cameras, lights, sensors, keyframes. What acts on the dynamics and
is not modelled (closed loops, deformable bodies, tendons with forces, ...) is refused by name. Reference:
https://mujoco.readthedocs.io/en/stable/XMLreference.html.
"""

from __future__ import annotations

import math

import numpy as np

from casid.arrays import Array
from casid.description._document import Description, JointLimits, RawJoint, by_parent
from casid.description._placement import number, numbers, quaternion_of
from casid.description._robot import STANDARD_GRAVITY, Inertial
from casid.description.formats._contract import (
    NO_BODY,
    Changes,
    Format,
    Reading,
    links_beside_world,
    weightless_where_fixed,
)
from casid.description.formats._mjcf_reader import TERMS, read_mjcf_content
from casid.description.formats._xml import Element, XmlFile, document, node, term_words
from casid.inertia import consistency, tensor_entries

_WORLD = "world"


def range_is_written(limits: JointLimits) -> bool:
    """Whether MJCF can express a joint's position limits: none, or two finite ones in order."""
    free = not math.isfinite(limits.lower) and not math.isfinite(limits.upper)
    return free or -math.inf < limits.lower < limits.upper < math.inf


def mergeable(description: Description) -> dict[str, str]:
    """Links without a body of their own whose joint can stand in the body of the only joint behind them.

    MuJoCo refuses bodies that move without mass, but a body may have several joints. Returns the link's name by that of
    the link that takes its joint; only where frames agree, so that nothing is lost but the link's name.
    """
    behind = by_parent(description.joints)
    used = {frame.link for frame in description.frames} | {capsule.link for capsule in description.capsules}
    found: dict[str, str] = {}
    for joint in description.joints:
        link = joint.link
        if joint.type == "fixed" or not link.weightless or link.name in used:
            continue
        next_joints = behind.get(link.name, [])
        if len(next_joints) != 1 or next_joints[0].type == "fixed":
            continue
        after = next_joints[0]
        # read back, both joints stand in the last body: the link frames must be where it is at rest
        at_rest = np.array_equal(after.rest, np.eye(4))
        if at_rest and all(np.array_equal(T[:3, :3], np.eye(3)) for T in (joint.link_placement, after.placement)):
            found[link.name] = after.link.name
    return found


class _Bodies:
    def __init__(self, description: Description) -> None:
        self.description = description
        self.behind = by_parent(description.joints)
        self.merged = mergeable(description)

    def inside(self, link: str) -> list[Element]:
        """Frames and bodies on a link."""
        frames = (frame for frame in self.description.frames if frame.link == link)
        sites = [node("site", {"name": frame.name, **_placed(frame.placement)}) for frame in frames]
        return sites + [self._body(joint) for joint in self.behind.get(link, [])]

    def _body(self, joint: RawJoint) -> Element:
        chain = [joint]
        while chain[-1].link.name in self.merged:
            chain.append(self.behind[chain[-1].link.name][0])
        last = chain[-1]
        rest = np.eye(4)
        for item in chain:
            rest = rest @ item.rest + 0.0
        own = [] if last.link.inertial is None else [_inertial(last.link.inertial)]
        body = node("body", {"name": last.link.name, **_placed(rest)}, *own)
        for k, item in enumerate(chain):
            behind = item.link_placement
            for after in chain[k + 1 :]:
                behind = behind @ after.rest
            if item.type != "fixed":
                body.append(node("joint", _joint(item, behind)))
        body.extend(self.inside(last.link.name))
        return body


def _joint(joint: RawJoint, body: Array) -> dict[str, str]:
    """Attributes of a joint; ``body``: frame of its body in the moved joint frame at rest."""
    words = {"name": joint.name, "type": "slide" if joint.type == "prismatic" else "hinge"}
    back = body[:3, :3].T
    anchor = -back @ body[:3, 3] + 0.0
    if anchor.any():
        words["pos"] = numbers(anchor)
    words["axis"] = numbers(back @ joint.axis + 0.0)
    limits = joint.limits
    if range_is_written(limits) and math.isfinite(limits.lower):
        words["range"] = numbers([limits.lower, limits.upper])
    if math.isfinite(limits.effort) and limits.effort > 0:
        words["actuatorfrcrange"] = numbers([-limits.effort, limits.effort])
    return words | term_words(joint.terms, TERMS)


def _placed(placement: Array) -> dict[str, str]:
    words = {}
    if placement[:3, 3].any():
        words["pos"] = numbers(placement[:3, 3])
    if not np.array_equal(placement[:3, :3], np.eye(3)):
        words["quat"] = numbers(quaternion_of(placement[:3, :3]))
    return words


def _inertial(body: Inertial) -> Element:
    xx, xy, xz, yy, yz, zz = tensor_entries(body.inertia_com)
    if any((xy, xz, yz)):
        inertia = {"fullinertia": numbers([xx, yy, zz, xy, xz, yz])}
    else:  # MuJoCo takes zeros here, for links without mass, but not as a full tensor
        inertia = {"diaginertia": numbers([xx, yy, zz])}
    return node("inertial", {"pos": numbers(body.com), "mass": number(body.mass), **inertia})


def _repeated(file: XmlFile) -> list[Element]:
    """Shapes, cameras and lights with the name of one before them, which MuJoCo refuses."""
    found, seen = [], set[tuple[str, str]]()
    for element in (element for tag in ("geom", "camera", "light") for element in file.root.iter(tag)):
        name = element.get("name")
        if name is not None and (element.tag, name) in seen:
            found.append(element)
        elif name is not None:
            seen.add((element.tag, name))
    return found


class Mjcf(Format):
    """MJCF files."""

    name = "MJCF"
    suffixes = (".xml", ".mjcf")
    mark = b"<mujoco"
    shaped = ("geom",)
    holds = frozenset({"gravity", "effort"})
    terms = frozenset({"fv", "fc", "Ia", "ks"})

    def read(self, content: bytes, reading: Reading) -> Description:
        """See `Format.read`."""
        return read_mjcf_content(content, reading)

    def lacks(self, limits: JointLimits) -> tuple[str, ...]:
        """MJCF requires both ends of a range, the lower below the upper, and an effort other than zero."""
        keys = () if range_is_written(limits) else ("lower", "upper")
        return keys if limits.effort > 0 else (*keys, "effort")

    def prepared(self, description: Description) -> tuple[Description, tuple[str, ...]]:
        """No link with a body can be called ``world``; what is fixed without a body has zero mass."""
        named, words = links_beside_world(description)
        return weightless_where_fixed(named), words

    def doubts(self, description: Description) -> tuple[str, ...]:
        """MuJoCo loads no file with a body that no mass distribution has, or a name that stands twice."""
        wrong = [
            link.name for link in description.links
            if not (link.weightless or link.inertial is None)
            and not consistency(link.inertial.standard_parameters()).full
        ]  # fmt: skip
        own = description.format == self.name and description.content
        again = _repeated(XmlFile(description.content, description.where)) if own else ()
        twice = dict.fromkeys(f"{element.tag} '{element.get('name')}'" for element in again)
        doubts = {
            f"MuJoCo refuses a name that stands twice: only the first keeps it, of {', '.join(twice)}": twice,
            f"MuJoCo refuses bodies that are not physical, here {', '.join(wrong)}: casid check repairs them": wrong,
        }
        return tuple(text for text, found in doubts.items() if found)

    def renamed(self, description: Description) -> dict[str, str]:
        """Links that have no body of their own: several joints of one body."""
        return mergeable(description)

    def order(self, description: Description) -> tuple[str, ...] | None:
        """Bodies are nested: a joint comes before all that it carries."""
        behind = by_parent(description.joints)
        order: list[str] = []
        stack = behind.get(description.base.name, [])[::-1]
        while stack:
            joint = stack.pop()
            order.append(joint.name)
            stack += reversed(behind.get(joint.link.name, []))
        return tuple(order)

    def write(self, description: Description) -> bytes:
        """See `Format.write`."""
        gravity = STANDARD_GRAVITY if description.gravity is None else description.gravity
        bodies, base = _Bodies(description), description.base
        top = bodies.inside(base.name)
        if base.name != _WORLD:
            top = [node("body", {"name": base.name}, _inertial(base.inertial or NO_BODY), *top)]
        root = node(
            "mujoco",
            {"model": description.name},
            node("compiler", {"angle": "radian", "autolimits": "true", "inertiafromgeom": "false"}),
            node("option", {"gravity": numbers(gravity)}),
            node("worldbody", {}, *top),
        )
        couplings = [
            {"joint1": joint.name, "joint2": rule.joint, "polycoef": f"{numbers([rule.offset, rule.multiplier])} 0 0 0"}
            for joint in description.joints
            if (rule := joint.mimic) is not None
        ]
        if couplings:
            root.append(node("equality", {}, *(node("joint", words) for words in couplings)))
        return document(root)

    def edit(self, content: bytes, changes: Changes, where: str) -> bytes:
        """See `Format.edit`."""
        file = XmlFile(content, where)
        bodies = ((body.get("name") or f"body{k}", body) for k, body in enumerate(file.root.iter("body"), start=1))
        edits, inside = file.inertial_edits(bodies, changes.inertials, _inertial)
        edits |= {element: file.retagged(element, {"name": None}) for element in _repeated(file)}
        for joint in file.root.iter("joint"):
            terms = changes.terms.get(joint.get("name", ""))
            if terms is None or (file.parents.get(joint) is not None and file.parents[joint].tag == "equality"):
                continue
            # zeros are written out: a class of defaults may hold other values
            values: dict[str, str | None] = {key: number(terms.get(symbol, 0.0)) for key, symbol in TERMS}
            if values["stiffness"] == "0" and not any("stiffness" in other.attrib for other in file.root.iter("joint")):
                del values["stiffness"]
            if any("springref" in other.attrib for other in file.root.iter("joint")):
                values["springref"] = "0"  # the torque of a spring that rests elsewhere is in the offset
            edits[joint] = file.retagged(joint, values)
        if changes.inertials:
            for compiler in file.root.findall("compiler"):
                if compiler.get("inertiafromgeom") == "true":
                    edits[compiler] = file.retagged(compiler, {"inertiafromgeom": "auto"})
        return file.edited(edits, inside)
