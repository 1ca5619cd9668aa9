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

from casid.arrays import Array
from casid.drives._recording import CommandRecording
from casid.drives._runs import FreeRuns
from casid.drives._search import Search
from casid.drives._servo import QUANTITIES
from casid.errors import ProblemError
from casid.excitation import MotionLimits
from casid.excitation.limits import Rows, limit_rows
from casid.excitation.optimisation import FILL, largest_swing
from casid.motion import Fourier, Trajectory

#: Samples of limits for each coefficient: 24 in a period of the highest harmonic, whose peak they miss by 0.9 % at
#: most.
_DENSITY = 12
#: Random motions of which the best is improved, and how often each is made shorter to come within the limits.
_STARTS, _SHORTENED = 4, 20
#: Share of the changes that are made to the joint of the parameter that is known worst. (Two joints, 250 motions, two
#: seeds: worst deviation 4.9 %; with 0.5 in place of it 7.0 %, with 1 4.9 %.)
_OFTEN = 0.8
#: Harmonics of one joint that are changed at once. (The same: with 2 7.5 %, with 20 6.3 %.)
_HARMONICS = 6
#: Power of the mean over parameters that stands for the largest. (The same: with 4 5.4 %, with 16 5.1 %.)
_SHARPNESS = 8.0


@dataclass(frozen=True, eq=False)
class CommandDesign:
    """Designed commands and the deviations that a recording of them would give.

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
    still = CommandRecording(t, commands, commands, gain=_gain(runs), name="design")
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
    """Standard deviations in units of each parameter; at most 1: what no data determine stays at its size."""
    inverse = np.linalg.inv(F * np.outer(units, units) + np.eye(len(units)))
    return np.asarray(np.sqrt(np.diag(inverse)))


def units_of(runs: FreeRuns, theta: Array) -> Array:
    """What intervals are relative to: a parameter's value, at least a tenth of its kind's median or usual size."""
    size = np.abs(theta)
    kinds = np.array([p.attribute for p in runs.parameters])
    for kind in set(kinds.tolist()):
        size[kinds == kind] = np.maximum(size[kinds == kind], 0.1 * np.median(size[kinds == kind]))
    size[kinds == "bias"], size[kinds == "delay"] = 0.1 * QUANTITIES["bias"].weak, runs.period
    return np.maximum(size, 1e-9)


def design_commands(
    runs: FreeRuns, theta: Array, limits: MotionLimits, commands: MotionLimits | None = None, *,
    duration: float = 20.0, iterations: int = 800, seed: int = 0,
    progress: Callable[[int, int, float], None] | None = None,
) -> CommandDesign:  # fmt: skip
    """Position commands that make the largest relative interval of the unknowns small.

    Their highest frequency is the highest natural frequency ``sqrt(kp / armature) / 2 pi`` of the servos, at most a
    fifth of the recordings' rate: from there on the drives' inertia outweighs the gain, and joints move less and less.

    Parameters
    ----------
    runs, theta
        Of an identification (`CommandIdentification.runs`, `.theta`), or guesses.
    limits
        Of the joints: the simulated ones keep those of position and speed.
    commands
        Limits of the commands, which may be faster than the joints; default: those of the joints.
    duration
        Length [s]: four periods of a Fourier series.
    iterations
        Motions that are tried, about.

    Raises
    ------
    ProblemError
        If the length holds no period, or no motion keeps the limits.
    """
    period, highest = duration / 4, _highest(runs, theta)
    harmonics = round(highest * period)
    if harmonics < 2:
        raise ProblemError(f"position commands of {duration:g} s up to {highest:.3g} Hz: too short, give at least "
                           f"{8 / highest:.3g} s")  # fmt: skip
    basis = Fourier(2 * np.pi / period, harmonics, periods=4)
    t, asked = np.arange(0.0, period, runs.period), limits if commands is None else commands
    task = _Task(runs, theta, basis, limits, asked, t, limit_rows(basis, asked, _DENSITY * basis.size))
    rng = np.random.default_rng(seed)
    starts = [task.filled(np.array([basis.random(rng) for _ in range(limits.n)])) for _ in range(_STARTS)]
    tried = [task.within(start, _SHORTENED) for start in starts]
    best, value, relative = min(tried, key=lambda one: one[1])
    if not np.isfinite(value):
        raise ProblemError("position commands: no motion about the middle of the limits keeps the joints within them")
    first, step = float(relative.max()), 1.0
    joints = [p.joints for p in runs.parameters]
    while task.evaluations <= iterations:
        worst = joints[int(relative.argmax())]
        chosen = int(rng.choice(worst if rng.random() < _OFTEN else limits.n))
        candidate, cost, deviations = task.within(task.changed(best, chosen, step, rng))
        if cost < value:
            best, value, relative, step = candidate, cost, deviations, min(step * 1.5, 2.0)
        else:
            step = max(step * 1.5**-0.25, 0.1)
        if progress is not None:
            progress(min(task.evaluations, iterations), iterations, float(relative.max()))
    names = tuple(p.name for p in runs.parameters)
    trajectory = Trajectory(basis, best, tuple(joint.name for joint in runs.robot.coordinates))
    return CommandDesign(trajectory, names, relative, first, task.evaluations)


def _highest(runs: FreeRuns, theta: Array) -> float:
    """Highest frequency of commands [Hz]."""
    value = runs.values(theta)
    natural = float(np.sqrt(_gain(runs) * value["kp"] / np.maximum(value["armature"], 1e-6)).max()) / (2 * np.pi)
    return min(natural, 0.2 / runs.period)


def _gain(runs: FreeRuns) -> float:
    """Gain setting of the motion that is designed: the recordings' median one."""
    return float(np.median([data.gain for data in runs.recordings]))


