"""The choice of plausible parameters: what its proof makes of bounds of further unknowns, what is left as it is."""

from __future__ import annotations

import numpy as np
import pytest

from casid.inertia import to_standard
from casid.retrieval import Problem, least_squares, link_variables
from casid.retrieval._solution import assess
from casid.retrieval.plausible import DivergenceProgram, PlausibleBodies, polished
from casid.testing._synthetic import BODY, arm, nearest

BODIES = to_standard(2.0, [0.0, 0.0, 0.1], 0.02 * np.eye(3))


def test_a_failed_solution_is_not_polished() -> None:
    failed = assess(nearest(BODY), -BODY, converged=False)
    assert not failed.usable
    assert polished(failed, PlausibleBodies(BODIES, ("description",))) is failed


@pytest.mark.parametrize("pull", [40.0, -40.0])
def test_the_proof_counts_a_pulled_unknown_at_its_bound(pull: float) -> None:
    """Its bound lies far within what the divergence allows: a wider one lowers the proof by the slope."""
    rng = np.random.default_rng(0)
    matrix = np.column_stack([rng.normal(size=(30, 10)), np.full(30, 3.0)])
    x, price, bounds = np.append(to_standard(20.0, [0.0, 0.0, 0.1], 0.002 * np.eye(3)), 0.5), 1e-3, []
    for low, high in ((-1.0, 5.0), (-2.0, 6.0)):
        v = link_variables(arm(), {"fv1": (low, high)})
        problem = Problem("pulled", v, least_squares(v, matrix, matrix @ x + pull))
        made = DivergenceProgram(problem, BODIES, np.zeros(1, dtype=bool), 1.0)
        bounds.append(made.lower_bound(x, 1.0, price, np.zeros(len(made.linear.rows))))
    unit = made._basis[10, 10]
    y = np.linalg.solve(made._basis, x - made._origin)
    slope = price * problem.objective.gradient(x)[10] + made.measure.gradient(y, 0.0)[0][10] / unit
    assert np.sign(slope) == -np.sign(pull) and abs(slope) > 1.0
    assert bounds[0] - bounds[1] == pytest.approx(abs(slope), rel=1e-6)
