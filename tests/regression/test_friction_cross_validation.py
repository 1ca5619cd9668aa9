"""Cross-validation of friction laws, computed again by least squares of the plain rows, fold by fold."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from casid.dynamics import Model
from casid.dynamics.terms import JointFriction, friction_model
from casid.regression.friction._cross_validation import CandidateFits, _folds, _lawful, _ridged
from casid.testing import recording

Columns = Callable[[np.ndarray, np.ndarray], list[np.ndarray]]
#: Laws and their columns of velocity and load: the simplest first in neither list.
LAWS: dict[str, tuple[JointFriction, Columns]] = {
    "linear": (JointFriction(friction_model("linear")), lambda v, u: [v, np.sign(v), np.ones(len(v))]),
    "smooth": (
        JointFriction(friction_model("smooth"), (0.2,)), lambda v, u: [v, np.tanh(v / 0.2), np.ones(len(v))],
    ),
    "sharp": (JointFriction(friction_model("smooth"), (0.02,)), lambda v, u: [v, np.tanh(v / 0.02), np.ones(len(v))]),
    "stribeck": (
        JointFriction(friction_model("stribeck"), (0.02, 0.3)),
        lambda v, u: [v, np.tanh(v / 0.02), np.exp(-((v / 0.3) ** 2)) * np.tanh(v / 0.02), np.ones(len(v))],
    ),
    "loaded": (
        JointFriction(friction_model("linear+load")),
        lambda v, u: [v, np.sign(v), np.ones(len(v)), np.abs(u) * np.sign(v)],
    ),
}  # fmt: skip
OPTIONS = (("linear", "stribeck", "smooth", "sharp"), ("linear", "loaded", "smooth"))
NOMINAL = np.linspace(0.3, 0.6, 20)


class Problem:
    """Two recordings of a planar arm with masks; joint 1 has smooth friction, joint 2 linear."""

    def __init__(self, seed: int, noise: float) -> None:
        self.model = Model("spatial_2r")
        rng = np.random.default_rng(seed)
        self.recordings, self.W, self.loads = [], [], []
        for count, part in ((260, 1), (170, 2)):
            data = recording(self.model, rng.uniform(0.5, 1.0, 20), samples=count, seed=seed + part)
            v = data.dq
            load = np.array([self.model.inverse_dynamics(*x, NOMINAL) for x in self._states(data)])
            rubbing = np.column_stack([2 * np.tanh(v[:, 0] / 0.25), np.sign(v[:, 1]) * (1 + 0.3 * np.abs(load[:, 1]))])
            tau = data.tau + 0.8 * v + rubbing + [noise, 2 * noise] * rng.normal(size=v.shape)
            mask = rng.random(v.shape) > 0.2
            self.recordings.append(replace(data, tau=tau, mask=mask))
            self.W.append(np.array([self.model.base_regressor(*x) for x in self._states(data)]))
            self.loads.append(load)

    def _states(self, data: Any) -> Any:
        return zip(data.q, data.dq, data.ddq, strict=True)

    def fits(self, weights: np.ndarray | None) -> CandidateFits:
        options = [[LAWS[name][0] for name in names] for names in OPTIONS]
        return CandidateFits(self.model, self.recordings, self.W, options, NOMINAL, weights)

    def rows(self, k: int, name: str, stretches: list[int]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Links' columns, friction's and torques of joint k in these twelfths of each recording."""
        W, C, tau = [], [], []
        for data, columns, load in zip(self.recordings, self.W, self.loads, strict=True):
            at = np.isin(np.arange(len(data)) * 12 // len(data), stretches) & data.mask[:, k]
            W.append(columns[at, k])
            C.append(np.column_stack(LAWS[name][1](data.dq[:, k], load[:, k]))[at])
            tau.append(data.tau[at, k])
        return np.vstack(W), np.vstack(C), np.concatenate(tau)

    def fit(self, chosen: list[str], weights: np.ndarray, stretches: list[int]) -> tuple[np.ndarray, list[np.ndarray]]:
        parts = [self.rows(k, name, stretches) for k, name in enumerate(chosen)]
        rank, widths = parts[0][0].shape[1], [C.shape[1] for _, C, _ in parts]
        edges = np.cumsum([rank, *widths])
        X = [np.zeros((len(tau), edges[-1])) for *_, tau in parts]
        for k, (W, C, _) in enumerate(parts):
            X[k][:, :rank], X[k][:, edges[k] : edges[k + 1]] = W, C
        A = np.vstack([w * x for w, x in zip(weights, X, strict=True)])
        y = np.concatenate([w * tau for w, (*_, tau) in zip(weights, parts, strict=True)])
        x = np.linalg.lstsq(A, y, rcond=1e-12)[0]
        return x[:rank], [x[a:b] for a, b in pairwise(edges)]

    def square(self, k: int, name: str, beta: np.ndarray, a: np.ndarray, stretches: list[int]) -> float:
        W, C, tau = self.rows(k, name, stretches)
        return float(np.sum((tau - W @ beta - C @ a) ** 2))


FOLDS = [[f, f + 6] for f in range(6)]
TRAIN = [[s for s in range(12) if s not in fold] for fold in FOLDS]


@pytest.fixture(scope="module", params=[(0, 0.3), (1, 1.0), (4, 1.0), (5, 0.1)])
def problem(request):
    return Problem(*request.param)


def test_errors_are_those_of_least_squares_without_the_fold(problem):
    weights = np.array([2.0, 0.7])
    fits = problem.fits(weights)
    folds = _folds(range(12))
    assert [(f.test, f.train) for f in folds] == list(zip(FOLDS, TRAIN, strict=True))
    for k, other in ((0, "loaded"), (1, "smooth")):
        chosen = [0, 0]
        chosen[1 - k] = OPTIONS[1 - k].index(other)
        others = [fits._reduced(1 - k, chosen[1 - k], fold.train) for fold in folds]
        held, trained, lawful = fits._errors(k, others, folds)
        for i, name in enumerate(OPTIONS[k]):
            names = [name, other] if k == 0 else [other, name]
            for f in range(6):
                beta, a = problem.fit(names, weights, TRAIN[f])
                assert held[i, f] == pytest.approx(problem.square(k, name, beta, a[k], FOLDS[f]), rel=1e-4)
                assert trained[i, f] == pytest.approx(problem.square(k, name, beta, a[k], TRAIN[f]), rel=1e-4)
        assert all(isinstance(one, bool) for one in lawful)


def test_the_choice_follows_its_rules(problem):
    """Least held-out error; more parameters only for two in a hundred, a standard error and Schwarz's criterion."""
    weights = np.array([2.0, 0.7])
    fits = problem.fits(weights)
    chosen, expected = [0, 0], {}
    for _ in range(2):
        before = list(chosen)
        for k in range(2):
            counts = np.array([len(problem.rows(k, "linear", fold)[2]) for fold in FOLDS])
            held, trained = np.zeros((2, len(OPTIONS[k]), 6))
            signs = []
            for i, name in enumerate(OPTIONS[k]):
                names = [OPTIONS[j][c] for j, c in enumerate(chosen)]
                names[k] = name
                amplitudes = 0.0
                for f in range(6):
                    beta, a = problem.fit(names, weights, TRAIN[f])
                    held[i, f] = problem.square(k, name, beta, a[k], FOLDS[f])
                    trained[i, f] = problem.square(k, name, beta, a[k], TRAIN[f])
                    amplitudes = amplitudes + a[k]
                signs.append(lawful(problem, k, name, amplitudes))
            mean = held.sum(axis=1) / counts.sum()
            complexity = [LAWS[name][0].law.complexity for name in OPTIONS[k]]
            laws = [LAWS[name][0].law.name for name in OPTIONS[k]]
            best = {}
            for i, law in enumerate(laws):
                if law not in best or (not signs[i], mean[i]) < (not signs[best[law]], mean[best[law]]):
                    best[law] = i
            ranked = sorted(best.values(), key=lambda i: (complexity[i], mean[i]))
            winner = next((i for i in ranked if signs[i]), laws.index("linear"))
            per_fold = held / counts
            for i in ranked[ranked.index(winner) + 1 :]:
                gain = per_fold[winner] - per_fold[i]
                error = np.std(gain, ddof=1) / np.sqrt(6)
                samples = sum(d.mask[:, k].sum() for d in problem.recordings)
                further = complexity[i] - complexity[winner]
                schwarz = samples * np.log(trained[winner].sum() / trained[i].sum()) > further * np.log(samples)
                if signs[i] and mean[i] <= 0.98 * mean[winner] and gain.mean() > error and schwarz:
                    winner = i
            chosen[k] = winner
            joint = problem.model.robot.coordinates[k].name
            for i in best.values():
                expected[joint, laws[i]] = (
                    np.sqrt(mean[i]), np.sqrt(trained[i].sum() / 5 / counts.sum()), complexity[i], i == winner,
                    dict(zip([s.name for s in LAWS[OPTIONS[k][i]][0].law.shape], LAWS[OPTIONS[k][i]][0].theta,
                             strict=True)),
                )  # fmt: skip
        if chosen == before:
            break
    found, table = fits.run()
    assert found == chosen
    assert {(row.joint, row.law) for row in table} == set(expected)
    for row in table:
        held_out, training, parameters, won, shape = expected[row.joint, row.law]
        assert row.held_out == pytest.approx(held_out, rel=1e-4) and row.training == pytest.approx(training, rel=1e-4)
        assert (row.parameters, row.chosen, row.shape) == (parameters, won, shape)


def lawful(problem, k, name, a):
    """Friction along and against the motion, with and without load; amplitudes that cannot be negative."""
    speed = max(np.abs(d.dq[:, k]).max() for d in problem.recordings)
    load = max(np.abs(u[:, k]).max() for u in problem.loads)
    top = problem.model.robot.limits.velocity[k]
    top = top if speed < top < np.inf else 1.5 * speed
    torques = []
    for share in (*np.array([0.02, 0.1, 0.3, 0.6, 1.0]) * speed, top):
        ahead, back = (
            [np.array(LAWS[name][1](np.array([v]), np.array([u]))) for u in (0.0, load)] for v in (share, -share)
        )
        plain, pressed = (x - y for x, y in zip(ahead, back, strict=True))
        torques += [plain[:, 0] / 2 @ a, pressed[:, 0] / 2 @ a, (pressed - plain)[:, 0] / 2 @ a]
        sizes = np.abs(np.stack([plain[:, 0], pressed[:, 0]]) / 2).max(axis=0)
        must = [p.nonnegative for p in LAWS[name][0].law.amplitudes]
        torques += list((sizes * a)[must]) if share == top else []
    return min(torques) >= -0.01 * np.abs(torques).max()


def test_weights_are_those_of_the_first_candidates(problem):
    """One over the root mean square that equal weights leave at each joint."""
    fits = problem.fits(None)
    beta, a = problem.fit(["linear", "linear"], np.ones(2), list(range(12)))
    left = [problem.square(k, "linear", beta, a[k], list(range(12))) for k in range(2)]
    counts = [sum(d.mask[:, k].sum() for d in problem.recordings) for k in range(2)]
    np.testing.assert_allclose(fits.weights, np.sqrt(np.array(counts) / left), rtol=1e-4)
    expected, _ = problem.fit(["linear"] * 2, fits.weights, list(range(12)))
    np.testing.assert_allclose(fits.fit([0, 0]), expected, rtol=1e-4)


def test_columns_of_the_choice_are_the_laws(problem):
    fits = problem.fits(np.ones(2))
    for chosen in ([0, 1], [1, 2], [3, 0]):
        for columns, data, load in zip(fits.columns(chosen), problem.recordings, problem.loads, strict=True):
            for k, i in enumerate(chosen):
                expected = np.column_stack(LAWS[OPTIONS[k][i]][1](data.dq[:, k], load[:, k]))
                np.testing.assert_allclose(columns[k], expected, atol=1e-12)


@pytest.mark.parametrize(("stretches", "count"), [(range(12), 6), (range(7), 4), (range(4), 2), (range(2), 2)])
def test_folds_have_two_stretches_where_they_can(stretches, count):
    folds = _folds(list(stretches))
    assert len(folds) == count
    assert sorted(s for fold in folds for s in fold.test) == list(stretches)
    assert all(sorted(fold.test + fold.train) == list(stretches) for fold in folds)


def test_a_hundredth_of_the_largest_torque_may_be_against_its_sign():
    assert _lawful(np.array([1.0, -0.0099])) and not _lawful(np.array([1.0, -0.0101]))
    assert not _lawful(np.array([-1.0, -2.0])) and _lawful(np.zeros(0)) and _lawful(np.array([-0.05, 9.0, 0.0]))


def test_a_ridge_is_a_share_of_the_mean():
    G = np.array([np.diag([1.0, 3.0]), np.zeros((2, 2))])
    np.testing.assert_allclose(_ridged(G)[0], np.diag([1.0, 3.0]) + 2e-9 * np.eye(2), rtol=1e-15)
    assert 0 < _ridged(G)[1, 0, 0] < 1e-300 and _ridged(np.zeros((0, 0))).shape == (0, 0)


def test_a_column_that_is_zero_explains_nothing():
    """Without links that load the joints the law of the load is the linear one with a parameter too many."""
    problem = Problem(0, 0.3)
    options = [[LAWS[name][0] for name in names] for names in OPTIONS]
    fits = CandidateFits(problem.model, problem.recordings, problem.W, options, None, np.ones(2))
    chosen, table = fits.run()
    rows = {row.law: row for row in table if row.joint == problem.model.robot.coordinates[1].name}
    assert chosen[1] != 1 and rows["linear+load"].held_out == pytest.approx(rows["linear"].held_out, rel=1e-4)
    assert np.isfinite(fits.fit([0, 1])).all()


@pytest.mark.parametrize(("ratio", "taken"), [(0.9, False), (1.1, True), (1.9, True)])
def test_a_gain_over_the_folds_is_more_than_a_standard_error(monkeypatch, ratio, taken):
    """The same mean gain of a tenth, scattered over six folds more or less than its standard error."""
    problem = Problem(0, 0.3)
    fits = problem.fits(np.ones(2))
    scatter = np.array([1.0, -1.0, 1.0, -1.0, 1.0, -1.0])
    gain = 0.1 + 0.1 / ratio * np.sqrt(6) * scatter / np.std(scatter, ddof=1)
    folds = _folds(range(12))
    counts = np.array([fits._counts[fold.test, 1].sum() for fold in folds])
    held = np.array([np.ones(6), 1.0 - gain, np.full(6, 9.0)]) * counts
    trained = np.array([np.ones(6), np.full(6, 0.1), np.full(6, 9.0)])
    monkeypatch.setattr(fits, "_errors", lambda *given: (held, trained, [True, True, True]))
    winner, _ = fits._best(1, [], folds)
    mean = held.sum(axis=1) / counts.sum()
    assert mean[1] < 0.98 * mean[0] and (winner == 1) == taken


def test_a_law_is_lawful_by_the_sum_of_its_columns():
    """A cube that takes from the viscous torque and leaves most of it: friction brakes at every speed."""
    problem = Problem(0, 0.3)
    for data in problem.recordings:
        v = data.dq[:, 0]
        tau = np.array(data.tau)
        tau[:, 0] += 2.0 * np.sign(v) + 3.0 * v - 2.0 * v**3 - 2.0 * np.tanh(v / 0.25)
        problem.recordings[problem.recordings.index(data)] = replace(data, tau=tau)
    laws = [JointFriction(friction_model("linear")), JointFriction(friction_model("polynomial"))]
    fits = CandidateFits(problem.model, problem.recordings, problem.W, [laws, laws[:1]], NOMINAL, np.ones(2))
    _, table = fits.run()
    (row,) = (row for row in table if row.law == "polynomial")
    assert row.physical


@pytest.mark.parametrize(("gain", "taken"), [(0.015, False), (0.025, True)])
def test_a_sure_gain_below_two_in_a_hundred_is_not_worth_a_parameter(monkeypatch, gain, taken):
    problem = Problem(0, 0.3)
    fits = problem.fits(np.ones(2))
    folds = _folds(range(12))
    counts = np.array([fits._counts[fold.test, 1].sum() for fold in folds])
    every = gain + 1e-4 * np.arange(-2.5, 3.0)
    held = np.array([np.ones(6), 1.0 - every, np.full(6, 9.0)]) * counts
    trained = np.array([np.ones(6), np.full(6, 0.1), np.full(6, 9.0)])
    monkeypatch.setattr(fits, "_errors", lambda *given: (held, trained, [True, True, True]))
    assert (fits._best(1, [], folds)[0] == 1) == taken
