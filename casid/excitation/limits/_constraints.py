"""Constraints on the states along a motion: any CasADi function of (q, dq, ddq), torque limits, workspace boxes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from casid.arrays import Array
from casid.dynamics import Model
from casid.errors import ProblemError
from casid.excitation.information._observation import STATES, Mapped
from casid.files import numeric_array
from casid.motion import Motion, Trajectory


class StateConstraint(ABC):
    """``lower <= c(q, dq, ddq) <= upper`` at every instant, m components.

    Attributes
    ----------
    name : str
    labels : tuple of str
        What each component is.
    lower, upper : ndarray, shape (m,)
    unit : ndarray, shape (m,)
        Typical size of each component: the optimisation works with c / unit.
    """

    name: str
    labels: tuple[str, ...]
    lower: Array
    upper: Array
    unit: Array

    @abstractmethod
    def values(self, motion: Motion) -> Array:
        """C at every sample, shape (m, samples)."""

    @abstractmethod
    def jacobian(self, motion: Motion) -> tuple[Array, Array]:
        """C (m, samples) and its derivatives with respect to (q, dq, ddq), shape (m, 3 n, samples)."""

    def slack(self, motion: Motion) -> Array:
        """Distance to the nearer bound, shape (m, samples); negative where violated."""
        c = self.values(motion)
        return np.minimum(c - self.lower[:, None], self.upper[:, None] - c)

    def violation(self, motion: Motion) -> float:
        """Largest violation, in the component's own unit; 0 if there is none."""
        return float(max(0.0, -self.slack(motion).min(initial=np.inf)))

    def certificate(self, trajectory: Trajectory) -> str:
        """What is proven at every instant of a trajectory, in words; empty where nothing is."""
        return ""

    def worst(self, motion: Motion) -> tuple[str, int, float]:
        """Label, sample and slack of the tightest component."""
        slack = self.slack(motion)
        i, k = np.unravel_index(int(np.argmin(slack / self.unit[:, None])), slack.shape)
        return self.labels[i], int(k), float(slack[i, k])


class FunctionConstraint(StateConstraint):
    """A constraint from a CasADi function.

    Parameters
    ----------
    name : str
    function : casadi.Function
        ``(q)``, ``(q, dq)`` or ``(q, dq, ddq) -> c`` (m).
    lower, upper : array_like, shape (m,) or scalar
        Infinite where free.
    labels : sequence of str, optional
        What each component is.
    unit : array_like, optional
        Typical sizes; default: the bounds' size.
    """

    def __init__(
        self,
        name: str,
        function: ca.Function,
        lower: ArrayLike,
        upper: ArrayLike,
        labels: Sequence[str] = (),
        unit: ArrayLike | None = None,
    ) -> None:
        inputs = tuple(function.name_in())
        if inputs != STATES[: len(inputs)] or not inputs or function.n_out() != 1 or function.size2_out(0) != 1:
            raise ProblemError(f"constraint '{name}': expected a function (q[, dq[, ddq]]) -> column, got {function}")
        m = function.size1_out(0)
        self.name, self.n = name, function.size1_in(0)
        self.lower = np.broadcast_to(np.asarray(lower, dtype=float), (m,)).copy()
        self.upper = np.broadcast_to(np.asarray(upper, dtype=float), (m,)).copy()
        self.labels = tuple(labels) or tuple(f"{name}[{k}]" for k in range(m))
        crossed = np.flatnonzero(~(self.lower <= self.upper))
        if len(crossed):
            k = crossed[0]
            raise ProblemError(f"constraint '{self.labels[k]}': bounds [{self.lower[k]:g}, {self.upper[k]:g}] cross")
        sizes = np.maximum(*(np.where(np.isfinite(b), np.abs(b), 0.0) for b in (self.lower, self.upper)))
        self.unit = np.where(sizes > 0, sizes, 1.0) if unit is None else np.broadcast_to(np.asarray(unit, float), (m,))
        self.function = function
        self._mapped: dict[tuple[bool, int], Mapped] = {}

    def values(self, motion: Motion) -> Array:
        """See `StateConstraint.values`."""
        return self._at(motion, False)(*self._inputs(motion))[0].reshape(len(self.labels), -1)

    def jacobian(self, motion: Motion) -> tuple[Array, Array]:
        """See `StateConstraint.jacobian`."""
        values, jacobian = self._at(motion, True)(*self._inputs(motion))
        m, count = len(self.labels), len(motion)
        full = np.zeros((m, 3 * self.n, count))
        width = self.n * self.function.n_in()
        full[:, :width] = jacobian.reshape(m, width, count)
        return values.reshape(m, count), full

    def _inputs(self, motion: Motion) -> tuple[Array, ...]:
        motion.expect_joints(self.n, f"constraint '{self.name}'")
        return tuple(motion)[: self.function.n_in()]

    def _at(self, motion: Motion, derivatives: bool) -> Mapped:
        key = (derivatives, len(motion))
        if key not in self._mapped:
            states = [ca.SX.sym(name, self.n) for name in self.function.name_in()]
            c = ca.densify(self.function(*states))
            outputs = [c, ca.densify(ca.jacobian(c, ca.vertcat(*states)))] if derivatives else [c]
            names = self.function.name_in()
            graph = ca.Function("constraint", states, outputs, names, ["c", "J"][: len(outputs)], {"cse": True})
            self._mapped[key] = Mapped(graph, key[1])
        return self._mapped[key]


