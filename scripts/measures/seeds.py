"""Tables and figures of the four documents computed anew: `python scripts/reproduce.py` shows them one by one."""

from __future__ import annotations

from measures.seeds_panda import PANDA_ROWS
from measures.seeds_wam import WAM_ROWS

MEASURES = (*PANDA_ROWS, *WAM_ROWS)
