"""Free runs of all recordings under one set of parameters, and the normal equations of their errors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from casid.arrays import ALIKE, Array, Flags
from casid.description import Robot
from casid.drives._law import DRIVE, LINK, RIGID
from casid.drives._recording import CommandRecording, held_commands
from casid.drives._rollout import Branch, Column, Drive, branches
from casid.drives._servo import KINDS, QUANTITIES, Servo, Unknown
from casid.dynamics import Model
from casid.errors import DatasetError
from casid.evidence import white_sd
from casid.files import listed, near, shown

T = TypeVar("T")

#: Deviations of position and speed of what no encoder shows at the start of a piece [rad, rad/s]: of a
#: drive that is off by play of a degree, and moves in it.
_HIDDEN = (0.02, 0.5)


@dataclass(frozen=True)
class Parameter:
    """An unknown of the simulation, one value of one or more joints (coordinates)."""

    attribute: str
    joints: tuple[int, ...]
    name: str
    unknown: Unknown

    @property
    def kind(self) -> str:
        """Kind in the compiled step."""
        return QUANTITIES[self.attribute].kind

    @property
    def unit(self) -> str:
        """Of its value."""
        return QUANTITIES[self.attribute].unit

    @property
    def lower(self) -> float:
        """Lower bound."""
        return QUANTITIES[self.attribute].lower if self.unknown.lower is None else self.unknown.lower

    @property
    def upper(self) -> float:
        """Upper bound."""
        return QUANTITIES[self.attribute].upper if self.unknown.upper is None else self.unknown.upper


@dataclass(frozen=True, eq=False)
class Piece:
    """Consecutive samples that are run from one initial state.

    Attributes
    ----------
    recording : CommandRecording
        The whole; commands before the piece still act in it.
    rows : slice
    start : ndarray, shape (4 n,)
        Measured ``[q, v]`` of the first sample; position and speed of what no encoder shows (link or drive of a joint
        that is not rigid) beyond rest under the load: 0.
    spread : ndarray, shape (4 n,)
        Standard deviations of ``start``.
    edges : ndarray, shape (steps + 1,)
        Times between integration steps [s].
    emit : ndarray, shape (steps,)
        Whether a sample follows the step.
    on, torque : ndarray, shape (steps, n)
    """

    recording: CommandRecording
    rows: slice
    start: Array
    spread: Array
    edges: Array
    emit: NDArray[np.int64]
    on: Array
    torque: Array

    @property
    def measured(self) -> Array:
        """Encoders, shape (N, n)."""
        return np.asarray(self.recording.q[self.rows])


def noise_of(q: Array) -> Array:
    """Standard deviation of the encoders' noise from third differences, at least that of their steps, shape (n,)."""
    quantum = quantum_of([q])
    steps = np.where(np.isfinite(quantum), quantum, 1e-6) / np.sqrt(12.0)
    return np.asarray(np.maximum(white_sd(q, 3), steps))


def quantum_of(motions: Sequence[Array]) -> Array:
    """Steps of the encoders: the least change of their positions; infinite without any, shape (n,)."""
    steps = np.concatenate([np.abs(np.diff(q, axis=0)) for q in motions])
    rounding = ALIKE * max(float(np.abs(q).max()) for q in motions)
    return np.asarray(np.where(steps > rounding, steps, np.inf).min(axis=0))


def _speed(recording: CommandRecording, at: int, reach: int) -> tuple[Array, float]:
    """Slope of a parabola through some samples on both sides of one, and its deviation in units of the noise."""
    near = slice(max(0, at - reach), at + reach + 1)
    pinv = np.linalg.pinv(np.vander(recording.t[near] - recording.t[at], 3, increasing=True))
    return np.asarray(pinv[1] @ recording.q[near]), float(np.linalg.norm(pinv[1]))


