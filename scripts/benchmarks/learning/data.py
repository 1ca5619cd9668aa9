"""Motions that the learning tables train and test on."""

from __future__ import annotations

from functools import cache

import numpy as np
from baselines.contract import Motion

import casid
from casid.dynamics import Model
from casid.measurement import Dataset

#: The paper's copy leaves the periods and amplitudes of the sines blank: these are our choice [s, share of the range].
PERIODS = (23.0, 19.0, 17.0, 13.0, 11.0, 7.0, 5.0)
AMPLITUDE = 0.5
#: Samples a second, and seconds: "we collect only 600*240 data points" (Sec. 4.1.2); batches of 256.
RATE, DURATION, BATCH = 240.0, 600.0, 256


@cache
def iiwa() -> Model:
    """KUKA iiwa 7 with the inertials of its description."""
    return Model(casid.load_robot("kuka_iiwa"))


def sines(speed: float = 1.0, amplitude: float = AMPLITUDE, duration: float = DURATION, noise: float = 0.0) -> Motion:
    """Sine tracking of every joint with the ground-truth model, as the paper collects it (Sec. 4.1)."""
    model = iiwa()
    limits = model.robot.limits
    t = np.arange(0.0, duration, 1.0 / RATE)
    w = 2 * np.pi * speed / np.array(PERIODS)
    a = amplitude * np.minimum(np.abs(limits.lower), np.abs(limits.upper))
    phase = np.outer(t, w)
    q, dq, ddq = a * np.sin(phase), a * w * np.cos(phase), -a * w**2 * np.sin(phase)
    tau = model.inverse_dynamics(q, dq, ddq, model.robot.standard_parameters())
    if noise:
        tau = tau + noise * np.random.default_rng(7).normal(size=tau.shape)
    return Motion(q, dq, ddq, tau)


def one_sine(samples: int = 10_000, amplitude: float = 0.7, frequency: float = 0.1) -> Motion:
    """The motion of the ladder's published code: the same sine for every joint, samples over 39 s."""
    model = iiwa()
    w, one = 2 * np.pi * frequency, np.ones(model.n)
    t = np.linspace(0.0, 39.0, samples)
    q, dq, ddq = (np.outer(x, one) for x in (np.sin(w * t), w * np.cos(w * t), -(w**2) * np.sin(w * t)))
    q, dq, ddq = amplitude * q, amplitude * dq, amplitude * ddq
    tau = model.inverse_dynamics(q, dq, ddq, model.robot.standard_parameters())
    return Motion(q, dq, ddq, tau)


def dataset(motion: Motion, name: str = "sines") -> Dataset:
    """As the library reads it."""
    t = np.arange(len(motion)) / RATE
    return Dataset(t, motion.q, motion.tau, motion.dq, motion.ddq, name=name)
