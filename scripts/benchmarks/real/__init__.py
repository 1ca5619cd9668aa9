"""Right on real robots: believable links, friction, verdicts, payloads, measured on recordings and simulations."""

from __future__ import annotations

from benchmarks.real.bodies import BODY_ROWS
from benchmarks.real.closed_loop import CLOSED_LOOP_ROWS
from benchmarks.real.defects import DEFECT_ROWS
from benchmarks.real.faults import FAULT_ROWS
from benchmarks.real.gravity import GRAVITY_ROWS
from benchmarks.real.identification import IDENTIFICATION_ROWS
from benchmarks.real.loads import LOAD_ROWS
from benchmarks.real.online_loads import ONLINE_LOAD_ROWS
from benchmarks.real.options import OPTION_ROWS
from benchmarks.real.regression import ROWS
from benchmarks.real.simulated_robots import SIMULATED_ROWS
from benchmarks.real.truth import TRUTH_ROWS

MEASURES = (
    *BODY_ROWS, *SIMULATED_ROWS, *IDENTIFICATION_ROWS, *TRUTH_ROWS, *FAULT_ROWS, *GRAVITY_ROWS, *DEFECT_ROWS,
    *OPTION_ROWS, *ROWS, *LOAD_ROWS, *ONLINE_LOAD_ROWS, *CLOSED_LOOP_ROWS,
)  # fmt: skip
