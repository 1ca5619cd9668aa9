"""What a joint adds to the torque of the links: terms, a column of the regressor each, and friction laws.

With ``tau = T tau_m`` and ``dq_m = T' dq`` between motors and joints (Sousa 2014, eq. 4.1-4.2) the torque of the
terms is

    h(q, dq, ddq) = sum of joint-side columns at (q, dq, ddq) + T (sum of motor-side columns at (T'q, T'dq, T'ddq))

(Sousa 2014, eq. 4.9). ``T`` is the robot's ``transmission``, by default the identity. Every term is linear in one
parameter a joint (or motor), an entry of `casid.description.joint_parameters` or a user's own; it stands behind the
ten of the joint's link, in the order of `JOINT_TERMS`, and `Model.parameter_names` names it ``<symbol><number>``.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal, NamedTuple, Protocol

import casadi as ca

from casid.arrays import Array
from casid.description import joint_parameters as catalogue
from casid.description.joint_parameters import JointParameter
from casid.errors import DatasetError, RobotError
from casid.expressions import shaped
from casid.files import near

# ------------------------------------------------------------------ terms

Side = Literal["joint", "motor"]

_VISCOUS_UNIT = catalogue.VISCOUS.unit
_CONSTANT = (catalogue.OFFSET.symbol, catalogue.MOTOR_OFFSET.symbol)


class Memory(Protocol):
    """State z of a joint term, driven by the motion of its joint alone, e.g. the deflection of a friction's bristles.

    A term's column may use z (`JointSignals.memory`). Functions of a model with such terms have a last input
    ``memory``: the states of all of them, joint by joint (`Structure.memories`). Along a recorded motion they follow
    from the positions. Two terms whose memories are equal share their states.
    """

    @property
    def size(self) -> int:
        """Number of states."""

    def states(self, q: Array, period: float) -> Array:
        """States along a motion from rest: positions at a constant rate, shape (N,), to shape (N, size).

        Parameters
        ----------
        q
            Of the joint [rad or m].
        period
            From one sample to the next [s].
        """

    def settled(self, velocity: ca.SX, sign: ca.SX) -> ca.SX:
        """States after a long motion at one velocity, (size)."""


class JointSignals(NamedTuple):
    """What a term may use of its joint (or motor): scalar symbols.

    Attributes
    ----------
    joint : int
        Number of the joint among those with a coordinate, from 0.
    q, dq, ddq
        Position, velocity, acceleration; of the motor for a motor-side term.
    sign
        Sign of the velocity, 0 inside the model's velocity deadband.
    load
        Torque of the links, with their nominal parameters, at the joint [N.m]; zero unless the term is `loaded`.
    signal
        The measured torque, or current times nominal gain [N.m].
    memory
        States of a term with memory, one column; empty for others.
    """

    joint: int
    q: ca.SX
    dq: ca.SX
    ddq: ca.SX
    sign: ca.SX
    load: ca.SX
    signal: ca.SX
    memory: ca.SX = ca.SX(0, 1)


@dataclass(frozen=True)
class JointTerm:
    """A torque ``parameter * column(signals)`` at joints or motors.

    Attributes
    ----------
    name : str
        What a user writes.
    parameter : JointParameter
        Symbol, unit and meaning of the parameter, and what the term is: inertial, dissipative, dry, on which side.
    column : callable
        ``(JointSignals) -> SX`` (scalar).
    joints : tuple of str, optional
        Names of the joints that have it; all by default.
    loaded : bool
        Whether the column uses the load.
    nominal : tuple of float, optional
        Standard parameters of the links whose torque is the load, shape (10 links,); default: the robot's nominal ones.
    memory : callable, optional
        From the index of a joint's coordinate to the term's memory there, or ``None``.
    fitted : bool
        Whether the column holds numbers that were fitted to data (the shape of a friction law).
    shapes : callable, optional
        From the index of a joint's coordinate to those numbers by symbol, ``{"stribeck.width": 0.02, ...}``.
    prior : str, optional
        Label of the terms whose parameters share one zero-mean prior in `casid.online.shrunk`.
    """

    name: str
    parameter: JointParameter
    column: Callable[[JointSignals], ca.SX]
    joints: tuple[str, ...] | None = None
    loaded: bool = False
    nominal: tuple[float, ...] | None = None
    memory: Callable[[int], Memory | None] | None = None
    fitted: bool = False
    shapes: Callable[[int], Mapping[str, float]] | None = None
    prior: str | None = None

    @property
    def symbol(self) -> str:
        """Prefix of the parameter's name: ``fv`` gives ``fv1 ... fv<n>``."""
        return self.parameter.symbol

    @property
    def unit(self) -> str:
        """Unit of the parameter at a revolute joint."""
        return self.parameter.unit

    @property
    def doc(self) -> str:
        """One line for tables and help."""
        return self.parameter.meaning

    @property
    def side(self) -> Side:
        """Motor-side torques reach the joints through the transmission."""
        return self.parameter.side

    @property
    def nonnegative(self) -> bool:
        """Whether physics forbids a negative value (Sousa 2014, Sec. 2.6.2)."""
        return self.parameter.nonnegative

    @property
    def inertial(self) -> bool:
        """Whether the torque is proportional to the acceleration: part of the mass matrix."""
        return self.parameter.inertial

    @property
    def dissipative(self) -> bool:
        """Whether the torque is friction."""
        return self.parameter.dissipative

    @property
    def dry(self) -> bool:
        """Whether the torque depends on the direction of motion and does not vanish with the speed."""
        return self.parameter.dry

    @property
    def viscous(self) -> bool:
        """Whether the torque is friction proportional to the velocity, in one direction of motion at least."""
        return self.parameter.dissipative and self.parameter.unit == _VISCOUS_UNIT

    @property
    def constant(self) -> bool:
        """Whether the torque is constant."""
        return self.parameter.symbol in _CONSTANT

    def on(self, *joints: str) -> JointTerm:
        """The same term at the named joints only."""
        return replace(self, joints=joints)

    def remembered(self, coordinate: int) -> Memory | None:
        """The term's memory at a joint, given by the index of its coordinate."""
        return None if self.memory is None else self.memory(coordinate)

    def settled(self) -> JointTerm:
        """The term without memory: its column as it is after a long motion at the present velocity."""
        return self if self.memory is None else replace(self, column=partial(_settled, self), memory=None)


