"""Nonlinear programs of earlier authors over the links: Mata et al., Ting et al."""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import cache
from typing import Any

import casadi as ca
import numpy as np
from papers.methods.feasible_set import inertia_matrix, steiner
from papers.methods.regression import Answer, Kind, Regression, Stopwatch
from scipy.linalg import block_diag
from scipy.optimize import least_squares, minimize

from casid.arrays import Array
from casid.inertia import from_standard, to_standard

#: The i-th leading minor of a matrix of order one must be at least this to the power i.
STRICTNESS = 1e-3


@cache
def _link(kind: Kind) -> tuple[ca.Function, ca.Function]:
    """``(x, margin, scale) -> g >= 0`` of one link, shapes (10), (), () -> (4): step one and step two."""
    x, margin, scale = ca.SX.sym("x", 10), ca.SX.sym("margin"), ca.SX.sym("scale")
    inertia, mass, moment = inertia_matrix(x), x[9] - margin, x[6:9]
    if kind == "full":  # J - margin 1 > 0: Schur complement of the mass, times the mass
        sigma = ca.trace(inertia) / 2 * ca.SX.eye(3) - inertia
        matrix = mass * (sigma - margin * ca.SX.eye(3)) - moment @ moment.T
    else:  # D - margin 1 > 0
        matrix = mass * (inertia - margin * ca.SX.eye(3)) - steiner(x)
    matrix /= scale
    first = ca.vertcat(mass, ca.diag(matrix)) - STRICTNESS**2
    minors = ca.vertcat(matrix[0, 0], ca.det(matrix[:2, :2]), ca.det(matrix))
    second = ca.vertcat(mass, minors) - ca.DM([STRICTNESS**2, STRICTNESS, STRICTNESS**2, STRICTNESS**3])
    inputs = [x, margin, scale]
    return ca.Function("first", inputs, [first]), ca.Function("second", inputs, [second])


