"""The learning ladder against the certified optimum, and identification on line."""

from __future__ import annotations

from measures.learning_c import ROWS as EXPORTED
from measures.learning_direct import ROWS as DIRECT
from measures.learning_ladder import ROWS as LADDER
from measures.learning_load import ROWS as LOADS
from measures.learning_models import ROWS as MODELS
from measures.learning_online import ROWS as ONLINE
from measures.learning_order import ROWS as ORDER
from measures.learning_sequential import ROWS as SEQUENTIAL
from measures.learning_tracking import ROWS as TRACKING

MEASURES = [*LADDER, *ORDER, *DIRECT, *TRACKING, *MODELS, *SEQUENTIAL, *ONLINE, *LOADS, *EXPORTED]
