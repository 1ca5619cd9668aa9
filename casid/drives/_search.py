"""Gauss-Newton on free runs: bounds, weak priors, a robust loss, initial states eliminated piece by piece."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import lsq_linear

from casid.arrays import RANK, Array
from casid.drives._rollout import Branch
from casid.drives._runs import FreeRuns, Point
from casid.evidence import Comparison, compared, robust_sd

Progress = Callable[[str, int, int], None]

#: Mean square of the parameters' moves still to come, in units of their variances, below which a search has ended:
#: intervals are wider by half of it; and the share of the cost, where few errors count as independent.
CONVERGED, _NEGLIGIBLE = 0.05, 2e-3
#: A model misses what encoders show where its errors are beyond so many deviations of their noise: three quarters of
#: their square are then its own.
MISFIT = 2.0
#: Steps of the last search, by finer integration; of one that begins again near its end; so many steps in turn that do
#: not lower the cost end a search.
_POLISHED, AGAIN, _FAILED = 5, 8, 4


def silent(text: str, number: int, total: int) -> None:
    """Show no progress."""


@dataclass(frozen=True, eq=False)
class Block:
    """Normal equations of one branch in one piece: parameters first, then its initial state."""

    places: list[int]
    A: Array
    g: Array
    cost: float
    #: Sums of squares of the errors and number of samples, one a joint.
    squares: Array
    count: int

    def eliminated(self, rows: Array) -> Array:
        """Rows of parameters and initial state -> of the parameters alone, shape (parameters, ...)."""
        m = len(self.places)
        return np.asarray(rows[:m] - self.A[:m, m:] @ np.linalg.solve(self.A[m:, m:], rows[m:]))


@dataclass(frozen=True, eq=False)
class Normal:
    """Normal equations of all pieces with the initial states eliminated."""

    A: Array
    g: Array
    cost: float
    blocks: list[list[Block]]
    squares: Array
    count: int

    @property
    def rms(self) -> float:
        """Root mean square error over samples and joints."""
        return float(np.sqrt(self.squares.sum() / (self.count * len(self.squares))))


@dataclass
class Search:
    """Levenberg-Marquardt with bounds.

    Minimises ``sum rho(r / s) + sum ((x0 - m) / spread)^2 + sum ((theta - value) / sd)^2`` with the errors r of all
    positions, Huber's rho and one scale s, which counts correlated errors as what they are worth: ``s^2 = sigma^2 tau``
    with the inflation tau of `correlation`.

    Attributes
    ----------
    runs : FreeRuns
    iterations : int
    tolerance : float
        Mean square of the parameters' moves to come, in their variances, below which it has ended.
    threshold : float
        Errors beyond so many robust deviations count linearly.
    budget : float
        Runs it may spend.
    scatter : ndarray, optional
        Covariance of the parameters by other minima that are as good, where the cost is rough.
    """

    runs: FreeRuns
    iterations: int = 25
    tolerance: float = CONVERGED
    threshold: float = 4.0
    budget: float = 100.0
    progress: Progress = silent
    scale: float = 1e-3
    inflation: float = 1.0
    scatter: Array | None = None

    def __post_init__(self) -> None:
        p = self.runs.parameters
        self.lower, self.upper = self.runs.bounds
        self.mean = np.array([0.0 if x.unknown.value is None else x.unknown.value for x in p])
        self.weight = np.array([0.0 if x.unknown.value is None else 1.0 / x.unknown.sd**2 for x in p])

    def enough(self, cost: float) -> float:
        """Expected decrease of the cost, that of independent errors of variance 1, below which the search has ended."""
        return min(self.tolerance * len(self.runs.parameters), _NEGLIGIBLE * cost)

    # ------------------------------------------------------------------ cost

    def rho(self, r: Array) -> tuple[float, Array]:
        """Huber's cost in units of the scale's square, and weights."""
        edge = self.threshold * self.scale
        size = np.abs(r)
        outside = size > edge
        weights = np.where(outside, edge / np.maximum(size, edge), 1.0)
        cost = np.where(outside, 2 * edge * size - edge**2, r**2).sum()
        return float(cost) / (self.scale**2 * self.inflation), weights / (self.scale**2 * self.inflation)

    def prior(self, theta: Array) -> float:
        """Cost of the priors."""
        return float((self.weight * (theta - self.mean) ** 2).sum())

    def value(self, point: Point, shown: Sequence[Array] | None = None) -> float:
        """Cost, by plain runs; ``shown``: positions that are simulated already."""
        return self.prior(point.theta) + float(self.costs(point, shown).sum())

    def costs(self, point: Point, shown: Sequence[Array] | None = None) -> Array:
        """Cost of each piece without the priors, as in `value`."""
        missed = self.runs.missed(point, shown)
        return np.array([
            self.rho(error)[0] + float((((start - piece.start) / piece.spread) ** 2).sum())
            for piece, start, error in zip(self.runs.pieces, point.starts, missed, strict=True)
        ])  # fmt: skip

    def normal(self, point: Point, shown: Sequence[Array] | None = None) -> Normal:
        """Normal equations at a point; ``shown``: simulated positions in place of those of the linearised runs."""
        runs = self.runs

        def use(index: int, branch: Branch, places: list[int], start: Array, q: Array, S: Array) -> Block:
            piece, joints = runs.pieces[index], list(branch.joints)
            r = piece.measured[:, joints] - (q if shown is None else shown[index][:, joints])
            cost, w = self.rho(r)
            J = S.reshape(-1, S.shape[2])
            WJ = J * w.reshape(-1, 1)
            A, g = J.T @ WJ, WJ.T @ r.ravel()
            state = runs.state(branch)
            stiff = 1.0 / piece.spread[state] ** 2
            away = start - piece.start[state]
            own = np.arange(len(places), len(g))
            A[own, own] += stiff
            g[own] -= stiff * away
            return Block(places, A, g, cost + float((stiff * away**2).sum()), (r**2).sum(axis=0), len(r))

        return self._summed(runs.linearised(point, use), point.theta)

    def _summed(self, blocks: list[list[Block]], theta: Array) -> Normal:
        A, g, cost = np.diag(self.weight), self.weight * (self.mean - theta), self.prior(theta)
        squares = np.zeros(self.runs.robot.n)
        for made in blocks:
            for branch, block in zip(self.runs.branches, made, strict=True):
                both = block.eliminated(np.column_stack([block.A[:, : len(block.places)], block.g]))
                A[np.ix_(block.places, block.places)] += both[:, :-1]
                g[block.places] += both[:, -1]
                cost += block.cost
                squares[list(branch.joints)] += block.squares
        return Normal(A, g, cost, blocks, squares, sum(made[0].count for made in blocks))

    def inverse(self, normal: Normal, theta: Array) -> Array:
        """Pseudo-inverse of the normal equations, scaled."""
        D = self.scaling(normal, theta)
        return np.asarray(np.linalg.pinv(normal.A / np.outer(D, D), rcond=RANK, hermitian=True) / np.outer(D, D))

    # ------------------------------------------------------------------ steps

    def without(self, normal: Normal, theta: Array, left: Collection[int]) -> Array:
        """Parameters of a fit without some pieces: one Gauss-Newton step from those of all."""
        part = self._summed([made for k, made in enumerate(normal.blocks) if k not in left], theta)
        return self.step(replace(part, blocks=[]), Point(theta, []), 1e-3)[0].theta

    def scaling(self, normal: Normal, theta: Array) -> Array:
        """Roots of the diagonal of the normal equations, those of parameters without effect bounded from below."""
        size = np.maximum(np.abs(theta), 1e-3 * np.minimum(self.upper - self.lower, 1.0))
        diagonal = np.maximum(np.diag(normal.A), 0.0) * size**2
        return np.asarray(np.sqrt(np.maximum(diagonal, 1e-9 * diagonal.max(initial=1e-300)) + 1e-300) / size)

    def step(self, normal: Normal, point: Point, damping: float) -> tuple[Point, float]:
        """Point after a damped step within the bounds, and the decrease of the cost that the model expects."""
        D = self.scaling(normal, point.theta)
        w, V = np.linalg.eigh(normal.A / np.outer(D, D))
        L = np.linalg.cholesky((V * np.maximum(w, 0.0)) @ V.T + (damping + 1e-10) * np.eye(len(D)))
        low, high = (self.lower - point.theta) * D, (self.upper - point.theta) * D
        rhs = np.linalg.solve(L, normal.g / D)
        with np.errstate(all="ignore"):
            z = lsq_linear(L.T, rhs, (low - 1e-12, high + 1e-12), method="bvls", max_iter=200).x
        change = np.clip(z, low, high) / D
        starts = []
        for made, start in zip(normal.blocks, point.starts, strict=True):
            new = start.copy()
            for branch, block in zip(self.runs.branches, made, strict=True):
                m = len(block.places)
                state = self.runs.state(branch)
                own = block.A[m:, m:]
                damped = own + max(damping - 1e-3, 0.0) * np.diag(np.diag(own))
                new[state] += np.linalg.solve(damped, block.g[m:] - block.A[m:, :m] @ change[block.places])
            starts.append(new)
        expected = float(2 * change @ normal.g - change @ normal.A @ change)
        return Point(point.theta + change, starts), expected

    def settled(
        self, candidate: Point, point: Point, normal: Normal, runs: FreeRuns
    ) -> tuple[Point, list[Array], float]:
        """A point after a step, its positions and its cost; if that rises, pieces that cost more begin as before.

        Where a joint begins at rest, held by dry friction, its first speed has no effect until it slides, and no
        derivative tells that. Under given parameters the cost of a piece depends on its own initial state alone.
        """
        shown = runs.simulate(candidate)
        cost, prior = self.costs(candidate, shown), self.prior(candidate.theta)
        if cost.sum() + prior < normal.cost:
            return candidate, shown, float(cost.sum()) + prior
        worse = np.flatnonzero(cost > [sum(block.cost for block in made) for made in normal.blocks]).tolist()
        starts = [point.starts[k] if k in worse else start for k, start in enumerate(candidate.starts)]
        kept = Point(candidate.theta, starts)
        for k, q in zip(worse, runs.simulate(kept, worse), strict=True):
            shown[k] = q
        return kept, shown, self.value(kept, shown)

    def rescale(self, point: Point, shown: list[Array] | None = None) -> None:
        """Scale and inflation from the errors at a point."""
        errors = self.runs.missed(point, shown)
        self.scale = max(float(robust_sd(np.concatenate(errors).ravel())), float(self.runs.noise.mean()))
        self.inflation = float(np.median(correlation(errors)))

    def run(
        self, point: Point, iterations: int | None = None, shown: list[Array] | None = None
    ) -> tuple[Point, Normal]:
        """The best point from a start; ``shown``: positions that are simulated already."""
        self.rescale(point, shown)
        count = self.iterations if iterations is None else iterations
        return self.descended(point, self.normal(point), count, budget=self.budget)

    def polished(self, point: Point, fine: FreeRuns) -> tuple[Point, Normal]:
        """Gauss-Newton steps with the errors of finer integration and the derivatives of the coarse one.

        What the coarse step does to positions is thus taken out; what it does to derivatives only slows the search
        (deferred correction).
        """
        shown = fine.simulate(point)
        self.rescale(point, shown)
        return self.descended(point, self.normal(point, shown), _POLISHED, 1e-6, fine=fine)

    def descended(
        self,
        point: Point,
        normal: Normal,
        iterations: int,
        damping: float = 1e-3,
        wanted: float = np.inf,
        budget: float = np.inf,
        fine: FreeRuns | None = None,
    ) -> tuple[Point, Normal]:
        """Steps without a new scale of the errors; one that does not lower the cost is tried again with more damping.

        They end too where as many as are left would not lower the cost to ``wanted``, each by what is expected of the
        next one, times the share of its own that the last one reached.

        Parameters
        ----------
        fine
            Runs whose errors are taken in place of those of the derivatives' runs.
        """
        kept, failed = 1.0, 0
        for left in range(iterations, 0, -1):
            candidate, expected = self.step(normal, point, damping)
            if (
                expected < self.enough(normal.cost)
                or self.runs.rollouts > budget
                or left * kept * expected < normal.cost - wanted
            ):
                break
            tried = self.normal(candidate) if not failed and fine is None else None
            if tried is None or tried.cost >= normal.cost:
                candidate, shown, cost = self.settled(candidate, point, normal, fine or self.runs)
                tried = None
                if cost < normal.cost:
                    tried = self.normal(candidate, None if fine is None else shown)
            failed = 0 if tried is not None else failed + 1
            if failed == _FAILED:
                break
            if tried is None:
                damping = 30.0 * max(damping, 1e-3)
                continue
            fallen = normal.cost - tried.cost
            kept, point, normal, damping = min(1.0, fallen / expected), candidate, tried, max(damping / 10.0, 1e-8)
            self.progress(f"free runs: {1e3 * normal.rms:.3g} mrad", iterations - left + 1, iterations)
            if fallen < self.enough(normal.cost):
                break
        return point, normal


def correlation(errors: Sequence[Array], share: float = 0.2) -> Array:
    """How many errors that follow each other are worth one: ``tau = 1 + 2 sum rho_k`` to the first zero, shape (n,).

    The mean of m errors has the variance ``sigma^2 tau / m`` (Bartlett 1946).
    """
    longest = max(2, int(share * max(len(e) for e in errors)))
    gamma = np.zeros((longest, errors[0].shape[1]))
    for e in errors:
        F = np.fft.rfft(e, 1 << int(np.ceil(np.log2(2 * len(e)))), axis=0)
        lags = np.fft.irfft(np.abs(F) ** 2, axis=0)[: min(longest, len(e))]
        gamma[: len(lags)] += lags
    rho = gamma / np.maximum(gamma[0], 1e-300)
    before = np.cumsum(rho <= 0, axis=0) == 0
    return np.asarray(np.maximum(2.0 * np.where(before, rho, 0.0).sum(axis=0) - 1.0, 1.0))


def compared_errors(
    before: Sequence[Array], after: Sequence[Array], tried: int = 1, alike: Sequence[Array] | None = None
) -> Comparison:
    """The comparison of two free runs of the same pieces, by mean squares of stretches that are worth one error each.

    Parameters
    ----------
    before, after
        Errors of the pieces, shape (N, n) each.
    tried
        Of how many *after* is the best.
    alike
        Errors whose `correlation` is the length of a stretch; default: those *before*.
    """
    width = int(np.ceil(correlation(before if alike is None else alike).max()))

    def losses(errors: Sequence[Array]) -> list[float]:
        return [
            float(np.mean(e[i : i + width] ** 2)) for e in errors for i in range(0, max(len(e) - width, 0) + 1, width)
        ]

    return compared(losses(before), losses(after), tried)
