"""Friction laws, linear in amplitudes at a given shape: the contract, static and dynamic laws, sums of them."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace

import casadi as ca

from casid.description.joint_parameters import (
    BRISTLE,
    BRISTLE_DAMPING,
    COULOMB,
    CUBIC_VISCOUS,
    LOAD,
    LOAD_STRIBECK,
    OFFSET,
    SIGMOID,
    SPRING,
    SPRING_COSINE,
    SPRING_SINE,
    SQRT_VISCOUS,
    STRIBECK,
    VISCOUS,
    JointParameter,
)
from casid.dynamics.terms._joint_terms import BY_SYMBOL, JointSignals
from casid.errors import DatasetError, RobotError
from casid.expressions import shaped

Theta = Sequence[float | ca.SX]


def catalogued(
    *parameters: JointParameter, signed: Collection[JointParameter] = (), smooth: Collection[JointParameter] = ()
) -> tuple[JointParameter, ...]:
    """Entries of the catalogue as amplitudes of a law.

    Parameters
    ----------
    parameters
        Of `casid.description.joint_parameters`.
    signed
        Those that may be negative in this law.
    smooth
        Those whose column does not jump at standstill in this law.
    """
    return tuple(
        replace(entry, nonnegative=entry.nonnegative and entry not in signed, dry=entry.dry and entry not in smooth)
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
        found: list[tuple[float, ...]] = [()]
        for s in self.shape:
            found = [(*theta, value * speed**s.power) for theta in found for value in s.tried]
        return found

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(a.symbol for a in self.amplitudes)})"


class Linear(FrictionLaw):
    """``fv v + fc sign(v) + fo``."""

    name = "linear"
    amplitudes = catalogued(VISCOUS, COULOMB, OFFSET)


class Deadband(FrictionLaw):
    """``fv v + fc sign(v) [|v| >= w] + fo``: the sign of a velocity that is mostly noise counts as 0."""

    name = "deadband"
    amplitudes = catalogued(VISCOUS, COULOMB, OFFSET)
    shape = (Shape("deadband", "rad/s", 1e-4, 0.3, 0.01, (0.002, 0.005, 0.01, 0.02, 0.04)),)

    def columns(self, signals: JointSignals, theta: Theta) -> list[ca.SX]:
        """One expression an amplitude."""
        return [signals.dq, signals.sign * (ca.fabs(signals.dq) >= theta[0]), ca.SX(1)]


#: Over which speed friction changes its direction.
WIDTH = Shape("width", "rad/s", 1e-3, 1.0, 0.03, (0.005, 0.02, 0.05, 0.12))


class Smooth(FrictionLaw):
    """``fv v + fc tanh(v / w) + fo``."""

    name = "smooth"
    amplitudes = catalogued(VISCOUS, COULOMB, OFFSET, smooth=[COULOMB])
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
    amplitudes = catalogued(VISCOUS, COULOMB, STRIBECK, OFFSET, smooth=[COULOMB, STRIBECK])
    shape = (WIDTH, SPEED)

    def columns(self, signals: JointSignals, theta: Theta) -> list[ca.SX]:
        """One expression an amplitude."""
        width, speed = theta
        edge = ca.tanh(signals.dq / width)
        return [signals.dq, edge, stribeck_fade(signals.dq, speed) * edge, ca.SX(1)]


class Polynomial(FrictionLaw):
    """``fv v + fc sign(v) + fq sqrt(|v|) sign(v) + f3 v^3 + fo``."""

    name = "polynomial"
    amplitudes = catalogued(VISCOUS, COULOMB, SQRT_VISCOUS, CUBIC_VISCOUS, OFFSET, signed=[VISCOUS, COULOMB])


class Sigmoid(FrictionLaw):
    """``fp (1 / (1 + exp(-s (v + v0))) - 1 / (1 + exp(-s v0)))`` (Gaz et al. 2019, eq. 25)."""

    name = "sigmoid"
    amplitudes = catalogued(SIGMOID)
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
    amplitudes = catalogued(OFFSET)


class Load(FrictionLaw):
    """``fl |tau_load| sign(v)``, beside another law; the load is the torque of the links (Hamon et al. 2010)."""

    name = "load"
    amplitudes = catalogued(LOAD)
    loaded = True


class LoadStribeck(FrictionLaw):
    """``(fl + fls exp(-(v / vl)^2)) |tau_load| sign(v)``, beside another law: load raises both parts of Stribeck's."""

    name = "loadstribeck"
    amplitudes = catalogued(LOAD, LOAD_STRIBECK)
    shape = (Shape("speed", "rad/s", 1e-2, 5.0, 0.2, (0.03, 0.12, 0.5)),)
    loaded = True

    def columns(self, signals: JointSignals, theta: Theta) -> list[ca.SX]:
        """One expression an amplitude."""
        pressed = ca.fabs(signals.load) * signals.sign
        return [pressed, stribeck_fade(signals.dq, theta[0]) * pressed]


class Spring(FrictionLaw):
    """``ks q + kss sin q + ksc cos q``, beside a friction law."""

    name = "spring"
    amplitudes = catalogued(SPRING, SPRING_SINE, SPRING_COSINE)


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
    amplitudes: tuple[JointParameter, ...] = catalogued(VISCOUS, BRISTLE, OFFSET)
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
    amplitudes = catalogued(VISCOUS, BRISTLE, BRISTLE_DAMPING, OFFSET)
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
