"""Friction chosen joint by joint, by blocked cross-validation.

Every law is linear at a given shape, and shapes are tried on a grid, so that a candidate is a set of columns and all of
them run on Gram matrices (`CandidateFits`). Of the laws that obey physics the one of least held-out error is taken
where it is surely better than the simplest (`casid.evidence.compared`), by the logarithms of the stretches' errors: of
normal errors whose size differs from stretch to stretch these are the log-likelihoods.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from casid.arrays import RANK, Array
from casid.codegen import Function
from casid.dynamics import Model
from casid.dynamics.terms import Friction, FrictionLaw, JointFriction, JointSignals, friction_model, states_of
from casid.errors import DatasetError
from casid.evidence import compared
from casid.measurement import Dataset
from casid.regression._compress import (
    RIDGE,
    SEGMENTS,
    CompressedData,
    compress,
    extended_columns,
    filtered,
    lengths,
    motion,
    observation_blocks,
    sampling_period,
)
from casid.regression._fit import Fit, wls

# ------------------------------------------------------------------ columns of many laws at a joint, evaluated together

#: Speeds at which the signs of friction are checked, in shares of the joint's largest.
_SPEEDS = (0.02, 0.1, 0.3, 0.6, 1.0)
#: The same up to which speed, where the joint's limit is not known: beyond the motion, as its next use may be.
_BEYOND = 1.5


class Dictionary:
    """The different columns of many laws at one joint.

    Parameters
    ----------
    joint : int
    candidates
        Laws with their shapes.
    deadband : float
        Speed below which the sign of a velocity counts as 0 [rad/s].

    Attributes
    ----------
    function : casadi.Function
        ``(q, dq, ddq, load, signal, memory) -> columns``, of the joint; memory: the states of `remembering`, in turn.
    remembering : list of JointFriction
        Candidates with states.
    places : list of list of int
        Of each candidate, where its columns stand.
    """

    def __init__(self, joint: int, candidates: Sequence[JointFriction], deadband: float = 0.0) -> None:
        q, dq, ddq, load, signal = (ca.SX.sym(name) for name in ("q", "dq", "ddq", "load", "signal"))
        sign = ca.sign(dq) * (ca.fabs(dq) >= deadband) if deadband else ca.sign(dq)
        self.remembering = [c for c in candidates if c.size]
        memory = ca.SX.sym("memory", sum(c.size for c in self.remembering))
        columns: list[ca.SX] = []
        used = 0
        self.places: list[list[int]] = []
        known: dict[str, list[int]] = {}
        for candidate in candidates:
            own, used = memory[used : used + candidate.size], used + candidate.size
            signals = JointSignals(joint, q, dq, ddq, sign, load, signal, own)
            places = []
            for column in candidate.law.dictionary(signals, candidate.theta):
                same = known.setdefault(str(column), [])  # the print narrows the search, equality decides
                place = next((i for i in same if ca.is_equal(columns[i], column, 50)), None)
                if place is None:
                    place = len(columns)
                    same.append(place)
                    columns.append(column)
                places.append(place)
            self.places.append(places)
        inputs = [q, dq, ddq, load, signal, memory]
        names = ["q", "dq", "ddq", "load", "signal", "memory"]
        self.function = ca.Function("columns", inputs, [ca.densify(ca.vertcat(*columns))], names, ["c"], {"cse": True})

        self._candidates = tuple(candidates)

    @property
    def size(self) -> int:
        """Number of columns."""
        return int(self.function.size1_out(0))

    def signs(self, speed: float, load: float, limit: float = 0.0) -> list[Array]:
        """Torques of each candidate that physics forbids to be negative, as rows ``P`` with ``P a >= 0``.

        With ``c(v, load)`` the columns after a long motion at one velocity and ``o = (c(v) - c(-v)) / 2`` the part that
        changes its direction with the motion, so that an offset and a spring have none:

        - ``o(v, load) a >= 0``: friction takes power from the motion (passivity);
        - ``(o(v, load) - o(v, 0)) a >= 0``: a load does not make friction smaller;
        - ``max |o_i| a_i >= 0`` for every amplitude that cannot be negative by its meaning.

        Parameters
        ----------
        speed, load
            Largest of the joint [rad/s, N.m].
        limit
            Largest speed that it is made for, where that is larger [rad/s].

        Returns
        -------
        list of ndarray, shapes (rows, amplitudes)
        """
        v, pressed = ca.SX.sym("v"), ca.SX.sym("load")
        held = [c.settled(v, ca.sign(v)) for c in self.remembering]
        memory = ca.vertcat(*held) if held else ca.SX(0, 1)
        columns = self.function(0, v, 0, pressed, 0, memory)
        steady = ca.Function("steady", [v, pressed], [columns])
        top = limit if speed < limit < np.inf else _BEYOND * speed
        places = np.array([(s, x) for s in (*(share * speed for share in _SPEEDS), top) for x in (0.0, load)])
        ahead, back = (np.asarray(steady.map(len(places))(k * places[:, 0], places[:, 1])).T for k in (1.0, -1.0))
        odd = (ahead - back) / 2
        heavier = odd[1::2] - odd[::2]
        found = []
        for candidate, place in zip(self._candidates, self.places, strict=True):
            lawful = [a.nonnegative for a in candidate.law.amplitudes]
            sizes = np.diag(np.abs(odd[:, place]).max(axis=0))[lawful]
            found.append(np.vstack([odd[:, place], heavier[:, place], sizes]))
        return found


def loads_of(model: Model, parameters: Array | None, dataset: Dataset) -> Array:
    """Torque that links with these parameters ask of the joints, not filtered, at the full rate, shape (M, n)."""
    source = motion(dataset)
    assert source.dq is not None and source.ddq is not None
    if parameters is None:
        return np.zeros(source.q.shape)
    links = model.like(terms=())
    return np.asarray(links.inverse_dynamics(source.q, source.dq, source.ddq, parameters))


def friction_columns(dictionaries: Sequence[Dictionary], dataset: Dataset, loads: Array) -> list[Array]:
    """Filtered columns of each joint at the samples of a recording, shapes (N, dictionary's size)."""
    source, period = motion(dataset), sampling_period(dataset)
    assert source.dq is not None and source.ddq is not None
    arrays = [source.q, source.dq, source.ddq, loads, source.tau]
    laws = [[(c.law, c.theta) for c in d.remembering] for d in dictionaries]
    states = [z for k, own in enumerate(laws) for z in states_of(own, source.q[:, k], period)]
    arrays.append(np.concatenate([np.zeros((len(source.q), 0)), *states], axis=1))
    edges = np.cumsum([0, *(d.size for d in dictionaries)])
    out = filtered(dataset, _together(dictionaries), arrays)
    return [out[:, a:b] for a, b in itertools.pairwise(edges)]


def _together(dictionaries: Sequence[Dictionary]) -> Function:
    """``(q, dq, ddq, load, signal, memory) -> columns`` of all joints."""
    n = len(dictionaries)
    inputs = [ca.SX.sym(name, n) for name in ("q", "dq", "ddq", "load", "signal")]
    edges = np.cumsum([0, *(d.function.size1_in(5) for d in dictionaries)]).tolist()
    memory = ca.SX.sym("memory", edges[-1])
    made = [
        d.function(*(x[k] for x in inputs), memory[a:b])
        for k, (d, a, b) in enumerate(zip(dictionaries, edges, edges[1:], strict=False))
    ]
    return Function(ca.Function("columns", [*inputs, memory], [ca.vertcat(*made)]))


# ------------------------------------------------------------------ choice

#: Stretches of each recording, dealt to the folds in turn: as many as `casid.regression.compress` keeps.
STRETCHES = SEGMENTS
#: Torque against the signs of physics that is tolerated, as a share of the largest torque of a candidate.
AGAINST = 0.01
#: Sweeps over the joints.
SWEEPS = 2


@dataclass(frozen=True)
class Candidate:
    """A friction law tried at a joint.

    Attributes
    ----------
    joint : str
    law : str
    shape : dict of str to float
        Its best shape on the grid.
    held_out, training : float
        Root mean square error on what was left out, and on what was fitted [N.m].
    parameters : int
        Amplitudes and shapes.
    chosen : bool
    physical : bool
        Whether its amplitudes have the signs of physics (`Dictionary.signs`); only such laws are chosen.
    """

    joint: str
    law: str
    shape: dict[str, float]
    held_out: float
    training: float
    parameters: int
    chosen: bool
    physical: bool = True


class CandidateFits:
    """All candidates of all joints as columns, and their Gram matrices fold by fold.

    Parameters
    ----------
    model
        Links and terms without the friction that is compared.
    recordings, regressors
        Processed, and the model's base regressor at their samples.
    options
        Candidates of each joint.
    nominal
        Standard parameters of the links whose torque loads the joints; ``None``: no load.
    weights
        Of the joints; ``None``: from the fit of the first candidate of each joint with equal weights.
    """

    def __init__(
        self,
        model: Model,
        recordings: Sequence[Dataset],
        regressors: Sequence[Array],
        options: Sequence[Sequence[JointFriction]],
        nominal: Array | None,
        weights: Array | None,
    ) -> None:
        self._model, self._rank, self._options = model, model.base.rank, options
        self.weights = np.ones(model.n) if weights is None else weights
        self._dictionaries = [Dictionary(k, o, model.velocity_deadband) for k, o in enumerate(options)]
        self._alike = [_alike(d.places) for d in self._dictionaries]
        sizes = [self._rank + d.size + 1 for d in self._dictionaries]
        self._grams = [np.zeros((STRETCHES, size, size)) for size in sizes]
        self._counts = np.zeros((STRETCHES, model.n))
        most = np.zeros((2, model.n))  # speeds and loads
        for data, W in zip(recordings, regressors, strict=True):
            loads = loads_of(model, nominal, data)
            self._add(data, W, friction_columns(self._dictionaries, data, loads))
            assert data.dq is not None
            most = np.maximum(most, [np.abs(data.dq).max(axis=0), np.abs(loads).max(axis=0)])
        self._counted = np.asarray(self._counts.sum(axis=0) > 0)
        limits = np.asarray(model.robot.limits.velocity, dtype=float)
        self._signs = [
            d.signs(float(v), float(x), float(top))
            for d, v, x, top in zip(self._dictionaries, *most, limits, strict=True)
        ]
        self._scale()
        if weights is None:
            first = [0] * model.n
            errors = self._squares(first, self.fit(first))
            mean = errors / np.maximum(self._counts.sum(axis=0), 1.0)
            floor = 1e-24 * max(float(mean.max()), np.finfo(float).tiny)
            self.weights = np.where(self._counted, 1.0 / np.sqrt(np.maximum(mean, floor)), 0.0)

    def _add(self, data: Dataset, W: Array, columns: Sequence[Array]) -> None:
        """Gram matrices and counts of one recording."""
        stretch = np.minimum(np.arange(len(data)) * STRETCHES // max(len(data), 1), STRETCHES - 1)
        for k in range(self._model.n):
            X = np.hstack([W[:, k], columns[k], data.tau[:, [k]]])
            for f in range(STRETCHES):
                rows = (stretch == f) & data.counted[:, k]
                self._grams[k][f] += X[rows].T @ X[rows]
                self._counts[f, k] += rows.sum()

    def _scale(self) -> None:
        """Columns of unit length, all joints' inertial columns alike."""
        squares = [np.diagonal(G.sum(axis=0)) for G in self._grams]
        self._lengths = lengths(self.weights**2 @ [each[: self._rank] for each in squares])
        for k, G in enumerate(self._grams):
            scale = np.concatenate([self._lengths, lengths(squares[k][self._rank : -1]), [1.0]])
            self._grams[k] = G / np.outer(scale, scale)
            own = scale[self._rank : -1]
            self._signs[k] = [P / own[p] for P, p in zip(self._signs[k], self._dictionaries[k].places, strict=True)]

    def _places(self, k: int, choice: int) -> list[int]:
        return [self._rank + c for c in self._dictionaries[k].places[choice]]

    def _reduced(self, k: int, choice: int, stretches: Sequence[int]) -> Array:
        """Gram matrix of the inertial columns and the torque over these stretches, the friction eliminated."""
        G = self._grams[k][list(stretches)].sum(axis=0)
        keep, local = [*range(self._rank), -1], self._places(k, choice)
        if not self._counted[k]:
            return np.zeros((len(keep), len(keep)))
        inner = _ridged(G[np.ix_(local, local)])
        cross = G[np.ix_(local, keep)]
        return np.asarray(self.weights[k] ** 2 * (G[np.ix_(keep, keep)] - cross.T @ np.linalg.solve(inner, cross)))

    def fit(self, chosen: Sequence[int]) -> Array:
        """Base parameters of the model with these candidates, from all samples."""
        from scipy.linalg import cho_factor, cho_solve  # slow to import

        reduced = np.sum([self._reduced(k, i, range(STRETCHES)) for k, i in enumerate(chosen)], axis=0)
        A = _ridged(reduced[:-1, :-1])
        return np.asarray(cho_solve(cho_factor(A), reduced[:-1, -1]) / self._lengths)

    def _squares(self, chosen: Sequence[int], beta: Array) -> Array:
        """Squared errors of each joint with these base parameters and its best amplitudes, shape (n,)."""
        errors = []
        for k, i in enumerate(chosen):
            G, local = self._grams[k].sum(axis=0), self._places(k, i)
            if not self._counted[k]:
                errors.append(0.0)
                continue
            x = np.zeros(len(G))
            x[: self._rank], x[-1] = beta * self._lengths, -1.0
            x[local] = np.linalg.solve(_ridged(G[np.ix_(local, local)]), -(G @ x)[local])
            errors.append(max(float(x @ G @ x), 0.0))
        return np.array(errors)

    def run(self, apart: Sequence[int] = ()) -> tuple[list[int], list[Candidate]]:
        """Index of the best candidate of each joint, the other joints' held, and what was tried.

        Parameters
        ----------
        apart
            Stretches that take no part in the choice (indices below `STRETCHES`).
        """
        folds = _folds([i for i in range(STRETCHES) if i not in apart])
        chosen = [0] * self._model.n
        rows: list[list[Candidate]] = [[] for _ in chosen]
        reduced = [[self._reduced(k, chosen[k], fold.train) for fold in folds] for k in range(len(chosen))]
        for _ in range(SWEEPS):
            before = list(chosen)
            for k in range(len(chosen)):
                if not self._counted[k]:
                    continue
                rest = [i for i in range(len(chosen)) if i != k]
                size = self._rank + 1
                others = [sum((reduced[i][f] for i in rest), np.zeros((size, size))) for f in range(len(folds))]
                chosen[k], rows[k] = self._best(k, others, folds)
                reduced[k] = [self._reduced(k, chosen[k], fold.train) for fold in folds]
            if chosen == before:
                break
        return chosen, [row for part in rows for row in part]

    def _best(self, k: int, others: Sequence[Array], folds: Sequence[_Fold]) -> tuple[int, list[Candidate]]:
        held, trained, lawful = self._errors(k, others, folds)
        counts = np.where([any(s in fold.test for fold in folds) for s in range(STRETCHES)], self._counts[:, k], 0.0)
        active = counts > 0
        losses = np.log(np.maximum(held[:, active] / counts[active], 1e-300)) / 2.0
        mean = held.sum(axis=1) / max(counts.sum(), 1.0)
        best: dict[str, int] = {}
        for i, option in enumerate(self._options[k]):
            name = option.law.name
            if name not in best or (not lawful[i], mean[i]) < (not lawful[best[name]], mean[best[name]]):
                best[name] = i
        ranked = sorted(best.values(), key=lambda i: (self._options[k][i].law.complexity, mean[i]))
        winner = next((i for i in ranked if lawful[i]), next((i for i in ranked if self._plain(k, i)), ranked[0]))
        least = min((i for i in ranked if lawful[i]), key=lambda i: losses[i].mean(), default=winner)
        if compared(losses[winner], losses[least]).better:
            winner = least
        left = (len(folds) - 1) * counts.sum()
        table = [
            Candidate(
                self._model.robot.coordinates[k].name,
                option.law.name,
                {s.name: float(x) for s, x in zip(option.law.shape, option.theta, strict=True)},
                float(np.sqrt(max(mean[i], 0.0))),
                float(np.sqrt(max(trained[i] / max(left, 1.0), 0.0))),
                option.law.complexity,
                i == winner,
                lawful[i],
            )
            for i, option in ((i, self._options[k][i]) for i in best.values())
        ]
        return winner, table

    def _plain(self, k: int, i: int) -> bool:
        """Whether a candidate is viscous and Coulomb friction with an offset: what remains where no law is lawful."""
        return [a.symbol for a in self._options[k][i].law.amplitudes] == ["fv", "fc", "fo"]

    def _errors(self, k: int, others: Sequence[Array], folds: Sequence[_Fold]) -> tuple[Array, Array, list[bool]]:
        """Squared errors of every candidate at joint k, and which of them obey the signs of physics.

        Errors of each stretch, shape (candidates, `STRETCHES`), predicted from the folds without it; of what was
        fitted, shape (candidates,). The signs are those of the mean amplitudes over the folds.
        """
        from scipy.linalg import cho_factor, cho_solve  # slow to import

        rank, w = self._rank, self.weights[k] ** 2
        count, size = len(self._options[k]), self._dictionaries[k].size
        held, trained = np.zeros((count, STRETCHES)), np.zeros(count)
        amplitudes = [np.zeros(len(places)) for places in self._dictionaries[k].places]
        for f, fold in enumerate(folds):
            train = self._grams[k][fold.train].sum(axis=0)
            A = _ridged(w * train[:rank, :rank] + others[f][:rank, :rank])
            right = w * train[:rank, rank:]
            right[:, -1] += others[f][:rank, -1]
            solved = cho_solve(cho_factor(A), right)  # beta = solved[:, -1] - solved[:, :-1] a
            # the whole vector (beta, a, -1) as an affine map of (a, -1)
            lift = np.zeros((rank + size + 1, size + 1))
            lift[:rank] = -solved
            lift[rank:] = np.eye(size + 1)
            tested = {s: lift.T @ self._grams[k][s] @ lift for s in fold.test}
            fitted = lift.T @ train @ lift
            inner = w * train[rank:, rank:] - right.T @ solved  # Schur complement, over the equations of all joints
            for indices, at in self._alike[k]:  # candidates with as many columns at once
                D = _ridged(inner[at[:, :, None], at[:, None, :]])
                a = np.linalg.solve(D, inner[at, -1][:, :, None])[:, :, 0]
                x = np.concatenate([a, np.full((len(a), 1), -1.0)], axis=1)
                whole = np.concatenate([at, np.full((len(at), 1), size)], axis=1)
                pick = (whole[:, :, None], whole[:, None, :])
                for s, left in tested.items():
                    held[indices, s] = np.einsum("ci,cij,cj->c", x, left[pick], x)
                trained[indices] += np.einsum("ci,cij,cj->c", x, fitted[pick], x)
                for i, row in zip(indices, a, strict=True):
                    amplitudes[i] += row
        return held, trained, [_lawful(P @ a) for P, a in zip(self._signs[k], amplitudes, strict=True)]


@dataclass(frozen=True)
class _Fold:
    """Stretches that are left out, and those that are fitted."""

    test: list[int]
    train: list[int]


def _folds(stretches: Sequence[int]) -> list[_Fold]:
    """Stretches dealt to folds in turn, so that each has two where that is possible."""
    count = max(2, -(-len(stretches) // 2))
    dealt = [[s for i, s in enumerate(stretches) if i % count == f] for f in range(count)]
    return [_Fold(test, [s for s in stretches if s not in test]) for test in dealt]


def _lawful(torques: Array) -> bool:
    """Whether no torque is against its sign by more than a small share of the largest."""
    return bool(torques.min(initial=0.0) >= -AGAINST * torques.max(initial=0.0))


def _ridged(G: Array) -> Array:
    """Gram matrices, shape (..., m, m), with `RIDGE` of their mean on the diagonal."""
    size = G.shape[-1]
    mean = np.trace(G, axis1=-2, axis2=-1) / max(size, 1)
    return np.asarray(G + RIDGE * np.maximum(mean, 1e-300)[..., None, None] * np.eye(size))


def _alike(places: Sequence[Sequence[int]]) -> list[tuple[NDArray[np.intp], NDArray[np.intp]]]:
    """Candidates with as many columns: their indices, and where their columns stand."""
    lengths = np.array([len(p) for p in places])
    return [
        (np.flatnonzero(lengths == m), np.array([p for p in places if len(p) == m]))
        for m in sorted(set(lengths.tolist()))
    ]


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
    """The friction that was chosen or fitted, and the laws it was chosen from.

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
        model = self._model.with_friction(_friction(joints, tuple(self._nominal.tolist())))
        known = zip(self.samples, self._regressors, strict=True)
        columns = [extended_columns(model, data, self._model, W) for data, W in known]
        return compress(model, self.samples, columns=columns)

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
    pi = np.linalg.lstsq(model.base.K, beta, rcond=RANK)[0]
    return np.asarray(pi[np.ravel(model.link_columns)])


def _thinned(recordings: Sequence[Dataset]) -> list[Dataset]:
    """Not more samples than are looked at, of those that count at some joint."""
    counting = [d if d.mask is None else d.rows(d.mask.any(axis=1), "without rest") for d in recordings]
    every = int(np.ceil(sum(len(d) for d in counting) / MOST_SAMPLES))
    return [d if every == 1 else d.rows(slice(None, None, every), "thinned") for d in counting]
