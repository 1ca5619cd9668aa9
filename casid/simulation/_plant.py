"""The simulated machine: a model, its parameters, dry friction that sticks and slides, its clock and its sensors.

Along each direction ``D_e`` at which dry friction acts, with velocity ``v = D_e'dq`` and the friction ``f`` of
``tau = D_e f``, Coulomb's law is (Featherstone 2008, Sec. 11; Brogliato 2016, Sec. 5.3)::

    v > 0: f = f_plus,    v < 0: f = f_minus,    v = 0: f_minus <= f <= f_plus

At an instant with the set Z of directions at rest, the friction there is what minimises the Gauss constraint
``1/2 (r - D_Z f)'M^-1 (r - D_Z f)`` within its limits, where r is the torque without it: directions that then do not
accelerate stick, the others break away. Accelerations are unique even where joints and motors stick redundantly.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray

from casid.arrays import ALIKE, RANK, Array
from casid.codegen import Function
from casid.description import Robot
from casid.dynamics import Model, dry_friction_directions, dry_friction_places, equation_of_motion, factor_mass_matrix
from casid.errors import DatasetError, ProblemError, checked_seed
from casid.files import numeric_array
from casid.inertia import Parameters
from casid.simulation._contact import ExternalForce

# ------------------------------------------------------------------ plant


class FrictionTreatment(ABC):
    """What stands for ``sign(v)`` in the equation of motion.

    Friction proper (its coefficients and laws) belongs to the model's joint terms; a treatment covers only
    the velocities where ``sign(v)`` jumps.
    """

    @abstractmethod
    def signs(self, velocity: ca.SX) -> ca.SX | None:
        """What stands for the signs of the velocities ``D' dq`` (m); None: signs are modes of motion, located in time.

        Only integrators that locate events take the latter, see `casid.simulation.integrators.DormandPrince`.
        """

    @property
    def slope(self) -> float:
        """Slope of the signs at zero velocity [s/rad or s/m]; 0: not smooth."""
        return 0.0


@dataclass(frozen=True)
class SmoothCoulomb(FrictionTreatment):
    """``tanh(v / speed)`` for ``sign(v)``, the tight sigmoid of Sousa (2014, Sec. 5.1.2).

    There is no sticking: a joint at rest creeps. Near rest the velocity decays at the rate ``fc / (m speed)`` for an
    inertia m and friction fc, which fixed steps must resolve.

    Attributes
    ----------
    speed : float
        Velocity at which 76 % of the friction is reached [rad/s or m/s].
    """

    speed: float = 1e-3

    def __post_init__(self) -> None:
        if not 0.0 < self.speed < float("inf"):
            raise DatasetError(f"smooth Coulomb friction: speed must be positive, got {self.speed}")

    def signs(self, velocity: ca.SX) -> ca.SX:
        """``tanh(v / speed)``."""
        return ca.tanh(velocity / self.speed)

    @property
    def slope(self) -> float:
        """``1 / speed``."""
        return 1.0 / self.speed


@dataclass(frozen=True)
class ExactCoulomb(FrictionTreatment):
    """Signs as modes of motion: sliding one way, the other, or sticking (see `casid.simulation._plant`).

    A joint (or motor) sticks while friction within its limits can hold it, and breaks away when it cannot. Changes of
    mode are located in time, so only integrators that locate events take it.
    """

    def signs(self, velocity: ca.SX) -> None:
        """None: the modes decide."""
        return


def with_terms(model: Model, parameters: ArrayLike, coefficients: Mapping[str, ArrayLike]) -> Array:
    """Parameters of a model with other values of its joint terms.

    Parameters
    ----------
    parameters
        Shape (N,).
    coefficients
        Name of a term (``viscous``) -> a value for all joints, or one a joint; as the model names its terms, so that
        ``viscous@joint2`` may stand for a single joint.

    Raises
    ------
    DatasetError
        If there are as many values neither as joints nor one, or a term is not the model's.
    """
    pi, used = np.array(parameters, dtype=float), set()
    for name, value in coefficients.items():
        term_name, _, joint = name.partition("@")
        given = np.asarray(value, dtype=float)
        if given.shape not in ((), (1,), (model.n,)) or not np.isfinite(given).all():
            raise DatasetError(f"joint term '{name}': expected one finite number or {model.n}, got {value!r}")
        for column, (term, k) in model.term_columns.items():
            if term.name == term_name and joint in ("", model.robot.coordinates[k].name):
                pi[column] = np.broadcast_to(given, (model.n,))[k]
                used.add(name)
    if len(used) < len(coefficients):
        missing = next(name for name in coefficients if name not in used)
        raise DatasetError(f"the model has no joint term '{missing}'; it has {', '.join(t.name for t in model.terms)}")
    return pi


@dataclass(frozen=True, eq=False)
class Plant:
    """A robot that moves by ``M(q) ddq + c(q, dq) + g(q) + terms = tau + J'w`` (Sousa 2014, eq. 5.1, 2.28).

    The state is ``x = [q, dq, work, dissipated]`` (2 n + 2): positions, velocities, and two terms of the energy
    balance, integrated with the motion: ``work = int tau'dq dt`` and ``dissipated = int h'dq dt`` with the torque h of
    the joint terms (rotor inertia is kinetic energy), and what external forces dissipate. ``kinetic + potential +
    dissipated - work`` is constant, with the energy that external forces store in the potential.

    Parameters
    ----------
    model : Model
        The robot with its joint terms: friction, rotors, springs.
    parameters : Parameters or array_like, shape (N,)
        Its parameters ``pi``, as for `Model.parameters`; kept as an array. Any standard parameters with the right base
        parameters do: torques and motion are the same for all of them.
    friction : FrictionTreatment
        What happens at zero velocity.
    forces : tuple of ExternalForce
        What acts on the robot from outside, as a `Wall`.

    Raises
    ------
    DatasetError
        If the number of parameters is not the model's or one of them is not finite.
    RobotError
        If a joint term cannot be integrated, or the robot has no frame of an external force.
    """

    model: Model
    parameters: Array
    friction: FrictionTreatment = field(default_factory=SmoothCoulomb)
    forces: tuple[ExternalForce, ...] = ()

    def __post_init__(self) -> None:
        for force in self.forces:
            self.model.robot.frame(force.frame)
        values = self.model.parameters(self.parameters)
        values.setflags(write=False)
        object.__setattr__(self, "parameters", values)
        equation_of_motion(self.model)

    @classmethod
    def of(
        cls,
        robot: Robot,
        friction: FrictionTreatment | None = None,
        gravity: ArrayLike | None = None,
        parameters: Parameters | None = None,
        **coefficients: ArrayLike,
    ) -> Plant:
        """A robot with joint terms by name.

        Parameters
        ----------
        robot
            The robot.
        friction
            Default: smooth.
        gravity
            Default: the robot's.
        parameters
            Of the links, and of joint terms and friction laws, which the plant then has; those with a memory as after
            a long motion at one velocity (`Model.settled`). Default: the links of the description, all with inertial
            values.
        coefficients
            A value for all joints, or one a joint, for each further joint term: ``viscous=0.2, coulomb=[0.5, ...]``.
        """
        given = Parameters.of_links(robot.standard_parameters()) if parameters is None else parameters
        held = Model.of_parameters(robot, given, gravity).settled()
        model = held.like(terms=[*held.terms, *coefficients])
        return cls(model, with_terms(model, model.parameters(given), coefficients), friction or SmoothCoulomb())

    @property
    def n(self) -> int:
        """Number of joints."""
        return self.model.n

    @property
    def joints(self) -> tuple[str, ...]:
        """Names of the joints with a coordinate."""
        return tuple(joint.name for joint in self.model.robot.coordinates)

    @property
    def size(self) -> int:
        """Length of the state."""
        return 2 * self.n + 2

    @cached_property
    def directions(self) -> Array:
        """``D`` (n x m): dry friction acts at the velocities ``D' dq``; without those where its parameters are 0."""
        return dry_friction_directions(self.given)

    @cached_property
    def given(self) -> Model:
        """The model's functions with the plant's parameters."""
        return self.model.with_parameters(self.parameters)

    @cached_property
    def rate(self) -> ca.Function:
        """``(x, u) -> dx, pivots``: rate of the state under the torque u, and the n pivots of M (all > 0 iff M > 0).

        With exact friction ``(x, u, signs, P)``: signs of the sliding velocities (m; 0 where they stick) and the
        projector P (n x n) on the motions that sticking leaves: ``(P M P + 1 - P) ddq = P (u - rigid - terms - D f)``.
        """
        return self._rate(self.given, False)

    @cached_property
    def parametric_rate(self) -> ca.Function:
        """``(x, u, pi) -> dx, pivots``: `rate` with the parameters as an input."""
        return self._rate(self.model, True)

    def _rate(self, model: Model, parametric: bool) -> ca.Function:
        n, D = self.n, ca.SX(ca.DM(dry_friction_directions(model)))
        equation = equation_of_motion(model)
        x, u = ca.SX.sym("x", self.size), ca.SX.sym("u", n)
        q, dq = x[:n], x[n : 2 * n]
        pi = [ca.SX.sym("pi", len(model.parameter_names))] if parametric else []
        smooth = self.friction.signs(D.T @ dq)
        modal = smooth is None
        signs = ca.SX.sym("signs", D.shape[1]) if smooth is None else smooth
        M, rigid, terms, dry = equation(q, dq, signs, *pi)
        loss, (torque, lost) = terms + D @ dry, self.external(q, dq)
        right = u - rigid - loss + torque
        inputs, names = [x, u, *pi], ["x", "u", *(["pi"] if parametric else [])]
        if modal:
            P = ca.SX.sym("P", n, n)
            M, right = P @ M @ P + ca.SX.eye(n) - P, P @ right
            inputs, names = [x, u, *pi, signs, P], [*names, "signs", "P"]
        factor = factor_mass_matrix(M, model.robot, dense=modal or model.motor_inertia)
        rate = ca.vertcat(dq, factor.solve(right), ca.dot(u, dq), ca.dot(loss, dq) + lost)
        outputs = [ca.densify(rate), ca.densify(ca.vertcat(*factor.D))]
        return ca.Function("rate", inputs, outputs, names, ["dx", "pivots"], {"cse": True})

    def external(self, q: ca.SX, dq: ca.SX) -> tuple[ca.SX, ca.SX]:
        """Joint torques ``J'w`` (n) of the external forces, and the power that they dissipate, ``-w'v - dE/dt``."""
        torque, lost = ca.SX(self.n, 1), ca.SX(0)
        for force in self.forces:
            T, J = self.model.frame_placement(force.frame)(q), self.model.frame_jacobian(force.frame)(q)
            w, stored = force.acting(T, J @ dq)
            torque += J.T @ w
            lost -= ca.dot(w, J @ dq) + ca.jtimes(stored, q, dq)
        return torque, lost

    def wrench(self, frame: str, q: ca.SX, dq: ca.SX) -> ca.SX:
        """Sum of the external wrenches at a frame (6), base axes: what a force sensor there measures."""
        T, twist = self.model.frame_placement(frame)(q), self.model.frame_jacobian(frame)(q) @ dq
        return sum((force.acting(T, twist)[0] for force in self.forces if force.frame == frame), ca.SX(6, 1))

    @cached_property
    def stored(self) -> ca.Function:
        """``q -> E``: energy that the external forces store [J]."""
        q = ca.SX.sym("q", self.n)
        parts = [force.energy(self.model.frame_placement(force.frame)(q)) for force in self.forces]
        return ca.Function("stored", [q], [ca.densify(sum(parts, ca.SX(0)))], ["q"], ["E"])

    def friction_rate(self, q: ArrayLike) -> tuple[float, int]:
        """Rate at which smooth dry friction brings the quickest direction to rest [1/s], and the direction's number."""
        D, slope = self.directions, self.friction.slope
        if not D.shape[1] or not slope:
            return 0.0, 0
        equation, still, q = equation_of_motion(self.given), np.zeros(self.n), np.asarray(q, dtype=float)
        M = equation(q, still, np.zeros(D.shape[1]))[0]
        limits = [equation(q, still, np.full(D.shape[1], s))[3] for s in (-1.0, 1.0)]
        mobility = np.einsum("ie,ij,je->e", D, np.linalg.pinv(M), D)
        rates = slope * (limits[1] - limits[0]) / 2 * mobility
        return float(rates.max()), int(rates.argmax())

    @property
    def links(self) -> tuple[Model, Array]:
        """Model and parameters of the links alone, without joint terms."""
        without = Model(self.model.robot, (), self.model.gravity_vector)
        return without, np.asarray(self.parameters[np.ravel(self.model.link_columns)])

    def start(self, q: ArrayLike, dq: ArrayLike | None = None) -> Array:
        """State at rest (or with velocities ``dq``) at ``q``, with zero work and dissipation."""
        given = {"positions": q, "velocities": np.zeros(self.n) if dq is None else dq}
        state = (
            numeric_array(value, f"initial {what}", DatasetError, finite=True, shape=(self.n,))
            for what, value in given.items()
        )
        return np.concatenate([*state, np.zeros(2)])


