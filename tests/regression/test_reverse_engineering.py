"""Base parameters from a controller's mass matrices and gravity torques."""

import numpy as np

import casid
from casid.dynamics import Model
from casid.regression import reverse_engineer


def test_exact_numbers_of_a_controller_give_the_exact_base_parameters():
    model = Model(casid.load_robot("kuka_iiwa"))
    truth = model.robot.standard_parameters()
    poses = np.random.default_rng(2).uniform(-2.0, 2.0, (30, model.n))
    M = np.array([model.mass_matrix(q, truth).full() for q in poses])
    g = np.array([model.gravity(q, truth).full().ravel() for q in poses])
    found = reverse_engineer(model, poses, M, g)
    np.testing.assert_allclose(found.values, model.base.values(truth), atol=1e-8)
