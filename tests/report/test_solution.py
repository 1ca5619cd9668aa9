"""Reports of solutions and starts."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from casid.report._solution import starts_figure
from tests.report.helpers import read_png


@pytest.mark.parametrize("count", [2, 30])
def test_starts_picture_counts_the_certified(count: int, tmp_path: Path) -> None:
    gaps = np.geomspace(1e-14, 1e-3, count)
    gaps[count // 7] = np.nan
    certified = gaps < 1e-6
    figure = starts_figure(gaps, np.arange(count) + 20, certified, 1e-6)
    assert figure.axes[0].get_title(loc="left") == f"{certified.sum()} of {count} certified"
    assert read_png(figure, tmp_path / "starts.png").shape[1] >= 1000
