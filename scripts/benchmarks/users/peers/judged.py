"""What a tool's result is worth: its bodies, friction and torques beside those of the arm that moved."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.measure import need
from benchmarks.users.peers.task import Truth

#: Instants at which a joint is slower are left out: at rest, friction is what the motor makes it [rad/s].
_SLIDING = 0.02
_STATES = 1000


@dataclass(frozen=True)
class Result:
    """Bodies in the link frames, and the terms of the joints, as a tool left them; `moved` if it predicts itself."""

    masses: np.ndarray
    centres: np.ndarray
    inertias: np.ndarray
    viscous: np.ndarray
    coulomb: np.ndarray
    rotors: np.ndarray
    offsets: np.ndarray
    certificate: str
    moved: Any = None


@dataclass(frozen=True)
class Score:
    """Errors against the truth [%], and whether each body can be real."""

    held_out: float
    worst: float
    rigid: float
    mass: float
    total: float
    friction: float
    eigenvalue: float
    certificate: str


def of_casid(folder: Path, truth: Truth) -> Result:
    """From the URDF that casid wrote; torques by its own model, whose friction is not linear where the data say so."""
    from casid.description import load_robot
    from casid.identification import load_model

    model, parameters = load_model(folder / "result" / "identification.json", load_robot(folder / "robot.urdf"))
    record = json.loads((folder / "result" / "identification.json").read_text(encoding="utf-8"))
    known = dict(zip(model.parameter_names, map(float, np.asarray(parameters).ravel()), strict=True))
    term = {key: np.array([known.get(f"{key}{k + 1}", 0.0) for k in range(len(truth.joints))]) for key in _TERMS}
    text = f"global optimum proven, gap {record['gap']:.0e}" if record["certified"] else "none"

    def moved(*motion: np.ndarray) -> np.ndarray:
        return np.array([np.ravel(model.inverse_dynamics(*state, parameters)) for state in zip(*motion, strict=True)])

    return _result(_bodies(folder / "identified.urdf", truth), list(term.values()), text, moved)


_TERMS = ("fv", "fc", "Ia", "fo")


def of_figaroh(folder: Path, truth: Truth) -> Result:
    """From the URDF that FIGAROH wrote, and its list of parameters."""
    known = json.loads((folder / "parameters.json").read_text(encoding="utf-8"))
    terms = [np.array([known[f"{key}_{name}"] for name in truth.joints]) for key in ("fv", "fs", "Ia", "off")]
    return _result(_bodies(folder / "identified.urdf", truth), terms, "none: status 'optimal' of CVXOPT")


def of_mujoco(folder: Path, truth: Truth) -> Result:
    """From the MJCF that the script wrote."""
    mujoco: Any = need("mujoco", "side-by-side")
    model = mujoco.MjModel.from_xml_path(str(folder / "identified.xml"))
    found = []
    for name in truth.links:
        body, turned = model.body(name), np.zeros(9)
        mujoco.mju_quat2Mat(turned, body.iquat)
        axes = turned.reshape(3, 3)
        found.append((float(body.mass[0]), body.ipos.copy(), (axes * body.inertia) @ axes.T))
    order = [int(model.joint(name).dofadr[0]) for name in truth.joints]
    damping = np.reshape(model.dof_damping, (model.nv, -1))[:, 0]
    terms = [np.array(values)[order] for values in (damping, model.dof_frictionloss, model.dof_armature)]
    bodies = [np.array(part) for part in zip(*found, strict=True)]
    return _result(bodies, [*terms, np.zeros(len(order))], "none: local search, intervals from the Jacobian")


def _bodies(urdf: Path, truth: Truth) -> list[np.ndarray]:
    pinocchio: Any = need("pinocchio", "side-by-side")
    model = pinocchio.buildModelFromUrdf(str(urdf))
    found = [model.inertias[model.getJointId(name)] for name in truth.joints]
    return [np.array([getattr(body, key) for body in found]) for key in ("mass", "lever", "inertia")]


def _result(bodies: list[np.ndarray], terms: list[np.ndarray], certificate: str, moved: Any = None) -> Result:
    return Result(bodies[0], bodies[1], bodies[2], terms[0], terms[1], terms[2], terms[3], certificate, moved)


def _torques(urdf: Path, bodies: Result | Truth, names: tuple[str, ...], motion: tuple[np.ndarray, ...]) -> np.ndarray:
    """Newton-Euler by Pinocchio, rotors included, without friction; also of bodies that cannot be real."""
    pinocchio: Any = need("pinocchio", "side-by-side")
    model = pinocchio.buildModelFromUrdf(str(urdf))
    for k, name in enumerate(names):
        mass, centre = float(bodies.masses[k]), bodies.centres[k]
        about_joint = bodies.inertias[k] + mass * (centre @ centre * np.eye(3) - np.outer(centre, centre))
        (xx, xy, xz), (_, yy, yz), (*_, zz) = about_joint
        parameters = np.array([mass, *mass * centre, xx, xy, yy, xz, yz, zz])  # Pinocchio's order
        model.inertias[model.getJointId(name)] = pinocchio.Inertia.FromDynamicParameters(parameters)
    data = model.createData()
    torques = np.array([pinocchio.rnea(model, data, *state) for state in zip(*motion, strict=True)])
    return np.asarray(torques + bodies.rotors * motion[2])


def score(result: Result, truth: Truth, folder: Path) -> Score:
    """Errors of a result.

    The held-out error is that of the clean motion of ``truth.npz``, at instants where all joints slide; the rigid one
    that of torques without friction at random states, over the whole range of the joints, where every error of an
    identifiable parameter shows. Both are root mean squares of a joint's error over those of its torque, and the mean
    of all joints.
    """
    urdf, saved = folder / "robot.urdf", np.load(folder / "truth.npz")
    motion = tuple(saved[key] for key in ("q", "dq", "ddq"))
    slides = np.all(np.abs(motion[1]) > _SLIDING, axis=1)
    motion, measured = tuple(part[slides] for part in motion), saved["tau"][slides]
    if result.moved is not None:
        predicted = result.moved(*motion)
    else:
        predicted = _torques(urdf, result, truth.joints, motion) + result.offsets
        predicted = predicted + result.viscous * motion[1] + result.coulomb * np.sign(motion[1])
    errors = _relative(predicted - measured, measured)
    rng, n = np.random.default_rng(1), len(truth.joints)
    states = tuple(rng.uniform(-limit, limit, (_STATES, n)) for limit in (np.pi, 1.6, 6.0))
    rigid = _torques(urdf, truth, truth.joints, states)
    wrong = _torques(urdf, result, truth.joints, states) - rigid
    friction = [np.abs(getattr(result, key) / getattr(truth, key) - 1).max() for key in ("viscous", "coulomb")]
    total = float(result.masses.sum())
    return Score(
        float(errors.mean()), float(errors.max()), float(_relative(wrong, rigid).mean()),
        100 * abs(total / float(truth.masses.sum()) - 1), total, 100 * float(max(friction)),
        _smallest(result), result.certificate,
    )  # fmt: skip


def _relative(errors: np.ndarray, of: np.ndarray) -> np.ndarray:
    return np.asarray(100 * np.sqrt((errors**2).mean(0) / (of**2).mean(0)))


def _smallest(result: Result) -> float:
    """Smallest eigenvalue of the bodies' pseudo-inertias about their centres: positive where each can be real."""
    moments = [0.5 * np.trace(inertia) * np.eye(3) - inertia for inertia in result.inertias]
    return float(min(min(np.linalg.eigvalsh(second).min() for second in moments), result.masses.min()))
