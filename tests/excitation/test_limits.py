"""Joint limits and constraints on the states: gradients, certification, refusals."""

from __future__ import annotations

from dataclasses import replace

import casadi as ca
import numpy as np
import pytest

import casid
from casid.description import Capsule, Robot
from casid.errors import ProblemError
from casid.excitation import (
    CollisionConstraint,
    Designer,
    FunctionConstraint,
    MotionLimits,
    Observation,
    certify_limits,
    torque_limits,
    workspace_box,
)
from casid.excitation.optimisation import Stage
from casid.motion import Basis, Fourier, Motion, Trajectory
from tests.helpers import BASES, random_trajectory

MOTIONS = pytest.mark.parametrize("basis", BASES, ids=lambda basis: f"{type(basis).__name__}-{basis.size}")


@MOTIONS
def test_certified_limits_are_tight_and_never_too_small(basis: Basis) -> None:
    trajectory = random_trajectory(basis)
    far = np.full((4, 3), 1e3)
    limits = MotionLimits(trajectory.joints, -far, far)
    t = np.linspace(*basis.span, 40001)
    t = np.sort(np.concatenate([t, *(b + np.array([-2e-6, 2e-6]) for b in (*basis.breaks, *basis.span))]))
    t = t[(t >= basis.span[0]) & (t <= basis.span[1])]
    inner = t[np.min([np.abs(t - b) for b in (*basis.breaks, -99.0)], axis=0) > 1e-6]
    checks = certify_limits(trajectory, limits)
    assert len(checks) == 12
    for check in checks:
        order = ("position", "velocity", "acceleration", "jerk").index(check.quantity)
        values = trajectory.derivative(inner, order)[:, trajectory.joints.index(check.joint)]
        size = np.abs(values).max()
        assert values.max() <= check.high <= values.max() + 1e-4 * size
        assert values.min() >= check.low >= values.min() - 1e-4 * size
        assert check.excess < 0


def test_certification_finds_a_peak_between_samples() -> None:
    basis = Fourier(1.0, 4)
    trajectory = Trajectory(basis, np.array([[0, 0, 0, 4.0, 0, 0, 0, 0, 0.0]]))  # velocity 4 cos 4 t
    far = np.full((4, 1), 1e3)
    top = far.copy()
    top[1] = 3.9999
    (velocity,) = (c for c in certify_limits(trajectory, MotionLimits(("a",), -far, top)) if c.quantity == "velocity")
    assert velocity.excess == pytest.approx(1e-4, rel=1e-2)


def test_limits_that_cannot_be_used_name_the_joint() -> None:
    wam = casid.load_robot("wam7")
    with pytest.raises(ProblemError, match="no velocity or acceleration limit for joint1"):
        MotionLimits.of_robot(wam)
    panda = casid.load_robot("panda")
    still = np.array(panda.limits.velocity)
    still[3] = 0.0

    with pytest.raises(ProblemError, match="joint 'joint4': its velocity limits"):
        MotionLimits.of_robot(panda, limits=replace(panda.limits, velocity=still))
    with pytest.raises(ProblemError, match=r"joint 'joint4' at 0.5 is outside"):
        MotionLimits.of_robot(panda).check_pose([0, 0, 0, 0.5, 0, 1, 0], "start pose")


def test_gradients_of_the_constraints(random_motion, panda: Robot) -> None:
    model = casid.Model(panda)
    motion = random_motion()
    for constraint in (
        CollisionConstraint(panda, (Capsule("ball", -1, np.eye(3)[0], np.eye(3)[0], 0.1),)),
        torque_limits(model, panda.standard_parameters()),
        workspace_box(model, "flange", -1.0, 1.0),
    ):
        values, jacobian = constraint.jacobian(motion)
        assert values == pytest.approx(constraint.values(motion))
        h = 1e-6
        for order in range(3):
            for k in range(7):
                ahead, behind = ([x.copy() for x in motion] for _ in range(2))
                ahead[order][:, k] += h
                behind[order][:, k] -= h
                slope = (constraint.values(Motion(*ahead)) - constraint.values(Motion(*behind))) / (2 * h)
                assert slope == pytest.approx(jacobian[:, 7 * order + k], abs=1e-6 * max(1, np.abs(jacobian).max()))


@pytest.mark.slow
def test_state_constraints_hold_on_a_finer_grid(panda: Robot) -> None:
    observation = Observation.of_model(casid.Model(panda))
    model = casid.Model(panda)
    constraints = (
        CollisionConstraint(panda),
        torque_limits(model, panda.standard_parameters(), 0.6 * panda.limits.effort),
        workspace_box(model, "flange", (-np.inf, -np.inf, 0.1), np.inf),
    )
    limits = MotionLimits.of_robot(panda, share=0.5)
    designer = Designer(observation, Fourier(0.6, 2), limits, constraints=constraints, samples=40)
    design = designer.run(stages=(Stage(0.2, 2.0, 20),), seed=3)
    motion = design.trajectory.motion(np.linspace(0, 2 * np.pi / 0.6, 1001))
    for constraint in constraints:
        assert constraint.violation(motion) <= 1e-4
        assert design.violations[constraint.name] <= 1e-7
    assert design.value < design.starts[0].initial


def test_wrong_observations_and_constraints_are_refused(arm: Robot) -> None:
    x = ca.SX.sym("x", 2)
    with pytest.raises(ProblemError, match="expected a function"):
        Observation(ca.Function("f", [x], [x], ["x"], ["Y"]), ["a"])
    with pytest.raises(ProblemError, match="standard deviations"):
        Observation.of_model(casid.Model(arm), noise=[1.0, 0.0])
    with pytest.raises(ProblemError, match="cross"):
        FunctionConstraint("c", ca.Function("c", [x], [x], ["q"], ["c"]), 1.0, 0.0)
    with pytest.raises(ProblemError, match="nominal parameters"):
        torque_limits(casid.Model(arm), np.zeros(3))
