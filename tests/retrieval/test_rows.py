"""Solver rows of a problem."""

from __future__ import annotations

import numpy as np
import pytest

from casid.retrieval import (
    Constraint,
    com_box,
    total_mass,
)
from casid.retrieval._rows import split_rows
from casid.testing import BODY, nearest


@pytest.mark.claim("solver rows hold the label and the quantity that they bound")
def test_rows_know_what_they_bound() -> None:
    problem = nearest(
        np.append(np.tile(BODY, 2), 0.3),
        lambda v: (total_mass(v, 1.0, 9.0), com_box(v[0], -0.3, 0.3), Constraint("mine", v[1].mass, upper=7.0)),
        extras={"fv1": (0.0, 1.0)},
        bounded=False,
    )
    rows = split_rows(problem)[0].rows
    assert [(row.label, row.quantity) for row in rows if row.label != "link1 com"] == [
        ("total mass", "total mass"), ("mine", ""), ("fv1", ""),
    ]  # fmt: skip
    assert {row.quantity for row in rows if row.label == "link1 com"} == {"centre of mass"}
