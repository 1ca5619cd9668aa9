"""The learning ladder against the certified optimum, and identification on line."""

from benchmarks.measure import rows_of

MEASURES = rows_of("learning", "epochs", "models", "online")
