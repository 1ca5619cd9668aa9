"""Integrators by name."""

from __future__ import annotations

from collections.abc import Callable

from casid.errors import ProblemError
from casid.files import near
from casid.simulation.integrators._dormand_prince import DormandPrince
from casid.simulation.integrators._integrator import Cvodes, Integrator, RungeKutta4, SemiImplicitEuler

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