def _settled(term: JointTerm, signals: JointSignals) -> ca.SX:
    kept = term.remembered(signals.joint)
    held = signals.memory if kept is None else kept.settled(signals.dq, signals.sign)
    return term.column(signals._replace(memory=held))


_ALL = (
    JointTerm("viscous", catalogue.VISCOUS, lambda s: s.dq),
    JointTerm("coulomb", catalogue.COULOMB, lambda s: s.sign),
    JointTerm("offset", catalogue.OFFSET, lambda s: ca.SX(1)),
    JointTerm("motor_viscous", catalogue.MOTOR_VISCOUS, lambda s: s.dq),
    JointTerm("motor_coulomb", catalogue.MOTOR_COULOMB, lambda s: s.sign),
    JointTerm("motor_offset", catalogue.MOTOR_OFFSET, lambda s: ca.SX(1)),
    JointTerm("rotor", catalogue.ROTOR, lambda s: s.ddq),
    JointTerm("motor_rotor", catalogue.MOTOR_ROTOR, lambda s: s.ddq),
    JointTerm("coulomb_positive", catalogue.COULOMB_POSITIVE, lambda s: (s.sign * s.sign + s.sign) / 2),
    JointTerm("coulomb_negative", catalogue.COULOMB_NEGATIVE, lambda s: (s.sign - s.sign * s.sign) / 2),
    JointTerm("sqrt_viscous", catalogue.SQRT_VISCOUS, lambda s: ca.sqrt(ca.fabs(s.dq)) * s.sign),
    JointTerm("cubic_viscous", catalogue.CUBIC_VISCOUS, lambda s: s.dq**3),
    JointTerm("load_friction", catalogue.LOAD, lambda s: ca.fabs(s.load) * s.sign, loaded=True),
    JointTerm("spring", catalogue.SPRING, lambda s: s.q),
    JointTerm("spring_sine", catalogue.SPRING_SINE, lambda s: ca.sin(s.q)),
    JointTerm("spring_cosine", catalogue.SPRING_COSINE, lambda s: ca.cos(s.q)),
    JointTerm("drive_gain", catalogue.DRIVE_GAIN, lambda s: -s.signal),
    JointTerm("gear_friction", catalogue.GEAR, lambda s: ca.fabs(s.signal) * s.sign),
)

