"""Options of `casid.identification.identify` as small objects with defaults.

A new option is one field of one of these classes, with its default and its check.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from casid.description import Robot
from casid.dynamics.terms import JointTerm
from casid.errors import DatasetError
from casid.evidence import PARTS
from casid.identification._regression import Bounds
from casid.retrieval import ConstraintBuilder, Prior
from casid.retrieval.constraints import ConsistencyKind
from casid.retrieval.plausible import PlausibleBodies, check_share

#: Linear friction of a joint, the default.
LINEAR_FRICTION = ("viscous", "coulomb", "offset")
#: Joint terms of an identification: a geared drive's rotor inertia would else be put into the links.
DEFAULT_TERMS = (*LINEAR_FRICTION, "rotor")
#: Terms of a motor that turns several joints (`Robot.transmission`): its friction and rotor act on all of them.
MOTOR_TERMS = ("motor_viscous", "motor_coulomb", "motor_rotor")


@dataclass(frozen=True)
class ModelOptions:
    """The dynamic model that is fitted.

    Attributes
    ----------
    terms : sequence of str or JointTerm, optional
        Joint terms; default: `DEFAULT_TERMS`, and `MOTOR_TERMS` of the motors that turn several joints. With nonlinear
        ``friction``, viscous, coulomb and offset are left out of them.
    friction : str, optional
        ``linear``; ``static``: chosen joint by joint by cross-validation from laws without memory; ``auto``: likewise
        from all laws (`casid.identification._joint_terms`), which takes longer; or the name of a law, fitted jointly
        with the inertial parameters (`casid.regression.fit_jointly`). Default: ``static`` where a least squares fit
        holds parts of the motion out and ``terms`` are the default ones, else ``linear``.
    velocity_deadband : float
        Speed below which Coulomb friction counts as zero [rad/s].
    gravity : array_like, shape (3,), optional
        In the base frame [m/s^2]; default: the robot's.
    springs : bool
        Look for springs and counterbalances by held-out error (`casid.identification._joint_terms`), where friction is
        no law by name and ``terms`` have none.
    """

    terms: Sequence[str | JointTerm] | None = None
    friction: str | None = None
    velocity_deadband: float = 0.0
    gravity: ArrayLike | None = None
    springs: bool = True

    def decided(self, comparing: bool) -> ModelOptions:
        """The same with its friction named; ``comparing``: whether laws can be compared by held-out error."""
        default = "static" if comparing and self.terms is None else "linear"
        return replace(self, friction=self.friction or default)

    def terms_of(self, robot: Robot) -> tuple[str | JointTerm, ...]:
        """Joint terms that a robot gets: as given, or the default."""
        if self.terms is not None:
            return tuple(self.terms)
        T = np.eye(robot.n) if robot.transmission is None else np.asarray(robot.transmission)
        coupled = [joint.name for joint, turned in zip(robot.coordinates, T.T, strict=True) if (turned != 0).sum() > 1]
        return (*DEFAULT_TERMS, *(f"{term}@{joint}" for term in MOTOR_TERMS for joint in coupled))


@dataclass(frozen=True)
class Constraints:
    """What the consistent fit obeys.

    Attributes
    ----------
    build : callable, "default" or None
        From the unknowns to constraints. ``"default"``: the bounds of the description, and where it gives none, bounds
        that scale with the robot's size and torques (`default_bounds`). ``None``: physical consistency only.
    bounds : mapping of str to (float, float)
        Of single parameters, e.g. ``{"fo1": (-1, 1), "m7": (0, 3)}``.
    consistency : {"full", "semi"}
    margin : float, optional
        Of physical consistency; default: see `feasible_regression`.
    prior : Prior, optional
        Regularisation towards given bodies.
    """

    build: ConstraintBuilder | Literal["default"] | None = "default"
    bounds: Bounds = field(default_factory=dict)
    consistency: ConsistencyKind = "full"
    margin: float | None = None
    prior: Prior | None = None


@dataclass(frozen=True)
class Choice:
    """The choice among all parameter sets that explain the data as well as the best.

    Attributes
    ----------
    believable : bool
        Take the most plausible set (`casid.identification.believable`); without effect with a prior, or with less than
        full consistency.
    bodies : PlausibleBodies, optional
        Default: `plausible_bodies` of the robot.
    share : float, optional
        Relative increase of the residual's norm that is allowed; default: chosen by held-out error
        (`casid.identification._consistent_fits`).

    Raises
    ------
    ProblemError
        If the share is not positive and finite.
    """

    believable: bool = True
    bodies: PlausibleBodies | None = None
    share: float | None = None

    def __post_init__(self) -> None:
        if self.share is not None:
            check_share(self.share)


@dataclass(frozen=True)
class Checks:
    """What is computed to judge the result.

    Attributes
    ----------
    folds : int
        Parts of the motion that are held out in turn, two or more; 0: none.
    verdict : bool
        Whether other readings of the recordings are tried (`casid.identification.diagnosis`).
    intervals : bool
        Whether proven ranges of the links' masses are computed (`certified_intervals`).

    Raises
    ------
    DatasetError
        For another number of folds.
    """

    folds: int = PARTS
    verdict: bool = True
    intervals: bool = False

    def __post_init__(self) -> None:
        if self.folds < 0 or self.folds == 1:
            raise DatasetError(f"folds: expected 2 parts of the motion or more, or 0 for none, got {self.folds}")
