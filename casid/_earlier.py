"""Names and keywords of earlier versions: each still works, with a deprecation that names the new one."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from functools import cache, wraps
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")


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
        advice = f"use {place}" if public else f"it is not public any more; it is in {module}"
        warnings.warn(f"{front}.{name} has moved: {advice}", DeprecationWarning, stacklevel=2)
        return getattr(import_module(module), attribute)

    return find


def earlier_modules(front: str, *names: str) -> None:
    """Modules that a front had in an earlier version: they can be imported still, and point to where each name is."""
    for name in names:
        module = ModuleType(f"{front}.{name}", f"Names of earlier versions of casid: see `{front}`.")
        setattr(module, "__getattr__", earlier_names(module.__name__))  # noqa: B010
        sys.modules[module.__name__] = module
        setattr(sys.modules[front], name, module)


def earlier_keywords(**names: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Decorator of a function that still takes keywords of an earlier version: old name -> the parameter it is now.

    A keyword of the value None, where that was its default, is as if it were not given.
    """

    def decorated(function: Callable[P, R]) -> Callable[P, R]:
        @wraps(function)
        def called(*args: Any, **keywords: Any) -> R:
            for old, new in names.items():
                if old in keywords:
                    warnings.warn(f"{function.__name__}: '{old}' is '{new}' now", DeprecationWarning, stacklevel=2)
                    value = keywords.pop(old)
                    if value is not None:
                        keywords[new] = value
            return function(*args, **keywords)

        return called

    return decorated
