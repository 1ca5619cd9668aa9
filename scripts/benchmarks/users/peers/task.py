"""A task that every tool gets alike: an arm whose bodies and friction are known to the judge alone.

The robot is the UR5 of example-robot-data. The tools get its file as it ships; the arm that moves has other masses,
centres of mass, inertias, friction and rotor inertias, drawn from a seed. MuJoCo simulates it under position servos;
recorded are time, commanded and measured positions and the servos' torques, with noise.
"""

from __future__ import annotations

import copy
import json
import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.measure import need
from benchmarks.pinocchio import installed_urdf
from casid.description import load_robot
from casid.testing import MuJoCo

RATE = 500.0
FUNDAMENTALS = {"train": 0.1, "held_out": 0.125}  # [Hz]
_HARMONICS, _SUBSTEPS, _PERIODS = 5, 20, 2
_STEP = 1 / (RATE * _SUBSTEPS)  # of the simulation [s]
_BEGINNING = 1.0  # the arm starts at rest and follows the series from here on [s]
_MIDDLE = np.array([0.0, -np.pi / 2, np.pi / 2, -np.pi / 2, -np.pi / 2, 0.0])
_REACH, _SPEED = 1.2, 1.6  # largest distance from the middle [rad], largest speed [rad/s]
_POSITION_NOISE, _TORQUE_NOISE = 2e-5, 0.003  # [rad], share of the rated torque


@dataclass(frozen=True)
class Truth:
    """What the tools are judged by: parameters of each link and joint, in the order of the joints."""

    joints: tuple[str, ...]
    links: tuple[str, ...]
    masses: np.ndarray
    centres: np.ndarray
    inertias: np.ndarray
    viscous: np.ndarray
    coulomb: np.ndarray
    rotors: np.ndarray


def robot_file() -> Path:
    """The UR5 of the installed example-robot-data."""
    return installed_urdf("example-robot-data/robots/ur_description/urdf/ur5_robot.urdf")


def _moving(root: ElementTree.Element) -> tuple[list[ElementTree.Element], list[ElementTree.Element]]:
    joints = [joint for joint in root.findall("joint") if joint.get("type") == "revolute"]
    links = {link.get("name"): link for link in root.findall("link")}
    return joints, [links[_attribute(joint, "child", "link")] for joint in joints]


def _attribute(element: ElementTree.Element, tag: str, key: str) -> str:
    found = element.find(tag)
    if found is None:
        raise ValueError(f"'{element.get('name')}' has no <{tag}>")
    return found.get(key, "")


def bare(path: Path) -> ElementTree.Element:
    """The robot without shapes, and without the links fixed to the last moving one, whose bodies are of no use."""
    root = ElementTree.parse(path).getroot()
    _, moving = _moving(root)
    kept = {link.get("name") for link in moving} | {"base_link"}
    for element in list(root):
        child = element.find("child")
        name = element.get("name") if element.tag == "link" else child.get("link") if child is not None else None
        if element.tag not in ("link", "joint") or name not in kept or (element.tag, name) == ("joint", "base_link"):
            root.remove(element)
    for link in root.findall("link"):
        for shape in [*link.findall("visual"), *link.findall("collision")]:
            link.remove(shape)
    return root


def _inertial(link: ElementTree.Element) -> tuple[float, np.ndarray, np.ndarray]:
    """Mass, centre of mass and inertia about it, of a file whose inertial frames are turned nowhere."""
    body = link.find("inertial")
    assert body is not None
    origin, mass, inertia = body.find("origin"), body.find("mass"), body.find("inertia")
    assert origin is not None and mass is not None and inertia is not None
    if np.any(np.abs(np.fromstring(origin.get("rpy", "0 0 0"), sep=" ")) > 1e-9):
        raise ValueError(f"link '{link.get('name')}': its inertial frame is turned")
    xx, xy, xz, yy, yz, zz = (float(inertia.get(key, "0")) for key in ("ixx", "ixy", "ixz", "iyy", "iyz", "izz"))
    tensor = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    return float(mass.get("value", "0")), np.fromstring(origin.get("xyz", "0 0 0"), sep=" "), tensor


def draw(root: ElementTree.Element, rng: np.random.Generator) -> Truth:
    """Other bodies than the file's, each consistent: scaled mass and second moments, shifted centre, turned axes."""
    joints, links = _moving(root)
    masses, centres, inertias = [], [], []
    for link in links:
        mass, centre, inertia = _inertial(link)
        moments, axes = np.linalg.eigh(0.5 * np.trace(inertia) * np.eye(3) - inertia)
        moments = np.maximum(moments, 1e-3 * moments.max()) * np.exp(rng.normal(0, 0.2, 3))
        turned, _ = np.linalg.qr(axes + rng.normal(0, 0.1, (3, 3)))
        second = (turned * moments) @ turned.T
        masses.append(mass * np.exp(rng.normal(0, 0.1)))
        centres.append(centre + rng.normal(0, 0.015, 3))
        inertias.append(np.trace(second) * np.eye(3) - second)
    rated = _rated(joints)
    names = [tuple(str(element.get("name")) for element in elements) for elements in (joints, links)]
    viscous, coulomb = (rated * rng.uniform(0.02, 0.04, len(joints)) for _ in range(2))
    rotors = rated * rng.uniform(0.001, 0.003, len(joints))
    bodies = (np.array(masses), np.array(centres), np.array(inertias))
    return Truth(names[0], names[1], *bodies, viscous, coulomb, rotors)


