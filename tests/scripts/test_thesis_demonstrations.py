"""Free fall of the WAM with published base parameters (Sousa 2014, Sec. 5.1.2)."""

from __future__ import annotations

import numpy as np
import pytest
from papers import wam_cases as thesis

from casid.simulation import SmoothCoulomb
from tests.scripts.needs import needs_data

needs_data()


def test_the_infeasible_set_is_stopped_before_it_diverges() -> None:
    done = thesis.free_fall("beta_WLS", 1.0, SmoothCoulomb(1e-3))
    assert done.end.reason.name == "INDEFINITE" and done.end.time < 0.1
    M = np.array(thesis.model().mass_matrix(np.zeros(7), thesis.parameters("beta_WLS")))
    assert np.linalg.eigvalsh(M)[0] < -1e-3  # by numpy, not by the simulation's own pivots


def test_left_to_the_integrator_it_diverges_as_in_the_thesis() -> None:
    done = thesis.divergence("beta_WLS")
    assert done.end.time == pytest.approx(0.041, abs=0.005)
    assert np.abs(done.q[-1]).max() > 5 * np.abs(done.q[len(done) // 2]).max()


def test_a_feasible_set_comes_to_rest_and_its_book_closes() -> None:
    done = thesis.free_fall("beta*e", 7.0)
    assert not np.abs(done.dq[-1]).any()
    assert done.energy.relative_imbalance < 1e-8
    assert done.energy.total[-1] == pytest.approx(done.energy.total.min(), abs=0.5)  # the minimum of energy
