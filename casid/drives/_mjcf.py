"""The identified robot as MJCF with its servos as actuators."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from xml.etree import ElementTree

import numpy as np

from casid.arrays import Array
from casid.description import Robot, number, numbers, write_robot
from casid.drives._identify import CommandIdentification
from casid.drives._law import tilted_gravity
from casid.drives._servo import QUANTITIES, STIFF, TERMS_WITHOUT_PLACE, UNLIMITED
from casid.errors import ExportError
from casid.evidence import NOTICEABLE
from casid.files import read_bytes, write_files
from casid.inertia import Parameters

#: Of the written file [s], MuJoCo's default: small and of fourth order, so that the motion is that of the equation.
_TIMESTEP = 0.002
#: MuJoCo's dry friction is a soft constraint; with these it creeps by less than 1e-6 rad/s.
_FRICTION = {"solreffriction": "0.004 1", "solimpfriction": "0.9999 0.9999 0.001 0.5 2"}


#: Play ends in contact without rebound.
_CONTACT = {"solreflimit": "0.004 1", "solimplimit": "0.99 0.9999 0.0001"}


def identified_robot(found: CommandIdentification) -> Robot:
    """The robot with the identified armatures and frictions, and scaled bodies."""
    table, robot = found.table, found.robot
    terms = {}
    for k in range(robot.n):
        place = robot.joints.index(robot.coordinates[k]) + 1
        for name in ("armature", "viscous", "coulomb"):
            terms[f"{QUANTITIES[name].kind}{place}"] = float(table[name][k])
    bodies = robot.standard_parameters().reshape(-1, 10) * table["scale"][:, None]
    return robot.with_parameters(Parameters.of_links(bodies.ravel(), tuple(link.name for link in robot.links), terms))


def write_mjcf(found: CommandIdentification, path: str | Path) -> tuple[Path, tuple[str, ...]]:
    """Write an MJCF file that moves under the recorded commands as the identified robot does.

    Every joint gets a ``<general>`` actuator, in the place of the source's own where it has one, with the torque
    ``clip(kp (ctrl + bias - q) - kd dq, -limit, limit) - offset``, and armature, damping and frictionloss. Ranges of
    positions, commands and torques of the source stay, wider where the recordings go beyond. Terms that a joint of
    MuJoCo does not have are left out and everything else is fitted again (`CommandIdentification.without`).

    Returns
    -------
    path : Path
    notes : tuple of str
        What the format cannot hold, and what that costs; what of the source the recordings contradict.

    Raises
    ------
    ExportError
        If the file cannot be written or does not end in .xml or .mjcf.
    """
    path = Path(path)
    if path.suffix not in (".xml", ".mjcf"):
        raise ExportError(f"'{path}': name the MJCF file with the ending .xml or .mjcf")
    found, lost = found.without(TERMS_WITHOUT_PLACE)
    notes = [*write_robot(identified_robot(found), path).notes, *lost]
    root = ElementTree.fromstring(read_bytes(path, "robot", ExportError))
    option = next(reversed(root.findall("option")), None)  # the last one holds
    if option is None:
        option = ElementTree.Element("option")
        root.insert(1, option)
    option.set("timestep", number(_TIMESTEP))
    option.set("integrator", "RK4")
    tilt = np.array([found.table["tilt_x"][0], found.table["tilt_y"][0]])
    option.set("gravity", numbers(tilted_gravity(found.robot.gravity, tilt)))
    notes += _ranges(root, found)
    notes += _springs(root, found)
    notes += _actuators(root, found)
    delays = np.unique(np.round(1e3 * found.table["delay"], 6))
    if late := ", ".join(f"{d:.3g}" for d in delays[delays > 0]):
        notes.append(f"commands act {late} ms late, which MJCF has no word for: delay ctrl by it")
        root.insert(0, ElementTree.Comment(f" ctrl acts {late} ms after the command "))
    ElementTree.indent(root)
    write_files(path.parent, {path.name: ElementTree.tostring(root, encoding="unicode") + "\n"})
    return path, tuple(notes)


def _ranges(root: ElementTree.Element, found: CommandIdentification) -> list[str]:
    """Joints whose dry friction does not creep, and whose position limits hold what was recorded; notes on these."""
    robot, made = found.robot, []
    places = {joint.name: k for k, joint in enumerate(robot.coordinates)}
    compiler = {key: word for one in root.findall("compiler") for key, word in one.items()}
    turns = compiler.get("angle", "degree") == "degree"
    for joint in root.iter("joint"):
        k = places.get(joint.get("name", ""))
        if k is None:
            continue
        joint.attrib.update(_FRICTION)
        joint.attrib.pop("actuatorfrcrange", None)
        kept = robot.limits.lower[k], robot.limits.upper[k]
        if np.isfinite(kept).all():
            wide, notes = _reaching(kept, [data.q[:, k] for data in found.recordings], f"{joint.get('name')}: range")
            factor = 180.0 / np.pi if turns and robot.coordinates[k].type == "revolute" else 1.0
            joint.attrib.update({"range": numbers(factor * wide)} if notes else {})
            made += notes
    return made


def _reaching(kept: tuple[float, float], values: Sequence[Array], what: str) -> tuple[Array, list[str]]:
    """A range that holds recorded values too, and a note where it is wider by that."""
    low, high = min(kept[0], *(float(x.min()) for x in values)), max(kept[1], *(float(x.max()) for x in values))
    note = f"{what} {low:.4g} to {high:.4g}, as far as was recorded (described: {kept[0]:.4g} to {kept[1]:.4g})"
    return np.array([low, high]), [note] * ((low, high) != kept)


def _actuators(root: ElementTree.Element, found: CommandIdentification) -> list[str]:
    """The servos as actuators, in the places of the source's own of their joints; notes.

    A voltage servo's torque is limited before the damping of its motor, which is then the joint's.
    """
    table, names = found.table, [joint.name for joint in found.robot.coordinates]
    settings = [data.gain for data in found.recordings for _ in data.t]
    setting = max(sorted(set(settings)), key=settings.count)
    made, efforts = _efforts(found)
    if setting != 1.0 or len(set(settings)) > 1:
        made.append(f"actuators have the gain setting {setting:g}: gains are proportional to it")
    groups = root.findall("actuator") or [ElementTree.SubElement(root, "actuator")]
    for other in groups[1:]:
        groups[0].extend(list(other))
        root.remove(other)
    group = groups[0]
    own = {name: [one for one in group if one.get("joint") == name] for name in names}
    joints = {joint.get("name"): joint for joint in root.iter("joint")}
    spare = [one for ones in own.values() for one in ones[1:]]
    gone = {one.get("name") for one in spare}
    for k, name in enumerate(names):
        attributes = ("kp", "kd", "bias", "limit", "offset", "duty", "back_emf", "viscous")
        kp, kd, bias, limit, offset, duty, emf, viscous = (float(table[key][k]) for key in attributes)
        damping, top = setting * kd + emf, min(limit, efforts[k])
        if kp * duty < top:
            joints[name].set("damping", number(viscous + damping))
            damping, top = 0.0, kp * duty
        gain = setting * kp
        words = {"name": name, "joint": name, "gear": "1", "dyntype": "none", "gaintype": "fixed",
                 "gainprm": number(gain), "biastype": "affine",
                 "biasprm": numbers(np.array([gain * bias - offset, -gain, -damping]))}  # fmt: skip
        words["forcelimited"] = "true" if top < UNLIMITED else "false"
        if top < UNLIMITED:
            words["forcerange"] = numbers(np.array([-top - offset, top - offset]))
        one = own[name][0] if own[name] else ElementTree.SubElement(group, "general")
        kept = _command_range(root, one, found, k)
        words["ctrllimited"] = "false" if kept is None else "true"
        if kept is not None:
            wide, notes = _reaching(kept, [data.q_des[:, k] for data in found.recordings], f"{name}: ctrlrange")
            words["ctrlrange"], made = numbers(wide), made + notes
        words |= {key: one.attrib[key] for key in ("name", "group") if key in one.attrib}
        one.clear()
        one.tag = "general"
        one.attrib.update(words)
    for one in spare:
        group.remove(one)
    for sensors in root.findall("sensor"):
        for sensor in [one for one in sensors if one.get("actuator") in gone - {None}]:
            sensors.remove(sensor)
    for keys in root.findall("keyframe"):  # the numbers of commands and positions may be others now
        root.remove(keys)
    return made


def _command_range(
    root: ElementTree.Element, one: ElementTree.Element, found: CommandIdentification, k: int
) -> tuple[float, float] | None:
    """Range of position commands that an actuator of the source has, by itself or by its class of defaults."""
    if one.tag != "position" and _inherited(root, one, "biastype") != "affine":
        return None
    share, limits = float(_inherited(root, one, "inheritrange") or 0.0), found.robot.limits
    if share > 0.0:
        middle, half = (limits.lower[k] + limits.upper[k]) / 2, share * (limits.upper[k] - limits.lower[k]) / 2
        return (float(middle - half), float(middle + half)) if np.isfinite(half) else None
    limited = _inherited(root, one, "ctrllimited") != "false"
    low, *high = (float(x) for x in (_inherited(root, one, "ctrlrange") or "0").split())
    return (low, high[0]) if limited and high else None


def _inherited(root: ElementTree.Element, one: ElementTree.Element, key: str) -> str | None:
    """An attribute of an actuator: its own, or that of its class of defaults, or of a class around that."""
    above = {inner: outer for outer in root.iter("default") for inner in outer.findall("default")}
    name = one.get("class", "main")
    group = next((each for each in root.iter("default") if each.get("class", "main") == name), None)
    places = [one]
    while group is not None:
        places += group.findall(one.tag)
        group = above.get(group)
    return next((each.attrib[key] for each in places if key in each.attrib), None)


def _efforts(found: CommandIdentification) -> tuple[list[str], Array]:
    """Torque limits of the description where no limit was found; notes on those that the recordings contradict.

    These are where the free runs with them miss a joint's motion noticeably more.
    """
    own = np.asarray(found.robot.limits.effort, dtype=float)
    asked = (found.table["limit"] >= UNLIMITED) & (own < UNLIMITED)
    if not asked.any():
        return [], np.full(len(own), np.inf)
    runs = found.runs.holding("limit", asked, own[asked])
    runs.parameters = tuple(p for p in runs.parameters if not (p.attribute == "limit" and asked[p.joints[0]]))
    kept = [e.value for p, e in zip(found.runs.parameters, found.estimates, strict=True) if p in runs.parameters]
    before, after = (each.errors(each.point(x)) for each, x in ((found.runs, found.theta), (runs, np.array(kept))))
    against = asked & (after > NOTICEABLE * before)
    made = [f"{found.robot.coordinates[k].name}: the described torque limit of {own[k]:.3g} is left out, recordings "
            f"contradict it ({1e3 * before[k]:.3g} -> {1e3 * after[k]:.3g} mrad)"
            for k in np.flatnonzero(against)]  # fmt: skip
    return made, np.where(asked & ~against, own, np.inf)


def _springs(root: ElementTree.Element, found: CommandIdentification) -> list[str]:
    """Joints NAME_backlash between drives and links, where a joint is elastic or has play; notes on them.

    The joint NAME is then the drive; link minus drive is the position of the other: limited where play ends in contact,
    on a tendon with a dead zone (springlength) where it ends in a spring.
    """
    table, made = found.table, []
    names = [joint.name for joint in found.robot.coordinates]
    tendons = ElementTree.Element("tendon")
    for body in list(root.iter("body")):
        for place, joint in list(enumerate(body)):
            if joint.tag != "joint" or joint.get("name") not in names:
                continue
            k = names.index(str(joint.get("name")))
            stiffness, damping, play = (float(table[key][k]) for key in ("stiffness", "joint_damping", "backlash"))
            if play == 0.0 and stiffness > STIFF:
                continue
            name, ends = f"{names[k]}_backlash", numbers(np.array([-play / 2, play / 2]))
            words = {key: value for key in ("type", "axis", "pos") if (value := joint.get(key)) is not None}
            rigid = stiffness > STIFF
            limits = {"limited": "true", "range": ends, **_CONTACT} if rigid else {"limited": "false"}
            body.insert(place + 1, ElementTree.Element("joint", {"name": name, **words, **limits}))
            if not rigid:
                spring = {"name": name, "stiffness": number(stiffness), "damping": number(damping)}
                fixed = ElementTree.SubElement(tendons, "fixed", {**spring, "springlength": ends})
                ElementTree.SubElement(fixed, "joint", {"joint": name, "coef": "1"})
                if play and damping:
                    made.append(f"{name}: damping acts in the play too, where MJCF cannot leave it out")
            if found.servo.encoder == "link":
                made.append(f"{name}: the servo's encoder is at the link: ctrl is the command minus qpos of {name}")
    if len(tendons):
        root.append(tendons)
    return made
