"""Where users work: site, pages, packages, controllers, installation; the rows of this folder."""

from __future__ import annotations

import importlib

_PARTS = ("conda", "front", "interrupts", "logs", "observer", "packages", "pages", "side_by_side", "site")

MEASURES = [row for part in _PARTS for row in importlib.import_module(f"benchmarks.users.{part}").ROWS]
