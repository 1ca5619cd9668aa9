"""The method of Mata et al. (2005), constraints by Sylvester's criterion (Farhat et al. 2008): nonlinear programming.

``min ||R x - r||^2`` subject, for each link, to a positive mass and to positive leading principal minors of the 3x3
matrix ``m I`` (``semi``: inertia about the centre of mass) or ``m (tr(I)/2 1 - I)`` (``full``: the same with the
triangle inequality), polynomials in the standard parameters (Sousa 2014, eq. 3.4-3.6). As published, the initial
guess is a known set of parameters, and there are two steps: first only masses and diagonals; then all the minors,
from the first step's answer.

The criterion needs strict positivity: a matrix whose leading minors are merely >= 0 can be indefinite, and solvers
find such points. The i-th minor of the matrix, scaled to order one, is therefore kept above ``STRICTNESS^i``. The
polynomials describe a convex set in a nonconvex way, and their gradients vanish where a matrix loses rank twice: what
a general solver makes of them is what this method is compared for. `mata_sqp` is SciPy's SLSQP (the thesis used an
SQP solver with the gradients of both); `mata_ipopt` gives the method its best chance: IPOPT with exact Hessians.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import cache
from typing import Any, Protocol

import casadi as ca
import numpy as np
from scipy.optimize import minimize

from casid.inertia import link_slice, to_standard
from papers.methods.regression import Answer, Kind, Regression, answer

#: The i-th leading minor of a matrix of order one must be at least this to the power i.
STRICTNESS = 1e-3


@cache
def _link(kind: Kind) -> tuple[ca.Function, ca.Function]:
    """``(x, margin, scale) -> g >= 0`` of one link, shapes (10), (), () -> (4): step one and step two."""
    x, margin, scale = ca.SX.sym("x", 10), ca.SX.sym("margin"), ca.SX.sym("scale")
    inertia = ca.vertcat(ca.horzcat(x[0], x[1], x[2]), ca.horzcat(x[1], x[3], x[4]), ca.horzcat(x[2], x[4], x[5]))
    mass, moment = x[9] - margin, x[6:9]
    if kind == "full":  # J - margin 1 > 0: Schur complement of the mass, times the mass
        sigma = ca.trace(inertia) / 2 * ca.SX.eye(3) - inertia
        matrix = mass * (sigma - margin * ca.SX.eye(3)) - moment @ moment.T
    else:  # D - margin 1 > 0, S'S = l'l 1 - l l'
        matrix = mass * (inertia - margin * ca.SX.eye(3)) - (ca.dot(moment, moment) * ca.SX.eye(3) - moment @ moment.T)
    matrix /= scale
    first = ca.vertcat(mass, ca.diag(matrix)) - STRICTNESS**2
    minors = ca.vertcat(matrix[0, 0], ca.det(matrix[:2, :2]), ca.det(matrix))
    second = ca.vertcat(mass, minors) - ca.DM([STRICTNESS**2, STRICTNESS, STRICTNESS**2, STRICTNESS**3])
    inputs = [x, margin, scale]
    return ca.Function("first", inputs, [first]), ca.Function("second", inputs, [second])


class Program(Protocol):
    """What a sequential quadratic program needs: values and first derivatives."""

    size: int

    def objective(self, x: np.ndarray) -> float:
        """To be minimised."""

    def gradient(self, x: np.ndarray) -> np.ndarray:
        """Shape (size,)."""

    def constraints(self, x: np.ndarray) -> np.ndarray:
        """Each >= 0."""

    def jacobian(self, x: np.ndarray) -> np.ndarray:
        """Of the constraints."""


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
        blocks = np.array(self._jacobian(x.reshape(-1, 10).T))  # 4 x 10 n
        full = np.zeros((self.count, self.size))
        for k in range(self.size // 10):
            full[4 * k : 4 * k + 4, link_slice(k)] = blocks[:, link_slice(k)]
        return full

    def nlp(self) -> tuple[dict[str, ca.MX], ca.Function]:
        """CasADi's problem, and ``hess_lag``: constant objective block and one 10x10 block a link."""
        residual = ca.DM(self.R) @ self.x - ca.DM(self.r)
        f = ca.sumsqr(residual) / self.scale
        weight, multipliers = ca.MX.sym("lam_f"), ca.MX.sym("lam_g", self.count)
        blocks = ca.horzsplit(self._hessian(self.columns, ca.reshape(multipliers, 4, -1)), 10)
        hessian = ca.triu(weight * ca.DM(self.gram) + ca.diagcat(*blocks))
        return {"x": self.x, "f": f, "g": ca.vec(self._g(self.columns))}, ca.Function(
            "hess_lag",
            [self.x, ca.MX.sym("p", 0, 1), weight, multipliers],
            [hessian],
            ["x", "p", "lam_f", "lam_g"],
            ["triu_hess_gamma_x_x"],
        )


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
    start = time.process_time()
    return sequential("Mata (SQP)", data, [Step(data, 0), Step(data, 1)], start, iterations, seconds)


