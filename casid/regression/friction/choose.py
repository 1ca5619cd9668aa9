"""Friction chosen joint by joint, by blocked cross-validation.

Every law is linear at a given shape, and shapes are tried on a grid, so that a candidate is a set of columns and all of
them run on Gram matrices (`casid.regression.friction.race`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from casid.dynamics import Model
from casid.errors import DatasetError
from casid.measurement import Dataset
from casid.regression.compress import compress
from casid.regression.fit import Fit, wls
from casid.regression.friction.combined import friction_model
from casid.regression.friction.fitted import Friction, JointFriction
from casid.regression.friction.law import FrictionLaw
from casid.regression.friction.race import Candidate, Race
from casid.regression.friction.terms import with_friction
from casid.regression.observation import observation_blocks

Array = NDArray[np.float64]

#: What is tried at every joint unless said otherwise.
CANDIDATES = (
    "linear",
    "deadband",
    "smooth",
    "asymmetric",
    "polynomial",
    "sigmoid",
    "stribeck",
    "linear+load",
    "smooth+load",
    "asymmetric+load",
    "polynomial+load",
    "stribeck+load",
    "stribeck+loadstribeck",
    "linear+spring",
    "stribeck+spring",
    "stribeck+load+spring",
)
#: Most samples that the choice looks at.
MOST_SAMPLES = 20_000
#: Fits after the choice, with loads from the fit before.
SETTLING = 2
LINEAR = friction_model("linear")


@dataclass(frozen=True, eq=False)
class FrictionChoice:
    """What was chosen, and from what.

    Attributes
    ----------
    friction : Friction
    table : tuple of Candidate
        Joint by joint, in the order in which laws were tried.
    fit : Fit
        Weighted least squares with the chosen friction.
    """

    friction: Friction
    table: tuple[Candidate, ...]
    fit: Fit

    @property
    def model(self) -> Model:
        """The model with the chosen friction."""
        return self.fit.data.model


def choose_friction(
    model: Model, datasets: Dataset | Sequence[Dataset], candidates: Sequence[str | FrictionLaw] = CANDIDATES
) -> FrictionChoice:
    """Choose the friction law of each joint by blocked cross-validation.

    The held-out error of each law at its best shape decides. A law with more parameters must earn them: at least 2 % of
    the mean square, more than a standard error over the folds, and what Schwarz's criterion asks. The load of
    load-dependent laws is the torque of the links as fitted, iterated.

    Parameters
    ----------
    model
        Links and terms without friction of the joints.
    datasets
        Processed recordings.
    candidates
        Names of laws and of their sums; `FrictionLaw` of your own.

    Raises
    ------
    DatasetError
        For unknown laws, too few samples, or terms of the model that are friction already.
    """
    recordings = (datasets,) if isinstance(datasets, Dataset) else tuple(datasets)
    laws = [friction_model(name) for name in candidates]
    if not laws:
        raise DatasetError("no friction law to choose from")
    if all(law.name != LINEAR.name for law in laws):
        laws.insert(0, LINEAR)
    thinned = _thinned(recordings)
    regressors = [np.concatenate([block for _, block in observation_blocks(model, data)]) for data in thinned]

    def race(options: Sequence[Sequence[JointFriction]], nominal: Array | None, weights: Array | None) -> Race:
        return Race(model, thinned, regressors, options, nominal, weights)

    first = race([[JointFriction(LINEAR)]] * model.n, None, None)
    nominal, weights = _links(model, first.fit([0] * model.n)), first.weights
    options = [_options(laws, k, thinned) for k in range(model.n)]
    everything = race(options, nominal, weights)
    chosen, table = everything.run()
    joints = tuple(options[k][i] for k, i in enumerate(chosen))
    loaded = any(joint.law.loaded for joint in joints)
    beta = everything.fit(chosen)
    for _ in range(SETTLING if loaded else 0):
        nominal = _links(model, beta)
        beta = race([[joint] for joint in joints], nominal, weights).fit([0] * model.n)
    friction = Friction(joints, tuple(_links(model, beta).tolist()) if loaded else None)
    return FrictionChoice(friction, tuple(table), wls(compress(with_friction(model, friction), recordings)))


def _options(laws: Sequence[FrictionLaw], k: int, recordings: Sequence[Dataset]) -> list[JointFriction]:
    """Laws of joint k with their shapes; a joint that does not move has but one."""
    speed = max(float(np.abs(d.dq[:, k]).max()) for d in recordings if d.dq is not None)
    usable = laws if speed > 0 else [LINEAR]
    return [JointFriction(law, theta) for law in usable for theta in law.candidates(speed)]


def _links(model: Model, beta: Array) -> Array:
    """Standard parameters of links with these base parameters: the shortest such vector."""
    pi = np.linalg.lstsq(model.base.K, beta, rcond=1e-10)[0]
    return np.asarray(pi[np.ravel(model.link_columns)])


def _thinned(recordings: Sequence[Dataset]) -> list[Dataset]:
    every = int(np.ceil(sum(len(d) for d in recordings) / MOST_SAMPLES))
    return [d if every == 1 else d.rows(slice(None, None, every), "thinned") for d in recordings]
