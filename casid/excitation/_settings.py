"""A design problem from a robot and settings, as ``casid excite`` has it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import casadi as ca
import numpy as np

from casid.description import Robot
from casid.dynamics import Kinematics, Model
from casid.errors import ProblemError
from casid.excitation.information._criteria import criterion
from casid.excitation.information._observation import Observation
from casid.excitation.limits._collision import CollisionConstraint
from casid.excitation.limits._constraints import FunctionConstraint, StateConstraint, torque_limits
from casid.excitation.limits._motion_limits import MotionLimits
from casid.excitation.optimisation._designer import Designer
from casid.excitation.optimisation._result import Design
from casid.files import near
from casid.motion import Basis, Fourier, Poses, QuinticSpline, Ramped, Trajectory

#: Joint effects that an identification usually estimates along with the links.
TERMS = ("viscous", "coulomb", "offset")


@dataclass(frozen=True)
class DesignSettings:
    """Settings of a design; every field is an option of ``casid excite``.

    Attributes
    ----------
    criterion : str
        ``condition, d-optimal, a-optimal, largest-sd``.
    parameters : tuple of str
        For ``largest-sd``: names of base parameters; empty: all.
    harmonics : int
        Of the Fourier series.
    duration : float
        Of one period, or of the spline [s].
    basis : str
        ``fourier, spline`` (with as many free coefficients), or ``poses``.
    ramp : float
        Duration of ramps from and to rest [s]; 0: none.
    rest : bool
        Begin and end at rest without ramps.
    poses : int
        Number of static poses for ``basis = "poses"``.
    terms : tuple of str
        Joint terms that are estimated too.
    payload : bool
        Only the ten parameters of a load on the last link are unknown.
    samples : int
    share : float
        Part of the velocity, acceleration and jerk limits to use.
    collision, torque : bool
        Keep capsules apart (if the robot has any); keep the torque limits (if it has those and nominal parameters).
    margin : float
        Clearance of capsules [m].
    floor : float or None
        Smallest height, in the base frame, of every link frame and named frame that can move up and down [m].
    workspace : tuple of (float, float)
        Bounds of x, y and z, in the base frame, of the same frames [m]; infinite where free.
    home : tuple of float
        Pose in which the motion begins and ends at rest [rad or m]; empty: the design chooses.
    noise : tuple of float
        Standard deviation of each joint's torque noise [N.m]; empty: 1 for all.
    """

    criterion: str = "condition"
    parameters: tuple[str, ...] = ()
    harmonics: int = 5
    duration: float = 20.0
    basis: str = "fourier"
    ramp: float = 0.0
    rest: bool = False
    poses: int = 50
    terms: tuple[str, ...] = TERMS
    payload: bool = False
    samples: int = 160
    share: float = 1.0
    collision: bool = True
    torque: bool = True
    margin: float = 0.01
    floor: float | None = None
    workspace: tuple[tuple[float, float], ...] = ()
    home: tuple[float, ...] = ()
    noise: tuple[float, ...] = ()

    def motion_basis(self) -> Basis:
        """Return the basis the settings name."""
        if self.basis == "poses":
            return Poses(self.poses)
        if self.basis == "spline":
            return QuinticSpline(self.duration, 2 * self.harmonics + 5)
        if self.basis != "fourier":
            known = ("fourier", "spline", "poses")
            raise ProblemError(f"unknown basis '{self.basis}'{near(self.basis, known)}; known: {', '.join(known)}")
        if not self.duration > 0:
            raise ProblemError(f"excitation: the duration must be positive, got {self.duration} s")
        motion = Fourier(2 * np.pi / self.duration, self.harmonics)
        return Ramped(motion, self.ramp) if self.ramp > 0 else motion

    def observation(self, robot: Robot, basis: Basis) -> Observation:
        """Return what a motion in ``basis`` shows."""
        noise = self.noise or None
        if basis.static:
            return Observation.static(Model(robot), noise)
        if self.payload:
            return Observation.payload(Model(robot), noise=noise)
        return Observation.of_model(Model(robot, terms=self.terms), noise)

    def constraints(self, robot: Robot) -> list[StateConstraint]:
        """Constraints on the states."""
        result: list[StateConstraint] = []
        if self.collision and robot.capsules:
            result.append(CollisionConstraint(robot, (), self.margin))
        known = all(link.inertial is not None for link in robot.links)
        if self.torque and known and np.isfinite(robot.limits.effort).any():
            result.append(torque_limits(Model(robot), robot.standard_parameters()))
        if self.floor is not None:
            result.append(_inside(robot, "floor", ((-np.inf, np.inf), (-np.inf, np.inf), (self.floor, np.inf))))
        if self.workspace:
            result.append(_inside(robot, "workspace", self.workspace))
        return result

    def designer(self, robot: Robot, basis: Basis | None = None) -> Designer:
        """Return the design problem for a robot; ``basis`` in place of the one the settings name."""
        chosen = basis or self.motion_basis()
        observation = self.observation(robot, chosen)
        return Designer(
            observation,
            chosen,
            MotionLimits.of_positions(robot) if chosen.static else MotionLimits.of_robot(robot, self.share),
            criterion(self.criterion, observation, self.parameters),
            self.constraints(robot),
            samples=self.samples,
            pose=np.array(self.home) if self.home else None,
            rest=self.rest or (bool(self.home) and self.basis == "fourier" and self.ramp == 0),
        )

    def judge(self, robot: Robot, trajectory: Trajectory) -> tuple[Designer, Design]:
        """A given trajectory, e.g. a published one, by the measure of these settings: nothing is optimised.

        The basis of the settings is replaced by the trajectory's.

        Raises
        ------
        ProblemError
            If the trajectory has another number of joints than the robot.
        """
        if trajectory.n != robot.n:
            raise ProblemError(f"trajectory of {trajectory.n} joints for robot '{robot.name}' of {robot.n}")
        designer = self.designer(robot, trajectory.basis)
        return designer, designer.judge(trajectory)


def _inside(robot: Robot, name: str, bounds: Sequence[tuple[float, float]]) -> FunctionConstraint:
    """Keep the origins of the links' and their named frames' between bounds, along the axes in which they can move."""
    if len(bounds) != 3 or any(not low < high for low, high in bounds):
        raise ProblemError(f"{name}: expected bounds (low, high) of x, y and z with low < high, got {bounds}")
    q = ca.SX.sym("q", robot.n)
    kinematics = Kinematics(robot, q)
    names = [joint.link.name for joint in robot.joints] + [frame.name for frame in robot.frames if frame.joint >= 0]
    points = {name: kinematics.placement(name)[:3, 3] for name in names}
    kept = [
        (f"{'height' if axis == 'z' else axis} of {frame}", point[k], *bounds[k])
        for frame, point in points.items()
        for k, axis in enumerate("xyz")
        if np.isfinite(bounds[k]).any() and ca.depends_on(point[k], q)
    ]
    if not kept:
        raise ProblemError(f"{name}: no link frame of robot '{robot.name}' moves in the directions that it bounds")
    labels, places, low, high = (list(part) for part in zip(*kept, strict=True))
    place = ca.Function("place", [q], [ca.vertcat(*places)], ["q"], ["p"], {"cse": True})
    return FunctionConstraint(name, place, np.array(low), np.array(high), labels, unit=1.0)
