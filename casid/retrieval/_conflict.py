"""Constraints that cannot be met together: labels, the smallest relaxation, whether the conflict is proven."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from casid.errors import SolveError


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
        No point can meet them (within the search region of links without bounds); else none was found near the starts.
    """

    conflicting: tuple[str, ...]
    relaxation: Mapping[str, float]
    advice: tuple[str, ...]
    proven: bool

    def words(self) -> str:
        """The conflict and its smallest relaxation, as a sentence."""
        if not self.proven:
            start = "no feasible point was found near; the smallest relaxation found"
        elif len(self.conflicting) > 1:
            start = f"{self.conflicting[0]} conflicts with {', '.join(self.conflicting[1:])}; the smallest relaxation"
        else:
            first = ", ".join(self.conflicting) or "the constraints"
            start = f"{first} cannot be met by any physically consistent body; the smallest relaxation"
        return f"{start} that satisfies all: {', '.join(self.advice)}"

    def error(self, name: str, solution: object) -> SolveError:
        """The exception for the problem of that name."""
        message = f"problem '{name}': {self.words()}"
        if not self.proven:
            return SolveError(message, solution)
        return InfeasibleError(message, self.conflicting, dict(self.relaxation), solution)
