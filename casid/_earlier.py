"""Names of earlier versions: each still resolves, with a deprecation that names the new place."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import cache
from importlib import import_module
from pathlib import Path


@cache
def _places() -> dict[str, str]:
    """Old dotted name -> new dotted name, or a sentence where nothing took its place."""
    lines = Path(__file__).with_name("earlier_names.txt").read_text(encoding="utf-8").splitlines()
    pairs = (line.partition(" ") for line in lines if line and not line.startswith("#"))
    return {old: new.strip() for old, _, new in pairs}


def earlier_names(front: str) -> Callable[[str], object]:
    """``__getattr__`` of a front (PEP 562): names that it had in an earlier version.

    Raises
    ------
    AttributeError
        For a name that no version had, or that is gone; the message names what to use.
    """

    def find(name: str) -> object:
        place = _places().get(f"{front}.{name}")
        if place is None:
            raise AttributeError(f"module '{front}' has no attribute '{name}'")
        if " " in place:
            raise AttributeError(f"module '{front}' has no attribute '{name}' any more: {place}")
        module, _, attribute = place.rpartition(".")
        public = not any(part.startswith("_") for part in place.split("."))
        advice = f"use {place}" if public else f"it is not promised any more and lives in {module}"
        warnings.warn(f"{front}.{name} has moved: {advice}", DeprecationWarning, stacklevel=2)
        return getattr(import_module(module), attribute)

    return find
