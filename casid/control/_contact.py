"""Controllers in contact with the surroundings: impedance, and force with an active observer."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from casid.arrays import Array
from casid.control._controller import Signal
from casid.control._free_motion import Frame, TaskSpace
from casid.errors import DatasetError
from casid.motion import Motion


class ContactTaskSpace(TaskSpace):
    """A controller of a frame at which the external force is measured, and compensated (Sousa 2014, eq. 2.33)."""

    @property
    def signals(self) -> tuple[Signal, ...]:
        """Those of the frame's motion, and the measured external force."""
        words = "measured external force and moment on the frame, base axes [N, N.m]"
        return (*super().signals, Signal("wrench", 6, words=words, sensor=self.frame))

    def rows(self, motion: Motion) -> Array:
        """The frame's motion; the measured force is 0."""
        given = super().rows(motion)
        return np.hstack([given, np.zeros((len(given), 6))])

    def compensated(self, seen: Frame, q: ca.SX, dq: ca.SX, acceleration: ca.SX, q_ref: ca.SX, w: ca.SX) -> ca.SX:
        """Torque that gives the frame an acceleration whatever presses on it, ``... - J'w``."""
        return self.torque(seen, q, dq, acceleration, q_ref) - seen.J.T @ w


@dataclass(frozen=True, eq=False)
class Impedance(ContactTaskSpace):
    """Impedance of a frame: A (a - a_ref) + D (v - v_ref) + K (x - x_ref) = w, the measured external force.

    Inertia, damping and stiffness that the surroundings feel are chosen (Hogan 1985; Sousa 2014, Sec. 2.4.3, eq.
    2.36-2.38): ``a = a_ref + A^-1 (D (v_ref - v) + K e + w)``. Against a wall of stiffness k, whose surface lies s
    before the reference, the frame comes to rest with the force ``K k / (K + k) s``. ``kp`` is K [N/m, N.m/rad], ``kd``
    is D [N.s/m, N.m.s/rad], along and about the base axes.

    Attributes
    ----------
    inertia : ndarray, shape (6,)
        A [kg, kg.m^2]; a number stands for all directions.
    """

    inertia: ArrayLike = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "inertia", _positive("apparent inertia", self.inertia, 6))

    def law(self, t: ca.SX, signals: tuple[ca.SX, ...], q: ca.SX, dq: ca.SX) -> ca.SX:
        """Torque of the acceleration that the impedance asks for."""
        T_ref, twist, rate, q_ref, w = signals
        seen = self.seen(q, dq)
        pull = ca.DM(self.kd) * (twist - seen.twist) + ca.DM(self.kp) * self.error(T_ref, seen.placement) + w
        return self.compensated(seen, q, dq, rate + pull / ca.DM(np.asarray(self.inertia)), q_ref, w)


