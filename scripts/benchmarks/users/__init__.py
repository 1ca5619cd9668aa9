"""Where users work: site, pages, packages, controllers, installation; the rows of this folder."""

from __future__ import annotations

import importlib
from pathlib import Path

_PARTS = ("conda", "front", "interrupts", "logs", "observer", "packages", "pages", "side_by_side", "site")
_FIRST = sorted(path.stem for path in Path(__file__).parent.glob("first_*.py"))  # what a user meets in the first hour

MEASURES = [row for part in (*_FIRST, *_PARTS) for row in importlib.import_module(f"benchmarks.users.{part}").ROWS]
