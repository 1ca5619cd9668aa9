"""Rows about physics engines that run identified robots from the files written for them."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

import casid
from casid.codegen import evaluate_batch
from casid.description import Inertial, Robot, write_robot
from casid.dynamics import Model
from casid.measurement import Processing
from casid.simulation import ComputedTorque, Plant, RungeKutta4, Samples, Sampling, Simulation, Sine, Stops, simulate
from casid.simulation.compiled import compiled_call
from casid.simulation.loop import CompiledLoop
from measures import recordings
from measures.engines import Bullet, MuJoCo
from measures.measure import Measure, need

Array = NDArray[np.float64]
Result = tuple[str, bool]
Engine = MuJoCo | Bullet
ROBOTS = ("panda", "kuka_iiwa", "ur10e", "tx40", "wam7")
STATES, STEP = 1000, 1e-3
#: For a link whose description has no inertial values, so that an engine can run it.
STAND_IN = Inertial(1.0, np.array([0.01, 0.02, 0.03]), np.diag([0.01, 0.012, 0.009]))


def complete(robot: Robot) -> Robot:
    """The robot with bodies for all links, its motors acting on the joints directly (engines know no transmissions)."""
    joints = tuple(replace(j, link=replace(j.link, inertial=j.link.inertial or STAND_IN)) for j in robot.joints)
    return replace(robot, joints=joints, transmission=None)


@contextmanager
def running(robot: Robot, kind: type[MuJoCo] | type[Bullet]) -> Iterator[Engine]:
    """The robot in an engine, through the file that casid writes."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"robot{'.xml' if kind is MuJoCo else '.urdf'}"
        write_robot(robot, path)
        engine = kind(path, robot)
        try:
            yield engine
        finally:
            if isinstance(engine, Bullet):
                engine.close()


def agreement(kind: type[MuJoCo] | type[Bullet], bar: float) -> Result:
    """Largest difference, relative to the largest entry at each state, of M, bias and accelerations."""
    need("mujoco" if kind is MuJoCo else "pybullet")
    parts, worst = [], 0.0
    for name in ROBOTS:
        robot = complete(casid.load_robot(name))
        model = Model(robot).with_parameters(robot.standard_parameters())
        rng = np.random.default_rng(0)
        lower, upper = np.clip(robot.limits.lower, -np.pi, np.pi), np.clip(robot.limits.upper, -np.pi, np.pi)
        q = lower + (upper - lower) * rng.uniform(0.02, 0.98, (STATES, robot.n))  # inside: engines keep joint limits
        dq, tau = rng.uniform(-2, 2, q.shape), rng.uniform(-20, 20, q.shape)
        M = evaluate_batch(model.mass_matrix, q)
        bias = evaluate_batch(model.inverse_dynamics, q, dq, np.zeros_like(q))
        ddq = evaluate_batch(model.forward_dynamics, q, dq, tau)
        errors = np.zeros(3)
        with running(robot, kind) as engine:
            for i in range(STATES):  # one state a call: engines take no more
                pairs = (
                    (engine.mass_matrix(q[i]), np.asarray(M)[i]),
                    (engine.bias(q[i], dq[i]), np.asarray(bias)[i].ravel()),
                    (engine.acceleration(q[i], dq[i], tau[i]), np.asarray(ddq)[i].ravel()),
                )
                errors = np.maximum(errors, [np.abs(a - b).max() / np.abs(b).max() for a, b in pairs])
        parts.append(f"{name} {errors[0]:.0e} {errors[1]:.0e} {errors[2]:.0e}")
        worst = max(worst, float(errors.max()))
    return "; ".join(parts), worst <= bar


@cache
def closed_loop() -> tuple[Plant, ComputedTorque, Simulation]:
    """10 s of computed torque on the Panda without friction, Runge-Kutta with 1 ms."""
    robot = casid.load_robot("panda")
    plant = Plant.of(robot)
    controller = ComputedTorque(*plant.links, np.full(7, 100.0), np.full(7, 20.0))
    reference = Sine.within(robot, amplitude=1.0)
    start = reference.at(0.0).q[0] + 0.1
    return plant, controller, simulate(plant, controller, reference, 10.0, integrator=RungeKutta4(STEP), q0=start)


