"""Free runs: their derivatives, exact friction, and MuJoCo as an oracle."""

import numpy as np
import pytest

from casid.description import load_robot
from casid.drives import FREE, CommandRecording, FreeRuns, Servo, held_commands
from casid.drives._rollout import Branch, branches, tilted_gravity
from casid.errors import DatasetError, RobotError
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
        moved = [start + s * 1e-6 * np.eye(8)[k] for s in (1, -1)]
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


@pytest.mark.parametrize("seed", range(4))
def test_friction_is_complementary_in_every_step(robot, seed):
    """``H v+ = r - h f`` with ``f = fc sign(v+)`` where a joint slides and ``|f| <= fc`` where it stands."""
    from casid.dynamics import Model

    rng, n, h = np.random.default_rng(seed), 2, 4e-3
    fc, kp, fv, ia = rng.uniform(0.0, 1.5, n), rng.uniform(5.0, 20.0, n), 0.1, 0.02
    t = np.arange(400) * h
    u = broadband_commands(t, np.zeros(n), 0.4, highest=2.0, seed=seed)
    servo = Servo(kp=kp.tolist(), armature=ia, viscous=fv, coulomb=fc.tolist(), bias=0.0, delay=0.0)
    runs = FreeRuns(robot, servo, [CommandRecording(t, np.zeros((400, n)), u)], h, np.inf, threads=1)
    point = runs.point(np.zeros(0))
    q = runs.simulate(point)[0]
    v = np.vstack([point.starts[0][n : 2 * n], np.diff(q, axis=0) / h])
    model, pi = Model(robot), robot.standard_parameters()
    late = [[held_commands(t, u[:, k], t + s * h)[1] for s in (0.5, -0.5)] for k in range(n)]
    command = np.column_stack([(a - b) / h for a, b in late])
    stands = 0
    for i in range(1, 399):
        M = np.array(model.mass_matrix(q[i], pi)) + ia * np.eye(n)
        still = np.array(model.inverse_dynamics(q[i], v[i], np.zeros(n), pi)).ravel()
        pull = kp * (command[i] - q[i]) - still - fv * (v[i] + v[i + 1]) / 2
        f = pull - M @ (v[i + 1] - v[i]) / h
        slides = np.abs(v[i + 1]) > 1e-9
        assert f[slides] == pytest.approx((fc * np.sign(v[i + 1]))[slides], abs=1e-6)
        assert np.all(np.abs(f) <= fc + 1e-6)
        stands += int((~slides).sum())
    assert 40 < stands < 700


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
        M, b = motion(q[place], v[place], np.append(np.ones(len(place)), [0.0, 0.0]))
        assert np.array(M @ a[place] + b).ravel() == pytest.approx(whole[place], rel=1e-9, abs=1e-9)


def test_commands_are_held_or_interpolated():
    t, u = np.array([0.0, 1.0, 2.0]), np.array([0.0, 2.0, 1.0])
    value, integral = held_commands(t, u, [-1.0, 0.5, 1.5, 3.0])
    assert value.tolist() == [0.0, 0.0, 2.0, 1.0] and integral.tolist() == [0.0, 0.0, 1.0, 3.0]
    value, integral = held_commands(t, u, [0.5, 1.5], linear=True)
    assert value.tolist() == [1.0, 1.5] and integral.tolist() == [0.25, 1.875]


def test_followers_are_refused(arm):
    from dataclasses import replace

    from casid.description import Mimic

    joints = (arm.joints[0], replace(arm.joints[1], mimic=Mimic(0, 1.0, 0.0)))
    with pytest.raises(RobotError, match="follow"):
        branches(replace(arm, joints=joints, limits=type(arm.limits).unlimited(1)))


