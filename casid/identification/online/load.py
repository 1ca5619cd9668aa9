"""What a robot that is known carries: a body on its last link, estimated while it moves, noticed when it changes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from casid.dynamics import Model
from casid.errors import DatasetError
from casid.identification.load_intervals import load_intervals
from casid.identification.online.change import ChangeDetector
from casid.identification.online.entropic import Entropic, entropic_estimate
from casid.identification.online.information import Information
from casid.identification.online.plausible import Plausible
from casid.identification.online.recent import RecentSamples, Sample
from casid.identification.online.samples import check_inputs, checked_samples, checked_times, regressor_rows, weighted
from casid.identification.online.settings import (
    checked_forgetting,
    checked_iterations,
    checked_mu,
    checked_shares,
    checked_weights,
    numbers,
)
from casid.identification.online.whitening import Whitening
from casid.inertia import from_standard
from casid.regression._statistics import ResidualNoise
from casid.retrieval.insight.chi_square import chi_square

Array = NDArray[np.float64]
#: The load that residuals are taken from is estimated anew when the information has grown by this share.
REFRESH = 0.1
#: Newton steps at most.
ITERATIONS = 100
#: Samples after a change whose residuals speak of the load that is not known yet, rather than of noise.
SETTLING = 50


@dataclass(frozen=True, eq=False)
class LoadEstimate:
    """A load at an instant.

    Attributes
    ----------
    parameters : ndarray, shape (10,)
        Standard parameters in the last link's frame; always those of a body.
    interval : tuple of float
        95 % of the mass [kg], from the information alone, without the prior; lower end at least 0.
    information : Information
        Of the samples since the last change.
    covariance : ndarray, shape (10, 10)
        Of the ten parameters, from the information alone; infinite variances where it says nothing.
    entropic : Entropic
        With the proof of optimality.
    since : float
        Most likely time of the last change [s]; -inf if there was none.
    """

    parameters: Array
    interval: tuple[float, float]
    information: Information
    covariance: Array
    entropic: Entropic
    since: float

    @cached_property
    def intervals(self) -> Mapping[str, tuple[float, float]]:
        """95 % intervals of ``m, cx, cy, cz, Lxx ... Lzz``, all at once: of the whole load, as those of `payload`."""
        covariance = self.covariance
        if not np.isfinite(covariance).all():
            return {name: (-np.inf, np.inf) for name in load_intervals(np.eye(10), np.zeros(10), 1.0)}
        scale = np.sqrt(np.diag(covariance))
        root = np.linalg.cholesky(np.linalg.inv(covariance / np.outer(scale, scale))).T / scale
        return load_intervals(root, self.information.estimate, chi_square(10, 0.05))

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
        The robot without load, in the order of ``model.parameter_names``. Joint terms may use the measured torque:
        friction of gears that grows with the torque they carry (`GEAR_FRICTION`) grows with the load, which would
        otherwise be taken for mass.
    weights
        As for `Online`.
    plausible
        A body that the load might be (standard parameters in the last link's frame); its size sets the scale.
    forgetting
        Directional, as in `Online`.
    mu
        Weight of the divergence from ``plausible``.
    detector
        Notices that the load has changed; what is known of it then starts anew, from the most likely time of the
        change on. ``changes`` are the times of the alarms [s], -inf where samples come without times.
    gain_error
        Relative standard deviation of the joints' torque scales, one or n of them: an error that no number of samples
        averages out. A change of all scales by the same factor changes the mass by that factor, and is not in it.
    correlation
        Of the residual from one sample to the next, one or n of them, in [0, 1): what filtered torques and friction
        that is not modelled leave of the robot without load. Samples that repeat each other then count less, and
        changes of the torque more than its level, which a slow error moves.

    Notes
    -----
    The covariance is that of least squares, ``s^2 f (R'R)^-1 + sum_j e_j^2 u_j u_j'``: s^2 the variance of the
    residual, usual or since the change, whichever is larger; f the inflation by its correlation (`ResidualNoise`),
    learnt over all loads; and ``u_j``, what the torques of joint j contribute to the load ``p = sum_j u_j``, is what a
    scale of joint j does to it.
    With a correlation, equations are those of generalised least squares (`Whitening`).
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
        gain_error: ArrayLike = 0.0,
        correlation: ArrayLike = 0.0,
    ) -> None:
        check_inputs(model.regressor)
        self.model = model
        self.parameters = numbers("parameters", parameters)
        if self.parameters.shape != (len(model.parameter_names),) or not np.isfinite(self.parameters).all():
            raise DatasetError(f"parameters: expected {len(model.parameter_names)} finite numbers")
        self.weights = checked_weights(model.n, weights)
        body = numbers("plausible", plausible)
        if body.shape != (10,):
            raise DatasetError(f"plausible: expected the 10 standard parameters of a body, got shape {body.shape}")
        self.plausible = Plausible(body[None], np.zeros(0), np.zeros(0))
        self.forgetting, self.mu = checked_forgetting(forgetting), checked_mu(mu)
        self.detector = ChangeDetector(10) if detector is None else detector
        self.gain_error = checked_shares("gain_error", model.n, gain_error)
        self.correlation = checked_shares("correlation", model.n, correlation, 1.0)
        self._whitened = Whitening(self.correlation)
        self._recent = RecentSamples(round(max(self.detector.windows)))
        self.information = Information.nothing(10)
        self._joints = self._nothing_of_joints()
        self.time, self.since = -np.inf, -np.inf
        self.changes: list[float] = []
        self._columns = list(model.link_columns[-1])
        self._last: Array | None = None
        self._judged = 0.0
        self._settled = 0
        self.noise = ResidualNoise(model.n)
        # the detector compares levels, whatever the correlation: a change of the torque alone says little of them
        self._seen = self.information
        self._usual = ResidualNoise(model.n) if self.correlation.any() else self.noise

    def update(self, q: ArrayLike, dq: ArrayLike, ddq: ArrayLike, tau: ArrayLike, t: ArrayLike | None = None) -> bool:
        """One sample or many; True if the load changed in them.

        Raises
        ------
        DatasetError
            As `Online.update`; the estimator is then unchanged.
        """
        s = checked_samples(self.model.n, q=q, dq=dq, ddq=ddq, tau=tau)
        times = checked_times(t, len(s["q"]), self.time)
        Y = regressor_rows(self.model.regressor, s)
        with np.errstate(over="ignore", invalid="ignore"):  # what is too large is told by its sample
            residual = s["tau"] - Y @ self.parameters
        plain = weighted(self.weights, Y[:, :, self._columns], residual)
        white = self._whitened(*plain, times)
        changed = False
        for k, (row, target, seen_row, seen) in enumerate(zip(*white, *plain, strict=True)):
            now = self.time if times is None else float(times[k])
            sample = Sample(row, target, seen_row, seen, now, self._seen)
            alarm = self.detector.update(seen_row, seen, self._seen, self._usual)
            self._recent.add(sample)
            if alarm:
                changed = True
                self.changes.append(now)
                self._start_anew(now)
            else:
                self._take(sample)
        self.time = now
        return changed

    def _start_anew(self, now: float) -> None:
        """With the samples of the new load only."""
        self.information, self._joints = Information.nothing(10), self._nothing_of_joints()
        self._seen = self.information
        self._last, self._judged, self._settled = None, 0.0, 0
        kept = self._recent.since_change()
        self.since = kept[0].time if kept else now
        for sample in kept:
            self._take(sample)

    def _take(self, sample: Sample) -> None:
        """One sample of the load as it is."""
        row, target = sample.row, sample.target
        self._settled += 1
        known = self._last if self._settled > SETTLING else None
        if known is not None:
            self.noise.update(target - row @ known)
        if self._usual is not self.noise:
            if known is not None:
                self._usual.update(sample.seen - sample.seen_row @ known)
            self._seen = self._seen.forgotten(sample.seen_row, self.forgetting).updated(sample.seen_row, sample.seen)
        if self.gain_error.any():
            self._joints = self._joints.forgotten(row, self.forgetting).updated(row, np.diag(target))
        self.information = self.information.forgotten(row, self.forgetting).updated(row, target)
        if self._usual is self.noise:
            self._seen = self.information
        if abs(self.information.count - self._judged) > REFRESH * self._judged:
            self._last = self._solve(ITERATIONS).x
            self._judged = self.information.count

    def estimate(self, iterations: int = ITERATIONS) -> LoadEstimate:
        """The load now."""
        found = self._solve(checked_iterations(iterations))
        self._last = found.x
        p = self.information.estimate
        covariance = self._covariance(p)
        sd = float(np.sqrt(covariance[9, 9]))
        interval = (max(float(p[9]) - 1.96 * sd, 0.0), max(float(p[9]) + 1.96 * sd, 0.0))
        return LoadEstimate(found.x, interval, self.information, covariance, found, self.since)

    def _covariance(self, p: Array) -> Array:
        own = self.information.error(p) / max(self.information.freedom, 1.0)
        covariance = self.information.covariance(max(own, self.noise.variance) * self.noise.inflation())
        if self.gain_error.any() and np.isfinite(covariance).all():
            u = self._joints.estimate * self.gain_error
            covariance = covariance + u @ u.T
        return covariance

    def _nothing_of_joints(self) -> Information:
        """Right-hand sides with the torques of one joint each: what they say adds up to the estimate."""
        return Information(np.zeros((10, 10)), np.zeros((10, self.model.n)))

    def _solve(self, iterations: int) -> Entropic:
        return entropic_estimate(
            self.information.R, self.information.rho, self.plausible, self.mu, self._last, iterations
        )
