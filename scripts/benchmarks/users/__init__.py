"""Where users work: the first hour, pages, controllers, installation."""

from benchmarks.measure import rows_of

_FIRST = ("hour", "mistakes", "problems", "shapes", "waiting", "written_robots")
_OTHERS = ("logs", "controllers", "pages", "pages_read", "side_by_side", "three_robots")

MEASURES = rows_of("users", *(f"first_{name}" for name in _FIRST), *_OTHERS)
