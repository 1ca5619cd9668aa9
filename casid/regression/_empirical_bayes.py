"""Fits with many terms under zero-mean priors whose widths follow from the recordings: empirical Bayes.

Parameters of a group g of terms at a joint have a prior ``N(0, s_g^2 I)``, all others a flat one. With the weighted
sum of squares ``||rho - R p||^2`` of N equations that count for N / f (f: by how much neighbouring residuals repeat
each other), the marginal likelihood of the variances s_g^2 is at a maximum where

    s_g^2 = |m_g|^2 / gamma_g,    gamma_g = n_g - tr(Sigma_gg) / s_g^2,

m and Sigma the posterior mean and covariance of the n_g parameters: MacKay's fixed point (MacKay 1992, Bayesian
interpolation, Sec. 4; Tipping 2001, Sparse Bayesian learning, eq. 16). Groups that the recordings do not
support end at zero.

Samples of resting joints are left out of the fit (`casid.regression._state_noise`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from casid.arrays import Array
from casid.dynamics import Model
from casid.errors import DatasetError
from casid.evidence import ResidualNoise
from casid.measurement import Dataset
from casid.regression._compress import CompressedData, compress
from casid.regression._fit import wls
from casid.regression._rows import lengths, torques
from casid.regression._state_noise import StateNoise, state_noise, torque_rate

#: Fits with the weights and the correlation of the fit before.
ROUNDS = 3
#: Steps of the fixed point at most, and the relative change of the standard deviations that ends it.
STEPS, TOLERANCE = 500, 1e-3
#: Standard deviations stay within these shares of the joint's residual.
SMALLEST, LARGEST = 1e-6, 1e3


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


def shrunk(model: Model, datasets: Dataset | Sequence[Dataset], priors: Collection[str] | None = None) -> Shrunk:
    """Fit a model with terms under zero-mean priors, whose widths follow from the recordings (empirical Bayes).

    Terms with the same `JointTerm.prior` at the same joint share a prior.

    Parameters
    ----------
    model
        For instance with the terms of `friction_dictionary`.
    datasets
        Processed recordings of the robot.
    priors
        Labels of the priors that are used; default: all of the model's terms.

    Raises
    ------
    DatasetError
        If no term has such a prior; otherwise as `compress` and `wls`.
    """
    recordings = (datasets,) if isinstance(datasets, Dataset) else tuple(datasets)
    groups: dict[tuple[str, int], list[int]] = {}
    for column, (term, joint) in model.term_columns.items():
        if term.prior is not None and (priors is None or term.prior in priors):
            groups.setdefault((term.prior, joint), []).append(column)
    if not groups:
        wanted = "a prior" if priors is None else f"one of the priors {', '.join(priors)}"
        raise DatasetError(f"no term of the model has {wanted}; add terms that have, e.g. those of friction_dictionary")
    data = compress(model, recordings)
    first = wls(data)
    pi = np.asarray(np.linalg.lstsq(model.base.K, first.beta, rcond=None)[0])
    left = _left(model, pi, recordings)
    for _ in range(ROUNDS):
        data = compress(model, [replace(d, mask=kept) for d, kept in zip(recordings, left.moving, strict=True)])
        pi, sizes = _fitted(data, left.weights / np.sqrt(left.inflation), groups)
        left = _left(model, pi, recordings)
    return Shrunk(pi, left.weights, left.correlation, sizes, left.inflation, left.state)


def joint_friction(model: Model, pi: Array, data: Dataset) -> Callable[[Array], Array]:
    """Torque of the joint terms at the samples of a recording, as a function of the velocities, shapes (N, n)."""
    terms = sorted(model.term_columns)
    own = np.zeros_like(pi)
    own[terms] = pi[terms]
    return lambda dq: torques(model, own, replace(data, dq=dq))


@dataclass(frozen=True, eq=False)
class _Left:
    """What a fit leaves, and which samples of each recording move (and are not masked), shape (N, n)."""

    weights: Array
    correlation: Array
    inflation: float
    state: StateNoise
    moving: list[NDArray[np.bool_]]


def _left(model: Model, pi: Array, recordings: Sequence[Dataset]) -> _Left:
    """Size, correlation and inflation of the residual of moving joints; masked torques have none."""
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
    return _Left(weights, correlation, noise.inflation(), state, moving)


def _fitted(
    data: CompressedData,
    weights: Array,
    groups: Mapping[tuple[str, int], Sequence[int]],
) -> tuple[Array, dict[tuple[str, int], float]]:
    """Posterior mean of all parameters and the groups' standard deviations of largest marginal likelihood."""
    R, rho, _ = data.stacked(weights)
    A = R @ data.base.K
    chosen = [column for columns in groups.values() for column in columns]
    others = np.setdiff1d(np.arange(A.shape[1]), chosen)
    units = lengths((A[:, others] ** 2).sum(axis=0))
    flat = A[:, others] / units
    U, s, _ = np.linalg.svd(flat, full_matrices=False)
    U = U[:, s > 1e-9 * s[0]]
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
    rest = np.linalg.lstsq(flat, rho - A[:, chosen] @ mean, rcond=1e-9)[0]
    pi[others] = rest / units
    return pi, dict(zip(groups, s_g.tolist(), strict=True))
