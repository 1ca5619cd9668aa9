"""The identified robot moves: files, engines, free fall, control, speed."""

from benchmarks.measure import rows_of

MEASURES = rows_of("motion", "engines", "formats", "thesis")
