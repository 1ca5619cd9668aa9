"""The friction of a whole robot with its shapes fixed: a law a joint, as terms of a model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray

from casid.dynamics import JointSignals, JointTerm, Memory
from casid.errors import DatasetError
from casid.regression.friction.combined import friction_model
from casid.regression.friction.law import FrictionLaw
from casid.regression.friction.memory import states_of

Array = NDArray[np.float64]


@dataclass(frozen=True)
class JointFriction:
    """A law and its shape.

    Attributes
    ----------
    law : FrictionLaw
    theta : tuple of float
        One value for each of ``law.shape``.
    """

    law: FrictionLaw
    theta: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        if len(self.theta) != len(self.law.shape):
            raise DatasetError(
                f"friction '{self.law.name}' has the shape ({', '.join(s.name for s in self.law.shape)}), "
                f"got {len(self.theta)} numbers"
            )

    @property
    def size(self) -> int:
        """Number of states that the law remembers."""
        return self.law.memory

    def states(self, q: Array, period: float) -> Array:
        """States along a motion from rest, shape (N, size)."""
        return states_of([(self.law, self.theta)], q, period)[0]

    def settled(self, velocity: ca.SX, sign: ca.SX) -> ca.SX:
        """States after a long way at one velocity, (size)."""
        return self.law.settled(velocity, sign, self.theta)


@dataclass(frozen=True)
class Friction:
    """Friction of every joint, linear in what is left to identify.

    Attributes
    ----------
    joints : tuple of JointFriction
        One a joint.
    nominal : tuple of float, optional
        Standard parameters of the links whose torque loads the joints, shape (10 n,).
    """

    joints: tuple[JointFriction, ...]
    nominal: tuple[float, ...] | None = None

    def terms(self, joint_names: Sequence[str]) -> tuple[JointTerm, ...]:
        """Terms of a `Model`: one an amplitude, at the joints whose law has it."""
        if len(joint_names) != len(self.joints):
            raise DatasetError(f"friction of {len(self.joints)} joints, the robot has {len(joint_names)}")
        found: dict[str, list[int]] = {}
        for k, joint in enumerate(self.joints):
            for amplitude in joint.law.amplitudes:
                found.setdefault(amplitude.symbol, []).append(k)
        terms = []
        for symbol, where in found.items():
            meant = [next(a for a in self.joints[k].law.amplitudes if a.symbol == symbol) for k in where]
            loaded = any(self.joints[k].law.loaded for k in where)
            terms.append(
                JointTerm(
                    f"friction_{symbol}",
                    symbol,
                    "nonlinear_friction",
                    meant[0].unit,
                    f"friction: {meant[0].doc}",
                    _Column(self.joints, symbol),
                    nonnegative=all(a.nonnegative for a in meant),
                    joints=tuple(joint_names[k] for k in where),
                    loaded=loaded,
                    nominal=self.nominal if loaded else None,
                    memory=_Memories(self.joints) if any(self.joints[k].size for k in where) else None,
                )
            )
        return tuple(terms)

    def record(self) -> dict[str, Any]:
        """Plain numbers and text, for files."""
        return {
            "joints": [{"law": joint.law.name, "shape": list(joint.theta)} for joint in self.joints],
            "nominal": None if self.nominal is None else list(self.nominal),
        }

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Friction:
        """Inverse of `record`.

        Raises
        ------
        DatasetError
            If it is no such record.
        """
        try:
            joints = tuple(
                JointFriction(friction_model(str(j["law"])), tuple(float(x) for x in j["shape"]))
                for j in record["joints"]
            )
            nominal = None if record["nominal"] is None else tuple(float(x) for x in record["nominal"])
        except (KeyError, TypeError, ValueError) as error:
            raise DatasetError(f"not the record of a friction: {error}") from None
        return cls(joints, nominal)


@dataclass(frozen=True)
class _Column:
    """Column of one amplitude, whatever the law of the joint."""

    joints: tuple[JointFriction, ...]
    symbol: str

    def __call__(self, signals: JointSignals) -> ca.SX:
        joint = self.joints[signals.joint]
        place = [a.symbol for a in joint.law.amplitudes].index(self.symbol)
        return joint.law.columns(signals, joint.theta)[place]


@dataclass(frozen=True)
class _Memories:
    """What each joint's law remembers."""

    joints: tuple[JointFriction, ...]

    def __call__(self, joint: int) -> Memory | None:
        kept = self.joints[joint]
        return kept if kept.size else None


def friction_terms(model: str | FrictionLaw, shapes: ArrayLike) -> tuple[JointTerm, ...]:
    """Terms of one law at every joint, with the shapes theta, shape (n, len(theta)).

    Raises
    ------
    DatasetError
        If the law needs loads: give those through `Friction`.
    """
    law = friction_model(model)
    if law.loaded:
        raise DatasetError(f"friction '{law.name}' depends on the load; use Friction(...).terms")
    theta = np.asarray(shapes, dtype=float)
    joints = tuple(JointFriction(law, tuple(float(x) for x in row)) for row in np.atleast_2d(theta))
    return tuple(
        JointTerm(
            f"friction_{a.symbol}",
            a.symbol,
            "nonlinear_friction",
            a.unit,
            f"{law.name} friction: {a.doc}",
            _Column(joints, a.symbol),
            nonnegative=a.nonnegative,
            memory=_Memories(joints) if law.memory else None,
        )
        for a in law.amplitudes
    )
