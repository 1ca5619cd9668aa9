"""Other readings of a recording, tried on a few hundred of its samples, and how well each explains the torques.

Each reading is a linear least squares problem in all parameters: another direction of gravity, reversed or exchanged
joints, another clock. They are compared by the geometric mean of the joints' relative residuals, every joint weighted
by its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray

from casid.arrays import Array
from casid.description import STANDARD_G, Robot
from casid.dynamics import Model
from casid.dynamics.terms import JointTerm
from casid.identification._bounds import NOTHING
from casid.measurement import LEAST_MOTION, Dataset, Processing, advanced
from casid.regression import lengths

#: Samples that readings are compared on, and fewer for the kinds with many readings.
SAMPLES, FEWER = 240, 120
#: Independent torques for each parameter that a reading is compared on, and widest filter for them over the rate.
PER_PARAMETER, WIDEST = 10.0, 0.2
#: Singular values below this share count as zero; least residual of a joint, over its torques.
RANK, LEAST = 1e-9, 1e-4
#: Times that the joints are weighted by their residuals.
TURNS = 3
#: Tilts of gravity against its best axis that are tried on the way to its direction [rad].
STEP = 0.05


class Readings:
    """Samples of a processed recording, and the regressor under any reading of them.

    Parameters
    ----------
    model
        Its terms must not need more inputs than the motion. Friction is taken as linear, without a dead band: shapes
        over the velocity would favour other clocks.
    dataset
        Processed.
    samples
        How many samples are taken, evenly.
    """

    def __init__(self, model: Model, dataset: Dataset, samples: int = SAMPLES) -> None:
        assert dataset.dq is not None and dataset.ddq is not None
        alone = model.gravity_vector is None and not model.memories  # as the model of readings does
        self.model = model if alone else Model(model.robot, plain_terms(model), "input")
        self.gravity = np.asarray(model.robot.gravity if model.gravity_vector is None else model.gravity_vector)
        pool = np.flatnonzero(in_motion(dataset))
        index = pool[np.linspace(0, len(pool) - 1, min(samples, len(pool))).astype(int)]
        dataset = without_held(widened(dataset, model.base.rank), model.robot)
        self.q, self.dq, self.ddq, self.sign = (a[index] for a in _smooth(dataset))
        self._dry = [(c, k) for c, (term, k) in self.model.term_columns.items() if term.name == "coulomb"]
        self.tau = dataset.tau[index]
        self.mask = dataset.counted[index]
        self._regressor: ca.Function = self.model.regressor.map(len(index))
        self._here: Array | None = None

    def fewer(self, dataset: Dataset, samples: int) -> Readings:
        """The same with other samples."""
        made = Readings(self.model, dataset, samples)
        made.gravity = self.gravity
        return made

    @property
    def possible(self) -> bool:
        """Whether the model's regressor needs nothing but motion and gravity."""
        return len(self.model.regressor.name_in()) == 4

    def regressor(self, gravity: ArrayLike | None = None, order: ArrayLike | None = None, clock: float = 1.0) -> Array:
        """Regressor at the samples, shape (samples, n, N).

        Parameters
        ----------
        gravity
            In place of the model's.
        order
            Which recorded column each joint reads.
        clock
            Factor of all velocities.
        """
        if gravity is None and order is None and clock == 1.0 and self._here is not None:
            return self._here
        g = self.gravity if gravity is None else np.asarray(gravity, dtype=float)
        columns = np.arange(self.model.n) if order is None else np.asarray(order, dtype=int)
        motion = (self.q[:, columns], clock * self.dq[:, columns], clock**2 * self.ddq[:, columns])
        values = self._regressor(*(m.T for m in motion), np.tile(g[:, None], len(self.q)))
        made: Array = np.array(values, dtype=float).reshape(self.model.n, len(self.q), -1).transpose(1, 0, 2)
        for column, k in self._dry:
            made[:, k, column] = self.sign[:, columns[k]]
        if gravity is None and order is None and clock == 1.0:
            self._here = made
        return made

    def residual(self, regressor: Array, tau: Array | None = None) -> float:
        """Relative residual of the best parameters: the geometric mean over the joints that count.

        Every joint is weighted by its own residual, in turns: the likelihood of noise that differs from joint to joint.
        A wrong reading of two strong joints is not drowned by the noise of the others.
        """
        torque = self.tau if tau is None else tau
        sizes = np.sqrt((np.where(self.mask, torque, 0.0) ** 2).mean(axis=0))
        joints = np.flatnonzero(sizes > NOTHING * sizes.max(initial=0.0))
        if not len(joints):
            return 0.0
        scaled = regressor / lengths((regressor**2).sum(axis=(0, 1)))
        factors: list[Array] = []
        for k in joints:
            rows = np.column_stack([scaled[:, k], torque[:, k]])[self.mask[:, k]] / sizes[k]
            factors.append(np.asarray(np.linalg.qr(rows, mode="r")) / np.sqrt(len(rows)))
        left = np.ones(len(joints))
        for _ in range(TURNS):
            stacked = np.vstack([f / w for f, w in zip(factors, left, strict=True)])
            R: Array = np.asarray(np.linalg.qr(stacked, mode="r"))
            x = np.append(np.linalg.lstsq(R[:, :-1], R[:, -1], rcond=RANK)[0], -1.0)
            left = np.maximum([np.linalg.norm(f @ x) for f in factors], LEAST)
        return float(np.exp(np.log(left).mean()))

    # ------------------------------------------------------------------ readings

    def axes(self) -> Iterator[tuple[str, Array, float]]:
        """Gravity along each axis of the base frame: name, vector and residual."""
        size = float(np.linalg.norm(self.gravity)) or STANDARD_G
        for k, letter in enumerate("xyz"):
            for sign, mark in ((1.0, "+"), (-1.0, "-")):
                g = np.zeros(3)
                g[k] = sign * size
                yield mark + letter, g, self.residual(self.regressor(g))

    def direction(self, start: Array, rounds: int = 4) -> tuple[Array, float]:
        """Direction of gravity that fits best near a start, by Gauss-Newton steps on its sphere."""
        size = float(np.linalg.norm(start)) or STANDARD_G
        g, best = start / np.linalg.norm(start), self.residual(self.regressor(start))
        step = STEP
        for _ in range(rounds):
            first = np.cross(g, np.eye(3)[int(np.argmin(np.abs(g)))])
            first /= np.linalg.norm(first)
            tangents = (first, np.cross(g, first))
            slopes, curves = [], []
            for tangent in tangents:
                ahead, behind = (
                    self.residual(self.regressor(size * (np.cos(step) * g + s * np.sin(step) * tangent))) ** 2
                    for s in (1.0, -1.0)
                )
                slopes.append((ahead - behind) / (2 * step))
                curves.append(max((ahead + behind - 2 * best**2) / step**2, 1e-9))
            turn = sum(
                (-np.clip(s / c, -0.5, 0.5) * t for s, c, t in zip(slopes, curves, tangents, strict=True)), np.zeros(3)
            )
            trial = g + turn
            trial /= np.linalg.norm(trial)
            found = self.residual(self.regressor(size * trial))
            if found < best:
                g, best = trial, found
            step /= 2
        return size * g, best

    def reversed(self, torques_only: bool = False) -> Iterator[tuple[int, float]]:
        """Position, velocity, acceleration and torque of one joint, or its torque alone, with the other sign."""
        motion, here = (self.q, self.dq, self.ddq, self.sign), self.regressor()
        for k in range(self.model.n):
            signs = np.where(np.arange(self.model.n) == k, -1.0, 1.0)
            made = here
            if not torques_only:
                self.q, self.dq, self.ddq, self.sign = (signs * m for m in motion)
                made = self.regressor(gravity=self.gravity)
                self.q, self.dq, self.ddq, self.sign = motion
            yield k, self.residual(made, self.tau * signs)

    def exchanged(self, torques_only: bool = False) -> Iterator[tuple[tuple[int, int], float]]:
        """Two joints exchanged, or their torques alone; joints whose torques do not count are left where they are."""
        for i, j in combinations(self._counted, 2):
            order = np.arange(self.model.n)
            order[[i, j]] = order[[j, i]]
            mask, self.mask = self.mask, self.mask[:, order]
            yield (i, j), self.residual(self.regressor(order=None if torques_only else order), self.tau[:, order])
            self.mask = mask

    @property
    def _counted(self) -> list[int]:
        """Joints with torques that count."""
        return [int(k) for k in np.flatnonzero(self.mask.any(axis=0))]

    def shifted(self, here: float, step: float) -> Iterator[tuple[int, float, float]]:
        """The zero of one joint shifted: joint, the best shift [rad], residual there.

        Parameters
        ----------
        here
            Residual without a shift.
        step
            Shift to both sides from which a parabola is drawn [rad].
        """
        for k, joint in enumerate(self.model.robot.coordinates):
            if joint.type != "revolute" or k == 0:
                continue
            q, values = self.q, []
            for shift in (-step, step):
                self.q = q + shift * (np.arange(self.model.n) == k)
                values.append(self.residual(self.regressor(gravity=self.gravity)) ** 2)
            curve = values[0] + values[1] - 2 * here**2
            best = step * float(np.clip((values[0] - values[1]) / (2 * curve), -3, 3)) if curve > 0 else 0.0
            self.q = q + best * (np.arange(self.model.n) == k)
            found = self.residual(self.regressor(gravity=self.gravity))
            self.q = q
            yield k, best, found

    def clocks(self, factors: Sequence[float]) -> Iterator[tuple[float, float]]:
        """All velocities times a factor."""
        for factor in factors:
            yield factor, self.residual(self.regressor(clock=factor))