#: The known terms, in the order in which their parameters follow a link's ten. Leave one joint without ``drive_gain``,
#: or bound the masses: a common gain of all drives scales all parameters.
JOINT_TERMS: dict[str, JointTerm] = {term.name: term for term in _ALL}
#: The same by the symbol of their parameter.
BY_SYMBOL = {term.symbol: term for term in _ALL}

#: Names that stand for several terms.
TERM_SETS: dict[str, tuple[str, ...]] = {
    "asymmetric_coulomb": ("coulomb_positive", "coulomb_negative"),
    "drive": ("drive_gain",),
    "elastic": ("spring",),
    "gravity_spring": ("spring_sine", "spring_cosine"),
}

#: Friction of gears, ``fg |measured torque| sign(dq)``, for the models of `casid.online`. Harmonic
#: drives lose 5 to 10 % of the torque they carry (fg = 0.06 at the shoulder and elbow of a UR10e). A load that is
#: picked up raises this friction at once; a model without the term takes it for additional mass in one direction of
#: motion and for less mass in the other. Use it at joints that carry the arm's weight, ``GEAR_FRICTION.on("shoulder",
#: "elbow")``: where the torque is nearly friction alone, it cannot be distinguished from Coulomb friction.
GEAR_FRICTION = JOINT_TERMS["gear_friction"]


def joint_terms(names: Sequence[str | JointTerm], joints: Sequence[str]) -> tuple[JointTerm, ...]:
    """The terms that a user names.

    Parameters
    ----------
    names
        Names of `JOINT_TERMS` or of `TERM_SETS`, either at a single joint only (``"drive_gain@joint2"``), or
        `JointTerm` objects of the user's own.
    joints
        The robot's joint names.

    Returns
    -------
    tuple of JointTerm
        Without repetition: known terms in the order of `JOINT_TERMS`, then the user's own.

    Raises
    ------
    RobotError
        For an unknown name or joint, and two terms with the same symbol.
    """
    chosen: dict[str, JointTerm] = {}
    for item in names:
        members, where = _named(item)
        for joint in where or ():
            if joint not in joints:
                raise RobotError(
                    f"joint term '{members[0].name}': the robot has no joint '{joint}'{near(joint, joints)}; it has "
                    f"{', '.join(joints)}"
                )
        for term in members:
            earlier = chosen.get(term.name)
            if earlier is None:
                chosen[term.name] = replace(term, joints=where)
            else:
                both = None if earlier.joints is None or where is None else dict.fromkeys(earlier.joints + where)
                chosen[term.name] = replace(term, joints=None if both is None else tuple(both))
    order = [*JOINT_TERMS, *(name for name in chosen if name not in JOINT_TERMS)]
    terms = tuple(chosen[name] for name in order if name in chosen)
    symbols = [term.symbol for term in terms]
    twice = sorted({symbol for symbol in symbols if symbols.count(symbol) > 1})
    if twice:
        raise RobotError(f"two joint terms have the symbol '{twice[0]}'; give each its own")
    return terms


