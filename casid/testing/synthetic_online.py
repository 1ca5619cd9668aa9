"""Samples of an arm with friction, with and without a load, and its plausible bodies, for tests on line."""

from __future__ import annotations

import numpy as np

from casid.codegen import evaluate_batch
from casid.dynamics import Model
from casid.inertia import to_standard
from casid.inertia.entropic._estimate import Plausible

TERMS = ("viscous", "coulomb", "offset")


def motion(n: int, count: int, seed: int = 0) -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(seed)
    t = np.arange(count) * 0.01
    w = rng.uniform(0.5, 3.0, (4, n))
    a = rng.uniform(-0.4, 0.4, (4, n))
    q = sum(a[k] * np.sin(np.outer(t, w[k])) for k in range(4))
    dq = sum(a[k] * w[k] * np.cos(np.outer(t, w[k])) for k in range(4))
    ddq = sum(-a[k] * w[k] ** 2 * np.sin(np.outer(t, w[k])) for k in range(4))
    return t, q, dq, ddq


def recorded(
    model: Model, count: int = 800, load: np.ndarray | None = None, noise: float = 0.05, seed: int = 0
) -> tuple[np.ndarray, ...]:
    t, q, dq, ddq = motion(model.n, count, seed)
    pi = model.parameters(model.robot.standard_parameters(), np.tile([0.5, 0.4, 0.1], model.n))
    if load is not None:
        pi[list(model.link_columns[-1])] += load
    tau = np.asarray(evaluate_batch(model.inverse_dynamics, q, dq, ddq, pi))[..., 0]
    return t, q, dq, ddq, tau + noise * np.random.default_rng(seed + 1).normal(size=tau.shape), pi


def plausible(model: Model) -> Plausible:
    body = to_standard(3.0, [0.0, 0.0, 0.05], np.diag([0.03, 0.03, 0.02]))
    return Plausible(np.tile(body, (model.n, 1)), np.full(2 * model.n, 0.3), np.full(model.n, 0.5))
