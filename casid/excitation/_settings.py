"""A design problem from a robot and settings, as ``casid excite`` has it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import casadi as ca
import numpy as np

from casid.description import Capsule, Robot
from casid.dynamics import Model
from casid.dynamics._kinematics import Kinematics
from casid.errors import ProblemError
from casid.excitation.information._criteria import criterion
from casid.excitation.information._observation import Observation
from casid.excitation.limits._collision import CollisionConstraint
from casid.excitation.limits._constraints import FunctionConstraint, StateConstraint, torque_limits
from casid.excitation.limits._motion_limits import MotionLimits
from casid.excitation.optimisation._designer import Designer
from casid.excitation.optimisation._result import Design
from casid.motion import Basis, Fourier, Poses, QuinticSpline, Trajectory
from casid.motion._basis import Array, Ramped

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
    noise: tuple[float, ...] = ()

    def motion_basis(self) -> Basis:
        """Return the basis the settings name."""
        if self.basis == "poses":
            return Poses(self.poses)
        motion: Basis
        if self.basis == "fourier":
            if not self.duration > 0:
                raise ProblemError(f"excitation: the duration must be positive, got {self.duration} s")
            motion = Fourier(2 * np.pi / self.duration, self.harmonics)
        elif self.basis == "spline":
            motion = QuinticSpline(self.duration, 2 * self.harmonics + 5)
        else:
            raise ProblemError(f"unknown basis '{self.basis}'; known: fourier, spline, poses")
        return Ramped(motion, self.ramp) if self.ramp > 0 and self.basis == "fourier" else motion

    def observation(self, robot: Robot, basis: Basis | None = None) -> Observation:
        """Return what a motion in ``basis`` (default: the one the settings name) shows."""
        noise = self.noise or None
        if (basis or self.motion_basis()).static:
            return Observation.static(Model(robot), noise)
        if self.payload:
            return Observation.payload(Model(robot), noise=noise)
        return Observation.of_model(Model(robot, terms=self.terms), noise)

    def limits(self, robot: Robot, basis: Basis | None = None) -> MotionLimits:
        """Joint limits of a motion in ``basis`` (default: the one the settings name)."""
        if (basis or self.motion_basis()).static:
            return MotionLimits.of_positions(robot)
        return MotionLimits.of_robot(robot, self.share)

    def constraints(self, robot: Robot, obstacles: Sequence[Capsule] = ()) -> list[StateConstraint]:
        """Constraints on the states."""
        result: list[StateConstraint] = []
        if obstacles or (self.collision and robot.capsules):
            result.append(CollisionConstraint(robot, obstacles, self.margin))
        known = all(link.inertial is not None for link in robot.links)
        if self.torque and known and np.isfinite(robot.limits.effort).any():
            result.append(torque_limits(Model(robot), robot.standard_parameters()))
        if self.floor is not None:
            result.append(_above(robot, self.floor))
        return result

    def designer(
        self,
        robot: Robot,
        prior: Array | None = None,
        obstacles: Sequence[Capsule] = (),
        basis: Basis | None = None,
    ) -> Designer:
        """Return the design problem for a robot; ``basis`` in place of the one the settings name."""
        chosen = basis or self.motion_basis()
        observation = self.observation(robot, chosen)
        return Designer(
            observation,
            chosen,
            self.limits(robot, chosen),
            criterion(self.criterion, observation, self.parameters),
            self.constraints(robot, obstacles),
            prior,
            self.samples,
            rest=self.rest,
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
        designer = self.designer(robot, basis=trajectory.basis)
        return designer, designer.judge(trajectory)


def _above(robot: Robot, height: float) -> FunctionConstraint:
    """Keep the origins of the links' and their named frames' above a floor, where they can move up and down at all."""
    q = ca.SX.sym("q", robot.n)
    kinematics = Kinematics(robot, q)
    names = [joint.link.name for joint in robot.joints] + [frame.name for frame in robot.frames if frame.joint >= 0]
    heights = {name: kinematics.placement(name)[2, 3] for name in names}
    moving = {name: z for name, z in heights.items() if ca.depends_on(z, q)}
    if not moving:
        raise ProblemError(f"floor: no link frame of robot '{robot.name}' changes its height")
    z = ca.Function("height", [q], [ca.vertcat(*moving.values())], ["q"], ["z"], {"cse": True})
    return FunctionConstraint("floor", z, height, np.inf, [f"height of {name}" for name in moving], unit=1.0)
