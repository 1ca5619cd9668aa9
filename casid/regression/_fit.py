"""Ordinary, weighted and robust least squares of base parameters on compressed data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from casid.arrays import ROUNDING, Array
from casid.dynamics import BaseParameters, linear_form, regroup
from casid.errors import DatasetError
from casid.evidence import robust_sd
from casid.measurement import Dataset
from casid.regression._compress import CompressedData, compress
from casid.regression._rows import observation_blocks
from casid.regression._statistics import covariance_of, disagreement

#: Share of a column's length (after equilibration) that must be left by the columns before it to count as identifiable.
EXCITATION_TOLERANCE = 1e-6
#: A parameter whose uncertain effect is so many times the torques is not determined.
BEYOND = 10.0
Method = Literal["OLS", "WLS", "IRLS"]


@dataclass(frozen=True, eq=False)
class Fit:
    """Base parameters fitted to compressed data.

    Attributes
    ----------
    data : CompressedData
        What was fitted, with the samples' weights if the fit has them: `objective`, covariance and every fit that
        starts from here see them. Errors (`relative_error`, `relative_errors`, `rms`) are of all samples alike.
    beta : ndarray, shape (rank of the model,)
        Base parameters; exactly 0 for those the data do not determine (`unexcited`), into which the others are
        regrouped.
    weights : ndarray, shape (n,)
        Weight of each joint's equations [1/N.m].
    excited : BaseParameters
        What the data determine, as combinations of the model's base parameters.
    covariance : ndarray, shape (excited.rank, excited.rank)
        Of the excited base parameters (Sousa 2014, eq. 4.27 with the weighted system), with the correlation of
        neighbouring residuals allowed for (`casid.regression.statistics`).
    condition_number : float
        Of the weighted observation matrix of the excited base parameters.
    method : str
    indirect : bool
        Whether the estimate does not minimise the weighted squares of the data's equations (instruments, output error).
    """

    data: CompressedData
    beta: Array
    weights: Array
    excited: BaseParameters
    covariance: Array
    condition_number: float
    method: str
    indirect: bool = False

    @property
    def rank(self) -> int:
        """Number of base parameters that the data determine."""
        return self.excited.rank

    @property
    def unexcited(self) -> tuple[str, ...]:
        """Base parameters (by their leading parameter) that the data do not determine alone."""
        leading = set(self.excited.independent)
        return tuple(name for i, name in enumerate(self.data.base.names) if i not in leading)

    @cached_property
    def sd(self) -> Array:
        """Standard deviations, shape (rank of the model,); infinite where the data do not determine the parameter."""
        sd = np.full(len(self.beta), np.inf)
        sd[list(self.excited.independent)] = np.sqrt(np.diag(self.covariance))
        return sd

    @cached_property
    def information(self) -> tuple[Array, Array]:
        """Rows, shape (excited.rank, rank of the model), and targets: ``rows beta = targets`` with unit variances.

        The `covariance` is multiplied by 1 plus what the segments of the motion disagree by (`disagreement`): the error
        of a model is not noise, and seldom averages out alike.
        """
        columns = list(self.excited.independent)
        whole = self.covariance * (1.0 + disagreement(self.data, self.weights, columns, self.beta, self.covariance))
        root = np.linalg.inv(np.linalg.cholesky(whole))
        return np.asarray(root @ self.excited.K, dtype=float), np.asarray(root @ self.beta[columns])

    @cached_property
    def relative_sd(self) -> Array:
        """``100 sd / |beta|`` [%] (Sousa 2014, eq. 4.29)."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(self.beta == 0.0, np.inf, 100.0 * self.sd / np.abs(self.beta))

    @cached_property
    def correlation(self) -> Array:
        """Correlation matrix of the excited base parameters."""
        sd = np.sqrt(np.diag(self.covariance))
        return np.asarray(self.covariance / np.outer(sd, sd))

    @cached_property
    def relative_error(self) -> float:
        """``100 ||tau - W beta|| / ||tau||`` over all joints [%], filtered torques."""
        return self.data.relative_errors(self.beta)[0]

    @cached_property
    def relative_errors(self) -> Array:
        """The same per joint [%]."""
        return self.data.relative_errors(self.beta)[1]

    @cached_property
    def rms(self) -> Array:
        """Root mean square error of each joint [N.m]."""
        return self.data.rms(self.beta)

    @property
    def objective(self) -> float:
        """``sum_j w_j^2 sum_i h_ij (tau_ij - W_ij beta)^2``: what was minimised; h are the samples' weights, if any."""
        return float(self.weights**2 @ self.data.squared_errors(self.beta))