def test_the_written_mjcf_moves_like_the_free_run(robot, tmp_path):
    pytest.importorskip("mujoco", reason="needs MuJoCo: pip install casid[peers]")
    from casid.drives import identify_from_commands, write_mjcf

    t = np.arange(400) * 0.02
    servo = Servo(**{**TRUE, "delay": 0.0})
    data = commanded_motion(robot, servo, t, broadband_commands(t, [0.2, -0.4], 0.5), step=4e-3)
    found = identify_from_commands(robot, [data], Servo(delay=0.0, kd=0.3))
    path, _ = write_mjcf(found, tmp_path / "found.xml")
    engine, mine = MuJoCo(path, robot), found.simulate(data)
    engine.start(data.q[0], np.zeros(2), 0.002)
    replay = [data.q[0], *([engine.command(u, 0.002) for _ in range(10)][-1] for u in data.q_des[:-1])]
    assert np.sqrt(np.mean((np.array(replay) - mine) ** 2)) < 1e-3


def _slopes_agree(robot, servo, values, data, tolerance=1e-4):
    """Derivatives of free runs against central differences, in the median of samples and joints."""
    runs = FreeRuns(robot, servo, [data], 2e-3, np.inf, threads=1)
    theta = np.array([np.broadcast_to(values[p.attribute], 2)[max(p.joint, 0)] for p in runs.parameters])
    point = runs.point(theta)
    (S,) = runs.linearised(point, lambda i, b, places, x0, q, S: S)[0]
    for k, value in enumerate(theta):
        h = 1e-6 * max(abs(value), 1e-2)
        up, down = (runs.simulate(runs.point(theta + s * h * np.eye(len(theta))[k]))[0] for s in (1, -1))
        slope = (up - down) / (2 * h)
        assert np.median(np.abs(S[:, :, k] - slope)) <= tolerance * np.abs(slope).max() + 1e-9, runs.parameters[k].name
        assert np.abs(slope).max() > 0, runs.parameters[k].name


@pytest.mark.parametrize("encoder", ["link", "drive"])
@pytest.mark.parametrize("play", [0.0, 0.02])
def test_derivatives_of_elastic_joints(robot, encoder, play):
    values = {**TRUE, "stiffness": [40.0, 25.0], "joint_damping": 0.1, "backlash": play, "warm_up": 0.4,
              "warm_time": 3.0}  # fmt: skip
    t = np.arange(200) * 0.02
    data = commanded_motion(robot, Servo(**values, encoder=encoder), t, broadband_commands(t, [0.2, -0.4], 0.5))
    free = {name: FREE for name in values if play or name != "backlash"}
    _slopes_agree(robot, Servo(**free, encoder=encoder), values, data)


def test_derivatives_of_play_without_elasticity(robot):
    values = {**TRUE, "backlash": [0.03, 0.02]}
    t = np.arange(200) * 0.02
    data = commanded_motion(robot, Servo(**values), t, broadband_commands(t, [1.5, 0.1], 0.6, highest=2.0))
    _slopes_agree(robot, Servo(**dict.fromkeys(values, FREE)), values, data, 1e-3)


