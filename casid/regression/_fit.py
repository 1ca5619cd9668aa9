"""Ordinary, weighted and robust least squares of base parameters on compressed data; noise and covariance."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from casid.arrays import ROUNDING, Array
from casid.dynamics import BaseParameters, Model, linear_form, regroup
from casid.errors import DatasetError
from casid.evidence import LEFT, Batches, robust_sd, white_sd
from casid.measurement import Dataset, Processing
from casid.regression._compress import CompressedData, compress, observation_blocks

# ------------------------------------------------------------------ statistics

#: The residuals' own correlation counts when it exceeds the filter's by more standard deviations than this.
SIGNIFICANT = 3.0


def correlation_factors(
    data: CompressedData, weights: Array, columns: Sequence[int], beta: Array, inverse: Array
) -> Array:
    """By how much neighbouring residuals repeat each other: variance of an estimate over that with independent ones.

    Known is the correlation that the torques' filter gives to white noise (`CompressedData.correlation`). What a model
    leaves out repeats itself too; it shows in the scores ``s_b = W_b' (tau_b - W_b beta)`` of a joint's segments b.
    With ``A = W' W = sum_b A_b`` of the joint, errors of all joints that are independent, of variances s_j^2, and what
    the fit with weights w_j takes off them, ``E s_b s_b' = s^2 (A_b - A_b Q A_b)``, where

        Q = 2 w^2 C - C (sum_j w_j^4 s_j^2 A_j) C / s^2,   C = (sum_j w_j^2 A_j)^-1

    and the mean of

        sum_b s_b' C s_b / sum_b s^2 tr(C A_b - C A_b Q A_b)

    is 1. It is larger the more the residuals of a segment agree (a covariance that allows for heteroscedasticity and
    autocorrelation, its scale averaged over the directions of the estimate). In the metric C a direction counts by what
    the joint says of it: parameters that do not act on the joint, or act on it by rounding alone, have no part, and no
    threshold tells them from others. The larger of the two is taken, the second only where chance does not explain it:
    the numerator is a sum of about ``(tr M)^2 / tr M^2`` squares, M the blocks of the denominator. ``s^2`` is the
    residual's sum of squares over the samples less ``tr(A Q)``.

    Parameters
    ----------
    data
    weights : ndarray, shape (n,)
        Of the joints' equations.
    columns
        The base parameters that were fitted.
    beta : ndarray, shape (rank of the model,)
    inverse : ndarray, shape (len(columns), r)
        B with ``B B' = C``.

    Returns
    -------
    ndarray, shape (n,)
        At least 1.
    """
    known = np.maximum(data.correlation, 1.0)
    if len(data.segments) < 4:
        return known
    factors, columns = known.copy(), list(columns)
    direction = data.direction(beta)
    variances = data.squared_errors(beta) / np.maximum(data.counts, 1)
    rows = [factor[:, columns] @ inverse for factor in data.factors]
    normals = [one.T @ one for one in rows]  # B' A_j B: their weighted sum is the identity
    blurred = np.einsum("j,jrs->rs", weights**4 * variances, normals)
    for k in range(data.n):
        if data.counts[k] <= 0 or variances[k] <= 0:
            continue
        Q = 2 * weights[k] ** 2 * np.eye(len(blurred)) - blurred / variances[k]  # in the basis B
        freedom = max(float(data.counts[k] - np.sum(normals[k] * Q)), 1.0)
        found, expected = 0.0, []
        for segment in data.segments:
            part = segment.factors[k]
            scaled = part[:, columns] @ inverse
            normal = scaled.T @ scaled
            found += float(((scaled.T @ (part @ direction)) ** 2).sum())
            expected.append(normal - normal @ Q @ normal)
        mean = sum(float(np.trace(one)) for one in expected)
        if mean <= LEFT * float(np.trace(normals[k])):
            continue
        measured = found * freedom / (variances[k] * data.counts[k] * mean)
        if measured > known[k] * _largest_by_chance(mean**2 / sum(float((one * one.T).sum()) for one in expected)):
            factors[k] = measured
    return np.asarray(factors)


def _largest_by_chance(degrees: float) -> float:
    """Chi square over its degrees, `SIGNIFICANT` standard deviations above its mean (Wilson and Hilferty 1931)."""
    variance = 2.0 / (9.0 * degrees)
    return float((1.0 - variance + SIGNIFICANT * np.sqrt(variance)) ** 3)


def covariance_of(data: CompressedData, weights: Array, columns: Sequence[int], beta: Array, inverse: Array) -> Array:
    """Covariance of weighted least squares, ``A^-1 (sum_j c_j w_j^2 W_j' W_j) A^-1 s^2``, ``A = sum_j w_j^2 W_j' W_j``.

    c_j are the `correlation_factors`; with all of them 1 it is the classical ``s^2 A^-1`` (Sousa 2014, eq. 4.27), s^2
    the weighted residual's mean square with one degree of freedom less for each parameter.

    Parameters
    ----------
    inverse
        B with ``B B' = A^-1``.
    """
    factors = correlation_factors(data, weights, columns, beta, inverse)
    counted = np.asarray(weights) > 0
    samples = float(data.counts[counted].sum())
    independent = float((data.counts / factors)[counted].sum())
    squares = float(weights**2 @ data.squared_errors(beta))
    freedom = max(independent - len(columns), 1.0)
    variance = squares / max(samples, 1.0) * independent / freedom
    middle = np.zeros((len(columns), len(columns)))
    for factor, w, R in zip(factors, weights, data.factors, strict=True):
        middle += (np.sqrt(factor) * w) ** 2 * (R[:, columns].T @ R[:, columns])
    if np.all(factors == 1.0):
        return np.asarray(variance * inverse @ inverse.T)
    half = inverse @ (inverse.T @ middle @ inverse)
    return np.asarray(variance * half @ inverse.T)


def disagreement(data: CompressedData, weights: Array, columns: Sequence[int], beta: Array, covariance: Array) -> float:
    """Covariance of an estimate from the scores s_b of the segments over its stated one C, averaged over directions.

    With ``A = sum_b A_b``, the normal matrices of the segments (Liang and Zeger 1986)::

        1/rank tr(C^-1 A^-1 (sum_b s_b s_b') A^-1) rank / (rank - sum_b tr (A^-1 A_b)^2)

    The last factor is what the fit takes off the scores of white noise. Segments are too few to measure all directions.

    Parameters
    ----------
    data, columns, beta
        As of `correlation_factors`.
    weights : ndarray, shape (n,)
        Of the joints' equations.
    covariance : ndarray, shape (len(columns), len(columns))
        C.
    """
    direction = data.direction(beta)
    scores, normals = [], []
    for segment in data.segments:
        parts = [w * f for w, f, count in zip(weights, segment.factors, segment.counts, strict=True) if count]
        if parts:
            rows = np.vstack(parts)
            scores.append(rows[:, columns].T @ (rows @ direction))
            normals.append(rows[:, columns].T @ rows[:, columns])
    if len(scores) < 2:
        return 0.0
    inverse = np.linalg.pinv(np.sum(normals, axis=0))
    taken = sum(float(np.sum((inverse @ part) * (inverse @ part).T)) for part in normals)
    moved = np.array(scores) @ inverse
    measured = float(np.sum((moved @ _inverse_root(covariance).T) ** 2))
    return measured / max(len(columns) - taken, 0.1 * len(columns))


def _inverse_root(covariance: Array) -> Array:
    """W with ``W' W = C^-1``, also where joints hardly move and C is singular as computed."""
    sd = np.sqrt(np.diag(covariance))
    values, vectors = np.linalg.eigh(covariance / np.outer(sd, sd))
    root: Array = (vectors / np.sqrt(np.maximum(values, len(sd) * np.finfo(float).eps * values[-1]))).T / sd
    return root


#: Order of the differences that leave noise alone.
DIFFERENCES = 6


@dataclass(frozen=True, eq=False)
class MeasurementNoise:
    """Noise of a recording after processing.

    Attributes
    ----------
    motion : ndarray, shape (n, 3, 3)
        Covariance of the errors of q, dq, ddq of each joint, ``[rad, rad/s, rad/s^2]`` squared.
    torque : ndarray, shape (n,)
        Variance of each torque [(N.m)^2].
    """

    motion: Array
    torque: Array

    @classmethod
    def of(cls, raw: Dataset, processing: Processing) -> MeasurementNoise:
        """White noise of positions and torques as the recording shows it, and what the processing makes of it.

        The variances are those of sixth differences, which no motion survives at usual rates, friction's jumps left
        out; the covariances follow from the impulse response of the processing.

        Parameters
        ----------
        raw
            As recorded, at a constant rate.
        processing
            Of the estimation.

        Raises
        ------
        DatasetError
            If the recording is too short, or a torque has no noise at all.
        """
        if len(raw) < 10 * DIFFERENCES:
            raise DatasetError(
                f"{raw.name}: {len(raw)} samples are too few to estimate the noise; expected {10 * DIFFERENCES} or more"
            )
        positions, torques = (white_sd(values, DIFFERENCES) ** 2 for values in (raw.q, raw.tau))
        if not (torques > 0).all():
            exact = int(np.argmin(torques)) + 1
            raise DatasetError(
                f"{raw.name}: the torque of joint {exact} has no noise; construct MeasurementNoise from known values"
            )
        cutoff = processing.cutoff
        if cutoff == "auto":  # that of the recording, not of the pulse
            same = replace(processing, torque_cutoff="same", filter_columns=True).apply(raw).full
            cutoff = None if same is None else same.low_pass.cutoff
        pulse = np.zeros((len(raw), 1))
        pulse[len(raw) // 2] = 1.0
        settings = replace(
            processing, cutoff=cutoff, every=1, between=None, slowest=0.0, delay=0.0, velocity="differentiate"
        )
        answer = settings.apply(Dataset(raw.t, pulse, pulse))
        assert answer.dq is not None and answer.ddq is not None
        response = np.column_stack([answer.q, answer.dq, answer.ddq])
        if answer.full is not None:  # the columns pass the torques' filter too
            response = answer.full.low_pass(response)
        motion = positions[:, None, None] * (response.T @ response)
        return cls(motion, torques * float((answer.tau**2).sum()))


# ------------------------------------------------------------------ least squares

#: Share of a column's length (after equilibration) that must be left by the columns before it to count as identifiable;
#: a single parameter is, of which no more lies outside the combinations that are.
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
        root = _inverse_root(whole)
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


# ------------------------------------------------------------------ estimators


class Observations:
    """A model and the processed recordings that it is fitted to.

    Parameters
    ----------
    model : Model
    datasets : Dataset or sequence of Dataset
    noise : callable, optional
        ``() -> MeasurementNoise`` of the processed recordings, for estimators that weight by it.
    """

    def __init__(
        self,
        model: Model,
        datasets: Dataset | Sequence[Dataset],
        noise: Callable[[], MeasurementNoise] | None = None,
    ) -> None:
        self.model = model
        self.datasets = (datasets,) if isinstance(datasets, Dataset) else tuple(datasets)
        self._noise = noise
        self._part: CompressedData | None = None
        if not self.datasets:
            raise DatasetError("no recording to estimate from")

    @cached_property
    def compressed(self) -> CompressedData:
        """The R factors, computed once."""
        return compress(self.model, self.datasets) if self._part is None else self._part

    @cached_property
    def noise(self) -> MeasurementNoise:
        """Noise of the processed recordings; DatasetError if none was given."""
        if self._noise is None:
            raise DatasetError(
                "the noise of the recordings is not known; give it to the estimator, e.g. MaximumLikelihood("
                "MeasurementNoise.of(raw, processing))"
            )
        return self._noise()

    def of(self, model: Model) -> Observations:
        """The same recordings with another model."""
        return self if model is self.model else Observations(model, self.datasets, self._noise)

    def only(self, part: CompressedData) -> Observations:
        """The samples of a part of the compressed data alone (`CompressedData.only`); the others are masked."""
        counted = self.rows(part)
        datasets = [
            replace(data, mask=rows[:, None] & data.counted) for data, rows in zip(self.datasets, counted, strict=True)
        ]
        made = Observations(self.model, datasets, self._noise)
        made._part = part
        return made

    @property
    def whole(self) -> bool:
        """Whether no sample is left out (`only`)."""
        return self._part is None

    def rows(self, part: CompressedData | None = None) -> list[NDArray[np.bool_]]:
        """Samples of each recording that belong to a part of the compressed data; default: to these observations."""
        chosen = part or self._part
        if chosen is None:
            return [np.ones(len(data), dtype=bool) for data in self.datasets]
        kept = [np.zeros(len(data), dtype=bool) for data in self.datasets]
        for segment in chosen.segments:
            for recording, first, stop in segment.spans:
                kept[recording][first:stop] = True
        return kept

    def batches(self, size: int) -> Batches:
        """Empty batches for the scores of so many parameters at all samples."""
        correlation = float(np.max(self.compressed.correlation))
        return Batches(sum(len(data) for data in self.datasets), size, correlation)


class Estimator(ABC):
    """A way to estimate base parameters; a new one is one subclass and one line of `ESTIMATORS`.

    Hyper-parameters belong to the constructor, so that one object fits any data, the whole or a part.
    """

    name: str

    @abstractmethod
    def fit(self, data: Observations) -> Fit:
        """Base parameters with their covariance."""

    def refit(self, part: CompressedData, whole: Fit, data: Observations) -> Fit:
        """The estimate from a part of the data, for held-out errors.

        Parameters
        ----------
        part
            Some segments of ``whole.data`` (`CompressedData.only`).
        whole
            This estimator's fit of all data; an estimator may keep what it settled there, such as sample weights.
        data
            The observations of ``whole``.
        """
        return self.fit(data.only(part))
