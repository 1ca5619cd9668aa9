"""Position commands that make the worst interval small: designed under the servos' law, within limits, without torques.

The information of a free run about its parameters is ``F = sum_k S_k' S_k / sigma^2`` with the sensitivities S of the
simulated positions, initial states eliminated (Goodwin and Payne 1977, Sec. 6.2); the commands are a Fourier series
whose coefficients an evolution strategy improves (Rechenberg 1973; the one-fifth rule), since the information has no
cheap derivative in them: that would take second sensitivities.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from casid.errors import ProblemError
from casid.excitation import MotionLimits
from casid.excitation.limits._motion_limits import Rows, limit_rows
from casid.excitation.optimisation._starts import largest_swing
from casid.measurement._commands import CommandRecording
from casid.motion import Basis, Fourier, Trajectory
from casid.output_error._runs import FreeRuns
from casid.output_error._search import Search

Array = NDArray[np.float64]

#: A command offset counts relative to this [rad or m].
_OFFSET = 0.01
#: Part of the limits that commands use, so that the joints stay within them too.
_FILL = 0.9
#: Samples of limits for each coefficient.
_DENSITY = 12
#: Power of the mean over parameters that stands for the largest.
_SHARPNESS = 8.0


@dataclass(frozen=True, eq=False)
class CommandDesign:
    """Designed commands and what a recording of them would tell.

    Attributes
    ----------
    trajectory : Trajectory
        Of the commands.
    names : tuple of str
        Parameters.
    relative : ndarray
        Their expected standard deviations, relative to their values (offsets: to 0.01 rad; delays: to one cycle).
    first : float
        Largest of these for the random motion that it began from.
    evaluations : int
    """

    trajectory: Trajectory
    names: tuple[str, ...]
    relative: Array
    first: float
    evaluations: int

    @property
    def worst(self) -> str:
        """Name of the parameter that is known worst."""
        return self.names[int(self.relative.argmax())]

    @property
    def value(self) -> float:
        """Its relative standard deviation."""
        return float(self.relative.max())


def command_information(runs: FreeRuns, theta: Array, t: Array, commands: Array) -> tuple[Array, Array]:
    """Information matrix of encoders while commands are followed from rest, and the simulated positions.

    Parameters
    ----------
    runs
        With robot, servos, unknowns and the encoders' noise.
    theta
        Values of the unknowns.
    t, commands
        Shapes (N,) and (N, n).
    """
    still = CommandRecording(t, commands, commands, name="design")
    made = FreeRuns(runs.robot, runs.servo, [still], runs.step, np.inf, 1)
    made.branches, made.parameters = runs.branches, runs.parameters
    point = made.point(theta)
    point.starts[0][runs.robot.n :] = 0.0
    q = made.simulate(point)[0]
    first = made.pieces[0]
    known = np.concatenate([2.0 * runs.noise, runs.noise / runs.period + 1e-3])
    spread = np.concatenate([known, first.spread[2 * runs.robot.n :]])
    piece = replace(first, recording=replace(still, q=q), start=point.starts[0], spread=spread)
    made.pieces = [piece]
    search = Search(made, threshold=1e9, scale=float(np.mean(runs.noise)))
    search.weight = np.zeros_like(search.weight)
    return search.normal(made.point(theta)).A, q


def relative_deviations(F: Array, units: Array) -> Array:
    """Standard deviations in units of each parameter; at most 1: what nothing tells stays at its size."""
    inverse = np.linalg.inv(F * np.outer(units, units) + np.eye(len(units)))
    return np.asarray(np.sqrt(np.diag(inverse)))


def units_of(runs: FreeRuns, theta: Array) -> Array:
    """What intervals are relative to: a parameter's value, at least a tenth of its kind's median."""
    size = np.abs(theta)
    kinds = np.array([p.attribute for p in runs.parameters])
    for kind in set(kinds.tolist()):
        size[kinds == kind] = np.maximum(size[kinds == kind], 0.1 * np.median(size[kinds == kind]))
    size[kinds == "bias"], size[kinds == "delay"] = _OFFSET, runs.period
    return np.maximum(size, 1e-9)


def design_commands(
    runs: FreeRuns, theta: Array, limits: MotionLimits, *, duration: float = 20.0, highest: float = 3.0,
    iterations: int = 300, seed: int = 0, progress: Callable[[int, int, float], None] | None = None,
) -> CommandDesign:  # fmt: skip
    """Position commands that make the largest relative interval of the unknowns small.

    Parameters
    ----------
    runs, theta
        Of an identification (`CommandIdentification.runs`, `.theta`), or guesses.
    limits
        Of the commands; the simulated joints keep the position limits too.
    duration
        Length [s]: four periods of a Fourier series.
    highest
        Highest frequency of the commands [Hz].
    iterations
        Motions that are tried.

    Raises
    ------
    ProblemError
        If the length holds no period, or no motion keeps the limits.
    """
    period = duration / 4
    harmonics = round(highest * period)
    if harmonics < 2:
        raise ProblemError(f"position commands of {duration:g} s up to {highest:g} Hz: too short, give at least "
                           f"{8 / highest:.3g} s")  # fmt: skip
    basis = Fourier(2 * np.pi / period, harmonics, periods=4)
    t = np.arange(0.0, period, runs.period)
    task = _Task(runs, theta, basis, limits, t, limit_rows(basis, limits, _DENSITY * basis.size))
    rng = np.random.default_rng(seed)
    best = task.filled(np.array([basis.random(rng) for _ in range(limits.n)]))
    value, relative = task.judge(best)
    for _ in range(20):  # a motion within the limits, pulled to the middle
        if np.isfinite(value):
            break
        best = task.pulled(best, 0.8)
        value, relative = task.judge(best)
    if not np.isfinite(value):
        raise ProblemError("position commands: no motion about the middle of the limits keeps the joints within them")
    first, step = float(relative.max()), 0.5
    joints = np.array([p.joint for p in runs.parameters])
    for number in range(iterations):
        worst = int(joints[int(relative.argmax())])
        chosen = worst if worst >= 0 and rng.random() < 0.6 else int(rng.integers(limits.n))
        tried = best.copy()
        change = basis.random(rng)
        size = np.linalg.norm(best[chosen, :-1]) / max(np.linalg.norm(change[:-1]), 1e-12)
        tried[chosen] += step * size * change
        tried[chosen, :-1] *= np.exp(step * rng.normal() * 0.5)
        tried = task.kept(tried)
        cost, deviations = task.judge(tried)
        if cost < value:
            best, value, relative, step = tried, cost, deviations, min(step * 1.5, 1.0)
        else:
            step = max(step * 1.5**-0.25, 0.02)
        if progress is not None:
            progress(number + 1, iterations, float(relative.max()))
    names = tuple(p.name for p in runs.parameters)
    trajectory = Trajectory(basis, best, tuple(joint.name for joint in runs.robot.coordinates))
    return CommandDesign(trajectory, names, relative, first, iterations + 1)


@dataclass(frozen=True, eq=False)
class _Task:
    """What one motion is worth, and how it is brought within the limits."""

    runs: FreeRuns
    theta: Array
    basis: Basis
    limits: MotionLimits
    t: Array
    rows: Rows

    def _middle(self) -> Array:
        return np.array([self.basis.constant(x) for x in self.limits.centre()])

    def filled(self, coefficients: Array) -> Array:
        """Swings about the middle of the limits that fill them."""
        middle, swing = self._middle(), coefficients.copy()
        swing[:, -1] = 0.0
        factor = _FILL * largest_swing(self.rows, middle, swing)
        return np.asarray(middle + factor[:, None] * swing)

    def kept(self, coefficients: Array) -> Array:
        """A motion pulled towards the middle of the limits, joint by joint, as far as the limits ask."""
        middle = self._middle()
        swing = coefficients - middle
        factor = np.minimum(1.0, _FILL * largest_swing(self.rows, middle, swing))
        return np.asarray(middle + factor[:, None] * swing)

    def pulled(self, coefficients: Array, factor: float) -> Array:
        """All swings made smaller."""
        middle = self._middle()
        return np.asarray(middle + factor * (coefficients - middle))

    def judge(self, coefficients: Array) -> tuple[float, Array]:
        """Smooth largest relative deviation of the whole length; infinite where joints leave their position limits."""
        u = (coefficients @ self.basis.matrix(self.t).T).T
        F, q = command_information(self.runs, self.theta, self.t, u)
        lower, upper = self.limits.lower[0], self.limits.upper[0]
        if not np.isfinite(F).all() or (q < lower).any() or (q > upper).any():
            return np.inf, np.full(len(self.theta), np.inf)
        relative = relative_deviations(4.0 * F, units_of(self.runs, self.theta))
        return float(np.mean(relative**_SHARPNESS) ** (1 / _SHARPNESS)), relative
