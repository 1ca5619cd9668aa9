"""An item of a document, and what comes out when it is computed anew."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum

from matplotlib.figure import Figure


class Status(Enum):
    """How far an item can be reproduced."""

    #: From the same data, or from no data at all.
    REPRODUCED = "reproduced"
    #: The same computation on other data, which are named.
    IN_KIND = "in kind"
    #: Not at all: the data are not public, or there is nothing to compute.
    IMPOSSIBLE = "impossible"


@dataclass(frozen=True)
class Setting:
    """How much to compute.

    Attributes
    ----------
    quick : bool
        Few runs and samples: does it work?
    """

    quick: bool = False


@dataclass(frozen=True)
class Comparison:
    """Published numbers beside computed ones.

    Attributes
    ----------
    title : str
    columns : tuple of str
    rows : tuple of tuple of str
    """

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    @classmethod
    def of(cls, title: str, columns: Sequence[str], rows: Sequence[Sequence[object]]) -> Comparison:
        """From values of any kind: numbers are written with four digits."""
        return cls(title, tuple(columns), tuple(tuple(cell(value) for value in row) for row in rows))


@dataclass(frozen=True)
class Check:
    """A statement of the document, or about its numbers, that the computation can contradict.

    Attributes
    ----------
    claim : str
    holds : bool
        Here.
    expected : bool
        The recorded verdict: a full run that finds another one fails.
    """

    claim: str
    holds: bool
    expected: bool = True

    @property
    def changed(self) -> bool:
        """Whether the verdict is another than the recorded one, in either direction."""
        return bool(self.holds) is not self.expected


def differs(claim: str, holds: bool) -> Check:
    """A statement that is recorded not to hold here."""
    return Check(claim, holds, expected=False)


@dataclass(frozen=True, eq=False)
class Outcome:
    """What an item gave.

    Attributes
    ----------
    comparisons : tuple of Comparison
    pictures : mapping of str to Figure
        By file name without its suffix.
    words : tuple of str
        What the reader should know about the difference.
    checks : tuple of Check
        An item that is reproduced has at least one.
    """

    comparisons: tuple[Comparison, ...] = ()
    pictures: Mapping[str, Figure] = field(default_factory=dict)
    words: tuple[str, ...] = ()
    checks: tuple[Check, ...] = ()


@dataclass(frozen=True, eq=False)
class Item:
    """A table, numbered figure or algorithm.

    Attributes
    ----------
    name : str
        As the document calls it: ``Table III``.
    title : str
        What it shows.
    status : Status
    how : str
        What is computed from what; the stand-in data; or why it cannot be.
    run : callable or None
        Computes it; None where that is impossible.
    repeatable : bool
        Its full form takes seconds and gives the same numbers on every machine: a test compares its section of the
        page with a fresh run.
    """

    name: str
    title: str
    status: Status
    how: str
    run: Callable[[Setting], Outcome] | None = None
    repeatable: bool = False

    def __post_init__(self) -> None:
        if (self.run is None) != (self.status is Status.IMPOSSIBLE):
            raise ValueError(f"{self.name}: an item that is not impossible has something to run")


def drawing(name: str, title: str) -> Item:
    """A photograph, sketch or block diagram."""
    return Item(name, title, Status.IMPOSSIBLE, "a drawing or photograph: it holds no numbers to compute")


def below(value: float, tolerance: float) -> str:
    """A deviation, or ``below 1e-12`` where it is rounding: its digits are those of the machine."""
    return f"below {tolerance:.0e}" if value <= tolerance else f"{value:.1e}"


def cell(value: object) -> str:
    """As printed in a table."""
    if isinstance(value, float):
        return f"{value + 0.0:.4g}"
    return "" if value is None else str(value)
