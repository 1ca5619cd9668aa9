"""The identified robot moves: files, engines, free fall, control, speed; the rows of this folder."""

from __future__ import annotations

import importlib

_PARTS = ("engines", "formats", "thesis")

MEASURES = [row for part in _PARTS for row in importlib.import_module(f"benchmarks.motion.{part}").ROWS]