def torque_limits(model: Model, parameters: ArrayLike, effort: ArrayLike | None = None) -> FunctionConstraint:
    """Keep the torques of nominal parameters within limits.

    Parameters
    ----------
    model
        Its joint terms (friction) count where it has them.
    parameters
        Nominal ``pi`` of the model, shape (N,).
    effort
        Largest absolute torque of each joint, shape (n,) [N.m or N]; default: the robot's.

    Raises
    ------
    ProblemError
        If no joint has a finite limit, or the shapes do not fit.
    """
    shape = (len(model.parameter_names),)
    pi = numeric_array(parameters, "torque limits: nominal parameters", ProblemError, shape=shape)
    limit = np.array(model.robot.limits.effort if effort is None else effort, dtype=float)
    if limit.shape != (model.n,) or np.isnan(limit).any() or (limit <= 0).any():
        raise ProblemError(f"torque limits: expected {model.n} positive limits, got {limit.tolist()}")
    if not np.isfinite(limit).any():
        raise ProblemError(f"torque limits: robot '{model.robot.name}' gives none; add 'effort' to its joints' limits")
    states = [ca.SX.sym(name, model.n) for name in STATES]
    tau = ca.Function("torque", states, [model.inverse_dynamics(*states, pi)], list(STATES), ["tau"], {"cse": True})
    labels = [f"torque of {joint.name}" for joint in model.robot.coordinates]
    unit = np.where(np.isfinite(limit), limit, 1.0)
    return FunctionConstraint("torque limits", tau, -limit, limit, labels, unit)


def workspace_box(model: Model, frame: str, lower: ArrayLike, upper: ArrayLike) -> FunctionConstraint:
    """Keep the origin of a link or named frame inside a box of the base frame.

    Parameters
    ----------
    frame
        Name of a link or frame.
    lower, upper
        Corners, shape (3,) [m]; infinite where free, e.g. ``lower = (-inf, -inf, 0.1)`` for a table.
    """
    placement = model.frame_placement(frame)
    q = ca.SX.sym("q", model.n)
    point = ca.Function("point", [q], [placement(q)[:3, 3]], ["q"], ["p"], {"cse": True})
    labels = [f"{axis} of {frame}" for axis in "xyz"]
    return FunctionConstraint(f"workspace box of {frame}", point, lower, upper, labels, unit=1.0)
