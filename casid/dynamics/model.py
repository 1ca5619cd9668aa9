"""The dynamics of a robot as CasADi functions, built when first asked for.

Equation of motion (Gaz et al. 2019, eq. 1; Sousa 2014, eq. 2.9)::

    tau = M(q) ddq + c(q, dq) + g(q) + friction = Y(q, dq, ddq) pi
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from casid.description import Robot
from casid.dynamics.base_parameters import BaseParameters, base_parameters
from casid.dynamics.energy import kinetic_energy, potential_energy
from casid.dynamics.joint_terms import JointSignals, JointTerm, Side, joint_terms
from casid.dynamics.kinematics import Kinematics, exact, locate
from casid.dynamics.mass_matrix import mass_matrix, solve_mass_matrix
from casid.dynamics.newton_euler import newton_euler
from casid.errors import RobotError
from casid.inertia import STANDARD_NAMES


class Model:
    """CasADi functions of a robot's dynamics, for standard parameters as a symbolic input.

    Every property below is a ``casadi.Function`` with named inputs and outputs (SX inside): call it with numbers, embed
    it in another graph, map it, differentiate it, or generate C from it.

    Parameters
    ----------
    robot : Robot
        The tree; n moving joints.
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
    last input ``signal`` (n), the measured torque, in the functions that depend on it.

    Examples
    --------
    >>> import casid
    >>> robot = casid.load_robot("panda")
    >>> model = casid.Model(robot)
    >>> tau = model.inverse_dynamics(q, dq, ddq, robot.standard_parameters())  # doctest: +SKIP
    """

    def __init__(
        self,
        robot: Robot,
        terms: Sequence[str | JointTerm] = (),
        gravity: ArrayLike | str | None = None,
        velocity_deadband: float = 0.0,
    ) -> None:
        self.robot = robot
        self.terms: tuple[JointTerm, ...] = joint_terms(terms, [joint.name for joint in robot.joints])
        self.velocity_deadband = float(velocity_deadband)
        if not self.velocity_deadband >= 0.0:
            raise RobotError(f"velocity_deadband must be zero or positive, got {velocity_deadband!r}")
        if isinstance(gravity, str):
            if gravity != "input":
                raise RobotError(f"gravity: give three numbers or 'input', not '{gravity}'")
            self.gravity_vector: np.ndarray | None = None
        else:
            vector = np.array(robot.gravity if gravity is None else gravity, dtype=float)
            if vector.shape != (3,) or not np.isfinite(vector).all():
                raise RobotError(f"gravity: expected three finite numbers, got {gravity!r}")
            self.gravity_vector = vector

    # ------------------------------------------------------------------ names and symbols

    @property
    def n(self) -> int:
        """Number of joints."""
        return self.robot.n

    @cached_property
    def _layout(self) -> tuple[tuple[tuple[int, ...], ...], dict[tuple[int, int], int], tuple[str, ...]]:
        """Columns of each link's ten, column of each (term, joint), names."""
        links: list[tuple[int, ...]] = []
        terms: dict[tuple[int, int], int] = {}
        names: list[str] = []
        for k, joint in enumerate(self.robot.joints):
            links.append(tuple(range(len(names), len(names) + len(STANDARD_NAMES))))
            names += [f"{symbol}{k + 1}" for symbol in STANDARD_NAMES]
            for i, term in enumerate(self.terms):
                if term.joints is None or joint.name in term.joints:
                    terms[i, k] = len(names)
                    names.append(f"{term.symbol}{k + 1}")
        return tuple(links), terms, tuple(names)

    @property
    def parameter_names(self) -> tuple[str, ...]:
        """Names of the parameters ``pi``: ``Lxx1 ... m1, fv1 ..., Lxx2 ...``."""
        return self._layout[2]

    @property
    def stride(self) -> int:
        """Number of parameters of one link and its joint; RobotError where joints have different terms."""
        if len(self.parameter_names) % self.n or any(term.joints is not None for term in self.terms):
            raise RobotError("the joints have different terms: there is no common stride; use link_columns")
        return len(self.parameter_names) // self.n

    @property
    def link_columns(self) -> tuple[tuple[int, ...], ...]:
        """Where the ten parameters of each link stand in ``pi``."""
        return self._layout[0]

    @property
    def term_columns(self) -> dict[int, tuple[JointTerm, int]]:
        """Where the parameters of the terms stand in ``pi``: column -> (term, joint's index)."""
        return {column: (self.terms[i], k) for (i, k), column in self._layout[1].items()}

    def parameters(self, inertial: ArrayLike, terms: ArrayLike | None = None) -> np.ndarray:
        """Full vector ``pi`` from the links' standard parameters (10 n,) and the terms' in their order (default 0)."""
        pi = np.zeros(len(self.parameter_names))
        pi[np.ravel(self.link_columns)] = np.asarray(inertial, dtype=float)
        if terms is not None:
            pi[sorted(self.term_columns)] = np.asarray(terms, dtype=float)
        return pi

    def _symbols(self) -> Symbols:
        """Fresh symbols for one function; subclasses fix or replace the parameters here."""
        return Symbols(self)

    # ------------------------------------------------------------------ dynamics

    @cached_property
    def inverse_dynamics(self) -> ca.Function:
        """``(q, dq, ddq, pi) -> tau`` (n): recursive Newton-Euler (Gaz et al. 2019, eq. 1)."""
        s = self._symbols()
        return s.function("inverse_dynamics", ["q", "dq", "ddq", "pi"], {"tau": s.torque()})

    @cached_property
    def regressor(self) -> ca.Function:
        """``(q, dq, ddq) -> Y`` (n x N), with ``tau = Y pi`` (Gaz et al. 2019, eq. 5)."""
        s = self._symbols()
        return s.function("regressor", ["q", "dq", "ddq"], {"Y": ca.jacobian(s.torque(), s.pi)})

    @cached_property
    def base_regressor(self) -> ca.Function:
        """``(q, dq, ddq) -> Y`` (n x rank), with ``tau = Y beta`` for the base parameters ``beta = K pi``."""
        s = self._symbols()
        Y = ca.jacobian(s.torque(), s.pi)[:, list(self.base.independent)]
        return s.function("base_regressor", ["q", "dq", "ddq"], {"Y": Y})

    @cached_property
    def mass_matrix(self) -> ca.Function:
        """``(q, pi) -> M`` (n x n): symmetric joint-space mass matrix, rotor inertia included where modelled."""
        s = self._symbols()
        return s.function("mass_matrix", ["q", "pi"], {"M": s.mass_matrix()})

    @cached_property
    def gravity(self) -> ca.Function:
        """``(q, pi) -> g`` (n): gravity torques."""
        s = self._symbols()
        return s.function("gravity", ["q", "pi"], {"g": s.rigid_torque(motion=False)})

    @cached_property
    def coriolis(self) -> ca.Function:
        """``(q, dq, pi) -> c`` (n): Coriolis and centrifugal torques."""
        s = self._symbols()
        return s.function("coriolis", ["q", "dq", "pi"], {"c": s.coriolis()})

    @cached_property
    def coriolis_matrix(self) -> ca.Function:
        """``(q, dq, pi) -> C`` (n x n), ``c = C dq``, from the Christoffel symbols, so that ``dM/dt - 2 C`` is skew.

        ``C = (dM/dt + B - B') / 2`` with ``B = d(M v)/dq`` at the constant vector v = dq.
        """
        s = self._symbols()
        M = s.mass_matrix()
        v = ca.SX.sym("v", self.n)
        B = ca.substitute(ca.jacobian(ca.mtimes(M, v), s.q), v, s.dq)
        rate = ca.reshape(ca.jtimes(ca.vec(M), s.q, s.dq), self.n, self.n)
        return s.function("coriolis_matrix", ["q", "dq", "pi"], {"C": (rate + B - B.T) / 2})

    @cached_property
    def friction(self) -> ca.Function:
        """``(dq, pi) -> tau`` (n): what the terms add at constant velocity; ``q`` is a last input if they need it."""
        s = self._symbols()
        return s.function("friction", ["dq", "pi"], {"tau": s.term_torque(ca.SX(self.n, 1))})

    @cached_property
    def forward_dynamics(self) -> ca.Function:
        """``(q, dq, tau, pi) -> ddq`` (n): ``M^-1 (tau - c - g - friction)``."""
        s = self._symbols()
        right = s.tau - s.torque(ddq=ca.SX(self.n, 1))
        if any(term.side == "motor" and term.group == "rotor" for term in self.terms):
            ddq = ca.solve(s.mass_matrix(), right)  # the transmission may couple joints that the tree does not
        else:
            ddq = solve_mass_matrix(s.mass_matrix(), self.robot, right)
        return s.function("forward_dynamics", ["q", "dq", "tau", "pi"], {"ddq": ddq})

    @cached_property
    def static_regressor(self) -> ca.Function:
        """``(q) -> Y`` ((n (n + 1) / 2 + n) x N), with ``[vech M; g] = Y pi`` (Gaz et al. 2019, eq. 17).

        ``vech`` stacks the rows of the lower triangle: M11, M21, M22, M31, ... (numpy's ``tril_indices``).
        """
        s = self._symbols()
        M = s.mass_matrix()
        stack = [M[i, j] for i in range(self.n) for j in range(i + 1)]
        Y = ca.jacobian(ca.vertcat(*stack, s.rigid_torque(motion=False)), s.pi)
        return s.function("static_regressor", ["q"], {"Y": Y})

    @cached_property
    def joint_wrenches(self) -> ca.Function:
        """``(q, dq, ddq, pi) -> w`` (6 x n): what the parent exerts on each link through its joint.

        Rows: force [N], then moment [N.m], about the origin and in the axes of the moved joint frame (which is the link
        frame in modified DH and URDF).
        """
        s = self._symbols()
        _, wrenches = newton_euler(self.robot, s.q, s.dq, s.ddq, s.links, s.gravity)
        stacked = ca.horzcat(*(ca.vertcat(w.force, w.moment) for w in wrenches))
        return s.function("joint_wrenches", ["q", "dq", "ddq", "pi"], {"w": stacked})

    @cached_property
    def kinetic_energy(self) -> ca.Function:
        """``(q, dq, pi) -> T`` [J], rotor inertia included where modelled."""
        s = self._symbols()
        energy = kinetic_energy(self.robot, s.q, s.dq, s.links)
        energy += ca.dot(s.dq, ca.mtimes(s.rotor_inertia(), s.dq)) / 2
        return s.function("kinetic_energy", ["q", "dq", "pi"], {"T": energy})

    @cached_property
    def potential_energy(self) -> ca.Function:
        """``(q, pi) -> U`` [J], zero with all mass at the base origin."""
        s = self._symbols()
        return s.function("potential_energy", ["q", "pi"], {"U": potential_energy(self.robot, s.q, s.links, s.gravity)})

    # ------------------------------------------------------------------ kinematics

    @cached_property
    def forward_kinematics(self) -> ca.Function:
        """``(q) -> T_<link>, ...``: placement (4x4) of every link frame in the base frame, one output a link."""
        s = self._symbols()
        kinematics = Kinematics(self.robot, s.q)
        outputs = {f"T_{_identifier(link.name)}": kinematics.placement(link.name) for link in self.robot.links}
        return s.function("forward_kinematics", ["q"], outputs)

    @cached_property
    def jacobian(self) -> ca.Function:
        """``(q) -> J_<link>, ...``: geometric Jacobian (6 x n) of every link frame, see `frame_jacobian`."""
        s = self._symbols()
        kinematics = Kinematics(self.robot, s.q)
        outputs = {f"J_{_identifier(link.name)}": kinematics.jacobian(link.name) for link in self.robot.links}
        return s.function("jacobian", ["q"], outputs)

    def frame_placement(self, frame: str) -> ca.Function:
        """``(q) -> T`` (4x4): placement of a link or named frame in the base frame."""
        self._check_frame(frame)
        s = self._symbols()
        return s.function("frame_placement", ["q"], {"T": Kinematics(self.robot, s.q).placement(frame)})

    def frame_jacobian(self, frame: str) -> ca.Function:
        """``(q) -> J`` (6 x n): linear velocity of the frame's origin, then angular velocity, in base axes."""
        self._check_frame(frame)
        s = self._symbols()
        return s.function("frame_jacobian", ["q"], {"J": Kinematics(self.robot, s.q).jacobian(frame)})

    # ------------------------------------------------------------------ derivatives and base parameters

    def derivatives(self, function: str) -> ca.Function:
        """Analytic first derivatives of one of the functions above.

        Parameters
        ----------
        function
            Its name, e.g. ``"inverse_dynamics"``.

        Returns
        -------
        casadi.Function
            Same inputs; outputs ``d<out>_d<in>`` for every output and every input, a matrix output stacked by columns:
            ``inverse_dynamics`` gives ``dtau_dq, dtau_ddq (with respect to dq), ...``, see its ``name_out()``.
        """
        original = getattr(type(self), function, None)
        if not isinstance(original, cached_property):
            known = [name for name, value in vars(Model).items() if isinstance(value, cached_property)]
            known.remove("base")
            raise RobotError(f"no function '{function}' to differentiate; known: {', '.join(known)}")
        f: ca.Function = getattr(self, function)
        inputs = [ca.SX.sym(f.name_in(i), f.size1_in(i), f.size2_in(i)) for i in range(f.n_in())]
        outputs = f.call(inputs)
        jacobians = {
            f"d{f.name_out(o)}_d{f.name_in(i)}": ca.jacobian(ca.vec(outputs[o]), inputs[i])
            for o in range(f.n_out())
            for i in range(f.n_in())
        }
        name = f"{function}_derivatives"
        return ca.Function(name, inputs, list(jacobians.values()), f.name_in(), list(jacobians), {"cse": True})

    @cached_property
    def base(self) -> BaseParameters:
        """Base parameters of this model: rank, selection, K and printed groupings."""
        return base_parameters(self)

    # ------------------------------------------------------------------ help

    def _check_frame(self, frame: str) -> None:
        try:
            locate(self.robot, frame)
        except KeyError:
            known = [link.name for link in self.robot.links] + [item.name for item in self.robot.frames]
            raise RobotError(f"robot '{self.robot.name}' has no frame '{frame}'; known: {', '.join(known)}") from None


