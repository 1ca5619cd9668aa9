"""On-line estimation of the load on the last link of a known robot, with detection of changes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from casid.arrays import Array
from casid.dynamics import Model
from casid.errors import DatasetError
from casid.evidence import ResidualNoise
from casid.files import numeric_array
from casid.inertia import from_standard
from casid.inertia.entropic import Entropic, Plausible, entropic_estimate
from casid.loads import load_intervals
from casid.online._change import ChangeDetector, RecentSamples, Sample
from casid.online._known_robot import StateNoise
from casid.online._samples import (
    REFRESH,
    Estimator,
    Information,
    StateWeights,
    checked_iterations,
    checked_shares,
    weighted,
)
from casid.retrieval import chi_square

#: Samples after a change whose residuals come from the load that is not known yet, rather than from noise: five of each
#: of its ten parameters.
SETTLING = 50


@dataclass(frozen=True, eq=False)
class TorqueErrors:
    """Errors of the torques beyond white noise, one value for all joints or n of them.

    Attributes
    ----------
    gain : float or ndarray, shape (n,)
        Relative standard deviation of the joints' torque scales: an error that no number of samples averages out. A
        change of all scales by the same factor changes the mass by that factor, and is not included.
    correlation : float or ndarray, shape (n,)
        Correlation of the residual from one sample to the next, in [0, 1), caused by filtered torques and friction
        that is not modelled. Samples that repeat each other then count less, and changes of the torque more than its
        level, which slow errors affect.
    state : StateNoise, optional
        Deviation of the residual at rest and where torques change quickly, as `shrunk` measures it.
        The friction of a resting joint is then an unknown within its band, which lasts as long as the rest: nearly all
        that is learnt about the load, and all about the noise, comes from joints that move.
    """

    gain: ArrayLike = 0.0
    correlation: ArrayLike = 0.0
    state: StateNoise | None = None


@dataclass(frozen=True, eq=False)
class LoadEstimate:
    """Estimate of the load at an instant.

    Attributes
    ----------
    parameters : ndarray, shape (10,)
        Standard parameters in the last link's frame; always physically consistent.
    interval : tuple of float
        95 % interval of the mass [kg], from the information alone, without the prior; lower end at least 0.
    information : Information
        Information of the samples since the last change.
    covariance : ndarray, shape (10, 10)
        Covariance of the ten parameters, from the information alone; infinite variances where there is none.
    entropic : Entropic
        The estimate with its bound of suboptimality.
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
        """95 % intervals of ``m, cx, cy, cz, Lxx ... Lzz``, all ten at once."""
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


