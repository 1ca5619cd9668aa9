"""The identified robot as MJCF with its servos as actuators."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import numpy as np

from casid.description import Robot, number, numbers, write_robot
from casid.drives._identify import CommandIdentification
from casid.drives._law import tilted_gravity
from casid.drives._servo import QUANTITIES, STIFF
from casid.errors import ExportError
from casid.files import read_bytes, write_files
from casid.inertia import Parameters

#: Of the written file [s]: small and of fourth order, so that the motion is that of the equation, as here.
_TIMESTEP = 0.002
#: MuJoCo's dry friction is a soft constraint; with these it creeps by less than 1e-6 rad/s.
_FRICTION = {"solreffriction": "0.004 1", "solimpfriction": "0.9999 0.9999 0.001 0.5 2"}


#: What MJCF has no word for, by attribute of the servo.
_LEFT_OUT = {
    "offset": "constant torques are left out: add them to qfrc_applied",
    "load_friction": "friction that grows with load is left out, frictionloss is that without load",
    "warm_up": "friction is that of warm drives: MJCF has no word for its drift",
    "ki": "the servo's integral is left out",
    "viscous_asymmetry": "damping is the mean of both directions",
    "offset_drift": "the drift of constant torques is left out",
}
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

    Every joint gets an actuator with ``kp``, ``kv`` and ``forcerange`` (a ``<general>`` one, whose bias holds the
    command offset), armature, damping and frictionloss.

    Returns
    -------
    path : Path
    notes : tuple of str
        What the format cannot hold: the delay, constant torques.

    Raises
    ------
    ExportError
        If the file cannot be written or does not end in .xml or .mjcf.
    """
    path = Path(path)
    if path.suffix not in (".xml", ".mjcf"):
        raise ExportError(f"'{path}': name the MJCF file with the ending .xml or .mjcf")
    notes = list(write_robot(identified_robot(found), path).notes)
    root = ElementTree.fromstring(read_bytes(path, "robot", ExportError))
    option = root.find("option")
    if option is None:
        option = ElementTree.Element("option")
        root.insert(1, option)
    option.set("timestep", number(_TIMESTEP))
    option.set("integrator", "RK4")
    tilt = np.array([found.table["tilt_x"][0], found.table["tilt_y"][0]])
    option.set("gravity", numbers(tilted_gravity(found.robot.gravity, tilt)))
    for group in root.findall("actuator") + root.findall("keyframe") + root.findall("sensor"):
        root.remove(group)
    names = [joint.name for joint in found.robot.coordinates]
    for joint in root.iter("joint"):
        if joint.get("name") in names:
            joint.attrib.update(_FRICTION)
            joint.attrib.pop("actuatorfrcrange", None)
            joint.set("limited", "false")
    notes += _springs(root, found)
    group, table = ElementTree.SubElement(root, "actuator"), found.table
    for k, name in enumerate(names):
        kp, kd, bias, limit = (float(table[key][k]) for key in ("kp", "kd", "bias", "limit"))
        words = {"name": name, "joint": name, "gaintype": "fixed", "gainprm": number(kp), "biastype": "affine",
                 "biasprm": numbers(np.array([kp * bias, -kp, -kd]))}  # fmt: skip
        if limit < 1e6:
            words |= {"forcelimited": "true", "forcerange": numbers(np.array([-limit, limit]))}
        ElementTree.SubElement(group, "general", words)
    delays = np.unique(np.round(1e3 * table["delay"], 6))
    late, early = (", ".join(f"{d:.3g}" for d in size[size > 0]) for size in (delays, -delays))
    if late:
        notes.append(f"commands act {late} ms late, which MJCF has no word for: delay ctrl by it")
        root.insert(0, ElementTree.Comment(f" ctrl acts {late} ms after the command "))
    if early:
        notes.append(f"encoders are read {early} ms after their time stamps: ctrl needs no delay, shift the recording")
    notes += [text for key, text in _LEFT_OUT.items() if np.any(table[key])]
    if np.any(table["bristle_stiffness"] < STIFF):
        notes.append("friction has no memory there: joints stick exactly before they slide")
    ElementTree.indent(root)
    write_files(path.parent, {path.name: ElementTree.tostring(root, encoding="unicode") + "\n"})
    return path, tuple(notes)


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
            if play == 0.0 and stiffness >= STIFF:
                continue
            name, ends = f"{names[k]}_backlash", numbers(np.array([-play / 2, play / 2]))
            words = {key: value for key in ("type", "axis", "pos") if (value := joint.get(key)) is not None}
            rigid = stiffness >= STIFF
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
