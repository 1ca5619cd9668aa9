"""Columns of the regressor at the samples of recordings."""

import numpy as np
import pytest

from casid.dynamics import Model
from casid.errors import DatasetError
from casid.measurement import Dataset
from casid.regression._observation import observation_blocks, pattern, torques
from casid.testing._synthetic import recording


def test_blocks_are_the_regressor_sample_by_sample(model, truth):
    data = recording(model, truth, samples=50)
    W = np.concatenate([block for _, block in observation_blocks(model, data)])
    np.testing.assert_allclose(W @ model.base.values(truth), torques(model, truth, data), atol=1e-9)
    assert not W[:, ~pattern(model.base_regressor)].any()


def test_recordings_that_do_not_fit_are_refused(model):
    with pytest.raises(DatasetError, match="has 2 joints, the model has 7"):
        next(observation_blocks(model, Dataset(np.arange(20.0), np.zeros((20, 2)), np.zeros((20, 2)))))
    with pytest.raises(DatasetError, match="no velocities or accelerations"):
        next(observation_blocks(Model("spatial_2r"), Dataset(np.arange(20.0), np.zeros((20, 2)), np.zeros((20, 2)))))
