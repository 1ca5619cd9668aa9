"""The identified robot moves: engines, free fall, control, speed."""

from __future__ import annotations

from measures.motion_thesis import ROWS as THESIS

MEASURES = [*THESIS]
