"""Robots with encoders and position commands, and no torque sensor: identification by simulation."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from benchmarks.encoders import measured, simulated
from benchmarks.measure import Measure

#: Why no row compares the backlash of the SO-101.
_STATIC = (
    "the recording has commands and encoders at the output, where the servo closes its loop: at rest it shows dry "
    "friction over gain, not play, and no other measurement of the play is in it"
)


def _open(reason: str) -> Callable[[], tuple[str, bool]]:
    """A row that nothing measures yet: missed."""
    return lambda: (f"not built: {reason}", False)


MEASURES = (
    *(Measure(f"free runs held out, against CMA-ES with the same parameters: {name}",
              "<= 0.9 x the best of three seeds", f"issue: {stated}",
              partial(measured.against_cma, make, range(3)), partial(measured.against_cma, make, range(1), 0.1),
              "two seeds, nine tenths of the runs")
      for name, stated, make in (("SO-101", "14.3 mrad", measured.so101), ("Go2", "9.0 mrad", measured.go2),
                               ("XL330", "-", measured.xl330))),
    *(Measure(f"free runs held out, against CMA-ES with the terms of the default: {name}",
              "<= 0.9 x the best of three seeds", "-", partial(measured.against_cma_with_terms, make, range(3)),
              partial(measured.against_cma_with_terms, make, range(1), 0.1), "two seeds, nine tenths of the runs")
      for name, make in (("Go2", measured.go2), ("XL330", measured.xl330))),
    Measure("friction with load and speed, free runs held out", "no worse than the plain law on each",
            "issue: XL330 at another gain 127 mrad", measured.richer_friction),
    Measure("rollouts and time", "<= 100, <= 20 s each", "issue: 22-71, 1-13 s", measured.effort),
    Measure("20 random starts, and none", "within 3 % of the best, 20 of 20 each", "random starts fail",
            partial(measured.random_starts, 20), partial(measured.random_starts, 2), "18 starts"),
    Measure("repeatability: halves, two gain settings", "inside the intervals in >= 90 % of parameters each",
            "none gives one", measured.repeatability),
    Measure("simulated: intervals hold the truth, open ones named", "95 % +- 3; all named", "-",
            partial(simulated.coverage, 10), partial(simulated.coverage, 2), "8 of 10 draws a robot"),
    Measure("simulated: two gain settings, unknown scale", "agree; refused in words, ratios given", "pace#13, #17",
            simulated.gains),
    Measure("underdamped joint, backlash, stiffness, LuGre, warm-up injected", "found within 10 % (5 %), no alias", "-",
            simulated.injected, partial(simulated.injected, simulated.SEEDS[:1]), "three of four seeds"),
    Measure("simulated: intervals hold the truth with backlash of 1 and 3 deg", "95 % +- 3", "-",
            partial(simulated.played_intervals, 8), partial(simulated.played_intervals, 1), "seven of eight seeds"),
    Measure("backlash of SO-101 against its static recording", "within 20 %", "-", _open(_STATIC)),
    Measure("EMPS: free run after the first 18,000 samples", "< 0.5 x IDIM-LS on the same samples",
            "official test: pNARX 5.17, linear 5.53, output error 6.06, IDIM-LS 8.87 mm", measured.emps_free_run),
    Measure("written MJCF replayed in MuJoCo", "<= 0.2 mrad smooth, <= 1 mrad with friction", "-", measured.replay),
    Measure("Go2: total mass, bodies scaled", "within 25 % of nominal, not at a bound", "33.7 kg by plain identify",
            measured.go2_mass),
    Measure("designed position commands, worst interval", "<= 0.5 x at equal length", "-",
            partial(simulated.designed, 800), partial(simulated.designed, 60), "740 of 800 motions"),
    Measure("faults injected, 12 kinds x 3 robots; clean pieces", "headline names >= 90 %; 0 of 30 false", "-",
            partial(simulated.faults, 3, 10), partial(simulated.faults, 1, 2), "2 of 3 robots, 28 of 30 clean pieces"),
)  # fmt: skip
