"""Where users work: site, pages, packages, controllers, installation; the rows of every ``users_*.py``."""

from __future__ import annotations

import importlib
from pathlib import Path

_PARTS = sorted(path.stem for path in Path(__file__).parent.glob("users_*.py"))

MEASURES = [row for part in _PARTS for row in importlib.import_module(f"measures.{part}").ROWS]
