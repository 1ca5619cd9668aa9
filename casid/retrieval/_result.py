"""What results share: parameters by name, the relative gap, the check of a bound, constraints in conflict."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from casid.errors import BoundWarning, SolveError
from casid.inertia import LinkParameters, Parameters

#: Relative excess of a bound over the value of a feasible point that its own tolerances (1e-8 of violation) explain.
_EXPLAINED = 1e-6


class ParameterResult(ABC):
    """A result that is a set of parameters; all other forms of the same numbers follow from `parameters`."""

    @property
    @abstractmethod
    def parameters(self) -> Parameters:
        """All parameters by name, read-only."""

    @property
    def standard_parameters(self) -> NDArray[np.float64]:
        """``Lxx1 ... m<n>``, shape (10 n,), read-only."""
        return self.parameters.standard

    @property
    def extras(self) -> dict[str, float]:
        """Values of the parameters that belong to no link (friction, rotors, ...), by name."""
        return dict(self.parameters.terms)

    @property
    def links(self) -> Mapping[str, LinkParameters]:
        """Mass, centre of mass and inertia about it of every link, by name, in the robot's order."""
        return self.parameters.links

    @property
    def link_parameters(self) -> tuple[LinkParameters, ...]:
        """The entries of `links`, in the robot's order."""
        return tuple(self.parameters.links.values())


def relative_gap(value: float, bound: float, negligible: float) -> float:
    """``(value - bound) / max(|value|, negligible)``.

    Parameters
    ----------
    value
        What was minimised, at a feasible point.
    bound
        Proven lower bound of it, -inf if there is none.
    negligible
        Value that counts as zero (`LeastSquares.negligible`): the relative error of a smaller one is not defined.

    Returns
    -------
    float
        No feasible point is better than the value by more than this share of it. >= 0 up to rounding.
    """
    return float((value - bound) / max(abs(value), negligible))


def checked_bound(bound: float, value: float, negligible: float, what: str) -> float:
    """A lower bound, compared with the value that a feasible point attains.

    Returns
    -------
    float
        The bound; the value, where the bound exceeds it within tolerances; -inf and a `BoundWarning` where it exceeds
        it by more, because the bound is then wrong.
    """
    if not bound > value:
        return bound
    if bound - value <= _EXPLAINED * max(abs(value), negligible):
        return value
    warnings.warn(
        f"{what}: its lower bound {bound:.9g} exceeds the value {value:.9g} of a feasible point and is discarded",
        BoundWarning,
        stacklevel=3,
    )
    return float("-inf")


class InfeasibleError(SolveError):
    """The constraints of a problem cannot be met together, and this is proven.

    Attributes
    ----------
    conflicting : tuple of str
        The bounds that exclude each other, in words.
    relaxation : mapping of str to float
        Bound -> by how much to loosen it, in its own units (kg, m, kg.m^2, or the expression's).
    """

    def __init__(
        self, message: str, conflicting: tuple[str, ...], relaxation: dict[str, float], solution: object | None = None
    ) -> None:
        super().__init__(message, solution)
        self.conflicting = conflicting
        self.relaxation = relaxation

    def __reduce__(self) -> tuple[object, ...]:
        return (type(self), (str(self), self.conflicting, self.relaxation, self.solution))


@dataclass(frozen=True)
class Conflict:
    """Bounds that exclude each other, and the smallest relaxation that was found.

    Attributes
    ----------
    conflicting : tuple of str
    relaxation : mapping of str to float
        Bound in words -> by how much to loosen it.
    advice : tuple of str
        The same in words, with units.
    proven : bool
        No point can meet them, within the region where there is one; else none was found near the starts.
    region : mapping of str to str
        What the proof leaves out: links and extras that nothing bounds -> how large they may be, in words.
    """

    conflicting: tuple[str, ...]
    relaxation: Mapping[str, float]
    advice: tuple[str, ...]
    proven: bool
    region: Mapping[str, str] = field(default_factory=dict)

    def words(self) -> str:
        """The conflict and its smallest relaxation, as a sentence."""
        if not self.proven:
            start = "no feasible point was found near; the smallest relaxation found"
        elif len(self.conflicting) > 1:
            start = f"{self.conflicting[0]} conflicts with {', '.join(self.conflicting[1:])}; the smallest relaxation"
        else:
            first = ", ".join(self.conflicting) or "the constraints"
            start = f"{first} cannot be met by any physically consistent body; the smallest relaxation"
        words = f"{start} that satisfies all: {', '.join(self.advice)}"
        return words + self._within() if self.proven and self.region else words

    def _within(self) -> str:
        """The region of the proof, and what bounds beyond it usually are."""
        alike: dict[str, list[str]] = {}
        for name, limit in self.region.items():
            alike.setdefault(limit, []).append(name)
        limits = " and ".join(
            f"{', '.join(names) if len(names) <= 3 else f'{names[0]} ... {names[-1]} ({len(names)} in all)'} {limit}"
            for limit, names in alike.items()
        )
        return (
            f". The proof holds for {limits}, which nothing else bounds; a larger body may meet it. Bounds beyond that "
            "are mostly a slip of units: kg, m and kg.m^2 are expected, not g (a factor of 1e3), mm (1e3 of a "
            "length, 1e6 of an inertia), or g.mm^2 (1e9)"
        )

    def error(self, name: str, solution: object) -> SolveError:
        """The exception for the problem of that name."""
        message = f"problem '{name}': {self.words()}"
        if not self.proven:
            return SolveError(message, solution)
        return InfeasibleError(message, self.conflicting, dict(self.relaxation), solution)
