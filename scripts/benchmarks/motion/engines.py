"""Motions in physics engines: MuJoCo, Bullet, Drake, DART, and a recorded motion replayed."""

from __future__ import annotations

import timeit
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import casid
from benchmarks import recordings
from benchmarks.measure import Result, Rows, need, scratch
from benchmarks.motion.bullet import Bullet, placed
from casid.arrays import Array
from casid.codegen import Function
from casid.control import ComputedTorque
from casid.description import Inertial, Robot, write_robot
from casid.dynamics import Model
from casid.identification import ModelOptions
from casid.measurement import Processing
from casid.motion import Samples, Sine
from casid.simulation import Plant, Simulation, Stops, simulate
from casid.simulation._loop import CompiledLoop, Loop
from casid.simulation._plant import Sampling
from casid.simulation.integrators import RungeKutta4
from casid.testing import Engine, MuJoCo, running

row = Rows()

ROBOTS = ("panda", "kuka_iiwa", "ur10e", "tx40", "wam7")
STATES = 1000
#: For a link whose description has no inertial values, so that an engine can run it.
STAND_IN = Inertial(1.0, np.array([0.01, 0.02, 0.03]), np.diag([0.01, 0.012, 0.009]))


class Drake(Engine):
    """A robot's URDF in Drake's MultibodyPlant, continuous time."""

    name, module, extra = "Drake", "pydrake", "engines"

    def __init__(self, path: Path, robot: Robot) -> None:
        plants, parsing = need("pydrake.multibody.plant", "engines"), need("pydrake.multibody.parsing", "engines")
        self.plant: Any = plants.MultibodyPlant(time_step=0.0)
        (model,) = parsing.Parser(self.plant).AddModels(str(path))
        base = next(frame.name for frame in robot.frames if frame.joint < 0)
        self.plant.WeldFrames(self.plant.world_frame(), self.plant.GetFrameByName(base, model))
        self.plant.mutable_gravity_field().set_gravity_vector(robot.gravity)
        self.plant.Finalize()
        self.context = self.plant.CreateDefaultContext()
        joints = [self.plant.GetJointByName(joint.name, model) for joint in robot.joints]
        self.places = [joint.position_start() for joint in joints]
        self.order = [joint.velocity_start() for joint in joints]

    def _at(self, q: Array, dq: Array) -> None:
        self.plant.SetPositions(self.context, placed(q, self.places))
        self.plant.SetVelocities(self.context, placed(dq, self.order))

    def mass_matrix(self, q: Array) -> Array:
        """M (n x n)."""
        self._at(q, 0 * q)
        return np.asarray(self.plant.CalcMassMatrix(self.context)[np.ix_(self.order, self.order)])

    def bias(self, q: Array, dq: Array) -> Array:
        """``c + g`` (n)."""
        self._at(q, dq)
        held = self.plant.CalcBiasTerm(self.context) - self.plant.CalcGravityGeneralizedForces(self.context)
        return np.asarray(held[self.order])

    def acceleration(self, q: Array, dq: Array, tau: Array) -> Array:
        """Accelerations (n) under torques."""
        self._at(q, dq)
        self.plant.get_applied_generalized_force_input_port().FixValue(self.context, placed(tau, self.order))
        rates = self.plant.EvalTimeDerivatives(self.context).CopyToVector()[self.plant.num_positions() :]
        return np.asarray(rates[self.order])


class Dart(Engine):
    """A robot's URDF in DART, the base fixed."""

    name, module, extra = "DART", "dartpy", ""

    def __init__(self, path: Path, robot: Robot) -> None:
        dart: Any = need("dartpy", self.extra)
        loader = dart.utils.DartLoader()
        options = dart.utils.DartLoaderOptions()
        options.mDefaultRootJointType = dart.utils.DartLoaderRootJointType.FIXED
        loader.setOptions(options)
        self.body = loader.parseSkeleton(str(path.resolve()))
        self.body.setGravity(robot.gravity)
        self.order = [self.body.getDof(joint.name).getIndexInSkeleton() for joint in robot.joints]
        for k in range(self.body.getNumBodyNodes()):  # links without inertial values count as 1 kg otherwise
            node = self.body.getBodyNode(k)
            if node.getName() in {frame.name for frame in robot.frames}:
                node.setInertia(dart.dynamics.Inertia(1e-300, np.zeros(3), 1e-300 * np.eye(3)))

    def _at(self, q: Array, dq: Array) -> None:
        self.body.setPositions(placed(q, self.order))
        self.body.setVelocities(placed(dq, self.order))

    def mass_matrix(self, q: Array) -> Array:
        """M (n x n)."""
        self._at(q, 0 * q)
        return np.asarray(self.body.getMassMatrix()[np.ix_(self.order, self.order)])

    def bias(self, q: Array, dq: Array) -> Array:
        """``c + g`` (n)."""
        self._at(q, dq)
        return np.asarray(self.body.getCoriolisAndGravityForces()[self.order])

    def acceleration(self, q: Array, dq: Array, tau: Array) -> Array:
        """Accelerations (n) under torques."""
        self._at(q, dq)
        self.body.setForces(placed(tau, self.order))
        self.body.computeForwardDynamics()
        return np.asarray(self.body.getAccelerations()[self.order])


