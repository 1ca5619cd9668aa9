"""What tests of several rooms need: the command line in this process, a C compiler or none, problems, motions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from casid.cli import app
from casid.codegen import find_compiler
from casid.description import Limits, Robot, load_robot
from casid.dynamics import Model
from casid.inertia import skew, tensor
from casid.motion import Basis, Fourier, QuinticSpline, Ramped, Trajectory
from casid.retrieval import LinkVariables, Problem, com_box, least_squares, link_variables, mass_bounds
from casid.testing import arm, random_body, standard_parameters

RUNNER = CliRunner()
#: Standard parameters of two links that can exist.
BODIES = [0.3, 0.01, 0.02, 0.3, 0.01, 0.2, 0.1, 0.05, 0.1, 2.0, 0.2, 0.01, 0.01, 0.2, 0.01, 0.1, 0.2, 0.05, 0.1, 1.5]
needs_compiler = pytest.mark.skipif(find_compiler() is None, reason="needs a C compiler")


def run(*arguments: object, code: int = 0) -> str:
    """Everything the command printed; its exit code is checked and a Python traceback refused."""
    result = RUNNER.invoke(app, [str(argument) for argument in arguments])
    assert result.exit_code == code, result.output
    assert result.exception is None or isinstance(result.exception, SystemExit)
    return result.output


def two_links() -> Robot:
    """The robot ``spatial_2r`` with bodies."""
    return load_robot("spatial_2r").with_parameters(BODIES)


def first_joints(robot: Robot, count: int) -> Robot:
    """The robot without what lies beyond its first joints, and without limits."""
    return replace(
        robot, joints=robot.joints[:count], limits=Limits.unlimited(count), transmission=None, frames=(), capsules=()
    )


def random_parameters(model: Model, seed: int) -> np.ndarray:
    """Parameters of a model: those of random bodies, and terms between 0.1 and 1."""
    rng = np.random.default_rng(seed)
    bodies = standard_parameters([random_body(rng) for _ in model.robot.joints])
    return model.parameters(bodies, rng.uniform(0.1, 1.0, len(model.parameter_names) - len(bodies)))


def spatial_inertia(parameters: np.ndarray) -> np.ndarray:
    """``[[L, S(l)'], [S(l), m 1]]``."""
    moment = skew(parameters[6:9])
    return np.block([[tensor(parameters[:6]), moment.T], [moment, parameters[9] * np.eye(3)]])


def close(value: object, expected: object, tolerance: float = 1e-11) -> None:
    """Assert that both agree, relative to the largest expected number or to 1."""
    expected = np.array(expected, dtype=float)
    value = np.array(value, dtype=float).reshape(expected.shape)
    assert np.abs(value - expected).max() <= tolerance * max(1.0, np.abs(expected).max())


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


#: One basis of each kind and form, static poses apart.
BASES: list[Basis] = [
    Fourier(0.5, 5),
    Fourier(0.7, 3, "position", periods=2),
    QuinticSpline(10.0, 12),
    QuinticSpline(8.0, 9, rest=False),
    Ramped(Fourier(0.5, 4), 1.5),
]


def random_trajectory(basis: Basis, n: int = 3, seed: int = 4) -> Trajectory:
    """Random motion of n joints about 0.3."""
    rng = np.random.default_rng(seed)
    return Trajectory(basis, np.array([basis.random(rng) + basis.constant(0.3) for _ in range(n)]))
