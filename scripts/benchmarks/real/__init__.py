"""Right on real robots: believable links, friction, verdicts, payloads, measured on recordings and simulations."""

from benchmarks.measure import rows_of

_RECORDED = ("robots", "simulated_robots", "identification", "faults", "loads", "intervals")

MEASURES = rows_of("real", *_RECORDED, "rest", "other_motions", "decided")