def quadratic(fit: Fit) -> tuple[Array, Array, float]:
    """``(R, rho, rest)``: what a constrained fit minimises in place of the free one, ``||rho - R beta||^2 + rest``.

    Of least squares the weighted squares of the data. Of the others, whose estimate b has the covariance C,
    ``s^2 (beta - b)' M^-1 (beta - b) + rest`` on what the data determine, the weighted squares at b as rest and s^2 one
    independent sample's share of them: of all consistent parameters the nearest in the estimate's own metric. M is the
    mean of C and of the covariance of least squares, ``s^2 (R' R)^-1``: C, made of scores of batches, is singular where
    these are fewer than the parameters.
    """
    if not fit.indirect:
        return fit.data.stacked(fit.weights)
    rest = fit.objective
    counted = np.asarray(fit.weights) > 0
    freedom = max(float(fit.data.independent_samples[counted].sum()) - fit.rank, 1.0)
    known = fit.data.stacked(fit.weights)[0][:, list(fit.excited.independent)]
    mixed = (fit.covariance + rest / freedom * np.linalg.pinv(known.T @ known, hermitian=True)) / 2
    sd = np.sqrt(np.diagonal(mixed))
    values, vectors = np.linalg.eigh(mixed / np.outer(sd, sd))
    root = (vectors / np.sqrt(np.maximum(values, 1e-12 * values[-1]))).T / sd
    R = np.sqrt(rest / freedom) * root @ fit.excited.K
    return R, R @ fit.beta, rest


def joint_weights(data: CompressedData, beta: ArrayLike) -> Array:
    """``1 / RMS`` of each joint's residual (Gautier 1997; Sousa 2014, eq. 4.32-4.33); 0 for a joint without samples.

    The residual is that of the equations as fitted: with the samples' weights, if they have any.

    Raises
    ------
    DatasetError
        If a joint's torques are fitted exactly, as those of a dead channel are: a weight would be infinite.
    """
    rms = np.sqrt(data.squared_errors(beta) / np.maximum(data.counts, 1))
    scale = np.sqrt(data.squared_torques.max() / max(int(data.counts.max()), 1))
    exact = (rms <= ROUNDING * scale) & (data.counts > 0)
    if exact.any():
        names = [data.model.robot.coordinates[k].name for k in np.flatnonzero(exact)]
        raise DatasetError(
            f"the torques of {', '.join(names)} are fitted without any error (a dead channel?), which leaves weights "
            "undefined; leave these joints out (Dataset.only) or use OLS"
        )
    return np.where(data.counts > 0, 1.0 / np.where(rms > 0, rms, 1.0), 0.0)


def ols(data: CompressedData) -> Fit:
    """Ordinary least squares (Gaz et al. 2019, eq. 8)."""
    return _solve(data, np.ones(data.n), "OLS")


def wls(data: CompressedData, weights: ArrayLike | None = None) -> Fit:
    """Weighted least squares; by default each joint by 1/RMS of its OLS residual (Sousa 2014, eq. 4.35)."""
    w = joint_weights(data, ols(data).beta) if weights is None else np.asarray(weights, dtype=float)
    if w.shape != (data.n,) or not np.isfinite(w).all() or (w < 0).any():
        raise DatasetError(f"weights: expected {data.n} finite numbers that are not negative, got {w.tolist()}")
    return _solve(data, w, "WLS")


def irls(
    datasets: Dataset | Sequence[Dataset],
    start: Fit,
    iterations: int = 10,
    tuning: float = 1.345,
    tolerance: float = 1e-6,
) -> Fit:
    """Iteratively reweighted least squares with Huber's weights: outlying samples count less.

    Each pass reads the samples again: the weight of a torque with residual e is ``h = min(1, tuning / |e / s_j|)`` with
    the robust scale ``s_j = 1.4826 median |e|`` of its joint, on top of the joint's weight ``1/s_j`` (Huber 1981, Sec.
    7.8). The data of the fit hold the last h: a consistent fit that starts from it minimises the same sum.

    Parameters
    ----------
    datasets
        The recordings that ``start`` was fitted to.
    start
        First estimate.
    tolerance
        Stops when the relative change of the base parameters is below this.

    Raises
    ------
    DatasetError
        If ``start`` was fitted to other recordings, or there is no pass to make.
    """
    if iterations < 1:
        raise DatasetError(f"iterations must be at least 1, got {iterations}")
    recordings = (datasets,) if isinstance(datasets, Dataset) else tuple(datasets)
    fit = start
    for _ in range(iterations):
        residuals = [residual_torques(fit, data) for data in recordings]
        scale = np.ones(fit.data.n)
        for k in range(fit.data.n):
            e = np.concatenate([r[d.counted[:, k], k] for r, d in zip(residuals, recordings, strict=True)])
            scale[k] = max(float(robust_sd(e)) if len(e) else 1.0, 1e-12)
        huber = [np.minimum(1.0, tuning * scale / np.maximum(np.abs(r), 1e-300)) for r in residuals]
        before = fit.beta
        weighted = compress(fit.data.model, recordings, huber, start.data.plain)
        fit = _solve(weighted, 1.0 / scale, "IRLS")
        if np.linalg.norm(fit.beta - before) <= tolerance * np.linalg.norm(before):
            break
    return fit


def predicted_torques(data: CompressedData, beta: ArrayLike, dataset: Dataset) -> Array:
    """``Y_b beta`` at the samples of a processed recording, shape (N, n) [N.m]."""
    beta = np.asarray(beta, dtype=float)
    return np.concatenate([block @ beta for _, block in observation_blocks(data.model, dataset)])


