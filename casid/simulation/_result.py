"""Results of simulations: conditions, times and reasons of their ends; one motion, many motions, the energy balance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cached_property

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from casid.arrays import Array
from casid.codegen import Function
from casid.display import Axes, Displayed
from casid.errors import DatasetError
from casid.measurement import Dataset
from casid.simulation._plant import Plant


class Reason(Enum):
    """Why a simulation ended."""

    FINISHED = "finished"
    INDEFINITE = "the mass matrix lost positive definiteness"
    DIVERGED = "the motion diverged"
    NOT_FINITE = "the state is not finite any more"
    STUCK = "the integrator cannot proceed"


@dataclass(frozen=True)
class End:
    """When and why a simulation ended.

    Attributes
    ----------
    time : float
        Last instant that was reached [s].
    reason : Reason
    detail : str
        Observation at the end, for messages.
    """

    time: float
    reason: Reason = Reason.FINISHED
    detail: str = ""

    @property
    def finished(self) -> bool:
        """Whether the simulation reached its time."""
        return self.reason is Reason.FINISHED

    def __str__(self) -> str:
        if self.finished:
            return f"finished at {self.time:g} s"
        return f"stopped at {self.time:.6g} s: {self.reason.value}{f' ({self.detail})' if self.detail else ''}"


class Stopped(Exception):
    """Raised by an integrator that cannot go on; carries the last good state."""

    def __init__(self, time: float, state: Array, reason: Reason, detail: str = "") -> None:
        super().__init__(reason.value)
        self.end, self.state = End(time, reason, detail), state


@dataclass(frozen=True)
class Stops:
    """Conditions that end a simulation early.

    Attributes
    ----------
    speed : float
        Largest speed of a joint [rad/s or m/s].
    definite : bool
        Whether to end where the mass matrix is not positive definite: no physical machine has such a
        mass matrix, and ``M^-1`` does not exist on the way to it.
    """

    speed: float = 1e3
    definite: bool = True

    def __post_init__(self) -> None:
        if not self.speed > 0:
            raise DatasetError(f"stops: the largest speed must be positive, got {self.speed}")

    def check(self, time: float, state: Array, after: Array, pivots: Array, joints: Sequence[str]) -> None:
        """Raise `Stopped` with ``state``, the last good one, if ``after`` or the pivots of M are not acceptable."""
        if self.definite and not (pivots > 0).all():
            joint = int(np.flatnonzero(~(pivots > 0))[-1])
            raise Stopped(time, state, Reason.INDEFINITE, f"pivot of joint '{joints[joint]}': {pivots[joint]:.3g}")
        if not np.isfinite(after).all():
            raise Stopped(time, state, Reason.NOT_FINITE)
        n = len(joints)
        fast = np.abs(after[n : 2 * n])
        if (fast > self.speed).any():
            joint = int(fast.argmax())
            raise Stopped(time, state, Reason.DIVERGED, f"joint '{joints[joint]}' is faster than {self.speed:g} rad/s")


@dataclass(frozen=True, eq=False)
class EnergyBalance:
    """Energy of a motion, one entry a sample [J].

    Attributes
    ----------
    kinetic, potential : ndarray, shape (N,)
        Rotor inertia counts as kinetic, what external forces store as potential, which is 0 at the first sample.
    work, dissipated : ndarray, shape (N,)
        Work of the motors, and losses of joint terms and external forces, integrated along with the motion.
    """

    kinetic: Array
    potential: Array
    work: Array
    dissipated: Array

    @property
    def total(self) -> Array:
        """Kinetic and potential energy."""
        return self.kinetic + self.potential

    @property
    def imbalance(self) -> Array:
        """``T + U + dissipated - work`` less its first value: 0 but for the integration's error."""
        balance = self.total + self.dissipated - self.work
        return np.asarray(balance - balance[0])

    @property
    def relative_imbalance(self) -> float:
        """Largest imbalance over the largest energy."""
        scale = max(float(np.abs(part).max()) for part in (self.kinetic, self.potential, self.work, self.dissipated))
        return float(np.abs(self.imbalance).max()) / scale if scale > 0 else 0.0