def piece_of(recording: CommandRecording, rows: slice, step: float, noise: Array) -> Piece:
    """A piece with its integration steps, none longer than ``step``."""
    t = recording.t[rows]
    q = recording.q[rows]
    counts = np.maximum(1, np.ceil(np.diff(t) / step - 1e-6)).astype(int)
    total = int(counts.sum())
    emit = np.zeros(total, dtype=np.int64)
    emit[np.cumsum(counts) - 1] = 1
    sample = np.repeat(np.arange(len(counts)), counts)
    within = np.arange(total) - np.repeat(np.cumsum(counts) - counts, counts)
    edges = np.append(t[sample] + within * np.repeat(np.diff(t) / counts, counts), t[-1])
    (speed, unit), (nearer, _) = (_speed(recording, rows.start, reach) for reach in (4, 2))
    sd = noise * unit
    n, moves = recording.n, np.abs(speed) > 2 * sd
    # the curve of a fast motion, in a parabola's slope of the order of the square of its reach: 4/3 of the difference
    spread = np.concatenate([2.0 * noise, 3.0 * sd + 1e-3 + 4.0 * np.abs(speed - nearer), np.repeat(_HIDDEN, n)])
    on = recording.on()[rows][:-1][sample]
    torque = np.zeros((total, n)) if recording.torque is None else np.asarray(recording.torque)[rows][:-1][sample]
    start = np.concatenate([q[0], np.where(moves, speed, 0.0), np.zeros(2 * n)])
    return Piece(recording, rows, start, spread, edges, emit, on, np.ascontiguousarray(torque))


@dataclass
class Point:
    """Parameters and the initial states of all pieces."""

    theta: Array
    starts: list[Array]


