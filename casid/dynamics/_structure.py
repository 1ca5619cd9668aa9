"""What a model is made of, the order of its parameters, and the symbols and expressions of one of its functions."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from casid.codegen import Function
from casid.description import Robot, load_robot
from casid.description.joint_parameters import LOAD_BODY, is_shape
from casid.dynamics._base_parameters import BaseParameters
from casid.dynamics._rigid_body import MassFactor, exact, factor_mass_matrix, mass_matrix, newton_euler
from casid.dynamics.terms._joint_terms import JointSignals, JointTerm, Memory, Side, joint_terms
from casid.errors import DatasetError, RobotError
from casid.expressions import shaped
from casid.files import numeric_array
from casid.inertia import STANDARD_NAMES, Parameters


class Structure:
    """A robot, the terms of its joints, gravity and the velocity dead band; see `casid.dynamics.Model`.

    Attributes
    ----------
    robot : Robot
    terms : tuple of JointTerm
        What joints and motors add to the torque.
    gravity_vector : ndarray, shape (3,), or None
        In the base frame [m/s^2]; ``None``: an input of every function that depends on it.
    velocity_deadband : float
        Speed below which the sign of a velocity counts as 0 [rad/s or m/s].
    """

    def __init__(
        self,
        robot: Robot | str | Path,
        terms: Sequence[str | JointTerm] = (),
        gravity: ArrayLike | str | None = None,
        velocity_deadband: float = 0.0,
    ) -> None:
        self.robot = robot if isinstance(robot, Robot) else load_robot(robot)
        self.terms: tuple[JointTerm, ...] = joint_terms(terms, [joint.name for joint in self.robot.coordinates])
        self.gravity_vector = _gravity(self.robot, gravity)
        self.velocity_deadband = float(velocity_deadband)
        if not 0.0 <= self.velocity_deadband < np.inf:
            raise RobotError(f"velocity_deadband must be a number that is not negative, got {velocity_deadband!r}")

    @property
    def n(self) -> int:
        """Number of coordinates: joints that follow no other."""
        return self.robot.n

    @cached_property
    def coordinate_of(self) -> dict[int, int]:
        """Index of the coordinate of each joint that has one, by the joint's index."""
        own = [k for k, joint in enumerate(self.robot.joints) if joint.mimic is None]
        return {k: i for i, k in enumerate(own)}

    @cached_property
    def _layout(self) -> tuple[tuple[tuple[int, ...], ...], dict[int, tuple[JointTerm, int]], tuple[str, ...]]:
        """Columns of each link's ten, (term, coordinate) of the other columns, names."""
        links: list[tuple[int, ...]] = []
        terms: dict[int, tuple[JointTerm, int]] = {}
        names: list[str] = []
        for k, joint in enumerate(self.robot.joints):
            links.append(tuple(range(len(names), len(names) + len(STANDARD_NAMES))))
            names += [f"{symbol}{k + 1}" for symbol in STANDARD_NAMES]
            for term in self.terms:
                if joint.mimic is None and (term.joints is None or joint.name in term.joints):
                    terms[len(names)] = (term, self.coordinate_of[k])
                    names.append(f"{term.symbol}{k + 1}")
        return tuple(links), terms, tuple(names)

    @property
    def parameter_names(self) -> tuple[str, ...]:
        """Names of the parameters ``pi``: ``Lxx1 ... m1, fv1 ..., Lxx2 ...``."""
        return self._layout[2]

    @property
    def link_columns(self) -> tuple[tuple[int, ...], ...]:
        """Where the ten parameters of each link stand in ``pi``."""
        return self._layout[0]

    @property
    def term_columns(self) -> dict[int, tuple[JointTerm, int]]:
        """Where the parameters of the terms stand in ``pi``: column -> (term, index of the joint's coordinate)."""
        return dict(self._layout[1])

    @cached_property
    def memories(self) -> tuple[tuple[int, Memory], ...]:
        """Memories of the terms, in the order of the input ``memory``: index of the coordinate, and `Memory`."""
        found: list[tuple[int, Memory]] = []
        for term, i in self.term_columns.values():
            kept = term.remembered(i)
            if kept is not None and (i, kept) not in found:
                found.append((i, kept))
        return tuple(found)

    @property
    def motor_inertia(self) -> bool:
        """Whether rotors act behind the transmission, which may couple joints that the tree does not."""
        return any(term.inertial and term.side == "motor" for term in self.terms)

    @cached_property
    def nominal(self) -> np.ndarray | None:
        """The robot's own values of ``pi``, where it states all of them: what functions take without ``pi``."""
        if any(link.inertial is None for link in self.robot.links):
            return None
        own = self.robot.parameters
        known = all(name in own for name in self.parameter_names)
        return np.array([own[name] for name in self.parameter_names]) if known else None

    def parameters(self, parameters: Parameters | ArrayLike, terms: ArrayLike | None = None) -> np.ndarray:
        """The vector ``pi``, shape (N,), in the order of `parameter_names`.

        Parameters
        ----------
        parameters
            `Parameters`, whose terms may be left out (they are then zero); or the links' standard parameters, shape
            (10 links,); or all N of them.
        terms
            Values of the terms in their order, beside standard parameters; default 0.

        Raises
        ------
        DatasetError
            If parameters are missing, too many, or not finite.
        """
        names = self.parameter_names
        if isinstance(parameters, Parameters):
            for name in filter(is_shape, parameters.names):
                if self.shapes.get(name) != parameters[name]:
                    own = f"it has {self.shapes[name]:g}" if name in self.shapes else "it has none of this name"
                    raise DatasetError(
                        f"parameter '{name}' = {parameters[name]:g} is the shape of a friction law, which the model "
                        f"must have ({own}): make it with Model.of_parameters(robot, parameters)"
                    )
            return parameters.in_order(self)
        given = np.array(parameters, dtype=float)
        if terms is None and given.shape == (len(names),):
            pi = given
        elif given.shape == (len(STANDARD_NAMES) * len(self.robot.joints),):
            pi = np.zeros(len(names))
            pi[np.ravel(self.link_columns)] = given
            if terms is not None:
                where, shape = f"robot '{self.robot.name}': values of the joint terms", (len(self.term_columns),)
                pi[sorted(self.term_columns)] = numeric_array(terms, where, DatasetError, shape=shape)
        else:
            raise DatasetError(
                f"expected {len(names)} parameters of robot '{self.robot.name}' ({names[0]} ... {names[-1]}), "
                f"got shape {given.shape}"
            )
        bad = np.flatnonzero(~np.isfinite(pi))
        if len(bad):
            raise DatasetError(f"robot '{self.robot.name}': parameter '{names[bad[0]]}' is not a finite number")
        return pi

    def named(self, pi: ArrayLike) -> Parameters:
        """`Parameters` from a vector in the order of `parameter_names`, with `shapes`; inverse of `parameters`."""
        values = np.concatenate([np.asarray(pi, dtype=float), np.array(list(self.shapes.values()), dtype=float)])
        links = tuple(link.name for link in self.robot.links)
        return Parameters((*self.parameter_names, *self.shapes), values, links)

    @cached_property
    def shapes(self) -> dict[str, float]:
        """What the torque is not linear in, by name.

        Shapes of friction laws (``stribeck.width2``), the velocity deadband (``sign.deadband2``), and the bodies whose
        torque loads the joints (``load.m2``), where a term depends on the load.
        """
        place = {i: k for k, i in self.coordinate_of.items()}
        found: dict[str, float] = {}
        for term, i in self.term_columns.values():
            own = {} if term.shapes is None else dict(term.shapes(i))
            if self.velocity_deadband:
                own["sign.deadband"] = self.velocity_deadband
            found |= {f"{symbol}{place[i] + 1}": value for symbol, value in own.items()}
        loading = [term.nominal for term, _ in self.term_columns.values() if term.loaded]
        if loading:
            nominal = self.robot.standard_parameters().tolist() if loading[0] is None else loading[0]
            names = [f"{symbol}{k + 1}" for k in range(len(self.robot.joints)) for symbol in LOAD_BODY]
            found |= dict(zip(names, nominal, strict=True))
        return found

    def __repr__(self) -> str:
        terms = ", ".join(term.name for term in self.terms)
        return f"{type(self).__name__}({self.robot.name}: {self.n} joints, {len(self.parameter_names)} parameters" + (
            f", terms {terms})" if terms else ")"
        )


