"""Problems whose answer is known: the nearest consistent parameters to a target."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from casid.description import Inertial, Joint, Link, LinkBounds, Robot
from casid.inertia import to_standard
from casid.retrieval import least_squares
from casid.retrieval._problem import Problem
from casid.retrieval._variables import LinkVariables, link_variables
from casid.retrieval.constraints._bounds import com_box, mass_bounds

BODY = to_standard(2.0, [0.05, -0.02, 0.1], np.diag([0.03, 0.04, 0.02]))


def arm(n: int = 1, inertial: Inertial | None = None) -> Robot:
    bounds = LinkBounds(np.array([0.5, 8.0]), np.tile([-0.3, 0.3], (3, 1)))
    joints = tuple(Joint(f"joint{k + 1}", "revolute", k - 1, Link(f"link{k + 1}", inertial, bounds)) for k in range(n))
    return Robot("arm", joints)


def nearest(
    target: np.ndarray,
    build: Callable[[LinkVariables], object] = lambda v: (),
    extras: Mapping[str, tuple[float, float]] | None = None,
    bounded: bool = True,
    **options: Any,
) -> Problem:
    """The nearest consistent parameters to a target."""
    variables = link_variables(arm((len(target) - len(extras or {})) // 10), extras)
    own = [f(k) for k in variables for f in (mass_bounds, com_box)] if bounded else []
    objective = least_squares(variables, np.eye(variables.size), target)
    return Problem("nearest", variables, objective, (own, build(variables)), **options)
