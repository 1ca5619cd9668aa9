"""The nonlinear programme of one stage, solved by IPOPT with exact first derivatives::

minimise    criterion( prior + W(x)'W(x) )      smooth, through the mapped regressor
subject to  linear rows of the joint limits     A x
rows of state constraints           c_i(q(t_k), dq(t_k), ddq(t_k)) for chosen (i, k)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import casadi as ca
import numpy as np

from casid.arrays import Array
from casid.excitation.limits._constraints import StateConstraint
from casid.excitation.limits._motion_limits import Rows
from casid.excitation.optimisation._result import Request, Stop
from casid.excitation.optimisation._starts import Objective
from casid.motion import Basis, Motion

#: What a callback gives its solver.
_Values = Sequence[float | Array | ca.DM]


class StateRows:
    """Rows of one state constraint that the optimisation looks at: components ``component[k]`` at ``instants[k]``.

    ``backoff`` tightens the bounds, in units of the constraint.
    """

    def __init__(
        self, constraint: StateConstraint, component: np.ndarray, instants: Array, basis: Basis, backoff: float
    ) -> None:
        self.constraint, self.component, self.instants = constraint, component, instants
        moments, self.sample = np.unique(instants, return_inverse=True)
        self.matrices = basis.matrices(moments)
        self.unit = constraint.unit[component]
        self.lower = constraint.lower[component] / self.unit + backoff
        self.upper = constraint.upper[component] / self.unit - backoff

    def values(self, coefficients: Array) -> Array:
        """Values in units of the constraint, shape (rows,)."""
        motion = Motion.of_coefficients(coefficients, self.matrices)
        return np.asarray(self.constraint.values(motion)[self.component, self.sample] / self.unit)

    def jacobian(self, coefficients: Array) -> tuple[Array, Array]:
        """Values (rows,) and derivatives (rows, n * size)."""
        motion = Motion.of_coefficients(coefficients, self.matrices)
        c, J = self.constraint.jacobian(motion)
        n = len(coefficients)
        picked = J[self.component, :, self.sample] / self.unit[:, None]  # (rows, 3 n)
        dense = sum(
            picked[:, order * n : (order + 1) * n, None] * B[self.sample][:, None, :]
            for order, B in enumerate(self.matrices)
        )
        return np.asarray(c[self.component, self.sample] / self.unit), np.asarray(dense).reshape(len(self.unit), -1)


class Nlp:
    """One nonlinear programme; every function shares the values at the last point.

    Parameters
    ----------
    report : callable
        ``(coefficients)`` after every iteration; may raise `Stop`.
    request : Request
        Made, evaluations have no value any more, which ends the solver.
    """

    def __init__(
        self,
        objective: Objective,
        rows: Rows,
        states: list[StateRows],
        shape: tuple[int, int],
        stage: tuple[float, float],
        report: Callable[[Array], None],
        request: Request,
    ) -> None:
        self.objective, self.shape, self.report, self.request = objective, shape, report, request
        self.width, self.sharpness = stage
        n, size = shape
        self.rows = rows
        at, place = np.nonzero(rows.block)
        columns = rows.joint[at] * size + place
        entries = ca.DM(rows.block[at, place])
        self._linear = ca.DM.triplet(at.tolist(), columns.tolist(), entries, len(rows.joint), n * size)
        self.states = [part for part in states if len(part.component)]
        self.count = sum(len(part.component) for part in self.states)
        self.lower = np.concatenate([rows.lower, *(part.lower for part in self.states)])
        self.upper = np.concatenate([rows.upper, *(part.upper for part in self.states)])
        #: Of the constraints' Jacobian: sparse linear rows above dense state rows.
        self.sparsity = ca.vertcat(self._linear.sparsity(), ca.Sparsity.dense(self.count, n * size))
        self.stopped = False
        self.error: BaseException | None = None
        self._x: Array | None = None
        self._value: tuple[float, Array] = (0.0, np.zeros(n * size))

    def value(self, x: Array) -> tuple[float, Array]:
        """Objective and gradient (flat)."""
        if self._x is None or not np.array_equal(x, self._x):
            f, gradient = self.objective.smooth(x.reshape(self.shape), self.width, self.sharpness)
            self._value, self._x = (f, gradient.ravel()), x.copy()
        return self._value

    def constraints(self, x: Array) -> Array:
        """Values of all rows."""
        X = x.reshape(self.shape)
        return np.concatenate([self.rows.values(X), *(part.values(X) for part in self.states)])

    def jacobian(self, x: Array) -> tuple[Array, ca.DM]:
        """Values of all rows and their Jacobian."""
        X = x.reshape(self.shape)
        parts = [part.jacobian(X) for part in self.states]
        values = np.concatenate([self.rows.values(X), *(c for c, _ in parts)])
        return values, ca.vertcat(self._linear, *(ca.DM(J) for _, J in parts))

    def iterated(self, x: Array) -> bool:
        """Report an iterate; True to stop."""
        if not self.stopped:
            try:
                self.report(x.reshape(self.shape))
            except Stop:
                self.stopped = True
            except KeyboardInterrupt:  # of a caller's report
                self.stopped = self.request.made = True
            except Exception as error:  # CasADi would print it
                self.error, self.stopped = error, True
        return self.stopped

    def solve(self, start: Array, iterations: int, tolerance: float, barrier: float) -> tuple[Array, str]:
        """Run IPOPT from ``start`` (n, size); returns the last coefficients and IPOPT's status."""
        x = ca.MX.sym("x", start.size)
        p = ca.MX.sym("p", 0, 0)
        one, rows = ca.Sparsity.dense(1, 1), ca.Sparsity.dense(self.sparsity.size1(), 1)
        slopes = ca.Sparsity.dense(start.size, 1)
        values = _Callback(self, "values", (one, rows), lambda x: (self.value(x)[0], self.constraints(x)))
        gradient = _Callback(self, "gradient", (one, slopes), self.value)
        jacobian = _Callback(self, "jacobian", (rows, self.sparsity), self.jacobian)
        iterated = _Iterated(self)
        f, g = values(x, p)
        options: dict[str, Any] = {
            "grad_f": gradient,
            "jac_g": jacobian,
            "iteration_callback": iterated,
            "iteration_callback_ignore_errors": False,
            "no_nlp_grad": True,
            "calc_lam_p": False,
            "print_time": False,
            "show_eval_warnings": False,
            "ipopt": {
                "max_iter": iterations,
                "hessian_approximation": "limited-memory",
                "limited_memory_max_history": 20,
                "mu_init": barrier,
                "tol": tolerance,
                "bound_relax_factor": 0.0,
                "print_level": 0,
                "sb": "yes",
                "linear_solver": "mumps",
                "acceptable_tol": 10 * tolerance,
                "acceptable_obj_change_tol": 1e-4,
                "acceptable_iter": 8,
            },
        }
        problem: dict[str, Any] = {"x": x, "p": p, "f": f, "g": g}
        solver = ca.nlpsol("excitation", "ipopt", problem, options)
        try:
            result = solver(x0=start.ravel(), lbg=self.lower, ubg=self.upper)
        finally:
            if self.error is not None:
                raise self.error from None
        return result["x"].full().reshape(self.shape), str(solver.stats()["return_status"])


