"""Table 6.2: the WAM with inertial parameters alone, by WLS, LMI-SDP and point masses."""

from __future__ import annotations

from functools import cache

import numpy as np
from papers import wam_cases as thesis
from papers.methods.point_masses import PriorMasses, grid, mass_map, regression_by_masses
from papers.methods.wam import TRAJECTORIES, disturbed, processed, weighted_error

from casid.arrays import Array
from casid.dynamics import Model
from casid.identification import feasible_regression
from casid.regression import compress, wls

#: Weight of the prior term: G_p^2 over the mean squared effect of a point mass on the weighted torques.
PULL = 1e-3


@cache
def links_alone() -> Model:
    """Without friction and rotors."""
    return Model(thesis.model().robot)


def link_boxes() -> Array:
    """Boxes of Table 4.8, shape (7, 3, 2); y of link 3 turned, since the robot file leaves it free."""
    boxes = np.array([link.bounds.com for link in links_alone().robot.links], dtype=float)
    boxes[2, 1] = (-0.04, 0.55)
    return boxes


def inertial_errors(seed: int, periods: int) -> dict[str, float]:
    """Relative error of the weighted data [%] of every solution."""
    model = links_alone()
    data = compress(model, disturbed(processed("A", periods), seed, TRAJECTORIES.index("A")))
    fit = wls(data)
    R, rho, _ = data.stacked(fit.weights)
    W = R @ model.base.K
    maps = [mass_map(grid(box)) for box in link_boxes()]
    effect = np.concatenate([W[:, 10 * k : 10 * k + 10] @ A for k, A in enumerate(maps)], axis=1)
    weight = float(np.sqrt(PULL * np.mean(np.sum(effect**2, axis=0))))
    prior = PriorMasses.of_bodies(model.robot.standard_parameters(), maps, weight)
    found = {
        "beta_WLS": fit.beta,
        "beta* (LMI-SDP, casid)": feasible_regression(fit, consistency="semi", constraints=None).beta,
        "point masses, CAD prior": model.base.values(regression_by_masses(W, rho, maps, np.zeros(70), prior).x),
        "point masses, no prior": model.base.values(regression_by_masses(W, rho, maps, np.zeros(70)).x),
    }
    return {name: weighted_error(data, fit.weights, beta) for name, beta in found.items()}
