"""Rows of the acceptance table on real recordings; skipped without the data folder."""

import pytest
from benchmarks import measured as measured
from benchmarks.measure import NotMeasured

QUICK = (
    "Panda, WLS, reference protocol",
    "Panda, one-step feasible, Table VIII",
    "UR10e, reference fit (OLS)",
    "TX40, reference fit",
    "Rokae, reference fit",
    "Kinova, three recordings jointly",
    "WAM two-joint, reference fit",
    "TX40, feasible",
    "thesis Table 6.1, triangle inequality",
)


@pytest.mark.parametrize("name", QUICK)
def test_row_meets_its_bar(name):
    (row,) = (m for m in measured.MEASURES if m.name == name)
    try:
        value, met = row.run()
    except NotMeasured as reason:
        pytest.skip(str(reason))
    assert met, f"{name}: {value}, bar {row.bar}"
