"""What a robot that is known carries: a body on its last link, estimated while it moves, noticed when it changes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from casid.dynamics import Model
from casid.errors import DatasetError
from casid.identification.online.change import ChangeDetector
from casid.identification.online.entropic import Entropic, Plausible, entropic_estimate
from casid.identification.online.information import Information
from casid.identification.online.samples import checked_samples, checked_times, regressor_rows
from casid.inertia import from_standard

Array = NDArray[np.float64]
#: The load that changes are measured from is estimated anew when the information has grown by this share.
REFRESH = 0.1


@dataclass(frozen=True, eq=False)
class LoadEstimate:
    """A load at an instant.

    Attributes
    ----------
    parameters : ndarray, shape (10,)
        Standard parameters in the last link's frame; always those of a body.
    interval : tuple of float
        95 % of the mass [kg], from the information alone, without the prior; lower end at least 0.
    entropic : Entropic
        With the proof of optimality.
    since : float
        Time of the last change [s]; -inf if there was none.
    """

    parameters: Array
    interval: tuple[float, float]
    entropic: Entropic
    since: float

    @property
    def mass(self) -> float:
        """[kg]"""
        return float(self.parameters[9])

    @property
    def com(self) -> Array:
        """Centre of mass in the last link's frame [m]."""
        return from_standard(self.parameters)[1]


class OnlineLoad:
    """Payload-only mode: the robot's parameters are given, ten numbers of the load are learnt.

    Parameters
    ----------
    model, parameters
        The robot without load, in the order of ``model.parameter_names``.
    weights
        As for `Online`.
    plausible
        A body that the load might be (standard parameters in the last link's frame); its size sets the scale.
    forgetting
        Directional, as in `Online`.
    mu
        Weight of the divergence from ``plausible``.
    detector
        Notices that the load has changed; what is known of it then starts anew.
    """

    def __init__(
        self,
        model: Model,
        parameters: ArrayLike,
        weights: ArrayLike,
        plausible: ArrayLike,
        forgetting: float = 1.0,
        mu: float = 1.0,
        detector: ChangeDetector | None = None,
    ) -> None:
        self.model = model
        self.parameters = np.array(parameters, dtype=float)
        if self.parameters.shape != (len(model.parameter_names),) or not np.isfinite(self.parameters).all():
            raise DatasetError(f"parameters: expected {len(model.parameter_names)} finite numbers")
        self.weights = np.array(weights, dtype=float)
        if self.weights.shape != (model.n,) or not np.isfinite(self.weights).all():
            raise DatasetError(f"weights: expected {model.n} finite numbers")
        self.plausible = Plausible(np.array(plausible, dtype=float).reshape(1, 10), np.zeros(0), np.zeros(0))
        self.forgetting, self.mu = float(forgetting), float(mu)
        self.detector = ChangeDetector(10) if detector is None else detector
        self.information = Information.nothing(10)
        self.time, self.since = -np.inf, -np.inf
        self.changes: list[float] = []
        self._columns = list(model.link_columns[-1])
        self._last: Array | None = None
        self._judged = 0.0
        self._errors = np.zeros(3)  # sums of e_k^2, e_k e_(k-1), and their count: how correlated the residual is
        self._before = np.zeros(model.n)

    def update(self, q: ArrayLike, dq: ArrayLike, ddq: ArrayLike, tau: ArrayLike, t: ArrayLike | None = None) -> bool:
        """One sample or many; True if the load changed in them.

        Raises
        ------
        DatasetError
            As `Online.update`; the estimator is then unchanged.
        """
        s = checked_samples(self.model.n, q=q, dq=dq, ddq=ddq, tau=tau)
        times = None if t is None else np.atleast_1d(np.asarray(t, dtype=float))
        time = checked_times(t, len(s["q"]), self.time)
        Y = regressor_rows(self.model.regressor, s)
        residual = (s["tau"] - Y @ self.parameters) * self.weights
        rows = Y[:, :, self._columns] * self.weights[:, None]
        changed = False
        for k, (row, target) in enumerate(zip(rows, residual, strict=True)):
            left = target if self._last is None else target - row @ self._last
            if self.detector.update(row, left):
                changed = True
                self.information = Information.nothing(10)
                self.since = time if times is None else float(times[k])
                self.changes.append(self.since)
                self.detector.reset()
                self._last, self._judged = None, 0.0
            self._errors += [left @ left, left @ self._before, 1.0]
            self._before = left
            self.information = self.information.forgotten(row, self.forgetting).updated(row, target)
            if abs(self.information.count - self._judged) > REFRESH * self._judged:
                self._last = self._solve(40).x
                self._judged = self.information.count
        self.time = time
        return changed

    def estimate(self, iterations: int = 40) -> LoadEstimate:
        """The load now."""
        found = self._solve(iterations)
        self._last = found.x
        p = self.information.estimate
        rank = len(p)
        scale = self.information.error(p) / max(self.information.count - rank, 1.0)
        correlation = min(max(self._errors[1] / max(self._errors[0], 1e-300), 0.0), 0.999)
        scale *= (1 + correlation) / (1 - correlation)
        sd = float(np.sqrt(self.information.covariance(scale)[9, 9]))
        return LoadEstimate(found.x, (max(p[9] - 1.96 * sd, 0.0), max(p[9] + 1.96 * sd, 0.0)), found, self.since)

    def _solve(self, iterations: int) -> Entropic:
        return entropic_estimate(
            self.information.R, self.information.rho, self.plausible, self.mu, self._last, iterations
        )
