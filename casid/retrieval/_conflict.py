"""Constraints that cannot be met together: labels, the smallest relaxation, whether the conflict is proven."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

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
        limits = ", ".join(f"{name} {limit}" for name, limit in self.region.items())
        return (
            f". This is proven where nothing bounds them for {limits}; a larger body may meet it. Bounds beyond that "
            "are mostly a slip of units: kg, m and kg.m^2 are expected, not g (a factor of 1e3), mm (1e3 of a "
            "length, 1e6 of an inertia), or g.mm^2 (1e9)"
        )

    def error(self, name: str, solution: object) -> SolveError:
        """The exception for the problem of that name."""
        message = f"problem '{name}': {self.words()}"
        if not self.proven:
            return SolveError(message, solution)
        return InfeasibleError(message, self.conflicting, dict(self.relaxation), solution)
