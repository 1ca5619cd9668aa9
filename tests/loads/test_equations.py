"""The load's own equations from plain rows of recordings with and without it, and intervals of its quantities."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from casid.dynamics import Model
from casid.errors import DatasetError
from casid.loads import load_intervals
from casid.loads._equations import LoadStack, least_norm, together
from casid.testing import random_robot, recording

NAMES = ("Lxx", "Lxy", "Lxz", "Lyy", "Lyz", "Lzz")


@pytest.fixture(scope="module")
def system():
    """Ten equations of a load, correlated, and its estimate."""
    rng = np.random.default_rng(0)
    R = np.linalg.qr(rng.normal(size=(30, 10)))[1] + 3.0 * np.eye(10)
    return R, np.array([*rng.normal(size=6), 0.2, -0.1, 0.3, 2.0])


def test_intervals_are_those_of_the_ellipsoid(system):
    """Deviations of single parameters, and Fieller's ends of the centre of mass, by the covariance."""
    R, x = system
    covariance, tolerance = np.linalg.inv(R.T @ R), 0.5
    wider = {"m": 4.0, "cy": 2.0, "Lxy": 9.0}
    found = load_intervals(R, x, tolerance, wider)
    for name, k in [*zip(NAMES, range(6), strict=True), ("m", 9)]:
        half = np.sqrt(tolerance * wider.get(name, 1.0) * covariance[k, k])
        np.testing.assert_allclose(found[name], (x[k] - half, x[k] + half), rtol=1e-9)
    for name, k in (("cx", 6), ("cy", 7), ("cz", 8)):
        allowed = tolerance * wider.get(name, 1.0)

        def outside(ratio, k=k, allowed=allowed):
            slope = np.zeros(10)
            slope[k], slope[9] = 1.0, -ratio
            return (slope @ x) ** 2 - allowed * slope @ covariance @ slope

        low, high = found[name]
        assert low < x[k] / x[9] < high
        size = outside(low - 1.0)
        assert abs(outside(low)) < 1e-9 * size and abs(outside(high)) < 1e-9 * size
        assert outside(low - 1e-3) > 0 > outside(low + 1e-3) and outside(high - 1e-3) < 0 < outside(high + 1e-3)


def test_ratios_are_open_where_the_mass_may_be_zero(system):
    R, x = system
    covariance = np.linalg.inv(R.T @ R)
    edge = x[9] ** 2 / covariance[9, 9]
    assert np.isfinite(load_intervals(R, x, 0.9 * edge)["cx"]).all()
    assert load_intervals(R, x, 1.1 * edge)["cx"] == (-np.inf, np.inf)
    assert np.isfinite(load_intervals(R, x, 1.1 * edge)["m"]).all()
    flat = R.copy()
    flat[:, 6] = flat[:, 7]  # only their sum is determined
    found = load_intervals(flat, x, 0.1)
    for name in ("cx", "cy"):
        assert found[name] == (-np.inf, np.inf)
    assert np.isfinite(found["cz"]).all() and np.isfinite(found["m"]).all() and np.isfinite(found["Lzz"]).all()
    small = load_intervals(R @ np.diag([1.0] * 9 + [1e-3]), x, 0.1)  # other units are as well determined
    np.testing.assert_allclose(small["Lxx"], load_intervals(R, x, 0.1)["Lxx"], rtol=1e-9)


@pytest.mark.parametrize("count", [4, 6])
def test_intervals_hold_together_as_stated(count):
    """Of correlated normal errors over a standard deviation of nine degrees of freedom."""
    rng = np.random.default_rng(3)
    root = np.linalg.cholesky(np.eye(count) + 0.5)
    errors = rng.normal(size=(100_000, count)) @ (root / np.linalg.norm(root, axis=1, keepdims=True)).T
    deviations = np.sqrt(rng.chisquare(9, 100_000) / 9)
    held = (np.abs(errors) <= np.sqrt(together(count, 9)) * deviations[:, None]).all(axis=1)
    assert 0.95 <= held.mean() < 0.97


