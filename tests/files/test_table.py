"""Typed access to tables: wrong values are named with file, table and key."""

import numpy as np
import pytest

from casid.errors import DatasetError
from casid.files import Table

DATA = {"rate": 100.0, "name": "x", "on": True, "box": [[0, 1], [2, 3]], "count": 3, "inner": {"a": 1}}


def test_values_are_read_by_type():
    table = Table(DATA, "r.toml", DATA)
    assert (table.number("rate"), table.text("name"), table.flag("on"), table.integer("count")) == (100.0, "x", True, 3)
    np.testing.assert_array_equal(table.array("box", (2, 2)), [[0, 1], [2, 3]])
    inner = table.table("inner", ("a",))
    assert inner is not None and inner.number("a") == 1.0 and "b" not in inner


@pytest.mark.parametrize(
    "read",
    [
        lambda t: t.number("name"), lambda t: t.text("rate"), lambda t: t.flag("count"), lambda t: t.integer("rate"),
        lambda t: t.array("box", (3,)), lambda t: t.require("missing"), lambda t: t.choice("name", ("a", "b")),
    ],
)  # fmt: skip
def test_other_values_are_refused_with_the_place(read):
    with pytest.raises(DatasetError, match=r"r\.toml"):
        read(Table(DATA, "r.toml", DATA))


def test_unknown_keys_name_the_nearest():
    with pytest.raises(DatasetError, match="unknown key 'rates'; did you mean 'rate'"):
        Table({"rates": 1}, "r.toml", ("rate",))
