"""Simulations: one in closed loop, and its recording; many at once, compiled, side by side in vector registers."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np
from numpy.typing import ArrayLike

from casid.arrays import ALIKE, Array
from casid.codegen import without_failure
from casid.control import ComputedTorque, Controller
from casid.errors import DatasetError
from casid.measurement import Dataset
from casid.motion import Follow, Reference, Trajectory
from casid.simulation._loop import LANES, CompiledLoop, Loop, compiled_loop, recorded, sampled_loop
from casid.simulation._plant import Plant, Sampling, Sensor
from casid.simulation._result import End, Rollouts, Simulation, Stops
from casid.simulation.integrators import RungeKutta4
from casid.simulation.integrators._integrator import FixedStep, Integrator

# ------------------------------------------------------------------ one simulation


def simulate(
    plant: Plant,
    controller: Controller,
    reference: Reference,
    duration: float,
    *,
    integrator: Integrator | None = None,
    rate: float = 1000.0,
    delay: float = 0.0,
    q0: ArrayLike | None = None,
    dq0: ArrayLike | None = None,
    sensor: Sensor | None = None,
    stops: Stops | None = None,
    compiled: bool | None = None,
) -> Simulation:
    """Motion of a robot under a sampled-data controller.

    Parameters
    ----------
    plant, controller, reference
        The robot, the law of its torques (`casid.control.Passive` for none), the motion to follow.
    duration
        [s]
    integrator
        Default: Runge-Kutta of order 4 with steps of 1 ms, or shorter where smooth friction needs it.
    rate
        Samples of the controller a second [Hz]; torques are held in between.
    delay
        From a sample to the torque computed from it [s].
    q0, dq0
        First state; default: the reference's.
    sensor
        Errors of the measured state and torques, default none; those of the state enter the control.
    stops
        Conditions that end the simulation early.
    compiled
        Whether a fixed-step integrator runs in C; default: if a compiler works.

    Returns
    -------
    Simulation
        Up to its end, with time and reason.

    Raises
    ------
    DatasetError
        If sizes do not fit.
    ProblemError
        If the integrator takes neither the plant's friction nor the sampling.
    """
    sampling = Sampling(duration, rate, delay)
    n, times = plant.n, sampling.times
    for what, size in (("controller", controller.n), ("reference", reference.n)):
        if size != n:
            raise DatasetError(f"the {what} has {size} joints, robot '{plant.model.robot.name}' has {n}")
    motion = reference.at(times)
    start = plant.start(motion.q[0] if q0 is None else q0, motion.dq[0] if dq0 is None else dq0)
    integrator = integrator or default_integrator(plant, sampling, start[:n])
    loop = Loop(plant, controller, integrator, sampling, stops or Stops())
    state_errors, torque_errors = (sensor or Sensor()).errors(len(times), n)
    signals = controller.sampled(motion)
    form = None
    if isinstance(integrator, FixedStep):
        integrator.check_friction(plant, start[:n])
        if compiled is not False:
            made = partial(CompiledLoop, loop, integrator)
            form = made() if compiled else without_failure(made)
    if form is None:
        trace = sampled_loop(loop, start, signals, state_errors)
    else:
        trace = compiled_loop(form, start, signals, state_errors)
    count, x = len(trace.states), trace.states
    return Simulation(
        plant, times[:count], x[:, :n], x[:, n : 2 * n], trace.applied, trace.commands, motion.q[:count],
        motion.dq[:count], state_errors[:count], torque_errors[:count], x[:, 2 * n], x[:, 2 * n + 1], trace.end,
    )  # fmt: skip


def default_integrator(plant: Plant, sampling: Sampling, q: ArrayLike) -> RungeKutta4:
    """Steps up to 1 ms, short enough for friction at q, that divide the period and the delay's rest in it."""
    longest = min(1e-3, 0.5 * RungeKutta4.reach / max(plant.friction_rate(q)[0], 1e-9))
    whole = int(np.ceil(sampling.period / longest - ALIKE))
    rest = sampling.offset[1]
    if rest:
        for count in range(whole, 100 * whole):
            steps = rest * count / sampling.period
            if round(steps) and abs(steps - round(steps)) < ALIKE:
                return RungeKutta4(sampling.period / count)
    return RungeKutta4(sampling.period / whole)


def record(
    plant: Plant,
    motion: Trajectory | Reference,
    *,
    rate: float = 1000.0,
    delay: float = 0.0,
    kp: ArrayLike = 100.0,
    kd: ArrayLike = 20.0,
    sensor: Sensor | None = None,
    duration: float | None = None,
    integrator: Integrator | None = None,
    name: str = "simulation",
) -> Dataset:
    """Recording of a plant that follows a motion in closed loop, as its sensors measure it.

    Computed torque with the plant's own links, without its joint terms, drives it; errors of the measured state enter
    the loop and so the torques, as on a real robot.

    Parameters
    ----------
    plant
        The robot, friction included.
    motion
        A trajectory, e.g. of `casid.excitation`, or any reference.
    rate, delay
        Of controller and recording [Hz, s].
    kp, kd
        Gains of the joints' errors [1/s^2, 1/s].
    sensor
        Standard deviations of the errors, and their seed.
    duration
        [s]; default: that of the motion.

    Returns
    -------
    Dataset
        Measured t, q, dq, tau. The end of a simulation that ended early stands in the notes.

    Raises
    ------
    DatasetError
        If it ended before there were enough samples.

    Examples
    --------
    >>> import casid
    >>> from casid.simulation import Plant, Sensor, Sine, record
    >>> panda = casid.load_robot("panda")
    >>> plant = Plant.of(panda, viscous=0.5, coulomb=0.3)
    >>> data = record(plant, Sine.within(panda), sensor=Sensor(position=1e-5, torque=0.05), duration=2.0)
    """
    reference = Follow(motion) if isinstance(motion, Trajectory) else motion
    controller = ComputedTorque(*plant.links, np.asarray(kp), np.asarray(kd))
    length = float(np.ceil((reference.span[1] if duration is None else duration) * rate - 1e-9)) / rate
    done = simulate(plant, controller, reference, length, integrator=integrator, rate=rate, delay=delay, sensor=sensor)
    return done.dataset(name)


# ------------------------------------------------------------------ many at once


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