def sequential(
    method: str, data: Regression, steps: Sequence[Program], start: float, iterations: int, seconds: float
) -> Answer:
    """SLSQP on one program after another, each from where the one before ended; the first from `prior`."""
    x = prior(data)
    built = time.process_time()
    total, message, solved = 0, "", False
    for step in steps:
        guard = _Guard(step, built + seconds)
        constraint: Any = {"type": "ineq", "fun": step.constraints, "jac": step.jacobian}
        try:
            result = minimize(
                guard.objective,
                x,
                jac=step.gradient,
                method="SLSQP",
                constraints=[constraint],
                options={"maxiter": iterations, "ftol": 1e-12},
            )
        except _OutOfTime:
            x, message, solved = guard.last, f"stopped after {seconds:g} s", False
            break
        x, message, solved = result.x, str(result.message), bool(result.success)
        total += int(result.nit)
    done = time.process_time()
    return answer(
        method,
        data,
        x,
        solved=solved,
        status=message,
        iterations=total,
        build_time=built - start,
        solve_time=done - built,
    )


def mata_ipopt(data: Regression, iterations: int = 300, seconds: float = 60.0) -> Answer:
    """IPOPT with exact first and second derivatives on all the minors at once, from the feasible `prior`.

    An interior-point method that starts inside can stay inside: the first step, which leads out, is skipped.
    Limits as in `mata_sqp`.
    """
    start = time.process_time()
    step = Step(data, 1)
    problem, hessian = step.nlp()
    solver = ca.nlpsol(
        "mata",
        "ipopt",
        problem,
        {
            "hess_lag": hessian,
            "print_time": False,
            "error_on_fail": False,
            "ipopt": {
                "print_level": 0,
                "sb": "yes",
                "max_iter": iterations,
                "tol": 1e-10,
                "max_cpu_time": seconds,
                "bound_relax_factor": 0.0,
            },
        },
    )
    guess = prior(data)
    built = time.process_time()
    result = solver(x0=guess, lbg=0.0, ubg=np.inf)
    done = time.process_time()
    stats = solver.stats()
    return answer(
        "Mata (IPOPT)",
        data,
        np.array(result["x"]).ravel(),
        solved=bool(stats["success"]),
        status=str(stats["return_status"]),
        iterations=int(stats["iter_count"]),
        build_time=built - start,
        solve_time=done - built,
    )


class _OutOfTime(Exception):
    pass


class _Guard:
    """The objective, remembering its last argument and ending when the time is over."""

    def __init__(self, step: Program, deadline: float) -> None:
        self.step, self.deadline, self.last = step, deadline, np.zeros(step.size)

    def objective(self, x: np.ndarray) -> float:
        self.last = x.copy()
        if time.process_time() > self.deadline:
            raise _OutOfTime
        return self.step.objective(x)
