"""Adaptive control: parameters estimated in closed loop, with a Lyapunov function for tracking and estimation.

With ``v = dq_ref - Lambda (q - q_ref)``, ``a = dv/dt`` and ``s = dq - v`` (Slotine and Li 1987)::

    tau = M^(q) a + C^(q, dq) v + g^(q) - K s = Y(q, dq, v, a) pi^ - K s

makes ``d/dt (s'Ms/2) = -s'Ks + s'Y (pi^ - pi)``, and an adaptation law whose distance D from the true parameters obeys
``dD/dt = -s'Y (pi^ - pi)`` leaves ``V = s'Ms/2 + D`` with ``dV/dt = -s'Ks <= 0``. The laws differ in D alone.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from casid.arrays import Array
from casid.control import gains
from casid.dynamics import Model, rk4_step
from casid.errors import DatasetError
from casid.files import numeric_array
from casid.inertia import PSEUDO_INERTIA_MAP, STANDARD_MAP, Divergence, link_slice, pseudo_inertia
from casid.motion import Motion, Reference

#: ``vec(J) = P p`` and back; of symmetric L, ``tr(L J(p)) = y'p`` makes ``vec(L) = P (P'P)^-1 y``.
_MAP, _INVERSE = (ca.sparsify(ca.DM(matrix), 1e-12) for matrix in (PSEUDO_INERTIA_MAP, STANDARD_MAP))


@dataclass(frozen=True)
class Adaptation(ABC):
    """How the estimates of a link's ten parameters move: ``dp/dt`` from ``y = Y_k' s``, with a gain."""

    name: ClassVar[str]
    gain: float

    def __post_init__(self) -> None:
        _positive(gain=self.gain)

    @abstractmethod
    def rate(self, p: ca.SX, y: ca.SX) -> ca.SX:
        """``dp/dt``, shape (10,)."""

    @abstractmethod
    def distance(self, truth: Array, estimate: Array) -> Array:
        """D between true and estimated parameters, (10,) and (..., 10)."""


@dataclass(frozen=True)
class SlotineLi(Adaptation):
    """Constant gain: ``dp/dt = -gain Y's``, ``D = |p^ - p|^2 / (2 gain)``. Estimates may become unphysical.

    Attributes
    ----------
    gain : float
    """

    name = "slotine-li"
    gain: float = 0.1

    def rate(self, p: ca.SX, y: ca.SX) -> ca.SX:
        """Euclidean gradient."""
        return -self.gain * y

    def distance(self, truth: Array, estimate: Array) -> Array:
        """Euclidean."""
        return np.asarray(np.sum((estimate - truth) ** 2, axis=-1) / (2 * self.gain))


@dataclass(frozen=True)
class NaturalAdaptation(Adaptation):
    """The metric of bodies as gain: ``dJ/dt = -gain J L J`` with ``tr(L J(p)) = y'p`` (Lee, Kwon and Park 2018).

    ``D = (log det J^/J + tr(J^^-1 J) - 4) / gain``, which is infinite at the boundary of the physical set: estimates
    that begin as bodies remain bodies. It grows with the logarithm of large estimates only: far from the truth and with
    weak feedback they may become very large before V has fallen, and the loop stiff.

    Attributes
    ----------
    gain : float
    """

    name = "natural"
    gain: float = 0.5

    def rate(self, p: ca.SX, y: ca.SX) -> ca.SX:
        """Natural gradient."""
        J, L = ca.reshape(_MAP @ p, 4, 4), ca.reshape(_INVERSE.T @ y, 4, 4)
        return _INVERSE @ ca.vec(-self.gain * J @ L @ J)

    def distance(self, truth: Array, estimate: Array) -> Array:
        """Log-det divergence of the truth from the estimate."""
        return Divergence(pseudo_inertia(estimate)).value(pseudo_inertia(truth)) / self.gain


@dataclass(frozen=True, eq=False)
class AdaptiveRun:
    """A closed loop with adaptation; N samples.

    Attributes
    ----------
    t : ndarray, shape (N,)
    q, dq, error : ndarray, shape (N, n)
        ``error = q - q_ref`` [rad or m].
    estimates : ndarray, shape (N, links, 10)
        Standard parameters of the links.
    lyapunov : ndarray, shape (N,)
        ``V = s'Ms/2 + D`` with the true M.
    dissipated : ndarray, shape (N,)
        ``int s'Ks dt``: V plus this is constant up to the error of the integration.
    """

    t: Array
    q: Array
    dq: Array
    error: Array
    estimates: Array
    lyapunov: Array
    dissipated: Array

    @property
    def smallest_eigenvalue(self) -> Array:
        """Of any link's estimated pseudo-inertia, shape (N,): positive while every estimate is a body."""
        return np.asarray(np.linalg.eigvalsh(pseudo_inertia(self.estimates))[..., 0].min(axis=1))


