"""Maximum likelihood with noise in torques and positions (errors in variables)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import comb

import numpy as np
from numpy.typing import NDArray

from casid.codegen import evaluate_batch
from casid.dynamics._derived import inverse_dynamics_derivatives
from casid.errors import DatasetError, SolveError
from casid.measurement import Dataset, Processing
from casid.regression._fit import Fit, wls
from casid.regression._observation import observation_blocks
from casid.regression._statistics import Batches
from casid.regression.estimators._estimator import Estimator, Observations, fit_from_scores, solved

Array = NDArray[np.float64]

#: Order of the differences that leave noise alone.
DIFFERENCES = 6
#: Differences beyond so many robust standard deviations are jumps of friction, not noise.
OUTLYING = 5.0


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
            raise DatasetError(f"{raw.name}: {len(raw)} samples are too few to tell the noise")
        positions, torques = (_white_variance(values) for values in (raw.q, raw.tau))
        if not (torques > 0).all():
            silent = int(np.argmin(torques)) + 1
            raise DatasetError(
                f"{raw.name}: the torque of joint {silent} has no noise; state MeasurementNoise yourself"
            )
        made = processing.apply(raw)
        cutoff = processing.cutoff if made.full is None or processing.cutoff != "auto" else made.full.low_pass.cutoff
        pulse = np.zeros((len(raw), 1))
        pulse[len(raw) // 2] = 1.0
        settings = replace(processing, cutoff=cutoff, every=1, between=None, slowest=0.0, delay=0.0)
        answer = settings.apply(Dataset(raw.t, pulse, pulse))
        assert answer.dq is not None and answer.ddq is not None
        response = np.column_stack([answer.q, answer.dq, answer.ddq])
        if answer.full is not None:  # the columns pass the torques' filter too
            response = answer.full.low_pass(response)
        motion = positions[:, None, None] * (response.T @ response)
        return cls(motion, torques * float((answer.tau**2).sum()))


def _white_variance(values: Array) -> Array:
    """Variance of the white part of each column, from differences; the few that are far out do not count."""
    differences = np.diff(values, DIFFERENCES, axis=0)
    spread = 1.4826 * np.median(np.abs(differences), axis=0)
    usual = np.abs(differences) <= OUTLYING * np.where(spread > 0, spread, np.inf)
    squares = np.where(usual, differences**2, 0.0).sum(axis=0) / np.maximum(usual.sum(axis=0), 1)
    return np.asarray(squares / comb(2 * DIFFERENCES, DIFFERENCES))


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
    noise : MeasurementNoise
        C and sigma^2.
    iterations : int
    tolerance : float
        Relative change of the weighted estimate at which it stops.
    """

    noise: MeasurementNoise
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
        noise, torque = np.asarray(self.noise.motion, dtype=float), np.asarray(self.noise.torque, dtype=float)
        if noise.shape != (n, 3, 3) or torque.shape != (n,) or not (np.isfinite(noise).all() and (torque > 0).all()):
            raise DatasetError(
                f"noise: expected finite covariances of shape ({n}, 3, 3) and {n} positive variances, got shapes "
                f"{noise.shape} and {torque.shape}"
            )
        if data.model.base_regressor.n_in() != 3:
            extra = ", ".join(data.model.base_regressor.name_in()[3:])
            raise DatasetError(f"maximum likelihood knows the motion alone; leave out the terms that use {extra}")
        start = wls(data.compressed)
        columns = list(start.excited.independent)
        beta = np.array(start.beta)
        for _ in range(self.iterations):
            A, b, _ = self._equations(data, beta, columns, False)
            before = beta.copy()
            beta[columns] = solved(A, b, self.name)
            step = (beta - before)[columns]
            if float(step @ A @ step) <= self.tolerance**2 * abs(float(beta[columns] @ b)):
                break
        else:
            raise SolveError(f"maximum likelihood: no convergence in {self.iterations} iterations")
        A, _, batches = self._equations(data, beta, columns, True)
        return fit_from_scores(data, start, beta, A, batches, self.name)

    def _equations(
        self, data: Observations, beta: Array, columns: Sequence[int], scored: bool
    ) -> tuple[Array, Array, Batches]:
        """``Z' W``, ``Z' tau`` (whitened), and the scores of batches."""
        model, size, chosen = data.model, len(columns), list(columns)
        base = model.with_base_parameters()
        derivatives = inverse_dynamics_derivatives(base)
        A, b = np.zeros((size, size)), np.zeros(size)
        batches = data.batches(size)
        for one in data.datasets:
            assert one.dq is not None and one.ddq is not None
            for first, W in observation_blocks(model, one):
                rows = slice(first, first + len(W))
                q, dq, ddq = one.q[rows], one.dq[rows], one.ddq[rows]
                kept = np.ones((len(W), model.n)) if one.mask is None else one.mask[rows].astype(float)
                F = kept * (one.tau[rows] - W @ beta)
                G = np.stack([np.asarray(g) for g in evaluate_batch(derivatives, q, dq, ddq, beta)], axis=3)
                G = G * kept[:, :, None, None]
                spread = np.einsum("tijc,jcd->tijd", G, self.noise.motion)  # G C
                from_positions = np.einsum("tijc,tkjc->tik", spread, G)
                Sigma = from_positions + np.diag(self.noise.torque)
                weighed = np.linalg.solve(Sigma, F[:, :, None])[:, :, 0]
                moved = np.einsum("tijc,ti->tjc", spread, weighed)  # C G' Sigma^-1 F
                likely = [x + moved[:, :, c] for c, x in enumerate((q, dq, ddq))]
                Z = W + np.asarray(evaluate_batch(model.base_regressor, *likely))
                Z -= np.asarray(evaluate_batch(model.base_regressor, q, dq, ddq))
                Z = kept[:, :, None] * Z[:, :, chosen]
                V = np.linalg.solve(Sigma, Z)
                flat = V.reshape(-1, size)
                A += flat.T @ (kept[:, :, None] * W[:, :, chosen]).reshape(-1, size)
                b += flat.T @ (kept * one.tau[rows]).ravel()
                if scored:
                    root = np.linalg.cholesky(Sigma)
                    white = np.asarray(np.linalg.solve(root, np.concatenate([Z, F[:, :, None]], axis=2)), dtype=float)
                    batches.add(white[:, :, :-1], white[:, :, -1])
        return A, b, batches
