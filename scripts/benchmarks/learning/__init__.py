"""The learning ladder against the certified optimum, and identification on line."""

from benchmarks.learning import epochs, models, online
from benchmarks.measure import rows_of

MEASURES = rows_of(epochs, models, online)