@dataclass(frozen=True)
class Sampling:
    """A sampled-data loop: states are read every ``1 / rate``, torques are held in between.

    Attributes
    ----------
    rate : float
        Samples a second [Hz].
    delay : float
        Time from reading a state to the torque computed from it [s]; before the first, torques are 0.
    duration : float
        [s], a whole number of samples.
    """

    duration: float
    rate: float = 1000.0
    delay: float = 0.0

    def __post_init__(self) -> None:
        if not 0.0 < self.rate < np.inf:
            raise ProblemError(f"the controller's rate must be positive, got {self.rate} Hz")
        if not 0.0 <= self.delay < np.inf:
            raise ProblemError(f"the controller's delay must be zero or positive, got {self.delay} s")
        if not 0.0 < self.duration < np.inf or not 1 <= self.ticks <= 10**8:
            span = f"at least one sample of {self.period:g} s and at most 1e8"
            raise ProblemError(f"the duration must be {span}, got {self.duration} s")

    @property
    def period(self) -> float:
        """Time between samples [s]."""
        return 1.0 / self.rate

    @property
    def ticks(self) -> int:
        """Number of periods."""
        return round(self.duration * self.rate)

    @property
    def times(self) -> Array:
        """Instants of all samples, the last included."""
        return np.arange(self.ticks + 1) / self.rate

    @property
    def offset(self) -> tuple[int, float]:
        """Delay as whole periods and the rest [s]."""
        whole = int(np.floor(self.delay * self.rate + ALIKE))
        rest = self.delay - whole * self.period
        return whole, rest if rest > ALIKE * self.period else 0.0


