"""A robot under its controller, simulated with given base parameters: positions as functions of the parameters."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray

from casid.codegen import accumulate
from casid.control import Controller
from casid.dynamics import Model
from casid.errors import DatasetError, SolveError
from casid.measurement import Dataset
from casid.regression.estimators.sensitivities import SlopeFunctions, loop_sensitivities

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class ClosedLoop:
    """Robot, controller and reference motion.

    Between control steps the torque is held and the equations of motion are integrated by Runge and Kutta's method of
    order 4, as one CasADi function, so that derivatives in the parameters are exact.

    Attributes
    ----------
    model : Model
        With friction that is smooth in the velocity; its base parameters are the parameters.
    controller : Controller
    reference, velocity, acceleration : ndarray, shape (N, n)
        Asked for at every control step; velocity and acceleration may be zero where the controller does not use them.
    period : float
        Of the controller [s].
    substeps : int
        Integration steps in a control period.
    """

    model: Model
    controller: Controller
    reference: Array
    velocity: Array
    acceleration: Array
    period: float
    substeps: int = 1

    def __post_init__(self) -> None:
        shape = (len(self.reference), self.model.n)
        for name in ("reference", "velocity", "acceleration"):
            value = np.array(getattr(self, name), dtype=float)
            if value.shape != shape or not np.isfinite(value).all():
                raise DatasetError(f"{name}: expected finite numbers of shape {shape}, got shape {value.shape}")
            value.setflags(write=False)
            object.__setattr__(self, name, value)
        if not self.period > 0 or self.substeps < 1:
            raise DatasetError(f"period and substeps must be positive, got {self.period} and {self.substeps}")

    @cached_property
    def _step(self) -> ca.Function:
        """``(state, reference, beta) -> (state, [q; dq; ddq; tau])``; state = [q; dq; memory]."""
        n, states = self.model.n, self.controller.states
        base = self.model.with_base_parameters()
        x = ca.SX.sym("x", (2 + states) * n)
        r = ca.SX.sym("r", 3 * n)
        beta = ca.SX.sym("beta", self.model.base.rank)
        q, dq = x[:n], x[n : 2 * n]
        memory = ca.reshape(x[2 * n :], n, states)
        tau, memory = self.controller.joint_step(r, q, dq, memory)

        def slope(q: ca.SX, dq: ca.SX) -> ca.SX:
            return base.forward_dynamics(q, dq, tau, beta)

        h = self.period / self.substeps
        a, b = q, dq
        first = slope(a, b)
        for i in range(self.substeps):
            k1 = first if i == 0 else slope(a, b)
            k2 = slope(a + h / 2 * b, b + h / 2 * k1)
            k3 = slope(a + h / 2 * (b + h / 2 * k1), b + h / 2 * k2)
            k4 = slope(a + h * (b + h / 2 * k2), b + h * k3)
            a, b = a + h * b + h**2 / 6 * (k1 + k2 + k3), b + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        new = ca.vertcat(a, b, ca.vec(memory))
        return ca.Function("step", [x, r, beta], [new, ca.vertcat(q, dq, first, tau)], {"cse": True})

    def _motion(self, beta: Array) -> tuple[Array, Array]:
        """State after every control step, and ``[q; dq; ddq; tau]`` at it: shapes (N, states) and (N, 4 n)."""
        return accumulate(self._step, self._start, self.references, beta)

    @cached_property
    def _start(self) -> Array:
        """State before the first control step."""
        place = ca.SX.sym("q", self.model.n)
        remembered = ca.Function("memory", [place], [ca.densify(ca.vec(self.controller.initial(place)))])
        start = ca.DM(self.reference[0])
        return np.asarray(ca.vertcat(start, ca.DM(self.velocity[0]), remembered(start)).full().ravel())

    def simulate(self, beta: ArrayLike) -> Dataset:
        """The motion with these base parameters: exact t, q, dq, ddq, tau at every control step.

        Raises
        ------
        SolveError
            If the simulation diverges.
        """
        n = self.model.n
        values = np.hstack(self._motion(np.asarray(beta, dtype=float))[::-1])
        if not np.isfinite(values).all():
            raise SolveError(
                f"the simulated motion diverges at t = {self._diverged(values):.4g} s with these parameters"
            )
        t = np.asarray(self.period * np.arange(len(values)), dtype=float)
        q, dq, ddq, tau = (values[:, k * n : (k + 1) * n] for k in range(4))
        return Dataset(t, q, tau, dq, ddq, name="simulated")

    def positions(self, beta: ArrayLike) -> tuple[Array, Array]:
        """Simulated positions, shape (N, n), and their derivatives in the base parameters, shape (N, n, rank).

        The derivatives of the integrated motion itself, to rounding (`loop_sensitivities`).
        """
        states = self._states(np.asarray(beta, dtype=float))
        if not np.isfinite(states).all():
            raise SolveError("the simulated motion diverges with these parameters")
        slopes = loop_sensitivities(self, states, np.asarray(beta, dtype=float))
        if not np.isfinite(slopes).all():
            raise SolveError("the derivatives of the simulated motion diverge with these parameters")
        return states[:, : self.model.n], slopes

    def _states(self, beta: Array) -> Array:
        """``[q; dq; memory]`` at every control step, shape (N, states)."""
        after, _ = self._motion(beta)
        return np.vstack([self._start, after[:-1]])

    @property
    def references(self) -> Array:
        """Position, velocity and acceleration asked for, side by side, shape (N, 3 n)."""
        return np.hstack([self.reference, self.velocity, self.acceleration])

    @cached_property
    def slope_functions(self) -> SlopeFunctions:
        """What `loop_sensitivities` evaluates."""
        return SlopeFunctions.of(self)

    def _diverged(self, values: Array) -> float:
        return self.period * int(np.argmax(~np.isfinite(values).all(axis=1)))
