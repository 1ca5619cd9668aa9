"""The contract of a friction law: a torque over the state of a joint, linear in amplitudes at a given shape."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

import casadi as ca

from casid.description._joint_parameters import JointParameter
from casid.dynamics.terms._joint_terms import JointSignals

Theta = Sequence[float | ca.SX]


def catalogued(
    *parameters: JointParameter, signed: Collection[JointParameter] = (), smooth: Collection[JointParameter] = ()
) -> tuple[JointParameter, ...]:
    """Entries of the catalogue as amplitudes of a law.

    Parameters
    ----------
    parameters
        Of `casid.description._joint_parameters`.
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


class FrictionLaw(ABC):
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

    @abstractmethod
    def columns(self, signals: JointSignals, theta: Theta) -> list[ca.SX]:
        """One expression an amplitude."""

    def evolve(self, z: ca.SX, step: ca.SX, period: ca.SX, theta: Theta) -> ca.SX:
        """States after the joint moved by ``step`` [rad] within ``period`` [s], (memory)."""
        return z

    def settled(self, velocity: ca.SX, sign: ca.SX, theta: Theta) -> ca.SX:
        """States after a long motion at one velocity, (memory)."""
        return ca.repmat(ca.SX(sign), self.memory, 1)

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
