"""A Gaussian process per joint, on as many samples as cubic cost allows (scikit-learn)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from baselines.contract import Baseline, Motion
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, DotProduct, WhiteKernel

from casid.arrays import Array


class GaussianProcess(Baseline):
    """Linear plus squared-exponential kernel on ``(sin q, cos q, dq, ddq)``, hyperparameters by marginal likelihood."""

    def __init__(self, name: str = "GP", samples: int = 400) -> None:
        self.name, self.epochs, self.samples = name, 1, samples

    def _features(self, motion: Motion) -> Array:
        x = np.concatenate([np.sin(motion.q), np.cos(motion.q), motion.dq, motion.ddq], axis=1)
        return np.asarray((x - self._mean) / self._scale) if hasattr(self, "_mean") else x

    def fit(
        self, motion: Motion, seed: int = 0, stop: Callable[[int, Callable[[Motion], Array]], bool] | None = None
    ) -> int:
        """See `Baseline`; one "epoch" is one optimisation of the hyperparameters."""
        rng = np.random.default_rng(seed)
        part = motion.rows(np.sort(rng.permutation(len(motion))[: self.samples]))
        raw = self._features(part)
        self._mean, self._scale = raw.mean(axis=0), np.maximum(raw.std(axis=0), 1e-9)
        x = self._features(part)
        self._models = []
        for tau in part.tau.T:
            kernel = ConstantKernel(1.0) * RBF(5.0) + ConstantKernel(0.1) * DotProduct() + WhiteKernel(1e-3)
            model = GaussianProcessRegressor(kernel, normalize_y=True, random_state=seed)
            self._models.append(model.fit(x, tau))
        if stop is not None:
            stop(1, self.predict)
        return 1

    def predict(self, motion: Motion) -> Array:
        """See `Baseline`."""
        x = self._features(motion)
        return np.stack([np.asarray(model.predict(x)) for model in self._models], axis=1)
