"""The identified robot moves: files, engines, free fall, control, speed."""

from benchmarks.measure import rows_of
from benchmarks.motion import engines, formats, thesis

MEASURES = rows_of(engines, formats, thesis)