class Symbols:
    """Fresh symbols of one function and the expressions it is made of."""

    #: Names of the inputs that stand for the parameters ``pi``.
    parameter_inputs: tuple[str, ...] = ("pi",)
    #: Added to the joint positions in the finished expressions.
    offsets: ca.DM | None = None
    #: Robot with the nominal bodies of `nominal_torque`, where it is not the model's.
    nominal: Robot | None = None
    #: Signs of the velocities at which dry friction acts, see `equation_of_motion`.
    signs: ca.SX

    def __init__(self, model: Model) -> None:
        n = model.n
        self.model = model
        self.q, self.dq, self.ddq, self.tau = (ca.SX.sym(name, n) for name in ("q", "dq", "ddq", "tau"))
        self.use_parameters(ca.SX.sym("pi", len(model.parameter_names)))
        self.symbolic_gravity = model.gravity_vector is None
        vector = model.gravity_vector
        self.gravity = ca.SX.sym("gravity", 3) if vector is None else ca.SX(ca.DM(vector))
        self.signal = ca.SX.sym("signal", n)

    def use_parameters(self, pi: ca.SX) -> None:
        """Let ``pi`` be the parameters: symbols, numbers or expressions."""
        self.pi = pi
        self.links = [pi[list(columns)] for columns in self.model.link_columns]

    def function(self, name: str, inputs: list[str], outputs: dict[str, ca.SX]) -> ca.Function:
        """A Function with named inputs and outputs, common subexpressions shared."""
        inputs = [name for item in inputs for name in ((item,) if item != "pi" else self.parameter_inputs)]
        symbols = [getattr(self, item) for item in inputs]
        expressions = [ca.densify(value) for value in outputs.values()]
        if self.offsets is not None:
            expressions = ca.substitute(expressions, [self.q], [self.q + self.offsets])
        for extra in ("q", "gravity", "signal"):
            symbol = getattr(self, extra)
            if extra in inputs or not symbol.is_valid_input():
                continue
            if any(ca.depends_on(e, symbol) for e in expressions):
                inputs, symbols = [*inputs, extra], [*symbols, symbol]
        return ca.Function(name, symbols, expressions, inputs, list(outputs), {"cse": True})

    def rigid_torque(self, motion: bool = True) -> ca.SX:
        """Torque of the links; of gravity alone without motion."""
        still = ca.SX(self.model.n, 1)
        dq, ddq = (self.dq, self.ddq) if motion else (still, still)
        return newton_euler(self.model.robot, self.q, dq, ddq, self.links, self.gravity)[0]

    def coriolis(self) -> ca.SX:
        """Torque of the links' velocities alone."""
        still = ca.SX(self.model.n, 1)
        return newton_euler(self.model.robot, self.q, self.dq, still, self.links, ca.SX(3, 1))[0]

    def torque(self, ddq: ca.SX | None = None) -> ca.SX:
        """Torque of the links and of the joint terms."""
        ddq = self.ddq if ddq is None else ddq
        rigid = newton_euler(self.model.robot, self.q, self.dq, ddq, self.links, self.gravity)[0]
        return rigid + self.term_torque(ddq)

    def term_torque(self, ddq: ca.SX) -> ca.SX:
        """Torque of joint-side and motor-side terms (Sousa 2014, eq. 4.9)."""
        n, deadband = self.model.n, self.model.velocity_deadband
        torque = {"joint": ca.SX(n, 1), "motor": ca.SX(n, 1)}
        velocities = {"joint": self.dq, "motor": self.transmission.T @ self.dq}
        signs = {side: ca.sign(dq) * (ca.fabs(dq) >= deadband if deadband else 1) for side, dq in velocities.items()}
        for (side, k), value in self.side_torques(ddq, signs).items():
            torque[side][k] += value
        return torque["joint"] + ca.mtimes(self.transmission, torque["motor"])

    @property
    def transmission(self) -> ca.SX:
        """``T`` with ``tau = T tau_m`` (n x n)."""
        given = self.model.robot.transmission
        return ca.SX.eye(self.model.n) if given is None else ca.SX(exact(given))

    def side_torques(self, ddq: ca.SX, signs: Mapping[Side, ca.SX]) -> dict[tuple[Side, int], ca.SX]:
        """Torque of the terms at each joint and each motor, for given signs (n) of their velocities."""
        n, model, T = self.model.n, self.model, self.transmission
        load = self.nominal_torque(ddq) if any(term.name == "load_friction" for term in model.terms) else ca.SX(n, 1)
        sides = {"joint": (self.q, self.dq, ddq, load), "motor": tuple(T.T @ v for v in (self.q, self.dq, ddq, load))}
        torques: dict[tuple[Side, int], ca.SX] = {}
        for column, (term, k) in model.term_columns.items():
            q, dq, acceleration, loads = (v[k] for v in sides[term.side])
            signals = JointSignals(k, q, dq, acceleration, signs[term.side][k], loads, self.signal[k])
            torques[term.side, k] = torques.get((term.side, k), ca.SX(0)) + self.pi[column] * term.column(signals)
        return torques

    def nominal_torque(self, ddq: ca.SX) -> ca.SX:
        """Torque of the links with the robot's nominal parameters."""
        robot = self.nominal or self.model.robot
        nominal = ca.vertsplit(ca.SX(ca.DM(robot.standard_parameters())), 10)
        return newton_euler(robot, self.q, self.dq, ddq, nominal, self.gravity)[0]

    def rotor_inertia(self) -> ca.SX:
        """What the terms add to the mass matrix (n x n)."""
        if not any(term.group == "rotor" for term in self.model.terms):
            return ca.SX(self.model.n, self.model.n)
        T = self.transmission
        M = ca.SX(self.model.n, self.model.n)
        for column, (term, k) in self.model.term_columns.items():
            if term.group == "rotor":
                direction = T[:, k] if term.side == "motor" else ca.SX.eye(self.model.n)[:, k]
                M += self.pi[column] * ca.mtimes(direction, direction.T)
        return M

    def mass_matrix(self) -> ca.SX:
        """Mass matrix of the links and the rotors."""
        return mass_matrix(self.model.robot, self.q, self.links) + self.rotor_inertia()


def _identifier(name: str) -> str:
    """A name CasADi accepts: letters, digits and single underscores."""
    cleaned = "".join(c if c.isalnum() and c.isascii() else "_" for c in name)
    while "__" in cleaned:
        cleaned = cleaned.replace("__", "_")
    return cleaned.strip("_") or "link"
