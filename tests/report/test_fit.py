"""Fit of each coefficient."""

from __future__ import annotations

import numpy as np

import casid


def test_the_picture_has_a_row_and_a_difference_for_each_coefficient() -> None:
    problem = casid.load_problem("panda_retrieval")
    solution, given = casid.solve(problem), problem.coefficients
    assert given is not None
    forms = np.pad(given.forms, ((0, 0), (0, problem.variables.size - given.forms.shape[1])))
    left, right = solution.plot_fit()
    shown = [bar.get_width() for bar in right.containers[0]]
    assert len(left.get_yticklabels()) == len(given.values) == len(shown)
    differences = forms @ solution.x - given.values
    expected = differences if given.sd is None else differences / given.sd
    np.testing.assert_allclose(shown, np.nan_to_num(expected), atol=1e-12)