def _named(item: str | JointTerm) -> tuple[list[JointTerm], tuple[str, ...] | None]:
    """Terms that one entry of a list stands for, and their joints (``None``: all)."""
    if isinstance(item, JointTerm):
        return [item], item.joints
    name, _, joint = item.partition("@")
    members = TERM_SETS.get(name, (name,))
    if members[0] not in JOINT_TERMS:
        known = [*JOINT_TERMS, *TERM_SETS]
        raise RobotError(f"unknown joint term '{name}'{near(name, known)}; known: {', '.join(known)}")
    return [JOINT_TERMS[member] for member in members], (joint,) if joint else None


def friction_dictionary(
    harmonics: int = 6, signed: int = 3, speeds: Sequence[float] = (0.01, 0.03, 0.1, 0.3, 1.0)
) -> list[JointTerm]:
    """General terms for what a friction law leaves out: many columns, meant for `casid.online.shrunk`.

    Torques that depend on the position within a turn (cogging, harmonic drives, cables), friction that does, and
    friction around standstill, of no particular law:

        sum_k a_k sin(k q) + b_k cos(k q) + sign(dq) (c_k sin(k q) + d_k cos(k q)),    sum_i e_i tanh(dq / v_i)

    Plain least squares fits noise with so many terms; a prior of estimated width keeps those that the recordings
    support. Terms of a harmonic share a prior, and so do the speeds.

    Parameters
    ----------
    harmonics
        k of the torques that do not depend on the direction of motion.
    signed
        k of those that do.
    speeds
        v_i [rad/s].

    Raises
    ------
    RobotError
        If a speed is not positive, or there is no term.
    """
    if not all(0.0 < v < float("inf") for v in speeds):
        raise RobotError(f"speeds must be positive and finite, got {list(speeds)}")
    made: list[JointTerm] = []

    def add(
        family: JointParameter, order: int, prior: str, meaning: str, column: Callable[[JointSignals], ca.SX]
    ) -> None:
        # terms of any sign: neither is friction that only brakes
        either_sign = family in (catalogue.SIGNED_SINE, catalogue.SIGNED_COSINE)
        parameter = replace(
            family, symbol=f"{family.symbol}{order}", meaning=meaning, family=False, dissipative=False, dry=either_sign
        )
        made.append(JointTerm(f"dictionary_{parameter.symbol}", parameter, column, prior=prior))

    def wave(k: int, function: Callable[[ca.SX], ca.SX], signed: bool) -> Callable[[JointSignals], ca.SX]:
        return lambda s: function(k * s.q) * (s.sign if signed else 1.0)

    def turned(v: float) -> Callable[[JointSignals], ca.SX]:
        return lambda s: ca.tanh(s.dq / v)

    for k in range(1, harmonics + 1):
        add(catalogue.POSITION_SINE, k, f"harmonic {k}", f"sin({k} q)", wave(k, ca.sin, False))
        add(catalogue.POSITION_COSINE, k, f"harmonic {k}", f"cos({k} q)", wave(k, ca.cos, False))
    for k in range(1, signed + 1):
        add(catalogue.SIGNED_SINE, k, f"signed {k}", f"sin({k} q) sign(dq)", wave(k, ca.sin, True))
        add(catalogue.SIGNED_COSINE, k, f"signed {k}", f"cos({k} q) sign(dq)", wave(k, ca.cos, True))
    for i, v in enumerate(speeds, 1):
        add(catalogue.STANDSTILL, i, "speeds", f"tanh(dq / {v:g})", turned(v))
    if not made:
        raise RobotError("the dictionary has no term: give harmonics, signed harmonics or speeds")
    return made


# ------------------------------------------------------------------ friction laws

Theta = Sequence[float | ca.SX]


def catalogued(*parameters: JointParameter, signed: bool = False, smooth: bool = False) -> tuple[JointParameter, ...]:
    """Entries of the catalogue as amplitudes of a law.

    Parameters
    ----------
    parameters
        Of `casid.description.joint_parameters`.
    signed
        Whether any may be negative in this law.
    smooth
        Whether no column jumps at standstill in this law.
    """
    return tuple(
        replace(entry, nonnegative=entry.nonnegative and not signed, dry=entry.dry and not smooth)
        for entry in parameters
    )


