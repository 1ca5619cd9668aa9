"""Where users work: the first hour, pages, controllers, installation."""

import importlib

from benchmarks.measure import rows_of

_FIRST = ("hour", "mistakes", "problems", "shapes", "waiting", "written_robots")
_PARTS = (
    *(f"first_{name}" for name in _FIRST),
    "logs",
    "controllers",
    "pages",
    "pages_read",
    "side_by_side",
    "three_robots",
)

MEASURES = rows_of(*(importlib.import_module(f"benchmarks.users.{part}") for part in _PARTS))
