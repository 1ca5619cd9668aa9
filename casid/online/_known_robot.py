"""What recordings without a load determine of a robot: its parameters, and its residual by the state.

Fits with many terms under zero-mean priors whose widths follow from the recordings: empirical Bayes.

Parameters of a group g of terms at a joint have a prior ``N(0, s_g^2 I)``, all others a flat one. With the weighted
sum of squares ``||rho - R p||^2`` of N equations that count for N / f (f: by how much neighbouring residuals repeat
each other), the marginal likelihood of the variances s_g^2 is at a maximum where

    s_g^2 = |m_g|^2 / gamma_g,    gamma_g = n_g - tr(Sigma_gg) / s_g^2,

m and Sigma the posterior mean and covariance of the n_g parameters: MacKay's fixed point (MacKay 1992, Bayesian
interpolation, Sec. 4; Tipping 2001, Sparse Bayesian learning, eq. 16). Groups that the recordings do not
support end at zero.

**Residual by the state.** A joint that stands still carries a friction torque anywhere within the band between the two
that would move it: a bounded unknown that lasts as long as the rest, neither noise nor part of the model. An error of
timing shows as a deviation that grows with the torque's rate of change. Samples of resting joints are left out of the
fit.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from casid.arrays import RANK, Array
from casid.dynamics import Model
from casid.errors import DatasetError
from casid.evidence import REPEATED, ResidualNoise
from casid.loads import Resting
from casid.measurement import Dataset
from casid.regression import CompressedData, compress, lengths, torques, wls

#: Fits with the weights and the correlation of the fit before; each only reweighs the joints.
ROUNDS = 3
#: Steps of the fixed point at most, and the relative change of the standard deviations that ends it: far below what the
#: recordings tell of them, since each follows from a few parameters.
STEPS, TOLERANCE = 500, 1e-3
#: Standard deviations stay within these shares of the joint's residual: at the smaller a term is none, at the larger
#: its prior is flat.
SMALLEST, LARGEST = 1e-6, 1e3
#: Candidates for the speed below which a joint counts as resting, over the root mean square of its speed: the
#: grid, by factors of two, of a likelihood of one unknown.
SPEEDS = (0.0, 0.0025, 0.005, 0.01, 0.02, 0.04, 0.08, 0.16)
#: Fewest samples by which two regimes are told apart, of rest and motion, before and after a change: what one error is
#: worth; a standard deviation of twenty is known to 16 % (one over the root of 2 N).
FEW = int(REPEATED)
#: Steps of the fixed point of the timing error, reweighted least squares of two unknowns: the last of them
#: changes it by 1e-13 where residuals are as assumed.
TURNS = 20


@dataclass(frozen=True, eq=False)
class StateNoise:
    """Standard deviation of the residual of each joint, ``s_j`` in motion, at the state of a sample:

        sd_j^2 = s_j^2 + (d_j dtau_j/dt)^2 + [ |dq_j| < v_j ] b_j^2

    b_j is half the band of the joint's dry friction, ``(h_j(v_j) - h_j(-v_j)) / 2`` with the joint terms' torque h_j,
    in whose middle the friction of a resting joint is taken. ``b_j^2`` is the largest variance that a torque within the
    band can have (Popoviciu 1935).

    Attributes
    ----------
    size : ndarray, shape (n,)
        s_j [N.m].
    speed : ndarray, shape (n,)
        v_j, below which a joint counts as resting [rad/s or m/s]; 0: never.
    timing : ndarray, shape (n,)
        d_j, deviation of the time between motion and torque [s].
    """

    size: Array
    speed: Array
    timing: Array


@dataclass(frozen=True, eq=False)
class Shrunk:
    """Parameters of a robot, and size and correlation of the residual: the inputs of `OnlineLoad`.

    Attributes
    ----------
    parameters : ndarray
        In the order of ``model.parameter_names``; those that the recordings do not determine have minimum norm.
    weights : ndarray, shape (n,)
        One over the residual's standard deviation of each joint in motion [1/N.m].
    correlation : ndarray, shape (n,)
        Of the residual in motion from one sample to the next, at least 0.
    sizes : mapping of (str, int) to float
        Standard deviation s_g of each group at each joint (from 0) [N.m].
    inflation : float
        f.
    state : StateNoise
        The residual's deviation at rest and where torques change quickly. Samples of resting joints are left out of the
        fit.
    """

    parameters: Array
    weights: Array
    correlation: Array
    sizes: Mapping[tuple[str, int], float] = field(repr=False)
    inflation: float
    state: StateNoise


def shrunk(model: Model, datasets: Dataset | Sequence[Dataset]) -> Shrunk:
    """Fit a model with terms under zero-mean priors, whose widths follow from the recordings (empirical Bayes).

    Terms with the same `JointTerm.prior` at the same joint share a prior.

    Parameters
    ----------
    model
        For instance with the terms of `friction_dictionary`.
    datasets
        Processed recordings of the robot.

    Raises
    ------
    DatasetError
        If no term has such a prior; otherwise as `compress` and `wls`.
    """
    recordings = (datasets,) if isinstance(datasets, Dataset) else tuple(datasets)
    groups: dict[tuple[str, int], list[int]] = {}
    for column, (term, joint) in model.term_columns.items():
        if term.prior is not None:
            groups.setdefault((term.prior, joint), []).append(column)
    if not groups:
        raise DatasetError("no term of the model has a prior; add terms that have, e.g. those of friction_dictionary")
    data = compress(model, recordings)
    first = wls(data)
    pi = np.asarray(np.linalg.lstsq(model.base.K, first.beta, rcond=None)[0])
    moving, weights, correlation, inflation, state = _left(model, pi, recordings)
    for _ in range(ROUNDS):
        data = compress(model, [replace(d, mask=kept) for d, kept in zip(recordings, moving, strict=True)])
        pi, sizes = _fitted(data, weights / np.sqrt(inflation), groups)
        moving, weights, correlation, inflation, state = _left(model, pi, recordings)
    return Shrunk(pi, weights, correlation, sizes, inflation, state)


def joint_friction(model: Model, pi: Array, data: Dataset) -> Callable[[Array], Array]:
    """Torque of the joint terms at the samples of a recording, as a function of the velocities, shapes (N, n)."""
    terms = sorted(model.term_columns)
    own = np.zeros_like(pi)
    own[terms] = pi[terms]
    return lambda dq: torques(model, own, replace(data, dq=dq))


def _left(
    model: Model, pi: Array, recordings: Sequence[Dataset]
) -> tuple[list[NDArray[np.bool_]], Array, Array, float, StateNoise]:
    """What a fit leaves: the mask of moving joints (N, n) of each recording, weights, correlation, inflation, state.

    The residual is that of moving joints; masked torques have none.
    """
    squares, products, count, pairs = np.zeros((4, model.n))
    plain = []
    for data in recordings:
        e = data.tau - torques(model, pi, data)
        plain.append(e if data.mask is None else np.where(data.mask, e, np.nan))
    velocities = [np.asarray(data.dq) for data in recordings]
    rates = [torque_rate(data.tau, data.t) for data in recordings]
    frictions = [joint_friction(model, pi, data) for data in recordings]
    state = state_noise(plain, velocities, rates, frictions)
    residuals, moving = [], []
    for e, dq, rate in zip(plain, velocities, rates, strict=True):
        kept = np.isfinite(e) & (np.abs(dq) >= state.speed)
        moving.append(kept)
        late = np.divide(state.timing, state.size, out=np.zeros(model.n), where=state.size > 0)
        left = np.where(kept, e / np.hypot(1.0, late * rate), 0.0)
        squares += (left**2).sum(axis=0)
        products += (left[1:] * left[:-1]).sum(axis=0)
        count += kept.sum(axis=0)
        pairs += (kept[1:] & kept[:-1]).sum(axis=0)
        residuals.append(np.where(kept, left, np.nan))
    sure = squares > 0.0
    weights = np.sqrt(np.divide(count, squares, out=np.zeros(model.n), where=sure))
    noise = ResidualNoise.of([left * weights for left in residuals])
    share = np.divide(products * weights**2, pairs, out=np.zeros(model.n), where=pairs > 0)
    correlation = np.clip(share, 0.0, 1.0 - 1.0 / np.maximum(count, 2.0))
    return moving, weights, correlation, noise.inflation(), state


def _fitted(
    data: CompressedData, weights: Array, groups: Mapping[tuple[str, int], Sequence[int]]
) -> tuple[Array, dict[tuple[str, int], float]]:
    """Posterior mean of all parameters and the groups' standard deviations of largest marginal likelihood."""
    R, rho, _ = data.stacked(weights)
    A = R @ data.base.K
    chosen = [column for columns in groups.values() for column in columns]
    others = np.setdiff1d(np.arange(A.shape[1]), chosen)
    units = lengths((A[:, others] ** 2).sum(axis=0))
    flat = A[:, others] / units
    U, s, _ = np.linalg.svd(flat, full_matrices=False)
    U = U[:, s > RANK * s[0]]
    own = A[:, chosen] - U @ (U.T @ A[:, chosen])  # the flat prior's parameters integrated out
    H, g = own.T @ own, own.T @ rho
    places = np.repeat(np.arange(len(groups)), [len(columns) for columns in groups.values()])
    members = np.bincount(places)
    scale = 1.0 / np.maximum([weights[joint] for _, joint in groups], 1e-12)
    s_g: Array = scale
    mean: Array = np.zeros(len(chosen))
    for _ in range(STEPS):
        root = s_g[places]
        inner = np.linalg.inv(np.eye(len(root)) + root[:, None] * H * root)  # Sigma between the roots of the prior
        mean = root * (inner @ (root * g))
        gamma = np.maximum(members - np.bincount(places, np.diag(inner)), 1e-12)
        new = np.sqrt(np.bincount(places, mean**2) / gamma).clip(SMALLEST * scale, LARGEST * scale)
        done = np.linalg.norm(new - s_g) <= TOLERANCE * np.linalg.norm(s_g)
        s_g = new
        if done:
            break
    pi: Array = np.zeros(A.shape[1])
    pi[chosen] = mean
    rest = np.linalg.lstsq(flat, rho - A[:, chosen] @ mean, rcond=RANK)[0]
    pi[others] = rest / units
    return pi, dict(zip(groups, s_g.tolist(), strict=True))


