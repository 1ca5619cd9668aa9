"""Fit of each coefficient."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from casid.report._fit import fit_figure
from tests.report.helpers import read_png


def test_fit_picture_has_a_row_and_a_difference_for_each_coefficient(tmp_path: Path) -> None:
    names = [f"Lxx{k + 1} + 0.25*(m{k + 2} + m{k + 3})" for k in range(12)]
    given = np.linspace(-1.0, 1.0, 12)
    used = np.arange(12) != 5
    figure = fit_figure(names, given + 1e-3, given, 0.01 * np.ones(12), used)
    left, right = figure.axes
    assert [tick.get_text() for tick in left.get_yticklabels()] == names
    assert np.allclose([bar.get_width() for bar in right.containers[0]], 0.1)
    assert "given, not used in the fit" in [text.get_text() for text in left.get_legend().get_texts()]
    assert read_png(figure, tmp_path / "fit.png").shape[1] >= 1000


def test_fit_picture_without_deviations_shows_plain_differences() -> None:
    figure = fit_figure(["m1", "m2"], [1.0, 2.0], [1.5, 2.25])
    assert [patch.get_width() for patch in figure.axes[1].containers[0]] == [-0.5, -0.25]
