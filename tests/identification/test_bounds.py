"""Default bounds of an identification: scaled by the robot's size and torques."""

import numpy as np
import pytest

from casid.errors import ProblemError
from casid.identification._bounds import default_bounds, largest_mass, largest_torques, split_bounds, with_link_bounds
from casid.retrieval import link_variables


def test_masses_are_bounded_by_what_the_joints_hold(robot, noisy):
    torques, speeds = largest_torques([noisy])
    assert (torques == np.abs(noisy.tau).max(axis=0)).all() and (speeds > 0).all()
    assert largest_mass(robot) > max(robot.standard_parameters()[9::10])
    made = default_bounds(robot, torques)(link_variables(robot))
    assert len({constraint.label for constraint in made}) == len(made) >= 2 * len(robot.links)


def test_bounds_of_single_parameters(robot):
    links, terms = split_bounds({"m7": (0, 3), "fc2": (0, 1)})
    assert links == {"m7": (0, 3)} and terms == {"fc2": (0, 1)}
    assert with_link_bounds(None, {}) is None
    with pytest.raises(ProblemError, match="there is no parameter 'm9'"):
        with_link_bounds(None, {"m9": (0, 1)})(link_variables(robot))
