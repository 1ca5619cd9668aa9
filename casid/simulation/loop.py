"""The closed loop sample by sample, for any integrator; and its compiled form for fixed steps."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from casid.codegen._evaluate import compiled_call
from casid.codegen._library import Program
from casid.errors import ProblemError
from casid.simulation.controllers import Controller
from casid.simulation.driver import DIVERGED, INDEFINITE, LANES, NOT_FINITE, TEMPLATE, loop_source
from casid.simulation.integrators import FixedStep, Integrator
from casid.simulation.integrators.fixed_step import check_smooth
from casid.simulation.plant import Plant
from casid.simulation.sampling import Sampling
from casid.simulation.stops import End, Reason, Stopped, Stops

Array = NDArray[np.float64]
_REASONS = {INDEFINITE: Reason.INDEFINITE, NOT_FINITE: Reason.NOT_FINITE, DIVERGED: Reason.DIVERGED}


@dataclass(frozen=True, eq=False)
class Trace:
    """Samples of a closed loop: states, applied torques and commands at each tick up to the end."""

    states: Array
    applied: Array
    commands: Array
    end: End


def sampled_loop(
    plant: Plant, controller: Controller, integrator: Integrator, sampling: Sampling, stops: Stops, start: Array,
    signals: Array, noise: Array,
) -> Trace:  # fmt: skip
    """The loop in Python, an interval of held torque at a time."""
    n, times = plant.n, sampling.times
    advance, control = integrator.prepare(plant, stops), compiled_call(controller.stacked)
    whole, rest = sampling.offset
    x = start
    states, applied, commands = [], [], []
    end = End(float(times[-1]))
    for tick, t in enumerate(times.tolist()):
        measured = x[: 2 * n] + noise[tick]
        command = control(np.array([t]), signals[tick], measured[:n], measured[n:])[0].copy()
        commands.append(command)
        acting = [commands[tick - whole - late] if tick - whole - late >= 0 else np.zeros(n) for late in (1, 0)]
        states.append(x)
        applied.append(acting[0] if rest else acting[1])
        if tick == sampling.ticks:
            break
        try:
            if rest:
                x = advance(t, t + rest, x, acting[0])
            x = advance(t + rest, float(times[tick + 1]), x, acting[1])
        except Stopped as stopped:
            end = stopped.end
            break
    return Trace(np.array(states), np.array(applied), np.array(commands), end)


class CompiledLoop:
    """The loop of a fixed-step integrator in C.

    Parameters
    ----------
    plant, controller, integrator, sampling, stops
        As for `simulate`.
    lanes
        Rollouts side by side: 1 or `LANES`.
    parametric
        Whether every rollout has parameters of its own.
    """

    def __init__(
        self, plant: Plant, controller: Controller, integrator: FixedStep, sampling: Sampling, stops: Stops,
        lanes: int = 1, parametric: bool = False,
    ) -> None:  # fmt: skip
        check_smooth(plant, integrator)
        self.plant, self.sampling, self.integrator, self.lanes = plant, sampling, integrator, lanes
        self.size, self.n = plant.size, plant.n
        rate = plant.parametric_rate if parametric else plant.rate
        functions = [rate, controller.stacked, *integrator.points(plant.size, plant.n)]
        stages = integrator.stages
        content = f"{type(integrator).__name__} {stages} {parametric} {lanes}"
        self._call = (
            Program(
                functions,
                lambda built: loop_source(built, stages, parametric, lanes),
                "rollout",
                (content, TEMPLATE),
            )
            .load()
            .casid_rollout
        )
        self.per = integrator.steps(sampling.period)
        delay = sampling.delay / integrator.step
        if abs(delay - round(delay)) > 1e-6:
            raise ProblemError(
                f"{type(integrator).__name__}: the delay, {sampling.delay:g} s, is not a whole multiple of the step, "
                f"{integrator.step:g} s"
            )
        self.delay = round(delay)
        self.settings = np.array([sampling.period / self.per, sampling.period, stops.speed])
        self.definite = int(stops.definite)

    def __call__(
        self, start: Array, signals: Array, noise: Array | None, parameters: Array | None = None, every: int = 1
    ) -> tuple[Array, Array, Array, list[End]]:
        """Run the rollouts side by side.

        Parameters
        ----------
        start
            States, shape (lanes, size).
        signals
            Shape (ticks + 1, R), or (ticks + 1, R, lanes).
        noise
            Shape (ticks + 1, 2 n, lanes), or None.
        parameters
            Shape (lanes, N), if each has its own.
        every
            Ticks a record.

        Returns
        -------
        states, applied, commands : ndarray
            Shapes (records, size, lanes), (records, n, lanes), (ticks + 1, n, lanes).
        ends : list of End
        """
        W, ticks = self.lanes, self.sampling.ticks
        records = ticks // every + 1
        states, applied = np.zeros((records, self.size, W)), np.zeros((records, self.n, W))
        commands = np.zeros((ticks + 1, self.n, W))
        ends = np.zeros((W, 2), dtype=ctypes.c_long)
        own = 1 if signals.ndim == 2 else W
        counts = np.array([ticks, self.per, self.delay, every, own, self.definite], dtype=ctypes.c_long)
        arrays = [
            counts, self.settings, np.ascontiguousarray(start.T), np.ascontiguousarray(signals),
            None if noise is None else np.ascontiguousarray(noise),
            None if parameters is None else np.ascontiguousarray(parameters.T), commands, states, applied, ends,
        ]  # fmt: skip
        self._call(*(ctypes.c_void_p(None if array is None else array.ctypes.data) for array in arrays))
        step = float(self.settings[0])
        found = [End(float(last * step), _REASONS.get(int(code), Reason.FINISHED)) for last, code in ends]
        return states, applied, commands, found


def compiled_loop(loop: CompiledLoop, stops: Stops, start: Array, signals: Array, noise: Array) -> Trace:
    """`sampled_loop` of a fixed-step integrator in C."""
    sampling = loop.sampling
    states, applied, commands, (end,) = loop(start[None], signals, noise[:, :, None] if noise.any() else None)
    count = recorded(end, sampling)
    trace = Trace(states[:count, :, 0], applied[:count, :, 0], commands[:count, :, 0], end)
    return trace if end.finished else replace(trace, end=_detailed(loop.plant, loop.integrator, sampling, stops, trace))


def _detailed(plant: Plant, integrator: FixedStep, sampling: Sampling, stops: Stops, trace: Trace) -> End:
    """The end with its detail: the last interval once more, a step at a time."""
    begin = (len(trace.states) - 1) * sampling.period
    if sampling.delay and trace.end.time > begin:  # the torque may have changed within the interval
        return trace.end
    try:
        integrator.prepare(plant, stops)(begin, begin + sampling.period, trace.states[-1], trace.applied[-1])
    except Stopped as stopped:
        return replace(trace.end, detail=stopped.end.detail) if stopped.end.reason is trace.end.reason else trace.end
    return trace.end


def recorded(end: End, sampling: Sampling, every: int = 1) -> int:
    """Number of samples up to an end."""
    return int(np.floor(end.time / (sampling.period * every) + 1e-9)) + 1


__all__ = ["LANES", "CompiledLoop", "Trace", "compiled_loop", "recorded", "sampled_loop"]