class _Callback(ca.Callback):
    """A function of x and an empty p, as the solver asks for the programme's values and derivatives."""

    def __init__(
        self, nlp: Nlp, name: str, outputs: Sequence[ca.Sparsity], evaluate: Callable[[Array], _Values]
    ) -> None:
        ca.Callback.__init__(self)
        self.nlp, self.outputs, self.evaluate = nlp, outputs, evaluate
        self.construct(name, {})

    def get_n_in(self) -> int:
        return 2

    def get_n_out(self) -> int:
        return len(self.outputs)

    def get_sparsity_in(self, i: int) -> ca.Sparsity:
        return ca.Sparsity.dense(self.nlp.sparsity.size2(), 1) if i == 0 else ca.Sparsity(0, 0)

    def get_sparsity_out(self, i: int) -> ca.Sparsity:
        return self.outputs[i]

    def eval(self, arguments: Sequence[ca.DM]) -> list[ca.DM]:
        """Values; NaN once the solver is to stop: CasADi would print whatever is raised, with all arguments."""
        nlp = self.nlp
        values: _Values = [np.nan] * len(self.outputs)
        nlp.stopped |= nlp.request.made
        if not nlp.stopped:
            try:
                values = self.evaluate(arguments[0].full().ravel())
            except BaseException as error:  # raised again by `solve`
                nlp.error, nlp.stopped = error, True
        return [
            value if isinstance(value, ca.DM) else ca.DM(pattern, value)
            for pattern, value in zip(self.outputs, values, strict=True)
        ]


class _Iterated(_Callback):
    """IPOPT's iteration callback: outputs of the solver in, whether to stop out."""

    def __init__(self, nlp: Nlp) -> None:
        super().__init__(nlp, "iterated", [ca.Sparsity.dense(1, 1)], lambda x: [float(nlp.iterated(x))])

    def get_n_in(self) -> int:
        return ca.nlpsol_n_out()

    def get_sparsity_in(self, i: int) -> ca.Sparsity:
        rows, columns = self.nlp.sparsity.shape
        sizes = {"x": columns, "f": 1, "g": rows, "lam_x": columns, "lam_g": rows}
        size = sizes.get(ca.nlpsol_out(i), 0)
        return ca.Sparsity.dense(size, 1) if size else ca.Sparsity(0, 0)

    def eval(self, arguments: Sequence[ca.DM]) -> list[ca.DM]:
        """Whether to stop; errors of a caller's report are kept for `Nlp.solve`."""
        return [ca.DM(value) for value in self.evaluate(arguments[0].full().ravel())]
