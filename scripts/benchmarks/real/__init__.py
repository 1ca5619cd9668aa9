"""Right on real robots: believable links, friction, verdicts, payloads, measured on recordings and simulations."""

from benchmarks.measure import rows_of
from benchmarks.real import (
    decided,
    faults,
    identification,
    intervals,
    loads,
    other_motions,
    rest,
    robots,
    simulated_robots,
)

MEASURES = rows_of(
    robots, simulated_robots, identification, faults, loads, intervals, rest, other_motions, decided
)  # fmt: skip