@dataclass(eq=False)
class _Task:
    """What one motion is worth, and how it is brought within the limits."""

    runs: FreeRuns
    theta: Array
    basis: Fourier
    limits: MotionLimits
    commands: MotionLimits
    t: Array
    rows: Rows
    evaluations: int = 0

    def _middle(self) -> Array:
        return np.array([self.basis.constant(x) for x in self.commands.centre()])

    def filled(self, coefficients: Array) -> Array:
        """Swings about the middle of the limits that fill them."""
        middle, swing = self._middle(), coefficients.copy()
        swing[:, -1] = 0.0
        factor = FILL * largest_swing(self.rows, middle, swing)
        return np.asarray(middle + factor[:, None] * swing)

    def changed(self, coefficients: Array, joint: int, step: float, rng: np.random.Generator) -> Array:
        """Some harmonics of one joint, or its middle, changed at random; its swing longer or shorter.

        Information about a joint is nearly a sum over frequencies, so that a few of them are changed at a time.
        """
        made, count = np.array(coefficients), self.basis.harmonics
        which = rng.integers(count, size=min(_HARMONICS, count))
        mask = np.zeros(self.basis.size)
        mask[which] = mask[which + count] = 1.0
        mask[-1] = float(rng.integers(count) in which)  # the middle as often as a harmonic
        change = mask * self.basis.random(rng)
        share = 2.0 * np.sqrt(len(which) / count) * np.linalg.norm(made[joint, :-1])
        made[joint] += step * share / max(np.linalg.norm(change[:-1]), 1e-12) * change
        made[joint, :-1] *= np.exp(0.3 * step * rng.normal())
        return made

    def within(self, coefficients: Array, attempts: int = 4) -> tuple[Array, float, Array]:
        """A motion with shorter swings of the commands, and of the joints that leave their limits, and its worth.

        The worth is infinite where that does not bring them within the limits.
        """
        middle = self._middle()
        factor = np.minimum(1.0, FILL * largest_swing(self.rows, middle, coefficients - middle))
        for _ in range(attempts):
            coefficients = np.asarray(middle + factor[:, None] * (coefficients - middle))
            value, relative, room = self.judge(coefficients)
            if np.isfinite(value):
                break
            factor = np.where(room < 1.0, 0.97 * room, 1.0)
        return coefficients, value, relative

    def judge(self, coefficients: Array) -> tuple[float, Array, Array]:
        """Smooth largest relative deviation of the whole length, all of them, and factors of swings that limits ask.

        The first is infinite where joints leave their limits of position or speed.
        """
        self.evaluations += 1
        u = (coefficients @ self.basis.matrix(self.t).T).T
        F, q = command_information(self.runs, self.theta, self.t, u)
        lower, upper, top = self.limits.lower[0], self.limits.upper[0], self.limits.upper[1]
        speed = np.abs(np.diff(q, axis=0) / np.diff(self.t)[:, None]).max(axis=0)
        room = np.minimum(1.0, top / np.maximum(speed, 1e-12))
        room = np.where((q < lower).any(axis=0) | (q > upper).any(axis=0), np.minimum(room, FILL), room)
        if not np.isfinite(F).all() or (room < 1.0).any():
            return np.inf, np.full(len(self.theta), np.inf), np.where(np.isfinite(room), room, FILL)
        relative = relative_deviations(4.0 * F, units_of(self.runs, self.theta))
        return float(np.mean(relative**_SHARPNESS) ** (1 / _SHARPNESS)), relative, room