class FreeRuns:
    """Simulation of recordings from their commands alone.

    Parameters
    ----------
    robot
        With inertial values; fixed base.
    servo
        What is known, what is to be found.
    recordings
        With one column a coordinate of the robot.
    step
        Longest integration step [s].
    longest
        Longest piece [s].
    threads
        That share the pieces.
    """

    def __init__(
        self, robot: Robot, servo: Servo, recordings: Sequence[CommandRecording], step: float = 5e-3,
        longest: float = 10.0, threads: int = 2,
    ) -> None:  # fmt: skip
        self.robot, self.servo, self.recordings, self.threads = robot, servo, tuple(recordings), threads
        self.step, self.longest = step, longest
        n = robot.n
        if not self.recordings:
            raise DatasetError("identification from commands needs at least one recording")
        for data in self.recordings:
            if data.n != n:
                names = ", ".join(joint.name for joint in robot.coordinates)
                raise DatasetError(f"{data.name}: {data.n} joints for the {n} of robot '{robot.name}' ({names}); name "
                                   "the columns (joints), or lock the joints that are not in it")  # fmt: skip
        self.branches = [Branch(robot, joints) for joints in branches(robot)]
        self.period = float(np.median([data.period for data in self.recordings]))
        self.known, self.parameters = _parameters(robot, servo)
        self.noise = np.median([noise_of(np.asarray(data.q)) for data in self.recordings], axis=0)
        self.pieces = [
            piece_of(data, rows, step, self.noise) for data in self.recordings for rows in data.pieces(longest)
        ]
        if not self.pieces:
            raise DatasetError("no stretch of the recordings without gaps is long enough to simulate")
        self.rollouts = 0.0
        #: Cost of a run with derivatives over one without, measured when first asked for.
        self.cost = 4.0

    def of(self, recordings: Sequence[CommandRecording], step: float | None = None) -> FreeRuns:
        """The same with other recordings, and with another step if one is given."""
        made = FreeRuns(self.robot, self.servo, recordings, step or self.step, self.longest, self.threads)
        made.branches, made.parameters = self.branches, self.parameters
        return made

    def under(self, servo: Servo) -> FreeRuns:
        """The same pieces under another servo, with its own unknowns."""
        made = copy(self)
        made.servo, made.rollouts = servo, 0.0
        made.known, made.parameters = _parameters(self.robot, servo)
        return made

    def holding(self, kind: str, joints: Sequence[int] | Flags, values: Array | float) -> FreeRuns:
        """The same with known values of a kind at some joints."""
        made = copy(self)
        made.known = self.known.copy()
        made.known[joints, KINDS.index(kind)] = values
        return made

    def thinned(self, seconds: float, each: bool = True) -> FreeRuns:
        """The same with about so many seconds of pieces, some of every recording (``each``) or of all together."""
        every = max(1, round(self.seconds / seconds))
        if every == 1:
            return self
        made = copy(self)
        if not each:
            made.pieces = self.pieces[every // 2 :: every]
            return made
        made.pieces, before, number = [], None, 0
        for piece in self.pieces:
            number = 0 if piece.recording is not before else number + 1
            before = piece.recording
            if number % every == every // 2 or (number == 0 and len(list(before.pieces(self.longest))) <= every // 2):
                made.pieces.append(piece)
        return made

    def stepped(self, step: float) -> FreeRuns:
        """The same pieces with another longest step [s]."""
        made = copy(self)
        made.step = step
        made.pieces = [piece_of(piece.recording, piece.rows, step, self.noise) for piece in self.pieces]
        return made

    @cached_property
    def model(self) -> Model:
        """The robot's rigid bodies."""
        return Model(self.robot)

    def state(self, branch: Branch) -> list[int]:
        """Places of a branch's initial state in that of a piece."""
        return [k + part * self.robot.n for part in range(4 if self.encoder else 2) for k in branch.joints]

    @property
    def encoder(self) -> int:
        """Where encoders are on joints with drives of their own; `RIGID`: none has."""
        if not self.servo.sprung(self.robot.n):
            return RIGID
        return LINK if self.servo.encoder == "link" else DRIVE

    @property
    def seconds(self) -> float:
        """Simulated time of one run of everything [s]."""
        return float(sum(piece.edges[-1] - piece.edges[0] for piece in self.pieces))

    def point(self, theta: Array) -> Point:
        """Parameters with the measured initial states."""
        return Point(np.array(theta), [piece.start.copy() for piece in self.pieces])

    def named(self, asked: Sequence[str]) -> list[int]:
        """Places of the unknowns that are asked for by name or attribute; ``"all"``: every one.

        Raises
        ------
        DatasetError
            If no unknown has that name.
        """
        known = list(dict.fromkeys([*(p.attribute for p in self.parameters), *(p.name for p in self.parameters)]))
        for name in asked:
            if name != "all" and name not in known:
                raise DatasetError(f"profile: {shown(name)} is no unknown here{near(name, known)} (unknowns: "
                                   f"{listed(known)}; or all)")  # fmt: skip
        return [i for i, p in enumerate(self.parameters) if {"all", p.name, p.attribute} & set(asked)]

    def table(self, theta: Array) -> Array:
        """Values of all kinds at all joints, shape (n, kinds)."""
        values: Array = self.known.copy()
        for parameter, value in zip(self.parameters, theta, strict=True):
            values[list(parameter.joints), KINDS.index(parameter.kind)] = value
        return values

    def values(self, theta: Array) -> dict[str, Array]:
        """Values of all joints by attribute of `Servo`, shape (n,) each."""
        return dict(zip(QUANTITIES, self.table(theta).T, strict=True))

    @property
    def bounds(self) -> tuple[Array, Array]:
        """Lower and upper bounds of the unknowns."""
        return np.array([p.lower for p in self.parameters]), np.array([p.upper for p in self.parameters])

    def columns(self, branch: Branch) -> tuple[list[Column], list[int]]:
        """Parameters that act on a branch, and their places."""
        made, places = [], []
        for place, p in enumerate(self.parameters):
            if acts := tuple(branch.joints.index(k) for k in p.joints if k in branch.joints):
                made.append(Column(p.kind, acts))
                places.append(place)
        return made, places

    def drive(self, piece: Piece, branch: Branch, delays: Array) -> Drive:
        """Commands as they act in each step: their mean over its length, half a step early, later by the delay."""
        h = np.diff(piece.edges)
        edges = np.append(piece.edges[:-1] - h / 2, piece.edges[-1] - h[-1] / 2)
        joints = list(branch.joints)
        u, du = np.empty((len(h), branch.n)), np.empty((len(h), branch.n))
        linear = self.servo.hold == "linear"
        for place, k in enumerate(joints):
            value, integral = held_commands(piece.recording.t, piece.recording.q_des[:, k], edges - delays[k], linear)
            u[:, place], du[:, place] = np.diff(integral) / np.diff(edges), -np.diff(value) / np.diff(edges)
        on, torque = (np.ascontiguousarray(value[:, joints]) for value in (piece.on, piece.torque))
        return Drive(h, u, du, on, torque, piece.emit, np.ascontiguousarray(piece.edges[:-1]), self.encoder)

    def simulate(self, point: Point, pieces: Sequence[int] | None = None) -> list[Array]:
        """Positions of every piece, or of some, shape (N, n) each."""
        chosen = range(len(self.pieces)) if pieces is None else pieces
        table = self.table(point.theta)

        def one(index: int) -> Array:
            out: Array = np.empty(self.pieces[index].measured.shape)
            for branch in self.branches:
                out[:, list(branch.joints)] = self._run(index, branch, table, point)[1]
            return out

        self.rollouts += len(chosen) / len(self.pieces)
        return self._each(one, chosen)

    def _run(
        self, index: int, branch: Branch, table: Array, point: Point, columns: Sequence[Column] = (), free: bool = False
    ) -> tuple[Array, Array, Array]:
        """Initial state of a branch in a piece, its positions, and their derivatives."""
        start = point.starts[index][self.state(branch)]
        drive = self.drive(self.pieces[index], branch, table[:, KINDS.index("delay")])
        q, S = branch.run(drive, table[list(branch.joints)], start, columns, free)
        return start, q, S

    def missed(self, point: Point, shown: Sequence[Array] | None = None) -> list[Array]:
        """Measured minus simulated positions (``shown``, or those of the point) of every piece, shape (N, n) each."""
        runs = self.simulate(point) if shown is None else shown
        return [piece.measured - q for piece, q in zip(self.pieces, runs, strict=True)]

    def errors(self, point: Point) -> Array:
        """Root mean square of measured minus simulated positions, shape (n,)."""
        return np.asarray(np.sqrt(np.mean(np.concatenate(self.missed(point)) ** 2, axis=0)))

    def error(self, point: Point) -> float:
        """The same over all joints."""
        return float(np.sqrt(np.mean(self.errors(point) ** 2)))

    @property
    def standing(self) -> list[Array]:
        """What joints that stand at the mean of all recordings miss, shape (N, n) a piece."""
        mean = np.concatenate([piece.measured for piece in self.pieces]).mean(axis=0)
        return [piece.measured - mean for piece in self.pieces]

    def linearised(
        self, point: Point, use: Callable[[int, Branch, list[int], Array, Array, Array], T]
    ) -> list[list[T]]:
        """What ``use(piece, branch, places, start, positions, derivatives)`` makes of every branch of every piece."""
        table = self.table(point.theta)

        def one(index: int) -> list[T]:
            made = []
            for branch in self.branches:
                columns, places = self.columns(branch)
                made.append(use(index, branch, places, *self._run(index, branch, table, point, columns, True)))
            return made

        self.rollouts += self.cost
        return self._each(one, range(len(self.pieces)))

    def _each(self, one: Callable[[int], T], chosen: Sequence[int]) -> list[T]:
        if self.threads <= 1 or len(chosen) == 1:
            return [one(index) for index in chosen]
        with ThreadPoolExecutor(self.threads) as pool:
            return list(pool.map(one, chosen))


def _parameters(robot: Robot, servo: Servo) -> tuple[Array, tuple[Parameter, ...]]:
    """Known values, shape (n, kinds), and the unknowns."""
    n = robot.n
    names = [joint.name for joint in robot.coordinates]
    known, unknown = np.zeros((n, len(KINDS))), []
    for attribute, quantity in QUANTITIES.items():
        values = servo.of(attribute, n)
        for joints in servo.sharing(attribute, names):
            first, *others = [values[k] for k in joints]
            if any(value != first for value in others):
                raise DatasetError(f"servo: {', '.join(names[k] for k in joints)} are the same servo, but differ in "
                                   f"{attribute}; give one value")  # fmt: skip
            if isinstance(first, Unknown):
                name = attribute if servo.whole(attribute) else f"{attribute} {'='.join(names[k] for k in joints)}"
                unknown.append(Parameter(attribute, joints, name, first))
            else:
                known[list(joints), KINDS.index(quantity.kind)] = min(first, 1e300)
    return known, tuple(unknown)