def signals(controller: ComputedTorque, done: Simulation) -> Array:
    reference = Sine.within(casid.load_robot("panda"), amplitude=1.0)
    return controller.rows(reference.at(done.t))


def same_steps() -> Result:
    need("mujoco")
    plant, controller, done = closed_loop()
    law, rows = compiled_call(controller.stacked), signals(controller, done)
    worst = 0.0
    with running(plant.model.robot, MuJoCo) as engine:
        q, dq = done.q[0], done.dq[0]
        engine.start(q, dq, STEP)
        for k in range(len(done) - 1):
            tau = law(done.t[k : k + 1], rows[k], q, dq)[0].copy()
            q, dq = engine.step(tau)
            worst = max(worst, float(np.abs(q - done.q[k + 1]).max()))
    return f"{worst:.1e} rad after 10,000 steps", worst <= 1e-6 and done.end.finished


def speed() -> Result:
    """Both on one core, best of 5; MuJoCo is handed the torques, casid computes them as well."""
    mujoco = need("mujoco")
    rollout = need("mujoco.rollout")
    plant, controller, done = closed_loop()
    rows = signals(controller, done)
    loop = CompiledLoop(plant, controller, RungeKutta4(STEP), Sampling(10.0), Stops())
    start = plant.start(done.q[0], done.dq[0])[None]

    def timed(run: object) -> float:
        began = time.perf_counter()
        run()  # type: ignore[operator]
        return time.perf_counter() - began

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "robot.xml"
        write_robot(plant.model.robot, path)
        spec = mujoco.MjSpec.from_file(str(path))
    for joint in plant.model.robot.joints:
        motor = spec.add_actuator(name=f"motor_{joint.name}", target=joint.name)
        motor.trntype = mujoco.mjtTrn.mjTRN_JOINT
        motor.set_to_motor()
    model = spec.compile()
    model.opt.timestep, model.opt.integrator = STEP, mujoco.mjtIntegrator.mjINT_RK4
    flags = mujoco.mjtDisableBit
    model.opt.disableflags |= int(flags.mjDSBL_CONTACT) | int(flags.mjDSBL_LIMIT) | int(flags.mjDSBL_CONSTRAINT)
    data = mujoco.MjData(model)
    data.qpos[:], data.qvel[:] = done.q[0], done.dq[0]
    kind = mujoco.mjtState.mjSTATE_FULLPHYSICS
    state = np.zeros((1, mujoco.mj_stateSize(model, kind)))
    mujoco.mj_getState(model, data, state[0], kind)
    tau = done.tau[None, :-1]
    first = rollout.rollout(model, [data], state, tau)[0][0, :1000, 1:8]  # open loop: rounding errors grow later
    same = float(np.abs(first - done.q[1:1001]).max())
    ours, theirs = [], []
    for _ in range(5):
        ours.append(timed(lambda: loop(start, rows, None)))
        theirs.append(timed(lambda: rollout.rollout(model, [data], state, tau)))
    ratio = min(theirs) / min(ours)
    text = (
        f"{ratio:.1f} x: {1e2 * min(ours):.2f} against {1e2 * min(theirs):.2f} ms a simulated second (energy book, "
        f"checks and control law in ours only; the same motion to {same:.0e} rad in the first second)"
    )
    return text, ratio >= 5.0 and same < 1e-6


class Replay(NamedTuple):
    """Means over a replayed recording: torque error of each joint [N.m], pose errors [m, deg] and the largest ones."""

    torque: Array
    position: float
    angle: float


