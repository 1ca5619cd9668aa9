"""Loads under bounded errors: draws against the density on a grid, intervals against the draws."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from casid.loads import _bounded_errors as module
from casid.loads._bounded_errors import _bounded_are_likelier, _uniform_draws, bounded_load


@pytest.mark.parametrize("owners", [1, 2])
def test_draws_have_the_density_of_uniform_errors(owners):
    """One unknown: ``prod_k max |e_k|^-N_k`` on a grid, of one bound for all or of one a joint."""
    rng = np.random.default_rng(0)
    counts = [14, 9][:owners]
    owner = np.repeat(np.arange(owners), counts)
    a = rng.normal(size=len(owner))
    a /= np.linalg.norm(a)
    y = 3.0 * a + np.where(owner == 0, 1.0, 0.3) * rng.uniform(-1, 1, len(owner))
    draws = _uniform_draws(a[:, None], y, owner)
    assert draws.shape == (module.DRAWS - module.DROPPED, 1)
    grid = np.linspace(a @ y - 4.0, a @ y + 4.0, 40001)
    largest = [np.abs(y[owner == k, None] - a[owner == k, None] * grid).max(axis=0) for k in range(owners)]
    logs = sum(-count * np.log(most) for count, most in zip(counts, largest, strict=True))
    density = np.exp(logs - logs.max())
    density /= density.sum()
    mean = density @ grid
    sd = np.sqrt(density @ (grid - mean) ** 2)
    assert draws.mean() == pytest.approx(mean, abs=0.1 * sd)
    assert draws.std() == pytest.approx(sd, rel=0.1)


def held(rng, noise, poses=30, band=0.5, mass=2.0):
    """Rows of two joints: ten columns of a load, torque, half the band."""
    rows = []
    for _ in range(2):
        A = np.zeros((poses, 10))
        A[:, 6:] = rng.normal(size=(poses, 4))
        y = A @ np.array([0] * 6 + [0.2, -0.1, 0.4, mass]) + noise(rng, poses)
        whole = np.column_stack([A, y, np.full(poses, band)])
        rows.append([whole[:9], whole[9:]])
    return SimpleNamespace(held=rows)


def uniform(rng, count):
    return 0.5 * rng.uniform(-1, 1, count)


@pytest.mark.parametrize(
    ("noise", "poses", "mass", "taken"),
    [(uniform, 30, 2.0, True), (lambda rng, n: 0.3 * rng.normal(size=n), 30, 2.0, False), (uniform, 30, -2.0, False)],
)  # fmt: skip
def test_bounded_errors_are_taken_where_they_explain_more(monkeypatch, noise, poses, mass, taken):
    monkeypatch.setattr(module, "DRAWS", 4000)
    monkeypatch.setattr(module, "DROPPED", 1000)
    found = bounded_load(held(np.random.default_rng(2), noise, poses, mass=mass), 0.95)
    assert (found is not None) == taken


@pytest.mark.slow
@pytest.mark.claim("normal errors of few poses are not taken for bounded ones")
@pytest.mark.parametrize("joints", [1, 7])
def test_the_kind_of_errors_that_is_there_is_taken(joints):
    right = {"normal": 0, "uniform": 0}
    for seed in range(10):
        rng = np.random.default_rng(seed)
        U = np.linalg.qr(rng.normal(size=(15 * 7, 11)))[0]
        owner = np.repeat(np.arange(joints), 105 // joints)
        for kind, errors in (("normal", rng.normal(size=105)), ("uniform", rng.uniform(-1, 1, 105))):
            y = U @ rng.normal(size=11) + errors
            found = _bounded_are_likelier(U, y, owner, _uniform_draws(U, y, owner))
            right[kind] += found is (kind == "uniform")
    assert right["normal"] >= 9 and right["uniform"] >= 8