@dataclass(frozen=True, eq=False)
class ForceControl(ContactTaskSpace):
    """Force along one direction by an active observer, with adaptation to the stiffness of what is touched.

    The frame's motion is controlled as by `OperationalSpace` but for one direction d, in which it presses with the
    force ``f* = force + coupling d'(x_ref - x)``; the coupling is a virtual spring from the reference (Cortesao et al.
    2006; Sousa 2014, Sec. 2.4.4, Fig. 2.2). The surroundings are a spring: in its compression ``x = f / k`` the
    linearised robot is ``x'' = u + p``, with an active state p for all that the model leaves out. The active observer,
    a Kalman filter of (x, x', p) with the closed loop's input, has only the measured force; the law ::

        u = w^2 (f* / k - x) - 2 w x' - p

    makes the force critically damped with the bandwidth w, and exact at rest whatever constant p is. The stiffness k
    is estimated from force and way since the touch, and scales all gains (observer, feedback, reference). Before the
    touch the frame approaches with ``u = w^2 f* / k - 2 w d'v - p``, at last with the speed ``w f* / (2 k)``; p then
    comes from the measured velocity.

    Attributes
    ----------
    direction : ndarray, shape (3,)
        In which to press, base axes (any length).
    force, coupling : float
        [N], [N/m].
    bandwidth : float
        w [rad/s].
    stiffness : float
        First estimate of k [N/m]; too high a value is safe: the loop begins slowly.
    adapt : bool
        Whether k is estimated.
    forgetting : float
        Time in which the estimate of k forgets [s].
    touch : float
        Force from which on the frame is in contact [N].
    noise, drift : float
        Standard deviation of the measured force [N], and of what p changes by in a second [m/s^2]: what the Kalman gain
        is computed from, at the first estimate of k.
    period : float
        Of the samples [s].
    """

    direction: ArrayLike = (0.0, 0.0, -1.0)
    force: float = 0.0
    coupling: float = 0.0
    bandwidth: float = 20.0
    stiffness: float = 1e4
    adapt: bool = True
    forgetting: float = 1.0
    touch: float = 0.5
    noise: float = 0.1
    drift: float = 5.0
    period: float = 1e-3

    def __post_init__(self) -> None:
        super().__post_init__()
        d = np.asarray(self.direction, dtype=float)
        if d.shape != (3,) or not np.isfinite(d).all() or not d.any():
            raise DatasetError(f"force control: the direction must be three finite numbers, not all 0, got {d}")
        object.__setattr__(self, "direction", d / np.linalg.norm(d))
        for name in ("bandwidth", "stiffness", "forgetting", "touch", "noise", "drift", "period"):
            _positive(f"force control: {name}", getattr(self, name))
        if not (np.isfinite(self.force) and 0 <= self.coupling < np.inf):
            words = f"{self.force:g} N and {self.coupling:g} N/m"
            raise DatasetError(f"force control: the force must be finite and the coupling at least 0, got {words}")

    @property
    def states(self) -> int:
        """The frame's memory, `_MEMORY` numbers, spread over the joints."""
        return -(-_MEMORY // self.n)

    def initial(self, q: ca.SX) -> ca.SX:
        """Not in contact."""
        return self._kept(_State(*[ca.SX(0)] * _MEMORY))

    @cached_property
    def observer(self) -> Array:
        """Kalman gain of (x, x', p) for the measured compression, shape (3,) [-, 1/s, 1/s^2].

        Of ``x'' = u + p`` held for a period, with p a random walk (Cortesao et al. 2006, Sec. III).
        """
        from scipy.linalg import solve_discrete_are

        h = self.period
        move, seen = np.array([[1.0, h, h**2 / 2], [0.0, 1.0, h], [0.0, 0.0, 1.0]]), np.array([[1.0, 0.0, 0.0]])
        # In compressions of the noise's size: the Riccati equation is then well scaled.
        spread = np.diag([0.0, 0.0, (self.drift * self.stiffness / self.noise) ** 2 * h])
        P = solve_discrete_are(move.T, seen.T, spread, np.eye(1))
        return np.asarray(P[:, 0] / (P[0, 0] + 1.0))

    def step(self, t: ca.SX, signals: tuple[ca.SX, ...], q: ca.SX, dq: ca.SX, memory: ca.SX) -> tuple[ca.SX, ca.SX]:
        """Observer, estimate of the stiffness, and the torque of the frame's acceleration."""
        T_ref, twist, rate, q_ref, w = signals
        seen, d = self.seen(q, dq), ca.DM(np.asarray(self.direction))
        error, way = self.error(T_ref, seen.placement), ca.dot(d, seen.placement[:3, 3])
        pressing = -ca.dot(d, w[:3])
        wanted = self.force + self.coupling * ca.dot(d, error[:3])
        old = _State(*(ca.vec(memory)[k] for k in range(_MEMORY)))
        new, u = self._observed(old, pressing, way, ca.dot(d, seen.twist[:3]), wanted)
        free = rate + ca.DM(self.kd) * (twist - seen.twist) + ca.DM(self.kp) * error
        along = ca.vertcat(d, ca.SX(3, 1))
        acceleration = free + along * (u - ca.dot(along, free))
        return self.compensated(seen, q, dq, acceleration, q_ref, w), self._kept(new)

    def _observed(self, old: _State, f: ca.SX, way: ca.SX, v: ca.SX, wanted: ca.SX) -> tuple[_State, ca.SX]:
        """New state of the observer and the acceleration in the direction, for the measured force f."""
        h, w, L = self.period, self.bandwidth, self.observer
        contact = f > self.touch
        begun = ca.logic_and(contact, ca.logic_not(old.contact))
        x0, f0 = ca.if_else(begun, way, old.x0), ca.if_else(begun, f, old.f0)
        keep = ca.if_else(begun, 0, float(np.exp(-h / self.forgetting)))
        done = keep * old.done + ca.if_else(contact, (way - x0) * (f - f0), 0)
        square = keep * old.square + ca.if_else(contact, (way - x0) ** 2, 0)
        prior = (self.touch / self.stiffness) ** 2
        k = ca.fmax((done + prior * self.stiffness) / (square + prior), 1e-3 * self.stiffness)
        k = k if self.adapt else ca.SX(self.stiffness)
        moved = old.u + old.p
        x, speed = old.x + h * old.v + h**2 / 2 * moved, old.v + h * moved
        miss = f / k - x
        inside = ca.logic_and(contact, ca.logic_not(begun))  # else x and x' are what is measured
        x = ca.if_else(inside, x + L[0] * miss, f / k)
        p = old.p + ca.if_else(inside, L[2] * miss, w * (v - speed))
        speed = ca.if_else(inside, speed + L[1] * miss, v)
        u = w**2 * (wanted / k - ca.if_else(contact, x, 0)) - 2 * w * speed - p
        return _State(x, speed, p, u, x0, f0, done, square, contact), u

    def _kept(self, state: _State) -> ca.SX:
        return ca.reshape(ca.vertcat(*state, ca.SX(self.states * self.n - _MEMORY, 1)), self.n, self.states)


class _State(NamedTuple):
    """Memory of a force controller.

    Attributes
    ----------
    x, v, p, u
        Estimated compression, its speed, active state, last acceleration.
    x0, f0
        Way and force at the touch.
    done, square
        Sums of the stiffness' estimate.
    contact
        Whether there was contact.
    """

    x: ca.SX
    v: ca.SX
    p: ca.SX
    u: ca.SX
    x0: ca.SX
    f0: ca.SX
    done: ca.SX
    square: ca.SX
    contact: ca.SX


def _positive(what: str, value: ArrayLike, size: int = 1) -> Array:
    """One number for all or ``size``; DatasetError unless finite and positive."""
    given = np.asarray(value, dtype=float)
    if given.shape not in ((), (1,), (size,)) or not (np.isfinite(given) & (given > 0)).all():
        raise DatasetError(f"{what}: expected one positive number{f' or {size}' if size > 1 else ''}, got {given}")
    array: Array = np.array(np.broadcast_to(given, (size,)))
    array.setflags(write=False)
    return array


#: Numbers in the memory of `ForceControl`.
_MEMORY = len(_State._fields)