def simulate_adaptive(
    model: Model,
    truth: ArrayLike,
    start: ArrayLike,
    adaptation: Adaptation,
    reference: Reference,
    duration: float,
    *,
    K: ArrayLike = 5.0,
    Lambda: ArrayLike = 5.0,
    step: float = 1e-3,
    q0: ArrayLike | None = None,
) -> AdaptiveRun:
    """Motion of robot, controller and adaptation as one system (Runge-Kutta 4).

    Parameters
    ----------
    model
        Links only; gravity as in the robot.
    truth, start
        Standard parameters of the plant and first estimates, shape (10 links,): bodies both.
    adaptation, reference
        The law of the estimates; the motion to follow.
    duration, step
        [s]
    K, Lambda
        Gains, one for all joints or n of them [N.m.s/rad, 1/s].
    q0
        First position; default: the reference's. The robot starts at the reference's velocity.

    Raises
    ------
    DatasetError
        For shapes that do not fit, links that are no bodies, a model with joint terms, or a state that is not finite
        any more, with its time.
    """
    n, links = model.n, len(model.robot.links)
    if model.terms:
        raise DatasetError("adaptive control learns the links' parameters: give a model without joint terms")
    own, first = _bodies("truth", truth, links), _bodies("start", start, links)
    _positive(duration=duration, step=step)
    if duration < step:
        raise DatasetError(f"duration {duration:g} s is shorter than a step of {step:g} s")
    damping, slope = gains(K, n, "K"), gains(Lambda, n, "Lambda")
    count = round(duration / step)
    motion = reference.at(np.arange(2 * count + 1) * step / 2)
    begin = motion.q[0] if q0 is None else numeric_array(q0, "q0", DatasetError, finite=True, shape=(n,))
    x0 = np.concatenate([begin, motion.dq[0], first, [0.0]])
    states = _integrated(_system(model, own, adaptation, damping, slope), x0, motion, step)
    estimates = states[:, 2 * n : -1].reshape(-1, links, 10)
    q, dq = states[:, :n], states[:, n : 2 * n]
    t: Array = np.arange(count + 1, dtype=np.float64) * step
    at = reference.at(t)
    s = dq - (at.dq - slope * (q - at.q))
    energy = np.einsum("ki,kij,kj->k", s, model.mass_matrix(q, own), s) / 2
    distance = sum(adaptation.distance(own[link_slice(k)], estimates[:, k]) for k in range(links))
    lyapunov: Array = np.array(energy + distance, dtype=float)
    return AdaptiveRun(t, q, dq, q - at.q, estimates, lyapunov, states[:, -1])


def _integrated(rate: ca.Function, x0: Array, motion: Motion, step: float) -> Array:
    """States of ``dx/dt = rate(x, r)`` after every step; the motion has the references at half steps."""
    rows = np.concatenate([motion.q, motion.dq, motion.ddq], axis=1).T
    x, r = ca.SX.sym("x", len(x0)), ca.SX.sym("r", len(rows), 3)
    columns = iter((0, 1, 1, 2))  # of the reference, in the order in which the four rates are taken
    after = rk4_step(lambda here, given: rate(here, given[:, next(columns)]), x, r, step)
    advance = ca.Function("advance", [x, r], [after])
    held = np.stack([rows[:, 0:-1:2], rows[:, 1::2], rows[:, 2::2]], axis=2)  # begin, middle, end of each step
    path = advance.mapaccum(held.shape[1])(x0, held.reshape(len(rows), -1)).full().T
    states = np.vstack([x0, path])
    bad = np.flatnonzero(~np.isfinite(states).all(axis=1))
    if len(bad):
        raise DatasetError(
            f"the adaptive loop is not finite from {bad[0] * step:.4g} s on; take smaller gains or steps"
        )
    return states


def _positive(**values: float) -> None:
    for name, value in values.items():
        if not isinstance(value, int | float) or not 0.0 < value < np.inf:
            raise DatasetError(f"{name}: expected a positive finite number, got {value!r}")


def _bodies(name: str, given: ArrayLike, links: int) -> Array:
    """Standard parameters of all links, each of them a body."""
    values = numeric_array(given, name, DatasetError, finite=True, shape=(10 * links,))
    least = np.linalg.eigvalsh(pseudo_inertia(values.reshape(links, 10)))[:, 0]
    if not (least > 0).all():
        raise DatasetError(f"{name}: link {int(np.argmin(least)) + 1} is not physically consistent")
    return values


def _system(model: Model, truth: Array, adaptation: Adaptation, K: Array, Lambda: Array) -> ca.Function:
    """``d/dt (q, dq, estimates, dissipated)`` for a reference ``(q_ref, dq_ref, ddq_ref)``."""
    n, links = model.n, len(model.robot.links)
    x, r = ca.SX.sym("x", 2 * n + 10 * links + 1), ca.SX.sym("r", 3 * n)
    q, dq, estimates = x[:n], x[n : 2 * n], x[2 * n : -1]
    q_ref, dq_ref, ddq_ref = r[:n], r[n : 2 * n], r[2 * n :]
    v = dq_ref - Lambda * (q - q_ref)
    a = ddq_ref - Lambda * (dq - dq_ref)
    s = dq - v
    pi = ca.SX.sym("pi", 10 * links)
    torque = model.mass_matrix(q, pi) @ a + model.coriolis_matrix(q, dq, pi) @ v + model.gravity(q, pi)
    Y = ca.jacobian(torque, pi)
    tau = ca.mtimes(Y, estimates) - K * s
    ddq = model.forward_dynamics(q, dq, tau, truth)
    y = ca.mtimes(Y.T, s)
    moves = [adaptation.rate(estimates[link_slice(k)], y[link_slice(k)]) for k in range(links)]
    rates = ca.densify(ca.vertcat(dq, ddq, *moves, ca.dot(K * s, s)))
    return ca.Function("rate", [x, r], [rates], {"cse": True})
