"""The identified robot moves: engines, free fall, control, speed."""

from __future__ import annotations

from measures.motion_engines import ROWS as ENGINES
from measures.motion_thesis import ROWS as THESIS

MEASURES = [*ENGINES, *THESIS]