def moving(dataset: Dataset, robot: Robot) -> NDArray[np.bool_]:
    """Which joints move, shape (n,): not those whose travel is a small share of another's of the same type."""
    kinds = np.array([joint.type for joint in robot.coordinates])
    travel = np.ptp(dataset.q, axis=0)
    return np.asarray(travel > LEAST_MOTION * np.array([travel[kinds == kind].max() for kind in kinds]))


def in_motion(dataset: Dataset) -> NDArray[np.bool_]:
    """Samples in which a joint moves, shape (N,); all where these are few, as of poses."""
    assert dataset.dq is not None
    speeds = np.abs(dataset.dq)
    moves = (speeds > NOTHING * speeds.max(axis=0)).any(axis=1)
    return moves if moves.sum() > 10 * dataset.n else np.ones(len(dataset), dtype=bool)


def without_rest(dataset: Dataset) -> Dataset:
    """The recording without torques at rest: friction there holds what no reading explains."""
    moves = in_motion(dataset)
    if moves.all():
        return dataset
    return replace(dataset, mask=dataset.counted & moves[:, None])


def without_held(dataset: Dataset, robot: Robot) -> Dataset:
    """The recording without the torques of joints that are held: friction at rest holds what no reading explains."""
    moved = moving(dataset, robot)
    if moved.all() or not moved.any():
        return dataset
    return replace(dataset, mask=dataset.counted & moved)


