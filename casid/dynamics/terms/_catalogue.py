"""The friction laws by name, and sums of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from types import MappingProxyType

import casadi as ca

from casid.dynamics.terms._dynamic_laws import Dahl, GeneralisedMaxwell, LoadedDahl, LoadedLuGre, LuGre, Maxwell
from casid.dynamics.terms._joint_terms import JointSignals
from casid.dynamics.terms._law import FrictionLaw, Theta
from casid.dynamics.terms._static_laws import (
    Asymmetric,
    Deadband,
    Linear,
    Load,
    LoadStribeck,
    Offset,
    Polynomial,
    Sigmoid,
    Smooth,
    Spring,
    Stribeck,
)
from casid.errors import DatasetError


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

    def columns(self, signals: JointSignals, theta: Theta) -> list[ca.SX]:
        """One expression an amplitude."""
        parts = self._parts(theta, signals.memory)
        return [c for law, own, z in parts for c in law.columns(signals._replace(memory=z), own)]

    def evolve(self, z: ca.SX, step: ca.SX, period: ca.SX, theta: Theta) -> ca.SX:
        """States after a step, law by law."""
        return ca.vertcat(*(law.evolve(mine, step, period, own) for law, own, mine in self._parts(theta, z)))

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


#: The laws by name.
FRICTION_MODELS = MappingProxyType(
    {
        law.name: law
        for law in (
            *(Linear(), Deadband(), Smooth(), Asymmetric(), Polynomial(), Stribeck(), Sigmoid()),
            *(Load(), LoadStribeck(), Spring(), Offset()),
            *(Dahl(), LoadedDahl(), LuGre(), LoadedLuGre(), Maxwell(), GeneralisedMaxwell()),
        )
    }
)


def friction_model(name: str | FrictionLaw) -> FrictionLaw:
    """The friction law of that name, or sum of laws (``"stribeck+load"``); DatasetError names the known ones."""
    if isinstance(name, FrictionLaw):
        return name
    parts = [part.strip() for part in name.split("+")]
    for part in parts:
        if part not in FRICTION_MODELS:
            raise DatasetError(f"unknown friction model '{part}'; known: {', '.join(FRICTION_MODELS)}")
    return FRICTION_MODELS[parts[0]] if len(parts) == 1 else Combined([FRICTION_MODELS[part] for part in parts])
