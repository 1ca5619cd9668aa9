"""Thousands of simulations at once: compiled, several side by side in each core's vector registers."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from casid.errors import DatasetError
from casid.simulation.controllers import Controller
from casid.simulation.integrators import FixedStep
from casid.simulation.loop import LANES, CompiledLoop, recorded
from casid.simulation.plant import Plant
from casid.simulation.references import Reference
from casid.simulation.sampling import Sampling
from casid.simulation.sensor import Sensor
from casid.simulation.simulate import default_integrator
from casid.simulation.stops import End, Stops

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Rollouts:
    """Many simulated motions: B rollouts, N records, n joints.

    Attributes
    ----------
    t : ndarray, shape (N,)
    q, dq, tau : ndarray, shape (B, N, n)
        As in `Simulation`; NaN after a rollout's end.
    work, dissipated : ndarray, shape (B, N)
    ends : tuple of End
        When and why each ended.
    """

    t: Array
    q: Array
    dq: Array
    tau: Array
    work: Array
    dissipated: Array
    ends: tuple[End, ...]

    def __len__(self) -> int:
        """Number of rollouts."""
        return len(self.ends)

    @property
    def finished(self) -> NDArray[np.bool_]:
        """Which rollouts reached their time, shape (B,)."""
        return np.array([end.finished for end in self.ends])


def simulate_many(
    plant: Plant,
    controller: Controller,
    references: Reference | Sequence[Reference],
    duration: float,
    count: int | None = None,
    *,
    integrator: FixedStep | None = None,
    rate: float = 1000.0,
    delay: float = 0.0,
    q0: ArrayLike | None = None,
    dq0: ArrayLike | None = None,
    parameters: ArrayLike | None = None,
    sensor: Sensor | None = None,
    stops: Stops | None = None,
    every: int = 1,
    threads: int = 1,
) -> Rollouts:
    """Simulate B times: from different states, with different parameters, references or sensor errors.

    Parameters
    ----------
    plant, controller, duration, rate, delay, stops
        As for `simulate`.
    references
        One for all, or B of them.
    count
        B, where nothing else tells.
    integrator
        A fixed-step one; default: as for `simulate`.
    q0, dq0
        Shape (n,) or (B, n); default: at the reference.
    parameters
        Of the plant, shape (B, N); default: the plant's own.
    sensor
        Every rollout has errors of its own.
    every
        Samples of the controller a record.
    threads
        Threads that share the rollouts.

    Raises
    ------
    DatasetError
        If sizes do not fit.
    ExportError
        Without a C compiler.
    """
    sampling = Sampling(duration, rate, delay)
    n, times = plant.n, sampling.times
    several = [references] if isinstance(references, Reference) else list(references)
    given = {"references": len(several) if len(several) > 1 else None, "count": count}
    arrays = {"q0": (q0, n), "dq0": (dq0, n), "parameters": (parameters, len(plant.model.parameter_names))}
    found: dict[str, Array] = {}
    for name, (value, width) in arrays.items():
        if value is None:
            continue
        found[name] = np.asarray(value, dtype=float)
        if found[name].shape[-1:] != (width,) or found[name].ndim > 2 or not np.isfinite(found[name]).all():
            raise DatasetError(f"{name}: expected (B, {width}) finite numbers, got shape {found[name].shape}")
        given[name] = len(found[name]) if found[name].ndim == 2 else None
    sizes = {name: size for name, size in given.items() if size is not None}
    if len(set(sizes.values())) > 1:
        raise DatasetError(f"different numbers of rollouts: {', '.join(f'{s} of {k}' for k, s in sizes.items())}")
    total = next(iter(sizes.values()), 1)
    if every < 1 or total < 1 or any(reference.n != n for reference in several) or controller.n != n:
        raise DatasetError(f"rollouts: every, count >= 1, and {n} joints in reference and controller are needed")
    motions = [reference.at(times) for reference in several]
    signals = [controller.rows(motion) for motion in motions]
    starts = np.zeros((total, plant.size))
    starts[:, :n] = found.get("q0", np.array([motion.q[0] for motion in motions]))
    starts[:, n : 2 * n] = found.get("dq0", np.array([motion.dq[0] for motion in motions]))
    integrator = integrator or default_integrator(plant, sampling, starts[0, :n])
    integrator.check_friction(plant, starts[0, :n])
    loop = CompiledLoop(plant, controller, integrator, sampling, stops or Stops(), LANES, "parameters" in found)
    records = sampling.ticks // every + 1
    states, applied = np.empty((total, records, plant.size)), np.empty((total, records, n))
    ends: list[End | None] = [None] * total

    def run(first: int) -> None:
        lanes = np.minimum(np.arange(first, first + LANES), total - 1)
        own = np.stack([signals[i] for i in lanes], axis=2) if len(signals) > 1 else signals[0]
        noise = None
        if sensor is not None:
            noise = np.stack([sensor.errors(len(times), n, stream=int(i))[0] for i in lanes], axis=2)
        values = np.atleast_2d(found["parameters"])[lanes % len(np.atleast_2d(found["parameters"]))] if (
            "parameters" in found) else None  # fmt: skip
        x, u, _, over = loop(starts[lanes], own, noise, values, every)
        for lane in range(min(LANES, total - first)):
            kept = recorded(over[lane], sampling, every)
            states[first + lane], applied[first + lane] = x[:, :, lane], u[:, :, lane]
            states[first + lane, kept:] = np.nan
            applied[first + lane, kept:] = np.nan
            ends[first + lane] = over[lane]

    with ThreadPoolExecutor(max(1, threads)) as pool:
        list(pool.map(run, range(0, total, LANES)))
    return Rollouts(
        times[::every], states[:, :, :n], states[:, :, n : 2 * n], applied, states[:, :, 2 * n],
        states[:, :, 2 * n + 1], tuple(end for end in ends if end is not None),
    )  # fmt: skip
