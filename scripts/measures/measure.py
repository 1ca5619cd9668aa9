"""One row of an acceptance table."""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType


class NotMeasured(Exception):
    """A row that cannot be measured on this machine; the text says why."""


@dataclass(frozen=True)
class Measure:
    """A quantity, the bar it must meet, and how to measure it.

    Attributes
    ----------
    name, bar, reference : str
        As printed.
    run : callable
        Measures anew; returns the value as text and whether the bar is met; raises `NotMeasured` where it cannot.
    """

    name: str
    bar: str
    reference: str
    run: Callable[[], tuple[str, bool]]


def need(module: str, extra: str = "peers") -> ModuleType:
    """Import an optional module, or say that this row needs it."""
    try:
        return importlib.import_module(module)
    except ImportError:
        how = f"casid[{extra}]" if extra else f"{module}, in an environment of its own"
        raise NotMeasured(f"needs the package '{module}' (pip install {how})") from None


def data_folder() -> Path:
    """Folder of real recordings and published tables: ``CASID_DATA``, default ``../shared/data`` of the checkout."""
    default = Path(__file__).resolve().parents[2].parent / "shared" / "data"
    folder = Path(os.environ.get("CASID_DATA", default))
    if not (folder / "README.md").is_file():
        raise NotMeasured("needs the data folder: set CASID_DATA to it")
    return folder
