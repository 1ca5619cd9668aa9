"""The share of the residual that plausibility may cost, chosen by held-out error.

The residual of a real robot is model error, not noise, so that no quantile of a noise distribution tells how far the
choice of plausible links may go. Each of several shares is therefore tried on parts of the motion that a fit did not
see. Of the shares than whose held-out error the best one's is not surely less (`casid.evidence.compared`, on the
squares of the stretches of the motion), and is less by at most 5 %, the largest is taken: its links are the most
plausible. Without the second condition the AR5's share is 15 % in place of 10, its held-out error 2.41 in place of
2.24 %.

An estimator that does not minimise squared torques (maximum likelihood, instruments) is not judged by them alone: what
its estimate's own metric and covariance exclude with 95 % is not tried (`own_share`). Samples count in the choice as
they count in the fit.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from casid.arrays import Array
from casid.errors import CasidError
from casid.evidence import compared
from casid.regression import CompressedData, Fit
from casid.retrieval import chi_square

#: Shares that are tried; those that are tried too where the largest of these is the choice; and the one that is taken
#: where nothing can be held out.
SHARES, FURTHER, NOT_HELD_OUT = (0.3, 0.2, 0.15, 0.1, 0.07, 0.05, 0.03, 0.02), (1.0, 0.7, 0.45), 0.05
#: Largest held-out error of the choice over that of the best.
ABOVE_BEST = 1.05


@dataclass(frozen=True)
class ShareStep:
    """One share.

    Attributes
    ----------
    share : float
        Relative increase of the residual's norm.
    error : float
        Held-out error [%].
    deviation : float
        Standard error of its difference to the least one, over the stretches of the motion [%].
    mass : float
        Of all links, fitted to the whole motion [kg]; NaN where it is not known.
    """

    share: float
    error: float
    deviation: float
    mass: float = float("nan")


@dataclass(frozen=True, eq=False)
class SharePath:
    """The shares that were tried, and the choice.

    Attributes
    ----------
    steps : tuple of ShareStep
        The largest share first; none where nothing was held out.
    share : float
        The choice.
    folds : tuple
        Base parameters of every fold, for its held-out error: the unconstrained fit, and those of each share.
    price : float
        Of the residual at the choice (`MostPlausible.price`), fitted to the whole motion; 0 where it is not known.
    """

    steps: tuple[ShareStep, ...]
    share: float
    folds: tuple[tuple[Fit, dict[float, Array]], ...] = ()
    price: float = 0.0

    @property
    def best(self) -> ShareStep | None:
        """The step of least held-out error."""
        return min(self.steps, key=lambda step: step.error, default=None)

    @property
    def reason(self) -> str:
        """What the share rests on, in words."""
        best = self.best
        if best is None:
            return f"share {100 * self.share:.3g} %: nothing was held out to choose it by"
        own = next(step for step in self.steps if step.share == self.share)
        end = ", the largest of them: the data would allow more" if self.ends else ""
        return (
            f"share {100 * self.share:.3g} % of {len(self.steps)} tried: held-out error {own.error:.2f} %, the best "
            f"{best.error:.2f} % at {100 * best.share:.3g} %, less by {own.error - best.error:.2f} +- "
            f"{own.deviation:.2f} %{end}"
        )

    @property
    def ends(self) -> bool:
        """Whether the choice is the largest share that was tried, so that a larger one might do as well."""
        return bool(self.steps) and self.share == max(step.share for step in self.steps)

    def with_masses(self, masses: Mapping[float, float]) -> SharePath:
        """The same path with the total mass of each step [kg]."""
        steps = tuple(replace(step, mass=masses.get(step.share, float("nan"))) for step in self.steps)
        return replace(self, steps=steps)

    def record(self) -> dict[str, object]:
        """Plain numbers."""
        return {
            "share": self.share,
            "reason": self.reason,
            "steps": [
                {
                    "share": s.share,
                    "held_out": s.error,
                    "standard_error": s.deviation,
                    "total_mass": s.mass if np.isfinite(s.mass) else None,
                }
                for s in self.steps
            ],
        }


def fixed(share: float | None) -> SharePath:
    """A share that is given; ``None``: nothing can be held out."""
    return SharePath((), NOT_HELD_OUT if share is None else share)


def chosen_share(
    data: CompressedData,
    unconstrained: Callable[[CompressedData], Fit],
    path: Callable[[Fit, Sequence[float]], dict[float, Array]],
    folds: int,
    progress: Callable[[int], None] = lambda done: None,
    most: float = np.inf,
) -> SharePath:
    """Choose the share by the error on parts of the motion that are left out in turn.

    Parameters
    ----------
    data
        With its stretches.
    unconstrained, path
        How to fit a part of the data, and from such a fit the base parameters of each of several shares.
    folds
        Number of parts.
    progress
        Called with the number of folds done.
    most
        The largest share that is tried.
    """
    shares, further = ([s for s in tried if s < most] for tried in (SHARES, FURTHER))
    if most <= max(FURTHER):
        (shares if most <= max(SHARES) else further).insert(0, most)
    count = len(data.segments)
    folds = min(folds, count)
    if folds < 2:
        return fixed(None)
    made: list[tuple[Fit, dict[float, Array]]] = []
    try:
        for fold in range(folds):
            fit = unconstrained(data.only([i for i in range(count) if i % folds != fold]))
            made.append((fit, path(fit, shares)))
            progress(fold + 1)
        chosen = _chosen(data, made)
        if chosen.ends and further:
            made = [(fit, path(fit, further) | betas) for fit, betas in made]
            chosen = _chosen(data, made)
    except CasidError:
        return fixed(None)
    return chosen


def own_share(fit: Fit) -> float:
    """The largest share that an estimate's own statistics allow; infinite where it minimises the data's squares.

    The metric of an indirect estimate (`casid.regression._fit.quadratic`) is its covariance in units of one of the
    ``nu`` independent samples' squares; the scores of batches, of which it is made, hold what is no noise too. The true
    parameters lie within ``chi^2`` of its rank with 95 %: ``(1 + s)^2 = 1 + chi^2 / nu``.
    """
    if not fit.indirect:
        return float("inf")
    counted = np.asarray(fit.weights) > 0
    freedom = max(float(fit.data.independent_samples[counted].sum()) - fit.rank, 1.0)
    return float(np.sqrt(1.0 + chi_square(fit.rank, 0.05) / freedom)) - 1.0


def _chosen(data: CompressedData, made: Sequence[tuple[Fit, dict[float, Array]]]) -> SharePath:
    """The choice among the shares that every fold has."""
    everywhere = sorted(set.intersection(*(set(betas) for _, betas in made)), reverse=True)
    squares, torques = np.zeros((len(data.segments), len(everywhere))), 0.0
    for i in range(len(data.segments)):
        held, betas = data.only([i]), made[i % len(made)][1]
        torques += float(held.squared_torques.sum())
        squares[i] = [held.squared_errors(betas[share]).sum() for share in everywhere]
    if not everywhere or torques <= 0:
        return fixed(None)
    totals = np.maximum(squares.sum(axis=0), 1e-300)
    least = int(np.argmin(totals))
    against = [compared(squares[:, k], squares[:, least]) for k in range(len(everywhere))]
    errors = 100.0 * np.sqrt(totals / torques)
    near = (errors <= ABOVE_BEST * errors[least]) & ~np.array([each.better for each in against])
    deviations = errors * len(squares) * np.array([each.error for each in against]) / totals / 2.0
    steps = tuple(ShareStep(*map(float, one)) for one in zip(everywhere, errors, deviations, strict=True))
    return SharePath(steps, max(step.share for step, taken in zip(steps, near, strict=True) if taken), tuple(made))
