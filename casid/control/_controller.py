"""The contract of controllers, from a reference and a measured state to joint torques; controllers around others."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from casid.arrays import Array
from casid.errors import DatasetError
from casid.expressions import shaped
from casid.files import numeric_array
from casid.motion import Motion


@dataclass(frozen=True)
class Signal:
    """A reference or measured input of a controller: its name, its shape, and what it is.

    Attributes
    ----------
    name : str
    rows, columns : int
    words : str
        Description for exported code.
    sensor : str
        Frame at which it is measured: the external force and moment about its origin (6), base axes. Empty: a
        reference.
    """

    name: str
    rows: int
    columns: int = 1
    words: str = ""
    sensor: str = ""

    @property
    def size(self) -> int:
        """Number of entries."""
        return self.rows * self.columns


class Controller(ABC):
    """A sampled torque law: ``tau = law(t, signals, q, dq)``, or with memory ``tau, memory = step(..., memory)``.

    A law is one CasADi expression, so every controller simulates, runs in thousands of rollouts, and exports to C
    without allocation. A new controller is a subclass with `n` and `law`; one with memory defines `states`, `step` and,
    where the memory at rest is not the position, `initial` instead of `law`.
    """

    @property
    @abstractmethod
    def n(self) -> int:
        """Number of joints."""

    @property
    def states(self) -> int:
        """Numbers for each joint that are kept from one sample to the next; 0: no memory."""
        return 0

    @property
    def signals(self) -> tuple[Signal, ...]:
        """Reference signals of the law; by default of the joints: position, velocity, acceleration."""
        return joint_signals(self.n)

    def law(self, t: ca.SX, signals: tuple[ca.SX, ...], q: ca.SX, dq: ca.SX) -> ca.SX:
        """Torques (n), for the time [s], the signals in their order, and the measured state."""
        raise NotImplementedError(f"{type(self).__name__} must define law, or step if it has a memory")

    def step(self, t: ca.SX, signals: tuple[ca.SX, ...], q: ca.SX, dq: ca.SX, memory: ca.SX) -> tuple[ca.SX, ca.SX]:
        """Torques (n) and the new memory (n, states) of one sample, from the old memory."""
        return self.law(t, signals, q, dq), memory

    def initial(self, q: ca.SX) -> ca.SX:
        """Memory at rest at q, (n, states)."""
        return ca.repmat(q, 1, self.states)

    def checked_step(
        self, t: ca.SX, signals: tuple[ca.SX, ...], q: ca.SX, dq: ca.SX, memory: ca.SX
    ) -> tuple[ca.SX, ca.SX]:
        """`step`, and that torques and memory have the shapes of the contract: what everything that runs a law calls.

        Raises
        ------
        DatasetError
            If they have others; a scalar does not stand for all joints.
        """
        given = self.step(t, signals, q, dq, memory)
        where = "law" if type(self).step is Controller.step else "step"
        if not isinstance(given, tuple) or len(given) != 2:
            raise DatasetError(f"{self._named}: `step` returns torques and memory, got {type(given).__name__}")
        tau = shaped(given[0], (self.n, 1), f"{self._named}: torques of `{where}`", DatasetError)
        return tau, shaped(given[1], (self.n, self.states), f"{self._named}: memory of `{where}`", DatasetError)

    def checked_initial(self, q: ca.SX) -> ca.SX:
        """`initial`, with its shape checked; DatasetError for another."""
        return shaped(self.initial(q), (self.n, self.states), f"{self._named}: memory of `initial`", DatasetError)

    @property
    def _named(self) -> str:
        return f"controller '{type(self).__name__}'"

    def joint_step(self, r: ca.SX, q: ca.SX, dq: ca.SX, memory: ca.SX) -> tuple[ca.SX, ca.SX]:
        """`step` for references of the joints side by side, r = [q_ref; dq_ref; ddq_ref], whatever the time.

        Raises
        ------
        DatasetError
            If the controller has other signals than those of the joints, or depends on the time.
        """
        name, n, t = type(self).__name__, self.n, ca.SX.sym("t")
        if self.signals != joint_signals(n):
            raise DatasetError(f"{name}: expected a controller of the joints' position, velocity and acceleration")
        tau, kept = self.checked_step(t, (r[:n], r[n : 2 * n], r[2 * n :]), q, dq, memory)
        if ca.depends_on(ca.densify(ca.vertcat(tau, ca.vec(kept))), t):
            raise DatasetError(f"{name}: expected a controller that does not depend on the time")
        return tau, kept

    def rows(self, motion: Motion) -> Array:
        """Values of the signals for a joint motion of N instants, shape (N, sum of sizes), matrices by columns.

        What is measured is 0 here; a simulation puts in what its plant's forces give.

        Raises
        ------
        DatasetError
            If the motion does not have shape (N, n).
        """
        motion.expect_joints(self.n, type(self).__name__)
        return np.asarray(np.concatenate([motion.q, motion.dq, motion.ddq], axis=1))

    def sampled(self, motion: Motion) -> Array:
        """`rows`, and that their shape is that of the signals, for everything that runs a law.

        Raises
        ------
        DatasetError
            If it is another.
        """
        shape = len(motion), sum(signal.size for signal in self.signals)
        return numeric_array(self.rows(motion), f"{self._named}: `rows`", DatasetError, shape=shape)

    @property
    def sensors(self) -> tuple[tuple[int, str], ...]:
        """Place in `rows` and frame of every measured signal."""
        sizes = [signal.size for signal in self.signals]
        return tuple((sum(sizes[:k]), s.sensor) for k, s in enumerate(self.signals) if s.sensor)

    @property
    def words(self) -> str:
        """One sentence for the header of exported code."""
        return (type(self).__doc__ or type(self).__name__).strip().splitlines()[0]

    @cached_property
    def function(self) -> ca.Function:
        """``(t, <signals>, q, dq) -> tau``; with memory ``(t, <signals>, q, dq, memory) -> tau, memory_next``."""
        signals = tuple(ca.SX.sym(signal.name, signal.rows, signal.columns) for signal in self.signals)
        return self._function(signals, list(signals), [signal.name for signal in self.signals])

    @cached_property
    def stacked(self) -> ca.Function:
        """As `function` with all signals in one vector r, as `rows` gives them: ``(t, r, q, dq[, memory]) -> ...``."""
        r = ca.SX.sym("r", max(1, sum(signal.size for signal in self.signals)))
        parts, start = [], 0
        for signal in self.signals:
            parts.append(ca.reshape(r[start : start + signal.size], signal.rows, signal.columns))
            start += signal.size
        return self._function(tuple(parts), [r], ["r"])

    @cached_property
    def start(self) -> ca.Function:
        """``q -> memory`` at rest, (n states)."""
        q = ca.SX.sym("q", self.n)
        return ca.Function("memory", [q], [ca.densify(ca.vec(self.checked_initial(q)))], ["q"], ["memory"])

    def _function(self, signals: tuple[ca.SX, ...], inputs: list[ca.SX], labels: list[str]) -> ca.Function:
        t, q, dq = ca.SX.sym("t"), ca.SX.sym("q", self.n), ca.SX.sym("dq", self.n)
        memory = ca.SX.sym("memory", self.n * self.states)
        tau, kept = self.checked_step(t, signals, q, dq, ca.reshape(memory, self.n, self.states))
        inputs, labels = [t, *inputs, q, dq], ["t", *labels, "q", "dq"]
        outputs, results = [ca.densify(tau)], ["tau"]
        if self.states:
            inputs, labels = [*inputs, memory], [*labels, "memory"]
            outputs, results = [*outputs, ca.densify(ca.vec(kept))], [*results, "memory_next"]
        return ca.Function("control", inputs, outputs, labels, results, {"cse": True})


def joint_signals(n: int) -> tuple[Signal, ...]:
    """Position, velocity and acceleration of the joints."""
    return (
        Signal("q_ref", n, words="reference positions [rad, m]"),
        Signal("dq_ref", n, words="reference velocities [rad/s, m/s]"),
        Signal("ddq_ref", n, words="reference accelerations [rad/s^2, m/s^2]"),
    )


def gains(value: ArrayLike, n: int, what: str) -> Array:
    """A gain for each joint, from one for all or n of them; DatasetError unless finite and not negative."""
    given = np.asarray(value, dtype=float)
    if given.shape not in ((), (1,), (n,)):
        raise DatasetError(f"{what}: expected one number or {n}, got shape {given.shape}")
    array: Array = np.array(np.broadcast_to(given, (n,)))
    bad = np.flatnonzero(~(np.isfinite(array) & (array >= 0)))
    if len(bad):
        raise DatasetError(f"{what} of joint {bad[0] + 1} must be a finite number >= 0, got {array[bad[0]]}")
    array.setflags(write=False)
    return array


@dataclass(frozen=True, eq=False)
class Saturated(Controller):
    """Another controller, its torques cut off at limits.

    Attributes
    ----------
    controller : Controller
    limit : ndarray, shape (n,)
        Largest absolute torque of each joint [N.m or N]; infinite: none.
    """

    controller: Controller
    limit: Array

    def __post_init__(self) -> None:
        limit = np.broadcast_to(np.asarray(self.limit, dtype=float), (self.controller.n,)).copy()
        if not (limit > 0).all():
            raise DatasetError(f"torque limit of joint {int(np.argmin(limit > 0)) + 1} must be positive")
        limit.setflags(write=False)
        object.__setattr__(self, "limit", limit)

    @property
    def n(self) -> int:
        """Number of joints."""
        return self.controller.n

    @property
    def signals(self) -> tuple[Signal, ...]:
        """Those of the controller."""
        return self.controller.signals

    def rows(self, motion: Motion) -> Array:
        """Those of the controller."""
        return self.controller.sampled(motion)

    @property
    def states(self) -> int:
        """Those of the controller."""
        return self.controller.states

    def initial(self, q: ca.SX) -> ca.SX:
        """That of the controller."""
        return self.controller.checked_initial(q)

    @property
    def words(self) -> str:
        """The controller's sentence, and the limits."""
        return f"{self.controller.words} Torques are cut off at the limits."

    def step(self, t: ca.SX, signals: tuple[ca.SX, ...], q: ca.SX, dq: ca.SX, memory: ca.SX) -> tuple[ca.SX, ca.SX]:
        """The controller's torque within the limits, and its memory."""
        given, kept = self.controller.checked_step(t, signals, q, dq, memory)
        tau = ca.SX(given)
        for k in np.flatnonzero(np.isfinite(self.limit)).tolist():
            tau[k] = ca.fmin(ca.fmax(tau[k], -self.limit[k]), self.limit[k])
        return tau, kept


