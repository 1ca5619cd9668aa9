"""Parametrisations keep their promises for every theta, and their inverses round-trip."""

from __future__ import annotations

import numpy as np
import pytest

from casid.codegen import Function
from casid.errors import CasidError
from casid.inertia import from_standard, pseudo_inertia, to_standard
from casid.learning import Parametrisation, parametrisation

IDS = ["nostr", "symm", "spd", "tri", "cov", "log-cholesky", "spectral"]
ALL = [parametrisation(name) for name in IDS]


def random_body(rng: np.random.Generator, scale: float = 1.0) -> np.ndarray:
    """A body of positive density: a cloud of point masses."""
    points = scale * (rng.normal(size=(8, 3)) * rng.uniform(0.02, 0.3, 3) + rng.normal(size=3) * 0.1)
    weights = rng.uniform(0.1, 1.0, 8)
    com = weights @ points / weights.sum()
    rel = points - com
    inertia = sum(w * (p @ p * np.eye(3) - np.outer(p, p)) for w, p in zip(weights, rel, strict=True))
    return to_standard(float(weights.sum()), com, inertia)


@pytest.mark.parametrize("p", ALL, ids=IDS)
def test_promises_hold_for_any_theta(p):
    rng = np.random.default_rng(4)
    theta = rng.standard_normal((4000, p.size)) * 10.0 ** rng.uniform(-3, 1, (4000, 1))
    pi = Function(p.map)(theta)
    assert np.isfinite(pi).all()
    if p.positive_mass:
        assert (pi[:, 9] > 0).all()
    for row in pi[:: 1 if (p.definite or p.triangle) else 100]:
        _, _, inertia = from_standard(row[:10])
        moments = np.linalg.eigvalsh(inertia)
        size = max(1.0, float(np.abs(row[:6]).max()))  # rounding of Steiner's term about a far-off centre of mass
        if p.definite:
            assert moments[0] > -1e-13 * size
        if p.triangle:
            assert moments.sum() / 2 - moments[2] > -1e-13 * size


@pytest.mark.parametrize("p", ALL, ids=IDS)
def test_inverse_round_trips(p):
    rng = np.random.default_rng(5)
    for scale in (1.0, 3.0):
        for _ in range(100):
            body = random_body(rng, scale)
            back = p.parameters(p.inverse(body))
            assert np.abs(back[:10] - body).max() <= 1e-12 * np.abs(body).max()
            assert (back[10:] == 0).all()


@pytest.mark.parametrize("p", [p for p in ALL if p.symmetric], ids=lambda p: p.name)
def test_a_body_has_one_theta_in_log_cholesky_alone(p):
    rng = np.random.default_rng(6)
    thetas = [p.random(rng) for _ in range(200)]
    apart = max(np.abs(p.inverse(p.parameters(theta)) - theta).max() for theta in thetas)
    assert apart < 1e-7 if p.name == "log-cholesky" else apart > 1.0  # of the others several are one body


@pytest.mark.parametrize("p", [p for p in ALL if not p.triangle], ids=lambda p: p.name)
def test_lower_rungs_reach_bodies_that_cannot_exist(p):
    """What a rung does not promise, some theta breaks."""
    rng = np.random.default_rng(7)
    worst = min(np.linalg.eigvalsh(pseudo_inertia(p.parameters(p.random(rng))[:10]))[0] for _ in range(200))
    assert worst < -1e-3


@pytest.mark.parametrize("p", [p for p in ALL if p.definite], ids=lambda p: p.name)
def test_outside_the_image_is_an_error(p):
    with pytest.raises(CasidError, match="does not reach"):
        p.inverse(to_standard(1.0, [0, 0, 0], np.diag([-0.1, 0.1, 0.1])))
    with pytest.raises(CasidError, match="entry 3 is not a finite"):
        p.parameters([0, 0, 0, np.nan, *[0] * (p.size - 4)])


def test_a_catalogue_by_name():
    assert all(isinstance(p, Parametrisation) for p in ALL) and [p.name for p in ALL] == IDS
    with pytest.raises(CasidError, match="unknown parametrisation 'mass'; known: nostr, "):
        parametrisation("mass")
