"""Many simulations at once: compiled, several side by side in vector registers."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.typing import ArrayLike

from casid.arrays import Array
from casid.control import Controller
from casid.errors import DatasetError
from casid.motion import Reference
from casid.simulation._loop import LANES, CompiledLoop, Loop, recorded
from casid.simulation._plant import Plant, Sampling, Sensor
from casid.simulation._result import End, Rollouts, Stops
from casid.simulation._simulate import default_integrator
from casid.simulation.integrators._integrator import FixedStep


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
    references, count
        One for all, or B of them; B, where nothing else determines it.
    integrator
        With fixed steps; default: as for `simulate`.
    q0, dq0, parameters
        Shape (n,) or (B, n), and of the plant (B, N); default: at the reference, the plant's own.
    sensor
        Every rollout has errors of its own.
    every, threads
        Samples of the controller a record; threads that share the rollouts.

    Raises
    ------
    DatasetError
        If sizes do not fit.
    ExportError
        Without a C compiler.
    """
    sampling, n = Sampling(duration, rate, delay), plant.n
    several = list(references) if isinstance(references, Sequence) else [references]
    arrays = {"q0": (q0, n), "dq0": (dq0, n), "parameters": (parameters, len(plant.model.parameter_names))}
    found = {name: _rows(name, value, width) for name, (value, width) in arrays.items() if value is not None}
    total = _count({"references": len(several) if len(several) > 1 else None, "count": count}, found)
    if every < 1 or total < 1 or any(reference.n != n for reference in several) or controller.n != n:
        raise DatasetError(f"rollouts: every, count >= 1, and {n} joints in reference and controller are needed")
    motions = [reference.at(sampling.times) for reference in several]
    starts = np.zeros((total, plant.size))
    for key, held in (("q", slice(n)), ("dq", slice(n, 2 * n))):
        starts[:, held] = found.get(f"{key}0", np.array([getattr(motion, key)[0] for motion in motions]))
    integrator = integrator or default_integrator(plant, sampling, starts[0, :n])
    integrator.check_friction(plant, starts[0, :n])
    own = np.atleast_2d(found["parameters"]) if "parameters" in found else None
    closed = Loop(plant, controller, integrator, sampling, stops or Stops())
    loop = CompiledLoop(closed, integrator, LANES, own is not None)
    signals = np.stack([controller.sampled(motion) for motion in motions], axis=2)
    times = sampling.times[::every]
    x, u = np.full((total, len(times), plant.size), np.nan), np.full((total, len(times), n), np.nan)
    ends: list[End] = [End(0.0)] * total

    def block(first: int) -> None:
        """`LANES` rollouts side by side; the last block repeats the last one."""
        lanes = np.minimum(np.arange(first, first + LANES), total - 1)
        given = signals[:, :, lanes] if len(motions) > 1 else signals[:, :, 0]
        noise = None
        if sensor is not None:
            errors = [sensor.errors(len(signals), n, stream=int(i))[0] for i in lanes]
            noise = np.stack(errors, axis=2)
        pi = None if own is None else own[lanes % len(own)]
        states, applied, _, reached = loop(starts[lanes], given, noise, pi, every)
        for lane, k in enumerate(range(first, min(first + LANES, total))):
            kept, ends[k] = recorded(reached[lane], sampling, every), reached[lane]
            x[k, :kept], u[k, :kept] = states[:kept, :, lane], applied[:kept, :, lane]

    with ThreadPoolExecutor(max(1, threads)) as pool:
        list(pool.map(block, range(0, total, LANES)))
    return Rollouts(times, x[:, :, :n], x[:, :, n : 2 * n], u, x[:, :, 2 * n], x[:, :, 2 * n + 1], tuple(ends))


def _rows(name: str, value: ArrayLike, width: int) -> Array:
    """One row for all rollouts, or one each."""
    array = np.asarray(value, dtype=float)
    if array.shape[-1:] != (width,) or array.ndim > 2 or not np.isfinite(array).all():
        raise DatasetError(f"{name}: expected (B, {width}) finite numbers, got shape {array.shape}")
    return array


def _count(given: dict[str, int | None], found: dict[str, Array]) -> int:
    """Number of rollouts B, from whatever names it; DatasetError if two of them differ."""
    named = {**given, **{name: len(array) if array.ndim == 2 else None for name, array in found.items()}}
    sizes = {name: size for name, size in named.items() if size is not None}
    if len(set(sizes.values())) > 1:
        raise DatasetError(f"different numbers of rollouts: {', '.join(f'{s} of {k}' for k, s in sizes.items())}")
    return next(iter(sizes.values()), 1)
