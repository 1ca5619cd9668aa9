"""Entropic estimates: certificates, starts near the boundary, and the bodies nearest to given ones."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import brentq

from casid.errors import DatasetError
from casid.inertia import PSEUDO_INERTIA_MAP, Divergence, InteriorPoint, pseudo_inertia, to_standard
from casid.inertia.entropic import Plausible, entropic_estimate, nearest_bodies, nearest_right_side

BODY = to_standard(1.0, [0, 0, 0.05], np.diag([3e-3] * 3))


ONE = Plausible(BODY[None], np.zeros(0), np.zeros(0))


def body_of(a: np.ndarray, multiplier: float) -> np.ndarray:
    """Parameters with ``J^-1 = J0^-1 + multiplier L(a)``, tr(L(a) J(p)) = a'p; NaN where that is no body."""
    maps = PSEUDO_INERTIA_MAP.reshape(4, 4, 10)
    flat = np.linalg.lstsq(PSEUDO_INERTIA_MAP.T, a, rcond=None)[0].reshape(4, 4)
    inverse = np.linalg.inv(pseudo_inertia(BODY)) + multiplier * (flat + flat.T) / 2
    if np.linalg.eigvalsh(inverse)[0] <= 0:
        return np.full(10, np.nan)
    return np.asarray(np.linalg.lstsq(maps.reshape(16, 10), np.linalg.inv(inverse).ravel(), rcond=None)[0])


@pytest.mark.claim("the certificate holds for one equation, however stiff, against the root of its dual")
@pytest.mark.parametrize("stiff", [1e-3, 1.0, 1e3, 1e6])
@pytest.mark.parametrize("ratio", [0.2, 0.9, 3.0, 40.0])
def test_the_certificate_against_the_dual_of_one_equation(stiff, ratio):
    """Stationary: ``J^-1 = J0^-1 + 2 (a'x - b) / mu L(a)``, one root."""
    rng = np.random.default_rng(3)
    a = stiff * np.abs(rng.normal(size=10)) * np.array([1, 0, 0, 1, 0, 1, 0, 0, 0, 1.0])
    mu, b = 0.01, ratio * float(a @ BODY)

    def miss(multiplier: float) -> float:
        p = body_of(a, multiplier)
        return np.inf if np.isnan(p).any() else mu * multiplier / 2 - float(a @ p) + b

    maps = np.linalg.lstsq(PSEUDO_INERTIA_MAP.T, a, rcond=None)[0].reshape(4, 4)
    L = np.linalg.cholesky(pseudo_inertia(BODY))
    edge = -1.0 / np.linalg.eigvalsh(L.T @ (maps + maps.T) / 2 @ L)[-1]
    low, high = (0.0, abs(edge)) if miss(0.0) < 0 else (edge * (1 - 1e-9), 0.0)
    while miss(high) < 0:
        high *= 4
    multiplier = brentq(miss, low, high, xtol=1e-300, rtol=1e-15, maxiter=1000)
    p, J0 = body_of(a, multiplier), pseudo_inertia(BODY)
    J = np.linalg.solve(J0, pseudo_inertia(p))
    best = (mu * multiplier / 2) ** 2 + mu * (np.trace(J) - np.linalg.slogdet(J)[1] - 4)
    found = entropic_estimate(a[None], np.array([b]), ONE, mu)
    assert found.objective - best <= found.suboptimality + 1e-9 * max(best, 1e-6)
    assert found.suboptimality <= 1e-6 * max(best, 1e-6)


def test_an_estimate_that_is_cut_short_is_a_body_within_its_bound():
    A = np.diag(np.arange(1.0, 11.0))
    near = entropic_estimate(A, A @ (2 * BODY), ONE, 1.0, iterations=30)
    for steps in range(near.iterations):
        found = entropic_estimate(A, A @ (2 * BODY), ONE, 1.0, iterations=steps)
        assert found.iterations <= steps and found.objective - near.objective <= found.suboptimality + 1e-12
        assert np.linalg.eigvalsh(pseudo_inertia(found.x))[0] > 0


@pytest.mark.claim("an estimate that is almost singular does not hold the next ones back")
def test_a_start_near_the_boundary_is_left_for_the_central_path():
    rng = np.random.default_rng(7)
    bodies = Plausible(to_standard(1.0, [0, 0, 0.05], np.diag([3e-3] * 3))[None], np.zeros(0), np.zeros(0))
    truth = to_standard(2.4, [0.1, -0.1, 0.1], np.diag([0.02, 0.02, 0.01]))
    singular = to_standard(2.0, [0.3, 0.0, 0.0], np.diag([1e-9, 1e-9, 2e-9]) + 1e-12 * np.eye(3))
    for scale in (1.0, 10.0, 100.0):
        A = scale * rng.normal(size=(10, 10)) * np.array([1, 1, 1, 1, 1, 1, 5, 5, 5, 20.0])
        found = entropic_estimate(A, A @ truth, bodies, 1.0, singular)
        assert found.suboptimality <= 1e-9 * max(found.objective, 1.0)


@pytest.mark.parametrize("sizes", [{"positive": [-1.0]}, {"free": [0.0]}, {"positive": [np.nan]}, {"bodies": BODY}])
def test_plausible_values_that_are_none_are_refused(sizes):
    given = {"bodies": BODY[None], "positive": np.zeros(0), "free": np.zeros(0)}
    with pytest.raises(DatasetError, match="plausible"):
        Plausible(**{**given, **{name: np.array(value) for name, value in sizes.items()}})


def test_nearest_bodies_satisfy_the_equations_and_are_stationary():
    """One equation on the mass: the other parameters follow from the reference's metric."""
    references = np.stack([BODY, 2 * BODY])
    A, b = np.zeros((1, 20)), np.array([4.0])
    A[0, [9, 19]] = 1.0
    found = nearest_bodies(A, b, references, references, range(2))
    assert found is not None
    assert found[:, 9].sum() == pytest.approx(4.0, abs=1e-10)
    slopes = Divergence(pseudo_inertia(references)).gradient(pseudo_inertia(found))
    others = np.delete(slopes, 9, axis=1)
    assert np.abs(others).max() <= 1e-6 * np.abs(slopes).max()
    assert slopes[0, 9] == pytest.approx(slopes[1, 9], rel=1e-6)
    assert nearest_bodies(A, -b, references, references, range(2)) is None


def test_the_nearest_right_side_has_a_proven_distance():
    references, A = BODY[None], np.eye(10)[[9]]
    bodies, bound = nearest_right_side(A, np.array([-1.0]), references)
    assert np.linalg.eigvalsh(pseudo_inertia(bodies[0]))[0] > 0
    assert bound == pytest.approx(1.0, rel=1e-3)
    assert bound <= np.abs(A @ bodies[0] + 1.0).item()


def test_without_any_answer_the_distance_is_proven_by_the_equations_alone(monkeypatch):
    """Bodies of numbers so far apart that not even the first program is solved; 2 x = 1 and 2 x = 3 miss by sqrt(2)."""
    solve = InteriorPoint.solve
    monkeypatch.setattr(InteriorPoint, "solve", lambda *given: replace(solve(*given), solved=False))
    A = np.zeros((2, 10))
    A[:, 9] = 2.0
    bodies, bound = nearest_right_side(A, np.array([1.0, 3.0]), BODY[None])
    assert bodies == pytest.approx(BODY[None]) and bound == pytest.approx(np.sqrt(2.0))
