"""Integrators of a state under a held torque: the contract, fixed steps, an implicit method of SUNDIALS.

Fixed steps are explicit formulas, compiled into C together with plant and controller. SUNDIALS: Hindmarsh et al. 2005.
"""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

import casadi as ca
import numpy as np

from casid.arrays import ALIKE, Array
from casid.codegen import Function
from casid.dynamics import dry_friction_places, rk4_step
from casid.errors import CasidWarning, ProblemError
from casid.simulation._plant import Plant
from casid.simulation._result import Reason, Stopped, Stops

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
