"""The smooth criterion of a motion, with its gradient, and the stages that drive it to the exact one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from casid.excitation.information.criteria import Criterion
from casid.excitation.information.observation import Observation
from casid.excitation.motions.basis import Array, Basis
from casid.excitation.motions.trajectory import Motion


@dataclass(frozen=True)
class Stage:
    """One solve of a sequence that drives the smooth problem to the exact one.

    Attributes
    ----------
    width : float
        Width over which signs are smoothed, relative to the start's root-mean-square velocity.
    sharpness : float
        Power of the p-norms that stand for largest and smallest values.
    iterations : int
    """

    width: float
    sharpness: float
    iterations: int


class Objective:
    """Smooth criterion of a motion and its gradient in the coefficients.

    Parameters
    ----------
    count : int
        Samples of the observation matrix.
    prior : ndarray, shape (r, r), optional
        Information that is there already.
    """

    def __init__(
        self, observation: Observation, basis: Basis, criterion: Criterion, count: int, prior: Array | None = None
    ) -> None:
        self.observation, self.criterion, self.prior = observation, criterion, prior
        instants = basis.samples(count)
        self.matrices = [basis.matrix(instants, order) for order in range(3)]

    def motion(self, coefficients: Array) -> Motion:
        """Joint states at the samples."""
        return Motion(*(coefficients @ B.T for B in self.matrices))

    def exact(self, coefficients: Array) -> float:
        """Exact criterion, signs included."""
        F = self.observation.information(self.motion(coefficients))
        return self.criterion.value(F if self.prior is None else F + self.prior)

    def smooth(self, coefficients: Array, width: float, sharpness: float) -> tuple[float, Array]:
        """Smooth objective and its gradient (n, size): adjoint of the criterion, of W, of the motion."""
        motion = self.motion(coefficients)
        Y = self.observation.smooth_matrix(motion, width)
        m, r, count = Y.shape
        W = np.ascontiguousarray(Y.transpose(0, 2, 1)).reshape(m * count, r)
        F = W.T @ W
        f, G = self.criterion.objective(F if self.prior is None else F + self.prior, sharpness)
        seed = (2.0 * W @ G).reshape(m, count, r).transpose(0, 2, 1)
        back = self.observation.pull_back(motion, seed, width)
        return f, np.asarray(sum(g @ B for g, B in zip(back, self.matrices, strict=True)))