@pytest.mark.parametrize("encoder", ["link", "drive"])
@pytest.mark.parametrize("play", [0.0, 0.04])
def test_elastic_joints_obey_their_equations(robot, encoder, play):
    """Against a general integrator of the equations of motion of drives and links."""
    from scipy.integrate import solve_ivp

    from casid.dynamics import Model

    k, d, kp, ia, fv = np.array([40.0, 25.0]), 0.1, np.array([12.0, 9.0]), 0.03, 0.4
    servo = Servo(kp=kp.tolist(), kd=0.2, armature=ia, viscous=fv, coulomb=0.0, bias=0.0, delay=0.0,
                  stiffness=k.tolist(), joint_damping=d, backlash=play, encoder=encoder, hold="linear")  # fmt: skip
    t = np.arange(80) * 0.02
    u = broadband_commands(t, [0.2, -0.4], 0.5)
    data = commanded_motion(robot, servo, t, u, step=2e-4)
    model, pi = Model(robot), robot.standard_parameters()

    def torque(x, q, dx, dq):
        y = k * (x - q) + d * (dx - dq)
        return y - np.clip(y, -k * play / 2, k * play / 2)

    def slope(time, z):
        q, x, dq, dx = z.reshape(4, 2)
        tau, seen = torque(x, q, dx, dq), q if encoder == "link" else x
        asked = np.array([np.interp(time, t, u[:, j]) for j in range(2)])
        still = np.array(model.inverse_dynamics(q, dq, np.zeros(2), pi)).ravel()
        ddq = np.linalg.solve(np.array(model.mass_matrix(q, pi)), tau - still)
        ddx = (kp * (asked - seen) - (0.2 + fv) * dx - tau) / ia
        return np.concatenate([dq, dx, ddq, ddx])

    q0 = u[0]
    load = np.array(model.inverse_dynamics(q0, np.zeros(2), np.zeros(2), pi)).ravel()
    apart = load / k + np.sign(load) * play / 2
    first = [q0, q0 + apart] if encoder == "link" else [q0 - apart, q0]
    start = np.concatenate([*first, np.zeros(4)])
    exact = solve_ivp(slope, (0, t[-1]), start, t_eval=t, rtol=1e-6, atol=1e-8, max_step=1e-2).y
    seen = exact[:2] if encoder == "link" else exact[2:4]
    assert np.abs(data.q - seen.T).max() < 2e-3 * np.ptp(seen)
    rigid = commanded_motion(robot, Servo(**{**_known(servo), "stiffness": np.inf, "backlash": 0.0}), t, u, step=2e-4)
    assert np.abs(data.q - rigid.q).max() > 3e-3


def _known(servo):
    from dataclasses import fields

    return {f.name: getattr(servo, f.name) for f in fields(servo)}


def test_friction_is_warmed_up(robot):
    """A recording that begins warm moves as one without the term; a cold one as with the larger friction."""
    t = np.arange(200) * 0.02
    u = broadband_commands(t, [0.2, -0.4], 0.5)
    warm = commanded_motion(robot, Servo(**TRUE), t, u).q
    drifting = Servo(**TRUE, warm_up=0.5, warm_time=1.0)
    assert np.abs(commanded_motion(robot, drifting, t + 50.0, u).q - warm).max() < 1e-9
    cold = {**TRUE, "viscous": 0.6, "coulomb": [0.15, 0.45]}
    slow = Servo(**TRUE, warm_up=0.5, warm_time=1e5)
    assert np.abs(commanded_motion(robot, slow, t, u).q - commanded_motion(robot, Servo(**cold), t, u).q).max() < 1e-4
    assert np.abs(commanded_motion(robot, slow, t, u).q - warm).max() > 1e-2


BRUSHED = {**TRUE, "coulomb": [0.3, 0.2], "bristle_stiffness": [15.0, 8.0], "bristle_damping": 0.05}


@pytest.mark.parametrize(
    "more", [{}, {"load_friction": 0.1, "stribeck": 0.1, "stribeck_speed": 0.3}, {"stiffness": 40.0, "warm_up": 0.4}]
)
def test_derivatives_of_friction_with_memory(robot, more):
    t = np.arange(200) * 0.02
    values = {**BRUSHED, **more}
    data = commanded_motion(robot, Servo(**values), t, broadband_commands(t, [0.2, -0.4], 0.3))
    _slopes_agree(robot, Servo(**dict.fromkeys(values, FREE)), values, data, 1e-3)


@pytest.mark.parametrize("more", [{}, {"warm_up": 0.4, "warm_time": 2.0}, {"bristle_stiffness": 15.0}])
def test_derivatives_of_friction_that_differs_by_direction(robot, more):
    t = np.arange(200) * 0.02
    values = {**TRUE, "viscous_asymmetry": [0.15, -0.2], "offset": 0.05, "offset_drift": [0.04, -0.03], **more}
    data = commanded_motion(robot, Servo(**values), t, broadband_commands(t, [0.2, -0.4], 0.4))
    _slopes_agree(robot, Servo(**dict.fromkeys(values, FREE)), values, data, 1e-3)


