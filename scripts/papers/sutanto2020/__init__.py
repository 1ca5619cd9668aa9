"""Items of the article; the topic ``learning`` of the acceptance tables measures more."""

from __future__ import annotations

from papers.sutanto2020 import fig_1, table_1, table_2, tracking

ITEMS = (table_1.ITEM, tracking.ITEM, fig_1.ITEM, table_2.ITEM)
