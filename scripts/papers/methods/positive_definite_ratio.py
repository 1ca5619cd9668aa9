"""How dangerous infeasible parameters are: share of poses with a positive definite mass matrix (Sousa 2014, Fig. 6.1).

Along ``beta(lambda) = (1 - lambda) beta_infeasible + lambda beta_feasible`` (eq. 6.1) the mass matrix is linear in
lambda.
"""

from __future__ import annotations

import numpy as np
from benchmarks import published

from casid.arrays import Array
from casid.dynamics import Model
from papers import wam_cases as thesis


def random_poses(n: int, count: int, seed: int = 0) -> Array:
    """Uniform joint positions over a full turn, shape (n, count) [rad]."""
    return np.random.default_rng(seed).uniform(-np.pi, np.pi, (n, count))


def mass_matrices(model: Model, parameters: Array, q: Array) -> Array:
    """Mass matrices of the links at poses q of shape (n, count), shape (count, n, n)."""
    n, count = q.shape
    stacked = np.array(model.mass_matrix.map(count)(q, parameters))
    return np.asarray(stacked.reshape(n, count, n).transpose(1, 0, 2))


def ratios(infeasible: Array, feasible: Array, weights: Array) -> Array:
    """Percentage of positive definite matrices ``(1 - w) infeasible + w feasible`` for every weight w."""
    percent = []
    for weight in weights:
        smallest = np.linalg.eigvalsh((1.0 - weight) * infeasible + weight * feasible)[:, 0]
        percent.append(100.0 * float(np.mean(smallest > 0.0)))
    return np.array(percent)


def wam_mass_matrices(beta: Array, q: Array) -> Array:
    """Mass matrices of the WAM from its 76 base parameters, rotors included, shape (count, 7, 7).

    The leading parameters carry all of a base parameter: torques and mass matrix are the same. Rotor inertias behind
    the differentials, ``tau = T tau_m`` and ``dq_m = T' dq`` (eq. 4.4, 4.5), add ``T diag(Ia) T'``.
    """
    model = thesis.model()
    pi = np.zeros(len(model.parameter_names))
    pi[list(model.base.independent)] = beta
    rotors = np.zeros(7)
    for column, (term, joint) in model.term_columns.items():
        if term.name == "motor_rotor":
            rotors[joint] = pi[column]
    T = np.asarray(model.robot.transmission, dtype=float)
    links = mass_matrices(Model(model.robot), pi[np.ravel(model.link_columns)], q)
    return np.asarray(links + T @ np.diag(rotors) @ T.T)


def published_ends() -> tuple[Array, Array]:
    """beta_WLS and beta* of Table 4.9."""
    rows = published.table("wam_table_4_9_feasible_estimates")
    return published.column(rows, "beta_WLS"), published.column(rows, "beta_star_WLS")


def pd_curve(infeasible: Array, feasible: Array, weights: Array, poses: int) -> Array:
    """One curve of Fig. 6.1, from 76 base parameters at both ends."""
    q = random_poses(7, poses)
    return ratios(wam_mass_matrices(infeasible, q), wam_mass_matrices(feasible, q), weights)