@dataclass(frozen=True)
class Shape:
    """A parameter in which the torque is not linear, with its range.

    Attributes
    ----------
    name, unit : str
    least, most : float
        Bounds, in units of the joint's largest speed V to the power `power`.
    start : float
        A middle value, in the same units.
    tried : tuple of float
        Values of a coarse search, in the same units.
    power : int
        1 for a speed, -1 for one over a speed, 0 for what does not scale with V.
    """

    name: str
    unit: str
    least: float
    most: float
    start: float
    tried: tuple[float, ...]
    power: int = 1


class FrictionLaw:
    """A friction law; a new one is one file with one subclass.

    The torque is ``sum_i a_i column_i(signals; theta)`` with amplitudes a and shape theta. With theta fixed the columns
    are those of ordinary joint terms (`JointTerm`): everything that works on linear models works on the fitted law.

    A dynamic law has states z, which columns find in ``signals.memory`` and which `evolve` integrates along the
    measured motion: they depend on theta and on no amplitude.

    Attributes
    ----------
    name : str
        What a user writes.
    amplitudes : tuple of JointParameter
        Parameters in which the torque is linear; amplitudes of different laws with one meaning share their symbol.
    shape : tuple of Shape
        Parameters in which it is not.
    loaded : bool
        Whether the columns use the load of the joint.
    memory : int
        Number of states of a dynamic law.
    """

    name: str
    amplitudes: tuple[JointParameter, ...]
    shape: tuple[Shape, ...] = ()
    loaded: bool = False
    memory: int = 0

    def columns(self, signals: JointSignals, theta: Theta) -> list[ca.SX]:
        """One expression an amplitude; default: those of the joint terms with these parameters."""
        other = [amplitude.symbol for amplitude in self.amplitudes if amplitude.symbol not in BY_SYMBOL]
        if other:
            raise RobotError(f"friction law '{self.name}': `columns` is missing, which '{other[0]}' needs")
        return [BY_SYMBOL[amplitude.symbol].column(signals) for amplitude in self.amplitudes]

    def evolve(self, z: ca.SX, step: ca.SX, period: ca.SX, theta: Theta) -> ca.SX:
        """States after the joint moved by ``step`` [rad] within ``period`` [s], (memory)."""
        return z

    def settled(self, velocity: ca.SX, sign: ca.SX, theta: Theta) -> ca.SX:
        """States after a long motion at one velocity, (memory)."""
        return ca.repmat(ca.SX(sign), self.memory, 1)

    def parts(self) -> tuple[FrictionLaw, ...]:
        """The laws that it is the sum of: itself."""
        return (self,)

    def dictionary(self, signals: JointSignals, theta: Theta) -> list[ca.SX]:
        """`columns`, with number and shapes checked.

        Raises
        ------
        RobotError
            Unless there is one scalar an amplitude.
        """
        columns, where = list(self.columns(signals, theta)), f"friction law '{self.name}': `columns`"
        if len(columns) != len(self.amplitudes):
            raise RobotError(f"{where}: expected {len(self.amplitudes)}, one an amplitude, got {len(columns)}")
        return [
            shaped(column, (1, 1), f"{where}, of '{amplitude.symbol}'", RobotError)
            for column, amplitude in zip(columns, self.amplitudes, strict=True)
        ]

    def following(self, z: ca.SX, step: ca.SX, period: ca.SX, theta: Theta) -> ca.SX:
        """`evolve`, with the shape checked; RobotError for another."""
        new, where = self.evolve(z, step, period, theta), f"friction law '{self.name}': `evolve`"
        return shaped(new, (self.memory, 1), where, RobotError)

    @property
    def complexity(self) -> int:
        """Number of parameters."""
        return len(self.amplitudes) + len(self.shape)

    def start(self, speed: float) -> tuple[float, ...]:
        """A first theta for a joint of this largest speed."""
        return tuple(s.start * speed**s.power for s in self.shape)

    def lower(self, speed: float) -> tuple[float, ...]:
        """Lower bounds of theta."""
        return tuple(s.least * speed**s.power for s in self.shape)

    def upper(self, speed: float) -> tuple[float, ...]:
        """Upper bounds of theta."""
        return tuple(s.most * speed**s.power for s in self.shape)

    def candidates(self, speed: float) -> list[tuple[float, ...]]:
        """Every theta of a coarse search."""
        return [*itertools.product(*([value * speed**s.power for value in s.tried] for s in self.shape))]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(a.symbol for a in self.amplitudes)})"


