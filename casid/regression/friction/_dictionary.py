"""The columns of many friction laws at a joint, evaluated together along recordings."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import casadi as ca
import numpy as np

from casid.arrays import Array
from casid.codegen import Function
from casid.dynamics import Model
from casid.dynamics.terms import FrictionLaw, JointFriction, JointSignals, states_of
from casid.measurement import Dataset
from casid.regression._rows import filtered_blocks, motion, sampling_period

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
    memories = [
        np.concatenate([np.zeros((len(source.q), 0)), *states_of(_laws(d), source.q[:, k], period)], axis=1)
        for k, d in enumerate(dictionaries)
    ]
    function = _together(dictionaries)
    edges = np.cumsum([0, *(d.size for d in dictionaries)])

    def evaluate(part: slice) -> Array:
        held = np.concatenate([z[part] for z in memories], axis=1)
        return np.asarray(function(*(x[part] for x in arrays), held))

    out = np.concatenate([block for _, block in filtered_blocks(dataset, evaluate)])
    return [out[:, a:b] for a, b in itertools.pairwise(edges)]


def _laws(dictionary: Dictionary) -> list[tuple[FrictionLaw, Sequence[float]]]:
    return [(c.law, c.theta) for c in dictionary.remembering]


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
