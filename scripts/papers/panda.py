"""The pipeline of Gaz et al. (2019) on the Panda, each step once: coefficients, friction, retrieval, validation."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np
from benchmarks import published, recordings
from benchmarks.measure import data_folder
from benchmarks.measured import table_viii

import casid
from casid.arrays import Array
from casid.dynamics import Model
from casid.identification import FeasibleFit, feasible_regression
from casid.measurement import Dataset
from casid.regression import CompressedData, Estimate, Fit, compress, fit_friction, ols, reverse_engineer, wls

#: The paper's acceleration of gravity: only with it do M and g give the printed coefficients.
GRAVITY = (0.0, 0.0, -9.80665)
JOINTS = tuple(f"joint {k}" for k in range(1, 8))
SEVEN = range(7)


@cache
def model() -> Model:
    """Links alone."""
    return Model(casid.load_robot("panda"), (), GRAVITY)


@cache
def friction_model() -> Model:
    """With the linear friction of the supplement's Sec. II."""
    return Model(casid.load_robot("panda"), recordings.FRICTION, GRAVITY)


@cache
def coefficients() -> Estimate:
    """pi_RE, from the 1010 mass matrices and gravity torques."""
    data = np.load(data_folder() / "panda" / "reverse_engineering_1010.npz")
    return reverse_engineer(model(), data["q"], data["M"], data["g"])


@cache
def retrieved() -> casid.Solution:
    """Feasible parameters from the coefficients, with their certificate."""
    return casid.solve(casid.load_problem("panda_retrieval"))


@cache
def printed_parameters(column: str) -> Array:
    """p_hat or delta of Tables VIII and IX as standard parameters, shape (70,); what is "don't care" is 0."""
    rows = [*published.table("panda_table_VIII_masses_coms"), *published.table("panda_table_IX_inertias")]
    values = {row["parameter"]: np.nan_to_num(published.number(row[column])) for row in rows}
    return published.standard_of(values, 7)


@cache
def forms() -> tuple[Array, Array]:
    """The 43 printed sums as linear forms, shape (43, 70), and each one's place among the base parameters."""
    base = model().base
    rows = published.table("panda_table_III_dynamic_coefficients")[:43]
    printed = np.array([published.linear_form(row["expression_exact"], base.parameter_names) for row in rows])
    return printed, np.array([int(np.abs(base.K - form).max(axis=1).argmin()) for form in printed])


def deviations() -> tuple[float, int]:
    """Largest deviation of pi_RE from the printed digits, in units of the 4th decimal, and coefficients compared."""
    rows, estimate = published.table("panda_table_III_dynamic_coefficients")[:43], coefficients()
    places, worst = forms()[1], 0.0
    for k, row in enumerate(rows):
        digits = 9 if "e" in row["pi_RE"] else len(row["pi_RE"].split(".")[1])
        worst = max(worst, abs(estimate.values[places[k]] - float(row["pi_RE"])) / max(10.0**-digits, 1e-4))
    return worst, len(rows)


@dataclass(frozen=True, eq=False)
class Classical:
    """The classical identification: data with all samples, least squares with 43 + 21 columns.

    Attributes
    ----------
    data : CompressedData
    """

    data: CompressedData

    @cached_property
    def ordinary(self) -> Fit:
        """As the paper says."""
        return ols(self.data)

    @cached_property
    def weighted(self) -> Fit:
        """Each joint by its residual."""
        return wls(self.data)

    def condition(self, weights: Array | None = None) -> float:
        """Condition number of the observation matrix."""
        return float(np.linalg.cond(self.data.stacked(weights)[0]))

    @cached_property
    def one_step(self) -> FeasibleFit:
        """Links and friction at once under the bounds: pi_OSI, all joints alike as in the document."""
        return feasible_regression(self.ordinary, constraints=table_viii)

    @cached_property
    def one_step_weighted(self) -> FeasibleFit:
        """The same, each joint by its residual."""
        return feasible_regression(self.weighted, constraints=table_viii)


@cache
def classical(cutoff: float = 5.0, trim: float = 0.5, every: int = 1) -> Classical:
    """From the recorded exciting motion; the paper gives neither filter nor the samples kept."""
    data = recordings.panda(cutoff=cutoff, trim=trim, every=every)
    return Classical(compress(friction_model(), data))


@cache
def recording() -> Dataset:
    """The same motion, 5 Hz, every tenth sample."""
    return recordings.panda()


@dataclass(frozen=True, eq=False)
class Validation:
    """Torques of one set of coefficients on the recording, with sigmoid friction fitted to what it leaves.

    Attributes
    ----------
    rigid, friction : ndarray, shape (N, 7)
        Torque of the links, and of the joints' friction.
    shapes : ndarray, shape (7, 3)
        phi_1, phi_2, phi_3 of each joint.
    """

    rigid: Array
    friction: Array
    shapes: Array

    @property
    def residual(self) -> Array:
        """Measured minus predicted torque."""
        return np.asarray(recording().tau - self.rigid - self.friction)

    @property
    def relative_error(self) -> float:
        """In percent of the torque."""
        return 100.0 * float(np.linalg.norm(self.residual) / np.linalg.norm(recording().tau))

    @property
    def mse(self) -> Array:
        """Of each joint [(N.m)^2]."""
        return np.asarray(np.mean(self.residual**2, axis=0))


def validated(beta: Array) -> Validation:
    """Coefficients on the recording (Gaz et al. 2019, Sec. IV-B and VI)."""
    q, dq, ddq, tau = recordings.arrays(recording())
    rigid = model().base_regressor(q, dq, ddq) @ beta
    friction, shapes = np.zeros_like(rigid), np.zeros((7, 3))
    for k in SEVEN:
        found = fit_friction(dq[:, k], tau[:, k] - rigid[:, k], "sigmoid")
        friction[:, k], shapes[k] = found(dq[:, k]), [*found.amplitudes, *found.shape]
    return Validation(rigid, friction, shapes)


@cache
def validations() -> dict[str, Validation]:
    """pi_RE, the published sets and the retrieved one."""
    base = model().base
    return {
        "pi_RE": validated(coefficients().values),
        "p_hat": validated(base.values(printed_parameters("p_hat"))),
        "delta": validated(base.values(printed_parameters("delta"))),
        "casid": validated(base.values(retrieved().standard_parameters)),
    }