class Linear(FrictionLaw):
    """``fv v + fc sign(v) + fo``."""

    name = "linear"
    amplitudes = catalogued(catalogue.VISCOUS, catalogue.COULOMB, catalogue.OFFSET)


class Deadband(FrictionLaw):
    """``fv v + fc sign(v) [|v| >= w] + fo``: the sign of a velocity that is mostly noise counts as 0."""

    name = "deadband"
    amplitudes = catalogued(catalogue.VISCOUS, catalogue.COULOMB, catalogue.OFFSET)
    shape = (Shape("deadband", "rad/s", 1e-4, 0.3, 0.01, (0.002, 0.005, 0.01, 0.02, 0.04)),)

    def columns(self, signals: JointSignals, theta: Theta) -> list[ca.SX]:
        """One expression an amplitude."""
        return [signals.dq, signals.sign * (ca.fabs(signals.dq) >= theta[0]), ca.SX(1)]


#: Over which speed friction changes its direction.
WIDTH = Shape("width", "rad/s", 1e-3, 1.0, 0.03, (0.005, 0.02, 0.05, 0.12))


class Smooth(FrictionLaw):
    """``fv v + fc tanh(v / w) + fo``."""

    name = "smooth"
    amplitudes = catalogued(catalogue.VISCOUS, catalogue.COULOMB, catalogue.OFFSET, smooth=True)
    shape = (WIDTH,)

    def columns(self, signals: JointSignals, theta: Theta) -> list[ca.SX]:
        """One expression an amplitude."""
        return [signals.dq, ca.tanh(signals.dq / theta[0]), ca.SX(1)]


#: How fast the additional friction of low speed fades.
SPEED = Shape("speed", "rad/s", 1e-2, 5.0, 0.2, (0.03, 0.06, 0.12, 0.25, 0.5, 1.0))


def stribeck_fade(velocity: ca.SX, speed: float | ca.SX) -> ca.SX:
    """``exp(-(v / vs)^2)``: what is left of the additional friction of low speed (Armstrong-Helouvry et al. 1994)."""
    return ca.exp(-((velocity / speed) ** 2))


class Stribeck(FrictionLaw):
    """``fv v + (fc + fs exp(-(v / vs)^2)) tanh(v / w) + fo`` (Armstrong-Helouvry et al. 1994, the jump smoothed)."""

    name = "stribeck"
    amplitudes = catalogued(catalogue.VISCOUS, catalogue.COULOMB, catalogue.STRIBECK, catalogue.OFFSET, smooth=True)
    shape = (WIDTH, SPEED)

    def columns(self, signals: JointSignals, theta: Theta) -> list[ca.SX]:
        """One expression an amplitude."""
        width, speed = theta
        edge = ca.tanh(signals.dq / width)
        return [signals.dq, edge, stribeck_fade(signals.dq, speed) * edge, ca.SX(1)]


class Polynomial(FrictionLaw):
    """``fv v + fc sign(v) + fq sqrt(|v|) sign(v) + f3 v^3 + fo``."""

    name = "polynomial"
    amplitudes = catalogued(
        catalogue.VISCOUS,
        catalogue.COULOMB,
        catalogue.SQRT_VISCOUS,
        catalogue.CUBIC_VISCOUS,
        catalogue.OFFSET,
        signed=True,
    )


