"""Cross-validation of friction laws on Gram matrices of their columns."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import casadi as ca
import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve

from casid.codegen import evaluate_batch
from casid.dynamics import Model
from casid.dynamics.terms import FrictionLaw, JointSignals
from casid.dynamics.terms._friction import JointFriction, states_of
from casid.measurement import Dataset
from casid.regression._observation import filtered_blocks, motion, sampling_period

Array = NDArray[np.float64]

#: Comparisons of expressions look so deep.
_DEPTH = 50


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
            for column in candidate.law.columns(signals, candidate.theta):
                same = known.setdefault(str(column), [])  # the print narrows the search, equality decides
                place = next((i for i in same if ca.is_equal(columns[i], column, _DEPTH)), None)
                if place is None:
                    place = len(columns)
                    same.append(place)
                    columns.append(column)
                places.append(place)
            self.places.append(places)
        inputs = [q, dq, ddq, load, signal, memory]
        names = ["q", "dq", "ddq", "load", "signal", "memory"]
        self.function = ca.Function("columns", inputs, [ca.densify(ca.vertcat(*columns))], names, ["c"], {"cse": True})

    @property
    def size(self) -> int:
        """Number of columns."""
        return int(self.function.size1_out(0))


def loads_of(model: Model, parameters: Array | None, dataset: Dataset) -> Array:
    """Torque that links with these parameters ask of the joints, not filtered, at the full rate, shape (M, n)."""
    source = motion(dataset)
    assert source.dq is not None and source.ddq is not None
    if parameters is None:
        return np.zeros(source.q.shape)
    links = model.like(terms=())
    return np.asarray(evaluate_batch(links.inverse_dynamics, source.q, source.dq, source.ddq, parameters))[:, :, 0]


def friction_columns(dictionaries: Sequence[Dictionary], dataset: Dataset, loads: Array) -> list[Array]:
    """Filtered columns of each joint at the samples of a recording, shapes (N, dictionary's size)."""
    source, period = motion(dataset), sampling_period(dataset)
    assert source.dq is not None and source.ddq is not None
    arrays = [source.q, source.dq, source.ddq, loads, source.tau]
    memories = [
        np.concatenate([np.zeros((len(source.q), 0)), *states_of(_laws(d), source.q[:, k], period)], axis=1)
        for k, d in enumerate(dictionaries)
    ]
    function = _together(dictionaries)
    edges = np.cumsum([0, *(d.size for d in dictionaries)])
    out = np.empty((len(dataset), int(edges[-1])))

    def evaluate(part: slice) -> Array:
        held = np.concatenate([z[part] for z in memories], axis=1)
        return np.asarray(evaluate_batch(function, *(x[part] for x in arrays), held, compiled=False))[:, :, 0]

    for first, block in filtered_blocks(dataset, evaluate):
        out[first : first + len(block)] = block
    return [out[:, a:b] for a, b in itertools.pairwise(edges)]


def _laws(dictionary: Dictionary) -> list[tuple[FrictionLaw, Sequence[float]]]:
    return [(c.law, c.theta) for c in dictionary.remembering]


def _together(dictionaries: Sequence[Dictionary]) -> ca.Function:
    """``(q, dq, ddq, load, signal, memory) -> columns`` of all joints."""
    n = len(dictionaries)
    inputs = [ca.SX.sym(name, n) for name in ("q", "dq", "ddq", "load", "signal")]
    edges = np.cumsum([0, *(d.function.size1_in(5) for d in dictionaries)]).tolist()
    memory = ca.SX.sym("memory", edges[-1])
    made = [
        d.function(*(x[k] for x in inputs), memory[a:b] if b > a else ca.SX(0, 1))
        for k, (d, a, b) in enumerate(zip(dictionaries, edges, edges[1:], strict=False))
    ]
    return ca.Function("columns", [*inputs, memory], [ca.vertcat(*made)])


#: Stretches of each recording, dealt to the folds in turn.
STRETCHES, FOLDS = 12, 6
#: A more complex law must lower the held-out mean square by this share, and by so many standard errors over the folds.
LEAST_GAIN, STANDARD_ERRORS = 0.02, 1.0
#: Ridge on equilibrated columns: what the data do not determine stays small.
RIDGE = 1e-9
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
    """

    joint: str
    law: str
    shape: dict[str, float]
    held_out: float
    training: float
    parameters: int
    chosen: bool


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
        self._grams = [np.zeros((FOLDS, size, size)) for size in sizes]
        self._counts = np.zeros((FOLDS, model.n))
        self._independent = np.zeros(model.n)
        for data, W in zip(recordings, regressors, strict=True):
            columns = friction_columns(self._dictionaries, data, loads_of(model, nominal, data))
            kept = np.full(model.n, len(data)) if data.mask is None else data.mask.sum(axis=0)
            self._independent += kept / (1.0 if data.full is None else data.full.correlation)
            fold = np.minimum(np.arange(len(data)) * STRETCHES // max(len(data), 1), STRETCHES - 1) % FOLDS
            for k in range(model.n):
                X = np.hstack([W[:, k], columns[k], data.tau[:, [k]]])
                for f in range(FOLDS):
                    rows = fold == f if data.mask is None else (fold == f) & data.mask[:, k]
                    self._grams[k][f] += X[rows].T @ X[rows]
                    self._counts[f, k] += rows.sum()
        self._scale()
        if weights is None:
            first = [0] * model.n
            errors = self._squares(first, self.fit(first))
            mean = errors / np.maximum(self._counts.sum(axis=0), 1.0)
            floor = 1e-24 * max(float(mean.max()), np.finfo(float).tiny)
            self.weights = 1.0 / np.sqrt(np.maximum(mean, floor))

    def _scale(self) -> None:
        """Columns of unit length, all joints' inertial columns alike."""
        lengths = np.sqrt(
            sum(w**2 * np.diagonal(G.sum(axis=0))[: self._rank] for w, G in zip(self.weights, self._grams, strict=True))
        )
        self._lengths = lengths = np.where(lengths > 0, lengths, 1.0)
        for k, G in enumerate(self._grams):
            own = np.sqrt(np.diagonal(G.sum(axis=0))[self._rank : -1])
            scale = np.concatenate([lengths, np.where(own > 0, own, 1.0), [1.0]])
            self._grams[k] = G / np.outer(scale, scale)

    def _places(self, k: int, choice: int) -> list[int]:
        return [self._rank + c for c in self._dictionaries[k].places[choice]]

    def _reduced(self, k: int, choice: int, fold: int | None) -> Array:
        """Gram matrix of the inertial columns and the torque, the candidate's friction eliminated, without a fold."""
        G = self._grams[k].sum(axis=0)
        if fold is not None:
            G = G - self._grams[k][fold]
        keep, local = [*range(self._rank), -1], self._places(k, choice)
        inner = _ridged(G[np.ix_(local, local)])
        cross = G[np.ix_(local, keep)]
        return np.asarray(self.weights[k] ** 2 * (G[np.ix_(keep, keep)] - cross.T @ np.linalg.solve(inner, cross)))

    def _scaled_fit(self, chosen: Sequence[int]) -> Array:
        reduced = np.sum([self._reduced(k, i, None) for k, i in enumerate(chosen)], axis=0)
        A = _ridged(reduced[:-1, :-1])
        return np.asarray(cho_solve(cho_factor(A), reduced[:-1, -1]))

    def fit(self, chosen: Sequence[int]) -> Array:
        """Base parameters of the model with these candidates, from all samples."""
        return np.asarray(self._scaled_fit(chosen) / self._lengths)

    def _squares(self, chosen: Sequence[int], beta: Array) -> Array:
        """Squared errors of each joint with these base parameters and its best amplitudes, shape (n,)."""
        errors = []
        for k, i in enumerate(chosen):
            G, local = self._grams[k].sum(axis=0), self._places(k, i)
            x = np.zeros(len(G))
            x[: self._rank], x[-1] = beta * self._lengths, -1.0
            x[local] = np.linalg.solve(_ridged(G[np.ix_(local, local)]), -(G @ x)[local])
            errors.append(max(float(x @ G @ x), 0.0))
        return np.array(errors)

    def run(self) -> tuple[list[int], list[Candidate]]:
        """Index of the best candidate of each joint, the other joints' held, and what was tried."""
        chosen = [0] * self._model.n
        rows: list[list[Candidate]] = [[] for _ in chosen]
        reduced = [[self._reduced(k, chosen[k], f) for f in range(FOLDS)] for k in range(len(chosen))]
        for _ in range(SWEEPS):
            before = list(chosen)
            for k in range(len(chosen)):
                if not self._counts[:, k].any():
                    continue
                rest = [i for i in range(len(chosen)) if i != k]
                size = self._rank + 1
                others = [sum((reduced[i][f] for i in rest), np.zeros((size, size))) for f in range(FOLDS)]
                chosen[k], rows[k] = self._best(k, others)
                reduced[k] = [self._reduced(k, chosen[k], f) for f in range(FOLDS)]
            if chosen == before:
                break
        return chosen, [row for part in rows for row in part]

    def _best(self, k: int, others: Sequence[Array]) -> tuple[int, list[Candidate]]:
        held, trained = self._errors(k, others)
        counts = self._counts[:, k]
        mean = held.sum(axis=1) / counts.sum()
        best: dict[str, int] = {}
        for i, option in enumerate(self._options[k]):
            name = option.law.name
            if name not in best or mean[i] < mean[best[name]]:
                best[name] = i
        ranked = sorted(best.values(), key=lambda i: (self._options[k][i].law.complexity, mean[i]))
        winner = ranked[0]
        per_fold = held / np.maximum(counts, 1.0)
        active = counts > 0
        for i in ranked[1:]:
            gain = (per_fold[winner] - per_fold[i])[active]
            error = float(np.std(gain, ddof=1) / np.sqrt(len(gain))) if len(gain) > 1 else 0.0
            earned = mean[i] <= (1 - LEAST_GAIN) * mean[winner] and gain.mean() > STANDARD_ERRORS * error
            if earned and self._informative(k, winner, i, trained):
                winner = i
        left = (FOLDS - 1) * counts.sum()
        table = [
            Candidate(
                self._model.robot.coordinates[k].name,
                option.law.name,
                {s.name: float(x) for s, x in zip(option.law.shape, option.theta, strict=True)},
                float(np.sqrt(max(mean[i], 0.0))),
                float(np.sqrt(max(trained[i].sum() / max(left, 1.0), 0.0))),
                option.law.complexity,
                i == winner,
            )
            for i, option in ((i, self._options[k][i]) for i in best.values())
        ]
        return winner, table

    def _informative(self, k: int, old: int, new: int, trained: Array) -> bool:
        """Whether a law explains more than its further parameters explain by chance (Schwarz's criterion).

        Samples count as many as are independent; on short recordings cross-validation alone accepts too complex laws.
        """
        laws = [self._options[k][i].law for i in (old, new)]
        further = laws[1].complexity - laws[0].complexity
        before, after = (max(float(trained[i].sum()), np.finfo(float).tiny) for i in (old, new))
        count = max(float(self._independent[k]), 2.0)
        return bool(count * np.log(before / after) > further * np.log(count))

    def _errors(self, k: int, others: Sequence[Array]) -> tuple[Array, Array]:
        """Squared errors of every candidate at joint k, fold by fold: left out, and fitted; (candidates, folds)."""
        rank, w = self._rank, self.weights[k] ** 2
        total = self._grams[k].sum(axis=0)
        count = len(self._options[k])
        held, trained = np.zeros((count, FOLDS)), np.zeros((count, FOLDS))
        size = self._dictionaries[k].size
        for f in range(FOLDS):
            test = self._grams[k][f]
            train = total - test
            A = _ridged(w * train[:rank, :rank] + others[f][:rank, :rank])
            right = w * train[:rank, rank:]
            right[:, -1] += others[f][:rank, -1]
            solved = cho_solve(cho_factor(A), right)  # beta = solved[:, -1] - solved[:, :-1] a
            # the whole vector (beta, a, -1) as an affine map of (a, -1)
            lift = np.zeros((rank + size + 1, size + 1))
            lift[:rank] = -solved
            lift[rank:] = np.eye(size + 1)
            tested, fitted = lift.T @ test @ lift, lift.T @ train @ lift
            inner = w * train[rank:, rank:] - right.T @ solved  # Schur complement, over the equations of all joints
            for indices, at in self._alike[k]:  # candidates with as many columns at once
                D = _ridged(inner[at[:, :, None], at[:, None, :]])
                a = np.linalg.solve(D, inner[at, -1][:, :, None])[:, :, 0]
                x = np.concatenate([a, np.full((len(a), 1), -1.0)], axis=1)
                whole = np.concatenate([at, np.full((len(at), 1), size)], axis=1)
                pick = (whole[:, :, None], whole[:, None, :])
                held[indices, f] = np.einsum("ci,cij,cj->c", x, tested[pick], x)
                trained[indices, f] = np.einsum("ci,cij,cj->c", x, fitted[pick], x)
        return held, trained


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
