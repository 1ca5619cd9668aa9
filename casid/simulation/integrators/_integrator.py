"""Integrators of a state under a held torque: the contract, fixed steps, SUNDIALS, Dormand and Prince with events.

Fixed steps are explicit formulas, compiled into C together with plant and controller. SUNDIALS: Hindmarsh et al. 2005.
"""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

import casadi as ca
import numpy as np

from casid.arrays import ALIKE, ROUNDING, Array
from casid.codegen import Function
from casid.dynamics import dry_friction_places, rk4_step
from casid.errors import CasidWarning, ProblemError
from casid.files import near
from casid.simulation._plant import Mode, Plant, StickSlip
from casid.simulation._result import Reason, Stopped, Stops

# ------------------------------------------------------------------ contract and methods

#: ``(t0, t1, x, u) -> x`` at t1 under the torque u; raises `Stopped` where it cannot.
Advance = Callable[[float, float, Array, Array], Array]


class Integrator(ABC):
    """Integrates ``dx/dt = rate(x, u)`` of a plant over an interval in which the torque is held."""

    @abstractmethod
    def stepper(self, plant: Plant, stops: Stops) -> Advance:
        """A function that carries a state through an interval; called with intervals in order.

        Raises
        ------
        ProblemError
            If the integrator cannot take the plant's friction.
        """


def check_smooth(plant: Plant, integrator: Integrator) -> None:
    """ProblemError if the plant's friction switches, which needs an integrator that locates events."""
    if plant.friction.signs(ca.SX.sym("v")) is None:
        raise ProblemError(
            f"{type(integrator).__name__} cannot locate the events of exact friction: take DormandPrince, or smooth "
            "friction"
        )


@dataclass(frozen=True)
class FixedStep(Integrator):
    """An explicit formula of ``stages`` rates ``k_1 = rate(x), k_2 = rate(point_2), ...``.

    Attributes
    ----------
    step : float
        h [s]; intervals in which the torque is held are whole multiples of it.
    """

    step: float = 1e-3

    def __post_init__(self) -> None:
        if not 0.0 < self.step < float("inf"):
            raise ProblemError(f"{type(self).__name__}: the step must be positive, got {self.step} s")

    @property
    @abstractmethod
    def stages(self) -> int:
        """Number of rates of one step."""

    @property
    @abstractmethod
    def reach(self) -> float:
        """Largest ``h r`` at which a decay of rate r stays stable."""

    @abstractmethod
    def formula(self, rate: Callable[[ca.SX, None], ca.SX], x: ca.SX, h: ca.SX, n: int) -> ca.SX:
        """State after one step of ``dx/dt = rate(x, None)``; first n entries: positions, next n: velocities."""

    def points(self, size: int, n: int) -> list[ca.Function]:
        """``point2 ... point<stages>`` and ``advance`` as functions ``(x, k1, ..., h) -> next``.

        The formula is evaluated once with a symbol for each rate; the states it asks rates at are the points.
        """
        x, h = ca.SX.sym("x", size), ca.SX.sym("h")
        k = [ca.SX.sym(f"k{i + 1}", size) for i in range(self.stages)]
        places: list[ca.SX] = []

        def rate(place: ca.SX, _: None) -> ca.SX:
            places.append(place)
            return k[len(places) - 1]

        after = self.formula(rate, x, h, n)
        functions = []
        for number, place in enumerate([*places[1:], after], start=1):
            name = "advance" if number == self.stages else f"point{number + 1}"
            labels = ["x", *(f"k{i + 1}" for i in range(number)), "h"]
            functions.append(ca.Function(name, [x, *k[:number], h], [ca.densify(place)], labels, ["next"]))
        return functions

    def check_friction(self, plant: Plant, q: Array) -> None:
        """Warn where steps are too long for the plant's smooth friction."""
        rate, number = plant.friction_rate(q)
        if rate * self.step > self.reach:
            side, k = dry_friction_places(plant.given)[number]
            warnings.warn(
                f"friction of {side} {k + 1} is too steep for steps of {self.step:g} s: velocities near 0 chatter; "
                f"take steps below {self.reach / rate:.1e} s, smoother friction, or an adaptive integrator",
                CasidWarning,
                stacklevel=2,
            )

    def steps(self, duration: float) -> int:
        """Number of steps in an interval; ProblemError if it is no whole multiple of the step."""
        count = round(duration / self.step)
        if count < 1 or abs(count * self.step - duration) > ALIKE * self.step:
            raise ProblemError(
                f"{type(self).__name__}: {duration:g} s are not a whole multiple of the step, {self.step:g} s"
            )
        return count

    def stepper(self, plant: Plant, stops: Stops) -> Advance:
        """Step by step, checked at every step."""
        check_smooth(plant, self)
        rate = Function(plant.rate)
        formulas = [Function(f) for f in self.points(plant.size, plant.n)]

        def advance(t0: float, t1: float, x: Array, u: Array) -> Array:
            count = self.steps(t1 - t0)
            h = (t1 - t0) / count
            for step in range(count):
                k = []
                at = x
                for number, formula in enumerate(formulas):
                    dx, values = rate(at, u)
                    k.append(dx)
                    if number == 0:
                        pivots = values
                    at = formula(x, *k, h)
                stops.check(t0 + step * h, x, at, pivots, plant.joints)
                x = at
            return x

        return advance


