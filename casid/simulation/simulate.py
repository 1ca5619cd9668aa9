"""One simulation: open or closed loop."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from casid.codegen._library import without_failure
from casid.errors import DatasetError
from casid.simulation.controllers import Controller
from casid.simulation.integrators import FixedStep, Integrator, RungeKutta4
from casid.simulation.loop import CompiledLoop, compiled_loop, sampled_loop
from casid.simulation.plant import Plant
from casid.simulation.references import Reference
from casid.simulation.result import Simulation
from casid.simulation.sampling import Sampling
from casid.simulation.sensor import Sensor
from casid.simulation.stops import Stops


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
    """Simulate a robot under a sampled-data controller.

    Parameters
    ----------
    plant
        The robot that moves.
    controller
        What drives it; `casid.simulation.controllers.Passive` for none.
    reference
        What it is to follow.
    duration
        [s]
    integrator
        Default: Runge-Kutta of order 4 with steps of 1 ms, or shorter where smooth friction needs it.
    rate
        Samples of the controller a second [Hz]; torques are held in between.
    delay
        From a sample to the torque computed from it [s].
    q0, dq0
        Where it begins; default: at the reference, and with its velocity.
    sensor
        Errors of what is measured, default none; the controller sees them.
    stops
        What ends the simulation early.
    compiled
        Whether a fixed-step integrator runs in C; default: if a compiler works.

    Returns
    -------
    Simulation
        Up to the end, which says when and why.

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
    signals = controller.rows(motion)
    state_errors, torque_errors = (sensor or Sensor()).errors(len(times), n)
    integrator = integrator or default_integrator(plant, sampling, start[:n])
    stops = stops or Stops()
    if isinstance(integrator, FixedStep):
        integrator.check_friction(plant, start[:n])
    loop = _compiled_loop(plant, controller, integrator, sampling, stops, compiled)
    if loop is not None:
        trace = compiled_loop(loop, stops, start, signals, state_errors)
    else:
        trace = sampled_loop(plant, controller, integrator, sampling, stops, start, signals, state_errors)
    count = len(trace.states)
    x = trace.states
    return Simulation(
        plant, times[:count], x[:, :n], x[:, n : 2 * n], trace.applied, trace.commands, motion.q[:count],
        motion.dq[:count], state_errors[:count], torque_errors[:count], x[:, 2 * n], x[:, 2 * n + 1], trace.end,
    )  # fmt: skip


def _compiled_loop(
    plant: Plant, controller: Controller, integrator: Integrator, sampling: Sampling, stops: Stops,
    compiled: bool | None,
) -> CompiledLoop | None:  # fmt: skip
    """The loop in C, or None where it runs in Python."""
    if not isinstance(integrator, FixedStep) or compiled is False:
        return None
    if compiled:
        return CompiledLoop(plant, controller, integrator, sampling, stops)
    return without_failure(lambda: CompiledLoop(plant, controller, integrator, sampling, stops))


def default_integrator(plant: Plant, sampling: Sampling, q: ArrayLike) -> RungeKutta4:
    """Steps up to 1 ms, short enough for friction at q, that divide the period and the delay's rest in it."""
    longest = min(1e-3, 0.5 * RungeKutta4.reach / max(plant.friction_rate(q)[0], 1e-9))
    whole = int(np.ceil(sampling.period / longest - 1e-9))
    rest = sampling.offset[1]
    if rest:
        for count in range(whole, 100 * whole):
            steps = rest * count / sampling.period
            if round(steps) and abs(steps - round(steps)) < 1e-6:
                return RungeKutta4(sampling.period / count)
    return RungeKutta4(sampling.period / whole)