@dataclass(frozen=True, eq=False)
class Switched(Controller):
    """One controller until an instant, another from then on.

    Attributes
    ----------
    before, after : Controller
        With the same signals.
    time : float
        [s]
    """

    before: Controller
    after: Controller
    time: float

    def __post_init__(self) -> None:
        if self.before.n != self.after.n or self.before.signals != self.after.signals:
            raise DatasetError("switched controllers need the same joints and the same reference signals")

    @property
    def n(self) -> int:
        """Number of joints."""
        return self.after.n

    @property
    def signals(self) -> tuple[Signal, ...]:
        """Those of both."""
        return self.after.signals

    def rows(self, motion: Motion) -> Array:
        """Those of both."""
        return self.after.sampled(motion)

    @property
    def states(self) -> int:
        """Those of both, side by side."""
        return self.before.states + self.after.states

    def initial(self, q: ca.SX) -> ca.SX:
        """Those of both."""
        return ca.horzcat(self.before.checked_initial(q), self.after.checked_initial(q))

    def step(self, t: ca.SX, signals: tuple[ca.SX, ...], q: ca.SX, dq: ca.SX, memory: ca.SX) -> tuple[ca.SX, ca.SX]:
        """The torques of the time; both memories run on."""
        late, own = t >= self.time, self.before.states
        first, kept = self.before.checked_step(t, signals, q, dq, memory[:, :own])
        second, later = self.after.checked_step(t, signals, q, dq, memory[:, own:])
        return ca.if_else(late, 0, first) + ca.if_else(late, second, 0), ca.horzcat(kept, later)
