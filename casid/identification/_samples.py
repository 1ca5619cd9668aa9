r"""Samples of the parameters that data and plausible bodies leave open, every one of a robot that can exist.

The posterior of docs/plausible.md about the choice x, with its covariance C (P11, narrowed by given bounds) widened by
the factor c by which single masses of robots with known bodies missed theirs (P12), on the parameters that are
physically consistent, obey every constraint, and lie within the intervals that the result states:

    p(z) ~ exp(-(z - x)' C^-1 (z - x) / (2 c^2)),    J_k(z) >= margin 1,    lo <= A z <= hi,    g(z) <= 0.

Hamiltonian steps are exact (Pakman and Paninski 2014): in coordinates in which p is a unit normal distribution a point
moves as ``w cos t + v sin t`` for a quarter of a period, and is reflected at the walls. That of a link is met where

    det((J_0 + A) s^2 + 2 B s + J_0 - A) = 0,    s = 1 / tan(t / 2),    J(t) = J_0 + A cos t + B sin t:

eight eigenvalues. Nonlinear rows g, which are no walls, reject the end of a step. Many chains run side by side.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from casid.arrays import ALIKE, ROUNDING, Array
from casid.dynamics import Model
from casid.errors import DatasetError, ProblemError
from casid.evidence import CONFIDENCE
from casid.files import csv_bytes
from casid.identification._accuracy import ChosenValue, within_bounds
from casid.identification._regression import FeasibleFit
from casid.inertia import PSEUDO_INERTIA_MAP, Parameters, pseudo_inertia
from casid.retrieval import split_rows
from casid.retrieval.plausible import misses

#: Length of a step: a quarter of a period forgets where it began.
STEP = np.pi / 2
#: Chains that run side by side, and steps of each that are not kept: they begin at the choice, the mode.
CHAINS, FORGOTTEN = 64, 5
#: Angle before a wall at which a point turns, so that rounding leaves none behind it.
EARLY = 1e-7
#: Imaginary part of an eigenvalue, over its size, that is rounding.
REAL = 1e-6
#: Bounces of one chain, on average, without a whole step before it is given up.
STUCK = 2_000


@dataclass(frozen=True, eq=False)
class Samples:
    """Parameter sets of a posterior, each physically consistent.

    Attributes
    ----------
    model : Model
    values : ndarray, shape (chains, steps, N)
        In the order of the model's parameters.
    count : int
        How many of them were asked for: those of the first steps of all chains.
    """

    model: Model
    values: Array
    count: int

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, index: int) -> Parameters:
        """One parameter set, for `Robot.with_parameters`; neighbours are of different chains."""
        steps, chain = np.divmod(range(len(self))[index], len(self.values))
        return self.model.named(self.values[chain, steps])

    @cached_property
    def table(self) -> Array:
        """All sets, shape (len, N)."""
        return np.asarray(self.values.swapaxes(0, 1).reshape(-1, self.values.shape[2])[: self.count])

    @cached_property
    def effective(self) -> Array:
        """Independent samples that each parameter's mean is worth, shape (N,): their number if all differ by chance.

        Their number over ``1 + 2 sum_k rho_k``, rho_k the autocorrelations of all chains about the common mean, summed
        as long as pairs of them are positive, and monotone (C. J. Geyer, Statistical Science 7(4), 1992, Sec. 3.3).
        """
        z = self.values - self.table.mean(axis=0)
        chains, steps, _ = z.shape
        variance = np.maximum((z**2).mean(axis=(0, 1)), np.finfo(float).tiny)
        lags = [(z[:, : steps - k] * z[:, k:]).sum(axis=(0, 1)) / (chains * steps) / variance for k in range(steps)]
        pairs = np.array([a + b for a, b in zip(lags[::2], lags[1::2], strict=False)])
        kept = np.cumprod(pairs > 0, axis=0) * np.minimum.accumulate(pairs, axis=0)
        return np.asarray(self.count / np.maximum(2.0 * kept.sum(axis=0) - 1.0, 1.0))

    def ranges(self) -> dict[str, tuple[float, float]]:
        """Ends that hold 95 % of the samples: of each mass, coordinate of a centre of mass, and joint term."""
        named, names = dict[str, Array](), self.model.parameter_names
        for link, columns in zip(self.model.robot.links, self.model.link_columns, strict=True):
            ten = self.table[:, np.asarray(columns)]
            named[f"{link.name} mass"] = ten[:, 9]
            named |= {f"{link.name} {axis}": ten[:, 6 + i] / ten[:, 9] for i, axis in enumerate("xyz")}
        named |= {names[j]: self.table[:, j] for j in sorted(self.model.term_columns)}
        ends = (1.0 - CONFIDENCE) / 2.0, (1.0 + CONFIDENCE) / 2.0
        return {name: (float(low), float(high)) for name, x in named.items() for low, high in [np.quantile(x, ends)]}

    def files(self) -> dict[str, bytes]:
        """``samples.csv``, one parameter set a line, and ``ranges.csv``."""
        rows = [[name, *map(repr, ends)] for name, ends in self.ranges().items()]
        table = [list(map(repr, row)) for row in self.table.tolist()]
        return {
            "samples.csv": csv_bytes(list(self.model.parameter_names), table),
            "ranges.csv": csv_bytes(["name", "low", "high"], rows),
        }


def posterior_samples(
    fit: FeasibleFit, count: int, seed: int = 0, masses: Sequence[ChosenValue] = (), centres: Sequence[ChosenValue] = ()
) -> Samples:
    """Samples of the posterior about a choice of plausible links.

    Parameters
    ----------
    fit
    count
        How many.
    seed
    masses, centres
        Intervals that all samples keep: of the total mass, then of each link; of each coordinate of each centre.

    Raises
    ------
    DatasetError
        If no plausible links were chosen, or ``count`` is below one.
    ProblemError
        If the choice lies so near its walls that no step gets away from them.

    References
    ----------
    A. Pakman, L. Paninski, "Exact Hamiltonian Monte Carlo for truncated multivariate Gaussians", Journal of
    Computational and Graphical Statistics 23(2), 2014.
    """
    if fit.believable is None:
        raise DatasetError("no plausible links were chosen: samples are of the posterior about them")
    if count < 1:
        raise DatasetError(f"samples: expected one or more, got {count}")
    return _Chains(fit, seed, _kept(fit, masses, centres)).run(count)


def _kept(fit: FeasibleFit, masses: Sequence[ChosenValue], centres: Sequence[ChosenValue]) -> Array:
    """Rows a with ``a'x >= 0`` at x = (parameters, 1) that keep samples within intervals, shape (rows, N + 1)."""
    assert fit.believable is not None
    size, links = len(fit.believable.x), len(fit.standard_parameters) // 10
    units = np.eye(size + 1)
    weights = [units[9 : 10 * links : 10].sum(axis=0), *units[9 : 10 * links : 10]]
    rows = [(m - e.low * units[-1], e.high * units[-1] - m) for e, m in zip(masses, weights, strict=False)]
    for k, e in enumerate(centres):
        moment, mass = units[10 * (k // 3) + 6 + k % 3], weights[1 + k // 3]
        rows.append((moment - e.low * mass, e.high * mass - moment))
    return np.reshape(rows, (-1, size + 1))


class _Chains:
    """Points of all chains, in coordinates in which the posterior is a unit normal distribution."""

    def __init__(self, fit: FeasibleFit, seed: int, kept: Array) -> None:
        choice = fit.believable
        assert choice is not None
        self._fit, self._problem, self._centre = fit, choice.problem, choice.x
        self._rng = np.random.default_rng(seed)
        origins = choice.bodies.origins
        widened = misses(max(origins, key=origins.count))[1].scale
        linear, self._nonlinear = split_rows(choice.problem)
        C = within_bounds(choice.covariance, fit.model.robot, fit.standard_parameters.reshape(-1, 10))
        A, hard = linear.matrix, np.array([row.weight is None for row in linear.rows], dtype=bool)
        given = hard & (linear.upper - linear.lower <= ALIKE * (1.0 + np.abs(linear.lower)))
        if given.any():  # equations
            C = C - C @ A[given].T @ np.linalg.pinv(A[given] @ C @ A[given].T) @ A[given] @ C
        unit = np.sqrt(np.maximum(np.diag(C), np.finfo(float).tiny))
        size, axes = np.linalg.eigh((C + C.T) / 2.0 / np.outer(unit, unit))
        moves = size > ROUNDING
        self._root = widened * unit[:, None] * axes[:, moves] * np.sqrt(size[moves])
        sides = [(1.0, hard & ~given & np.isfinite(linear.lower)), (-1.0, hard & ~given & np.isfinite(linear.upper))]
        ends = {1.0: linear.lower, -1.0: linear.upper}
        self._rows = np.vstack([*(sign * A[side] @ self._root for sign, side in sides), kept[:, :-1] @ self._root])
        at_centre = [sign * (A[side] @ self._centre - ends[sign][side]) for sign, side in sides]
        self._slack = np.maximum(np.concatenate([*at_centre, kept[:, :-1] @ self._centre + kept[:, -1]]), 0.0)
        cones = choice.problem.cones
        blocks = self._root[: 10 * len(cones)].reshape(len(cones), 10, -1)
        tens = self._centre[: 10 * len(cones)].reshape(-1, 10)
        chosen = pseudo_inertia(tens) - np.array([cone.margin * np.eye(4) for cone in cones])
        own = np.linalg.inv(np.linalg.cholesky(chosen))  # coordinates in which the chosen body is 1
        forms = np.einsum("kli,ija,kmj->klma", own, PSEUDO_INERTIA_MAP.reshape(4, 4, 10), own)
        self._moves = np.einsum("kija,kar->kijr", forms, blocks)

    def run(self, count: int) -> Samples:
        """So many samples of all chains."""
        steps = -(-count // CHAINS)
        w, rank = np.zeros((CHAINS, self._root.shape[1])), self._root.shape[1]
        v, left, begun = self._rng.normal(size=(CHAINS, rank)), np.full(CHAINS, STEP), w.copy()
        made: list[list[Array]] = [[] for _ in range(CHAINS)]
        wanted = FORGOTTEN + steps
        for _ in range(STUCK * wanted):
            dt, wall = self._next_wall(w, v)
            move = np.clip(dt - EARLY, 0.0, left)[:, None]
            w, v = w * np.cos(move) + v * np.sin(move), v * np.cos(move) - w * np.sin(move)
            left = left - move[:, 0]
            left[np.linalg.eigvalsh(self._bodies(w))[..., 0].min(axis=1) <= 0] = 0.0  # a wall that was not seen
            for k in np.flatnonzero(left > 0):
                normal = self._normal(int(wall[k]), w[k])
                v[k] -= 2.0 * min(float(v[k] @ normal), 0.0) * normal
            for k in np.flatnonzero(left <= 0):
                if not self._possible(w[k]):
                    w[k] = begun[k]
                made[k].append(w[k].copy())
                begun[k], v[k], left[k] = w[k], self._rng.normal(size=rank), STEP
            if min(map(len, made)) >= wanted:
                break
        else:
            raise ProblemError("samples: chains stay at the walls of the choice: no step gets away from them")
        found = np.array([own[FORGOTTEN:wanted] for own in made])
        return Samples(self._fit.model, self._whole(found @ self._root.T), count)

    def _whole(self, moved: Array) -> Array:
        """All parameters; those that the problem has eliminated follow the others by least squares."""
        names, fit = list(self._fit.model.parameter_names), self._fit
        own = [names.index(name) for name in self._problem.variables.names]
        rest = [j for j in range(len(names)) if j not in own]
        F = fit.fit.information[0] @ fit.data.base.K
        values = np.broadcast_to(fit.values, (*moved.shape[:2], len(names))).copy()
        values[..., own] += moved
        values[..., rest] -= moved @ F[:, own].T @ np.linalg.pinv(F[:, rest]).T
        return np.asarray(values)

    def _next_wall(self, w: Array, v: Array) -> tuple[Array, Array]:
        """Angles to the first walls that chains meet, infinite for none, and which: links, then rows."""
        links = len(self._moves)
        J, A, B = self._bodies(w), self._bodies(w) - np.eye(4), self._bodies(v) - np.eye(4)
        angles = np.full((len(w), links + len(self._slack)), np.inf)
        rounding = ROUNDING * np.trace(J, axis1=2, axis2=3)[..., None, None] * np.eye(4)
        whitened = np.linalg.inv(np.linalg.cholesky(J + rounding))
        C, D = (whitened @ M @ whitened.swapaxes(-1, -2) for M in (2.0 * B, np.eye(4) - A))
        far = np.linalg.norm(C, axis=(-2, -1)) + np.maximum(-np.linalg.eigvalsh(D)[..., 0], 0.0) >= 1.0
        zero, one = np.zeros((int(far.sum()), 4, 4)), np.broadcast_to(np.eye(4), (int(far.sum()), 4, 4))
        s = np.linalg.eigvals(np.block([[zero, one], [-D[far], -C[far]]]))
        real = np.where(np.abs(s.imag) <= REAL * np.abs(s), s.real, 0.0).max(axis=-1, initial=0.0)
        with np.errstate(divide="ignore"):
            angles[:, :links][far] = 2.0 * np.arctan(1.0 / real)
            a, b, c = w @ self._rows.T, v @ self._rows.T, self._slack
            size = np.hypot(a, b)
            first = np.arctan2(b, a) + np.arccos(np.clip(-c / np.where(size > 0, size, np.inf), -1.0, 1.0))
        first = np.where(first < 0, first + 2 * np.pi, first)
        angles[:, links:] = np.where(size > c, np.where((c + a <= ALIKE * size) & (b < 0), 0.0, first), np.inf)
        wall = angles.argmin(axis=1)
        return angles[np.arange(len(w)), wall], wall

    def _bodies(self, w: Array) -> Array:
        """Links' matrices at points, shape (chains, n, 4, 4), in units of the chosen ones."""
        return np.asarray(np.eye(4) + np.einsum("kijr,cr->ckij", self._moves, w))

    def _normal(self, wall: int, w: Array) -> Array:
        """Inward unit normal of a wall at a point on it."""
        links = len(self._moves)
        if wall >= links:
            row = self._rows[wall - links]
        else:
            n = np.linalg.eigh(np.eye(4) + self._moves[wall] @ w)[1][:, 0]
            row = np.einsum("i,ijr,j->r", n, self._moves[wall], n)
        return np.asarray(row / np.linalg.norm(row))

    def _possible(self, w: Array) -> bool:
        """Whether a point obeys the cones, on re-check, and the nonlinear rows."""
        if np.linalg.eigvalsh(self._bodies(w[None]))[..., 0].min() <= 0:
            return False
        if not self._nonlinear.size:
            return True
        values = self._nonlinear.values(self._problem.variables.x, self._centre + self._root @ w)
        return bool((values >= self._nonlinear.lower).all() and (values <= self._nonlinear.upper).all())
