"""Where users work: the first hour, pages, controllers, installation."""

import importlib

from benchmarks.measure import rows_of

_FIRST = (
    "first_hour",
    "first_mistakes",
    "first_problems",
    "first_shapes",
    "first_waiting",
    "first_written_robots",
    "logs",
)
_PARTS = (*_FIRST, "controllers", "pages", "pages_read", "side_by_side")

MEASURES = rows_of(*(importlib.import_module(f"benchmarks.users.{part}") for part in _PARTS))
