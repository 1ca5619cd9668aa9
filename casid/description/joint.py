"""A joint: how it moves, whether it follows another, and the link that it carries."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from casid.description.link import Link, readonly
from casid.errors import RobotError

Array = NDArray[np.float64]
JointType = Literal["revolute", "prismatic"]


@dataclass(frozen=True)
class Mimic:
    """What makes a joint dependent: ``q = multiplier q_joint + offset``.

    Attributes
    ----------
    joint : int
        Index of the joint it follows, which has a coordinate of its own.
    multiplier, offset : float
        Ratio of the velocities; position where the other stands at 0 [rad or m].
    """

    joint: int
    multiplier: float = 1.0
    offset: float = 0.0


@dataclass(frozen=True, eq=False)
class Joint:
    """A joint and the link it carries.

    The link frame is reached from the parent link's frame by ``placement``, the joint's motion about (revolute) or
    along (prismatic) ``axis``, then ``link_placement``. Modified DH and URDF have ``link_placement = 1``.

    Attributes
    ----------
    parent : int
        Index of the joint that carries the parent link; -1 for the base.
    placement : ndarray, shape (4, 4)
        Joint frame at rest in the parent link's frame.
    axis : ndarray, shape (3,)
        Unit vector in the joint frame.
    link_placement : ndarray, shape (4, 4)
        Link frame in the moved joint frame.
    mimic : Mimic, optional
        Of a dependent joint (a gripper's second finger): it has no coordinate of its own.
    terms : mapping
        Nominal parameters of joint terms by their symbols: ``{"fv": 0.3, "Ia": 0.1}``; see `casid.dynamics`.
    """

    name: str
    type: JointType
    parent: int
    link: Link
    placement: Array = field(default_factory=lambda: np.eye(4))
    axis: Array = field(default_factory=lambda: np.array([0.0, 0.0, 1.0]))
    link_placement: Array = field(default_factory=lambda: np.eye(4))
    mimic: Mimic | None = None
    terms: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "terms", MappingProxyType(dict(self.terms)))
        if self.type not in ("revolute", "prismatic"):
            raise RobotError(f"joint '{self.name}': type '{self.type}' is neither 'revolute' nor 'prismatic'")
        for name, shape in (("placement", (4, 4)), ("axis", (3,)), ("link_placement", (4, 4))):
            object.__setattr__(self, name, readonly(getattr(self, name), shape, f"joint '{self.name}': {name}"))
        if abs(np.linalg.norm(self.axis) - 1.0) > 1e-12:
            raise RobotError(f"joint '{self.name}': axis must have unit length, got {self.axis.tolist()}")

    def __getstate__(self) -> dict[str, object]:
        return {**self.__dict__, "terms": dict(self.terms)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, terms=MappingProxyType(state["terms"]))
