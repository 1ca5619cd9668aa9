"""Items of the article; the topic ``learning`` of the acceptance tables measures more."""

from __future__ import annotations

from papers.item import Item, Status
from papers.sutanto2020 import fig_1, table_1

ITEMS = (
    table_1.ITEM,
    fig_1.ITEM,
    Item(
        "Table 2",
        "the same on a real iiwa",
        Status.IMPOSSIBLE,
        "the recordings of the real iiwa are not public",
    ),
)