class Sigmoid(FrictionLaw):
    """``fp (1 / (1 + exp(-s (v + v0))) - 1 / (1 + exp(-s v0)))`` (Gaz et al. 2019, eq. 25)."""

    name = "sigmoid"
    amplitudes = catalogued(catalogue.SIGMOID)
    shape = (
        Shape("slope", "s/rad", 0.5, 1e3, 10.0, (3.0, 6.0, 12.0, 25.0, 50.0), power=-1),
        Shape("shift", "rad/s", -1.0, 1.0, 0.0, (-0.1, -0.03, 0.0, 0.03, 0.1)),
    )

    def columns(self, signals: JointSignals, theta: Theta) -> list[ca.SX]:
        """One expression an amplitude."""
        slope, shift = theta  # 1/(1+exp(-x)) = (1 + tanh(x/2)) / 2 does not overflow
        return [(ca.tanh(slope * (signals.dq + shift) / 2) - ca.tanh(slope * shift / 2)) / 2]


class Offset(FrictionLaw):
    """``fo``, a constant torque beside a law that has none."""

    name = "offset"
    amplitudes = catalogued(catalogue.OFFSET)


class Load(FrictionLaw):
    """``fl |tau_load| sign(v)``, beside another law; the load is the torque of the links (Hamon et al. 2010)."""

    name = "load"
    amplitudes = catalogued(catalogue.LOAD)
    loaded = True


class LoadStribeck(FrictionLaw):
    """``(fl + fls exp(-(v / vl)^2)) |tau_load| sign(v)``, beside another law: load raises both parts of Stribeck's."""

    name = "loadstribeck"
    amplitudes = catalogued(catalogue.LOAD, catalogue.LOAD_STRIBECK)
    shape = (Shape("speed", "rad/s", 1e-2, 5.0, 0.2, (0.03, 0.12, 0.5)),)
    loaded = True

    def columns(self, signals: JointSignals, theta: Theta) -> list[ca.SX]:
        """One expression an amplitude."""
        pressed = ca.fabs(signals.load) * signals.sign
        return [pressed, stribeck_fade(signals.dq, theta[0]) * pressed]


class Spring(FrictionLaw):
    """``ks q + kss sin q + ksc cos q``, beside a friction law."""

    name = "spring"
    amplitudes = catalogued(catalogue.SPRING, catalogue.SPRING_SINE, catalogue.SPRING_COSINE)


#: Distance over which friction builds up; 63 % of it after one reach.
REACH = Shape("reach", "rad", 1e-5, 0.5, 3e-3, (3e-4, 1e-3, 3e-3, 1e-2, 3e-2), power=0)
#: The same, tried at fewer values by laws with further shapes.
COARSE_REACH = Shape("reach", "rad", 1e-5, 0.5, 3e-3, (1e-3, 3e-3, 1e-2), power=0)
#: Shapes r and vs of `_stribeck_level`.
LEVEL = (
    Shape("ratio", "-", 0.0, 10.0, 1.0, (0.6, 2.0), power=0),
    Shape("speed", "rad/s", 1e-2, 5.0, 0.3, (0.1, 0.35, 1.0), power=1),
)


def _stribeck_level(velocity: ca.SX, theta: Theta) -> ca.SX:
    """``g(v) = 1 + r exp(-(v / vs)^2)``, theta = (reach, r, vs)."""
    return 1 + theta[1] * stribeck_fade(velocity, theta[2])


class Dahl(FrictionLaw):
    """``fv v + fd z + fo`` with ``dz/dt = (v - |v| z) / reach`` (Dahl 1968, exponent 1).

    Between reversals z tends to the sign of the velocity. The equation depends on the distance alone, and is integrated
    exactly over each step of the position.
    """

    name = "dahl"
    amplitudes: tuple[JointParameter, ...] = catalogued(catalogue.VISCOUS, catalogue.BRISTLE, catalogue.OFFSET)
    shape: tuple[Shape, ...] = (REACH,)
    memory = 1

    def columns(self, signals: JointSignals, theta: Theta) -> list[ca.SX]:
        """One expression an amplitude."""
        return [signals.dq, signals.memory[0], ca.SX(1)]

    def evolve(self, z: ca.SX, step: ca.SX, period: ca.SX, theta: Theta) -> ca.SX:
        """The state after a step of the position."""
        end = ca.sign(step)
        return end + (z - end) * ca.exp(-ca.fabs(step) / theta[0])


