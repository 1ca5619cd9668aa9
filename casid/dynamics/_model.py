"""The dynamics of a robot as CasADi functions, built when first asked for.

Equation of motion (Gaz et al. 2019, eq. 1; Sousa 2014, eq. 2.9)::

    tau = M(q) ddq + c(q, dq) + g(q) + friction = Y(q, dq, ddq) pi
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Mapping, Sequence
from functools import cached_property

import casadi as ca
from numpy.typing import ArrayLike

from casid.description import Robot
from casid.dynamics._base_parameters import BaseParameters, base_parameters
from casid.dynamics._rigid_body import Kinematics, kinetic_energy, newton_euler, potential_energy
from casid.dynamics._structure import (
    BaseInput,
    ModelFunction,
    Numbers,
    Parametrisation,
    StandardParameters,
    Structure,
    Symbols,
)
from casid.dynamics.terms._friction import Friction, terms_of
from casid.dynamics.terms._joint_terms import JointTerm
from casid.errors import RobotError, RobotWarning
from casid.files import near
from casid.inertia import Parameters


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

    _parametrisation: Parametrisation = StandardParameters()
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
    def inverse_dynamics(self) -> ModelFunction:
        """``(q, dq, ddq, pi) -> tau`` (n): ``tau = M ddq + c + g + friction``, recursive Newton-Euler.

        Positions, velocities and accelerations (n) [rad, m; a second]; torques [N.m, N]. Gaz et al. 2019, eq. 1.
        """
        s = self.symbols()
        return s.function("inverse_dynamics", ["q", "dq", "ddq", "pi"], {"tau": s.torque()}, 1)

    @cached_property
    def regressor(self) -> ModelFunction:
        """``(q, dq, ddq) -> Y`` (n x N), with ``tau = Y pi`` (Gaz et al. 2019, eq. 5).

        Motion as for `inverse_dynamics`; columns in the order of `parameter_names`.
        """
        if self._standard is not None:
            return self._standard.regressor
        s = self.symbols()
        return s.function("regressor", ["q", "dq", "ddq"], {"Y": ca.jacobian(s.torque(), s.pi)}, 2)

    @cached_property
    def base_regressor(self) -> ModelFunction:
        """``(q, dq, ddq) -> Y`` (n x rank), with ``tau = Y beta`` for the base parameters ``beta = K pi``.

        Motion as for `inverse_dynamics`; columns in the order of ``base.independent``.
        """
        s = self._standard_symbols()
        Y = ca.jacobian(s.torque(), s.pi)[:, list(self.base.independent)]
        return s.function("base_regressor", ["q", "dq", "ddq"], {"Y": Y}, 2)

    @cached_property
    def mass_matrix(self) -> ModelFunction:
        """``(q, pi) -> M`` (n x n): symmetric joint-space mass matrix, rotor inertia included where modelled.

        ``T = dq' M dq / 2``; entries [kg.m^2; kg.m and kg where joints are prismatic].
        """
        s = self.symbols()
        return s.function("mass_matrix", ["q", "pi"], {"M": s.mass_matrix()}, 2)

    @cached_property
    def gravity(self) -> ModelFunction:
        """``(q, pi) -> g`` (n): gravity torques [N.m, N], the gradient of `potential_energy` in q."""
        s = self.symbols()
        return s.function("gravity", ["q", "pi"], {"g": s.gravity_torque()}, 1)

    @cached_property
    def coriolis(self) -> ModelFunction:
        """``(q, dq, pi) -> c`` (n): Coriolis and centrifugal torques [N.m, N], quadratic in dq."""
        s = self.symbols()
        return s.function("coriolis", ["q", "dq", "pi"], {"c": s.coriolis()}, 1)

    @cached_property
    def coriolis_matrix(self) -> ModelFunction:
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
    def friction(self) -> ModelFunction:
        """``(dq, pi) -> tau`` (n): the terms at constant velocity [N.m, N]; ``q`` is a last input if needed."""
        s = self.symbols()
        return s.function("friction", ["dq", "pi"], {"tau": s.term_torque(ca.SX(self.n, 1))}, 1)

    @cached_property
    def forward_dynamics(self) -> ModelFunction:
        """``(q, dq, tau, pi) -> ddq`` (n): ``M^-1 (tau - c - g - friction)`` [rad/s^2, m/s^2].

        Friction that grows with the load has the load without acceleration (Coriolis, centrifugal, gravity torque), so
        that the equation is explicit; `inverse_dynamics` has all of it.
        """
        s = self.symbols()
        right = s.tau - s.torque(ddq=ca.SX(self.n, 1))
        return s.function("forward_dynamics", ["q", "dq", "tau", "pi"], {"ddq": s.mass_factor().solve(right)}, 1)

    @cached_property
    def static_regressor(self) -> ModelFunction:
        """``(q) -> Y`` ((n (n + 1) / 2 + n) x N), with ``[vech M; g] = Y pi`` (Gaz et al. 2019, eq. 17).

        ``vech`` stacks the rows of the lower triangle: M11, M21, M22, M31, ... (numpy's ``tril_indices``).
        """
        s = self._standard_symbols()
        M = s.mass_matrix()
        stack = [M[i, j] for i in range(self.n) for j in range(i + 1)]
        Y = ca.jacobian(ca.vertcat(*stack, s.gravity_torque()), s.pi)
        return s.function("static_regressor", ["q"], {"Y": Y}, 2)

    @cached_property
    def joint_wrenches(self) -> ModelFunction:
        """``(q, dq, ddq, pi) -> w`` (6 x n): what the parent exerts on each link through its joint.

        Rows: force [N], then moment [N.m], about the origin and in the axes of the moved joint frame (which is the link
        frame in modified DH and URDF).
        """
        s = self.symbols()
        _, wrenches = newton_euler(self.robot, s.q, s.dq, s.ddq, s.links, s.gravity)
        stacked = ca.horzcat(*(ca.vertcat(w.force, w.moment) for w in wrenches))
        return s.function("joint_wrenches", ["q", "dq", "ddq", "pi"], {"w": stacked}, 2)

    @cached_property
    def kinetic_energy(self) -> ModelFunction:
        """``(q, dq, pi) -> T`` [J]: kinetic energy ``dq' M dq / 2``, rotor inertia included where modelled."""
        s = self.symbols()
        energy = kinetic_energy(self.robot, s.q, s.dq, s.links)
        energy += ca.dot(s.dq, ca.mtimes(s.rotor_inertia(), s.dq)) / 2
        return s.function("kinetic_energy", ["q", "dq", "pi"], {"T": energy}, 0)

    @cached_property
    def potential_energy(self) -> ModelFunction:
        """``(q, pi) -> U`` [J]: potential energy, zero with all mass at the base origin."""
        s = self.symbols()
        return s.function(
            "potential_energy", ["q", "pi"], {"U": potential_energy(self.robot, s.q, s.links, s.gravity)}, 0
        )

    # ------------------------------------------------------------------ kinematics

    @cached_property
    def forward_kinematics(self) -> ModelFunction:
        """``(q) -> T_<link>, ...``: placement (4x4) of every link frame in the base frame [m], one output a link."""
        s = self.symbols()
        kinematics = Kinematics(self.robot, s.q)
        outputs = {f"T_{_identifier(link.name)}": kinematics.placement(link.name) for link in self.robot.links}
        return s.function("forward_kinematics", ["q"], outputs, 2)

    @cached_property
    def jacobian(self) -> ModelFunction:
        """``(q) -> J_<link>, ...``: geometric Jacobian (6 x n) of every link frame, see `frame_jacobian`."""
        s = self.symbols()
        kinematics = Kinematics(self.robot, s.q)
        outputs = {f"J_{_identifier(link.name)}": kinematics.jacobian(link.name) for link in self.robot.links}
        return s.function("jacobian", ["q"], outputs, 2)

    def frame_placement(self, frame: str) -> ModelFunction:
        """``(q) -> T`` (4x4): placement of a link or named frame in the base frame."""
        s = self.symbols()
        return s.function("frame_placement", ["q"], {"T": Kinematics(self.robot, s.q).placement(frame)}, 2)

    def frame_jacobian(self, frame: str) -> ModelFunction:
        """``(q) -> J`` (6 x n): linear velocity of the frame's origin, then angular velocity, in base axes."""
        s = self.symbols()
        return s.function("frame_jacobian", ["q"], {"J": Kinematics(self.robot, s.q).jacobian(frame)}, 2)

    # ------------------------------------------------------------------ derivatives and base parameters

    def derivatives(self, function: str) -> ModelFunction:
        """Analytic first derivatives of one of the functions above.

        Parameters
        ----------
        function
            Its name, e.g. ``"inverse_dynamics"``.

        Returns
        -------
        ModelFunction
            Same inputs; outputs ``d<out>_d<in>`` for every output and every input, a matrix output stacked by columns:
            ``inverse_dynamics`` gives ``dtau_dq, dtau_ddq (with respect to dq), ...``, see its ``name_out()``.
        """
        original = getattr(type(self), function, None)
        if not isinstance(original, cached_property):
            known = [name for name, value in vars(Model).items() if isinstance(value, cached_property)]
            known.remove("base")
            hint = near(function, known)
            raise RobotError(f"no function '{function}' to differentiate{hint}; known: {', '.join(known)}")
        f: ModelFunction = getattr(self, function)
        inputs = [ca.SX.sym(f.name_in(i), f.size1_in(i), f.size2_in(i)) for i in range(f.n_in())]
        outputs = f.call(inputs)
        jacobians = {
            f"d{f.name_out(o)}_d{f.name_in(i)}": ca.jacobian(ca.vec(outputs[o]), inputs[i])
            for o in range(f.n_out())
            for i in range(f.n_in())
        }
        name = f"{function}_derivatives"
        made = ca.Function(name, inputs, list(jacobians.values()), f.name_in(), list(jacobians), {"cse": True})
        return ModelFunction(made, 2, f.defaults, parameter_names=f.parameter_names)

    @cached_property
    def base(self) -> BaseParameters:
        """Base parameters of this model: rank, selection, K and printed groupings."""
        return base_parameters(self) if self._standard is None else self._standard.base


def _identifier(name: str) -> str:
    """A name CasADi accepts: letters, digits and single underscores."""
    return re.sub("[^A-Za-z0-9]+", "_", name).strip("_") or "link"
