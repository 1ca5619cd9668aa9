"""Free runs: against general integrators, their derivatives, exact friction; pieces, steps and unknowns."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from casid.description import Inertial, Mimic
from casid.drives import FREE, CommandRecording, FreeRuns, Servo, Unknown, held_commands
from casid.dynamics import Model
from casid.errors import DatasetError, RobotError
from casid.testing import broadband_commands, commanded_motion, random_robot

TRUE = {"kp": [12.0, 9.0], "kd": 0.3, "armature": 0.03, "viscous": 0.4, "coulomb": [0.1, 0.3], "bias": 0.01,
        "delay": 0.0131}  # fmt: skip
BRUSHED = {"coulomb": [0.3, 0.2], "bristle_stiffness": [15.0, 8.0], "bristle_damping": 0.05}
SPRUNG = {"stiffness": [40.0, 25.0], "joint_damping": 0.1}
T = np.arange(200) * 0.02


def moved(robot, width=0.5, middle=(0.2, -0.4), highest=1.0, noise=0.0, **changes):
    """What encoders show of two joints with the law above, changed."""
    u = broadband_commands(T, middle, width, highest=highest)
    return commanded_motion(robot, Servo(**{**TRUE, **changes}), T, u, noise=noise)


def exact(robot, servo, t, u):
    """Positions that encoders show, by a general integrator of docs/no_torque_sensor.md's equations."""
    of = {name: np.array(servo.of(name, 2)) for name in ("kp", "kd", "ki", "armature", "viscous", "coulomb", "bias",
          "delay", "stiffness", "joint_damping", "backlash", "bristle_stiffness", "bristle_damping")}  # fmt: skip
    model, pi, sprung, link = Model(robot), robot.standard_parameters(), servo.sprung(2), servo.encoder == "link"
    soft = np.isfinite(of["bristle_stiffness"])
    s0, fc = np.where(soft, of["bristle_stiffness"], 0.0), np.maximum(of["coulomb"], 1e-9)
    k, edge = np.where(sprung, of["stiffness"], 1.0), of["stiffness"] * of["backlash"] / 2 if sprung else 0.0

    def still(q, dq):
        return np.array(model.inverse_dynamics(q, dq, np.zeros(2), pi)).ravel()

    def slope(time, z):
        q, dq, x, dx, w, wound = z.reshape(6, 2) if sprung else z.reshape(6, 2)[[0, 1, 0, 1, 4, 5]]
        asked = [np.interp(time - late, t, column) for late, column in zip(of["delay"], u.T, strict=True)]
        away, rate = asked + of["bias"] - (q if link else x), dx - np.abs(dx) * w / fc
        pull = of["kp"] * away + wound - (of["kd"] + of["viscous"]) * dx
        pull -= np.where(soft, w + of["bristle_damping"] * rate, 0.0)
        M = np.array(model.mass_matrix(q, pi))
        if sprung:
            y = k * (x - q) + of["joint_damping"] * (dx - dq)
            passed = y - np.clip(y, -edge, edge)
            ddq, ddx = np.linalg.solve(M, passed - still(q, dq)), (pull - passed) / of["armature"]
        else:
            ddq = ddx = np.linalg.solve(M + np.diag(of["armature"]), pull - still(q, dq))
        return np.concatenate([dq, ddq, dx, ddx, s0 * rate, of["ki"] * away])

    first, zero = u[0], np.zeros(2)
    load = still(first, zero)
    apart = (load + np.sign(load) * edge) / k if sprung else zero
    both = (first, first + apart) if link else (first - apart, first)
    begun = np.where(of["ki"] > 0, load - of["kp"] * of["bias"], 0.0)
    start = np.concatenate([both[0], zero, both[1], zero, np.clip(-load, -0.99 * fc, 0.99 * fc), begun])
    z = solve_ivp(slope, (0, t[-1]), start, t_eval=t, rtol=1e-7, atol=1e-9, max_step=1e-2).y
    return z[:2].T if link or not sprung else z[4:6].T


@pytest.mark.parametrize(
    ("changes", "without"),
    [
        ({}, {"kd": 0.0}),
        *(({**SPRUNG, "backlash": play, "encoder": encoder, "bias": 0.0}, {"stiffness": np.inf, "backlash": 0.0})
          for encoder in ("link", "drive") for play in (0.0, 0.04)),
        ({**BRUSHED, "bias": 0.0}, {"bristle_stiffness": np.inf}),
        ({"ki": [20.0, 6.0]}, {"ki": 0.0}),
    ],
)  # fmt: skip
def test_runs_obey_their_equations(arm, changes, without):
    t = T[:100]
    u = broadband_commands(t, [0.2, -0.4], 0.3)
    servo = Servo(**{**TRUE, "coulomb": 0.0, "hold": "linear", **changes})
    coarse, fine = (commanded_motion(arm, servo, t, u, step=step).q for step in (1e-3, 2e-4))
    expected = exact(arm, servo, t, u)
    assert np.abs(fine - expected).max() < 2e-3 * np.ptp(expected)
    assert np.abs(fine - expected).max() < 0.6 * np.abs(coarse - expected).max() + 1e-5
    assert np.abs(fine - commanded_motion(arm, replace(servo, **without), t, u, step=2e-4).q).max() > 3e-3


