"""Training of a parametrisation, an epoch at a time, with the gap to the proven optimum and a state on disk."""

from __future__ import annotations

import io
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from casid.arrays import Array
from casid.errors import DatasetError, ProblemError, checked_seed
from casid.files import npz_arrays, numeric_array, read_bytes, write_files
from casid.learning._chart import Chart
from casid.learning._loss import Loss
from casid.learning._optimisers import Optimiser, Step
from casid.learning._torque import Limit


class Epoch(NamedTuple):
    """One epoch of training.

    Attributes
    ----------
    number : int
        0 is the start.
    loss : float
        Over all samples, after the epoch.
    nmse : float
        Largest over the joints.
    inconsistent : int
        Links that are no bodies.
    gap : float
        To the certified limit; NaN without one.
    seconds : float
        Since the start.
    """

    number: int
    loss: float
    nmse: float
    inconsistent: int
    gap: float
    seconds: float


_MEMORY = "memory_"


def write_checkpoint(path: Path, identity: str, step: Step, history: list[Epoch]) -> None:
    """Coordinates, memory and history, through a temporary file that replaces the old one.

    Raises
    ------
    ExportError
        If the file cannot be written.
    """
    arrays: dict[str, Any] = {_MEMORY + name: value for name, value in step.memory.items()}
    arrays |= {"identity": np.array(identity), "theta": step.theta, "history": np.array(history, dtype=float)}
    stream = io.BytesIO()
    np.savez(stream, **arrays)
    write_files(path.parent, {path.name: stream.getvalue()})


def read_checkpoint(path: Path, identity: str, size: int) -> tuple[Step, list[Epoch]]:
    """State and history of a stored training.

    Raises
    ------
    ProblemError
        If the file is damaged or belongs to another training.
    """
    what = "training checkpoint"
    arrays = npz_arrays(read_bytes(path, what, ProblemError), str(path), what, ProblemError)
    try:
        found, theta = str(arrays["identity"]), np.array(arrays["theta"], dtype=float)
        rows = np.array(arrays["history"], dtype=float).reshape(-1, 6)
        history = [Epoch(int(r[0]), r[1], r[2], int(r[3]), r[4], r[5]) for r in rows.tolist()]
    except (ValueError, KeyError) as error:
        raise ProblemError(f"{what} '{path}': {str(error)[:80]} is missing or damaged; delete the file") from None
    if found != identity:
        raise ProblemError(f"checkpoint '{path}' belongs to another training ({found}); delete it or give another file")
    if theta.shape != (size,) or not np.isfinite(theta).all() or not history:
        raise ProblemError(f"checkpoint '{path}' is damaged: theta has shape {theta.shape}; delete it")
    memory = {name[len(_MEMORY) :]: value for name, value in arrays.items() if name.startswith(_MEMORY)}
    return Step(theta, memory), history


#: A training that has not improved by this share, rounding of a mean of squares, over so many epochs has stalled.
_STALL, _PATIENCE = 1e-12, 3
#: Gap to the certified limit at which a training whose target lies beyond that limit ends: far below
#: what chance makes of a mean of squares, 1e-3 of a million independent samples.
_CLOSE = 5e-6


@dataclass(frozen=True, eq=False)
class Training:
    """A training run.

    Attributes
    ----------
    chart : Chart
    optimiser : Optimiser
    step : Step
        Where it ended.
    epochs : tuple of Epoch
    target : float or None
        NMSE that every joint should reach.
    limit : Limit or None
    seed : int
    """

    chart: Chart
    optimiser: Optimiser
    step: Step
    epochs: tuple[Epoch, ...]
    target: float | None
    limit: Limit | None
    seed: int

    @property
    def parameters(self) -> Array:
        """In the order of the chart."""
        return self.chart.parameters(self.step.theta)

    @property
    def reached(self) -> int | None:
        """Epochs until every joint's NMSE was at most the target; None if never."""
        if self.target is None:
            return None
        return next((e.number for e in self.epochs if e.nmse <= self.target), None)

    @property
    def gap(self) -> float:
        """To the certified limit, at the end."""
        return self.epochs[-1].gap

    def verdict(self) -> str:
        """In a sentence: what was reached, and what could be."""
        last = self.epochs[-1]
        text = f"{self.chart.links.name}, {self.optimiser.name}: NMSE {last.nmse:.3g} after {last.number} epochs"
        if self.target is not None:
            done = self.reached
            text += f"; target {self.target:.3g} " + ("not reached" if done is None else f"reached after {done}")
        if self.limit is not None:
            text += f"; certified limit of the loss {self.limit.lower_bound:.6g}, gap {last.gap:.2g}"
            if self.target is not None and self.reached is None and self.limit.lower_bound > self.target:
                text += " (no parameters of this kind reach the target in the mean over joints)"
        if last.inconsistent:
            text += f"; {last.inconsistent} links are no physical bodies"
        return text


