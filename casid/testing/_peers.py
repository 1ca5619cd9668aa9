"""Independent answers: dynamics in plain numpy, and other libraries where they are installed.

The dynamics follow from Newton's and Euler's laws in the base frame, without casid's code. No recursion of forces,
no spatial algebra, no standard parameters: every link is a point mass at its centre of mass and a rotating inertia
tensor; a joint's torque is the moment of all that it carries about its axis.
"""

from __future__ import annotations

import importlib
from types import ModuleType
from typing import NamedTuple

import numpy as np

from casid.description import Robot


class NotMeasured(Exception):
    """A comparison that cannot be made on this machine; the text gives the reason."""


def need(module: str, extra: str = "peers") -> ModuleType:
    """Import an optional module.

    Parameters
    ----------
    module
        Its name.
    extra
        The extra of casid that installs it; empty where none does.

    Raises
    ------
    NotMeasured
        If it is not installed; the message names what to install.
    """
    try:
        return importlib.import_module(module)
    except ImportError:
        how = f"casid[{extra}]" if extra else f"{module}, in an environment of its own"
        raise NotMeasured(f"needs the package '{module}' (pip install {how})") from None


class Body(NamedTuple):
    """Mass [kg], centre of mass (3) [m] and inertia about it (3x3) [kg.m^2], in the link frame."""

    mass: float
    com: np.ndarray
    inertia: np.ndarray


def rotation_about(axis: np.ndarray, angle: float) -> np.ndarray:
    """Rotation matrix by the exponential series of the cross-product matrix."""
    x, y, z = axis * angle
    generator = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    term = total = np.eye(3)
    for k in range(1, 60):
        term = term @ generator / k
        total = total + term
    return total


def inverse_dynamics(
    robot: Robot, bodies: list[Body], q: np.ndarray, dq: np.ndarray, ddq: np.ndarray, gravity: np.ndarray
) -> np.ndarray:
    """Joint torques (n)."""
    n = robot.n
    R = np.tile(np.eye(3), (n + 1, 1, 1))
    p, w, dw, a, axes, origins = (np.zeros((n + 1, 3)) for _ in range(6))
    for k, joint in enumerate(robot.joints):
        i = joint.parent  # -1, the last row, is the base
        Rp, pp, wp, dwp, ap = R[i], p[i], w[i], dw[i], a[i]
        R0, p0 = joint.placement[:3, :3], joint.placement[:3, 3]
        R1, p1 = joint.link_placement[:3, :3], joint.link_placement[:3, 3]
        axis = Rp @ R0 @ joint.axis
        axes[k] = axis
        sliding = joint.type == "prismatic"
        Rj = Rp @ R0 if sliding else Rp @ R0 @ rotation_about(joint.axis, q[k])
        oj = pp + Rp @ p0 + (axis * q[k] if sliding else 0.0)
        r = oj - pp
        aj, wk, dwk = ap + np.cross(dwp, r) + np.cross(wp, np.cross(wp, r)), wp, dwp
        if sliding:
            aj = aj + axis * ddq[k] + 2 * np.cross(wp, axis * dq[k])
        else:
            wk, dwk = wp + axis * dq[k], dwp + axis * ddq[k] + np.cross(wp, axis * dq[k])
        origins[k] = oj
        shift = Rj @ p1
        R[k], p[k], w[k], dw[k] = Rj @ R1, oj + shift, wk, dwk
        a[k] = aj + np.cross(dwk, shift) + np.cross(wk, np.cross(wk, shift))
    tau = np.zeros(n)
    for k, body in enumerate(bodies):
        arm = R[k] @ body.com
        com = p[k] + arm
        acceleration = a[k] + np.cross(dw[k], arm) + np.cross(w[k], np.cross(w[k], arm))
        inertia = R[k] @ body.inertia @ R[k].T
        force = body.mass * (acceleration - gravity)
        moment = inertia @ dw[k] + np.cross(w[k], inertia @ w[k])
        j = k
        while j >= 0:
            if robot.joints[j].type == "revolute":
                tau[j] += axes[j] @ (moment + np.cross(com - origins[j], force))
            else:
                tau[j] += axes[j] @ force
            j = robot.joints[j].parent
    return tau


def random_body(rng: np.random.Generator) -> Body:
    """A physically consistent body: the mass distribution of a cloud of points."""
    points = rng.normal(scale=0.15, size=(12, 3)) + rng.uniform(-0.2, 0.2, 3)
    masses = rng.uniform(0.05, 0.6, 12)
    mass = float(masses.sum())
    com = masses @ points / mass
    arms = points - com
    inertia = np.einsum("k,kij->ij", masses, [r @ r * np.eye(3) - np.outer(r, r) for r in arms])
    return Body(mass, com, inertia)


def standard_parameters(bodies: list[Body]) -> np.ndarray:
    """``Lxx Lxy Lxz Lyy Lyz Lzz lx ly lz m`` of every body, by the parallel-axis theorem."""
    values: list[float] = []
    for m, c, inertia in bodies:
        L = inertia + m * (c @ c * np.eye(3) - np.outer(c, c))
        values += [L[0, 0], L[0, 1], L[0, 2], L[1, 1], L[1, 2], L[2, 2], *(m * c), m]
    return np.array(values)


def states(n: int, seed: int = 0) -> np.ndarray:
    """Random q, dq, ddq, shape (3, n)."""
    return np.random.default_rng(seed).uniform(-1.5, 1.5, (3, n))