@pytest.mark.parametrize(
    ("more", "motion", "tolerance"),
    [
        ({"limit": [1.5, 0.6], "offset": 0.05, "scale": 1.1}, {}, 1e-4),
        *(({**SPRUNG, "warm_up": 0.4, "warm_time": 3.0, "encoder": encoder, **play}, {}, 1e-4)
          for encoder in ("link", "drive") for play in ({}, {"backlash": 0.02})),
        ({"backlash": [0.03, 0.02]}, {"middle": [1.5, 0.1], "width": 0.6, "highest": 2.0}, 1e-3),
        (BRUSHED, {"width": 0.3}, 1e-3),
        ({**BRUSHED, "load_friction": 0.1, "stribeck": 0.1, "stribeck_speed": 0.3}, {"width": 0.3}, 1e-3),
        ({**BRUSHED, "stiffness": 40.0, "warm_up": 0.4}, {"width": 0.3}, 1e-3),
        *(({"viscous_asymmetry": [0.15, -0.2], "offset": 0.05, "offset_drift": [0.04, -0.03], **other}, {"width": 0.4},
           1e-3) for other in ({}, {"warm_up": 0.4, "warm_time": 2.0}, {"bristle_stiffness": 15.0})),
        *(({"ki": [20.0, 6.0], **other}, {"width": 0.4}, 1e-3)
          for other in ({}, {"limit": [1.4, 1.0]}, {"stiffness": 40.0})),
        ({"tilt_x": 0.1, "tilt_y": -0.2, "back_emf": 0.05}, {"width": 0.4}, 1e-3),
    ],
)  # fmt: skip
def test_derivatives_are_those_of_finite_differences(arm, more, motion, tolerance):
    values = {key: value for key, value in {**TRUE, **more}.items() if key != "encoder"}
    words = {"encoder": more.get("encoder", "link"), "links": "scaled" if "scale" in more else "nominal"}
    data = moved(arm, **motion, **more, **({"links": "scaled"} if "scale" in more else {}))
    flat = "tilt_x" in more  # the arm's axes are along y: gravity that is tilted about x moves nothing
    unknown = {name: FREE for name in values if name != "scale" and not (flat and name == "tilt_x")}
    runs = FreeRuns(arm, Servo(**{**values, **unknown}, **words), [data], 2e-3, np.inf, threads=1)
    theta = np.array([np.broadcast_to(values[p.attribute], 2)[p.joints[0]] for p in runs.parameters])
    point = runs.point(theta)
    ((S, places),) = runs.linearised(point, lambda i, b, places, x0, q, S: (S, places))[0]
    count, start = len(theta), point.starts[0]
    assert places == list(range(count)) and S.shape[2] >= count + 4
    for k, size in enumerate([*theta, *np.ones(4)]):
        h = 1e-6 * max(abs(size), 1e-2)
        ends = [[theta + s * h * np.eye(count)[k], start] if k < count
                else [theta, start + s * h * np.eye(8)[k - count]] for s in (1, -1)]  # fmt: skip
        up, down = (runs.simulate(type(point)(a, [b]))[0] for a, b in ends)
        slope = (up - down) / (2 * h)
        rounding = 2 * np.finfo(float).eps * np.abs(up).max() / h  # of the difference
        assert np.median(np.abs(S[:, :, k] - slope)) <= tolerance * np.abs(slope).max() + rounding, k
        assert k >= count or np.abs(slope).max() > 0, runs.parameters[k].name


@pytest.mark.parametrize("name", ["coulomb", "load_friction", "stribeck"])
def test_dry_friction_that_is_zero_has_the_derivative_towards_more(arm, name):
    """A search begins at this bound: without a derivative it ends there."""
    servo = Servo(**{**TRUE, "coulomb": 0.0, "stribeck_speed": 1.0, name: [FREE, 0.0]})
    runs = FreeRuns(arm, servo, [moved(arm, coulomb=0.0)], 2e-3, np.inf, threads=1)
    point, more = runs.point(np.zeros(1)), 1e-7
    S = runs.linearised(point, lambda i, b, places, x0, q, S: S)[0][0]
    slope = (runs.simulate(replace(point, theta=np.array([more])))[0] - runs.simulate(point)[0]) / more
    assert np.abs(slope).max() > 1e-3 and np.median(np.abs(S[:, :, 0] - slope)) <= 2e-3 * np.abs(slope).max()