def _gravity(robot: Robot, gravity: ArrayLike | str | None) -> np.ndarray | None:
    if isinstance(gravity, str):
        if gravity != "input":
            raise RobotError(f"gravity: give three numbers or 'input', not '{gravity}'")
        return None
    try:
        vector = np.array(robot.gravity if gravity is None else gravity, dtype=float)
    except (TypeError, ValueError):  # no numbers, or lists of several lengths
        vector = np.full(0, np.nan)
    if vector.shape != (3,) or not np.isfinite(vector).all():
        raise RobotError(f"gravity: expected three finite numbers, got {gravity!r}")
    return vector


class Parametrisation(ABC):
    """Inputs of a model's functions that stand for its parameters, and ``pi`` as an expression of them.

    Attributes
    ----------
    offsets : ndarray, shape (n,), or None
        Added to the joint positions in the finished expressions.
    nominal : Robot or None
        Robot whose nominal bodies load the joints' friction, where it is not the model's.
    """

    offsets: np.ndarray | None = None
    nominal: Robot | None = None

    @abstractmethod
    def symbols(self, structure: Structure) -> tuple[Mapping[str, ca.SX], ca.SX]:
        """Fresh inputs by name, in order, and ``pi``, shape (N, 1), in terms of them."""


class StandardParameters(Parametrisation):
    """The parameters are an input ``pi`` (N)."""

    def symbols(self, structure: Structure) -> tuple[Mapping[str, ca.SX], ca.SX]:
        """One input."""
        pi = ca.SX.sym("pi", len(structure.parameter_names))
        return {"pi": pi}, pi