@dataclass(frozen=True)
class Sensor:
    """Independent, normally distributed errors of every sample; the controller sees those of position and velocity.

    Attributes
    ----------
    position, velocity, torque : float or ndarray, shape (n,)
        Standard deviations [rad or m, per s; N.m or N].
    seed : int
    """

    position: ArrayLike = 0.0
    velocity: ArrayLike = 0.0
    torque: ArrayLike = 0.0
    seed: int = 0

    def errors(self, count: int, n: int, stream: int = 0) -> tuple[Array, Array]:
        """Errors of the state (count, 2 n) and of the torque (count, n), of one of any number of recordings."""
        rng = np.random.default_rng([checked_seed(self.seed), stream])
        sizes = []
        for name in ("position", "velocity", "torque"):
            value = np.asarray(getattr(self, name), dtype=float)
            if value.shape not in ((), (n,)) or not (np.isfinite(value) & (value >= 0)).all():
                raise DatasetError(f"sensor: {name}: expected one standard deviation >= 0 or {n}, got {value.tolist()}")
            sizes.append(np.broadcast_to(value, (n,)))
        errors = rng.standard_normal((count, 3 * n)) * np.concatenate(sizes)
        return errors[:, : 2 * n], errors[:, 2 * n :]


# ------------------------------------------------------------------ dry friction