@pytest.fixture(scope="module")
def tree(arm):
    """Two branches on one base."""
    bare = next(r for r in (random_robot(seed, 3) for seed in range(20)) if [j.parent for j in r.joints].count(-1) == 2)
    body = Inertial(0.4, np.array([0.1, 0.02, 0.01]), np.diag([1e-3, 2e-3, 2e-3]))
    joints = tuple(replace(joint, link=replace(joint.link, inertial=body)) for joint in bare.joints)
    return replace(bare, joints=joints)


@pytest.mark.parametrize("seed", range(3))
def test_friction_is_complementary_in_every_step(arm, tree, seed):
    """``H v+ = r - h f`` with ``f = fc sign(v+)`` where a joint slides and ``|f| <= fc`` where it stands."""
    robot = tree if seed == 2 else arm
    rng, n, h = np.random.default_rng(seed), robot.n, 4e-3
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
    for i in range(1, 399 if robot is arm else 100):
        M = np.array(model.mass_matrix(q[i], pi)) + ia * np.eye(n)
        still = np.array(model.inverse_dynamics(q[i], v[i], np.zeros(n), pi)).ravel()
        pull = kp * (command[i] - q[i]) - still - fv * (v[i] + v[i + 1]) / 2
        f = pull - M @ (v[i + 1] - v[i]) / h
        slides = np.abs(v[i + 1]) > 1e-9
        assert f[slides] == pytest.approx((fc * np.sign(v[i + 1]))[slides], abs=1e-6)
        assert np.all(np.abs(f) <= fc + 1e-6)
        stands += int((~slides).sum())
    assert 10 < stands < 1000


def test_friction_holds_a_joint_exactly(arm):
    u = np.tile([0.3, -0.2], (200, 1))
    stiff = Servo(**{**TRUE, "coulomb": 5.0, "bias": 0.0})
    assert np.ptp(commanded_motion(arm, stiff, T, u).q, axis=0).max() == 0.0
    assert np.ptp(commanded_motion(arm, replace(stiff, coulomb=0.0), T, u).q, axis=0).min() > 1e-2


def test_friction_is_warmed_up(arm):
    """A recording that begins warm moves as one without the term; a cold one as with the larger friction."""
    u = broadband_commands(T, [0.2, -0.4], 0.5)
    quick, slow = (Servo(**TRUE, warm_up=0.5, warm_time=seconds) for seconds in (1.0, 1e5))
    warm, cold = (commanded_motion(arm, Servo(**{**TRUE, **x}), T, u).q
                  for x in ({}, {"viscous": 0.6, "coulomb": [0.15, 0.45]}))  # fmt: skip
    assert np.abs(commanded_motion(arm, quick, T + 50.0, u).q - warm).max() < 1e-9
    assert np.abs(commanded_motion(arm, slow, T, u).q - cold).max() < 1e-4 < np.abs(cold - warm).max()


def test_a_tilted_base_is_another_gravity(arm):
    """About x and y by the right hand: gravity in the base's frame turns by the opposite rotation."""
    turned = arm.gravity + np.cross(arm.gravity, [0.1, -0.2, 0.0])
    turned *= np.linalg.norm(arm.gravity) / np.linalg.norm(turned)
    tilted, level = moved(arm, tilt_x=0.1, tilt_y=-0.2).q, moved(arm).q
    assert np.abs(tilted - moved(replace(arm, gravity=turned)).q).max() < 1e-9 and np.abs(tilted - level).max() > 1e-3
    with pytest.raises(DatasetError, match="tilt_x is one value"):
        Servo(tilt_x=[0.1, 0.2]).of("tilt_x", 2)


def test_friction_that_differs_by_direction_obeys_its_law(axis):
    """Terminal speeds under a constant force: ``(fv + fva sign(v)) v = force - fc sign(v) - fo - fod t``."""
    known = Servo(kp=0.0, bias=0.0, delay=0.0, armature=0.5, viscous=10.0, viscous_asymmetry=4.0, coulomb=1.0,
                  offset=0.5, offset_drift=0.25)  # fmt: skip
    t, zero = np.arange(400) * 0.01, np.zeros((400, 1))
    for force, fv, expected in ((6.0, 14.0, (6.0 - 1.0 - 0.5) / 14.0), (-6.0, 6.0, -(6.0 - 1.0 + 0.5) / 6.0)):
        q = commanded_motion(axis, known, t, zero, torque=np.full((400, 1), force)).q
        speed = np.gradient(q[:, 0], t)[200:-1]
        assert speed == pytest.approx(expected - 0.25 / fv * (t[200:-1] - 0.5 / fv), abs=1e-3)  # inertia over friction


