"""The closed loop sample by sample, for any integrator; and its compiled form for fixed steps."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from importlib.resources import files

import casadi as ca
import numpy as np

from casid.arrays import ALIKE, Array
from casid.codegen import PREFIX, WIDTH, CFunction, Function, Program, batch_source, scalar_source
from casid.control import Controller
from casid.errors import ProblemError
from casid.simulation._plant import Plant, Sampling
from casid.simulation._result import End, Reason, Stopped, Stops
from casid.simulation.integrators._integrator import FixedStep, Integrator, check_smooth

#: Why a rollout ended, in the order of the loop's codes.
_REASONS = (Reason.FINISHED, Reason.INDEFINITE, Reason.NOT_FINITE, Reason.DIVERGED)


@cache
def _rollout() -> str:
    """C code of the loop, with what depends on plant, controller and integrator left to macros."""
    return files(__package__).joinpath("rollout.c").read_text(encoding="utf-8")


def loop_source(
    functions: Sequence[CFunction], stages: int, parametric: bool, lanes: int, sensors: Sequence[int] = ()
) -> str:
    """C source of the closed loop.

    Parameters
    ----------
    functions
        ``rate``, ``control``, ``point2 ...`` and ``advance``; with sensors ``sense``.
    stages
        Rates a step.
    parametric
        Whether the plant's parameters are an argument.
    lanes
        Rollouts side by side: 1, or the width of batched code.
    sensors
        Places among the signals of each sensor's six numbers, in the order of ``sense``.
    """
    rate = next(f for f in functions if f.name == f"{PREFIX}rate")
    control = next(f for f in functions if f.name == f"{PREFIX}control")
    memory = control.inputs[4].size if len(control.inputs) > 4 else 0
    suffix = "" if lanes == 1 else "_block"
    names = [f"k{i + 1}" for i in range(stages)]
    extra = ", pi" if parametric else ""
    lines = [f"{PREFIX}rate{suffix}(x, u{extra}, k1, pivots);"]
    for i in range(1, stages):
        lines.append(f"{PREFIX}point{i + 1}{suffix}(x, {', '.join(names[:i])}, h, point);")
        lines.append(f"{PREFIX}rate{suffix}(point, u{extra}, {names[i]}, unused);")
    lines.append(f"{PREFIX}advance{suffix}(x, {', '.join(names)}, h, next);")
    sensed = [f"{PREFIX}sense{suffix}(x, felt);"] if sensors else []
    sensed += [
        f"memcpy(r + {start} * W, felt + {6 * k} * W, 6 * W * sizeof(double));" for k, start in enumerate(sensors)
    ]
    macros = {
        "W": lanes, "SIZE": rate.inputs[0].size, "JOINTS": rate.inputs[1].size, "SIGNALS": control.inputs[1].size,
        "MEMORY": memory, "FELT": max(1, 6 * len(sensors)), "SENSE": " ".join(sensed), "STAGES": " ".join(lines),
        "CONTROL": f"{PREFIX}control{suffix}(t, r, q, dq, {'memory, tau, kept' if memory else 'tau'});",
        "RATES": ", ".join(f"{name}[SIZE * W] = {{0}}" for name in names),
        **{reason.name: code for code, reason in enumerate(_REASONS)},
    }  # fmt: skip
    defined = "".join(f"#define {name} {text}\n" for name, text in macros.items())
    source = scalar_source if lanes == 1 else batch_source
    return f"{source(list(functions), 'casid')}\n{defined}{_rollout()}"


#: Rollouts that compiled code computes side by side.
LANES = WIDTH


@dataclass(frozen=True, eq=False)
class Loop:
    """A closed loop: plant, controller, integrator, clock, and conditions that end it early."""

    plant: Plant
    controller: Controller
    integrator: Integrator
    sampling: Sampling
    stops: Stops

    @cached_property
    def sense(self) -> ca.Function | None:
        """``x -> w``: what the controller's force sensors measure, six numbers each; None without sensors."""
        frames = [frame for _, frame in self.controller.sensors]
        if not frames:
            return None
        x, n = ca.SX.sym("x", self.plant.size), self.plant.n
        felt = ca.vertcat(*(self.plant.wrench(frame, x[:n], x[n : 2 * n]) for frame in frames))
        return ca.Function("sense", [x], [ca.densify(felt)], ["x"], ["w"], {"cse": True})

    def memory(self, start: Array) -> Array:
        """The controller's memory at rest at states (lanes, size), shape (lanes, n states)."""
        if not self.controller.states:
            return np.zeros((len(start), 0))
        memory: Array = np.array(self.controller.start(start[:, : self.plant.n].T).full(), dtype=float)
        return np.asarray(memory.T)


@dataclass(frozen=True, eq=False)
class Trace:
    """Samples of a closed loop: states, applied torques and commands at each tick up to the end."""

    states: Array
    applied: Array
    commands: Array
    end: End


