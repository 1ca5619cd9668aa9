"""Rows about physics engines that run identified robots from the files written for them."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np

import casid
from benchmarks.measure import Measure, need
from benchmarks.motion.drake_dart import Dart, Drake
from benchmarks.motion.replay import STEP, replay
from casid.arrays import Array
from casid.codegen import Function
from casid.control import ComputedTorque
from casid.description import Inertial, Robot, write_robot
from casid.dynamics import Model
from casid.motion import Sine
from casid.simulation import Plant, Simulation, Stops, simulate
from casid.simulation._loop import CompiledLoop, Loop
from casid.simulation._plant import Sampling
from casid.simulation.integrators import RungeKutta4
from casid.testing import MuJoCo, running
from casid.testing._engines import Bullet, Engine

Result = tuple[str, bool]
ROBOTS = ("panda", "kuka_iiwa", "ur10e", "tx40", "wam7")
STATES = 1000
#: For a link whose description has no inertial values, so that an engine can run it.
STAND_IN = Inertial(1.0, np.array([0.01, 0.02, 0.03]), np.diag([0.01, 0.012, 0.009]))


def complete(robot: Robot) -> Robot:
    """The robot with bodies for all links, its motors acting on the joints directly (engines know no transmissions)."""
    joints = tuple(replace(j, link=replace(j.link, inertial=j.link.inertial or STAND_IN)) for j in robot.joints)
    return replace(robot, joints=joints, transmission=None)


def agreement(kind: type[Engine], bar: float) -> Result:
    """Largest difference, relative to the largest entry at each state, of M, bias and accelerations."""
    need(kind.module, kind.extra)
    parts, worst = [], 0.0
    for name in ROBOTS:
        robot = complete(casid.load_robot(name))
        model = Model(robot).with_parameters(robot.standard_parameters())
        rng = np.random.default_rng(0)
        lower, upper = np.clip(robot.limits.lower, -np.pi, np.pi), np.clip(robot.limits.upper, -np.pi, np.pi)
        q = lower + (upper - lower) * rng.uniform(0.02, 0.98, (STATES, robot.n))  # inside: engines keep joint limits
        dq, tau = rng.uniform(-2, 2, q.shape), rng.uniform(-20, 20, q.shape)
        M = model.mass_matrix(q)
        bias = model.inverse_dynamics(q, dq, np.zeros_like(q))
        ddq = model.forward_dynamics(q, dq, tau)
        errors = np.zeros(3)
        with running(robot, kind) as engine:
            for i in range(STATES):  # one state a call: engines take no more
                pairs = (
                    (engine.mass_matrix(q[i]), M[i]),
                    (engine.bias(q[i], dq[i]), bias[i]),
                    (engine.acceleration(q[i], dq[i], tau[i]), ddq[i]),
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
    law, rows = Function(controller.stacked), signals(controller, done)
    worst = 0.0
    with running(plant.model.robot, MuJoCo) as engine:
        q, dq = done.q[0], done.dq[0]
        engine.start(q, dq, STEP)
        for k in range(len(done) - 1):
            tau = law(done.t[k], rows[k], q, dq)
            q, dq = engine.step(tau)
            worst = max(worst, float(np.abs(q - done.q[k + 1]).max()))
    return f"{worst:.1e} rad after 10,000 steps", worst <= 1e-6 and done.end.finished


def speed() -> Result:
    """Both on one core, best of 5; MuJoCo is handed the torques, casid computes them as well."""
    mujoco = need("mujoco")
    rollout = need("mujoco.rollout")
    plant, controller, done = closed_loop()
    rows = signals(controller, done)
    integrator = RungeKutta4(STEP)
    loop = CompiledLoop(Loop(plant, controller, integrator, Sampling(10.0), Stops()), integrator)
    start = plant.start(done.q[0], done.dq[0])[None]

    def timed(run: Callable[[], object]) -> float:
        began = time.perf_counter()
        run()
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


def replayed(kind: type[MuJoCo] | type[Bullet]) -> Result:
    need(kind.module, kind.extra)
    done = replay(kind)
    position, angle = float(done.distance.max()), float(done.angle.max())
    text = (
        f"mean torque errors {' '.join(f'{e:+.3f}' for e in done.mean_error)} N.m; flange off by at most "
        f"{1e3 * position:.2f} mm, {angle:.3f} deg"
    )
    return text, float(np.abs(done.mean_error).max()) <= 0.05 and position < 5e-3 and angle < 1.2


ROWS = [
    Measure(
        f"M, bias, acceleration, {STATES} states, MuJoCo: {', '.join(ROBOTS)}", "1e-9", "-",
        lambda: agreement(MuJoCo, 1e-9),
    ),
    Measure("the same, PyBullet", "1e-6", "-", lambda: agreement(Bullet, 1e-6)),
    Measure("the same, Drake", "1e-9", "-", lambda: agreement(Drake, 1e-9)),
    Measure("the same, DART", "1e-9", "-", lambda: agreement(Dart, 1e-9)),
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
