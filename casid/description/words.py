"""Words for messages: near names, lists, counted nouns."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


def near(name: str, known: Iterable[str]) -> str:
    """``"; did you mean 'x'?"`` for the known name nearest to ``name``, empty where none is near."""
    folded = {k.casefold(): k for k in known}
    match = get_close_matches(name.casefold(), folded, n=1, cutoff=0.6)
    return f"; did you mean '{folded[match[0]]}'?" if match else ""


def listed(names: Iterable[str]) -> str:
    """``a, b, c`` or, where there is nothing to list, ``none``."""
    return ", ".join(names) or "none"
