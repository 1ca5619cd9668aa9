"""Fresh symbols of one function of a model, and the expressions it is made of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import casadi as ca
import numpy as np

from casid.dynamics._kinematics import exact
from casid.dynamics._model_function import ModelFunction
from casid.dynamics._rigid_body import mass_matrix, newton_euler
from casid.dynamics._structure import Parametrisation, Structure
from casid.dynamics.terms._joint_terms import JointSignals, Memory, Side
from casid.inertia._parameters import STANDARD_NAMES


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
    """

    signs: ca.SX

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

    def function(self, name: str, inputs: list[str], outputs: dict[str, ca.SX]) -> ca.Function:
        """A Function with named inputs and outputs, common subexpressions shared."""
        given: dict[str, ca.SX] = {}
        for item in inputs:
            given.update(self._parameter_inputs if item == "pi" else {item: getattr(self, item)})
        expressions = [ca.densify(value) for value in outputs.values()]
        offsets = self._parametrisation.offsets
        if offsets is not None:
            expressions = ca.substitute(expressions, [self.q], [self.q + ca.DM(offsets)])
        for extra in ("q", "gravity", "signal", "memory"):
            symbol = getattr(self, extra)
            if extra in given or not symbol.is_valid_input():
                continue
            if any(ca.depends_on(e, symbol) for e in expressions):
                given[extra] = symbol
        made = ca.Function(name, list(given.values()), expressions, list(given), list(outputs), {"cse": True})
        return ModelFunction(made, self.structure.parameter_names)

    def rigid_torque(self, motion: bool = True) -> ca.SX:
        """Torque of the links; of gravity alone without motion."""
        still = ca.SX(self.structure.n, 1)
        dq, ddq = (self.dq, self.ddq) if motion else (still, still)
        return newton_euler(self.structure.robot, self.q, dq, ddq, self.links, self.gravity)[0]

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
        n, deadband, T = self.structure.n, self.structure.velocity_deadband, self.transmission
        torque = {"joint": ca.SX(n, 1), "motor": ca.SX(n, 1)}
        velocities: dict[Side, ca.SX] = {"joint": self.dq, "motor": T.T @ self.dq}
        signs = {side: ca.sign(dq) * (ca.fabs(dq) >= deadband if deadband else 1) for side, dq in velocities.items()}
        for (side, k), value in self.side_torques(ddq, signs).items():
            torque[side][k] += value
        return torque["joint"] + ca.mtimes(T, torque["motor"])

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
            torques[term.side, i] = torques.get((term.side, i), ca.SX(0)) + self.pi[column] * term.column(signals)
        return torques

    def _memory_of(self, kept: Memory | None, coordinate: int) -> ca.SX:
        """Where the states of a term stand."""
        first = 0
        for place in self.structure.memories:
            if kept is not None and place == (coordinate, kept):
                return self.memory[first : first + kept.size]
            first += place[1].size
        return ca.SX(0, 1)

    def nominal_torque(self, ddq: ca.SX, parameters: Sequence[float] | None = None) -> ca.SX:
        """Torque of the links with the robot's nominal parameters, or with these, shape (10 links,)."""
        robot = self._parametrisation.nominal or self.structure.robot
        given = robot.standard_parameters() if parameters is None else np.asarray(parameters, dtype=float)
        nominal = ca.vertsplit(ca.SX(ca.DM(given)), len(STANDARD_NAMES))
        return newton_euler(robot, self.q, self.dq, ddq, nominal, self.gravity)[0]

    def rotor_inertia(self) -> ca.SX:
        """Share of the terms in the mass matrix (n x n)."""
        if not any(term.inertial for term in self.structure.terms):
            return ca.SX(self.structure.n, self.structure.n)
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
