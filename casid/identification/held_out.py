"""Held-out error: parts of the motion are kept apart, fitted without, and predicted.

The motion is cut into stretches whose R factors are kept (`CompressedData.segments`), so that leaving some out costs no
pass over the samples. Each fold leaves out every so many-th stretch; each stretch is predicted once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from casid.errors import CasidError
from casid.regression import CompressedData, Fit

Array = NDArray[np.float64]

#: Parts that the motion is divided into; each is predicted from the others.
FOLDS = 4


@dataclass(frozen=True, eq=False)
class Errors:
    """Relative errors ``100 ||tau - Y pi|| / ||tau||`` [%].

    Attributes
    ----------
    total : float
    joints : ndarray, shape (n,)
        NaN for a joint without samples.
    """

    total: float
    joints: Array

    @classmethod
    def of(cls, squares: ArrayLike, torques: ArrayLike) -> Errors:
        """From sums of squares of errors and torques, joint by joint."""
        e, t = np.asarray(squares, dtype=float), np.asarray(torques, dtype=float)
        with np.errstate(invalid="ignore", divide="ignore"):
            return cls(100.0 * float(np.sqrt(e.sum() / t.sum())), 100.0 * np.sqrt(e / np.where(t > 0, t, np.nan)))


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Errors on the parts that a fit saw and on those it did not.

    Attributes
    ----------
    folds : int
    stretches : int
        Stretches of the motion that were kept apart in turn.
    training, tested : mapping of str to Errors
        By ``unconstrained`` and ``consistent``.
    """

    folds: int
    stretches: int
    training: dict[str, Errors]
    tested: dict[str, Errors]

    def record(self) -> dict[str, object]:
        """Plain numbers."""
        return {
            "folds": self.folds,
            "stretches": self.stretches,
            **{
                part: {
                    kind: {"total": e.total, "joints": [None if np.isnan(v) else float(v) for v in e.joints]}
                    for kind, e in errors.items()
                }
                for part, errors in (("training", self.training), ("held_out", self.tested))
            },
        }


def held_out(
    data: CompressedData,
    unconstrained: Callable[[CompressedData], Fit],
    consistent: Callable[[Fit], Array],
    folds: int = FOLDS,
    progress: Callable[[int], None] = lambda done: None,
) -> HeldOut | None:
    """Fit without each part of the motion in turn, and predict it.

    Parameters
    ----------
    data
        With its stretches.
    unconstrained, consistent
        How to fit: data to base parameters; and those to the consistent base parameters, shape (rank,).
    folds
        Number of parts.
    progress
        Called with the number of folds done.

    Returns
    -------
    HeldOut or None
        ``None`` where the recording is too short to keep a part of it.
    """
    count = len(data.segments)
    folds = min(folds, count)
    if folds < 2:
        return None
    kinds = ("unconstrained", "consistent")
    squares = {(part, kind): np.zeros(data.n) for part in ("training", "tested") for kind in kinds}
    torques = {part: np.zeros(data.n) for part in ("training", "tested")}
    for fold in range(folds):
        apart = [i for i in range(count) if i % folds == fold]
        rest = [i for i in range(count) if i % folds != fold]
        try:
            parts = {"training": data.only(rest), "tested": data.only(apart)}
            fit = unconstrained(parts["training"])
            betas = {"unconstrained": fit.beta, "consistent": consistent(fit)}
        except CasidError:
            return None
        for part, held in parts.items():
            torques[part] += held.squared_torques
            for kind, beta in betas.items():
                squares[part, kind] += held.squared_errors(beta)
        progress(fold + 1)
    made = {
        part: {kind: Errors.of(squares[part, kind], torques[part]) for kind in kinds} for part in ("training", "tested")
    }
    return HeldOut(folds, count, made["training"], made["tested"])
