"""Friction chosen joint by joint, by blocked cross-validation.

Every law is linear at a given shape, and shapes are tried on a grid, so that a candidate is a set of columns and all of
them run on Gram matrices (`casid.regression.friction._cross_validation`).
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from casid.dynamics import Model
from casid.dynamics.terms import FrictionLaw
from casid.dynamics.terms._catalogue import friction_model
from casid.dynamics.terms._friction import Friction, JointFriction
from casid.errors import DatasetError
from casid.measurement import Dataset
from casid.regression._compress import compress
from casid.regression._fit import Fit, wls
from casid.regression._observation import observation_blocks
from casid.regression.friction._cross_validation import STRETCHES, Candidate, CandidateFits

Array = NDArray[np.float64]

#: Friction laws tried at every joint by default.
CANDIDATES = (
    "linear",
    "deadband",
    "smooth",
    "asymmetric",
    "polynomial",
    "sigmoid+offset",
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
    "dahl",
    "dahl+spring",
    "loadeddahl",
    "maxwell",
    "lugre",
    "loadedlugre",
    "loadedlugre+spring",
)
#: Most samples that the choice looks at.
MOST_SAMPLES = 20_000
#: Factors by which the shapes of the chosen laws are then changed, one comparison after the other.
FINER = (1.7, 1.3)
#: Fits after the choice, with loads from the fit before.
SETTLING = 2
LINEAR = friction_model("linear")


@dataclass(frozen=True, eq=False)
class FrictionChoice:
    """The chosen friction, and the laws it was chosen from.

    Attributes
    ----------
    friction : Friction
    table : tuple of Candidate
        Joint by joint, in the order in which laws were tried.
    fit : Fit
        Weighted least squares with the chosen friction.
    nested : tuple of Friction
        Chosen in the same way, on the coarse grid of shapes, without each part of the motion in turn: part i is every
        so many-th of the `casid.regression.friction._cross_validation.STRETCHES` stretches of each recording, from
        stretch i. The held-out error of the choice follows from these, because no part has had a say in its own law.
    """

    friction: Friction
    table: tuple[Candidate, ...]
    fit: Fit
    nested: tuple[Friction, ...] = ()

    @property
    def model(self) -> Model:
        """The model with the chosen friction."""
        return self.fit.data.model


def choose_friction(
    model: Model,
    datasets: Dataset | Sequence[Dataset],
    candidates: Sequence[str | FrictionLaw] = CANDIDATES,
    parts: int = 0,
) -> FrictionChoice:
    """Choose the friction law of each joint by blocked cross-validation.

    The held-out error of each law at its best shape decides. A law with more parameters must lower it: at least 2 % of
    the mean square, more than a standard error over the folds, and the bound of Schwarz's criterion. Laws whose
    amplitudes contradict physics (friction that drives, that a load makes smaller, a negative Stribeck amplitude) are
    not taken; every law keeps an offset, its own or that of the sum. The load of load-dependent laws is the torque of
    the links as fitted, iterated.

    Parameters
    ----------
    model
        Links and terms without friction of the joints.
    datasets
        Processed recordings.
    candidates
        Names of laws and of their sums; `FrictionLaw` objects.
    parts
        Parts of the motion without which the choice is repeated (`FrictionChoice.nested`); 0: none.

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

    def fits_of(
        options: Sequence[Sequence[JointFriction]], nominal: Array | None, weights: Array | None
    ) -> CandidateFits:
        return CandidateFits(model, thinned, regressors, options, nominal, weights)

    first = fits_of([[JointFriction(LINEAR)]] * model.n, None, None)
    nominal, weights = _links(model, first.fit([0] * model.n)), first.weights
    options = [_options(laws, speed) for speed in _speeds(thinned)]
    everything = fits_of(options, nominal, weights)
    chosen, table = everything.run()
    apart = [everything.run(range(part, STRETCHES, parts))[0] for part in range(parts)]
    loads = tuple(nominal.tolist())
    nested = tuple(_friction([options[k][i] for k, i in enumerate(found)], loads) for found in apart)
    joints = tuple(options[k][i] for k, i in enumerate(chosen))
    beta = everything.fit(chosen)
    for factor in FINER:
        near = [_near(joint, factor, speed) for joint, speed in zip(joints, _speeds(thinned), strict=True)]
        if all(len(options) == 1 for options in near):
            break
        finer = fits_of(near, nominal, weights)
        chosen, rows = finer.run()
        joints = tuple(near[k][i] for k, i in enumerate(chosen))
        beta = finer.fit(chosen)
        table = [next((new for new in rows if (new.joint, new.law) == (old.joint, old.law)), old) for old in table]
    loaded = any(joint.law.loaded for joint in joints)
    for _ in range(SETTLING if loaded else 0):
        nominal = _links(model, beta)
        beta = fits_of([[joint] for joint in joints], nominal, weights).fit([0] * model.n)
    friction = _friction(joints, tuple(_links(model, beta).tolist()))
    fit = wls(compress(model.with_friction(friction), recordings))
    return FrictionChoice(friction, tuple(table), fit, nested)


def _friction(joints: Sequence[JointFriction], nominal: tuple[float, ...]) -> Friction:
    """With the links that load the joints, where a law needs them."""
    return Friction(tuple(joints), nominal if any(joint.law.loaded for joint in joints) else None)


def _speeds(recordings: Sequence[Dataset]) -> list[float]:
    """Largest speed of each joint."""
    most = np.max([np.abs(d.dq).max(axis=0) for d in recordings if d.dq is not None], axis=0)
    return [float(speed) for speed in most]


def _near(joint: JointFriction, factor: float, speed: float) -> list[JointFriction]:
    """The law with its shape, and with shapes that are larger or smaller by a factor, within bounds."""
    values = [
        sorted({x, *(float(np.clip(x * f, low, high)) for f in (factor, 1 / factor))})
        for x, low, high in zip(joint.theta, joint.law.lower(speed), joint.law.upper(speed), strict=True)
    ]
    return [JointFriction(joint.law, theta) for theta in itertools.product(*values)]


def _options(laws: Sequence[FrictionLaw], speed: float) -> list[JointFriction]:
    """Laws of a joint with their shapes; a joint that does not move has but one."""
    usable = laws if speed > 0 else [LINEAR]
    return [JointFriction(law, theta) for law in usable for theta in law.candidates(speed)]


def _links(model: Model, beta: Array) -> Array:
    """Standard parameters of links with these base parameters: the shortest such vector."""
    pi = np.linalg.lstsq(model.base.K, beta, rcond=1e-10)[0]
    return np.asarray(pi[np.ravel(model.link_columns)])


def _thinned(recordings: Sequence[Dataset]) -> list[Dataset]:
    every = int(np.ceil(sum(len(d) for d in recordings) / MOST_SAMPLES))
    return [d if every == 1 else d.rows(slice(None, None, every), "thinned") for d in recordings]