def widened(dataset: Dataset, parameters: int) -> Dataset:
    """The recording with a filter of the torques that leaves enough to tell readings apart.

    Parameters
    ----------
    dataset
        Processed.
    parameters
        Number of them. Where the torques' own filter leaves fewer than `PER_PARAMETER` independent torques for each,
        any reading would be explained: a wider one is taken.
    """
    full = dataset.full
    if full is None:
        return dataset
    own = full.low_pass
    width = min(PER_PARAMETER * parameters * own.rate / (2.0 * len(full) * dataset.n), WIDEST * own.rate)
    if width <= own.cutoff:
        return dataset
    low_pass = replace(own, cutoff=width)
    return replace(dataset, tau=low_pass(full.tau)[full.index], full=replace(full, low_pass=low_pass))


def _smooth(dataset: Dataset) -> tuple[Array, Array, Array, Array]:
    """Positions, velocities, accelerations and signs of the velocities through the torques' filter."""
    assert dataset.dq is not None and dataset.ddq is not None
    full = dataset.full
    if full is None:
        return dataset.q, dataset.dq, dataset.ddq, np.sign(dataset.dq)
    signals = (full.q, full.dq, full.ddq, np.sign(full.dq))
    q, dq, ddq, sign = (full.low_pass(values)[full.index] for values in signals)
    return q, dq, ddq, sign


