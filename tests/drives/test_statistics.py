"""What the data tell of each parameter: intervals, ratios, partners, words."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import t as student

from casid.drives import FREE, FreeRuns, Servo, SimulationOptions, identify_from_commands
from casid.drives._runs import Parameter
from casid.drives._search import Search
from casid.drives._statistics import _heterogeneity, covariance, estimates, gain_ratios
from casid.testing import broadband_commands, commanded_motion

TRUE = {"kp": [12.0, 9.0], "armature": 0.03, "viscous": 0.4, "coulomb": 0.0, "bias": 0.01, "delay": 0.01}
T = np.arange(300) * 0.02


@pytest.fixture(scope="module")
def fitted(arm):
    """A fit in few pieces: search, point, normal equations."""
    data = commanded_motion(arm, Servo(**TRUE), T, broadband_commands(T, [0.2, -0.3], 0.5), noise=2e-3)
    runs = FreeRuns(arm, Servo(**{**TRUE, "kp": FREE, "viscous": FREE}), [data], longest=3.0, threads=1)
    search = Search(runs)
    return search, *search.run(runs.point(np.array([12.0, 9.0, 0.4, 0.4])))


def test_deviations_are_those_of_repeated_noise(arm, fitted):
    search, point, normal = fitted
    C, freedom = covariance(search, point, normal)
    scatter = []
    for seed in range(1, 10):
        data = commanded_motion(arm, Servo(**TRUE), T, broadband_commands(T, [0.2, -0.3], 0.5), noise=2e-3, seed=seed)
        runs = FreeRuns(arm, search.runs.servo, [data], longest=3.0, threads=1)
        scatter.append(Search(runs).run(runs.point(point.theta), 4)[0].theta)
    ratio = np.std(scatter, axis=0, ddof=1) / np.sqrt(np.diag(C))
    assert np.all(ratio < 2.2) and np.all(ratio > 0.35) and freedom.min() > 100


@pytest.mark.claim("few pieces that disagree widen the intervals")
def test_pieces_that_disagree_widen_the_intervals(arm, fitted):
    search, point, normal = fitted
    pair = [
        commanded_motion(arm, Servo(**{**TRUE, "viscous": fv}), T, broadband_commands(T, [0.2, -0.3], 0.5), noise=2e-3)
        for fv in (0.36, 0.44)
    ]
    runs = FreeRuns(arm, search.runs.servo, pair, longest=3.0, threads=1)
    apart = Search(runs)
    there, equations = apart.run(runs.point(point.theta))
    unit = 1.0 / apart.inflation
    assert _heterogeneity(normal, point, 1.0 / search.inflation) < 3.0 < _heterogeneity(equations, there, unit)
    ratio = np.diag(covariance(apart, there, equations)[0])[2:] / np.diag(covariance(search, point, normal)[0])[2:]
    assert np.all(ratio > 2.0)


@pytest.mark.claim("where the model misses, intervals are as wide as what one motion more or less changes")
def test_motions_that_a_wrong_model_misses_differently_widen_the_intervals(arm):
    """The jackknife by hand: every motion is left out in turn, and the rest is identified anew."""
    t, u, spread = T[:150], broadband_commands, (0.36, 0.38, 0.40, 0.42, 0.44)
    data = [
        commanded_motion(arm, Servo(**{**TRUE, "viscous": [fv, 0.4]}), t, u(t, [0.2, -0.3], 0.6, seed=k),
                         noise=2e-4, name=f"motion {k}")
        for k, fv in enumerate(spread)
    ]  # fmt: skip
    options = SimulationOptions(terms=(), folds=0, threads=1, robust=1e6)

    def refitted(part):
        return identify_from_commands(arm, part, Servo(**{**TRUE, "kp": FREE, "viscous": FREE}), options)

    found = refitted(data)
    left = np.array([refitted([*data[:k], *data[k + 1 :]]).theta for k in range(5)])
    direct = np.sqrt(4 / 5 * ((left - left.mean(axis=0)) ** 2).sum(axis=0))
    one = found.estimates[2]
    assert one.name == "viscous shoulder" and one.sd == pytest.approx(direct[2], rel=0.1)
    assert one.high - one.value == pytest.approx(student.ppf(0.975, 4) * one.sd, rel=1e-6)
    assert all(e.sd > 0.9 * size for e, size in zip(found.estimates, direct, strict=True))


@pytest.mark.claim("a piece that tells nothing of a parameter, or whose equations have lost all digits, is left out")
def test_pieces_without_information_are_left_out(fitted):
    _, point, normal = fitted
    usual = _heterogeneity(normal, point, 1.0)
    blank = [replace(block, A=np.diag(np.full(len(block.A), -1e-9)), g=0.0 * block.g) for block in normal.blocks[0]]
    lost = [replace(block, A=block.A * np.inf) for block in normal.blocks[0]]
    assert _heterogeneity(replace(normal, blocks=[*normal.blocks, blank]), point, 1.0) == pytest.approx(usual)
    with np.errstate(all="ignore"):
        assert np.isfinite(_heterogeneity(replace(normal, blocks=[*normal.blocks, lost]), point, 1.0))


@pytest.mark.claim("errors of an encoder's steps, which a motion that repeats repeats, count once")
def test_steps_of_the_encoders_widen_the_intervals(arm):
    """A motion of 20 periods: rounding errs alike in each, noise of the same variance does not."""
    t = np.arange(500) * 0.02
    swing = 0.05 * np.column_stack([np.sin(4 * np.pi * t), np.cos(4 * np.pi * t)]) + [0.2, -0.3]
    options = SimulationOptions(terms=(), folds=0, threads=1)
    sizes = []
    for quantum, noise in ((0.0, 4e-3 / 12**0.5), (4e-3, 0.0)):
        data = commanded_motion(arm, Servo(**TRUE), t, swing, noise=noise, quantum=quantum)
        found = identify_from_commands(arm, [data], Servo(**{**TRUE, "kp": FREE, "bias": FREE}), options)
        sizes.append([e.sd for e in found.estimates])
    ratio = np.divide(*sizes[::-1])
    assert np.all(ratio > 2.0) and np.all(ratio < 2 * np.sqrt(20))


def test_what_the_weak_prior_gives_is_not_determined(fitted):
    search, point, normal = fitted
    wide, C = estimates(search, point, normal, np.full(4, np.inf), ())
    assert all(e.determined and e.low < e.value < e.high for e in wide)
    half = np.array([e.high - e.value for e in wide])
    assert half == pytest.approx(1.97 * np.sqrt(np.diag(C)), rel=0.01)
    narrow, _ = estimates(search, point, normal, np.array([np.inf, np.inf, 1e-6, np.inf]), ())
    assert [e.determined for e in narrow] == [True, True, False, True]
    assert (narrow[2].low, narrow[2].high) == (0.0, 1e4) and narrow[2].words.startswith("not determined")
    assumed, _ = estimates(search, point, normal, np.full(4, np.inf), (0,))
    assert [e.determined for e in assumed] == [False, True, False, True] and "ratio" in assumed[0].words


def test_partners_are_the_most_correlated(fitted):
    search, point, normal = fitted
    D = np.sqrt(np.diag(normal.A))
    rho = np.eye(4)
    rho[0, 2] = rho[2, 0] = 0.95  # of the information: the deviations trade with the other sign
    made, _ = estimates(search, point, replace(normal, A=rho * np.outer(D, D)), np.full(4, np.inf), ())
    assert made[0].partner == made[2].name and made[0].correlation == pytest.approx(-0.95, abs=0.02)
    assert f"traded with {made[2].name}" in made[0].words and made[1].partner == ""


def test_an_upper_bound_alone_is_seen(fitted):
    one = estimates(*fitted, np.full(4, np.inf), ())[0][2]
    assert not one.bounded_above_only
    assert replace(one, low=0.0).bounded_above_only and not replace(one, low=0.0, attribute="bias").bounded_above_only


def test_ratios_have_the_deviation_of_their_distribution():
    parameters = [Parameter(a, j, f"{a} {j}", FREE) for a, j in (("kp", 0), ("viscous", 0), ("bias", 0), ("kd", 1))]
    C = np.zeros((4, 4))
    C[:2, :2] = [[0.04, 0.0009], [0.0009, 0.0001]]
    theta = np.array([10.0, 0.5, 0.1, 0.2])
    found = gain_ratios(parameters, theta, C, 2.0)
    drawn = np.random.default_rng(0).multivariate_normal(theta[:2], C[:2, :2], 200_000)
    assert list(found) == ["viscous 0 / kp"]
    ratio, half = found["viscous 0 / kp"]
    assert ratio == pytest.approx(0.05) and half == pytest.approx(2 * np.std(drawn[:, 1] / drawn[:, 0]), rel=0.02)