def residual_torques(fit: Fit, dataset: Dataset) -> Array:
    """Measured (filtered) minus predicted torques, shape (N, n) [N.m]."""
    return np.asarray(dataset.tau - predicted_torques(fit.data, fit.beta, dataset))


def essential(fit: Fit, ratio: float = 10.0, growth: float = 0.02) -> tuple[Fit, tuple[str, ...]]:
    """Essential parameters (Pham and Gautier 1991): drop the least certain one, fit again, while the fit stays good.

    Parameters
    ----------
    ratio
        Stops when the largest relative standard deviation is below ``ratio`` times the smallest,
    growth
        or when the next drop would raise the norm of the weighted residual by more than this share of the full fit's.

    Returns
    -------
    Fit
        With the dropped base parameters at 0.
    tuple of str
        Leading parameters of the dropped ones, in order.
    """
    kept = list(fit.excited.independent)
    dropped: list[str] = []
    limit = (1.0 + growth) ** 2 * fit.objective
    beta, covariance, condition = _least_squares(fit.data, fit.weights, kept)
    while len(kept) > 1:
        with np.errstate(divide="ignore"):
            relative = np.sqrt(np.diag(covariance)) / np.abs(beta[kept])
        if relative.max() <= ratio * relative.min():
            break
        fewer = kept.copy()
        name = fit.data.base.names[fewer.pop(int(relative.argmax()))]
        trial = _least_squares(fit.data, fit.weights, fewer)
        if float(fit.weights**2 @ fit.data.squared_errors(trial[0])) > limit:
            break
        kept, (beta, covariance, condition) = fewer, trial
        dropped.append(name)
    selected = np.eye(fit.data.base.rank)[kept]
    excited = BaseParameters(fit.data.base.names, tuple(kept), selected, fit.excited.margin)
    return replace(
        fit,
        beta=beta,
        excited=excited,
        covariance=covariance,
        condition_number=condition,
        method=f"{fit.method}, essential",
    ), tuple(dropped)


def unexcited_reasons(fit: Fit) -> tuple[str, ...]:
    """For each base parameter that the data do not determine: the parameters it cannot be distinguished from."""
    names, leading = fit.data.base.names, list(fit.excited.independent)
    lengths = np.linalg.norm(fit.data.stacked(fit.weights)[0], axis=0)
    reasons = []
    for i, name in enumerate(names):
        if i in leading:
            continue
        row = fit.excited.K[:, i]
        shares = np.abs(row) * lengths[leading]
        partners = [k for k in np.argsort(-shares)[:3] if shares[k] > shares.max() / 100 > 0]
        if partners:
            rounded = [float(f"{row[k]:.3g}") for k in partners]
            form = linear_form(rounded, [names[leading[k]] for k in partners])
            reasons.append(f"{name}: acts as {form} in this motion")
        else:
            reasons.append(f"{name}: has no effect in this motion: its joint hardly moves")
    return tuple(reasons)


def _noise_tolerance(data: CompressedData, weights: Array, R: Array, rho: Array, rest: float) -> float:
    """Share of a column, left by those before it, up to which noise alone gives it effects beyond all torques.

    A column of length L of which the share s is left has an estimate with deviation ``sigma / (s L)``: its effect in
    the torques has the root mean square ``sigma / (s sqrt(N))``. Where that exceeds `BEYOND` times the torques', the
    column is regrouped: Coulomb friction of a joint that moves one way but for a few samples, beside its offset.
    """
    beta = np.linalg.lstsq(R, rho, rcond=1e-12)[0]
    unexplained = float(np.sum((rho - R @ beta) ** 2)) + rest
    torque = float(rho @ rho) + rest
    counted = np.asarray(weights) > 0
    independent = float(data.independent_samples[counted].sum())
    if torque <= 0 or independent <= 0:
        return 0.0
    return float(np.sqrt(unexplained / torque / independent)) / BEYOND


def _least_squares(data: CompressedData, weights: Array, columns: list[int]) -> tuple[Array, Array, float]:
    """Base parameters, those without a column 0; covariance of the others, condition number of their columns."""
    R, rho, _ = data.stacked(weights)
    lengths = np.linalg.norm(R[:, columns], axis=0)
    U, s, Vt = np.linalg.svd(R[:, columns] / lengths, full_matrices=False)
    beta = np.zeros(data.base.rank)
    beta[columns] = Vt.T @ (U.T @ rho / s) / lengths
    covariance = covariance_of(data, np.asarray(weights, dtype=float), columns, beta, (Vt.T / s) / lengths[:, None])
    singular = np.linalg.svd(R[:, columns], compute_uv=False)
    return beta, covariance, float(singular[0] / singular[-1])


def _solve(data: CompressedData, weights: Array, method: str) -> Fit:
    R, rho, rest = data.stacked(weights)
    excited = regroup(R, data.base.names, max(EXCITATION_TOLERANCE, _noise_tolerance(data, weights, R, rho, rest)))
    beta, covariance, condition = _least_squares(data, weights, list(excited.independent))
    for array in (beta, covariance, weights):
        array.setflags(write=False)
    return Fit(data, beta, weights, excited, covariance, condition, method)
