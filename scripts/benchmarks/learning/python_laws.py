"""Rollouts of torque laws that are Python functions, e.g. of trained networks, side by side."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from casid.arrays import Array
from casid.codegen import Function
from casid.errors import DatasetError
from casid.simulation import Plant, Stops
from casid.simulation._plant import Sampling
from casid.simulation._result import End, Reason, Rollouts
from casid.simulation._simulate import default_integrator
from casid.simulation.integrators._integrator import FixedStep

#: ``(tick, q, dq) -> tau`` of all rollouts at once: q, dq and tau have shape (B, n).
Law = Callable[[int, Array, Array], ArrayLike]
#: ``(x, u) -> x`` one period later, and whether M was positive definite on the way.
_Advance = Callable[[Array, Array], tuple[Array, NDArray[np.bool_]]]


def simulate_law(
    plant: Plant,
    law: Law,
    duration: float,
    q0: ArrayLike,
    dq0: ArrayLike | None = None,
    *,
    integrator: FixedStep | None = None,
    rate: float = 1000.0,
    stops: Stops | None = None,
) -> Rollouts:
    """Simulate B rollouts side by side under a sampled torque law given as a Python function.

    Controllers that are expressions run faster, and export to C: `simulate_many`. This is for the others.

    Parameters
    ----------
    plant
        The robot that moves.
    law
        Called once a sample with the states of all rollouts; ended ones keep their last state.
    duration, rate, stops
        As for `simulate`.
    q0, dq0
        Shape (B, n); velocities default to zero.
    integrator
        A fixed-step one; default: as for `simulate`.

    Returns
    -------
    Rollouts
        NaN after a rollout's end; a torque that is not finite ends its rollout.

    Raises
    ------
    DatasetError
        If shapes do not fit.
    ProblemError
        If the integrator's step does not divide the sampling period.
    """
    sampling, n = Sampling(duration, rate), plant.n
    q = np.atleast_2d(np.asarray(q0, dtype=float))
    dq = np.zeros_like(q) if dq0 is None else np.atleast_2d(np.asarray(dq0, dtype=float))
    if q.shape[1:] != (n,) or dq.shape != q.shape or not (np.isfinite(q).all() and np.isfinite(dq).all()):
        raise DatasetError(f"rollouts: expected (B, {n}) finite positions and velocities, got {q.shape} and {dq.shape}")
    integrator = integrator or default_integrator(plant, sampling, q[0])
    x = np.zeros((len(q), plant.size))
    x[:, :n], x[:, n : 2 * n] = q, dq
    return _under_law(law, x, sampling, _advance(plant, integrator, sampling.period), stops or Stops())


def _under_law(law: Law, x: Array, sampling: Sampling, advance: _Advance, stops: Stops) -> Rollouts:
    """Rollouts from states x (B, size), sample by sample."""
    n, count = (x.shape[1] - 2) // 2, sampling.ticks + 1
    q = x[:, :n]
    states, torques = np.full((len(q), count, x.shape[1]), np.nan), np.full((len(q), count, n), np.nan)
    alive: NDArray[np.bool_] = np.ones(len(q), dtype=bool)
    ends = [End(float(sampling.times[-1]))] * len(q)
    for tick, time in enumerate(sampling.times):
        tau = np.array(law(tick, x[:, :n], x[:, n : 2 * n]), dtype=float)
        if tau.shape != q.shape:
            raise DatasetError(f"the torque law gave shape {tau.shape}, expected {q.shape}")
        states[alive, tick], torques[alive, tick] = x[alive], tau[alive]
        if tick == sampling.ticks or not alive.any():
            break
        after, definite = advance(x, np.where(np.isfinite(tau), tau, 0.0))
        for reason, which in _failures(after, tau, definite, stops).items():
            for lane in np.flatnonzero(alive & which):
                alive[lane], ends[lane] = False, End(float(time), reason)
        x = np.where(alive[:, None], after, x)
    return Rollouts(
        sampling.times, states[:, :, :n], states[:, :, n : 2 * n], torques, states[:, :, 2 * n],
        states[:, :, 2 * n + 1], tuple(ends),
    )  # fmt: skip


def _failures(after: Array, tau: Array, definite: NDArray[np.bool_], stops: Stops) -> dict[Reason, NDArray[np.bool_]]:
    """Reasons to end, and the rollouts they end, shape (B,)."""
    n = tau.shape[1]
    with np.errstate(invalid="ignore"):
        return {
            Reason.NOT_FINITE: ~(np.isfinite(after).all(axis=1) & np.isfinite(tau).all(axis=1)),
            Reason.INDEFINITE: ~definite if stops.definite else np.zeros(len(tau), dtype=bool),
            Reason.DIVERGED: np.abs(after[:, n : 2 * n]).max(axis=1) > stops.speed,
        }


def _advance(plant: Plant, integrator: FixedStep, period: float) -> _Advance:
    """See `_Advance`."""
    rate = Function(plant.rate)
    points = [Function(function) for function in integrator.points(plant.size, plant.n)]
    steps = integrator.steps(period)
    h = np.array([period / steps])

    def advance(x: Array, u: Array) -> tuple[Array, NDArray[np.bool_]]:
        definite: NDArray[np.bool_] = np.ones(len(x), dtype=bool)
        with np.errstate(all="ignore"):
            for _ in range(steps):
                slopes: list[Array] = []
                here = x
                for point in points:
                    dx, pivots = rate(here, u)
                    definite &= (pivots > 0).all(axis=1)
                    slopes.append(dx)
                    here = point(x, *slopes, h)
                x = here
        return x, definite

    return advance
