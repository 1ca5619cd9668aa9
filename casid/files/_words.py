"""Words of messages, cut to a length that a person reads; lists of names and numbers as users type them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
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
    """The message of an exception in one short line: the system's own for an `OSError`, never a traceback."""
    if isinstance(error, MemoryError):
        return "it needs more memory than there is"
    if isinstance(error, RecursionError):
        return "it is nested too deeply"
    words = (getattr(error, "strerror", None) if isinstance(error, OSError) else None) or str(error)
    words = " ".join(str(words).split())
    return (words if len(words) <= 200 else f"{words[:197]}...") or type(error).__name__


def comma_list(text: str) -> list[str]:
    """Words of a list separated by commas, e.g. ``viscous, coulomb``."""
    return [word.strip() for word in text.split(",") if word.strip()]


def number_list(words: Iterable[str]) -> list[float] | None:
    """Each word as a number; ``None`` where one of them is not a number (``1_000`` is none)."""
    given = list(words)
    try:
        return None if any("_" in word for word in given) else [float(word) for word in given]
    except ValueError:
        return None


def comma_numbers(text: str, what: str, error: Callable[[str], Exception], count: int | None = None) -> list[float]:
    """Numbers separated by commas, e.g. ``0.1,2,3e-4``; ``count`` of them, or any number of them.

    Raises
    ------
    Exception
        As ``error`` makes it, beginning with ``what``.
    """
    found = number_list(text.split(","))
    if not found or len(found) != (count or len(found)):
        expected = {None: "numbers", 3: "three numbers"}.get(count, f"{count} numbers")
        raise error(f"{what}: expected {expected} separated by commas, got '{text}'")
    return found


def assignments(
    text: str, what: str, error: Callable[[str], Exception], default: float | None = None
) -> dict[str, float]:
    """Names and numbers, e.g. ``viscous=0.5,coulomb=0.3``; a name alone has the ``default``, if there is one.

    Raises
    ------
    Exception
        As ``error`` makes it, beginning with ``what``.
    """
    found: dict[str, float] = {}
    for item in comma_list(text):
        name, _, value = item.partition("=")
        try:
            found[name.strip()] = default if default is not None and not value.strip() else float(value)
        except ValueError:
            raise error(f"{what}: expected NAME=NUMBER, got '{item}'") from None
    return found


def filled(text: str, slots: Mapping[str, str]) -> str:
    """A text with values in the place of every ``@name@``; KeyError for a name without a value."""
    return re.sub("@([a-z_]+)@", lambda found: slots[found[1]], text)


def template(package: str, name: str, slots: Mapping[str, str]) -> str:
    """A file of the folder ``templates`` of a package, filled."""
    from importlib.resources import files  # slow to import

    return filled((files(package) / "templates" / name).read_text(encoding="utf-8"), slots)
