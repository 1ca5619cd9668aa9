"""On-line identification where numbers are hard: directions alike or unknown, stiff data, few samples, odd loads."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import brentq

import casid
from casid.codegen import evaluate_batch
from casid.dynamics import Model
from casid.identification.loads._online_load import OnlineLoad, TorqueErrors
from casid.identification.online import Online
from casid.identification.online._information import Information
from casid.inertia import entropic, pseudo_inertia, to_standard
from casid.inertia._parameters import PSEUDO_INERTIA_MAP
from casid.inertia.entropic._estimate import Plausible, entropic_estimate
from casid.testing.synthetic_online import TERMS, plausible, recorded

BODY = to_standard(1.0, [0, 0, 0.05], np.diag([3e-3] * 3))
ONE = Plausible(BODY[None], np.zeros(0), np.zeros(0))


@pytest.fixture(scope="module")
def model() -> Model:
    return Model(casid.load_robot("kuka_iiwa"), TERMS)


@pytest.mark.claim("forgetting does not depend on the unit of the torques")
@pytest.mark.parametrize("scale", [1e-9, 1.0, 1e9])
def test_forgetting_knows_no_unit(scale):
    rng = np.random.default_rng(0)
    rows, newest, targets = rng.normal(size=(40, 5)), rng.normal(size=(2, 5)), rng.normal(size=40)
    faded = Information.nothing(5).updated(scale * rows, scale * targets).forgotten(scale * newest, 0.5)
    same = Information.nothing(5).updated(rows, targets).forgotten(newest, 0.5)
    assert faded.R / scale == pytest.approx(same.R, rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("apart", [1e-3, 1e-5, 1e-7])
def test_rows_that_are_nearly_alike_are_forgotten_in_both_their_directions(apart):
    rng = np.random.default_rng(1)
    known = Information.nothing(5).updated(1e3 * rng.normal(size=(40, 5)), rng.normal(size=40))
    one, other = rng.normal(size=(2, 5))
    alike = known.forgotten(np.array([one, one + apart * other]), 0.5)
    plain = known.forgotten(np.array([one, other]), 0.5)
    squares = [information.R.T @ information.R for information in (alike, plain)]
    assert squares[0] == pytest.approx(squares[1], abs=1e-6 * np.abs(squares[1]).max())


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


@pytest.mark.parametrize("mass", [200.0, -1.0])
def test_a_load_of_absurd_or_negative_mass_is_solved_with_its_proof(model, mass):
    t, q, dq, ddq, tau, pi = recorded(model, 600, to_standard(1.0, [0.03, -0.02, 0.08], 3e-3 * np.eye(3)) * mass)
    pi = pi.copy()
    pi[list(model.link_columns[-1])] -= to_standard(1.0, [0.03, -0.02, 0.08], 3e-3 * np.eye(3)) * mass
    online = OnlineLoad(model, pi, np.full(model.n, 5.0), BODY)
    online.update(q, dq, ddq, tau, t)
    estimate = online.estimate()
    assert estimate.entropic.suboptimality <= 1e-6 * estimate.entropic.objective
    if mass > 0:
        assert estimate.interval[0] <= estimate.mass <= estimate.interval[1]


def test_a_start_that_is_left_takes_its_bound_with_it(monkeypatch):
    """Rounding stops Newton directly after a bound was proven: what is started anew has none yet."""
    A, calls = np.diag(np.arange(1.0, 11.0)), [0]
    near = entropic_estimate(A, A @ (2 * BODY), ONE, 1.0, iterations=30)
    start = near.x * 1.02
    original = entropic._newton

    def stops(g, H, scale):
        calls[0] += 1
        return None if calls[0] == 2 else original(g, H, scale)

    monkeypatch.setattr(entropic, "_newton", stops)
    found = entropic_estimate(A, A @ (2 * BODY), ONE, 1.0, start, iterations=1)
    assert found.objective - near.objective <= found.suboptimality


@pytest.mark.parametrize(("samples", "moves"), [(1, 0.0), (1, 1.0), (2, 1.0), (9, 1.0)])
def test_samples_too_few_to_tell_of_the_noise_make_no_claims(model, samples, moves):
    _, q, dq, ddq, tau, _ = recorded(model, samples)
    online = Online(model, np.full(model.n, 20.0), plausible(model))
    online.update(q, moves * dq, moves * ddq, tau)
    assert np.isinf(online.estimate().sd).all()


@pytest.mark.claim("intervals of beta hold for any forgetting")
@pytest.mark.parametrize("forgetting", [1.0, 0.99, 0.9])
def test_standard_deviations_are_those_of_the_errors_for_any_forgetting(model, forgetting):
    t, q, dq, ddq, tau, pi = recorded(model, 1500, noise=0.1)
    online = Online(model, np.full(model.n, 10.0), plausible(model), forgetting=forgetting)
    online.update(q, dq, ddq, tau, t)
    estimate = online.estimate()
    ratio = (estimate.beta - model.base.K @ pi) / estimate.sd
    assert 0.5 < np.sqrt(np.mean(ratio**2)) < 1.3
    inside = (estimate.intervals[:, 0] <= model.base.K @ pi) & (model.base.K @ pi <= estimate.intervals[:, 1])
    assert inside.mean() > 0.85


@pytest.mark.parametrize("forgetting", [1.0, 0.99, 0.9])
def test_what_a_joints_scale_does_to_the_load_is_what_is_stated(model, forgetting):
    load = to_standard(2.0, [0.03, -0.02, 0.08], np.diag([6e-3, 5e-3, 4e-3]))
    t, q, dq, ddq, _, own = recorded(model, 400, load)
    q[250:], dq[250:], ddq[250:] = q[250], 0.0, 0.0
    free = own.copy()
    free[list(model.link_columns[-1])] -= load
    without, carrying = (evaluate_batch(model.inverse_dynamics, q, dq, ddq, p)[..., 0] for p in (free, own))

    def estimator(scales: np.ndarray) -> OnlineLoad:
        online = OnlineLoad(
            model, free, np.full(model.n, 5.0), BODY, forgetting=forgetting, errors=TorqueErrors(gain=0.05)
        )
        online.update(q, dq, ddq, without + (carrying - without) * scales, t)
        return online

    online = estimator(np.ones(model.n))
    expected = np.zeros((10, 10))
    for joint in range(model.n):
        moved = estimator(1 + 0.05 * np.eye(model.n)[joint]).information.estimate - online.information.estimate
        expected += np.outer(moved, moved)
    least = online.information.covariance(max(online.information.variance, online.noise.variance))
    stated = online.estimate().covariance - least * online.noise.inflation()
    assert stated == pytest.approx(expected, rel=1e-6, abs=1e-9 * np.abs(expected).max())
