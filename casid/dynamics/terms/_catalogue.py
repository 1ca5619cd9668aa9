"""The friction laws by name, and sums of them."""

from __future__ import annotations

from types import MappingProxyType

from casid.dynamics.terms import _laws as laws
from casid.errors import DatasetError
from casid.files import near

#: The laws by name.
FRICTION_MODELS = MappingProxyType(
    {
        law.name: law
        for law in (
            *(laws.Linear(), laws.Deadband(), laws.Smooth(), laws.Polynomial(), laws.Stribeck()),
            *(laws.Sigmoid(), laws.Load(), laws.LoadStribeck(), laws.Spring(), laws.Offset()),
            *(laws.Dahl(), laws.LuGre()),
        )
    }
)


def friction_model(name: str | laws.FrictionLaw) -> laws.FrictionLaw:
    """The friction law of that name, or sum of laws (``"stribeck+load"``); DatasetError names the known ones."""
    if isinstance(name, laws.FrictionLaw):
        return name
    parts = [part.strip() for part in name.split("+")]
    for part in parts:
        if part not in FRICTION_MODELS:
            hint = near(part, FRICTION_MODELS) or ";"
            raise DatasetError(f"unknown friction model '{part}'{hint} known: {', '.join(FRICTION_MODELS)}")
    return FRICTION_MODELS[parts[0]] if len(parts) == 1 else laws.Combined([FRICTION_MODELS[part] for part in parts])