#: Speed below which a direction counts as at rest [rad/s or m/s].
_REST = 1e-10
#: Acceleration below which a direction that may stick does [rad/s^2 or m/s^2], relative to that without friction; what
#: sticks breaks away above the second.
_STILL, _AWAY = 1e-9, 1e-8


@dataclass(frozen=True, eq=False)
class Mode:
    """What every direction does.

    Attributes
    ----------
    signs : ndarray, shape (m,)
        1 or -1: sliding; 0: sticking.
    projector : ndarray, shape (n, n)
        Orthogonal projector on the motions that sticking leaves.
    held : ndarray, shape (m,)
        Friction of the directions that stick, when last looked at.
    law : StickSlip
        Of the plant.
    """

    signs: Array
    projector: Array
    held: Array
    law: StickSlip

    @cached_property
    def stuck(self) -> NDArray[np.intp]:
        """Directions that stick."""
        return np.flatnonzero(self.signs == 0)

    @cached_property
    def along(self) -> Array:
        """Directions that stick, shape (n, stuck)."""
        return np.asarray(self.law.D[:, self.stuck])

    @cached_property
    def shares(self) -> Array:
        """Pseudo-inverse of `along`: the least friction that makes up a torque, shape (stuck, n)."""
        return np.asarray(np.linalg.pinv(self.along, rcond=1e-9))

    @cached_property
    def at_rest(self) -> bool:
        """Whether nothing can move."""
        return not self.projector.any()

    def holds(self, x: Array, u: Array) -> bool:
        """Whether friction can still hold what sticks."""
        stuck, law = self.stuck, self.law
        if not len(stuck):
            return True
        M, free, lower, upper = law.at(x, u, self.signs)
        P = self.projector
        ddq = np.linalg.solve(P @ M @ P + np.eye(law.n) - P, P @ free)
        needed = free - M @ ddq
        f = self.held[stuck] + self.shares @ (needed - self.along @ self.held[stuck])
        margin = 1e-12 * (1.0 + np.abs(f).max())
        if (f >= lower[stuck] - margin).all() and (f <= upper[stuck] + margin).all():
            return True
        _, acceleration, scale = law.friction(M, free, lower[stuck], upper[stuck], stuck)
        return bool((np.abs(acceleration) <= _AWAY * (1.0 + scale)).all())

    def slowest(self, x: Array) -> float:
        """Smallest speed of a sliding direction in the sense of its mode; negative: it should have stopped."""
        sliding, n = self.signs != 0, self.law.n
        return float((self.signs * (self.law.D.T @ x[n : 2 * n]))[sliding].min()) if sliding.any() else 1.0