class Numbers(Parametrisation):
    """The parameters are given numbers: no input, zeros leave no trace.

    Parameters
    ----------
    values
        In the model's order, shape (N,).
    offsets
        Added to the joint positions, shape (n,); default: none. Only with terms that do not depend on the position.
    nominal
        Robot whose nominal bodies load the joints' friction, where it is not the model's.
    """

    def __init__(self, values: ArrayLike, offsets: ArrayLike | None = None, nominal: Robot | None = None) -> None:
        self.values = np.array(values, dtype=float)
        self.values.setflags(write=False)
        moved = None if offsets is None else np.array(offsets, dtype=float)
        self.offsets = moved if moved is not None and moved.any() else None
        self.nominal = nominal

    def symbols(self, structure: Structure) -> tuple[Mapping[str, ca.SX], ca.SX]:
        """No input."""
        return {}, ca.SX(ca.DM(self.values))


class BaseInput(Parametrisation):
    """The base parameters are an input ``beta`` (rank).

    The leading parameter of each base parameter takes its value, all others are exact zeros.
    """

    def __init__(self, base: BaseParameters) -> None:
        self.base = base

    def symbols(self, structure: Structure) -> tuple[Mapping[str, ca.SX], ca.SX]:
        """One input."""
        beta = ca.SX.sym("beta", self.base.rank)
        pi = ca.SX(len(structure.parameter_names), 1)
        for row, index in enumerate(self.base.independent):
            pi[index] = beta[row]
        return {"beta": beta}, ca.densify(pi)


class ModelFunction(Function):
    """A `casid.codegen.Function` that takes `casid.Parameters` for ``pi``.

    Parameters
    ----------
    function, args, named
        As for `Function`.
    parameter_names
        Order of the parameters in its input ``pi``.
    """

    def __init__(
        self, function: ca.Function, *args: Any, parameter_names: Sequence[str] | None = None, **named: Any
    ) -> None:
        super().__init__(function, *args, **named)
        given = getattr(function, "parameter_names", ()) if parameter_names is None else parameter_names
        self.parameter_names = tuple(given)

    def _state(self) -> dict[str, Any]:
        return {**super()._state(), "parameter_names": self.parameter_names}

    def _value(self, name: str, value: Any) -> Any:
        named = name == "pi" and isinstance(value, Parameters)
        return value.in_order(self.parameter_names) if named else value