class LuGre(Dahl):
    """``fv v + fd z + fb dz/dt + fo`` with ``dz/dt = (v - |v| z / g(v)) / reach``, ``g = 1 + r exp(-(v / vs)^2)``.

    Canudas de Wit et al. (1995), with the bristles' deflection in units of what Coulomb friction bends them by. Their
    velocity is that of the sample; over one step the equation is linear in z and integrated exactly.
    """

    name = "lugre"
    amplitudes = catalogued(catalogue.VISCOUS, catalogue.BRISTLE, catalogue.BRISTLE_DAMPING, catalogue.OFFSET)
    shape = (COARSE_REACH, *LEVEL)
    memory = 2

    def columns(self, signals: JointSignals, theta: Theta) -> list[ca.SX]:
        """One expression an amplitude."""
        return [signals.dq, signals.memory[0], signals.memory[1], ca.SX(1)]

    def evolve(self, z: ca.SX, step: ca.SX, period: ca.SX, theta: Theta) -> ca.SX:
        """Deflection and its rate after a step of the position."""
        most = _stribeck_level(step / period, theta)
        end = ca.sign(step) * most
        new = end + (z[0] - end) * ca.exp(-ca.fabs(step) / (theta[0] * most))
        return ca.vertcat(new, (new - z[0]) / period)

    def settled(self, velocity: ca.SX, sign: ca.SX, theta: Theta) -> ca.SX:
        """Deflection and its rate after a long motion at one velocity."""
        return ca.vertcat(sign * _stribeck_level(velocity, theta), 0)


class Combined(FrictionLaw):
    """The sum of laws, e.g. ``stribeck+load``.

    Parameters
    ----------
    laws
        At least one; their amplitudes must have different symbols.
    """

    def __init__(self, laws: Sequence[FrictionLaw]) -> None:
        self.laws = tuple(laws)
        self.name = "+".join(law.name for law in laws)
        self.amplitudes = tuple(a for law in laws for a in law.amplitudes)
        self.shape = tuple(s for law in laws for s in law.shape)
        self.loaded = any(law.loaded for law in laws)
        self.memory = sum(law.memory for law in laws)
        symbols = [a.symbol for a in self.amplitudes]
        twice = sorted({s for s in symbols if symbols.count(s) > 1})
        if twice:
            raise DatasetError(f"friction '{self.name}': two of its laws have the amplitude '{twice[0]}'")

    def parts(self) -> tuple[FrictionLaw, ...]:
        """The laws that it is the sum of."""
        return self.laws

    def columns(self, signals: JointSignals, theta: Theta) -> list[ca.SX]:
        """One expression an amplitude."""
        parts = self._parts(theta, signals.memory)
        return [c for law, own, z in parts for c in law.dictionary(signals._replace(memory=z), own)]

    def evolve(self, z: ca.SX, step: ca.SX, period: ca.SX, theta: Theta) -> ca.SX:
        """States after a step, law by law."""
        return ca.vertcat(*(law.following(mine, step, period, own) for law, own, mine in self._parts(theta, z)))

    def settled(self, velocity: ca.SX, sign: ca.SX, theta: Theta) -> ca.SX:
        """States after a long motion at one velocity, law by law."""
        parts = self._parts(theta, ca.SX(self.memory, 1))
        return ca.vertcat(ca.SX(0, 1), *(law.settled(velocity, sign, own) for law, own, _ in parts))

    def _parts(self, theta: Theta, z: ca.SX) -> Iterator[tuple[FrictionLaw, Theta, ca.SX]]:
        """Each law with its share of shape and states."""
        shapes = states = 0
        for law in self.laws:
            own = z[states : states + law.memory] if law.memory else ca.SX(0, 1)
            yield law, theta[shapes : shapes + len(law.shape)], own
            shapes, states = shapes + len(law.shape), states + law.memory
