"""Predicted torques and their errors: of a recording by Newton-Euler, and of held-out parts of a motion.

For the held-out error the motion is cut into stretches whose R factors are kept (`CompressedData.segments`), so that
leaving some out costs no pass over the samples. Each part leaves out every so many-th stretch; each stretch is
predicted once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from casid.arrays import Array
from casid.dynamics import Model
from casid.errors import DatasetError
from casid.evidence import PARTS
from casid.files import open_end
from casid.inertia import Parameters
from casid.measurement import Dataset
from casid.regression import CompressedData, torques


@dataclass(frozen=True, eq=False)
class Prediction:
    """Torques of a recording, measured and predicted by Newton-Euler.

    Attributes
    ----------
    dataset : Dataset
        Processed.
    predicted : ndarray, shape (N, n)
        [N.m]
    """

    dataset: Dataset
    predicted: Array

    @property
    def residual(self) -> Array:
        """Measured (filtered) minus predicted torque, shape (N, n) [N.m]; zero where the mask leaves it out."""
        return np.where(self.dataset.counted, self.dataset.tau - self.predicted, 0.0)

    @cached_property
    def rms(self) -> Array:
        """Root mean square residual of each joint [N.m]."""
        return np.asarray(np.sqrt(self.mse))

    @cached_property
    def mse(self) -> Array:
        """Mean square residual of each joint [(N.m)^2]."""
        return np.asarray((self.residual**2).sum(axis=0) / np.maximum(self.dataset.counted.sum(axis=0), 1))

    @cached_property
    def relative_errors(self) -> Array:
        """``100 ||residual|| / ||torque||`` of each joint [%]."""
        size = np.linalg.norm(self._counted, axis=0)
        left = np.linalg.norm(self.residual, axis=0)
        return np.asarray(100.0 * np.divide(left, size, out=np.zeros_like(left), where=size > 0))

    @property
    def relative_error(self) -> float:
        """The same over all joints [%]."""
        return 100.0 * float(np.linalg.norm(self.residual) / max(np.linalg.norm(self._counted), np.finfo(float).tiny))

    @cached_property
    def rest(self) -> tuple[float, Array]:
        """Share of the samples that are left out because a joint rests, and the largest residual of each there [N.m].

        Friction at rest may be any torque up to that of breaking away, which the model does not predict.
        """
        resting = np.zeros(self.predicted.shape, dtype=bool)
        for one in self.dataset.defects:
            if one.kind == "standstill" and one.treatment == "left out" and one.joint is not None:
                resting[:, one.joint] |= one.mask(self.dataset.t, 0.0)
        away = np.abs(self.dataset.tau - self.predicted)
        return float(resting.any(axis=1).mean()), np.asarray(np.where(resting, away, 0.0).max(axis=0))

    @property
    def _counted(self) -> Array:
        return np.where(self.dataset.counted, self.dataset.tau, 0.0)


def predict(model: Model, parameters: Parameters | ArrayLike, dataset: Dataset) -> Prediction:
    """Torques of a processed recording by Newton-Euler, filtered as its torques were.

    Parameters
    ----------
    model
    parameters
        By name, terms that are left out being zero; or all N in the order of ``model.parameter_names``.
    dataset
        With velocities and accelerations.

    Raises
    ------
    DatasetError
        If the recording has another number of joints, no velocities or accelerations, or parameters are missing.
    """
    pi = parameters.in_order(model) if isinstance(parameters, Parameters) else np.asarray(parameters, dtype=float)
    if pi.shape != (len(model.parameter_names),):
        raise DatasetError(f"expected {len(model.parameter_names)} parameters, got shape {pi.shape}")
    if dataset.n != model.n or dataset.dq is None or dataset.ddq is None:
        raise DatasetError(f"{dataset.name}: a processed recording of {model.n} joints is needed")
    return Prediction(dataset, torques(model, pi, dataset))


@dataclass(frozen=True, eq=False)
class Part:
    """Stretches of a motion that a fit does not see and predicts.

    Attributes
    ----------
    data : CompressedData
        The whole motion.
    apart : tuple of int
        Stretches of it that are left out.
    """

    data: CompressedData
    apart: tuple[int, ...]

    @cached_property
    def training(self) -> CompressedData:
        """What is fitted: all other stretches."""
        return self.data.only([i for i in range(len(self.data.segments)) if i not in self.apart])

    @cached_property
    def tested(self) -> CompressedData:
        """What is predicted."""
        return self.data.only(list(self.apart))


def parts_of(data: CompressedData, folds: int = PARTS) -> tuple[Part, ...]:
    """Parts of a motion, part i every so many-th stretch from stretch i; none where there are fewer than two."""
    count = len(data.segments)
    folds = min(folds, count)
    return tuple(Part(data, tuple(range(fold, count, folds))) for fold in range(folds)) if folds > 1 else ()


@dataclass(frozen=True, eq=False)
class Errors:
    """Relative errors ``100 ||tau - Y pi|| / ||tau||`` [%], every sample alike whatever its weight in the fit.

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

    def record(self) -> dict[str, object]:
        """Plain numbers; null for a joint without samples."""
        joints = [None if np.isnan(error) else open_end(error) for error in self.joints]
        return {"total": open_end(self.total), "joints": joints}


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Errors on the parts of the motion that were fitted and on those that were held out.

    Attributes
    ----------
    folds : int
    stretches : int
        Stretches of the motion that were kept apart in turn.
    training, tested : mapping of str to Errors
        By ``unconstrained`` and ``consistent``.
    squares : mapping of str to ndarray, shape (stretches,)
        Likewise, squared error of each stretch that was held out, part by part [(N.m)^2].
    """

    folds: int
    stretches: int
    training: dict[str, Errors]
    tested: dict[str, Errors]
    squares: dict[str, Array]

    def record(self) -> dict[str, object]:
        """Plain numbers."""
        parts = {"training": self.training, "held_out": self.tested}
        made = {part: {kind: e.record() for kind, e in errors.items()} for part, errors in parts.items()}
        return {"folds": self.folds, "stretches": self.stretches, **made}


def held_out(parts: Sequence[Part], betas: Sequence[Mapping[str, Array]]) -> HeldOut:
    """Errors of a motion whose parts are predicted from the others, every sample alike.

    Parameters
    ----------
    parts
    betas
        Of each part, base parameters of fits to its `Part.training`, shape (rank,): by ``unconstrained`` and
        ``consistent``.
    """
    squares: dict[tuple[str, str], Array] = {}
    torques: dict[str, Array] = {}
    for part, own in zip(parts, betas, strict=True):
        for half, weighted in (("training", part.training), ("tested", part.tested)):
            plain = weighted.plain
            torques[half] = torques.get(half, 0.0) + plain.squared_torques
            for kind, beta in own.items():
                squares[half, kind] = squares.get((half, kind), 0.0) + plain.squared_errors(beta)
    training, tested = (
        {kind: Errors.of(squares[half, kind], torques[half]) for kind in betas[0]} for half in ("training", "tested")
    )
    left = {
        kind: np.array([
            float(part.data.only([i]).plain.squared_errors(own[kind]).sum())
            for part, own in zip(parts, betas, strict=True) for i in part.apart
        ])
        for kind in betas[0]
    }  # fmt: skip
    return HeldOut(len(parts), sum(len(part.apart) for part in parts), training, tested, left)
