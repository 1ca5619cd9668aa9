"""Remedies tried: the recordings read as a remedy would have them, and parts of the motion predicted again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from casid import evidence
from casid.arrays import Array
from casid.dynamics import Model
from casid.errors import CasidError
from casid.identification._consistent_fits import ConsistentFits
from casid.identification._prediction import parts_of
from casid.identification.diagnosis._findings import Trial
from casid.measurement import Dataset, advanced
from casid.regression import compress, wls

#: Parts of the motion that are predicted from the others.
PARTS = 4
#: Ratio of the held-out errors below which a remedy counts. The least of an injected fault of AR5, UR10e and Rokae was
#: 0.89; a piece of the Kinova's, right as it is, had shown 0.96.
RATIO = 0.95


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


class HeldOutErrors(NamedTuple):
    """Squared errors of predicted stretches of the motion, and the joints' squared torques.

    Attributes
    ----------
    squares : ndarray, shape (stretches, n)
    torques : ndarray, shape (n,)
        Zero for joints that do not count.
    """

    squares: Array
    torques: Array


def held_out_errors(
    model: Model,
    datasets: Sequence[Dataset],
    joints: Sequence[int] | None = None,
    *,
    weights: ArrayLike | None = None,
    fits: ConsistentFits | None = None,
) -> HeldOutErrors | None:
    """Errors of predicted stretches of the motion: weighted least squares on the other parts.

    Parameters
    ----------
    model, datasets
    joints
        That count; default: all with torques.
    weights
        Of the joints; default: those of each fit.
    fits
        How a fit is made consistent, where torques alone do not separate readings.

    Returns
    -------
    HeldOutErrors or None
        ``None`` where parts cannot be held out.
    """
    try:
        data = compress(model, datasets)
        if len(data.segments) < PARTS:
            return None
        torques = data.plain.squared_torques
        if joints is not None:
            torques = np.where(np.isin(np.arange(data.n), joints), torques, 0.0)
        squares = np.zeros((len(data.segments), data.n))
        for part in parts_of(data, PARTS):
            fit = wls(part.training, weights)
            beta = fit.beta if fits is None else fits.fitted(fit)[0].beta
            for i in part.apart:
                squares[i] = data.only([i]).plain.squared_errors(beta)
        return HeldOutErrors(squares, torques)
    except CasidError:
        return None


def compared(before: HeldOutErrors | None, after: HeldOutErrors | None) -> Trial | None:
    """The trial of a remedy, if it surely improves the held-out error (`casid.evidence.compared`), and by 5 %.

    The errors of every joint count over its own errors before, so that noisy joints do not hide what happens to others.
    A joint that neither predicts better than no torque at all, one that is held still for instance, does not count.
    """
    if before is None or after is None or len(before.squares) != len(after.squares):
        return None
    errors, others = before.squares.sum(axis=0), after.squares.sum(axis=0)
    predicted = (errors < before.torques) | (others < after.torques)
    counted = (before.torques > 0) & (after.torques > 0) & (errors > 0) & predicted
    if not counted.any():
        return None
    own = before.squares[:, counted].sum(axis=0)
    losses = [(each.squares[:, counted] / own).mean(axis=1) for each in (before, after)]
    found = evidence.compared(*losses)
    old = 100.0 * float(np.sqrt((own / before.torques[counted]).mean()))
    new = old * float(np.sqrt(max(found.after / found.before, 0.0)))
    return Trial("held-out error", old, new, found.gain) if found.better and new < RATIO * old else None
