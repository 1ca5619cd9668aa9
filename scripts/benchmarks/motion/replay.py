"""A recorded motion of the Panda replayed in physics engines (Gaz et al. 2019, supplement IV: Table V, Fig. 5-7)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache

import numpy as np

import casid
from benchmarks import recordings
from casid.arrays import Array
from casid.codegen import Function
from casid.control import ComputedTorque
from casid.dynamics import Model
from casid.identification import ModelOptions
from casid.measurement import Processing
from casid.motion import Samples
from casid.simulation import Plant
from casid.testing import MuJoCo, running
from casid.testing._engines import Bullet

#: Step of the engines [s], and rate of the controller.
STEP = 1e-3
#: Engines that are stepped through the motion.
ENGINES: tuple[type[MuJoCo] | type[Bullet], ...] = (MuJoCo, Bullet)


@dataclass(frozen=True, eq=False)
class Replay:
    """A recording, replayed; N samples.

    Attributes
    ----------
    t : ndarray, shape (N,)
        [s]
    measured, replayed : ndarray, shape (N, 7)
        Torques of the machine, and those at the engine's joints plus the identified friction [N.m].
    distance, angle : ndarray, shape (N,)
        Between the flange in the engine and that of the measured joint positions [m], [deg].
    of_engine : ndarray, shape (N, 7)
        Torques at the engine's joints less those of the same bodies by inverse dynamics [N.m]: the engine's own error.
    """

    t: Array
    measured: Array
    replayed: Array
    distance: Array
    angle: Array
    of_engine: Array

    @property
    def error(self) -> Array:
        """Torque errors (N, 7) as the paper defines them: measured minus simulated."""
        return np.asarray(self.measured - self.replayed)

    @property
    def mean_error(self) -> Array:
        """Of each joint [N.m]."""
        return np.asarray(self.error.mean(axis=0))


@cache
def identified(held_out: bool = False) -> tuple[Model, Array, Samples, Array]:
    """The Panda identified from trajectory_1, the motion to replay, and the measured torques at its samples.

    ``held_out``: identified from the first half, the second half is the motion.
    """
    data = later = recordings.panda_raw()
    if held_out:
        middle = float(data.t[0] + data.t[-1]) / 2
        data, later = data.between(float(data.t[0]), middle), data.between(middle)
    robot = casid.load_robot("panda")
    settings = Processing(rate=1000.0, cutoff=5.0, trim=0.5, every=1)
    options = ModelOptions(terms=recordings.FRICTION, gravity=recordings.GRAVITY)
    result = casid.identify(robot, data, processing=replace(settings, every=10), model=options)
    model = Model(robot, recordings.FRICTION, recordings.GRAVITY)
    pi = model.parameters(result.parameters)
    motion = settings.apply(later)
    assert motion.dq is not None
    assert motion.ddq is not None
    return model, pi, Samples(motion.t - motion.t[0], motion.q, motion.dq, motion.ddq), np.asarray(motion.tau)


@cache
def replay(kind: type[MuJoCo] | type[Bullet], held_out: bool = False) -> Replay:
    """Computed torque with the identified links follows the measured motion in an engine; see `identified`."""
    model, pi, motion, measured = identified(held_out)
    links, inertial = Plant(model, pi).links
    robot = replace(model.robot.with_parameters(inertial), gravity=np.array(recordings.GRAVITY))
    controller = ComputedTorque(links, inertial, np.full(7, 2500.0), np.full(7, 100.0))
    law, rows = Function(controller.stacked), controller.rows(motion.at(motion.t))
    q, dq = motion.q[0], motion.dq[0]
    positions, torques = np.zeros_like(motion.q), np.zeros_like(motion.q)
    with running(robot, kind) as engine:
        assert isinstance(engine, kind)
        engine.start(q, dq, STEP)
        for k in range(len(motion.t)):  # engines take one step a call
            positions[k] = q
            torques[k] = law(motion.t[k], rows[k], q, dq)
            q, dq = engine.step(torques[k])
    friction = model.with_parameters(pi).friction(motion.dq)
    bodies = Model(robot, gravity=recordings.GRAVITY).with_parameters(inertial)
    exact = bodies.inverse_dynamics(motion.q, motion.dq, motion.ddq)
    place = model.frame_placement("flange")
    ours, theirs = (place(values) for values in (positions, motion.q))
    cosine = (np.einsum("nij,nij->n", ours[:, :3, :3], theirs[:, :3, :3]) - 1) / 2
    return Replay(
        motion.t,
        measured,
        torques + friction,
        np.linalg.norm(ours[:, :3, 3] - theirs[:, :3, 3], axis=1),
        np.degrees(np.arccos(np.clip(cosine, -1, 1))),
        torques - exact,
    )