def complete(robot: Robot) -> Robot:
    """The robot with bodies for all links, its motors acting on the joints directly (engines know no transmissions)."""
    joints = tuple(replace(j, link=replace(j.link, inertial=j.link.inertial or STAND_IN)) for j in robot.joints)
    return replace(robot, joints=joints, transmission=None)


@row("the same, DART", "1e-9", "-", Dart, 1e-9)
@row("the same, Drake", "1e-9", "-", Drake, 1e-9)
@row("the same, PyBullet", "1e-6", "-", Bullet, 1e-6)
@row(f"M, bias, acceleration, {STATES} states, MuJoCo: {', '.join(ROBOTS)}", "1e-9", "-", MuJoCo, 1e-9)
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


@row("10 s computed torque, Panda, RK4 1 ms: MuJoCo and casid", "1e-6 rad")
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


@row("compiled rollout, Panda, computed torque, RK4 1 ms, one core", ">= 5 x MuJoCo's rollout", "MuJoCo")
def speed() -> Result:
    """Both on one core, best of 5; MuJoCo is handed the torques, casid computes them as well."""
    mujoco = need("mujoco")
    rollout = need("mujoco.rollout")
    plant, controller, done = closed_loop()
    rows = signals(controller, done)
    integrator = RungeKutta4(STEP)
    loop = CompiledLoop(Loop(plant, controller, integrator, Sampling(10.0), Stops()), integrator)
    start = plant.start(done.q[0], done.dq[0])[None]

    with scratch() as folder:
        path = folder / "robot.xml"
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
        ours.append(timeit.timeit(lambda: loop(start, rows, None), number=1))
        theirs.append(timeit.timeit(lambda: rollout.rollout(model, [data], state, tau), number=1))
    ratio = min(theirs) / min(ours)
    text = (
        f"{ratio:.1f} x: {1e2 * min(ours):.2f} against {1e2 * min(theirs):.2f} ms a simulated second (energy book, "
        f"checks and control law in ours only; the same motion to {same:.0e} rad in the first second)"
    )
    return text, ratio >= 5.0 and same < 1e-6


@row("trajectory_1 replayed in PyBullet", "|mean torque error| <= 0.05 N.m; < 5 mm, < 1.2 deg",
     "Table V: up to 1.76 N.m (Bullet)", Bullet)  # fmt: skip
@row("trajectory_1 replayed in MuJoCo", "|mean torque error| <= 0.05 N.m; < 5 mm, < 1.2 deg",
     "Table V: up to 0.178 N.m (ODE)", MuJoCo)  # fmt: skip
def replayed(kind: type[MuJoCo] | type[Bullet]) -> Result:
    need(kind.module, kind.extra)
    done = replay(kind)
    position, angle = float(done.distance.max()), float(done.angle.max())
    text = (
        f"mean torque errors {' '.join(f'{e:+.3f}' for e in done.mean_error)} N.m; flange off by at most "
        f"{1e3 * position:.2f} mm, {angle:.3f} deg"
    )
    return text, float(np.abs(done.mean_error).max()) <= 0.05 and position < 5e-3 and angle < 1.2


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
    *state, tau = recordings.arrays(motion)
    return model, pi, Samples(motion.t - motion.t[0], *state), tau


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
    errors = pose_errors(place(positions), place(motion.q))
    return Replay(motion.t, measured, torques + friction, *errors, torques - exact)


def pose_errors(ours: Array, theirs: Array) -> tuple[Array, Array]:
    """Distances [m] and angles [deg] between placements, shape (N, 4, 4) each."""
    cosine = (np.einsum("nij,nij->n", ours[:, :3, :3], theirs[:, :3, :3]) - 1) / 2
    distances = np.linalg.norm(ours[:, :3, 3] - theirs[:, :3, 3], axis=1)
    return np.asarray(distances), np.asarray(np.degrees(np.arccos(np.clip(cosine, -1, 1))))
