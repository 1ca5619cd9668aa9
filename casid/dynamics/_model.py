"""The dynamics of a robot as CasADi functions, built when first asked for.

Equation of motion (Gaz et al. 2019, eq. 1; Sousa 2014, eq. 2.9)::

    tau = M(q) ddq + c(q, dq) + g(q) + friction = Y(q, dq, ddq) pi
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from casid.codegen import Function
from casid.description import Robot, load_robot
from casid.description.joint_parameters import LOAD_BODY, is_shape
from casid.dynamics._base_parameters import BaseParameters, random_rows, regroup
from casid.dynamics._rigid_body import (
    Kinematics,
    MassFactor,
    exact,
    factor_mass_matrix,
    kinetic_energy,
    mass_matrix,
    newton_euler,
    potential_energy,
)
from casid.dynamics.terms._friction import Friction, terms_of
from casid.dynamics.terms._terms import JointSignals, JointTerm, Memory, Side, joint_terms
from casid.errors import DatasetError, RobotError, RobotWarning
from casid.expressions import shaped
from casid.files import near, numeric_array
from casid.inertia import STANDARD_NAMES, Parameters

# ------------------------------------------------------------------ structure


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
        terms = f", terms {', '.join(term.name for term in self.terms)}" if self.terms else ""
        counts = f"{self.n} joints, {len(self.parameter_names)} parameters"
        return f"{type(self).__name__}({self.robot.name}: {counts}{terms})"


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


class Parametrisation:
    """Inputs of a model's functions that stand for its parameters: ``pi`` (N); others have ``pi`` as an expression.

    Attributes
    ----------
    offsets : ndarray, shape (n,), or None
        Added to the joint positions in the finished expressions.
    nominal : Robot or None
        Robot whose nominal bodies load the joints' friction, where it is not the model's.
    """

    offsets: np.ndarray | None = None
    nominal: Robot | None = None

    def symbols(self, structure: Structure) -> tuple[Mapping[str, ca.SX], ca.SX]:
        """Fresh inputs by name, in order, and ``pi``, shape (N, 1), in terms of them."""
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
        self.offsets = None if offsets is None or not np.any(offsets) else np.array(offsets, dtype=float)
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
    ) -> Function:
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
        doc, orders = getattr(documented, "__doc__", None), {"pi": structure.parameter_names}
        return Function(made, axes, defaults, doc, orders=orders)

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


# ------------------------------------------------------------------ functions


class Model(Structure):
    """CasADi functions of a robot's dynamics, for standard parameters as a symbolic input.

    Every property below is a `casid.codegen.Function`: a ``casadi.Function`` with named inputs and outputs (SX inside)
    to embed in graphs, map and differentiate, which is also called with arrays (compiled code; leading axes are
    samples) and has the faces ``external`` (MX, Opti, other solvers) and ``jax``. ``pi`` may be left out where the
    robot states all parameters of the model.

    Parameters
    ----------
    robot : Robot, str or Path
        The tree; n moving joints. A name or path is loaded with `casid.load_robot`.
    terms : sequence of str or JointTerm
        What joints and motors add to the torque, each with one parameter a joint: ``viscous, coulomb, offset, rotor,
        motor_viscous, ...``, see `JOINT_TERMS` (``"rotor@joint6"``: at that joint only), or terms of the user's own.
    gravity : array_like, shape (3,), or "input", optional
        Acceleration of gravity in the base frame [m/s^2]; default: the robot's. With ``"input"`` it becomes an input
        ``gravity`` (3), placed last, of every function that depends on it.
    velocity_deadband : float
        Speed below which the sign of a velocity counts as 0 [rad/s or m/s].

    Notes
    -----
    The parameter vector ``pi`` has, link by link, ``Lxx Lxy Lxz Lyy Lyz Lzz lx ly lz m`` and then the joint's terms;
    `parameter_names` gives them. Units: SI; q in rad (revolute) or m (prismatic). A model with a ``drive_gain`` has a
    last input ``signal`` (n), the measured torque, in the functions that depend on it; one with terms that have a
    memory (`Memory`) has a last input ``memory``, their states.

    Examples
    --------
    >>> import casid
    >>> robot = casid.load_robot("panda")
    >>> model = casid.Model(robot)
    >>> tau = model.inverse_dynamics(q, dq, ddq)  # doctest: +SKIP
    """

    _parametrisation = Parametrisation()
    #: The model with the input ``pi``, where this one has something else in its place.
    _standard: Model | None = None

    @classmethod
    def of_parameters(
        cls, robot: Robot, parameters: Mapping[str, float] | Parameters, gravity: ArrayLike | str | None = None
    ) -> Model:
        """The model with the joint terms and friction laws, shapes included, that parameters are of.

        Parameters
        ----------
        robot
            The tree.
        parameters
            By name, those of links aside: ``robot.parameters``, a file's (`casid.inertia.read_parameters`).
        gravity
            As for the model.

        Raises
        ------
        RobotError
            For a name of no known term or friction law, and an amplitude of a law whose shape is not given.
        """
        named = parameters.terms if isinstance(parameters, Parameters) else parameters
        terms, deadband = terms_of(named, robot)
        return cls(robot, terms, gravity, deadband)

    def with_parameters(self, parameters: Parameters | ArrayLike) -> Model:
        """The same model with numbers in place of the input ``pi`` of its functions.

        Its regressors stay those of the standard parameters. `casid.dynamics.reduced` finds an equivalent model with
        fewer operations.

        Parameters
        ----------
        parameters
            As for `parameters`.

        Raises
        ------
        DatasetError
            If parameters are missing, too many, or not finite.
        """
        return self.parametrised(Numbers(self.parameters(parameters)))

    def with_base_parameters(self) -> Model:
        """The same model with base parameters ``beta`` (rank) as input of its functions instead of ``pi``.

        Only for what torques determine: wrenches inside the links and the potential energy's zero are not.
        """
        return self.parametrised(BaseInput(self.base))

    def parametrised(self, parametrisation: Parametrisation) -> Model:
        """The same model with something else in place of the input ``pi`` of its functions."""
        model = self.like()
        model._parametrisation, model._standard = parametrisation, self._standard or self
        return model

    def like(self, robot: Robot | None = None, terms: Sequence[str | JointTerm] | None = None) -> Model:
        """A model with the same gravity and velocity deadband, of another robot or with other terms where given."""
        gravity = "input" if self.gravity_vector is None else self.gravity_vector
        return Model(robot or self.robot, self.terms if terms is None else terms, gravity, self.velocity_deadband)

    def with_friction(self, friction: Friction) -> Model:
        """The same model with the terms of this friction (`casid.regression.choose_friction`) added."""
        joints = [joint.name for joint in self.robot.coordinates]
        return self.like(terms=(*self.terms, *friction.terms(joints)))

    def settled(self) -> Model:
        """The same model, friction with a memory as it is after a long motion at one velocity.

        Warns
        -----
        RobotWarning
            Naming the parameters of such friction.
        """
        kept = [term.symbol for term in self.terms if term.memory is not None]
        if not kept:
            return self
        warnings.warn(
            f"friction with a memory ({', '.join(kept)}) is taken as after a long motion at one velocity",
            RobotWarning,
            stacklevel=2,
        )
        return self.like(terms=[term.settled() for term in self.terms])

    def symbols(self) -> Symbols:
        """Fresh symbols for one function of this model."""
        return Symbols(self, self._parametrisation)

    def _standard_symbols(self) -> Symbols:
        """Fresh symbols with the input ``pi``, whatever stands for it elsewhere."""
        return Symbols(self, Model._parametrisation)

    # ------------------------------------------------------------------ dynamics

    @cached_property
    def inverse_dynamics(self) -> Function:
        """``(q, dq, ddq, pi) -> tau`` (n): ``tau = M ddq + c + g + friction``, recursive Newton-Euler.

        Positions, velocities and accelerations (n) [rad, m; a second]; torques [N.m, N]. Gaz et al. 2019, eq. 1.
        """
        s = self.symbols()
        return s.function("inverse_dynamics", ["q", "dq", "ddq", "pi"], {"tau": s.torque()}, 1)

    @cached_property
    def regressor(self) -> Function:
        """``(q, dq, ddq) -> Y`` (n x N), with ``tau = Y pi`` (Gaz et al. 2019, eq. 5).

        Motion as for `inverse_dynamics`; columns in the order of `parameter_names`.
        """
        if self._standard is not None:
            return self._standard.regressor
        s = self.symbols()
        return s.function("regressor", ["q", "dq", "ddq"], {"Y": ca.jacobian(s.torque(), s.pi)}, 2)

    @cached_property
    def base_regressor(self) -> Function:
        """``(q, dq, ddq) -> Y`` (n x rank), with ``tau = Y beta`` for the base parameters ``beta = K pi``.

        Motion as for `inverse_dynamics`; columns in the order of ``base.independent``.
        """
        s = self._standard_symbols()
        Y = ca.jacobian(s.torque(), s.pi)[:, list(self.base.independent)]
        return s.function("base_regressor", ["q", "dq", "ddq"], {"Y": Y}, 2)

    @cached_property
    def mass_matrix(self) -> Function:
        """``(q, pi) -> M`` (n x n): symmetric joint-space mass matrix, rotor inertia included where modelled.

        ``T = dq' M dq / 2``; entries [kg.m^2; kg.m and kg where joints are prismatic].
        """
        s = self.symbols()
        return s.function("mass_matrix", ["q", "pi"], {"M": s.mass_matrix()}, 2)

    @cached_property
    def gravity(self) -> Function:
        """``(q, pi) -> g`` (n): gravity torques [N.m, N], the gradient of `potential_energy` in q."""
        s = self.symbols()
        return s.function("gravity", ["q", "pi"], {"g": s.gravity_torque()}, 1)

    @cached_property
    def coriolis(self) -> Function:
        """``(q, dq, pi) -> c`` (n): Coriolis and centrifugal torques [N.m, N], quadratic in dq."""
        s = self.symbols()
        return s.function("coriolis", ["q", "dq", "pi"], {"c": s.coriolis()}, 1)

    @cached_property
    def coriolis_matrix(self) -> Function:
        """``(q, dq, pi) -> C`` (n x n), ``c = C dq``, from the Christoffel symbols, so that ``dM/dt - 2 C`` is skew.

        ``C = (dM/dt + B - B') / 2`` with ``B = d(M v)/dq`` at the constant vector v = dq.
        """
        s = self.symbols()
        M = s.mass_matrix()
        v = ca.SX.sym("v", self.n)
        B = ca.substitute(ca.jacobian(ca.mtimes(M, v), s.q), v, s.dq)
        rate = ca.reshape(ca.jtimes(ca.vec(M), s.q, s.dq), self.n, self.n)
        return s.function("coriolis_matrix", ["q", "dq", "pi"], {"C": (rate + B - B.T) / 2}, 2)

    @cached_property
    def friction(self) -> Function:
        """``(dq, pi) -> tau`` (n): the terms at constant velocity [N.m, N]; ``q`` is a last input if needed."""
        s = self.symbols()
        return s.function("friction", ["dq", "pi"], {"tau": s.term_torque(ca.SX(self.n, 1))}, 1)

    @cached_property
    def forward_dynamics(self) -> Function:
        """``(q, dq, tau, pi) -> ddq`` (n): ``M^-1 (tau - c - g - friction)`` [rad/s^2, m/s^2].

        Friction that grows with the load has the load without acceleration (Coriolis, centrifugal, gravity torque), so
        that the equation is explicit; `inverse_dynamics` has all of it.
        """
        s = self.symbols()
        right = s.tau - s.torque(ddq=ca.SX(self.n, 1))
        return s.function("forward_dynamics", ["q", "dq", "tau", "pi"], {"ddq": s.mass_factor().solve(right)}, 1)

    @cached_property
    def static_regressor(self) -> Function:
        """``(q) -> Y`` ((n (n + 1) / 2 + n) x N), with ``[vech M; g] = Y pi`` (Gaz et al. 2019, eq. 17).

        ``vech`` stacks the rows of the lower triangle: M11, M21, M22, M31, ... (numpy's ``tril_indices``).
        """
        s = self._standard_symbols()
        M = s.mass_matrix()
        stack = [M[i, j] for i in range(self.n) for j in range(i + 1)]
        Y = ca.jacobian(ca.vertcat(*stack, s.gravity_torque()), s.pi)
        return s.function("static_regressor", ["q"], {"Y": Y}, 2)

    @cached_property
    def joint_wrenches(self) -> Function:
        """``(q, dq, ddq, pi) -> w`` (6 x n): what the parent exerts on each link through its joint.

        Rows: force [N], then moment [N.m], about the origin and in the axes of the moved joint frame (which is the link
        frame in modified DH and URDF).
        """
        s = self.symbols()
        _, wrenches = newton_euler(self.robot, s.q, s.dq, s.ddq, s.links, s.gravity)
        stacked = ca.horzcat(*(ca.vertcat(w.force, w.moment) for w in wrenches))
        return s.function("joint_wrenches", ["q", "dq", "ddq", "pi"], {"w": stacked}, 2)

    @cached_property
    def kinetic_energy(self) -> Function:
        """``(q, dq, pi) -> T`` [J]: kinetic energy ``dq' M dq / 2``, rotor inertia included where modelled."""
        s = self.symbols()
        energy = kinetic_energy(self.robot, s.q, s.dq, s.links)
        energy += ca.dot(s.dq, ca.mtimes(s.rotor_inertia(), s.dq)) / 2
        return s.function("kinetic_energy", ["q", "dq", "pi"], {"T": energy}, 0)

    @cached_property
    def potential_energy(self) -> Function:
        """``(q, pi) -> U`` [J]: potential energy, zero with all mass at the base origin."""
        s = self.symbols()
        energy = potential_energy(self.robot, s.q, s.links, s.gravity)
        return s.function("potential_energy", ["q", "pi"], {"U": energy}, 0)

    # ------------------------------------------------------------------ kinematics

    @cached_property
    def forward_kinematics(self) -> Function:
        """``(q) -> T_<link>, ...``: placement (4x4) of every link frame in the base frame [m], one output a link."""
        s = self.symbols()
        kinematics = Kinematics(self.robot, s.q)
        outputs = {f"T_{_identifier(link.name)}": kinematics.placement(link.name) for link in self.robot.links}
        return s.function("forward_kinematics", ["q"], outputs, 2)

    @cached_property
    def jacobian(self) -> Function:
        """``(q) -> J_<link>, ...``: geometric Jacobian (6 x n) of every link frame, see `frame_jacobian`."""
        s = self.symbols()
        kinematics = Kinematics(self.robot, s.q)
        outputs = {f"J_{_identifier(link.name)}": kinematics.jacobian(link.name) for link in self.robot.links}
        return s.function("jacobian", ["q"], outputs, 2)

    def frame_placement(self, frame: str) -> Function:
        """``(q) -> T`` (4x4): placement of a link or named frame in the base frame."""
        s = self.symbols()
        return s.function("frame_placement", ["q"], {"T": Kinematics(self.robot, s.q).placement(frame)}, 2)

    def frame_jacobian(self, frame: str) -> Function:
        """``(q) -> J`` (6 x n): linear velocity of the frame's origin, then angular velocity, in base axes."""
        s = self.symbols()
        return s.function("frame_jacobian", ["q"], {"J": Kinematics(self.robot, s.q).jacobian(frame)}, 2)

    # ------------------------------------------------------------------ derivatives and base parameters

    def derivatives(self, function: str) -> Function:
        """Analytic first derivatives of one of the functions above.

        Parameters
        ----------
        function
            Its name, e.g. ``"inverse_dynamics"``.

        Returns
        -------
        Function
            Same inputs; outputs ``d<out>_d<in>`` for every output and every input, a matrix output stacked by columns:
            ``inverse_dynamics`` gives ``dtau_dq, dtau_ddq (with respect to dq), ...``, see its ``name_out()``.
        """
        original = getattr(type(self), function, None)
        if not isinstance(original, cached_property):
            known = [name for name, value in vars(Model).items() if isinstance(value, cached_property)]
            known.remove("base")
            hint = near(function, known)
            raise RobotError(f"no function '{function}' to differentiate{hint}; known: {', '.join(known)}")
        f: Function = getattr(self, function)
        inputs = [ca.SX.sym(f.name_in(i), f.size1_in(i), f.size2_in(i)) for i in range(f.n_in())]
        outputs = f.call(inputs)
        jacobians = {
            f"d{f.name_out(o)}_d{f.name_in(i)}": ca.jacobian(ca.vec(outputs[o]), inputs[i])
            for o in range(f.n_out())
            for i in range(f.n_in())
        }
        name = f"{function}_derivatives"
        made = ca.Function(name, inputs, list(jacobians.values()), f.name_in(), list(jacobians), {"cse": True})
        return Function(made, 2, f.defaults, orders=f.orders)

    @cached_property
    def base(self) -> BaseParameters:
        """Base parameters of this model: rank, selection, K and printed groupings."""
        return base_parameters(self) if self._standard is None else self._standard.base


def base_parameters(model: Model, samples: int | None = None) -> BaseParameters:
    """Base parameters of a model's regressor, from its values at random states (fixed seed: deterministic).

    Parameters
    ----------
    model
    samples
        Number of random states; default: enough for six times as many rows as parameters.
    """
    return regroup(stacked_regressor(model, samples), model.parameter_names)


def stacked_regressor(model: Model, samples: int | None = None) -> np.ndarray:
    """Regressor of a model at random states, stacked: shape (n samples, N); see `base_parameters`."""
    return random_rows(model.regressor, [joint.type == "prismatic" for joint in model.robot.coordinates], samples)


def _identifier(name: str) -> str:
    """A name CasADi accepts: letters, digits and single underscores."""
    return re.sub("[^A-Za-z0-9]+", "_", name).strip("_") or "link"
