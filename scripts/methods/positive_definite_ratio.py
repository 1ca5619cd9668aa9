"""How dangerous infeasible parameters are: share of poses with a positive definite mass matrix (Sousa 2014, Fig. 6.1).

Along ``beta(lambda) = (1 - lambda) beta_infeasible + lambda beta_feasible`` (eq. 6.1) the mass matrix is linear in
lambda.
"""

from __future__ import annotations

import numpy as np
from measures import published

import casid
from casid.dynamics import BaseParameters, Model
from methods.regression import Array
from methods.wam import WamData


def random_poses(n: int, count: int, seed: int = 0) -> Array:
    """Uniform joint positions over a full turn, shape (n, count) [rad]."""
    return np.random.default_rng(seed).uniform(-np.pi, np.pi, (n, count))


def mass_matrices(model: Model, parameters: Array, q: Array) -> Array:
    """Mass matrices at poses q of shape (n, count), shape (count, n, n)."""
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


def from_base(base: BaseParameters, beta: Array) -> Array:
    """Standard parameters with these base parameters, all of it in the leading ones: the mass matrix is the same."""
    parameters = np.zeros(len(base.parameter_names))
    parameters[list(base.independent)] = beta
    return parameters


def published_mass_matrices(column: str, q: Array) -> Array:
    """Mass matrices of the WAM from the thesis's base parameters (Tables 4.6, 4.9), shape (count, 7, 7).

    The 76 base parameters belong to a model with rotor inertias behind the arm's differentials: ``tau = T tau_m`` and
    ``dq_m = T' dq`` (eq. 4.4, 4.5) add ``T diag(Ia) T'``. As in `from_base`, leading parameters carry all of it.

    Raises
    ------
    NotMeasured
        Without the data folder.
    """
    table = published.table("wam_table_4_9_feasible_estimates")
    values = {row["first_term"].replace("_", ""): float(row[column]) for row in table}
    model = Model(casid.load_robot("wam7"))
    names = {f"L{name[-1]}{name[1:3]}" if name[0] == "L" else name: name for name in model.parameter_names}
    parameters = np.zeros(len(model.parameter_names))
    for name, value in values.items():
        own = name if name in model.parameter_names else names.get(name)
        if own is not None:
            parameters[model.parameter_names.index(own)] = value
    constants = {row["name"]: float(row["value"]) for row in published.table("wam_eq_4_5_constants")}
    T = np.array([[_entry(text, constants) for text in row.values()] for row in published.table("wam_eq_4_5_Tc")])
    rotors = np.array([values.get(f"Iam{k + 1}", 0.0) for k in range(7)])
    return np.asarray(mass_matrices(model, parameters, q) + T @ np.diag(rotors) @ T.T)


def _entry(text: str, constants: dict[str, float]) -> float:
    """A number, or ``-1/n3`` with a named constant."""
    sign = -1.0 if text.startswith("-") else 1.0
    body = text.lstrip("-")
    if "/" in body:
        top, bottom = body.split("/")
        return sign * float(top) / constants[bottom]
    return sign * float(body)


def pd_curves(data: WamData, weights: Array, poses: int, from_tables: bool = False) -> dict[str, Array]:
    """Curves of Fig. 6.1: from the simulated data, or from the thesis's own published parameters."""
    q = random_poses(7, poses)
    if from_tables:
        ends = [published_mass_matrices(column, q) for column in ("beta_WLS", "beta_star_WLS")]
        return {"the thesis's published WAM parameters": ratios(ends[0], ends[1], weights)}
    ends = [
        mass_matrices(data.model, from_base(data.base, beta), q) for beta in (data.estimate, data.feasible_estimate())
    ]
    return {"identified here from simulated WAM data": ratios(ends[0], ends[1], weights)}