class Symbols:
    """Fresh symbols of one function and the expressions it is made of.

    Attributes
    ----------
    q, dq, ddq, tau, signal : SX, shape (n, 1)
        Motion, torque, measured torque.
    memory : SX
        States of terms with memory, in the order of `Structure.memories`.
    pi : SX, shape (N, 1)
        The parameters: symbols, numbers or expressions.
    links : list of SX, shape (10, 1)
        The ten of each link.
    gravity : SX, shape (3, 1)
    signs : SX
        Signs of the velocities at which dry friction acts, in functions that take them: see `equation_of_motion`.
    seed : SX, shape (n, 1)
        Weights of the torques in adjoint sweeps: see `inverse_dynamics_derivatives`.
    """

    signs: ca.SX
    seed: ca.SX

    def __init__(self, structure: Structure, parametrisation: Parametrisation) -> None:
        n = structure.n
        self.structure, self._parametrisation = structure, parametrisation
        self.q, self.dq, self.ddq, self.tau = (ca.SX.sym(name, n) for name in ("q", "dq", "ddq", "tau"))
        self._parameter_inputs, self.pi = parametrisation.symbols(structure)
        self.links = [self.pi[list(columns)] for columns in structure.link_columns]
        given = structure.gravity_vector
        self.gravity = ca.SX.sym("gravity", 3) if given is None else ca.SX(ca.DM(given))
        self.signal = ca.SX.sym("signal", n)
        self.memory = ca.SX.sym("memory", sum(kept.size for _, kept in structure.memories))

    @property
    def unmoved_q(self) -> ca.SX:
        """Joint positions that the offsets of moved frames do not change when the function is finished."""
        offsets = self._parametrisation.offsets
        return self.q if offsets is None else self.q - ca.DM(offsets)

    def function(
        self, name: str, inputs: list[str], outputs: dict[str, ca.SX], axes: int | Sequence[int] | None = None
    ) -> ModelFunction:
        """A function with named inputs and outputs, common subexpressions shared; axes of the outputs of a sample."""
        given: dict[str, ca.SX] = {}
        for item in inputs:
            given.update(self._parameter_inputs if item == "pi" else {item: getattr(self, item)})
        expressions = [ca.densify(value) for value in outputs.values()]
        offsets = self._parametrisation.offsets
        if offsets is not None:
            expressions = ca.substitute(expressions, [self.q], [self.q + ca.DM(offsets)])
        for extra in ("q", "gravity", "signal", "memory"):
            symbol = getattr(self, extra)
            if symbol.is_valid_input() and any(ca.depends_on(e, symbol) for e in expressions):
                given[extra] = symbol
        made = ca.Function(name, list(given.values()), expressions, list(given), list(outputs), {"cse": True})
        structure = self.structure
        documented = getattr(type(structure), name, None)
        defaults = {} if structure.nominal is None or "pi" not in given else {"pi": structure.nominal}
        doc, names = getattr(documented, "__doc__", None), structure.parameter_names
        return ModelFunction(made, axes, defaults, doc, parameter_names=names)

    def gravity_torque(self) -> ca.SX:
        """Torque of the links at rest."""
        still = ca.SX(self.structure.n, 1)
        return newton_euler(self.structure.robot, self.q, still, still, self.links, self.gravity)[0]

    def coriolis(self) -> ca.SX:
        """Torque of the links' velocities alone."""
        still = ca.SX(self.structure.n, 1)
        return newton_euler(self.structure.robot, self.q, self.dq, still, self.links, ca.SX(3, 1))[0]

    def torque(self, ddq: ca.SX | None = None) -> ca.SX:
        """Torque of the links and of the joint terms."""
        ddq = self.ddq if ddq is None else ddq
        rigid = newton_euler(self.structure.robot, self.q, self.dq, ddq, self.links, self.gravity)[0]
        return rigid + self.term_torque(ddq)

    def term_torque(self, ddq: ca.SX) -> ca.SX:
        """Torque of joint-side and motor-side terms (Sousa 2014, eq. 4.9)."""
        deadband = self.structure.velocity_deadband
        velocities: dict[Side, ca.SX] = {"joint": self.dq, "motor": self.transmission.T @ self.dq}
        signs = {side: ca.sign(dq) * (ca.fabs(dq) >= deadband if deadband else 1) for side, dq in velocities.items()}
        return self.at_joints(self.side_torques(ddq, signs))

    def at_joints(self, torques: Mapping[tuple[Side, int], ca.SX]) -> ca.SX:
        """Torques at joints and motors as torques of the joints (n)."""
        sides = {"joint": ca.SX(self.structure.n, 1), "motor": ca.SX(self.structure.n, 1)}
        for (side, k), torque in torques.items():
            sides[side][k] += torque
        return sides["joint"] + ca.mtimes(self.transmission, sides["motor"])

    @property
    def transmission(self) -> ca.SX:
        """``T`` with ``tau = T tau_m`` (n x n)."""
        given = self.structure.robot.transmission
        return ca.SX.eye(self.structure.n) if given is None else ca.SX(exact(given))

    def side_torques(self, ddq: ca.SX, signs: Mapping[Side, ca.SX]) -> dict[tuple[Side, int], ca.SX]:
        """Torque of the terms at each joint and each motor, for given signs (n) of their velocities."""
        structure, T = self.structure, self.transmission
        motor = {"joint": ca.SX.eye(structure.n), "motor": T.T}
        sides = {side: tuple(M @ v for v in (self.q, self.dq, ddq)) for side, M in motor.items()}
        loads = {
            nominal: self.nominal_torque(ddq, nominal)
            for nominal in dict.fromkeys(term.nominal for term in structure.terms if term.loaded)
        }
        torques: dict[tuple[Side, int], ca.SX] = {}
        for column, (term, i) in structure.term_columns.items():
            q, dq, acceleration = (v[i] for v in sides[term.side])
            load = (motor[term.side] @ loads[term.nominal])[i] if term.loaded else ca.SX(0)
            memory = self._memory_of(term.remembered(i), i)
            signals = JointSignals(i, q, dq, acceleration, signs[term.side][i], load, self.signal[i], memory)
            where = f"joint term '{term.name}': the column at joint {i + 1}"
            value = shaped(term.column(signals), (1, 1), where, RobotError)
            torques[term.side, i] = torques.get((term.side, i), ca.SX(0)) + self.pi[column] * value
        return torques

    def _memory_of(self, kept: Memory | None, coordinate: int) -> ca.SX:
        """Where the states of a term stand."""
        first = 0
        for place in self.structure.memories:
            if place == (coordinate, kept):
                return self.memory[first : first + place[1].size]
            first += place[1].size
        return self.memory[:0]

    def nominal_torque(self, ddq: ca.SX, parameters: Sequence[float] | None = None) -> ca.SX:
        """Torque of the links with the robot's nominal parameters, or with these, shape (10 links,)."""
        robot = self._parametrisation.nominal or self.structure.robot
        given = robot.standard_parameters() if parameters is None else np.asarray(parameters, dtype=float)
        nominal = ca.vertsplit(ca.SX(ca.DM(given)), len(STANDARD_NAMES))
        return newton_euler(robot, self.q, self.dq, ddq, nominal, self.gravity)[0]

    def rotor_inertia(self) -> ca.SX:
        """Share of the terms in the mass matrix (n x n)."""
        T = self.transmission
        M = ca.SX(self.structure.n, self.structure.n)
        for column, (term, i) in self.structure.term_columns.items():
            if term.inertial:
                direction = T[:, i] if term.side == "motor" else ca.SX.eye(self.structure.n)[:, i]
                M += self.pi[column] * ca.mtimes(direction, direction.T)
        return M

    def mass_matrix(self) -> ca.SX:
        """Mass matrix of the links and the rotors."""
        return mass_matrix(self.structure.robot, self.q, self.links) + self.rotor_inertia()

    def mass_factor(self) -> MassFactor:
        """The mass matrix factored; rotors behind a transmission may couple joints that the tree does not."""
        return factor_mass_matrix(self.mass_matrix(), self.structure.robot, dense=self.structure.motor_inertia)
