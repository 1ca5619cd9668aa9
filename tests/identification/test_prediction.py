"""Predicted torques, and errors on parts of the motion that a fit did not see."""

import numpy as np
import pytest

from casid.errors import DatasetError
from casid.identification import Checks, Choice, identify, predict
from casid.identification._prediction import held_out
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
