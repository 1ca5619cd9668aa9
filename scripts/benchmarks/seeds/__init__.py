"""Tables and figures of the four documents computed anew: `python scripts/reproduce.py` shows them one by one."""

from __future__ import annotations

from benchmarks.seeds.pages import PAGE_ROWS
from benchmarks.seeds.panda import PANDA_ROWS
from benchmarks.seeds.statements import STATEMENT_ROWS
from benchmarks.seeds.wam import WAM_ROWS

MEASURES = (*PAGE_ROWS, *PANDA_ROWS, *WAM_ROWS, *STATEMENT_ROWS)