def state_noise(
    residuals: Sequence[Array], dq: Sequence[Array], rate: Sequence[Array], friction: Sequence[Callable[[Array], Array]]
) -> StateNoise:
    """Speeds and timing errors of largest likelihood, joint by joint, of normal residuals with the deviations above.

    Parameters
    ----------
    residuals, dq, rate
        Of each recording: residual of the model (NaN where it does not count), velocity, and rate of change of the
        torque, shapes (N, n).
    friction
        Of each recording, as of `Resting.of`.
    """
    n = residuals[0].shape[1]
    velocity, left = np.vstack(dq), np.vstack(residuals)
    changes = np.vstack(rate)
    usual = np.sqrt(np.mean(velocity**2, axis=0))
    best, noise = np.full(n, np.inf), StateNoise(*np.zeros((3, n)))
    for share in SPEEDS:
        rests = [Resting.of(h, v, share * usual) for h, v in zip(friction, dq, strict=True)]
        mask, shift, band = (np.vstack([getattr(r, name) for r in rests]) for name in ("mask", "shift", "band"))
        for j in range(n):
            known = np.isfinite(left[:, j])
            rest = mask[known, j]
            if not len(rest) or (min(rest.sum(), (~rest).sum()) < FEW and share > 0.0):
                continue
            e, r = (left - shift)[known, j], changes[known, j]
            variance, timing = _moving(e[~rest], r[~rest])
            whole = variance + (timing * r) ** 2 + band[known, j] ** 2
            cost = float(np.sum(np.log(np.maximum(whole, 1e-300)) + e**2 / np.maximum(whole, 1e-300)))
            if cost < best[j]:
                best[j], noise.speed[j], noise.timing[j] = cost, share * usual[j], timing
                noise.size[j] = np.sqrt(variance)
    return noise


def _moving(e: Array, rate: Array) -> tuple[float, float]:
    """Variance, and timing error, of moving samples: ``e^2 = s^2 + d^2 rate^2`` by weighted least squares."""
    squares, x = e**2, rate**2
    variance, timing = float(np.mean(squares)), 0.0
    for _ in range(TURNS):
        size = np.maximum(variance + timing * x, 1e-300)
        A = np.column_stack([1.0 / size, x / size])
        found = np.linalg.lstsq(A, squares / size, rcond=None)[0]
        if found[1] <= 0.0 or found[0] <= 0.0:
            return float(np.mean(squares)), 0.0
        variance, timing = float(found[0]), float(found[1])
    return variance, float(np.sqrt(timing))


def torque_rate(tau: Array, t: Array) -> Array:
    """Rate of change of the torques from the sample before, shape (N, n) [N.m/s]; zero at the first one."""
    steps = np.diff(t)
    made = np.zeros(tau.shape)
    made[1:] = np.diff(tau, axis=0) / np.where(steps > 0, steps, np.inf)[:, None]
    return made
