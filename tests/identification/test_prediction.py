"""Predicted torques, and errors on parts of the motion that a fit did not see."""

import csv
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import t

from casid.errors import DatasetError
from casid.identification import (
    OTHER_MOTIONS,
    Checks,
    Choice,
    ModelOptions,
    Prediction,
    identify,
    other_motion_errors,
    predict,
)
from casid.measurement import Dataset
from casid.regression import compress, wls
from casid.regression.estimators import WLS
from casid.testing import blind

ROOT = Path(__file__).resolve().parents[2]

FRICTION = ("viscous", "coulomb", "offset")


def test_parameters_by_name_and_as_numbers_predict_the_same(model, truth, noisy):
    by_name, numbers = (predict(model, values, noisy) for values in (model.named(truth), truth))
    np.testing.assert_array_equal(by_name.predicted, numbers.predicted)
    np.testing.assert_allclose(numbers.rms, 2.0, rtol=0.1)  # the noise
    with pytest.raises(DatasetError, match="expected 91 parameters, got shape"):
        predict(model, truth[:-1], noisy)


@pytest.mark.claim("house g: an estimator given as an object has the held-out error that its name has")
def test_named_estimators_and_objects_are_held_out_alike(robot, noisy):
    quick = {"choice": Choice(believable=False), "checks": Checks(folds=2, verdict=False)}
    by_name, by_object = (identify(robot, noisy, processing=False, estimator=e, **quick) for e in ("WLS", WLS()))
    assert by_object.held_out is not None
    assert by_object.held_out.record() == by_name.held_out.record()


def test_a_held_out_part_is_not_seen_by_the_fit_that_predicts_it(robot, model, noisy):
    """Errors recomputed from the data: each stretch by least squares on the stretches of the other parts."""
    quick = {"model": ModelOptions(FRICTION, "linear"), "choice": Choice(believable=False)}
    found = identify(robot, noisy, processing=False, checks=Checks(folds=3, verdict=False), **quick).held_out
    data, squares = compress(model, noisy), np.zeros((2, noisy.n))
    count = len(data.segments)
    for fold in range(3):
        beta = wls(data.only([i for i in range(count) if i % 3 != fold])).beta
        part = data.only([i for i in range(count) if i % 3 == fold]).plain
        squares += part.squared_errors(beta), part.squared_torques
    assert (found.folds, found.stretches) == (3, count)
    assert found.tested["unconstrained"].total == pytest.approx(100 * np.sqrt(squares[0].sum() / squares[1].sum()))
    assert found.tested["consistent"].total > found.training["consistent"].total


@pytest.mark.parametrize("masked", [False, True])
def test_errors_of_a_prediction_are_those_of_the_samples_that_count(masked):
    rng = np.random.default_rng(0)
    tau, predicted = rng.normal(size=(2, 30, 3))
    mask = rng.random((30, 3)) > 0.3 if masked else None
    if masked:
        mask[:, 2] = False
    found = Prediction(Dataset(np.arange(30.0), np.zeros((30, 3)), tau, mask=mask), predicted)
    squares, sizes, counts = np.zeros((3, 3))
    for i in range(30):
        for k in range(3):
            if not masked or mask[i, k]:
                squares[k] += (tau[i, k] - predicted[i, k]) ** 2
                sizes[k] += tau[i, k] ** 2
                counts[k] += 1
    np.testing.assert_allclose(found.mse, squares / np.maximum(counts, 1))
    np.testing.assert_allclose(found.rms, np.sqrt(squares / np.maximum(counts, 1)))
    expected = [100 * np.sqrt(e / t) if t else 0.0 for e, t in zip(squares, sizes, strict=True)]
    np.testing.assert_allclose(found.relative_errors, expected)
    assert found.relative_error == pytest.approx(100 * np.sqrt(squares.sum() / sizes.sum()))


def test_recordings_and_parameters_that_do_not_fit_are_refused(model, truth, noisy):
    for wrong in (replace(noisy, ddq=None), replace(noisy, dq=None), noisy.columns(range(6), "")):
        with pytest.raises(DatasetError, match="a processed recording of 7 joints is needed"):
            predict(model, truth, wrong)


def test_a_record_has_no_number_where_nothing_was_measured(robot, noisy):
    """A joint without torques."""
    quick = {"model": ModelOptions(FRICTION, "linear"), "choice": Choice(believable=False)}
    held = identify(robot, noisy.only(range(6)), processing=False, checks=Checks(folds=2, verdict=False), **quick)
    record = held.record()["held_out"]
    assert record["folds"] == 2 and record["stretches"] == 12
    for half in ("training", "held_out"):
        assert record[half]["unconstrained"]["joints"][6] is None and record[half]["consistent"]["joints"][5] > 0


def test_the_range_of_errors_on_other_motions_is_that_of_its_table():
    robots = {}
    with (ROOT / "scripts" / "benchmarks" / "real" / "other_motions.csv").open(newline="") as file:
        for row in csv.DictReader(file):
            if row["open"] == "0":
                robots.setdefault(row["robot"], []).append(np.log(float(row["error"]) / float(row["held_out"])))
    n, mean = len(robots), np.mean([np.mean(own) for own in robots.values()])
    deviation = np.sqrt(sum(np.mean((np.array(own) - mean) ** 2) for own in robots.values()) / (n - 1))
    assert OTHER_MOTIONS == pytest.approx((mean, deviation, n), abs=1e-4)
    low, high = other_motion_errors(2.0)
    half = t.ppf(0.95, n - 1) * deviation * np.sqrt(1 + 1 / n)
    assert (low, high) == pytest.approx((2 * np.exp(mean - half), 2 * np.exp(mean + half)), rel=1e-3)
    held = [np.mean((np.array(own) > np.log(low / 2)) & (np.array(own) < np.log(high / 2))) for own in robots.values()]
    assert np.mean(held) >= 0.9


def test_no_range_is_stated_where_nothing_is_held_out_or_a_motion_leaves_parameters_open(four, four_data):
    whole = identify(blind(four), four_data, processing=False, checks=Checks(folds=4, verdict=False))
    held = whole.held_out.tested["consistent"].total
    assert whole.other_motion_errors == other_motion_errors(held)
    assert replace(whole, held_out=None).other_motion_errors is None
    still = replace(four_data, **{name: getattr(four_data, name) * [1, 1, 1, 0] for name in ("q", "dq", "ddq")})
    assert identify(blind(four), still, processing=False, checks=Checks(4, False)).other_motion_errors is None
