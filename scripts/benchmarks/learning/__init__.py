"""The learning ladder against the certified optimum, and identification on line."""

from __future__ import annotations

from benchmarks.learning.c import ROWS as EXPORTED
from benchmarks.learning.direct import ROWS as DIRECT
from benchmarks.learning.ladder import ROWS as LADDER
from benchmarks.learning.load import ROWS as LOADS
from benchmarks.learning.models import ROWS as MODELS
from benchmarks.learning.online import ROWS as ONLINE
from benchmarks.learning.order import ROWS as ORDER
from benchmarks.learning.sequential import ROWS as SEQUENTIAL
from benchmarks.learning.tracking import ROWS as TRACKING

MEASURES = [*LADDER, *ORDER, *DIRECT, *TRACKING, *MODELS, *SEQUENTIAL, *ONLINE, *LOADS, *EXPORTED]
