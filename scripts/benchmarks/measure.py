"""One row of an acceptance table."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from casid.testing._optional import NotMeasured as NotMeasured
from casid.testing._optional import need as need


@dataclass(frozen=True)
class Measure:
    """A quantity, the bar it must meet, and how to measure it.

    Attributes
    ----------
    name, bar, reference : str
        As printed.
    run : callable
        Measures anew; returns the value as text and whether the bar is met; raises `NotMeasured` where it cannot.
    quick : callable, optional
        The same with less of something, for ``--quick``; default: the whole.
    left_out : str
        What the quick form leaves out, in a few words.
    """

    name: str
    bar: str
    reference: str
    run: Callable[[], tuple[str, bool]]
    quick: Callable[[], tuple[str, bool]] | None = None
    left_out: str = ""

    def measure(self, quick: bool = False) -> tuple[str, bool]:
        """Value and verdict; the quick form says what it leaves out."""
        if not quick or self.quick is None:
            return self.run()
        value, met = self.quick()
        return f"{value} (quick: without {self.left_out})", met


def skipped() -> tuple[str, bool]:
    """Quick form of a row that takes minutes and has no small one."""
    raise NotMeasured("left out by --quick")


def data_folder() -> Path:
    """Folder of real recordings and published tables: ``CASID_DATA``, default ``../shared/data`` of the checkout."""
    default = Path(__file__).resolve().parents[2].parent / "shared" / "data"
    folder = Path(os.environ.get("CASID_DATA", default))
    if not (folder / "README.md").is_file():
        raise NotMeasured("needs the data folder: set CASID_DATA to it")
    return folder