def train(
    loss: Loss,
    chart: Chart,
    optimiser: Optimiser,
    *,
    epochs: int = 100,
    target: float | None = None,
    tolerance: float = 0.0,
    start: ArrayLike | None = None,
    seed: int = 0,
    limit: Limit | None = None,
    checkpoint: str | Path | None = None,
) -> Training:
    """Training of coordinates theta on a loss.

    Parameters
    ----------
    loss, chart, optimiser
        The function to minimise, its coordinates, and the method.
    epochs
        At most.
    target, tolerance
        Stop when every joint's NMSE is at most the target (where the limit proves that out of reach, within 5e-6 of the
        limit's own solution: see `Training.verdict`), or the gap to the limit at most the tolerance.
    start, seed
        First theta, shape (chart.size,), default: random bodies of the seed; seed of the start and of each epoch's
        order of batches (or of samples, where batches are drawn anew).
    limit
        `certified_limit` of the loss: each epoch then has its gap.
    checkpoint
        File (.npz) of the state after each epoch: a training that was killed continues to the same numbers.

    Raises
    ------
    DatasetError
        If theta has another shape or is not finite, or the loss is not finite at the start.
    ProblemError
        If the checkpoint belongs to another training.
    """
    if epochs < 0:
        raise ProblemError(f"the number of epochs must not be negative, got {epochs}")
    checked_seed(seed)
    theta = chart.random(np.random.default_rng([seed, 0]))
    if start is not None:
        theta = numeric_array(start, "start", DatasetError, finite=True, shape=(chart.size,))
    loss.check(chart.parameters(theta))
    identity, path = _identity(loss, chart, optimiser, theta, seed), None if checkpoint is None else Path(checkpoint)
    step, history = Step(theta), list[Epoch]()
    if path is not None and path.is_file():
        step, history = read_checkpoint(path, identity, chart.size)
    began = perf_counter() - (history[-1].seconds if history else 0.0)

    def judge(number: int, step: Step) -> Epoch:
        pi = chart.parameters(step.theta)
        value = loss.value(pi)
        if not (np.isfinite(value) and np.isfinite(step.theta).all()):
            raise DatasetError(
                f"training of '{chart.links.name}' diverged in epoch {number}: the loss is no longer finite; take a "
                "smaller rate or another start"
            )
        gap = np.nan if limit is None else limit.gap(value)
        inconsistent = len(chart.inconsistent(pi))
        return Epoch(number, value, float(loss.nmse(pi).max()), inconsistent, gap, perf_counter() - began)

    history = history or [judge(0, step)]
    if limit is not None and target is not None and limit.lower_bound > target:
        # no parameters of the kind reach the target: end where the best is reached
        tolerance = max(tolerance, limit.gap(limit.value) + _CLOSE)
    while history[-1].number < epochs and "stalled" not in step.memory and not _done(history, target, tolerance):
        number = history[-1].number + 1
        with np.errstate(all="ignore"):  # a run that diverges ends with an error of the judge
            step = optimiser.epoch(loss, chart, step, np.random.default_rng([seed, number]))
            where = f"optimiser '{type(optimiser).__name__}': theta of `epoch`"
            numeric_array(step.theta, where, DatasetError, shape=(chart.size,))
            history.append(judge(number, step))
        if path is not None:
            write_checkpoint(path, identity, step, history)
    return Training(chart, optimiser, step, tuple(history), target, limit, seed)


def _identity(loss: Loss, chart: Chart, optimiser: Optimiser, theta: Array, seed: int) -> str:
    """What makes two trainings the same: coordinates, optimiser, seed, start, and the loss there."""
    with np.errstate(all="ignore"):
        value = loss.value(chart.parameters(theta))
    kind, start = type(loss).__name__, sha256(theta.tobytes()).hexdigest()[:12]
    held = f" held {list(chart.held)}" if chart.held else ""
    return (
        f"{chart.links.name} {chart.size}{held}, {optimiser!r}, seed {seed}, start {start}, {kind} of {loss.samples}: "
        f"{value:.9g}"
    )


def _done(history: list[Epoch], target: float | None, tolerance: float) -> bool:
    last = history[-1]
    if target is not None and last.nmse <= target:
        return True
    if tolerance > 0 and last.gap <= tolerance:
        return True
    if len(history) <= _PATIENCE:
        return False
    return abs(history[-1 - _PATIENCE].loss - last.loss) <= _STALL * last.loss
