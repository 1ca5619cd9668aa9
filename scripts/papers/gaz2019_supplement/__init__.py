"""Items of the supplementary material."""

from __future__ import annotations

from papers.gaz2019_supplement import (
    delta_anew,
    fig_9,
    fig_10,
    table_i,
    table_ii,
    table_iii,
    table_iv,
    table_v,
    table_vi,
    table_vii,
    table_viii,
    volumes,
)
from papers.item import drawing

ITEMS = (
    table_i.ITEM,
    table_ii.ITEM,
    table_iii.ITEM,
    delta_anew.ITEM,
    *table_iv.ITEMS,
    *table_v.ITEMS,
    volumes.ITEM,
    drawing("Fig. 8", "a spatial 2R robot with joints along the axes z_0 and z_1"),
    table_vi.ITEM,
    table_vii.ITEM,
    fig_9.ITEM,
    fig_10.ITEM,
    *table_viii.ITEMS,
)
