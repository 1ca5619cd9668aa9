"""Integrators by name."""

from __future__ import annotations

import difflib
from collections.abc import Callable

from casid.errors import ProblemError
from casid.simulation.integrators._dormand_prince import DormandPrince
from casid.simulation.integrators._integrator import Cvodes, Idas, Integrator, RungeKutta4, SemiImplicitEuler

#: How each integrator is built from its number, a step [s] or a tolerance, by the name that a user writes.
INTEGRATORS: dict[str, Callable[[float | None], Integrator]] = {
    "runge-kutta": lambda step: RungeKutta4() if step is None else RungeKutta4(step),
    "euler": lambda step: SemiImplicitEuler() if step is None else SemiImplicitEuler(step),
    "dormand-prince": lambda tolerance: DormandPrince() if tolerance is None else DormandPrince(tolerance),
    "cvodes": lambda tolerance: Cvodes() if tolerance is None else Cvodes(tolerance),
    "idas": lambda tolerance: Idas() if tolerance is None else Idas(tolerance),
}


def integrator_of(name: str, number: float | None = None) -> Integrator:
    """The integrator of a name, with its step [s] or tolerance; ProblemError if there is none."""
    if name not in INTEGRATORS:
        near = difflib.get_close_matches(name, INTEGRATORS, n=1)
        hint = f"did you mean '{near[0]}'? " if near else ""
        raise ProblemError(f"unknown integrator '{name}'; {hint}known: {', '.join(INTEGRATORS)}")
    return INTEGRATORS[name](number)
