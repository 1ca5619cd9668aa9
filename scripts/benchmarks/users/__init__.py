"""Where users work: the first hour, pages, controllers, installation."""

from benchmarks.measure import rows_of
from benchmarks.users import (
    controllers,
    first_hour,
    first_problems,
    first_shapes,
    first_written_robots,
    pages,
    side_by_side,
)

MEASURES = rows_of(first_hour, first_problems, first_shapes, first_written_robots, controllers, pages, side_by_side)
