"""Identification of the Barrett WAM from simulated data: the ground for Fig. 6.1 and 6.4 of Sousa (2014).

The author's robot logs are not public. Here CAD values of the arm and friction of the size found in the thesis (Table
4.6) drive the simulation of a short random Fourier motion; normally distributed noise, strong at the wrist, where
friction that no model explains drowns the small torques, brings the relative error of the estimate to the thesis's
4.6 %. Estimates are weighted by each joint's noise (Sousa 2014, Sec. 4.4.1).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

import casid
from casid.dynamics import BaseParameters, Model
from casid.retrieval import Problem, least_squares, link_variables, solve
from methods.feasibility_test import FeasibleSet
from methods.regression import Array, Kind

TERMS = ("viscous", "coulomb", "offset")
#: Harmonics and base frequency [Hz] of the motion, samples, and noise as a share of each joint's root mean square
#: torque.
HARMONICS, FREQUENCY, SAMPLES = 6, 0.08, 200
NOISE = (0.03, 0.04, 0.15, 0.15, 0.6, 0.6, 0.6)
#: Viscous and Coulomb friction of the simulated joints.
VISCOUS = (1.65, 1.45, 0.64, 0.58, 0.05, 0.06, 0.03)
COULOMB = (1.80, 0.80, 0.35, 0.54, 0.06, 0.04, 0.02)


@dataclass(frozen=True, eq=False)
class WamData:
    """Weighted regression data of the arm.

    Attributes
    ----------
    model : Model
        Seven links, with viscous and Coulomb friction and offset at each joint.
    W, tau : ndarray, shapes (7 samples, 91) and (7 samples,)
        Observation matrix and measured torque.
    weight : ndarray, shape (7 samples,)
        Inverse standard deviation of each row's noise.
    truth : ndarray, shape (91,)
    """

    model: Model
    W: Array
    tau: Array
    weight: Array
    truth: Array

    @property
    def base(self) -> BaseParameters:
        """The 64 base parameters."""
        return self.model.base

    @cached_property
    def triangle(self) -> Array:
        """R factor of the weighted ``[W_b, tau]``."""
        W_b = self.W[:, list(self.base.independent)]
        return np.asarray(np.linalg.qr(np.column_stack([W_b, self.tau]) * self.weight[:, None], mode="r"))

    @cached_property
    def estimate(self) -> Array:
        """Base parameters by weighted least squares, blind to physics, shape (64,)."""
        return np.asarray(np.linalg.solve(self.triangle[:-1, :-1], self.triangle[:-1, -1]))

    def relative_error(self, beta: Array) -> float:
        """``100 ||W_b beta - tau|| / ||tau||`` [%] (Sousa 2014, eq. 4.37)."""
        residual = self.W[:, list(self.base.independent)] @ beta - self.tau
        return 100.0 * float(np.linalg.norm(residual) / np.linalg.norm(self.tau))

    def feasible_set(self, kind: Kind = "semi") -> FeasibleSet:
        """Consistent links, viscous and Coulomb friction >= 0."""
        stride = self.model.stride
        links = tuple(range(0, stride * self.model.n, stride))
        return FeasibleSet(stride * self.model.n, links, kind, tuple(i + j for i in links for j in (10, 11)))

    def feasible_estimate(self, kind: Kind = "semi") -> Array:
        """Base parameters by this library's constrained regression, shape (64,)."""
        n, stride = self.model.n, self.model.stride
        order = np.arange(stride * n).reshape(n, stride)
        columns = np.concatenate([order[:, :10].ravel(), order[:, 10:].ravel()])
        extras = {
            name: (0.0 if name[:2] in ("fv", "fc") else -np.inf, np.inf)
            for name in (self.model.parameter_names[i] for i in columns[10 * n :])
        }
        variables = link_variables(self.model.robot, extras)
        objective = least_squares(variables, (self.W * self.weight[:, None])[:, columns], self.tau * self.weight)
        solution = solve(Problem("wam", variables, objective, consistency=kind))
        parameters = np.empty(stride * n)
        parameters[columns] = solution.x
        return self.base.values(parameters)


def simulate(seed: int = 1, samples: int = SAMPLES) -> WamData:
    """Data of a random motion within the joint limits."""
    rng = np.random.default_rng(seed)
    robot = casid.load_robot("wam7")
    model = Model(robot, terms=TERMS)
    n = model.n
    time = np.linspace(0.0, 1.0 / FREQUENCY, samples, endpoint=False)
    lower, upper = robot.limits.lower, robot.limits.upper
    q, dq, ddq = np.zeros((3, n, samples))
    for harmonic in range(1, HARMONICS + 1):
        rate = 2 * np.pi * FREQUENCY * harmonic
        a, b = rng.standard_normal((2, n, 1))
        sine, cosine = np.sin(rate * time), np.cos(rate * time)
        q += a * sine + b * cosine
        dq += rate * (a * cosine - b * sine)
        ddq -= rate**2 * (a * sine + b * cosine)
    reach = 0.9 * (upper - lower) / 2 / np.abs(q).max(axis=1)
    q, dq, ddq = q * reach[:, None] + ((upper + lower) / 2)[:, None], dq * reach[:, None], ddq * reach[:, None]
    W = np.array(model.regressor.map(samples)(q, dq, ddq)).reshape(n, samples, -1).reshape(n * samples, -1)
    truth = np.concatenate(
        [
            np.append(link, (v, c, 0.0))
            for link, v, c in zip(robot.standard_parameters().reshape(n, 10), VISCOUS, COULOMB, strict=True)
        ]
    )
    torque = (W @ truth).reshape(n, samples)
    deviation = np.array(NOISE) * np.sqrt(np.mean(torque**2, axis=1))
    tau = torque + deviation[:, None] * rng.standard_normal(torque.shape)
    return WamData(model, W, tau.ravel(), np.repeat(1.0 / deviation, samples), truth)