@cache
def identified() -> tuple[Model, Array, Samples, Array]:
    """The Panda identified from trajectory_1, the motion to replay, and the measured torques at its samples."""
    data = recordings.panda_raw()
    robot = casid.load_robot("panda")
    settings = Processing(rate=1000.0, cutoff=5.0, trim=0.5, every=1)
    result = casid.identify(robot, data, processing=replace(settings, every=10), gravity=recordings.GRAVITY)
    model = Model(robot, recordings.FRICTION, recordings.GRAVITY)
    pi = model.parameters(result.parameters)
    motion = settings.apply(data)
    assert motion.dq is not None
    assert motion.ddq is not None
    return model, pi, Samples(motion.t - motion.t[0], motion.q, motion.dq, motion.ddq), np.asarray(motion.tau)


def replay(kind: type[MuJoCo] | type[Bullet]) -> Replay:
    """Computed torque with the identified links follows the measured motion in an engine.

    What the engine's joints get plus the identified friction is compared with the measured torques, and the flange with
    that of the measured joint positions.
    """
    model, pi, motion, measured = identified()
    links, inertial = Plant(model, pi).links
    robot = replace(model.robot.with_parameters(inertial), gravity=np.array(recordings.GRAVITY))
    controller = ComputedTorque(links, inertial, np.full(7, 2500.0), np.full(7, 100.0))
    law, rows = compiled_call(controller.stacked), controller.rows(motion.at(motion.t))
    q, dq = motion.q[0], motion.dq[0]
    positions, torques = np.zeros_like(motion.q), np.zeros_like(motion.q)
    with running(robot, kind) as engine:
        engine.start(q, dq, STEP)
        for k in range(len(motion.t)):
            positions[k] = q
            torques[k] = law(motion.t[k : k + 1], rows[k], q, dq)[0]
            q, dq = engine.step(torques[k])
    friction = evaluate_batch(model.with_parameters(pi).friction, motion.dq)
    error = (measured - torques - np.asarray(friction)[:, :, 0]).mean(axis=0)
    place = model.frame_placement("flange")
    ours, theirs = (np.asarray(evaluate_batch(place, values)) for values in (positions, motion.q))
    distance = np.linalg.norm(ours[:, :3, 3] - theirs[:, :3, 3], axis=1)
    cosine = (np.einsum("nij,nij->n", ours[:, :3, :3], theirs[:, :3, :3]) - 1) / 2
    angle = np.degrees(np.arccos(np.clip(cosine, -1, 1)))
    return Replay(error, float(distance.max()), float(angle.max()))


def replayed(kind: type[MuJoCo] | type[Bullet]) -> Result:
    need("mujoco" if kind is MuJoCo else "pybullet")
    done = replay(kind)
    text = (
        f"mean torque errors {' '.join(f'{e:+.3f}' for e in done.torque)} N.m; flange off by at most "
        f"{1e3 * done.position:.2f} mm, {done.angle:.3f} deg"
    )
    return text, float(np.abs(done.torque).max()) <= 0.05 and done.position < 5e-3 and done.angle < 1.2


ROWS = [
    Measure(
        f"M, bias, acceleration, {STATES} states, MuJoCo: {', '.join(ROBOTS)}", "1e-9", "-",
        lambda: agreement(MuJoCo, 1e-9),
    ),
    Measure("the same, PyBullet", "1e-6", "-", lambda: agreement(Bullet, 1e-6)),
    Measure("10 s computed torque, Panda, RK4 1 ms: MuJoCo and casid", "1e-6 rad", "-", same_steps),
    Measure(
        "trajectory_1 replayed in MuJoCo", "|mean torque error| <= 0.05 N.m; < 5 mm, < 1.2 deg",
        "Table V: up to 0.178 N.m (ODE)", lambda: replayed(MuJoCo),
    ),
    Measure(
        "trajectory_1 replayed in PyBullet", "|mean torque error| <= 0.05 N.m; < 5 mm, < 1.2 deg",
        "Table V: up to 1.76 N.m (Bullet)", lambda: replayed(Bullet),
    ),
    Measure("compiled rollout, Panda, computed torque, RK4 1 ms, one core", ">= 5 x MuJoCo's rollout", "MuJoCo", speed),
]  # fmt: skip
