"""The identified robot moves: files, engines, free fall, control, speed; the rows of every ``motion_*.py``."""

from __future__ import annotations

import importlib
from pathlib import Path

_PARTS = sorted(path.stem for path in Path(__file__).parent.glob("motion_*.py"))

MEASURES = [row for part in _PARTS for row in importlib.import_module(f"measures.{part}").ROWS]
