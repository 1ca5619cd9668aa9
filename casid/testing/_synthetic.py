"""Known answers: random robots, motions with exact torques, servos under commands."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from casid.arrays import Array
from casid.description import Inertial, Joint, Link, LinkBounds, Robot
from casid.drives import CommandRecording, FreeRuns, Servo
from casid.dynamics import Model
from casid.errors import DatasetError
from casid.files import listed
from casid.inertia import to_standard
from casid.inertia.entropic import Plausible
from casid.measurement import Dataset
from casid.testing._peers import rotation_about


def random_placement(rng: np.random.Generator) -> np.ndarray:
    """A random rotation and a translation of up to half a metre an axis."""
    direction = rng.normal(size=3)
    placement = np.eye(4)
    placement[:3, :3] = rotation_about(direction / np.linalg.norm(direction), rng.uniform(-np.pi, np.pi))
    placement[:3, 3] = rng.uniform(-0.5, 0.5, 3)
    return placement


def random_robot(seed: int, n: int = 6, chain: bool = False, shifted_links: bool = False) -> Robot:
    """A tree of n revolute and prismatic joints with random placements and axes.

    Parameters
    ----------
    seed
        The same seed gives the same robot.
    chain
        A serial chain in place of a random tree.
    shifted_links
        Give links a frame that differs from the joint frame, as standard DH does.
    """
    rng = np.random.default_rng(seed)
    joints = []
    for k in range(n):
        axis = rng.normal(size=3)
        joints.append(
            Joint(
                name=f"joint{k + 1}",
                type="prismatic" if rng.random() < 3 / 10 else "revolute",
                parent=k - 1 if chain else int(rng.integers(-1, k)) if k else -1,
                link=Link(f"link{k + 1}"),
                placement=random_placement(rng),
                axis=axis / np.linalg.norm(axis),
                link_placement=random_placement(rng) if shifted_links else np.eye(4),
            )
        )
    return Robot(f"random{seed}", tuple(joints), gravity=rng.normal(scale=6.0, size=3))


#: Joint terms of `recorded`.
TERMS = ("viscous", "coulomb", "offset")
#: A body that every arm's links can have.
BODY = to_standard(2.0, [0.05, -0.02, 0.1], np.diag([0.03, 0.04, 0.02]))


def motion(n: int, samples: int, seed: int, speed: float = 1.5, periodic: bool = True) -> tuple[Array, ...]:
    """A random motion, a sum of sinusoids at every joint.

    Parameters
    ----------
    n
        Number of joints.
    samples
        Number of samples.
    seed
        The same seed gives the same motion.
    speed
        Scale of the velocities of a periodic motion [rad/s].
    periodic
        Five harmonics of 0.1 Hz over ten seconds; otherwise four random frequencies a joint, at 100 samples a second.

    Returns
    -------
    t, q, dq, ddq : ndarray, shapes (samples,), (samples, n), (samples, n), (samples, n)
        [s, rad, rad/s, rad/s^2]
    """
    rng = np.random.default_rng(seed)
    if periodic:
        t = np.linspace(0.0, 10.0, samples)
        w = np.asarray(np.tile(0.2 * np.pi * np.arange(1.0, 6.0)[:, None], n))
        sine, cosine = np.moveaxis(rng.normal(size=(5, 2, n)), 1, 0) * speed / (5 * w)
    else:
        t = np.asarray(np.arange(samples) * 0.01)
        w = np.asarray(rng.uniform(0.5, 3.0, (4, n)))
        sine = rng.uniform(-0.4, 0.4, (4, n))
        cosine = np.zeros_like(sine)
    q, dq, ddq = (np.zeros((samples, n)) for _ in range(3))
    for a, b, v in zip(sine, cosine, w, strict=True):
        s, c = np.sin(np.outer(t, v)), np.cos(np.outer(t, v))
        q += a * s + b * c
        dq += v * (a * c - b * s)
        ddq -= v**2 * (a * s + b * c)
    return t, q, dq, ddq


def recording(model: Model, parameters: np.ndarray, samples: int = 600, seed: int = 0, noise: float = 0.0) -> Dataset:
    """Processed recording: exact q, dq, ddq, and torques with white noise of standard deviation ``noise`` [N.m]."""
    t, q, dq, ddq = motion(model.n, samples, seed)
    tau = model.inverse_dynamics(q, dq, ddq, parameters)
    tau = tau + noise * np.random.default_rng(seed + 1).normal(size=tau.shape)
    return Dataset(t, q, tau, dq, ddq, name=f"synthetic {seed}")


def recorded(
    model: Model, count: int = 800, load: np.ndarray | None = None, noise: float = 0.05, seed: int = 0
) -> tuple[np.ndarray, ...]:
    """``t, q, dq, ddq, tau`` of a random motion with white noise, and the parameters: nominal ones, and a load's."""
    t, q, dq, ddq = motion(model.n, count, seed, periodic=False)
    pi = model.parameters(model.robot.standard_parameters(), np.tile([0.5, 0.4, 0.1], model.n))
    if load is not None:
        pi[list(model.link_columns[-1])] += load
    tau = model.inverse_dynamics(q, dq, ddq, pi)
    return t, q, dq, ddq, tau + noise * np.random.default_rng(seed + 1).normal(size=tau.shape), pi


