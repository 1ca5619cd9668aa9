"""Several laws at one joint, and laws by name."""

from __future__ import annotations

from collections.abc import Sequence
from types import MappingProxyType

import casadi as ca

from casid.dynamics import JointSignals
from casid.errors import DatasetError
from casid.regression.friction.asymmetric import Asymmetric
from casid.regression.friction.deadband import Deadband
from casid.regression.friction.law import FrictionLaw, Theta
from casid.regression.friction.linear import Linear
from casid.regression.friction.load import Load, LoadStribeck
from casid.regression.friction.polynomial import Polynomial
from casid.regression.friction.sigmoid import Sigmoid
from casid.regression.friction.smooth import Smooth
from casid.regression.friction.spring import Spring
from casid.regression.friction.stribeck import Stribeck


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
        symbols = [a.symbol for a in self.amplitudes]
        twice = sorted({s for s in symbols if symbols.count(s) > 1})
        if twice:
            raise DatasetError(f"friction '{self.name}': two of its laws have the amplitude '{twice[0]}'")

    def columns(self, signals: JointSignals, theta: Theta) -> list[ca.SX]:
        """One expression an amplitude."""
        made: list[ca.SX] = []
        used = 0
        for law in self.laws:
            made += law.columns(signals, theta[used : used + len(law.shape)])
            used += len(law.shape)
        return made


#: The laws by name.
FRICTION_MODELS = MappingProxyType(
    {
        law.name: law
        for law in (
            Linear(),
            Deadband(),
            Smooth(),
            Asymmetric(),
            Polynomial(),
            Stribeck(),
            Sigmoid(),
            Load(),
            LoadStribeck(),
            Spring(),
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
