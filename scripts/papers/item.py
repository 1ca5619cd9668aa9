"""Documents and their items: what an item is stands in ``DOCUMENT.toml``, what it gives is one function.

A function is registered by its item's name and yields parts: tables (`compared`), pictures (`pictured`), the numbers
that the file's ``words`` have in their braces (`numbers`), those of its ``claims`` (`stated`), and whether each claim
`holds`. A claim that begins with ``~`` is recorded not to hold here.
"""

from __future__ import annotations

import string
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any

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
    """How much to compute; quick: few runs and samples, does it work?"""

    quick: bool = False


@dataclass(frozen=True)
class Comparison:
    """A table: published numbers beside computed ones."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Check:
    """A statement that the computation can contradict, whether it holds here, and the recorded verdict."""

    claim: str
    holds: bool
    expected: bool = True

    @property
    def changed(self) -> bool:
        """Whether the verdict is another than the recorded one, in either direction."""
        return bool(self.holds) is not self.expected


@dataclass(frozen=True, eq=False)
class Outcome:
    """What an item gave.

    Attributes
    ----------
    comparisons : tuple of Comparison
    numbers : tuple
        What stands in the braces of the item's words.
    stated : tuple
        What stands in the braces of its claims.
    holds : tuple of bool
        Whether each claim holds.
    pictures : mapping of str to Figure
        By file name without its suffix.
    words, checks : tuple
        Paragraphs and statements that depend on the computation, behind those of the file.
    """

    comparisons: tuple[Comparison, ...] = ()
    numbers: tuple[object, ...] = ()
    stated: tuple[object, ...] = ()
    holds: tuple[object, ...] = ()
    pictures: Mapping[str, Figure] = field(default_factory=dict)
    words: tuple[str, ...] = ()
    checks: tuple[Check, ...] = ()

    @classmethod
    def of(cls, parts: Parts) -> Outcome:
        """From what a function yields, in its order."""
        found: dict[str, list[Any]] = defaultdict(list)
        for part in parts:
            found[part.field] += part.values
        pictures = dict(found.pop("pictures", ()))
        return cls(**{field: tuple(values) for field, values in found.items()}, pictures=pictures)


@dataclass(frozen=True)
class Part:
    """What a function yields: values of one field of its `Outcome`."""

    field: str
    values: tuple[Any, ...]


Parts = Iterable[Part]


def compared(title: str, columns: Sequence[str], rows: Sequence[Sequence[object]]) -> Part:
    """A table: numbers are written with four digits."""
    cells = tuple(tuple(cell(value) for value in row) for row in rows)
    return Part("comparisons", (Comparison(title, tuple(columns), cells),))


def pictured(name: str, figure: Figure) -> Part:
    """A picture, by its file name without suffix."""
    return Part("pictures", ((name, figure),))


def numbers(*values: object) -> Part:
    """What stands in the next braces of the item's words."""
    return Part("numbers", values)


def stated(*values: object) -> Part:
    """What stands in the next braces of its claims."""
    return Part("stated", values)


def holds(*verdicts: object) -> Part:
    """Whether each of the next claims holds."""
    return Part("holds", verdicts)


def paragraphs(*words: str) -> Part:
    """Words that depend on the computation."""
    return Part("words", words)


def checked(claim: str, holds: object, expected: bool = True) -> Part:
    """A statement that depends on the computation, see `Check`."""
    return Part("checks", (Check(claim, bool(holds), expected),))


Function = Callable[[Setting], Parts]
#: By document and item.
FUNCTIONS: dict[tuple[str, str], Function] = {}


def items_of(paper: str) -> Callable[[str], Callable[[Function], Function]]:
    """The decorator by which a document's functions say which item they compute."""

    def item(name: str) -> Callable[[Function], Function]:
        def register(function: Function) -> Function:
            FUNCTIONS[paper, name] = function
            return function

        return register

    return item


@dataclass(frozen=True, eq=False)
class Item:
    """A table, numbered figure or algorithm.

    Attributes
    ----------
    name, title : str
        As the document calls it (``Table III``), and what it shows.
    status : Status
    how : str
        What is computed from what; the stand-in data; or why it cannot be.
    repeatable : bool
        Its full form takes seconds and gives the same numbers on every machine: a test compares its section of the
        page with a fresh run.
    words, claims : tuple of str
        Paragraphs and statements, with braces for numbers.
    function : callable or None
        Computes it; None where that is impossible.
    """

    name: str
    title: str
    status: Status
    how: str
    repeatable: bool = False
    words: tuple[str, ...] = ()
    claims: tuple[str, ...] = ()
    function: Function | None = None

    def run(self, setting: Setting) -> Outcome:
        """Compute it; words and statements are filled in."""
        assert self.function is not None, self.name
        found = Outcome.of(self.function(setting))
        texts = filled(self.claims, found.stated)
        checks = [
            Check(text.removeprefix("~ "), bool(holds), not text.startswith("~ "))
            for text, holds in zip(texts, found.holds, strict=True)
        ]
        words = (*filled(self.words, found.numbers), *found.words)
        return replace(found, words=words, checks=(*checks, *found.checks))


def filled(texts: Sequence[str], values: Sequence[object]) -> Iterator[str]:
    """Texts with the values, in order, in their braces; ValueError where there are too many or too few."""
    left = list(values)
    for text in texts:
        count = sum(name is not None for _, name, _, _ in string.Formatter().parse(text))
        if count > len(left):
            raise ValueError(f"too few numbers for: {text}")
        yield text.format(*left[:count])
        del left[:count]
    if left:
        raise ValueError(f"{len(left)} numbers too many behind: {texts[-1:]}")


def below(value: float, tolerance: float) -> str:
    """A deviation, or ``below 1e-12`` where it is rounding: its digits are those of the machine."""
    return f"below {tolerance:.0e}" if value <= tolerance else f"{value:.1e}"


def cell(value: object) -> str:
    """As printed in a table."""
    if isinstance(value, float):
        return f"{value + 0.0:.4g}"
    return "" if value is None else str(value)
