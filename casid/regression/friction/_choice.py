"""Friction chosen joint by joint, by blocked cross-validation.

Every law is linear at a given shape, and shapes are tried on a grid, so that a candidate is a set of columns and all of
them run on Gram matrices (`casid.regression.friction._cross_validation`).
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from casid.arrays import Array
from casid.dynamics import Model
from casid.dynamics.terms import Friction, FrictionLaw, JointFriction, friction_model
from casid.errors import DatasetError
from casid.measurement import Dataset
from casid.regression._compress import CompressedData, compress
from casid.regression._fit import Fit, wls
from casid.regression._rows import observation_blocks
from casid.regression.friction._cross_validation import STRETCHES, Candidate, CandidateFits

#: Static laws without springs whose amplitudes are all positive: viscous and Coulomb friction and an offset are always
#: among them, and no other tool gets a negative damping.
STATIC = ("linear", "deadband", "smooth", "stribeck", "linear+load", "smooth+load", "stribeck+load")
#: Friction laws tried at every joint by default: those that some recording of a real robot has chosen by more than
#: another of them would give.
CANDIDATES = (*STATIC, "polynomial", "stribeck+loadstribeck", "dahl", "lugre")
#: Most samples that the choice looks at.
MOST_SAMPLES = 6_000
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
    links : Model
        The model without it.
    recordings : tuple of Dataset
    """

    friction: Friction
    table: tuple[Candidate, ...]
    links: Model
    recordings: tuple[Dataset, ...]

    @cached_property
    def model(self) -> Model:
        """The model with the chosen friction."""
        return self.links.with_friction(self.friction)

    @cached_property
    def fit(self) -> Fit:
        """Weighted least squares with the chosen friction."""
        return wls(compress(self.model, self.recordings))


def choose_friction(
    model: Model,
    datasets: Dataset | Sequence[Dataset],
    candidates: Sequence[str | FrictionLaw] = CANDIDATES,
) -> FrictionChoice:
    """Choose the friction law of each joint by blocked cross-validation.

    The held-out error of each law at its best shape decides: the law of least error is taken where it is surely better
    than the simplest (`casid.evidence.compared`). Laws whose amplitudes contradict physics (friction that drives, that
    a load makes smaller, a negative Stribeck amplitude) are not taken; every law keeps an offset, its own or that of
    the sum. The load of load-dependent laws is the torque of the links as fitted, iterated.

    Parameters
    ----------
    model
        Links and terms without friction of the joints.
    datasets
        Processed recordings.
    candidates
        Names of laws and of their sums; `FrictionLaw` objects.

    Raises
    ------
    DatasetError
        For unknown laws, too few samples, or terms of the model that are friction already.
    """
    return FrictionSearch(model, datasets, candidates).chosen()