class RungeKutta4(FixedStep):
    """The classical method of order 4: ``x + h (k1 + 2 k2 + 2 k3 + k4) / 6`` (Hairer et al. 1993, Table II.1.2)."""

    stages = 4
    reach = 2.785

    def formula(self, rate: Callable[[ca.SX, None], ca.SX], x: ca.SX, h: ca.SX, n: int) -> ca.SX:
        """See `rk4_step`."""
        return rk4_step(rate, x, None, h)


class SemiImplicitEuler(FixedStep):
    """The semi-implicit (symplectic) Euler method: ``dq' = dq + h ddq``, ``q' = q + h dq'``, order 1, one rate a step.

    The method of most physics engines (Hairer et al. 2006, Sec. I.1.2).
    """

    stages = 1
    reach = 2.0

    def formula(self, rate: Callable[[ca.SX, None], ca.SX], x: ca.SX, h: ca.SX, n: int) -> ca.SX:
        """Velocities first, then positions with the new velocities."""
        k = rate(x, None)
        velocity = x[n : 2 * n] + h * k[n : 2 * n]
        return ca.vertcat(x[:n] + h * velocity, velocity, x[2 * n :] + h * k[2 * n :])


@dataclass(frozen=True)
class Cvodes(Integrator):
    """CVODES of SUNDIALS with backward differentiation formulas: ``dx/dt = rate(x, u)``, for stiff smooth friction.

    Adaptive in step and order, one call an interval; the mass matrix is checked at the interval's ends.

    Attributes
    ----------
    tolerance : float
        Relative and absolute local error of the state.
    """

    tolerance: float = 1e-8

    def __post_init__(self) -> None:
        if not 0.0 < self.tolerance < 1.0:
            raise ProblemError(f"Cvodes: the tolerance must lie between 0 and 1, got {self.tolerance}")

    def stepper(self, plant: Plant, stops: Stops) -> Advance:
        """See `Integrator.stepper`."""
        check_smooth(plant, self)
        x, u, length = ca.SX.sym("x", plant.size), ca.SX.sym("u", plant.n), ca.SX.sym("length")
        problem = {"x": x, "p": ca.vertcat(u, length), "ode": length * plant.rate(x, u)[0]}
        tolerances = {"abstol": self.tolerance, "reltol": self.tolerance}
        options = {**tolerances, "print_stats": False, "show_eval_warnings": False}
        solver = ca.integrator("interval", "cvodes", problem, 0.0, 1.0, options)
        at = Function(plant.rate)

        def advance(t0: float, t1: float, x: Array, u: Array) -> Array:
            stops.check(t0, x, x, at(x, u)[1], plant.joints)
            try:
                after = np.array(solver(x0=x, p=np.append(u, t1 - t0))["xf"].full()).ravel()
            except RuntimeError as error:
                words = str(error).strip().splitlines()[-1]
                raise Stopped(t0, x, Reason.STUCK, f"CVODES: {words}") from error
            stops.check(t1, x, after, at(after, u)[1], plant.joints)
            return after

        return advance


# ------------------------------------------------------------------ Dormand and Prince

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
        from scipy.integrate import RK45  # slow to import; the same formula

        self.settings, self.plant, self.stops = settings, plant, stops
        self.rows, self.error = [row[: k + 1] for k, row in enumerate((*RK45.A[1:], RK45.B))], RK45.E
        self.rate = Function(plant.rate)
        exact = plant.friction.signs(ca.SX.sym("v")) is None
        self.modes = StickSlip(plant) if exact else None
        self.mode: Mode | None = None
        self.h = 1e-4

    def __call__(self, t0: float, t1: float, x: Array, u: Array) -> Array:
        t = t0
        if self.modes is not None:  # the torque differs from that of the interval before
            resume = self.mode is not None and self.mode.slowest(x) > 0 and self.mode.holds(x, u)
            x = x if resume else self._change(t, x, u)
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
        for number, row in enumerate(self.rows, start=1):
            point = x + h * (row @ k[:number])
            dx, values = self.rate(point, u, *extra)
            k[number] = dx
            np.minimum(pivots, values, out=pivots)
        scale = self.settings.tolerance * (1.0 + np.maximum(np.abs(x), np.abs(point)))
        error = float(np.sqrt(np.mean((h * (self.error @ k) / scale) ** 2)))
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
            while high - low > ROUNDING * h:  # what breaks away passes its limit continuously
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


# ------------------------------------------------------------------ catalogue

#: How each integrator is built from its number, a step [s] or a tolerance, by the name that a user writes.
INTEGRATORS: dict[str, Callable[..., Integrator]] = {
    "runge-kutta": RungeKutta4,
    "euler": SemiImplicitEuler,
    "dormand-prince": DormandPrince,
    "cvodes": Cvodes,
}


def integrator_of(name: str, number: float | None = None) -> Integrator:
    """The integrator of a name, with its step [s] or tolerance; ProblemError if there is none."""
    if name not in INTEGRATORS:
        hint = near(name, INTEGRATORS) or ";"
        raise ProblemError(f"unknown integrator '{name}'{hint} known: {', '.join(INTEGRATORS)}")
    return INTEGRATORS[name](*([] if number is None else [number]))
