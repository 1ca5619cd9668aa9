"""Bounds that hold parameters where they are: none of them binds in silence."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from casid.inertia import pseudo_inertia
from casid.inertia._cones import Full
from casid.inertia._parameter_vector import link_slice
from casid.retrieval.problem import Problem
from casid.retrieval.rows import LinearRows

Array = NDArray[np.float64]

#: Share of a bound's size (of the row's largest term) within which it counts as reached.
REACHED = 1e-5


@dataclass(frozen=True)
class ActiveBound:
    """A bound that a parameter set lies on.

    Attributes
    ----------
    constraint : str
        Label of the constraint, or name of the bounded parameter.
    text : str
        The bound in words, e.g. ``link2 mass <= 10 kg``.
    """

    constraint: str
    text: str


def active_bounds(problem: Problem, linear: LinearRows, x: Array) -> tuple[ActiveBound, ...]:
    """Linear bounds that x lies on, and links as thin as their margin of consistency allows; zero friction aside.

    A joint term that physics keeps from being negative and that the data set to zero is no bound worth a word.
    """
    found = []
    values = linear.matrix @ x
    sizes = np.maximum(np.abs(linear.matrix * x).max(axis=1, initial=0.0), 1e-9)
    away = np.minimum(np.abs(values - linear.lower), np.abs(linear.upper - values))
    for k in np.flatnonzero(away <= REACHED * sizes):
        row = linear.rows[k]
        if row.constraint < 0 and linear.lower[k] == 0.0 and abs(values[k]) <= REACHED:
            continue
        name = problem.constraints[row.constraint].label if row.constraint >= 0 else row.text.split(" <= ")[-2]
        found.append(ActiveBound(name, row.text))
    for cone in problem.cones:
        if cone.cone != Full():
            continue
        smallest = float(np.linalg.eigvalsh(pseudo_inertia(x[link_slice(cone.link)]))[0])
        if smallest <= 2.0 * cone.margin:
            found.append(ActiveBound(cone.label, f"{cone.name} is as thin as physical consistency allows"))
    return tuple(found)