class FrictionSearch:
    """All candidates as columns: what the choice is made from, and repeated from without parts of the motion.

    Arguments: see `choose_friction`.
    """

    def __init__(
        self,
        model: Model,
        datasets: Dataset | Sequence[Dataset],
        candidates: Sequence[str | FrictionLaw] = CANDIDATES,
    ) -> None:
        self._recordings = (datasets,) if isinstance(datasets, Dataset) else tuple(datasets)
        laws = [friction_model(name) for name in candidates]
        if not laws:
            raise DatasetError("no friction law to choose from")
        if all(law.name != LINEAR.name for law in laws):
            laws.insert(0, LINEAR)
        self._model, self.samples = model, tuple(_thinned(self._recordings))
        self._regressors = [
            np.concatenate([block for _, block in observation_blocks(model, data)]) for data in self.samples
        ]
        first = self._fits([[JointFriction(LINEAR)]] * model.n, None, None)
        self._nominal, self._weights = _links(model, first.fit([0] * model.n)), first.weights
        self._options = [_options(laws, speed) for speed in _speeds(self.samples)]
        self._coarse = self._fits(self._options, self._nominal, self._weights)

    def _fits(
        self, options: Sequence[Sequence[JointFriction]], nominal: Array | None, weights: Array | None
    ) -> CandidateFits:
        return CandidateFits(self._model, self.samples, self._regressors, options, nominal, weights)

    @cached_property
    def _chosen(self) -> tuple[list[int], list[Candidate]]:
        return self._coarse.run()

    @property
    def table(self) -> tuple[Candidate, ...]:
        """What was tried, joint by joint."""
        return tuple(self._chosen[1])

    @property
    def linear(self) -> list[int]:
        """Linear friction at every joint."""
        return [next(i for i, o in enumerate(tried) if o.law.name == LINEAR.name) for tried in self._options]

    def without(self, part: int, parts: int) -> list[int]:
        """The choice without a part of the motion, on the coarse grid of shapes: one candidate a joint.

        Part i is every so many-th of the `STRETCHES` stretches of each recording, from stretch i.
        """
        return self._coarse.run(range(part, STRETCHES, parts))[0]

    @property
    def is_linear(self) -> bool:
        """Whether every joint keeps linear friction."""
        return self._chosen[0] == self.linear

    def data(self, choice: Sequence[int]) -> CompressedData:
        """The samples compressed with these candidates, one a joint."""
        joints = [tried[i] for tried, i in zip(self._options, choice, strict=True)]
        full = self._model.with_friction(_friction(joints, tuple(self._nominal.tolist())))
        places = _places(self._model, full, joints)
        if places is None:  # friction makes other columns of the links dependent: evaluated anew
            return compress(full, self.samples)
        blocks = []
        for W, columns in zip(self._regressors, self._coarse.columns(choice), strict=True):
            block = np.zeros((len(W), full.n, len(places)))
            for i, (joint, place) in enumerate(places):
                if joint is None:
                    block[:, :, i] = W[:, :, place]
                else:
                    block[:, joint, i] = columns[joint][:, place]
            blocks.append(block)
        return compress(full, self.samples, columns=blocks)

    def chosen(self) -> FrictionChoice:
        """The choice from all of the motion, its shapes refined and its loads settled."""
        chosen, table = self._chosen
        nominal, weights, n = self._nominal, self._weights, self._model.n
        joints = tuple(self._options[k][i] for k, i in enumerate(chosen))
        beta = self._coarse.fit(chosen)
        for factor in FINER:
            near = [_near(joint, factor, speed) for joint, speed in zip(joints, _speeds(self.samples), strict=True)]
            if all(len(options) == 1 for options in near):
                break
            finer = self._fits(near, nominal, weights)
            chosen, rows = finer.run()
            joints = tuple(near[k][i] for k, i in enumerate(chosen))
            beta = finer.fit(chosen)
            table = [next((new for new in rows if (new.joint, new.law) == (old.joint, old.law)), old) for old in table]
        loaded = any(joint.law.loaded for joint in joints)
        for _ in range(SETTLING if loaded else 0):
            nominal = _links(self._model, beta)
            beta = self._fits([[joint] for joint in joints], nominal, weights).fit([0] * n)
        friction = _friction(joints, tuple(_links(self._model, beta).tolist()))
        return FrictionChoice(friction, tuple(table), self._model, self._recordings)


def _places(model: Model, full: Model, joints: Sequence[JointFriction]) -> list[tuple[int | None, int]] | None:
    """Where the base columns of a model with friction are: a joint and its amplitude, or none and a links' column.

    ``None``: not among them.
    """
    known = {model.parameter_names[i]: place for place, i in enumerate(model.base.independent)}
    found: list[tuple[int | None, int]] = []
    for i in full.base.independent:
        name = full.parameter_names[i]
        if name in known:
            found.append((None, known[name]))
        elif i in full.term_columns:
            term, joint = full.term_columns[i]
            symbols = [a.symbol for a in joints[joint].law.amplitudes]
            if term.symbol not in symbols:
                return None
            found.append((joint, symbols.index(term.symbol)))
        else:
            return None
    return found


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
    """Not more samples than are looked at, of those that count at some joint."""
    counting = [d if d.mask is None else d.rows(d.mask.any(axis=1), "without rest") for d in recordings]
    every = int(np.ceil(sum(len(d) for d in counting) / MOST_SAMPLES))
    return [d if every == 1 else d.rows(slice(None, None, every), "thinned") for d in counting]
