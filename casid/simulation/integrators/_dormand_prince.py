"""The adaptive Runge-Kutta method of Dormand and Prince, with events of dry friction located in time."""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca
import numpy as np

from casid.arrays import ALIKE, Array
from casid.codegen import Function
from casid.errors import ProblemError
from casid.simulation._plant import Plant
from casid.simulation._result import Reason, Stopped, Stops
from casid.simulation._stick_slip import Mode, StickSlip
from casid.simulation.integrators._integrator import Advance, Integrator

_A = [
    np.array([1 / 5]),
    np.array([3 / 40, 9 / 40]),
    np.array([44 / 45, -56 / 15, 32 / 9]),
    np.array([19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729]),
    np.array([9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656]),
    np.array([35 / 384, 0.0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84]),
]
_ERROR = np.array([71 / 57600, 0.0, -71 / 16695, 71 / 1920, -17253 / 339200, 22 / 525, -1 / 40])
#: Halvings of the interval in which something breaks away: the force passes its limit continuously there.
_HALVINGS = 40
#: Changes of mode that may follow each other at one instant.
_MOST_CHANGES = 200


@dataclass(frozen=True)
class DormandPrince(Integrator):
    """Runge-Kutta 5(4) of Dormand and Prince (Hairer et al. 1993, Table II.5.2), as in Sousa (2014, Sec. 5.1.2).

    With exact friction, a step ends where a sliding direction comes to rest or a sticking one breaks away.

    Attributes
    ----------
    tolerance : float
        Relative and absolute local error of the state.
    smallest : float
        Step below which the integration stops [s].
    """

    tolerance: float = 1e-9
    smallest: float = 1e-12

    def __post_init__(self) -> None:
        if not 0.0 < self.tolerance < 1.0:
            raise ProblemError(f"DormandPrince: the tolerance must lie between 0 and 1, got {self.tolerance}")

    def stepper(self, plant: Plant, stops: Stops) -> Advance:
        """Adaptive steps within every interval; a mode of friction is carried from one interval to the next."""
        return _Adaptive(self, plant, stops)


class _Adaptive:
    """State of an integration: the step size that worked last, the mode of friction."""

    def __init__(self, settings: DormandPrince, plant: Plant, stops: Stops) -> None:
        self.settings, self.plant, self.stops = settings, plant, stops
        self.rate = Function(plant.rate)
        exact = plant.friction.signs(ca.SX.sym("v")) is None
        self.modes = StickSlip(plant) if exact else None
        self.mode: Mode | None = None
        self.h = 1e-4

    def __call__(self, t0: float, t1: float, x: Array, u: Array) -> Array:
        t = t0
        x = self._enter(t, x, u)
        changes = 0
        while t < t1:
            if self.mode is not None and self.mode.at_rest:
                return x
            h = min(self.h, t1 - t)
            last = h >= (t1 - t) * (1 - ALIKE)
            h = t1 - t if last else h
            x, taken, changed = self._step(t, x, u, h)
            changes = changes + 1 if changed and taken < ALIKE else 0
            if changes > _MOST_CHANGES:
                raise Stopped(t, x, Reason.STUCK, "dry friction changes its mode without end")
            t = t1 if last and taken == h else t + taken
        return x

    def _enter(self, t: float, x: Array, u: Array) -> Array:
        """Mode at the beginning of an interval, whose torque differs from that before."""
        if self.modes is None:
            return x
        resume = self.mode is not None and self.mode.slowest(x) > 0 and self.mode.holds(x, u)
        return x if resume else self._change(t, x, u)

    def _change(self, t: float, x: Array, u: Array) -> Array:
        assert self.modes is not None
        try:
            x, self.mode = self.modes.begin(x, u)
        except np.linalg.LinAlgError as error:
            raise Stopped(t, x, Reason.INDEFINITE) from error
        return x

    def _step(self, t: float, x: Array, u: Array, h: float) -> tuple[Array, float, bool]:
        """One accepted step of at most h: state, length, whether friction changed its mode at its end."""
        while True:
            after, error, pivots = self._trial(x, u, h)
            definite = not self.stops.definite or bool((pivots > 0).all())
            fine = definite and bool(np.isfinite(after).all()) and error <= 1.0
            if fine:
                break
            if h <= self.settings.smallest:
                self.stops.check(t, x, after, pivots, self.plant.joints)
                raise Stopped(t, x, Reason.STUCK, f"the step fell below {self.settings.smallest:g} s")
            shrink = max(0.2, 0.9 * error**-0.2) if definite and np.isfinite(error) and error > 1 else 0.5
            h = max(h * shrink, self.settings.smallest)
        mode = self.mode
        if mode is not None and not (mode.slowest(after) >= 0.0 and mode.holds(after, u)):
            h = self._event(mode, x, u, h)
            after, _, pivots = self._trial(x, u, h)
            self.stops.check(t, x, after, pivots, self.plant.joints)
            return self._change(t + h, after, u), h, True
        self.stops.check(t, x, after, pivots, self.plant.joints)
        self.h = h * min(5.0, max(0.2, 0.9 * max(error, 1e-8) ** -0.2))
        return after, h, False

    def _trial(self, x: Array, u: Array, h: float) -> tuple[Array, float, Array]:
        """State after h, local error in units of the tolerance, smallest pivots of the mass matrix on the way."""
        extra = () if self.mode is None else (self.mode.signs, self.mode.projector)
        k = np.empty((7, len(x)))
        dx, values = self.rate(x, u, *extra)
        k[0], pivots = dx, values
        point = x
        for number, row in enumerate(_A, start=1):
            point = x + h * (row @ k[:number])
            dx, values = self.rate(point, u, *extra)
            k[number] = dx
            np.minimum(pivots, values, out=pivots)
        scale = self.settings.tolerance * (1.0 + np.maximum(np.abs(x), np.abs(point)))
        error = float(np.sqrt(np.mean((h * (_ERROR @ k) / scale) ** 2)))
        return point, error, pivots

    def _event(self, mode: Mode, x: Array, u: Array, h: float) -> float:
        """Length of the step after which the mode ends first."""
        from scipy.optimize import brentq  # slow to import

        if mode.slowest(self._trial(x, u, h)[0]) < 0:
            start = self._sliding_from(mode, x, u, h)
            if start < h:
                h = brentq(lambda s: mode.slowest(self._trial(x, u, s)[0]), start, h, xtol=1e-15, rtol=1e-14)
        if not mode.holds(self._trial(x, u, h)[0], u):
            low, high = 0.0, h
            for _ in range(_HALVINGS):
                middle = (low + high) / 2
                low, high = (middle, high) if mode.holds(self._trial(x, u, middle)[0], u) else (low, middle)
            h = high
        return h

    def _sliding_from(self, mode: Mode, x: Array, u: Array, h: float) -> float:
        """Begin of a bracket in which the slowest direction still slides; h: none was found."""
        start = 0.0 if mode.slowest(x) > 0 else h
        while start and start > ALIKE * h:  # it has just broken away: look for an instant at which it moves
            start /= 4.0
            if mode.slowest(self._trial(x, u, start)[0]) > 0:
                return start
        return start if start == 0.0 else h
