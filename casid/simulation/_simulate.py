"""One simulation in closed loop, and its recording."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from casid.arrays import ALIKE
from casid.codegen import without_failure
from casid.control import ComputedTorque, Controller
from casid.errors import DatasetError
from casid.measurement import Dataset
from casid.motion import Follow, Reference, Trajectory
from casid.simulation._loop import CompiledLoop, Loop, compiled_loop, sampled_loop
from casid.simulation._plant import Plant, Sampling, Sensor
from casid.simulation._result import Simulation, Stops
from casid.simulation.integrators import RungeKutta4
from casid.simulation.integrators._integrator import FixedStep, Integrator


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
    if isinstance(integrator, FixedStep):
        integrator.check_friction(plant, start[:n])
    form = _compiled_form(loop, integrator, compiled)
    if form is None:
        trace = sampled_loop(loop, start, signals, state_errors)
    else:
        trace = compiled_loop(form, start, signals, state_errors)
    count, x = len(trace.states), trace.states
    return Simulation(
        plant, times[:count], x[:, :n], x[:, n : 2 * n], trace.applied, trace.commands, motion.q[:count],
        motion.dq[:count], state_errors[:count], torque_errors[:count], x[:, 2 * n], x[:, 2 * n + 1], trace.end,
    )  # fmt: skip


def _compiled_form(loop: Loop, integrator: Integrator, compiled: bool | None) -> CompiledLoop | None:
    """The loop in C, or None where it runs in Python."""
    if not isinstance(integrator, FixedStep) or compiled is False:
        return None
    if compiled:
        return CompiledLoop(loop, integrator)
    return without_failure(lambda: CompiledLoop(loop, integrator))


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
