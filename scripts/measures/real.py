"""Right on real robots: believable links, friction, verdicts, payloads, measured on recordings and simulations."""

from __future__ import annotations

from measures.real_closed_loop import CLOSED_LOOP_ROWS
from measures.real_faults import FAULT_ROWS
from measures.real_identification import IDENTIFICATION_ROWS
from measures.real_regression import ROWS
from measures.real_truth import TRUTH_ROWS

MEASURES = (*IDENTIFICATION_ROWS, *TRUTH_ROWS, *FAULT_ROWS, *ROWS, *CLOSED_LOOP_ROWS)
