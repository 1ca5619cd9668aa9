"""Drake, an extra of its own, and DART, whose wheel brings a package `tests` that hides that of a project.

Install dartpy in an environment without the tests.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.measure import need
from casid.arrays import Array
from casid.description import Robot
from casid.testing._engines import Engine


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
        positions, velocities = np.empty(len(q)), np.empty(len(q))
        positions[self.places], velocities[self.order] = q, dq
        self.plant.SetPositions(self.context, positions)
        self.plant.SetVelocities(self.context, velocities)

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
        forces = np.empty(len(tau))
        forces[self.order] = tau
        self.plant.get_applied_generalized_force_input_port().FixValue(self.context, forces)
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
        positions, velocities = np.empty(len(q)), np.empty(len(q))
        positions[self.order], velocities[self.order] = q, dq
        self.body.setPositions(positions)
        self.body.setVelocities(velocities)

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
        forces = np.empty(len(tau))
        forces[self.order] = tau
        self.body.setForces(forces)
        self.body.computeForwardDynamics()
        return np.asarray(self.body.getAccelerations()[self.order])
