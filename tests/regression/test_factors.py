"""R factors of rows that arrive in blocks."""

import numpy as np

from casid.regression._factors import SegmentedFactors, counted, joined


def test_blocks_of_any_size_give_the_factor_of_all_rows():
    rng = np.random.default_rng(1)
    rows, tau = rng.normal(size=(500, 3)), rng.normal(size=500)
    factors = SegmentedFactors([np.arange(5)], 5)
    factors.begin(500, 4)
    for first in range(0, 500, 70):
        block = rows[first : first + 70]
        for where, inside in factors.segments_of(first, len(block)):
            factors.add(0, block[inside], np.arange(3), tau[where], tau[where], None)
    segments = factors.finish()
    R = joined([segment.factors[0] for segment in segments])
    whole = np.column_stack([rows, tau, tau])
    np.testing.assert_allclose(R.T @ R, whole.T @ whole, atol=1e-10)
    assert counted([segment.counts for segment in segments], 1).tolist() == [500]
    assert [segment.spans for segment in segments] == [((0, a, a + 125),) for a in range(0, 500, 125)]