def sampled_loop(loop: Loop, start: Array, signals: Array, noise: Array) -> Trace:
    """The loop in Python, an interval of held torque at a time."""
    plant, sampling = loop.plant, loop.sampling
    n, times = plant.n, sampling.times
    advance, control = loop.integrator.stepper(plant, loop.stops), Function(loop.controller.stacked)
    memory = [loop.memory(start[None])[0]] if loop.controller.states else []
    sense = None if loop.sense is None else Function(loop.sense)
    felt_at = np.concatenate([np.arange(at, at + 6) for at, _ in loop.controller.sensors] or [np.zeros(0, dtype=int)])
    whole, rest = sampling.offset
    x = start
    states, applied, commands = [], [], []
    end = End(float(times[-1]))
    for tick, t in enumerate(times.tolist()):
        measured, row = x[: 2 * n] + noise[tick], signals[tick]
        if sense is not None:
            row = row.copy()
            row[felt_at] = sense(x)
        results = control(t, row, measured[:n], measured[n:], *memory)
        command, *memory = results if memory else (results,)
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
    """A loop with a fixed-step integrator, in C.

    Parameters
    ----------
    loop
    integrator
        That of the loop.
    lanes
        Rollouts side by side: 1 or `LANES`.
    parametric
        Whether every rollout has parameters of its own.
    """

    def __init__(self, loop: Loop, integrator: FixedStep, lanes: int = 1, parametric: bool = False) -> None:
        plant, sampling = loop.plant, loop.sampling
        check_smooth(plant, integrator)
        self.loop, self.lanes = loop, lanes
        rate = plant.parametric_rate if parametric else plant.rate
        functions = [rate, loop.controller.stacked, *integrator.points(plant.size, plant.n)]
        functions += [] if loop.sense is None else [loop.sense]
        stages, sensors = integrator.stages, [at for at, _ in loop.controller.sensors]
        content = f"{type(integrator).__name__} {stages} {parametric} {lanes} {sensors}"

        def source(built: Sequence[CFunction]) -> str:
            return loop_source(built, stages, parametric, lanes, sensors)

        program = Program(functions, source, "rollout", (content, _rollout()))
        self._call = program.load().casid_rollout
        self.per = integrator.steps(sampling.period)
        delay = sampling.delay / integrator.step
        if abs(delay - round(delay)) > ALIKE:
            raise ProblemError(
                f"{type(integrator).__name__}: the delay, {sampling.delay:g} s, is not a whole multiple of the step, "
                f"{integrator.step:g} s"
            )
        self.delay = round(delay)
        self.settings = np.array([sampling.period / self.per, sampling.period, loop.stops.speed])

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
        W, ticks, plant = self.lanes, self.loop.sampling.ticks, self.loop.plant
        records = ticks // every + 1
        states, applied = np.zeros((records, plant.size, W)), np.zeros((records, plant.n, W))
        commands = np.zeros((ticks + 1, plant.n, W))
        ends = np.zeros((W, 2), dtype=ctypes.c_long)
        own = 1 if signals.ndim == 2 else W
        counts = np.array([ticks, self.per, self.delay, every, own, int(self.loop.stops.definite)], dtype=ctypes.c_long)
        arrays = [
            counts, self.settings, np.ascontiguousarray(start.T),
            np.ascontiguousarray(self.loop.memory(start).T), np.ascontiguousarray(signals),
            None if noise is None else np.ascontiguousarray(noise),
            None if parameters is None else np.ascontiguousarray(parameters.T), commands, states, applied, ends,
        ]  # fmt: skip
        self._call(*(ctypes.c_void_p(None if array is None else array.ctypes.data) for array in arrays))
        step = float(self.settings[0])
        found = [End(float(last * step), _REASONS[code]) for last, code in ends]
        return states, applied, commands, found


def compiled_loop(compiled: CompiledLoop, start: Array, signals: Array, noise: Array) -> Trace:
    """`sampled_loop` of a fixed-step integrator in C."""
    loop = compiled.loop
    states, applied, commands, (end,) = compiled(start[None], signals, noise[:, :, None] if noise.any() else None)
    count = recorded(end, loop.sampling)
    trace = Trace(states[:count, :, 0], applied[:count, :, 0], commands[:count, :, 0], end)
    return trace if end.finished else replace(trace, end=_detailed_end(loop, trace))


def _detailed_end(loop: Loop, trace: Trace) -> End:
    """The end with its detail: the last interval once more, a step at a time."""
    period = loop.sampling.period
    begin = (len(trace.states) - 1) * period
    if loop.sampling.delay and trace.end.time > begin:  # the torque may have changed within the interval
        return trace.end
    try:
        loop.integrator.stepper(loop.plant, loop.stops)(begin, begin + period, trace.states[-1], trace.applied[-1])
    except Stopped as stopped:
        return replace(trace.end, detail=stopped.end.detail) if stopped.end.reason is trace.end.reason else trace.end
    return trace.end


def recorded(end: End, sampling: Sampling, every: int = 1) -> int:
    """Number of samples up to an end."""
    return int(np.floor(end.time / (sampling.period * every) + 1e-9)) + 1
