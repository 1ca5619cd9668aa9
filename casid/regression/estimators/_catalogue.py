"""Estimators by name, least squares and maximum likelihood; estimating equations that depend on the estimate."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from casid.arrays import Array
from casid.codegen import Function
from casid.dynamics import inverse_dynamics_derivatives
from casid.errors import DatasetError, SolveError
from casid.evidence import Batches
from casid.files import near
from casid.regression._compress import CompressedData, observation_blocks
from casid.regression._fit import Estimator, Fit, MeasurementNoise, Observations, irls, ols, wls

#: From base parameters to ``A = Z' W`` and ``b = Z' tau`` of the excited ones, and the scores of batches where asked.
Equations = Callable[[Array, bool], tuple[Array, Array, Batches]]


def solved_in_turn(
    data: Observations, start: Fit, equations: Equations, iterations: int, tolerance: float, name: str
) -> Fit:
    """The fit whose estimating equations ``Z' (tau - W beta) = 0`` depend on beta: made and solved in turn.

    It ends where a step s changes the weighted estimate by ``s' A s <= tolerance^2 beta' b``. The covariance is
    ``A^-1 S A^-T`` with the covariance S of the scores: it holds for noise of any colour.

    Parameters
    ----------
    start
        Of least squares: first values, which parameters are excited, and the joints' weights.

    Raises
    ------
    SolveError
        If the equations do not determine the parameters, or the iteration does not converge.
    """
    columns, beta = list(start.excited.independent), np.array(start.beta)
    for _ in range(iterations):
        A, b, _ = equations(beta, False)
        before = beta[columns]
        try:
            beta[columns] = np.linalg.solve(A, b)
        except np.linalg.LinAlgError:
            raise SolveError(
                f"{name}: its equations do not determine what least squares finds in the same data; is the simulated "
                "model the one that is fitted (gravity, terms), and does the simulated motion excite it?"
            ) from None
        step = beta[columns] - before
        change = np.sqrt(abs(float(step @ A @ step)) / max(abs(float(beta[columns] @ b)), 1e-300))
        if change <= tolerance:
            break
    else:
        raise SolveError(
            f"{name}: the estimate still changes by {100 * change:.2g} % of the torques after {iterations} iterations; "
            "is the model right, and that of the controller?"
        )
    A, _, batches = equations(beta, True)
    inverse = np.linalg.inv(A)
    covariance = inverse @ batches.covariance() @ inverse.T
    for array in (beta, covariance):
        array.setflags(write=False)
    scale = np.sqrt(np.abs(np.diagonal(A)))
    condition = float(np.linalg.cond(A / np.outer(scale, scale)))
    return Fit(data.compressed, beta, start.weights, start.excited, covariance, condition, name, True)


# ------------------------------------------------------------------ least squares


@dataclass(frozen=True)
class OLS(Estimator):
    """Ordinary least squares (Gaz et al. 2019, eq. 8)."""

    name = "OLS"

    def fit(self, data: Observations) -> Fit:
        """Base parameters with their covariance."""
        return ols(data.compressed)

    def refit(self, part: CompressedData, whole: Fit, data: Observations) -> Fit:
        """Of the part's factors: no sample is needed."""
        return ols(part)


@dataclass(frozen=True)
class WLS(Estimator):
    """Weighted least squares (Sousa 2014, eq. 4.35).

    Attributes
    ----------
    weights : sequence of float, optional
        Of each joint [1/N.m]; default: 1/RMS of the OLS residual.
    """

    name = "WLS"
    weights: Sequence[float] | None = None

    def fit(self, data: Observations) -> Fit:
        """Base parameters with their covariance."""
        return wls(data.compressed, self.weights)

    def refit(self, part: CompressedData, whole: Fit, data: Observations) -> Fit:
        """Of the part's factors: no sample is needed."""
        return wls(part, self.weights)


@dataclass(frozen=True)
class IRLS(Estimator):
    """Huber's robust estimate by iteratively reweighted least squares.

    Attributes
    ----------
    iterations : int
    tuning : float
        Residuals beyond so many robust standard deviations count less.
    """

    name = "IRLS"
    iterations: int = 10
    tuning: float = 1.345

    def fit(self, data: Observations) -> Fit:
        """Base parameters with their covariance."""
        return irls(data.datasets, wls(data.compressed), self.iterations, self.tuning)

    def refit(self, part: CompressedData, whole: Fit, data: Observations) -> Fit:
        """Of the part's factors, with the weights of samples and joints from the whole."""
        return wls(part, whole.weights)


