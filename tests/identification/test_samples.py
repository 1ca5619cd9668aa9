"""Samples of the posterior about a choice, against draws that are thrown away where a robot could not be."""

import csv
import re
from pathlib import Path

import numpy as np
import pytest

from casid.dynamics import Model
from casid.errors import DatasetError
from casid.identification import Checks, Choice, RegressionProblem, Samples, identify, posterior_samples, predict
from casid.inertia import pseudo_inertia
from casid.regression import compress, wls
from casid.retrieval.plausible import misses
from casid.testing import blind, recording
from tests.helpers import first_joints, run


@pytest.fixture(scope="module")
def found(four, four_data):
    return identify(blind(four), four_data, checks=Checks(folds=0, verdict=False))


def test_samples_are_of_robots_that_can_exist_within_the_intervals_that_the_result_states(found):
    samples = found.samples(250)
    tens = samples.table[:, found.model.link_columns].reshape(len(samples), 4, 10)
    assert np.linalg.eigvalsh(pseudo_inertia(tens)).min() > 0
    masses = np.column_stack([tens[..., 9].sum(axis=1), tens[..., 9]])
    for entry, own in zip(found.mass_ranges, masses.T, strict=True):
        assert entry.low * (1 - 1e-9) <= own.min() < own.max() <= entry.high * (1 + 1e-9)
    centres = (tens[..., 6:9] / tens[..., 9:]).reshape(len(samples), -1)
    for entry, own in zip(found.centre_ranges, centres.T, strict=True):
        assert entry.low - 1e-9 <= own.min() <= own.max() <= entry.high + 1e-9


def test_moments_are_those_of_a_normal_distribution_of_which_the_impossible_is_thrown_away(arm):
    robot = blind(first_joints(arm, 2))
    model = Model(robot, ("viscous",))
    data = recording(model, model.parameters(first_joints(arm, 2).standard_parameters(), [4.0, 4.0]), noise=2.0)
    problem = RegressionProblem(wls(compress(model, data)), constraints=None)
    fit = problem.choose(problem.solve())
    x, c = fit.believable.x, misses("skeleton")[1].scale
    covariance = c**2 * fit.believable.covariance
    drawn = np.random.default_rng(3).multivariate_normal(x, covariance, size=300_000, method="eigh")
    bodies = pseudo_inertia(drawn[:, :20].reshape(-1, 2, 10))
    kept = drawn[(np.linalg.eigvalsh(bodies)[..., 0] > 1e-6).all(axis=1) & (drawn[:, 20:] >= 0).all(axis=1)]
    assert 1000 < len(kept) < 0.9 * len(drawn)  # walls are met
    samples = posterior_samples(fit, 6_000, seed=1)
    table = samples.table[:, problem.columns]
    sd = kept.std(axis=0)
    chance = np.sqrt(1 / len(kept) + 1 / samples.effective[problem.columns])
    assert np.all(np.abs(table.mean(axis=0) - kept.mean(axis=0)) < 4 * chance * sd)
    assert table.std(axis=0) == pytest.approx(sd, rel=0.06)


def test_offsets_follow_the_other_parameters_so_that_each_sample_predicts_the_torques(found, four_data):
    errors = [found.predict(found.datasets[0]).relative_error]
    samples = found.samples(64)
    errors += [predict(found.model, samples[k], found.datasets[0]).relative_error for k in range(3)]
    assert max(errors) < 3 * errors[0] + 2


def test_effective_samples_of_a_chain_that_repeats_itself_are_fewer():
    rng, rho = np.random.default_rng(0), 0.8
    values = rng.normal(size=(64, 400, 1))
    for k in range(1, 400):
        values[:, k] = rho * values[:, k - 1] + np.sqrt(1 - rho**2) * values[:, k]
    worth = Samples(None, values, 64 * 400).effective[0]
    assert worth == pytest.approx(64 * 400 * (1 - rho) / (1 + rho), rel=0.1)


def test_a_wrong_fit_has_no_samples_but_a_reason(found):
    with pytest.raises(DatasetError, match="one or more"):
        posterior_samples(found.feasible, 0)
    options = {"processing": False, "choice": Choice(believable=False), "checks": Checks(0, False)}
    without = identify(blind(found.model.robot), found.datasets[0], **options)
    with pytest.raises(DatasetError, match="no plausible links"):
        without.samples(10)


def test_the_command_writes_samples_and_their_ranges(tmp_path, four_data, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.savez("r.npz", t=four_data.t, q=four_data.q, dq=four_data.dq, ddq=four_data.ddq, tau=four_data.tau)
    words = ("identify", "ur10e", "r.npz", "--lock", "wrist_2_joint,wrist_3_joint", "--quick", "--samples", 70)
    text = run(*words, "--out", "found")
    assert re.search(r"samples.csv, ranges.csv", " ".join(text.split()))
    with Path("found/samples.csv").open() as file:
        rows = list(csv.reader(file))
    with Path("found/ranges.csv").open() as file:
        ranges = {name: (float(low), float(high)) for name, low, high in list(csv.reader(file))[1:]}
    assert len(rows) == 71 and all(low < high for low, high in ranges.values())
    assert "--out" in run(*words, code=2)
