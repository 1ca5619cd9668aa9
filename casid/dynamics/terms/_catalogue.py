"""The friction laws by name, sums of them, and general terms for what a law leaves out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from types import MappingProxyType

import casadi as ca

from casid.description.joint_parameters import (
    POSITION_COSINE,
    POSITION_SINE,
    SIGNED_COSINE,
    SIGNED_SINE,
    STANDSTILL,
    JointParameter,
)
from casid.dynamics.terms._dynamic_laws import Dahl, GeneralisedMaxwell, LoadedDahl, LoadedLuGre, LuGre, Maxwell
from casid.dynamics.terms._joint_terms import JointSignals, JointTerm
from casid.dynamics.terms._laws import (
    Asymmetric,
    Combined,
    Deadband,
    FrictionLaw,
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
from casid.errors import DatasetError, RobotError

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
        either_sign = family in (SIGNED_SINE, SIGNED_COSINE)  # terms of any sign: neither is friction that only brakes
        parameter = replace(
            family, symbol=f"{family.symbol}{order}", meaning=meaning, family=False, dissipative=False, dry=either_sign
        )
        made.append(JointTerm(f"dictionary_{parameter.symbol}", parameter, column, prior=prior))

    def wave(k: int, function: Callable[[ca.SX], ca.SX], signed: bool) -> Callable[[JointSignals], ca.SX]:
        return lambda s: function(k * s.q) * (s.sign if signed else 1.0)

    def turned(v: float) -> Callable[[JointSignals], ca.SX]:
        return lambda s: ca.tanh(s.dq / v)

    for k in range(1, harmonics + 1):
        add(POSITION_SINE, k, f"harmonic {k}", f"sin({k} q)", wave(k, ca.sin, False))
        add(POSITION_COSINE, k, f"harmonic {k}", f"cos({k} q)", wave(k, ca.cos, False))
    for k in range(1, signed + 1):
        add(SIGNED_SINE, k, f"signed {k}", f"sin({k} q) sign(dq)", wave(k, ca.sin, True))
        add(SIGNED_COSINE, k, f"signed {k}", f"cos({k} q) sign(dq)", wave(k, ca.cos, True))
    for i, v in enumerate(speeds, 1):
        add(STANDSTILL, i, "speeds", f"tanh(dq / {v:g})", turned(v))
    if not made:
        raise RobotError("the dictionary has no term: give harmonics, signed harmonics or speeds")
    return made
