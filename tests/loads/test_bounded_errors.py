"""Loads under bounded errors: draws against the density on a grid, intervals against the draws."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from casid.loads import _bounded_errors as module
from casid.loads._bounded_errors import _bounded_are_likelier, _integral, _uniform_draws, bounded_load


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


def test_intervals_hold_the_draws_together(monkeypatch):
    """Mass and centre: the mean of the draws, and deviations so wide that a share of all draws lies in all four."""
    stack = held(np.random.default_rng(1), uniform)
    kept = []

    def known(U, y, owner):
        draws = _uniform_draws(U, y, owner)
        kept.append((U, y, owner, draws))
        return draws

    monkeypatch.setattr(module, "_uniform_draws", known)
    R, r, left, found = bounded_load(stack, 0.9)
    ((U, y, owner, draws),) = kept
    rows = np.vstack([part for joint in stack.held for part in joint])
    np.testing.assert_allclose(y, rows[:, 10] / 0.5)  # in units of the band, all of one owner
    assert not owner.any() and left == 60.0 - 4.0
    x = np.linalg.lstsq(rows[:, :10] / 0.5, U @ draws.T, rcond=None)[0].T
    four = np.column_stack([x[:, 9], x[:, 6:9] / x[:, 9:]])
    inside = np.ones(len(four), dtype=bool)
    for k, name in enumerate(("m", "cx", "cy", "cz")):
        low, high = found[name]
        assert (low + high) / 2 == pytest.approx(four[:, k].mean(), abs=1e-9)
        inside &= (four[:, k] >= low) & (four[:, k] <= high)
    widths = [(found[name][1] - found[name][0]) / four[:, k].std() for k, name in enumerate(found)]
    np.testing.assert_allclose(widths, widths[0])
    assert inside.mean() == pytest.approx(0.9, abs=1e-3)
    assert found["m"][0] < 2.0 < found["m"][1] and found["cx"][0] < 0.1 < found["cx"][1]
    covariance = np.cov(x[:, 6:].T)
    np.testing.assert_allclose((R.T @ R)[6:, 6:], np.linalg.inv(covariance), rtol=1e-6)
    np.testing.assert_allclose(R @ x.mean(axis=0), r, atol=1e-8)


def test_each_joint_has_a_bound_of_its_own_without_dry_friction(monkeypatch):
    owners = []
    monkeypatch.setattr(module, "_uniform_draws", lambda U, y, owner: np.zeros((2, 4)))
    monkeypatch.setattr(module, "_bounded_are_likelier", lambda U, y, owner, draws: owners.append(owner) or False)
    stack = held(np.random.default_rng(1), uniform)
    stack.held[1][0][3, -1] = 0.0  # one pose without
    assert bounded_load(stack, 0.9) is None
    assert owners[0].tolist() == [0] * 30 + [1] * 30


@pytest.mark.parametrize(
    ("noise", "poses", "mass", "taken"),
    [(uniform, 30, 2.0, True), (lambda rng, n: 0.3 * rng.normal(size=n), 30, 2.0, False), (uniform, 30, -2.0, False)],
)  # fmt: skip
def test_bounded_errors_are_taken_where_they_explain_more(monkeypatch, noise, poses, mass, taken):
    monkeypatch.setattr(module, "DRAWS", 4000)
    monkeypatch.setattr(module, "DROPPED", 1000)
    found = bounded_load(held(np.random.default_rng(2), noise, poses, mass=mass), 0.95)
    assert (found is not None) == taken


def test_two_poses_more_than_unknowns_are_needed(monkeypatch):
    calls: list[Any] = []
    monkeypatch.setattr(module, "_uniform_draws", lambda *given: calls.append(given) or np.zeros((2, 4)))
    monkeypatch.setattr(module, "_bounded_are_likelier", lambda *given: False)
    rng = np.random.default_rng(3)

    def cut(count):
        stack = held(rng, uniform)
        stack.held = [[np.vstack(joint)[:count]] for joint in stack.held[:1]]
        return stack

    assert bounded_load(cut(5), 0.9) is None and not calls
    assert bounded_load(cut(6), 0.9) is None and len(calls) == 1  # asked, and the normal likelihood is larger
    assert bounded_load(SimpleNamespace(held=None), 0.9) is None


@pytest.mark.parametrize("d", [1, 4, 11])
def test_the_integral_of_a_normal_density(d):
    rng = np.random.default_rng(d)
    root = np.tril(rng.normal(size=(d, d))) + 3 * np.eye(d)
    middle = rng.normal(size=d)
    found = _integral(lambda z: -0.5 * (np.linalg.solve(root, (z - middle).T) ** 2).sum(axis=0), middle, root @ root.T)
    assert found == pytest.approx(d / 2 * np.log(2 * np.pi) + np.log(np.diag(root)).sum(), abs=0.1)


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


@pytest.mark.parametrize("d", [1, 4])
def test_the_integral_needs_no_exact_covariance(d):
    """A density four times as wide as what is given for it: the Student distribution's tails reach it."""
    found = _integral(lambda z: -0.5 * (z**2).sum(axis=1) / 4.0, np.zeros(d), np.eye(d))
    assert found == pytest.approx(d / 2 * np.log(8 * np.pi), abs=0.12)


def test_draws_with_a_mass_that_is_not_positive_give_no_intervals(monkeypatch):
    monkeypatch.setattr(module, "_bounded_are_likelier", lambda *given: True)
    stack = held(np.random.default_rng(1), uniform)
    every = {}

    def drawn(U, y, owner):
        every["z"] = U.T @ y + 1e-3 * np.random.default_rng(0).normal(size=(50, U.shape[1]))
        return every["z"]

    monkeypatch.setattr(module, "_uniform_draws", drawn)
    assert bounded_load(stack, 0.9) is not None
    monkeypatch.setattr(
        module, "_uniform_draws", lambda U, y, owner: np.where(np.arange(50)[:, None] == 7, -1.0, 1.0) * every["z"]
    )
    assert bounded_load(stack, 0.9) is None
