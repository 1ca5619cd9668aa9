"""Free runs: their derivatives, exact friction, and MuJoCo as an oracle."""

import numpy as np
import pytest

from casid.errors import RobotError
from casid.measurement._commands import held_commands
from casid.output_error import FREE, FreeRuns, Servo
from casid.output_error._rollout import Branch, branches
from casid.testing import MuJoCo, broadband_commands, commanded_motion, random_robot
from casid.testing._peers import random_body, standard_parameters

TRUE = {
    "kp": [12.0, 9.0],
    "kd": 0.3,
    "armature": 0.03,
    "viscous": 0.4,
    "coulomb": [0.1, 0.3],
    "bias": 0.01,
    "delay": 0.0131,
}


@pytest.fixture(scope="module")
def robot(arm):
    return arm


@pytest.fixture(scope="module")
def recording(robot):
    t = np.arange(300) * 0.02
    return commanded_motion(robot, Servo(**TRUE), t, broadband_commands(t, [0.2, -0.4], 0.5), quantum=1.5e-3)


def test_derivatives_are_those_of_finite_differences(robot, recording):
    limited = Servo(**dict.fromkeys(TRUE, FREE), limit=FREE, offset=FREE, links="scaled")
    runs = FreeRuns(robot, limited, [recording], 4e-3, np.inf, threads=1)
    values = {**TRUE, "limit": [1.5, 2.0], "offset": 0.05, "scale": 1.1}
    theta = np.array([np.broadcast_to(values[p.attribute], 2)[max(p.joint, 0)] for p in runs.parameters])
    point = runs.point(theta)
    ((S, places),) = runs.linearised(point, lambda i, b, places, x0, q, S: (S, places))[0]
    assert places == list(range(len(theta))) and S.shape == (300, 2, len(theta) + 4)
    for k, value in enumerate(theta):
        h = 1e-6 * max(abs(value), 1e-2)
        up, down = (runs.simulate(runs.point(theta + s * h * np.eye(len(theta))[k]))[0] for s in (1, -1))
        slope = (up - down) / (2 * h)
        assert np.median(np.abs(S[:, :, k] - slope)) <= 1e-4 * np.abs(slope).max() + 1e-9, runs.parameters[k].name
    start = point.starts[0].copy()
    for k in range(4):
        moved = [start + s * 1e-6 * np.eye(4)[k] for s in (1, -1)]
        up, down = (runs.simulate(type(point)(theta, [x]))[0] for x in moved)
        slope = (up - down) / 2e-6
        assert np.median(np.abs(S[:, :, len(theta) + k] - slope)) <= 1e-4 * np.abs(slope).max() + 1e-9


def test_friction_holds_a_joint_exactly(robot):
    t = np.arange(200) * 0.02
    u = np.tile([0.3, -0.2], (200, 1))
    stiff = {**TRUE, "coulomb": [5.0, 5.0], "bias": 0.0}
    held = commanded_motion(robot, Servo(**stiff), t, u)
    assert np.ptp(held.q, axis=0).max() == 0.0
    loose = commanded_motion(robot, Servo(**{**stiff, "coulomb": 0.0}), t, u)
    assert np.ptp(loose.q, axis=0).min() > 1e-2


def test_a_small_step_converges_to_the_equation_of_motion(robot):
    """Position error falls with the step; the limit obeys inverse dynamics (an independent evaluation)."""
    from casid.dynamics import Model

    t = np.arange(400) * 0.01
    u = broadband_commands(t, [0.2, -0.4], 0.4)
    smooth = {**TRUE, "coulomb": 0.0}
    coarse, fine, finest = (commanded_motion(robot, Servo(**smooth), t, u, step=h).q for h in (2e-3, 5e-4, 1e-4))
    assert np.abs(fine - finest).max() < 0.4 * np.abs(coarse - finest).max()
    dq = np.gradient(finest, t, axis=0)
    ddq = np.gradient(dq, t, axis=0)
    model, pi = Model(robot), robot.standard_parameters()
    late = [[held_commands(t, u[:, k], t + s - 0.0131)[1] for s in (5e-3, -5e-3)] for k in range(2)]
    delayed = np.column_stack([(a - b) / 0.01 for a, b in late])
    for i in range(50, 350, 60):
        tau = np.array(model.inverse_dynamics(finest[i], dq[i], ddq[i], pi)).ravel()
        servo = np.array(TRUE["kp"]) * (delayed[i] + 0.01 - finest[i]) - 0.3 * dq[i]
        assert servo == pytest.approx(tau + 0.03 * ddq[i] + 0.4 * dq[i], abs=0.05)


def test_a_branch_moves_as_in_the_whole_tree():
    """Torques of a branch do not depend on the others, and every coordinate stands in one branch."""
    from casid.dynamics import Model

    bare = next(r for r in (random_robot(seed, 4) for seed in range(20)) if len(branches(r)) > 1)
    rng = np.random.default_rng(0)
    robot = bare.with_parameters(standard_parameters([random_body(rng) for _ in bare.joints]))
    found = branches(robot)
    assert sorted(k for b in found for k in b) == list(range(robot.n))
    q, v, a = np.random.default_rng(0).normal(size=(3, robot.n))
    whole = np.array(Model(robot).inverse_dynamics(q, v, a, robot.standard_parameters())).ravel()
    for joints in found:
        motion, _ = Branch(robot, joints).functions
        place = list(joints)
        M, b = motion(q[place], v[place], np.ones(len(place)))
        assert np.array(M @ a[place] + b).ravel() == pytest.approx(whole[place], rel=1e-9, abs=1e-9)


def test_commands_are_held_or_interpolated():
    t, u = np.array([0.0, 1.0, 2.0]), np.array([0.0, 2.0, 1.0])
    value, integral = held_commands(t, u, [-1.0, 0.5, 1.5, 3.0])
    assert value.tolist() == [0.0, 0.0, 2.0, 1.0] and integral.tolist() == [0.0, 0.0, 1.0, 3.0]
    value, integral = held_commands(t, u, [0.5, 1.5], linear=True)
    assert value.tolist() == [1.0, 1.5] and integral.tolist() == [0.25, 1.875]


def test_followers_are_refused(arm):
    from dataclasses import replace

    from casid.description._parts import Mimic

    joints = (arm.joints[0], replace(arm.joints[1], mimic=Mimic(0, 1.0, 0.0)))
    with pytest.raises(RobotError, match="follow"):
        branches(replace(arm, joints=joints, limits=type(arm.limits).unlimited(1)))


def test_the_written_mjcf_moves_like_the_free_run(robot, tmp_path):
    pytest.importorskip("mujoco", reason="needs MuJoCo: pip install casid[peers]")
    from casid.output_error import identify_from_commands, write_mjcf

    t = np.arange(400) * 0.02
    servo = Servo(**{**TRUE, "delay": 0.0})
    data = commanded_motion(robot, servo, t, broadband_commands(t, [0.2, -0.4], 0.5), step=4e-3)
    found = identify_from_commands(robot, [data], Servo(delay=0.0, kd=0.3))
    path, _ = write_mjcf(found, tmp_path / "found.xml")
    engine, mine = MuJoCo(path, robot), found.simulate(data)
    engine.start(data.q[0], np.zeros(2), 0.002)
    replay = [data.q[0], *([engine.command(u, 0.002) for _ in range(10)][-1] for u in data.q_des[:-1])]
    assert np.sqrt(np.mean((np.array(replay) - mine) ** 2)) < 1e-3