@dataclass(frozen=True, eq=False)
class Simulation(Displayed):
    """A simulated motion, one row a sample of the controller; up to its end where it ended early.

    Attributes
    ----------
    plant : Plant
    t : ndarray, shape (N,)
        [s]
    q, dq : ndarray, shape (N, n)
        True positions and velocities.
    tau : ndarray, shape (N, n)
        Torques that act on the joints from each instant on.
    command : ndarray, shape (N, n)
        Torques that the controller asks for at each instant; they act after the delay.
    q_ref, dq_ref : ndarray, shape (N, n)
        The reference.
    state_errors, torque_errors : ndarray, shapes (N, 2 n) and (N, n)
        Errors of the sensors.
    work, dissipated : ndarray, shape (N,)
    end : End
        When and why it ended.
    """

    plant: Plant
    t: Array
    q: Array
    dq: Array
    tau: Array
    command: Array
    q_ref: Array
    dq_ref: Array
    state_errors: Array
    torque_errors: Array
    work: Array
    dissipated: Array
    end: End

    def plot_motion(self) -> tuple[Axes, ...]:
        """Draw positions and torques of every joint beside the reference."""
        return self._plot("motion")

    def plot_energy(self) -> tuple[Axes, ...]:
        """Draw the energy balance and its imbalance."""
        return self._plot("energy")

    @property
    def n(self) -> int:
        """Number of joints."""
        return self.plant.n

    def __len__(self) -> int:
        """Number of samples."""
        return len(self.t)

    @cached_property
    def energy(self) -> EnergyBalance:
        """The energy balance."""
        kinetic = np.asarray(self.plant.given.kinetic_energy(self.q, self.dq))
        potential = np.asarray(self.plant.given.potential_energy(self.q))
        if self.plant.forces:
            potential = potential + Function(self.plant.stored, axes=0)(self.q)
        return EnergyBalance(kinetic, potential - potential[0], self.work, self.dissipated)

    def wrench(self, frame: str) -> Array:
        """External wrench at a frame of every sample, shape (N, 6): force, then moment, base axes [N, N.m]."""
        q, dq = ca.SX.sym("q", self.n), ca.SX.sym("dq", self.n)
        function = ca.Function("wrench", [q, dq], [ca.densify(self.plant.wrench(frame, q, dq))])
        return np.asarray(Function(function)(self.q, self.dq))

    @property
    def tracking_error(self) -> Array:
        """``q_ref - q``, shape (N, n)."""
        return np.asarray(self.q_ref - self.q)

    def dataset(self, name: str = "simulation") -> Dataset:
        """The recording that the robot's sensors would have made.

        Raises
        ------
        DatasetError
            If the simulation ended before there were enough samples.
        """
        try:
            return Dataset(
                self.t, self.q + self.state_errors[:, : self.n], self.tau + self.torque_errors,
                dq=self.dq + self.state_errors[:, self.n :], name=name,
                steps=(f"simulated: {self.plant.model.robot.name}, {len(self)} samples",),
                notes=() if self.end.finished else (str(self.end),),
            )  # fmt: skip
        except DatasetError as error:
            raise DatasetError(f"the simulation gives no recording: it {self.end}; {error}") from error


@dataclass(frozen=True, eq=False)
class Rollouts:
    """Many simulated motions: B rollouts, N records, n joints.

    Attributes
    ----------
    t : ndarray, shape (N,)
    q, dq, tau : ndarray, shape (B, N, n)
        As in `Simulation`; NaN after a rollout's end.
    work, dissipated : ndarray, shape (B, N)
    ends : tuple of End
        When and why each ended.
    """

    t: Array
    q: Array
    dq: Array
    tau: Array
    work: Array
    dissipated: Array
    ends: tuple[End, ...]

    def __len__(self) -> int:
        """Number of rollouts."""
        return len(self.ends)

    @property
    def finished(self) -> NDArray[np.bool_]:
        """Which rollouts reached their time, shape (B,)."""
        return np.array([end.finished for end in self.ends])
