"""Detection of load changes by a likelihood ratio, and the most likely time of the change."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import fdtri

from casid.arrays import Array
from casid.evidence import ResidualNoise
from casid.online._known_robot import FEW
from casid.online._samples import Information
from casid.retrieval import chi_square

#: Weight of the chi-square variance with as many degrees of freedom as parameters, beside that of T's past [windows]:
#: a variance of few independent values is uncertain, of three by about its own size.
BEFORE = 3.0
#: Delay with which the usual statistic is learnt [windows]: a sample's weight in the window is then e^-2 = 14 %.
BEHIND = 2.0


@dataclass
class FadingWindow:
    """Exponential window of the latest samples, and the usual size of its likelihood ratio.

    With the window's information ``(R_w, rho_w)`` and that of everything since the last change ``(R, rho)``,

        T = min_p ||rho - R p||^2 + ||rho_w - R_w p||^2 - min ||rho - R p||^2 - min ||rho_w - R_w p||^2

    is the generalised likelihood ratio of "the parameters have changed" (Basseville and Nikiforov 1993, Sec. 7.2). It
    accounts for the information on both sides: directly after a change there is none to compare with, and T is zero.
    Over the variance of the residual, white noise alone gives half a chi-square variable, correlated noise as much more
    as it makes a mean over the window vary more (`ResidualNoise.inflation`). Residuals of real robots depend on the
    motion besides, so the alarm level is also learnt from T's own past: its mean m and variance v are those of
    ``v / (2 m)`` times a chi-square variable of ``2 m^2 / v`` degrees of freedom (Satterthwaite 1946), whose quantile
    allows for tails as long as T's. Both are learnt with a delay: a change that is slow, or still too small to be
    detected, does not enter the usual statistic, and its residuals do not enter the noise.

    Attributes
    ----------
    samples : float
        Length after which the weight of a sample has fallen to 1/e.
    """

    size: int
    samples: float
    statistic: float = 0.0

    def __post_init__(self) -> None:
        self._mean = self._square = self._seen = self._weight = 0.0
        self._inflation = 1.0
        self.forget()

    def forget(self) -> None:
        """Empty the window; the learnt statistic remains."""
        self._information, self.statistic = Information.nothing(self.size), 0.0
        self._before, self._recent = (self._information, 0.0), deque[tuple[float, float]]()

    def update(self, rows: Array, targets: Array, reference: Information, variance: float) -> float:
        """T with one more sample, over the variance of the residual."""
        self._before = self._information, self.statistic
        own = self._information = self._faded().updated(rows, targets)
        self.statistic = (reference.updated(own.R, own.rho).rest - reference.rest) / variance
        return self.statistic

    @property
    def before(self) -> float:
        """T without the newest sample."""
        return self._before[1]

    def undo(self) -> None:
        """Remove the newest sample."""
        self._information, self.statistic = self._before

    def skip(self) -> None:
        """Remove the newest sample, and let the others fade."""
        self.undo()
        self._information = self._faded()

    def _faded(self) -> Information:
        fade = np.sqrt(1.0 - 1.0 / self.samples)
        return Information(self._information.R * fade, self._information.rho * fade)

    def learn(self, memory: float, noise: ResidualNoise, share: float = 1.0) -> None:
        """Learn the usual statistic and the inflation of the noise from those of `BEHIND` windows ago.

        ``share`` of the joints move: the others tell nothing of what is usual.
        """
        self._recent.append((self.statistic, noise.inflation(self.samples)))
        if len(self._recent) <= BEHIND * self.samples:
            return
        usual, self._inflation = self._recent.popleft()
        self._seen += share
        rate = share / min(max(self._seen, 1.0), memory)
        if rate <= 0.0:
            return
        self._weight = 1.0 / (rate * self.samples)
        self._mean += rate * (usual - self._mean)
        self._square += rate * ((usual - self._mean) ** 2 - self._square)

    def level(self, probability: float) -> float:
        """Alarm level: the statistic that is exceeded with this probability without a change."""
        level = self._inflation * chi_square(self.size, probability) / 2
        if self._mean > 0.0:
            chance = 2 * self._mean**2 / self.size  # variance with as many degrees of freedom as parameters
            variance = (BEFORE * chance + self._weight * self._square) / (BEFORE + self._weight)
            scale, freedom = variance / (2 * self._mean), 2 * self._mean**2 / variance
            level = max(level, scale * chi_square(freedom, probability))
        return level


@dataclass
class ChangeDetector:
    """Alarm when the statistic of any window exceeds its level.

    The short window detects heavy loads quickly, the long one light loads. A sample that raises T from below half of
    the alarm level is suspected to be an outlier: it is left out of the windows, and the alarm is raised only if the
    next sample exceeds the level too.

    Ten free parameters explain much that no load does, most where few joints move: a hard stop, a collision. The alarm
    is raised only where a physical load explains the larger part of the deviation; without one the samples are a
    disturbance (``disturbed``), which is no part of the reference. One that outlasts the longest window is a change.

    Attributes
    ----------
    size : int
        Parameters of the load.
    windows : sequence of float
        Lengths [samples].
    memory : float
        Samples over which the usual statistic is learnt; no alarm before as many, nor by a window without any learnt.
    probability : float
        Probability that the statistic exceeds the alarm level at a sample without a change.
    """

    size: int = 10
    windows: Sequence[float] = (30.0, 300.0)
    memory: float = 500.0
    probability: float = 3e-9

    @property
    def learning(self) -> float:
        """Samples before which no alarm is raised by some window."""
        return max(self.memory, (BEHIND + 1.0) * max(self.windows))

    def __post_init__(self) -> None:
        self._windows = [FadingWindow(self.size, samples) for samples in self.windows]
        self._least = chi_square(self.size, self.probability) / 2
        self._seen, self._suspected, self._disturbed = 0.0, False, 0

    def forget(self) -> None:
        """Empty the windows; what is usual remains."""
        for window in self._windows:
            window.forget()

    @property
    def disturbed(self) -> bool:
        """Whether the newest samples deviate as no load does."""
        return self._disturbed > 0

    def update(
        self,
        rows: Array,
        targets: Array,
        reference: Information,
        noise: ResidualNoise,
        share: float = 1.0,
        explained: Callable[[], float] | None = None,
    ) -> bool:
        """Whether this sample raises the alarm; the windows are then emptied.

        Parameters
        ----------
        rows, targets
            Weighted equations of the newest sample, ``rows p = targets`` of unit variance, shapes (n, size) and (n,).
        reference
            All samples before it, since the last change.
        noise
            Usual noise of the residual.
        share
            Of the joints that move; resting ones tell nothing of what is usual.
        explained
            By how much a new load explains the newest samples better than the present one does: T with the objective
            that makes loads physical in place of least squares; zero where it leaves more than it explains. By default
            any ten parameters are a load.
        """
        self._seen += share
        variance = noise.variance_with(reference.rest, reference.count)
        exceeded, sudden = False, True
        for window in self._windows:
            statistic = window.update(rows, targets, reference, variance)
            if self._seen > max(self.memory, (BEHIND + 1.0) * window.samples) and statistic > self._least:
                level = window.level(self.probability)
                exceeded = exceeded or statistic > level
                sudden = sudden and not (statistic > level and window.before > level / 2)
        alarm = exceeded and (explained is None or explained() > self._least)
        self._disturbed = self._disturbed + 1 if exceeded and not alarm else 0
        if self._disturbed > max(self.windows):
            alarm, sudden, self._disturbed = True, False, 0
        self._suspected = alarm and sudden and not self._suspected
        for window in self._windows:
            if self._suspected:
                window.undo()
            elif alarm:
                window.forget()
            elif self._disturbed:
                window.skip()
            else:
                window.learn(self.memory, noise, share)
        return alarm and not self._suspected


class Sample(NamedTuple):
    """Equations of one sample, whitened and original, and the information before it."""

    row: Array
    target: Array
    moving: NDArray[np.bool_]
    plain_row: Array
    plain_target: Array
    time: float
    before: Information


class RecentSamples(deque[Sample]):
    """The last samples before an alarm, as many as ``maxlen``.

    With parameters p before and others after a change at sample k, the most likely k minimises

        sum_{i < k} (increase of min ||rho - R p||^2 by sample i) + min over samples from k on of their sum of squares

    (Basseville and Nikiforov 1993, Sec. 2.6: the maximum likelihood estimate of the change time).
    """

    def since_change(self) -> list[Sample]:
        """Samples after the most likely change; the first of them, which may have begun before it, is left out.

        The buffer is empty afterwards.
        """
        kept = list(self)[self._change() + 1 :]
        self.clear()
        return kept

    def new(self) -> tuple[Information, Information]:
        """Information before the most likely change, and of the samples from it on, of original equations."""
        samples = list(self)[self._change() :]
        rows, targets = _equations(samples)
        before, moving = samples[0].before, float(sum(s.moving.sum() for s in samples))
        return before, Information.nothing(rows.shape[1]).updated(rows, targets, moving)

    def changed(self, probability: float) -> bool:
        """Whether the load surely changed among these samples, by what they themselves show of the noise.

        With N samples of noise of inflation f (`ResidualNoise`) and size parameters before and after a change, the
        likelihood ratio of the most likely change over ``size f s^2`` has Fisher's distribution F(size, nu), ``nu = N /
        f - 2 size``, where s^2 is the sum of squares that either side leaves over ``f nu``. It exceeds the quantile of
        the probability of a false alarm, which all samples share.
        """
        samples = list(self)
        if len(samples) < 2 * FEW:
            return False
        k = min(max(self._change(), FEW), len(samples) - FEW)
        before, size = samples[k].before, len(samples[0].before.rho)
        own, left, moving = Information.nothing(size).updated(*_equations(samples[k:])), list[Array](), list[float]()
        for part, load in ((samples[:k], before.estimate), (samples[k:], own.estimate)):
            left.append(np.array([np.where(s.moving, s.plain_target - s.plain_row @ load, np.nan) for s in part]))
            moving.append(float(np.isfinite(left[-1]).sum()))
        noise = ResidualNoise.of(left)
        gain = before.updated(own.R, own.rho).rest - before.rest
        independent = np.array(moving) / noise.sure_inflation
        if independent.min() < 2 * size:  # a side that its own load explains shows nothing of the noise
            return False
        freedom = independent.sum() - 2 * size
        variance = noise.variance * noise.sure_inflation * independent.sum() / freedom
        return bool(gain > size * variance * fdtri(size, freedom, 1.0 - probability / len(samples)))

    def _change(self) -> int:
        """The most likely first sample after a change, to a three hundredth of them."""
        samples = list(self)
        if not samples:
            return 0
        firsts = range(0, len(samples), -(-len(samples) // 300))
        groups = [samples[i : i + firsts.step] for i in firsts]
        equations = [_equations(group) for group in groups]
        added = [g[0].before.updated(*new).rest - g[0].before.rest for g, new in zip(groups, equations, strict=True)]
        own, after = Information.nothing(len(samples[0].before.rho)), []
        for rows, targets in reversed(equations):
            own = own.updated(rows, targets)
            after.append(own.rest)
        squares = np.concatenate([[0.0], np.cumsum(added)[:-1]]) + np.array(after[::-1])
        return firsts[int(np.argmin(squares))]


def _equations(samples: Sequence[Sample]) -> tuple[Array, Array]:
    """Original equations of all samples."""
    return np.concatenate([s.plain_row for s in samples]), np.concatenate([s.plain_target for s in samples])