class Step:
    """Objective ``|R x - r|^2 / scale`` and constraints of all links, with first and second derivatives."""

    def __init__(self, data: Regression, step: int) -> None:
        n = data.links
        self.size, self.count = 10 * n, 4 * n
        self.scale = max(float(data.r @ data.r) / 100.0, 1e-12)
        self.R, self.r = data.R, data.r
        self.gram = data.R.T @ data.R * (2.0 / self.scale)
        link = _link(data.kind)[step]
        y, multipliers, x = ca.SX.sym("y", 10), ca.SX.sym("l", 4), ca.MX.sym("x", self.size)
        # the matrices are of the order of m^2 a^2: a typical link's mass and half size from ordinary least squares
        links = np.linalg.solve(data.R, data.r).reshape(-1, 10)
        scale = float(np.median(np.abs(links[:, 9])) * np.median(np.abs(links[:, [0, 3, 5]]))) / 3.0
        g = link(y, data.margin, scale)
        hessian, _ = ca.hessian(ca.dot(multipliers, g), y)
        self._g = ca.Function("g", [y], [g]).map(n)
        self._jacobian = ca.Function("j", [y], [ca.densify(ca.jacobian(g, y))]).map(n)
        self._hessian = ca.Function("h", [y, multipliers], [ca.densify(hessian)]).map(n)
        self.x, self.columns = x, ca.reshape(x, 10, n)

    def objective(self, x: np.ndarray) -> float:
        """``|R x - r|^2`` over its scale."""
        return float(np.sum((self.R @ x - self.r) ** 2)) / self.scale

    def gradient(self, x: np.ndarray) -> np.ndarray:
        """Of the objective."""
        return np.asarray(self.R.T @ (self.R @ x - self.r) * (2.0 / self.scale))

    def constraints(self, x: np.ndarray) -> np.ndarray:
        """Mass and diagonals, or minors, of all links."""
        return np.array(self._g(x.reshape(-1, 10).T)).ravel(order="F")

    def jacobian(self, x: np.ndarray) -> np.ndarray:
        """Of the constraints."""
        return np.asarray(block_diag(*np.hsplit(np.array(self._jacobian(x.reshape(-1, 10).T)), self.size // 10)))

    def nlp(self) -> tuple[dict[str, ca.MX], ca.Function]:
        """CasADi's problem, and ``hess_lag``: constant objective block and one 10x10 block a link."""
        residual = ca.DM(self.R) @ self.x - ca.DM(self.r)
        f = ca.sumsqr(residual) / self.scale
        weight, multipliers = ca.MX.sym("lam_f"), ca.MX.sym("lam_g", self.count)
        blocks = ca.horzsplit(self._hessian(self.columns, ca.reshape(multipliers, 4, -1)), 10)
        hessian = ca.triu(weight * ca.DM(self.gram) + ca.diagcat(*blocks))
        inputs, names = [self.x, ca.MX.sym("p", 0, 1), weight, multipliers], ["x", "p", "lam_f", "lam_g"]
        second = ca.Function("hess_lag", inputs, [hessian], names, ["triu_hess_gamma_x_x"])
        return {"x": self.x, "f": f, "g": ca.vec(self._g(self.columns))}, second


def prior(data: Regression) -> np.ndarray:
    """A feasible initial guess, as from drawings: uniform bodies half as large as each link's box, shape (10 n,).

    The mass is that of ordinary least squares where it is positive, else 1 kg.
    """
    masses = np.linalg.solve(data.R, data.r)[9::10]
    bodies = []
    for mass, box in zip(np.where(masses > 0, masses, 1.0), data.boxes, strict=True):
        spread = np.diag((box[:, 1] - box[:, 0]) ** 2) / 4.0 / 12.0 * mass
        bodies.append(to_standard(mass, box.mean(axis=1), np.trace(spread) * np.eye(3) - spread))
    return np.concatenate(bodies)


def mata_sqp(data: Regression, iterations: int = 100, seconds: float = 60.0) -> Answer:
    """Sequential quadratic programming (SLSQP) with analytic gradients.

    Parameters
    ----------
    data
        The regression.
    iterations
        Limit of each of the two steps; the thesis varied it up to 300 without gain.
    seconds
        Time limit of both steps together.
    """
    watch = Stopwatch()
    return sequential("Mata (SQP)", data, [Step(data, 0), Step(data, 1)], watch, iterations, seconds)


def sequential(
    method: str, data: Regression, steps: Sequence[Step], watch: Stopwatch, iterations: int, seconds: float
) -> Answer:
    """SLSQP on one program after another, each from where the one before ended; the first from `prior`."""
    x = prior(data)
    watch.prepared()
    total, message, solved = 0, "", False
    for step in steps:

        def objective(x: np.ndarray, step: Step = step) -> float:
            if time.process_time() > watch.built + seconds:
                raise _OutOfTime(x.copy())
            return step.objective(x)

        constraint: Any = {"type": "ineq", "fun": step.constraints, "jac": step.jacobian}
        try:
            result = minimize(
                objective, x, jac=step.gradient, method="SLSQP", constraints=[constraint],
                options={"maxiter": iterations, "ftol": 1e-12},
            )  # fmt: skip
        except _OutOfTime as late:
            x, message, solved = late.args[0], f"stopped after {seconds:g} s", False
            break
        x, message, solved = result.x, str(result.message), bool(result.success)
        total += int(result.nit)
    return watch.answer(method, data, x, solved, message, total)


def mata_ipopt(data: Regression, iterations: int = 300, seconds: float = 60.0) -> Answer:
    """IPOPT with exact first and second derivatives on all the minors at once, from the feasible `prior`.

    An interior-point method that starts inside can stay inside: the first step, which leads out, is skipped.
    Limits as in `mata_sqp`.
    """
    watch = Stopwatch()
    step = Step(data, 1)
    problem, hessian = step.nlp()
    limits: dict[str, Any] = {"max_iter": iterations, "tol": 1e-10, "max_cpu_time": seconds, "bound_relax_factor": 0.0}
    options: dict[str, Any] = {"hess_lag": hessian, "print_time": False, "error_on_fail": False}
    solver = ca.nlpsol("mata", "ipopt", problem, {**options, "ipopt": {"print_level": 0, "sb": "yes", **limits}})
    guess = prior(data)
    watch.prepared()
    x = np.array(solver(x0=guess, lbg=0.0, ubg=np.inf)["x"]).ravel()
    stats = solver.stats()
    ended = bool(stats["success"]), str(stats["return_status"]), int(stats["iter_count"])
    return watch.answer("Mata (IPOPT)", data, x, *ended)


class _OutOfTime(Exception):
    """With the point where the time was over."""


#: Smallest mass [kg]: the matrix divides by it.
LEAST_MASS = 1e-3


@cache
def central(kind: Kind) -> ca.Function:
    """``x, margin -> A, dA/dx`` of one link, shapes (10), () -> (3, 3), (9, 10): the matrix with eigenvalues > 0."""
    x, margin = ca.SX.sym("x", 10), ca.SX.sym("margin")
    matrix = inertia_matrix(x) - steiner(x) / x[9]
    if kind == "full":
        matrix = ca.trace(matrix) / 2 * ca.SX.eye(3) - matrix
    matrix -= margin * ca.SX.eye(3)
    return ca.Function("central", [x, margin], [matrix, ca.densify(ca.jacobian(ca.vec(matrix), x))])


class EigenvalueStep(Step):
    """The objective of `methods.mata`; mass and eigenvalues of every link as constraints."""

    def __init__(self, data: Regression) -> None:
        super().__init__(data, 1)
        self.margin, self.links = data.margin, data.links
        self._matrix = central(data.kind).map(data.links)
        self._unit = float(np.median(np.abs(np.linalg.solve(data.R, data.r).reshape(-1, 10)[:, [0, 3, 5]]))) or 1.0

    def _evaluated(self, x: Array) -> tuple[Array, Array, Array]:
        """Masses (n,), matrices (n, 3, 3) and their derivatives (n, 3, 3, 10)."""
        links = x.reshape(-1, 10).copy()
        links[:, 9] = np.maximum(links[:, 9], LEAST_MASS)  # SLSQP looks where its own constraints do not hold
        A, dA = self._matrix(links.T, self.margin)
        matrices = np.array(A).reshape(3, self.links, 3).transpose(1, 0, 2)
        slopes = np.array(dA).reshape(3, 3, self.links, 10).transpose(2, 1, 0, 3)
        return x[9::10], matrices / self._unit, slopes / self._unit

    def constraints(self, x: Array) -> Array:
        """``m - least mass`` and three eigenvalues a link, shape (4 n,)."""
        mass, matrices, _ = self._evaluated(x)
        return np.column_stack([mass - LEAST_MASS, np.linalg.eigvalsh(matrices)]).ravel()

    def jacobian(self, x: Array) -> Array:
        """Shape (4 n, 10 n)."""
        _, matrices, slopes = self._evaluated(x)
        vectors = np.linalg.eigh(matrices)[1]
        rows = np.einsum("kie,kijp,kje->kep", vectors, slopes, vectors)
        return np.asarray(block_diag(*(np.vstack([np.eye(10)[9], own]) for own in rows)))


def mata_eigenvalues(data: Regression, iterations: int = 300, seconds: float = 60.0) -> Answer:
    """Sequential quadratic programming (SLSQP) on the eigenvalues, from the feasible `methods.mata.prior`.

    Parameters
    ----------
    data
        The regression.
    iterations
        Limit.
    seconds
        Time limit.
    """
    watch = Stopwatch()
    return sequential("Mata (eigenvalues)", data, [EigenvalueStep(data)], watch, iterations, seconds)


_LOWER = ((0, 0), (1, 0), (2, 0), (1, 1), (2, 1), (2, 2))


@cache
def body() -> ca.Function:
    """``theta -> x, dx/dtheta`` of one link, shapes (10) -> (10), (10, 10)."""
    theta = ca.SX.sym("theta", 10)
    mass, com = theta[0] ** 2, theta[1:4]
    factor = ca.SX(3, 3)
    for k, (i, j) in enumerate(_LOWER):
        factor[i, j] = theta[4 + k]
    inertia = factor @ factor.T + mass * (ca.dot(com, com) * ca.SX.eye(3) - com @ com.T)
    six = [inertia[0, 0], inertia[0, 1], inertia[0, 2], inertia[1, 1], inertia[1, 2], inertia[2, 2]]
    x = ca.vertcat(*six, mass * com, mass)
    return ca.Function("body", [theta], [x, ca.densify(ca.jacobian(x, theta))])


def theta_of(parameters: Array) -> Array:
    """Theta of feasible bodies, shape (10 n,)."""
    parts = []
    for ten in parameters.reshape(-1, 10):
        mass, com, inertia = from_standard(ten)
        factor = np.linalg.cholesky(inertia)
        parts.append([np.sqrt(mass), *com, *(factor[i, j] for i, j in _LOWER)])
    return np.ravel(parts)


def parameters_of(theta: Array) -> tuple[Array, Array]:
    """Standard parameters (10 n,), and the links' Jacobians (n, 10, 10)."""
    n = len(theta) // 10
    x, jacobian = body().map(n)(theta.reshape(n, 10).T)
    return np.array(x).ravel(order="F"), np.array(jacobian).reshape(10, n, 10).transpose(1, 0, 2)


def ting(data: Regression, evaluations: int = 200) -> Answer:
    """Levenberg-Marquardt from the feasible guess of `methods.mata.prior`; at most so many evaluations."""
    watch = Stopwatch()
    guess = theta_of(prior(data))
    scale = max(float(np.linalg.norm(data.r)), 1e-12)

    def residual(theta: Array) -> Array:
        return np.asarray((data.R @ parameters_of(theta)[0] - data.r) / scale)

    def jacobian(theta: Array) -> Array:
        return np.asarray(data.R @ block_diag(*parameters_of(theta)[1]) / scale)

    watch.prepared()
    found = least_squares(
        residual, guess, jac=jacobian, method="lm", xtol=1e-14, ftol=1e-14, gtol=1e-14, max_nfev=evaluations
    )
    x = parameters_of(np.asarray(found.x))[0]
    return watch.answer("Ting (theta)", data, x, bool(found.success), str(found.message), int(found.nfev))
