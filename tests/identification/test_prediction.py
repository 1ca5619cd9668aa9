"""Predicted torques, and errors on parts of the motion that a fit did not see."""

from dataclasses import replace

import numpy as np
import pytest

from casid.errors import DatasetError
from casid.identification import Checks, Choice, Prediction, identify, predict
from casid.identification._prediction import Errors, held_out
from casid.measurement import Dataset
from casid.regression import compress, wls
from casid.regression.estimators import WLS


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


def test_held_out_errors_are_of_the_parts_left_out(model, noisy):
    data = compress(model, noisy)
    found = held_out(data, wls, lambda fit: fit.beta, folds=3)
    assert found.folds == 3 and found.stretches == len(data.segments)
    assert found.tested["consistent"].total == found.tested["unconstrained"].total > found.training["consistent"].total
    assert held_out(data.only([0]), wls, lambda fit: fit.beta) is None


@pytest.mark.claim("a held-out part is not seen by the fit that predicts it")
def test_fits_do_not_see_the_part_that_they_predict(model, noisy):
    data = compress(model, noisy)
    seen, squares = [], np.zeros((2, data.n))

    def fitted(part):
        seen.append(part.segments)
        return wls(part)

    found = held_out(data, fitted, lambda fit: fit.beta, folds=3)
    for fold, segments in enumerate(seen):
        apart = [i for i in range(len(data.segments)) if i % 3 == fold]
        assert not {id(data.segments[i]) for i in apart} & set(map(id, segments))
        assert len(segments) == len(data.segments) - len(apart)
        part = data.only(apart).plain
        beta = wls(data.only([i for i in range(len(data.segments)) if i % 3 != fold])).beta
        squares += part.squared_errors(beta), part.squared_torques
    assert found.tested["consistent"].total == pytest.approx(100 * np.sqrt(squares[0].sum() / squares[1].sum()))


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
    joints = Errors.of(squares, sizes)
    assert joints.total == pytest.approx(found.relative_error)
    np.testing.assert_allclose(joints.joints[sizes > 0], found.relative_errors[sizes > 0])
    assert np.isnan(joints.joints[2]) == masked


def test_recordings_and_parameters_that_do_not_fit_are_refused(model, truth, noisy):
    for wrong in (replace(noisy, ddq=None), replace(noisy, dq=None), noisy.columns(range(6), "")):
        with pytest.raises(DatasetError, match="a processed recording of 7 joints is needed"):
            predict(model, truth, wrong)


def test_a_record_has_no_number_where_nothing_was_measured(model, noisy):
    """Two folds of a joint without torques, with the number of each as it is done."""
    done = []
    found = held_out(compress(model, noisy.only(range(6))), wls, lambda fit: 0 * fit.beta, 2, done.append)
    assert done == [1, 2] and found.folds == 2
    record = found.record()
    assert record["stretches"] == 12 and record["held_out"]["unconstrained"]["joints"][6] is None
    assert record["held_out"]["consistent"]["total"] == pytest.approx(100.0)
    np.testing.assert_allclose(record["training"]["consistent"]["joints"][:6], 100.0)
    assert record["training"]["unconstrained"]["total"] < record["held_out"]["unconstrained"]["total"] < 100.0