def _rated(joints: list[ElementTree.Element]) -> np.ndarray:
    return np.array([float(_attribute(joint, "limit", "effort")) for joint in joints])


def _with(root: ElementTree.Element, truth: Truth) -> ElementTree.Element:
    changed = copy.deepcopy(root)
    for k, link in enumerate(_moving(changed)[1]):
        body = link.find("inertial")
        assert body is not None
        for part in list(body):
            body.remove(part)
        ElementTree.SubElement(body, "origin", xyz=" ".join(map(repr, truth.centres[k].tolist())), rpy="0 0 0")
        ElementTree.SubElement(body, "mass", value=repr(float(truth.masses[k])))
        tensor = {f"i{'xyz'[i]}{'xyz'[j]}": repr(float(truth.inertias[k][i, j])) for i in range(3) for j in range(i, 3)}
        ElementTree.SubElement(body, "inertia", tensor)
    return changed


def _commanded(fundamental: float, rng: np.random.Generator, middle: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Instants and commanded positions: Fourier series within the reach and the speed, ``_PERIODS`` of them."""
    n, order = len(middle), np.arange(1, _HARMONICS + 1) * 2 * np.pi * fundamental
    a, b = rng.uniform(-1, 1, (2, n, _HARMONICS))
    time = np.arange(round(_PERIODS / fundamental * RATE * _SUBSTEPS)) / (RATE * _SUBSTEPS)
    sine, cosine = np.sin(np.outer(time, order)), np.cos(np.outer(time, order))
    position = sine @ (a / order).T - cosine @ (b / order).T
    speed = cosine @ a.T + sine @ b.T
    gain = np.minimum(_REACH / np.abs(position).max(0), _SPEED / np.abs(speed).max(0))
    begun = np.minimum(time / _BEGINNING, 1.0)
    return time, middle + position * gain * (begun**3 * (10 - 15 * begun + 6 * begun**2))[:, None]


def servos(rated: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Stiffness and damping of the position servos: the controller's settings, which its log states."""
    return 30.0 * rated, rated


def _servoed(urdf: str, truth: Truth, rated: np.ndarray) -> Any:
    """Model of the arm that moves, with its servos and the terms of its joints."""
    mujoco = need("mujoco", "side-by-side")
    spec = mujoco.MjSpec.from_string(urdf)
    spec.option.timestep, spec.option.integrator = _STEP, mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    stiffness, damping = servos(rated)
    for k, name in enumerate(truth.joints):
        joint = spec.joint(name)
        joint.damping[0], joint.frictionloss, joint.armature = truth.viscous[k], truth.coulomb[k], truth.rotors[k]
        joint.solref_friction = [2.5 * _STEP, 1.0]  # close to Coulomb's law: slides from 1e-3 rad/s on
        actuator = spec.add_actuator(name=name, target=name, trntype=mujoco.mjtTrn.mjTRN_JOINT)
        actuator.set_to_position(kp=stiffness[k], kv=damping[k])
    return spec.compile()


def _simulated(engine: MuJoCo, commands: np.ndarray) -> dict[str, np.ndarray]:
    engine.at(commands[0], 0 * commands[0])
    found = []
    for k, command in enumerate(commands):
        if k % _SUBSTEPS == 0:
            found.append(engine.answer(command))
        engine.command(command, _STEP)
    return {key: np.array([instant[key] for instant in found]) for key in found[0]}


def write(folder: Path, seed: int = 0, file: Path | None = None, middle: np.ndarray = _MIDDLE) -> Truth:
    """Write ``robot.urdf``, ``train.csv``, ``held_out.csv``, ``servos.json`` for tools, ``truth.npz`` for the judge.

    Columns of the recordings: ``t`` [s], ``command1``... and ``q1``... [rad], ``tau1``... [N m]. The clean held-out
    motion with its velocities, accelerations and torques is in ``truth.npz``. Another robot: its URDF, whose joints are
    revolute and whose base is ``base_link``, and the middle of its motion.
    """
    rng = np.random.default_rng(seed)
    root = bare(file or robot_file())
    truth, rated = draw(root, rng), _rated(_moving(root)[0])
    ElementTree.ElementTree(root).write(folder / "robot.urdf", encoding="utf-8", xml_declaration=True)
    moved = _servoed(ElementTree.tostring(_with(root, truth), encoding="unicode"), truth, rated)
    robot = load_robot(folder / "robot.urdf")
    clean: dict[str, np.ndarray] = {}
    for name, fundamental in FUNDAMENTALS.items():
        time, commands = _commanded(fundamental, rng, middle)
        clean = _simulated(MuJoCo(moved, robot), commands)
        noisy = [
            clean["q"] + rng.normal(0, _POSITION_NOISE, clean["q"].shape),
            clean["tau"] + rng.normal(0, _TORQUE_NOISE, clean["tau"].shape) * rated,
        ]
        n = len(rated)
        head = ",".join(["t", *(f"{kind}{k + 1}" for kind in ("command", "q", "tau") for k in range(n))])
        table = np.column_stack([time[::_SUBSTEPS], commands[::_SUBSTEPS], *noisy])
        np.savetxt(folder / f"{name}.csv", table, delimiter=",", header=head, comments="", fmt="%.9g")
    stiffness, damping = servos(rated)
    gains = {"joints": truth.joints, "stiffness": stiffness.tolist(), "damping": damping.tolist()}
    (folder / "servos.json").write_text(json.dumps(gains), encoding="utf-8")
    kept: dict[str, Any] = {**clean, **{key: np.array(value) for key, value in vars(truth).items()}}
    np.savez(folder / "truth.npz", **kept)
    return truth
