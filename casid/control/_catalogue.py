"""Controllers by name, with gains that fit the robot."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from casid.arrays import Array
from casid.control._contact import Impedance
from casid.control._controller import Controller
from casid.control._free_motion import (
    PD,
    ComputedTorque,
    FeedForward,
    OperationalSpace,
    Passive,
    PDGravity,
    VelocityOperationalSpace,
)
from casid.dynamics import Model, operational_space
from casid.errors import DatasetError, ProblemError
from casid.files import near


@dataclass(frozen=True, eq=False)
class ControllerSettings:
    """What a controller is built from.

    Attributes
    ----------
    model, parameters
        The controller's model of the robot.
    q : ndarray, shape (n,)
        Posture at which gains are chosen.
    bandwidth : float
        Frequency w of a critically damped error, ``e'' + 2 w e' + w^2 e = 0`` [rad/s].
    frame : str
        Frame of controllers of a frame's motion.
    kp, kd : array_like, optional
        Gains in the controller's own units instead.
    """

    model: Model
    parameters: Array
    q: Array
    bandwidth: float = 10.0
    frame: str = ""
    kp: ArrayLike | None = None
    kd: ArrayLike | None = None

    def __post_init__(self) -> None:
        if not 0.0 < self.bandwidth < np.inf:
            raise DatasetError(f"the controller's bandwidth must be positive, got {self.bandwidth} rad/s")

    def gains(self, inertia: ArrayLike = 1.0) -> tuple[Array, Array]:
        """``w^2 m`` and ``2 w m`` unless gains are given."""
        m, w = np.asarray(inertia, dtype=float), self.bandwidth
        kp = w**2 * m if self.kp is None else np.asarray(self.kp, dtype=float)
        kd = 2 * w * m if self.kd is None else np.asarray(self.kd, dtype=float)
        return np.asarray(kp), np.asarray(kd)

    @property
    def inertia(self) -> Array:
        """What each joint moves while the others follow freely, ``1 / (M^-1)_kk``: gains for it are never too high."""
        M = np.asarray(self.model.with_parameters(self.parameters).mass_matrix(self.q))
        return np.asarray(1.0 / np.diagonal(np.linalg.pinv(M)))


def _joints(kind: type[PDGravity] | type[FeedForward]) -> Callable[[ControllerSettings], Controller]:
    return lambda s: kind(s.model, s.parameters, *s.gains(s.inertia))


def _pd(s: ControllerSettings) -> Controller:
    kp, kd = s.gains(s.inertia)
    return PD(np.broadcast_to(kp, s.q.shape), np.broadcast_to(kd, s.q.shape))


def _velocity(s: ControllerSettings) -> Controller:
    """Both gains are rates: the velocity is tracked ten times as fast as the error closes."""
    kp = np.asarray(s.bandwidth if s.kp is None else s.kp, dtype=float)
    kd = np.asarray(10.0 * s.bandwidth if s.kd is None else s.kd, dtype=float)
    return VelocityOperationalSpace(s.model, s.parameters, kp, kd, s.frame)


def _impedance(s: ControllerSettings) -> Controller:
    """With the frame's own inertia along and about each axis at the posture, critically damped in the air."""
    at = operational_space(s.model, s.frame)(s.q, np.zeros(s.model.n), s.parameters)
    inertia = np.diagonal(at[2])
    return Impedance(s.model, s.parameters, *s.gains(inertia), s.frame, inertia=inertia)


#: How each controller is built, by the name that a user writes.
CONTROLLERS: dict[str, Callable[[ControllerSettings], Controller]] = {
    "passive": lambda s: Passive(s.model.n),
    "pd": _pd,
    "pd-gravity": _joints(PDGravity),
    "feed-forward": _joints(FeedForward),
    "computed-torque": lambda s: ComputedTorque(s.model, s.parameters, *s.gains()),
    "operational-space": lambda s: OperationalSpace(s.model, s.parameters, *s.gains(), s.frame),
    "velocity-operational-space": _velocity,
    "impedance": _impedance,
}
#: Those that control a frame.
OF_A_FRAME = frozenset({"operational-space", "velocity-operational-space", "impedance"})


def controller_of(name: str, settings: ControllerSettings) -> Controller:
    """The controller of a name.

    Raises
    ------
    ProblemError
        If there is none.
    """
    if name not in CONTROLLERS:
        hint = near(name, CONTROLLERS) or ";"
        raise ProblemError(f"unknown controller '{name}'{hint} known: {', '.join(CONTROLLERS)}")
    return CONTROLLERS[name](settings)
