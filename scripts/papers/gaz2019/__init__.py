"""Items of the paper."""

from __future__ import annotations

from papers.gaz2019 import algorithm_1, consistency, fig_1, fig_3, fig_4, fig_5, lagrangian, penalties, table_i
from papers.item import drawing

ITEMS = (
    fig_1.ITEM,
    drawing("Fig. 2", "signal flows from and to the controller"),
    consistency.ITEM,
    table_i.ITEM,
    fig_3.ITEM,
    fig_4.ITEM,
    algorithm_1.ITEM,
    penalties.ITEM,
    fig_5.ITEM,
    lagrangian.ITEM,
)
