"""Words for messages: near names, lists, values and reasons, cut to a length that a person reads."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

#: Longest value that a message repeats, and most names that it lists.
_SHOWN, _LISTED = 60, 60


def near(name: str, known: Iterable[str]) -> str:
    """``"; did you mean 'x'?"`` for the known name nearest to ``name``, empty where none is near."""
    folded = {k.casefold(): k for k in known if len(k) <= _SHOWN}
    match = get_close_matches(name.casefold(), folded, n=1, cutoff=0.6) if len(name) <= _SHOWN else []
    return f"; did you mean '{folded[match[0]]}'?" if match else ""


def listed(names: Iterable[str]) -> str:
    """``a, b, c`` or, where there is nothing to list, ``none``."""
    words = [name if len(name) <= _SHOWN else f"{name[: _SHOWN - 3]}..." for name in names]
    more = f", and {len(words) - _LISTED} more" if len(words) > _LISTED else ""
    return (", ".join(words[:_LISTED]) or "none") + more


def shown(value: object) -> str:
    """``repr`` of a value, cut."""
    if isinstance(value, int) and abs(value) > 10**_SHOWN:
        return "an integer of more than 60 digits"
    text = repr(value[:_SHOWN] if isinstance(value, (str, list, tuple)) else value)
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 3]}..."


def reason(error: BaseException) -> str:
    """What an exception says, in one short line: the system's words for an `OSError`, never a traceback."""
    if isinstance(error, MemoryError):
        return "it needs more memory than there is"
    if isinstance(error, RecursionError):
        return "it is nested too deeply"
    words = (getattr(error, "strerror", None) if isinstance(error, OSError) else None) or str(error)
    words = " ".join(str(words).split())
    return (words if len(words) <= 200 else f"{words[:197]}...") or type(error).__name__
