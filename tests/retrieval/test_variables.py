"""Link quantities as expressions of the unknowns."""

from __future__ import annotations

import numpy as np
import pytest

from casid.errors import ProblemError
from casid.expressions import evaluate
from casid.inertia import from_standard, pseudo_inertia
from casid.retrieval import link_variables
from casid.testing import BODY, arm


def test_quantities_of_a_link_are_those_of_its_body() -> None:
    variables = link_variables(arm(), {"fv1": (0.0, np.inf)})
    x = np.append(BODY, 0.3)
    mass, com, inertia = from_standard(BODY)
    link = variables["link1"]
    for expression, value in (
        (link.mass, [mass]), (link.com, com), (link.inertia_com, inertia), (link.pseudo_inertia, pseudo_inertia(BODY)),
        (variables.extra("fv1"), [0.3]),
    ):  # fmt: skip
        np.testing.assert_allclose(evaluate(expression, variables.x, x), np.ravel(value, order="F"), atol=1e-15)
    assert variables.names[-1] == "fv1" and variables.size == 11 and variables.standard_size == 10


def test_extras_with_crossing_bounds_or_taken_names_are_refused() -> None:
    for extras in ({"m1": (0.0, 1.0)}, {"fv1": (1.0, 0.0)}, {"fv1": (np.nan, 1.0)}):
        with pytest.raises(ProblemError):
            link_variables(arm(), extras)
