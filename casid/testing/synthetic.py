"""Recordings made from known parameters: Fourier motions and their exact torques."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from casid.description import LinkBounds, Robot
from casid.dynamics import Model
from casid.measurement import Dataset


def motion(n: int, samples: int, seed: int, speed: float = 1.5) -> tuple[np.ndarray, ...]:
    """t, q, dq, ddq of a random Fourier motion of ten seconds."""
    rng = np.random.default_rng(seed)
    t = np.linspace(0.0, 10.0, samples)
    q, dq, ddq = (np.zeros((samples, n)) for _ in range(3))
    for harmonic in range(1, 6):
        w = 0.2 * np.pi * harmonic
        a, b = rng.normal(size=(2, n)) * speed / (5 * w)
        q += np.outer(np.sin(w * t), a) + np.outer(np.cos(w * t), b)
        dq += w * (np.outer(np.cos(w * t), a) - np.outer(np.sin(w * t), b))
        ddq += -(w**2) * (np.outer(np.sin(w * t), a) + np.outer(np.cos(w * t), b))
    return t, q, dq, ddq


def recording(model: Model, parameters: np.ndarray, samples: int = 600, seed: int = 0, noise: float = 0.0) -> Dataset:
    """Processed recording: exact q, dq, ddq, and torques with white noise of standard deviation ``noise`` [N.m]."""
    t, q, dq, ddq = motion(model.n, samples, seed)
    tau = np.array(
        model.inverse_dynamics.map(samples)(q.T, dq.T, ddq.T, np.tile(parameters[:, None], samples)).full()
    ).T
    tau = tau + noise * np.random.default_rng(seed + 1).normal(size=tau.shape)
    return Dataset(t, q, tau, dq, ddq, name=f"synthetic {seed}")


def blind(robot: Robot) -> Robot:
    """The robot's kinematics alone: no inertial values, bounds or total mass."""
    joints = tuple(replace(j, link=replace(j.link, inertial=None, bounds=LinkBounds())) for j in robot.joints)
    return replace(robot, joints=joints, total_mass=(0.0, np.inf))
