r"""The scale of one joint's torque against the others': a gear ratio or torque constant, by what links can be.

Free parameters follow a torque of another scale where a motion is short, slow, or of few joints, and so does a spring
that the choice of the model puts in its place; plausible bodies (`casid.retrieval.plausible`) do not. The choice among
them is the mode of a posterior; with each joint's noise as large as its own residual,

    L(s) = min_x  sum_j nu_j / 2 log q_j(x, s) + D(x) + p / 2 log sum_j nu_j,
    q_j(x, s) = ||tau_j - Y_j x / s_j||^2,

D the divergence from plausible bodies (docs/plausible.md, P2), nu_j the joint's independent samples, and p the
parameters of the springs that were found, with and without which it is computed (Schwarz 1978). Torque constants are
known within a factor of 1.2; only where L falls towards it is it computed beyond. The joint and factor of the least L
are sure where the same holds for the samples of each joint's residual that count as independent
(`casid.evidence.ResidualNoise`: errors of a model repeat themselves). These are the samples of what is left under that
factor, the larger model, for both: without a wrong scale it is what is left as recorded; with one, that holds the
fault's own error, which repeats itself and would be counted against it. Twice the fall of L from the least within 1.2
exceeds the quantile of chi^2 with one degree of freedom, at the one confidence shared among the joints. A factor within
1.2 is hardest to tell from one beyond at that edge, where only errors away from it count: half of chi^2, whose quantile
is that at twice the level (Chernoff 1954).

References
----------
G. Schwarz, "Estimating the dimension of a model", Annals of Statistics 6(2), 1978. H. Chernoff, "On the distribution of
the likelihood ratio", Annals of Mathematical Statistics 25(3), 1954.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from casid.arrays import Array
from casid.evidence import CONFIDENCE, ResidualNoise
from casid.identification._consistent_fits import ConsistentFits
from casid.identification._joint_terms import COUNTERBALANCE, SPRING, gram, gram_squares, spring_bounds
from casid.identification._regression import FeasibleFit
from casid.measurement import Dataset
from casid.regression import CompressedData, Fit, compress, torques, wls
from casid.retrieval import chi_square

#: Factor within which torque constants are known (data sheets state 10 %, of motor and of gear), those beyond that are
#: tried, and the accuracy of the best one's logarithm and of L.
KNOWN, FACTORS, FINE = 1.2, tuple(2.0 ** (k / 2) for k in range(1, 4)), 0.02


class Scale(NamedTuple):
    """The torque of one joint times a factor.

    Attributes
    ----------
    joint : int
    factor : float
    gain : float
        Fall of L.
    sure : bool
        Whether chance does not explain it.
    springs : bool
        Whether it has the springs that were found.
    """

    joint: int
    factor: float
    gain: float
    sure: bool
    springs: bool


class _Account(NamedTuple):
    """A model's fit, how it is made consistent, and the parameters of its springs."""

    fits: ConsistentFits
    fit: Fit
    springs: int