def test_what_cannot_be_simulated_is_refused(arm):
    joints = (arm.joints[0], replace(arm.joints[1], mimic=Mimic(0, 1.0, 0.0)))
    follower = replace(arm, joints=joints, limits=type(arm.limits).unlimited(1))
    one, holes = np.zeros((30, 1)), np.arange(30.0) + 9 * np.repeat(np.arange(3.0), 10)
    with pytest.raises(RobotError, match="follow"):
        FreeRuns(follower, Servo(), [CommandRecording(np.arange(30.0), one, one)])
    with pytest.raises(DatasetError, match="at least one recording"):
        FreeRuns(arm, Servo(), [])
    with pytest.raises(DatasetError, match="delay of joint 1 has a negative"):
        FreeRuns(arm, Servo(delay=Unknown(lower=-0.01)), [CommandRecording(UNEVEN, Q, Q)])
    with pytest.raises(DatasetError, match="no stretch"):
        FreeRuns(arm, Servo(), [CommandRecording(holes, np.zeros((30, 2)), np.zeros((30, 2)))])


UNEVEN = np.concatenate([np.arange(100) * 0.02, 1.99 + np.arange(1, 101) * 0.011])
Q = np.column_stack([0.5 * np.sin(2 * UNEVEN), 0.3 * np.cos(3 * UNEVEN)])


def test_noise_is_that_of_the_encoders_and_not_of_the_motion(arm):
    rng, t = np.random.default_rng(0), np.arange(5000) * 0.01
    q = np.column_stack([np.sin(t), np.sin(2 * t)])
    noisy, coarse = q + rng.normal(size=q.shape) * [1e-3, 4e-3], np.round(q / 0.05) * 0.05
    assert FreeRuns(arm, Servo(), [CommandRecording(t, noisy, q)]).noise == pytest.approx([1e-3, 4e-3], rel=0.05)
    assert np.all(FreeRuns(arm, Servo(), [CommandRecording(t, coarse, q)]).noise >= 0.05 / np.sqrt(12) * (1 - 1e-9))


def test_steps_divide_the_samples_and_the_first_state_is_measured(arm):
    enabled = np.where(np.arange(200) < 120, 1.0, 0.0)
    data = CommandRecording(UNEVEN, Q, Q, enabled, gain=2.0, torque=np.column_stack([UNEVEN, 0 * UNEVEN]))
    piece = FreeRuns(arm, Servo(), [data], 4e-3, longest=2.0).pieces[1]
    first, times = piece.rows.start, UNEVEN[piece.rows]
    h = np.diff(piece.edges)
    assert 20 < first < 120 and h.max() <= 4e-3 * (1 + 1e-6) and len(h) == len(piece.emit) == len(piece.on)
    assert piece.edges[1:][piece.emit == 1] == pytest.approx(times[1:], abs=1e-12) and piece.edges[0] == times[0]
    assert piece.on[:, 0] == pytest.approx(np.where(piece.edges[:-1] < UNEVEN[120] - 1e-9, 2.0, 0.0))
    assert np.all(np.isin(piece.torque[:, 0], times))  # held from sample to sample
    expected = [np.cos(2 * times[0]), -0.9 * np.sin(3 * times[0])]
    assert piece.start[:2] == pytest.approx(Q[first]) and piece.start[2:4] == pytest.approx(expected, abs=2e-2)
    assert np.all(np.abs(piece.start[2:4] - expected) < 6 * piece.spread[2:4] + 1e-2)


def test_known_values_and_unknowns_fill_one_table(arm):
    servo = Servo(kp=[Unknown(8.0, 1.0), 5.0], armature=0.02, viscous=0.1, bias=0.0, limit=3.0)
    data = CommandRecording(UNEVEN, Q, Q)
    runs = FreeRuns(arm, servo, [data])
    assert [p.name for p in runs.parameters] == ["kp shoulder", "coulomb shoulder", "coulomb elbow", "delay"]
    assert runs.parameters[-1].lower == 0.0 and runs.parameters[0].unknown.sd == 1.0
    table = runs.table(np.array([7.0, 0.3, 0.4, 0.01]))[:, [0, 2, 4, 8, 6]]
    assert table.tolist() == [[7.0, 0.02, 0.3, 0.01, 3.0], [5.0, 0.02, 0.4, 0.01, 3.0]]


def test_thinned_runs_keep_a_part_of_every_recording(arm):
    many = [CommandRecording(UNEVEN + 10 * k, Q, Q, name=str(k)) for k in range(3)]
    runs = FreeRuns(arm, Servo(), many, longest=0.5)
    part = runs.thinned(runs.seconds / 3)
    assert {piece.recording for piece in part.pieces} == set(many)
    assert 0.2 < part.seconds / runs.seconds < 0.5 and runs.thinned(2 * runs.seconds) is runs