class StickSlip:
    """The modes of a plant.

    Parameters
    ----------
    plant
        A plant; m directions of dry friction.
    """

    def __init__(self, plant: Plant) -> None:
        self.plant, self.n, self.D = plant, plant.n, np.asarray(plant.directions)
        self.m = self.D.shape[1]
        x, u, signs = ca.SX.sym("x", plant.size), ca.SX.sym("u", plant.n), ca.SX.sym("signs", self.m)
        q, dq = x[: plant.n], x[plant.n : 2 * plant.n]
        equation = equation_of_motion(plant.given)
        M, rigid, terms, dry = equation(q, dq, signs)
        limits = [equation(q, dq, s * np.ones(self.m))[3] for s in (-1.0, 1.0)]
        free = u + plant.external(q, dq)[0] - rigid - terms - ca.SX(ca.DM(self.D)) @ dry
        outputs = [ca.densify(value) for value in (M, free, *limits)]
        function = ca.Function("law", [x, u, signs], outputs, ["x", "u", "signs"], ["M", "free", "lower", "upper"])
        self.at = Function(function, axes=(2, 1, 1, 1))

    def begin(self, x: Array, u: Array) -> tuple[Array, Mode]:
        """Mode at a state, whatever came before; what sticks is brought to rest exactly.

        Raises
        ------
        ProblemError
            If dry friction is negative somewhere: Coulomb's law has no answer at rest then.
        """
        dq = x[self.n : 2 * self.n]
        v = self.D.T @ dq
        resting = np.abs(v) < _REST
        signs = np.where(resting, 0.0, np.sign(v))
        M, free, lower, upper = self.at(x, u, signs)
        negative = np.flatnonzero(lower > upper)
        if len(negative):
            side, k = dry_friction_places(self.plant.given)[negative[0]]
            raise ProblemError(
                f"dry friction of {side} {k + 1} is negative ({(upper - lower)[negative[0]] / 2:.4g}): exact friction "
                "needs values >= 0; take smooth friction, or repair the parameters"
            )
        held = np.zeros(self.m)
        places = np.flatnonzero(resting)
        if len(places):
            held[places], acceleration, scale = self.friction(M, free, lower[places], upper[places], places)
            breaking = np.abs(acceleration) > _STILL * (1.0 + scale)
            signs[places] = np.where(breaking, np.sign(acceleration), 0.0)
        basis = self._basis(np.flatnonzero(signs == 0))
        outside = self.D - basis @ (basis.T @ self.D)  # what the others hold sticks too
        signs[resting & (np.linalg.norm(outside, axis=0) < ALIKE)] = 0.0
        if basis.shape[1]:
            weighted = np.linalg.solve(M, basis)
            x = x.copy()
            x[self.n : 2 * self.n] = dq - weighted @ np.linalg.solve(basis.T @ weighted, basis.T @ dq)
        projector = np.eye(self.n) - basis @ basis.T
        if basis.shape[1] == self.n:
            projector[:] = 0.0
            x[self.n : 2 * self.n] = 0.0
        return x, Mode(signs, projector, held, self)

    def _basis(self, stuck: NDArray[np.intp]) -> Array:
        """Orthonormal basis of what the directions span."""
        if not len(stuck):
            return np.zeros((self.n, 0))
        U, s, _ = np.linalg.svd(self.D[:, stuck], full_matrices=False)
        return np.asarray(U[:, s > RANK * s[0]])

    def friction(
        self, M: Array, free: Array, lower: Array, upper: Array, places: NDArray[np.intp]
    ) -> tuple[Array, Array, float]:
        """Friction at directions at rest, their accelerations, and the size of those without friction."""
        from scipy.optimize import lsq_linear  # slow to import

        D = self.D[:, places]
        L = np.linalg.cholesky(M)
        white, target = np.linalg.solve(L, D), np.linalg.solve(L, free)
        scale = float(np.abs(white.T @ target).max())
        wide = upper > lower
        f = np.where(wide, 0.0, lower)
        if wide.any():
            bounds = (lower[wide], upper[wide])
            f[wide] = lsq_linear(white[:, wide], target - white @ f, bounds, method="bvls", tol=1e-15).x
        return f, white.T @ (target - white @ f), scale