def plausible(model: Model) -> Plausible:
    """A body of 3 kg for every link, and sizes of linear friction: what an estimator on line begins with."""
    body = to_standard(3.0, [0.0, 0.0, 0.05], np.diag([0.03, 0.03, 0.02]))
    return Plausible(np.tile(body, (model.n, 1)), np.full(2 * model.n, 0.3), np.full(model.n, 0.5))


def arm(n: int = 1, inertial: Inertial | None = None) -> Robot:
    bounds = LinkBounds(np.array([0.5, 8.0]), np.tile([-0.3, 0.3], (3, 1)))
    joints = tuple(Joint(f"joint{k + 1}", "revolute", k - 1, Link(f"link{k + 1}", inertial, bounds)) for k in range(n))
    return Robot("arm", joints)


def blind(robot: Robot) -> Robot:
    """The robot's kinematics alone: no inertial values, bounds or total mass."""
    joints = tuple(replace(j, link=replace(j.link, inertial=None, bounds=LinkBounds())) for j in robot.joints)
    return replace(robot, joints=joints, total_mass=(0.0, np.inf))


def with_friction(robot: Robot, friction: tuple[float, float, float] = (0.4, 0.3, -0.1)) -> tuple[Model, Array]:
    """A robot's model with `TERMS`, and its nominal parameters with the same friction at every joint."""
    model = Model(robot, TERMS)
    return model, model.parameters(robot.standard_parameters(), np.tile(friction, robot.n))


def commanded_motion(
    robot: Robot,
    servo: Servo,
    t: ArrayLike,
    q_des: ArrayLike,
    *,
    torque: Array | None = None,
    noise: float = 0.0,
    quantum: float = 0.0,
    gain: float = 1.0,
    step: float = 1e-3,
    seed: int = 0,
    name: str = "synthetic",
) -> CommandRecording:
    """What encoders show while a robot with known servos follows commands, from rest at the first command.

    Parameters
    ----------
    robot, servo
        All values of the servo known.
    t, q_des
        Times (N,) and commands (N, n).
    torque
        Known torques beside the servos', (N, n).
    noise, quantum
        Standard deviation and step of the encoders [rad or m].
    gain
        Setting of the servos' gains.
    step
        Longest integration step [s]; shorter than that of an identification, so that its error counts.

    Raises
    ------
    DatasetError
        If a value of the servo is unknown.
    """
    u = np.asarray(q_des, dtype=float)
    data = CommandRecording(np.asarray(t, dtype=float), u, u, gain=gain, torque=torque, name=name)
    runs = FreeRuns(robot, servo, [data], step, np.inf, threads=1)
    if runs.parameters:
        raise DatasetError(f"servo: {listed(p.name for p in runs.parameters)} unknown: give every value of a motion")
    point = runs.point(np.zeros(0))
    point.starts[0][robot.n :] = 0.0
    q = runs.simulate(point)[0]
    q = q + noise * np.random.default_rng(seed).standard_normal(q.shape)
    return replace(data, q=np.round(q / quantum) * quantum if quantum else q)


def broadband_commands(t: ArrayLike, middle: ArrayLike, width: ArrayLike, seed: int = 0, highest: float = 1.0) -> Array:
    """Sums of five sines up to ``highest`` Hz about a posture, shape (N, n), each joint within ``width`` of it."""
    rng, t = np.random.default_rng(seed), np.asarray(t, dtype=float)
    middle, width = np.broadcast_arrays(np.asarray(middle, dtype=float), np.asarray(width, dtype=float))
    waves = []
    for k in range(len(middle)):
        f, phase = highest * np.sort(rng.uniform(0.05, 1.0, 5)), rng.uniform(0, 2 * np.pi, 5)
        x = np.sin(2 * np.pi * np.outer(t, f) + phase).sum(axis=1)
        waves.append(middle[k] + width[k] * x / np.abs(x).max())
    return np.column_stack(waves)