class OnlineLoad(Estimator):
    """On-line payload identification: the robot's parameters are given, the load's ten parameters are estimated.

    Parameters
    ----------
    model, parameters
        The robot without load, in the order of ``model.parameter_names``. Joint terms may use the measured torque:
        friction of gears that grows with the torque they carry (`GEAR_FRICTION`) grows with the load, and without the
        term it would be attributed to the load's mass.
    weights
        As in `Online`.
    plausible
        Standard parameters of a typical load, in the last link's frame; its size sets the scale.
    forgetting
        Directional, as in `Online`.
    mu
        Weight of the divergence from ``plausible``.
    detector
        Detector of load changes; after an alarm the estimate starts anew, from the most likely time of the change on.
        ``changes`` are the times of the alarms [s], -inf where samples come without times.
    errors
        Errors of the torques beyond white noise.

    Notes
    -----
    The covariance is that of least squares, ``s^2 f (R'R)^-1 + sum_j e_j^2 u_j u_j'``: s^2 the variance of the
    residual, usual or since the change, whichever is larger; f the inflation by its correlation (`ResidualNoise`),
    learnt over all loads; and ``u_j``, the contribution of the torques of joint j to the load ``p = sum_j u_j``, is the
    derivative of p with respect to the torque scale of joint j.
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
        errors: TorqueErrors | None = None,
    ) -> None:
        errors = TorqueErrors() if errors is None else errors
        super().__init__(model, model.regressor, weights, forgetting, mu)
        shape = (len(model.parameter_names),)
        self.parameters = numeric_array(parameters, "parameters", DatasetError, finite=True, shape=shape)
        body = numeric_array(plausible, "plausible", DatasetError, shape=(10,))
        self.plausible = Plausible(body[None], np.zeros(0), np.zeros(0))
        self.detector = ChangeDetector(10) if detector is None else detector
        self.gain_error = checked_shares("gain", model.n, errors.gain)
        self.correlation = checked_shares("correlation", model.n, errors.correlation, 1.0)
        self._whitened = Whitening(self.correlation)
        self._state = None if errors.state is None else StateWeights(model, self.parameters, errors.state)
        self._longest = float(max(self.detector.windows))
        self._recent = RecentSamples(maxlen=round(self._longest))
        # until the detector knows what is usual, all samples are kept, so that a change is found afterwards
        self._early: RecentSamples | None = RecentSamples(maxlen=round(self.detector.learning) + 1)
        self._looks, self._looked, self.since = 0, 0, -np.inf
        self.changes: list[float] = []
        self._columns = list(model.link_columns[-1])
        self.noise = ResidualNoise(model.n)
        self._usual = ResidualNoise(model.n) if self.correlation.any() else self.noise
        self._forget()

    @property
    def by_state(self) -> bool:
        """Whether the deviation of the torques depends on the state (`TorqueErrors.state`)."""
        return self._state is not None

    def update(self, q: ArrayLike, dq: ArrayLike, ddq: ArrayLike, tau: ArrayLike, t: ArrayLike | None = None) -> bool:
        """Add one sample or many; True if a change of the load was detected.

        Raises
        ------
        DatasetError
            As for `Online.update`; the estimator is then unchanged.
        """
        s, times, Y = self.taken(q, dq, ddq, tau, t)
        with np.errstate(over="ignore", invalid="ignore"):  # `weighted` names the sample that is too large
            residual = s["tau"] - Y @ self.parameters
        weights, moving = np.broadcast_to(self.weights, residual.shape), np.ones(residual.shape, dtype=bool)
        shift = np.zeros(residual.shape)
        state = None
        if self._state is not None:
            state, weights, moving, shift = self._state.at(s, times, self.weights, self.correlation, self._longest)
        plain = weighted(weights, Y[:, :, self._columns], residual - shift)
        white = self._whitened(*plain, times, moving)
        if self._state is not None:
            self._state.last = state
        changed = False
        for k, (row, target, moves, plain_row, plain_target) in enumerate(zip(*white, moving, *plain, strict=True)):
            now = self.time if times is None else float(times[k])
            sample = Sample(row, target, moves, plain_row, plain_target, now, self._plain)
            self._recent.append(sample)
            alarm = self.detector.update(
                plain_row, plain_target, self._plain, self._usual, float(moves.mean()), self._explained
            )
            if alarm:
                changed = True
                self._start_anew(now, self._recent.since_change())
            elif not self.detector.disturbed:
                self._take(sample)
                if self._early is not None:
                    self._early.append(sample)
                    if len(self._early) >= self.detector.learning:
                        changed = self._looked_back(now) or changed
                        self._early = None
        self.time = now
        return changed

    def _looked_back(self, now: float) -> bool:
        """Whether the load changed before the detector could notice; what is learnt then begins at the change."""
        early = self._early
        if early is None or len(early) < (1.0 + REFRESH) * self._looked:
            return False
        self._looked, self._looks = len(early), self._looks + 1
        chance = self.detector.probability * self.detector.learning  # as if alarms could already be raised
        if not early.changed(chance / self._looks / (self._looks + 1)):  # all looks together: no more than the chance
            return False
        if self._explained(early) <= 0.0:
            return False
        self.detector.forget()
        self._start_anew(now, early.since_change())
        return True

    def _explained(self, recent: RecentSamples | None = None) -> float:
        """By how much a new physical load explains the samples since the most likely change better than the present.

        Over the usual variance of the residual; zero where the new load leaves the larger part of the deviation.
        """
        before, own = (recent or self._recent).new()
        both = before.updated(own.R, own.rho)
        one, old, new = map(self._solve, (both, before, own))
        gain = (one.objective + both.rest) - (old.objective + before.rest) - new.objective
        usual = self._usual.variance
        left = new.data + own.rest - own.count * usual
        return gain / usual if gain > left else 0.0

    def _start_anew(self, now: float, kept: Sequence[Sample]) -> None:
        """Restart with the samples of the new load only."""
        self.changes.append(now)
        self._forget()
        self.since = kept[0].time if kept else now
        for sample in kept:
            sample = sample._replace(before=self._plain)
            self._take(sample)
            if self._early is not None:
                self._early.append(sample)

    def _forget(self) -> None:
        """Begin without a sample of the present load."""
        # the detector compares levels, whatever the correlation: differences of torques hold little about them
        self.information = self._plain = Information.nothing(10)
        # right-hand sides with the torques of one joint each: their solutions add up to the estimate
        self._joints = Information(np.zeros((10, 10)), np.zeros((10, self.model.n)))
        self._last: Array | None = None
        self._judged, self._settled, self._looked = 0.0, 0, 0
        if self._early is not None:
            self._early.clear()

    def _take(self, sample: Sample) -> None:
        """Add one sample of the present load."""
        row, target, counted = sample.row, sample.target, float(sample.moving.sum())
        self._settled += 1
        known = self._last if self._settled > SETTLING else None
        if known is not None:
            self.noise.update(np.where(sample.moving, target - row @ known, np.nan))
        if self._usual is not self.noise:
            if known is not None:
                self._usual.update(np.where(sample.moving, sample.plain_target - sample.plain_row @ known, np.nan))
            self._plain = self._plain.forgotten(sample.plain_row, self.forgetting).updated(
                sample.plain_row, sample.plain_target, counted
            )
        if self.gain_error.any():
            self._joints = self._joints.forgotten(row, self.forgetting).updated(row, np.diag(target))
        self.information = self.information.forgotten(row, self.forgetting).updated(row, target, counted)
        if self._usual is self.noise:
            self._plain = self.information
        if abs(self.information.count - self._judged) > REFRESH * self._judged:
            self._last = self._solve(self.information).x
            self._judged = self.information.count

    def estimate(self, iterations: int = 100) -> LoadEstimate:
        """The load now, from the last estimate on.

        Before the detector can raise an alarm (`ChangeDetector.learning`), the samples so far are searched for a
        change; one that is found is among ``changes``, and the estimate is that of the samples since.
        """
        self._looked_back(self.time)
        found = self._solve(self.information, checked_iterations(iterations))
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

    def _solve(self, part: Information, iterations: int = 100) -> Entropic:
        return entropic_estimate(part.R, part.rho, self.plausible, self.mu, self._last, iterations)


@dataclass
class Whitening:
    """Equations ``(y_k - a^g y_k-1) / sqrt(1 - a^2g)`` of a residual that is an autoregression of first order.

    Prais and Winsten (1954); g is the number of usual steps since the sample before, so that lost samples and pauses
    count. The first equation of all is unchanged.

    Attributes
    ----------
    correlation : ndarray, shape (n,)
        a of each joint, in [0, 1).
    """

    correlation: Array

    def __post_init__(self) -> None:
        self._before: tuple[Array, Array] | None = None
        self._moved: NDArray[np.bool_] | None = None
        self._time, self._step, self._steps = -np.inf, 0.0, 0

    def __call__(
        self, rows: Array, residual: Array, times: Array | None, moving: NDArray[np.bool_]
    ) -> tuple[Array, Array]:
        """Whitened rows (N, n, size) and residuals (N, n).

        Times, shape (N,) [s], reveal pauses; ``moving``, shape (N, n), when a joint sets out: the difference to a
        torque at rest tells nothing, and its equation is zero.
        """
        if not self.correlation.any():
            return rows, residual
        share = self.correlation ** self._gaps(times, len(rows))[:, None]
        if self._before is None:
            share[0] = 0.0
        first = (rows[0], residual[0]) if self._before is None else self._before
        a, b = (np.concatenate([x[None], y[:-1]]) for x, y in zip(first, (rows, residual), strict=True))
        self._before = rows[-1], residual[-1]
        size = np.sqrt(1.0 - share**2)
        white = (rows - share[..., None] * a) / size[..., None], (residual - share * b) / size
        before = moving[0] if self._moved is None else self._moved
        out = moving & ~np.concatenate([before[None], moving[:-1]])
        self._moved = moving[-1].copy()
        white[0][out], white[1][out] = 0.0, 0.0
        return white

    def _gaps(self, times: Array | None, count: int) -> Array:
        """Usual steps from the sample before to each; 1 where times do not say."""
        gaps = np.ones(count)
        for k, time in enumerate(() if times is None else times):
            step, self._time = float(time) - self._time, float(time)
            if 0.0 < step < np.inf:
                gaps[k] = max(round(step / self._step), 1) if self._steps else 1
                self._steps += 1
                self._step += (step / gaps[k] - self._step) / self._steps
        return gaps