class Problem:
    """A random chain with and without a load, torques here and there masked."""

    def __init__(self, drift: bool, robot: str) -> None:
        self.model = Model(random_robot(1, n=4, chain=True), ("coulomb",))
        rng = np.random.default_rng(2)
        pi = rng.uniform(0.5, 1.0, len(self.model.parameter_names))
        load = pi.copy()
        load[list(self.model.link_columns[-1])] += [0.05, 0, 0, 0.05, 0, 0.05, 0.1, 0.05, 0.2, 1.5]
        self.data = []
        for values, seed, samples in ((pi, 3, 120), (load, 4, 150)):
            one = recording(self.model, values, samples=samples, seed=seed, noise=0.0)
            tau = one.tau + [0.1, 0.5, 0.2, 0.05] * rng.normal(size=one.tau.shape)
            self.data.append(replace(one, tau=tau, mask=rng.random(tau.shape) > 0.1))
        self.regressors = [
            [self.model.regressor(*x) for x in zip(one.q, one.dq, one.ddq, strict=True)] for one in self.data
        ]
        self.parameters = pi if robot == "exact" else None
        rows = rng.normal(size=(6, self.model.base.rank))
        known = rows @ self.model.base.values(pi) + rng.normal(size=6)
        self.information = (rows, known) if robot == "known" else None
        self.drift = drift
        self.stack = LoadStack(self.model, pi if robot != "free" else None, drift, self.information)
        self.stack.add(self.data[0], False)
        self.stack.add(self.data[1], True)

    def rows(self, k: int) -> tuple[np.ndarray, np.ndarray]:
        """Of a joint: base, load, drifts; torques."""
        base = [] if self.parameters is not None else list(self.model.base.independent)
        last, X, y = list(self.model.link_columns[-1]), [], []
        for loaded, data in enumerate(self.data):
            for i in np.flatnonzero(data.mask[:, k]):
                Y = self.regressors[loaded][i][k]
                drift = np.zeros(8 if self.drift else 0)
                if self.drift and loaded:
                    drift[k], drift[4 + k] = 1.0, np.sign(data.dq[i, k])
                X.append(np.concatenate([Y[base], loaded * Y[last], drift]))
                y.append(data.tau[i, k] - (Y @ self.parameters if self.parameters is not None else 0.0))
        return np.array(X), np.array(y)


@pytest.fixture(scope="module", params=[(False, "exact"), (True, "free"), (False, "known")])
def problem(request):
    return Problem(*request.param)


def solution(problem):
    parts = [problem.rows(k) for k in range(4)]
    A, y = np.vstack([X for X, _ in parts]), np.concatenate([tau for _, tau in parts])
    x = np.linalg.lstsq(A, y, rcond=1e-11)[0]
    weights = np.array([1 / np.sqrt(np.mean((tau - X @ x) ** 2)) for X, tau in parts])
    A = np.vstack([w * X for w, (X, _) in zip(weights, parts, strict=True)])
    y = np.concatenate([w * tau for w, (_, tau) in zip(weights, parts, strict=True)])
    K = np.zeros((0, A.shape[1]))
    if problem.information is not None:
        rows, targets = problem.information
        K = np.column_stack([rows, np.zeros((len(rows), A.shape[1] - rows.shape[1]))])
        A, y = np.vstack([A, K]), np.concatenate([y, targets])
    return A, y, K, weights


def test_the_load_is_that_of_weighted_least_squares(problem):
    A, y, K, weights = solution(problem)
    x = np.linalg.lstsq(A, y, rcond=1e-11)[0]
    R, r, left, freedom = problem.stack.compressed()
    base = problem.stack.base
    assert base == (0 if problem.parameters is not None else problem.model.base.rank)
    np.testing.assert_allclose(problem.stack.weights, weights, rtol=1e-6)
    assert left == pytest.approx(np.sum((y - A @ x) ** 2), rel=1e-6)
    counts = sum(d.mask.sum() for d in problem.data)
    assert freedom == counts - A.shape[1] and problem.stack.samples.sum() == counts
    np.testing.assert_allclose(least_norm(R, r), x[base:], rtol=1e-4, atol=1e-6)

    whole, known = problem.stack.covariances()
    inverse = np.linalg.pinv(A.T @ A, rcond=1e-13, hermitian=True)
    scale = np.abs(inverse[base:, base:]).max()
    np.testing.assert_allclose(whole, inverse[base:, base:], atol=1e-5 * scale)
    np.testing.assert_allclose(known, (inverse @ K.T @ K @ inverse)[base:, base:], atol=1e-5 * scale)


def test_recordings_without_the_load_are_not_needed_for_an_exact_robot():
    problem = Problem(False, "exact")
    stack = LoadStack(problem.model, problem.parameters, False)
    stack.add(problem.data[1], True)
    stack.compressed()
    assert len(stack.without_stretches()) == 1
    alone = LoadStack(problem.model, problem.parameters, False)
    alone.add(problem.data[0], False)
    with pytest.raises(DatasetError, match="the load has no effect on these torques"):
        alone.compressed()
    for wrong in ((np.eye(3), np.ones(3)), (np.ones(5), np.ones(5)), (np.ones((2, problem.model.base.rank)), [1.0])):
        with pytest.raises(DatasetError, match="expected information of"):
            LoadStack(problem.model, None, False, wrong)
    with pytest.raises(DatasetError, match="expected a processed recording of 4 joints"):
        stack.add(replace(problem.data[1], ddq=None), True)
