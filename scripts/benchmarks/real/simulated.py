"""What simulated recordings of the table ``real`` share: noise, motions, bodies."""

from __future__ import annotations

import numpy as np

from casid.description import Robot
from casid.inertia import to_standard

TORQUE_NOISE = 0.05  # N.m, BIRDy
POSITION_NOISE = (float(np.deg2rad(0.057e-3)), float(np.deg2rad(0.172e-3)))  # rad, BIRDy: least and largest


def nominal(robot: Robot) -> np.ndarray:
    """Standard parameters; a link without nominal values is a small body."""
    bodies = [
        to_standard(0.2, [0.0, 0.0, 0.02], 1e-4 * np.eye(3))
        if link.inertial is None
        else link.inertial.standard_parameters()
        for link in robot.links
    ]
    return np.concatenate(bodies)


def fourier(n: int, t: np.ndarray, base: float, seed: int, speed: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    q, dq, ddq = (np.zeros((len(t), n)) for _ in range(3))
    for harmonic in range(1, 6):
        w = 2 * np.pi * base * harmonic
        a, b = rng.normal(size=(2, n)) * speed / w
        s, c = np.sin(w * t)[:, None], np.cos(w * t)[:, None]
        q, dq, ddq = q + s * a + c * b, dq + w * (c * a - s * b), ddq - w**2 * (s * a + c * b)
    return q, dq, ddq