class ScalePosterior:
    """L of the scales of single joints.

    Parameters
    ----------
    datasets
        Processed.
    feasible
        Their consistent fit.
    fits
        How a fit is made consistent.
    """

    def __init__(self, datasets: Sequence[Dataset], feasible: FeasibleFit, fits: ConsistentFits) -> None:
        fit = feasible.fit
        self._datasets, self._samples = datasets, fit.data.independent_samples
        self.joints = tuple(map(int, np.flatnonzero(fit.data.counts)))
        self._near = feasible.parameters
        self._squares = fit.data.squared_errors(feasible.beta)
        terms = [t for t in fit.data.model.terms if not (fits.springs and t.name in (*COUNTERBALANCE, *SPRING))]
        self._accounts = [_Account(fits, fit, 0)]
        if len(terms) < len(fit.data.model.terms):
            bare = wls(compress(fit.data.model.like(terms=terms), datasets), fit.weights)
            more = len(fit.data.model.parameter_names) - len(bare.data.model.parameter_names)
            self._accounts = [
                _Account(fits, fit, more),
                _Account(replace(fits, springs=()), bare, 0),
            ]

    def found(self) -> Scale | None:
        """The scale that is better than any as torque constants are known; ``None`` where there is none."""
        from scipy.optimize import minimize_scalar  # slow to import

        if self._accounts[0].fits.constraints.consistency != "full":
            return None
        here = [self._least(account, 0, 0.0)[0] for account in self._accounts]
        known, beyond = min(here), list[tuple[float, float, int, _Account]]()
        for account, own in zip(self._accounts, here, strict=True):
            for k in self.joints:
                for side in (1.0, -1.0):
                    edge = self._least(account, k, side * float(np.log(KNOWN)))[0]
                    known = min(known, edge)
                    logs: Array = side * np.log(FACTORS if edge < own else ())
                    beyond += [(self._least(account, k, float(log))[0], float(log), k, account) for log in logs]
        if not beyond:
            return None
        value, log, k, account = min(beyond, key=lambda one: one[0])
        if not value < known:
            return None
        step = float(np.log(FACTORS[0])) / 2.0
        fine = minimize_scalar(
            lambda x: self._least(account, k, x)[0], bounds=(log - step, log + step), options={"xatol": FINE}
        )
        value, log = min((value, log), (float(fine.fun), float(fine.x)))
        near = [own * float(np.log(KNOWN)) for own in (-1.0, 0.0, 1.0)]
        surely = self._independent(account, k, log)
        known = min(self._least(one, k, x, surely)[0] for one in self._accounts for x in near)
        gain = known - self._least(account, k, log, surely)[0]
        chance = chi_square(1, 2.0 * (1.0 - CONFIDENCE) / len(self.joints)) / 2.0
        return Scale(k, float(np.exp(log)), gain, gain > chance, account is self._accounts[0])

    def _independent(self, account: _Account, joint: int, log: float) -> Array:
        """Samples that count as independent, by what is left with the torque of a joint times ``exp(log)``."""
        model, counts = account.fit.data.model, account.fit.data.counts
        values = self._least(account, joint, log)[1]
        factors = np.where(np.arange(model.n) == joint, np.exp(-log), 1.0)
        left = [np.where(d.counted, d.tau - factors * torques(model, values, d), np.nan) for d in self._datasets]
        repeats = [ResidualNoise.of([one[:, [k]] for one in left]).sure_inflation for k in range(model.n)]
        return np.asarray(counts / np.maximum(account.fit.data.correlation, repeats))

    def _least(self, account: _Account, joint: int, log: float, samples: Array | None = None) -> tuple[float, Array]:
        """L with the torque of a joint times ``exp(log)`` and where it is least; infinite where no bodies are found.

        Plausible bodies are weighed anew for each: what they weigh follows the torques. The logarithms of the squares
        are replaced by their tangents in turn, which lie above them: L falls from turn to turn. Offsets of friction are
        free: what the model lacks, such as a counterbalance, looks like one, and is no evidence of a scale.
        """
        data, rank = _scaled(account.fit.data, joint, float(np.exp(log))), account.fit.data.base.rank
        estimate = replace(account.fit, data=data, indirect=False)
        priced = account.fits.priced(estimate, spring_bounds(data), 1.0, offsets=False)
        columns = data.base.K[:, priced.problem.columns]
        x: Array | None = np.array([self._near[data.model.parameter_names[c]] for c in priced.problem.columns])
        squares, value, counts = self._squares, np.inf, self._samples if samples is None else samples
        used = (counts > 0) & (squares > 0)
        complexity = account.springs / 2.0 * float(np.log(counts.sum()))
        while True:
            weights = np.where(used, np.sqrt(counts / 2.0 / np.where(used, squares, 1.0)), 0.0)
            x = priced.program.priced(1.0, x, (), gram_squares(gram(data.factors, weights, rank + 1), columns))
            if x is None:
                return np.inf, np.zeros(0)
            values = priced.problem.values(x)
            squares, before = data.squared_errors(data.base.values(values)), value
            likelihood = float(counts[used] @ np.log(squares[used])) / 2.0
            value = likelihood + priced.program.divergence(x, 1.0) + complexity
            if not before - value > FINE:
                return value, values


def _scaled(data: CompressedData, joint: int, factor: float) -> CompressedData:
    """The data with the rows of a joint in the unit of which its torque has ``factor`` times as many."""
    rank, factors = data.base.rank, list(data.factors)
    factors[joint] = np.hstack([factors[joint][:, :rank] / factor, factors[joint][:, rank:]])
    plain = None if data.unweighted is None else _scaled(data.unweighted, joint, factor)
    return replace(data, factors=tuple(factors), segments=(), unweighted=plain)