@dataclass(frozen=True)
class MaximumLikelihood(Estimator):
    """Maximum likelihood with Gaussian noise in torques and positions (Olsen, Swevers, Verdonck 2002).

    With x = (q, dq, ddq), the residual ``F_t = tau_t - Y(x_t) beta`` of a sample has the covariance

        Sigma_t = diag(sigma_j^2) + G_t C G_t',   G_t = d(Y beta)/dx,

    which couples the joints and changes along the motion. The beta that minimises ``sum_t F_t' Sigma_t^-1 F_t``, whose
    weights depend on beta, has the estimating equations

        sum_t Y(x^_t)' Sigma_t^-1 (tau_t - Y(x_t) beta) = 0 ,   x^_t = x_t + C G_t' Sigma_t^-1 F_t ,

    with the most likely true state x^. They are solved in turn with x^ and Sigma. The covariance is that of the scores
    of batches: samples may depend on each other. The model is taken to be right: what friction, differences and filters
    leave unexplained is no noise, and shows where it exceeds it.

    Attributes
    ----------
    noise : MeasurementNoise, optional
        C and sigma^2; default: that of the observations (`Observations.noise`).
    iterations : int
    tolerance : float
        Relative change of the weighted estimate at which it stops.
    """

    noise: MeasurementNoise | None = None
    iterations: int = 30
    tolerance: float = 1e-4
    name = "ML"

    def fit(self, data: Observations) -> Fit:
        """Base parameters with their covariance.

        Raises
        ------
        DatasetError
            If the noise has another shape, or the model needs more than the motion.
        SolveError
            If the iteration does not converge.
        """
        n = data.model.n
        given = data.noise if self.noise is None else self.noise
        noise, torque = np.asarray(given.motion, dtype=float), np.asarray(given.torque, dtype=float)
        if noise.shape != (n, 3, 3) or torque.shape != (n,) or not (np.isfinite(noise).all() and (torque > 0).all()):
            raise DatasetError(
                f"noise: expected finite covariances of shape ({n}, 3, 3) and {n} positive variances, got shapes "
                f"{noise.shape} and {torque.shape}"
            )
        if data.model.base_regressor.n_in() != 3:
            extra = ", ".join(data.model.base_regressor.name_in()[3:])
            raise DatasetError(f"maximum likelihood uses the motion alone; leave out the terms that use {extra}")
        start = wls(data.compressed)
        columns = list(start.excited.independent)

        def equations(beta: Array, scored: bool) -> tuple[Array, Array, Batches]:
            return self._equations(data, given, beta, columns, scored)

        return solved_in_turn(data, start, equations, self.iterations, self.tolerance, self.name)

    def _equations(
        self, data: Observations, noise: MeasurementNoise, beta: Array, columns: Sequence[int], scored: bool
    ) -> tuple[Array, Array, Batches]:
        """``Z' W``, ``Z' tau`` (whitened), and the scores of batches."""
        model, size, chosen = data.model, len(columns), list(columns)
        derivatives = inverse_dynamics_derivatives(model.with_base_parameters())
        A, b = np.zeros((size, size)), np.zeros(size)
        batches = data.batches(size)
        for one in data.datasets:
            assert one.dq is not None and one.ddq is not None
            for first, W in observation_blocks(model, one):
                rows = slice(first, first + len(W))
                kept = one.counted[rows].astype(float)
                if not (scored or kept.any()):
                    continue
                F = kept * (one.tau[rows] - W @ beta)
                motion = one.q[rows], one.dq[rows], one.ddq[rows]
                moved, Sigma = _likely_errors(derivatives, motion, noise, beta, kept, F)
                likely = [x + moved[:, :, c] for c, x in enumerate(motion)]
                Z = W + model.base_regressor(*likely)
                Z -= model.base_regressor(*motion)
                Z = kept[:, :, None] * Z[:, :, chosen]
                flat = np.linalg.solve(Sigma, Z).reshape(-1, size)
                A += flat.T @ (kept[:, :, None] * W[:, :, chosen]).reshape(-1, size)
                b += flat.T @ (kept * one.tau[rows]).ravel()
                if scored:
                    root = np.linalg.cholesky(Sigma)
                    white = np.asarray(np.linalg.solve(root, np.concatenate([Z, F[:, :, None]], axis=2)), dtype=float)
                    batches.add(white[:, :, :-1], white[:, :, -1])
        return A, b, batches


def _likely_errors(
    derivatives: Function, motion: Sequence[Array], noise: MeasurementNoise, beta: Array, kept: Array, F: Array
) -> tuple[Array, Array]:
    """``C G' Sigma^-1 F``, shape (N, n, 3), and ``Sigma``, shape (N, n, n)."""
    G = np.stack(derivatives(*motion, beta), axis=3)
    G = G * kept[:, :, None, None]
    spread = np.einsum("tijc,jcd->tijd", G, noise.motion)  # G C
    Sigma = np.einsum("tijc,tkjc->tik", spread, G) + np.diag(noise.torque)
    weighed = np.linalg.solve(Sigma, F[:, :, None])[:, :, 0]
    return np.einsum("tijc,ti->tjc", spread, weighed), Sigma


# ------------------------------------------------------------------ by name

#: Estimators that need nothing but the observations, by name.
ESTIMATORS = MappingProxyType({made.name: made for made in (WLS(), OLS(), IRLS(), MaximumLikelihood())})


def estimator(method: str | Estimator) -> Estimator:
    """The estimator of that name; DatasetError lists the known ones."""
    if isinstance(method, Estimator):
        return method
    if method not in ESTIMATORS:
        hint = near(method, ESTIMATORS) or ";"
        raise DatasetError(f"unknown method '{method}'{hint} known: {', '.join(ESTIMATORS)}, or an Estimator")
    return ESTIMATORS[method]