def test_a_tilted_base_is_another_gravity(robot):
    """About x and y by the right hand: gravity in the base's frame turns by the opposite rotation."""
    from dataclasses import replace

    t = np.arange(200) * 0.02
    u = broadband_commands(t, [0.2, -0.4], 0.4)
    values = {**TRUE, "tilt_x": 0.1, "tilt_y": -0.2}
    data = commanded_motion(robot, Servo(**values), t, u)
    turned = robot.gravity + np.cross(robot.gravity, [0.1, -0.2, 0.0])
    turned *= np.linalg.norm(robot.gravity) / np.linalg.norm(turned)
    assert tilted_gravity(robot.gravity, np.array([0.1, -0.2])) == pytest.approx(turned)
    other = commanded_motion(replace(robot, gravity=turned), Servo(**TRUE), t, u)
    assert np.abs(data.q - other.q).max() < 1e-9
    assert np.abs(data.q - commanded_motion(robot, Servo(**TRUE), t, u).q).max() > 1e-3
    _slopes_agree(robot, Servo(**dict.fromkeys(TRUE, FREE), tilt_y=FREE), values | {"tilt_x": 0.0}, data, 1e-3)
    with pytest.raises(DatasetError, match="tilt_x is one value"):
        Servo(tilt_x=[0.1, 0.2]).of("tilt_x", 2)


@pytest.mark.parametrize("more", [{}, {"limit": [1.4, 1.0]}, {"stiffness": 40.0}])
def test_derivatives_of_a_servos_integral(robot, more):
    t = np.arange(200) * 0.02
    values = {**TRUE, "ki": [20.0, 6.0], **more}  # an offset has no effect: the integral holds it
    data = commanded_motion(robot, Servo(**values), t, broadband_commands(t, [0.2, -0.4], 0.4))
    links = "nominal" if "stiffness" in more else "scaled"
    _slopes_agree(robot, Servo(**dict.fromkeys(values, FREE), links=links), {**values, "scale": 1.0}, data, 1e-3)


def test_a_servos_integral_obeys_its_law(robot):
    """PI against a general integrator; the first sample is held, whatever the load."""
    from scipy.integrate import solve_ivp

    from casid.dynamics import Model

    kp, ki, ia, fv = np.array([12.0, 9.0]), np.array([20.0, 8.0]), 0.03, 0.4
    known = {"kp": kp.tolist(), "armature": ia, "viscous": fv, "coulomb": 0.0, "bias": 0.0, "delay": 0.0}
    t = np.arange(200) * 0.02
    u = broadband_commands(t, [0.2, -0.4], 0.3)
    data = commanded_motion(robot, Servo(**known, ki=ki.tolist(), hold="linear"), t, u, step=2e-4)
    model, pi = Model(robot), robot.standard_parameters()

    def slope(time, z):
        q, v, w = z.reshape(3, 2)
        away = np.array([np.interp(time, t, u[:, j]) for j in range(2)]) - q
        still = np.array(model.inverse_dynamics(q, v, np.zeros(2), pi)).ravel()
        H = np.array(model.mass_matrix(q, pi)) + ia * np.eye(2)
        return np.concatenate([v, np.linalg.solve(H, kp * away + w - still - fv * v), ki * away])

    held = np.array(model.inverse_dynamics(data.q[0], np.zeros(2), np.zeros(2), pi)).ravel() - kp * (u[0] - data.q[0])
    first = np.concatenate([data.q[0], np.zeros(2), held])
    exact = solve_ivp(slope, (0, t[-1]), first, t_eval=t, rtol=1e-7, atol=1e-9, max_step=1e-2).y[:2].T
    assert np.abs(data.q - exact).max() < 1e-3 * np.ptp(exact)
    plain = commanded_motion(robot, Servo(**known, hold="linear"), t, u, step=2e-4)
    assert np.abs(data.q - plain.q).max() > 3e-2