def plain_terms(model: Model) -> list[JointTerm | str]:
    """The model's terms with linear friction in place of what has a shape."""
    kept: list[JointTerm | str] = [term.settled() for term in model.terms if not term.fitted]
    if len(kept) < len(model.terms):
        present = {term.name for term in model.terms}
        kept += [name for name in ("viscous", "coulomb", "offset") if name not in present]
    return kept


def opposite_axis(gravity: Array) -> str:
    """The axis against gravity, as ``--gravity`` takes it."""
    axis = int(np.argmax(np.abs(gravity)))
    return ("-" if gravity[axis] > 0 else "+") + "xyz"[axis]


# ------------------------------------------------------------------ recordings as a reading has them


def reordered(data: Dataset, order: ArrayLike, torques_only: bool = False) -> Dataset:
    """Columns of a processed recording in another order: of all signals, or of the torques alone."""
    index = np.asarray(order, dtype=int)
    return _changed(data, (lambda x: x) if torques_only else (lambda x: x[:, index]), lambda x: x[:, index], index)


def signed(data: Dataset, signs: ArrayLike, torques_only: bool = False) -> Dataset:
    """Signs of a processed recording's columns changed: of all signals, or of the torques alone."""
    s = np.asarray(signs, dtype=float)
    return _changed(data, (lambda x: x) if torques_only else (lambda x: x * s), lambda x: x * s)


def clocked(data: Dataset, factor: float) -> Dataset:
    """Velocities of a processed recording times a factor, accelerations times its square."""
    full = data.full
    made: Dataset = replace(data, **_scaled(data, factor))
    return made if full is None else replace(made, full=replace(full, **_scaled(full, factor)))


def shifted(data: Dataset, shift: ArrayLike) -> Dataset:
    """Positions of a processed recording plus a shift a joint [rad]."""
    by = np.asarray(shift, dtype=float)
    made = replace(data, q=data.q + by)
    return made if data.full is None else replace(made, full=replace(data.full, q=data.full.q + by))


def later(data: Dataset, seconds: float) -> Dataset:
    """Torques of a processed recording taken from so many seconds later, to a fraction of a sample."""
    full = data.full
    if full is None:
        return advanced(data, seconds)
    tau = advanced(Dataset(np.arange(len(full)) / full.low_pass.rate, full.q, full.tau), seconds).tau
    return replace(data, tau=full.low_pass(tau)[full.index], full=replace(full, tau=np.array(tau)))


def _scaled(data: Any, factor: float) -> dict[str, Any]:
    return {"dq": factor * data.dq, "ddq": factor**2 * data.ddq}


def _changed(
    data: Dataset,
    motion: Callable[[Array], Array],
    torque: Callable[[Array], Array],
    order: NDArray[np.intp] | None = None,
) -> Dataset:
    def of(source: Any) -> dict[str, Any]:
        made = {name: getattr(source, name, None) for name in ("q", "dq", "ddq", "tau", "tau_raw")}
        return {
            name: (torque if name.startswith("tau") else motion)(np.array(value))
            for name, value in made.items()
            if value is not None
        }

    mask = data.mask if order is None or data.mask is None else data.mask[:, order]
    full = None if data.full is None else replace(data.full, **of(data.full))
    return replace(data, **of(data), mask=mask, full=full)


def filtered(raw: Dataset, dataset: Dataset) -> Dataset:
    """The processed recording, or the raw one through the default filters if it was taken as it is."""
    return dataset if dataset.full is not None else Processing().apply(raw)
