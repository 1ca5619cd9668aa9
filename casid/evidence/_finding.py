"""What is wrong with data or a result, or should be checked, with the remedy: the one type of every verdict."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Finding:
    """Something that is wrong, or should be checked.

    Attributes
    ----------
    kind : str
        Of the cause, one word or two: ``gravity``, ``sign``, ``delay``, ...
    joint : str
        Joint or joints; empty: all.
    text : str
        What was found, with the evidence.
    remedy : str
        What corrects it; empty: nothing is known to.
    wrong : bool
        Whether the result is wrong because of it; otherwise it should be checked.
    """

    kind: str
    joint: str = ""
    text: str = ""
    remedy: str = ""
    wrong: bool = True

    def record(self) -> dict[str, object]:
        """Plain values."""
        return {name: getattr(self, name) for name in ("kind", "joint", "text", "remedy", "wrong")}