def test_friction_that_differs_by_direction_obeys_its_law(tmp_path):
    """Terminal speeds under a constant force: ``(fv + fva sign(v)) v = force - fc sign(v) - fo - fod t``."""
    path = tmp_path / "axis.urdf"
    path.write_text(
        '<robot name="axis"><link name="base"/><link name="car"><inertial><mass value="0.5"/><inertia ixx="1e-9" '
        'ixy="0" ixz="0" iyy="1e-9" iyz="0" izz="1e-9"/></inertial></link><joint name="x" type="prismatic"><parent '
        'link="base"/><child link="car"/><axis xyz="1 0 0"/><limit lower="-9" upper="9" effort="9" velocity="9"/>'
        "</joint></robot>"
    )
    axis, t = load_robot(path), np.arange(400) * 0.01
    known = Servo(kp=0.0, bias=0.0, delay=0.0, armature=1e-6, viscous=10.0, viscous_asymmetry=4.0, coulomb=1.0,
                  offset=0.5, offset_drift=0.25)  # fmt: skip
    for force, expected in ((6.0, (6.0 - 1.0 - 0.5) / 14.0), (-6.0, -(6.0 - 1.0 + 0.5) / 6.0)):
        zero = np.zeros((400, 1))
        data = CommandRecording(t, zero, zero, torque=np.full((400, 1), force))
        runs = FreeRuns(axis, known, [data], 1e-3, np.inf, threads=1)
        q = runs.simulate(runs.point(np.zeros(0)))[0][:, 0]
        speed = np.gradient(q, t)[200:-1]
        slope = -0.25 / (14.0 if force > 0 else 6.0)
        lag = 0.5 / (14.0 if force > 0 else 6.0)  # mass over viscous friction
        assert speed == pytest.approx(expected + slope * (t[200:-1] - lag), abs=1e-3)


def test_friction_with_memory_obeys_its_equations(robot):
    """LuGre's equations by a general integrator; rigid bristles are exact stick."""
    from scipy.integrate import solve_ivp

    from casid.dynamics import Model

    k, d, fc, kp, ia, fv = np.array([15.0, 8.0]), 0.05, np.array([0.3, 0.2]), np.array([12.0, 9.0]), 0.03, 0.1
    known = {"kp": kp.tolist(), "armature": ia, "viscous": fv, "coulomb": fc.tolist(), "bias": 0.0, "delay": 0.0}
    t = np.arange(120) * 0.02
    u = broadband_commands(t, [0.2, -0.4], 0.2)
    servo = Servo(**known, bristle_stiffness=k.tolist(), bristle_damping=d, hold="linear")
    data = commanded_motion(robot, servo, t, u, step=2e-4)
    model, pi = Model(robot), robot.standard_parameters()

    def slope(time, z):
        q, v, w = z.reshape(3, 2)
        rate = v - np.abs(v) * w / fc
        asked = np.array([np.interp(time, t, u[:, j]) for j in range(2)])
        still = np.array(model.inverse_dynamics(q, v, np.zeros(2), pi)).ravel()
        M = np.array(model.mass_matrix(q, pi)) + ia * np.eye(2)
        return np.concatenate([v, np.linalg.solve(M, kp * (asked - q) - still - fv * v - w - d * rate), k * rate])

    load = np.array(model.inverse_dynamics(u[0], np.zeros(2), np.zeros(2), pi)).ravel()
    start = np.concatenate([u[0], np.zeros(2), np.clip(-load, -0.99 * fc, 0.99 * fc)])
    exact = solve_ivp(slope, (0, t[-1]), start, t_eval=t, rtol=1e-6, atol=1e-8, max_step=5e-3).y[:2].T
    assert np.abs(data.q - exact).max() < 2e-3 * np.ptp(exact)
    stick = commanded_motion(robot, Servo(**known, hold="linear"), t, u, step=2e-4)
    assert np.abs(data.q - stick.q).max() > 3e-3
    stiff = Servo(**known, bristle_stiffness=1e5, bristle_damping=1.0, hold="linear")
    assert np.abs(commanded_motion(robot, stiff, t, u, step=2e-4).q - stick.q).max() < 1e-3
