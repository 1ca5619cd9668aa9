"""Joint motions: states at instants, motions written in a basis, and their files (TOML, read back; CSV; ROS 2 YAML)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from casid.arrays import Array
from casid.description import assignments
from casid.errors import DatasetError, ProblemError
from casid.files import Table, csv_bytes, listed, read_toml, shown
from casid.motion._basis import LARGEST, Basis, Fourier, Poses, QuinticSpline, Ramped, positive


@dataclass(frozen=True, eq=False)
class Motion:
    """Joint states at N instants: position, velocity, acceleration of n joints [rad or m, s].

    Unpacks as ``q, dq, ddq = motion``.

    Attributes
    ----------
    q, dq, ddq : ndarray, shape (N, n)

    Raises
    ------
    DatasetError
        If an array does not have two dimensions, or the three shapes differ.
    """

    q: Array
    dq: Array
    ddq: Array

    def __post_init__(self) -> None:
        for name in ("q", "dq", "ddq"):
            part = np.asarray(getattr(self, name), dtype=float)
            object.__setattr__(self, name, part)
            if part.ndim != 2 or part.shape != self.q.shape:
                raise DatasetError(
                    f"motion: expected q, dq, ddq of one shape (instants, joints), got {name} of shape {part.shape}"
                    f"{'' if part is self.q else f' beside q of shape {self.q.shape}'}"
                )

    @classmethod
    def at_rest(cls, q: ArrayLike) -> Motion:
        """Poses held still: a pose (n,) or N of them (N, n)."""
        poses = np.atleast_2d(np.asarray(q, dtype=float))
        return cls(poses, np.zeros_like(poses), np.zeros_like(poses))

    @classmethod
    def of_coefficients(cls, coefficients: Array, matrices: Sequence[Array]) -> Motion:
        """States from coefficients (n, size) and the basis and its first two derivatives, each (N, size)."""
        q, dq, ddq = ((coefficients @ B.T).T for B in matrices)
        return cls(q, dq, ddq)

    def __iter__(self) -> Iterator[Array]:
        return iter((self.q, self.dq, self.ddq))

    def __len__(self) -> int:
        """Number of instants N."""
        return len(self.q)

    @property
    def n(self) -> int:
        """Number of joints."""
        return int(self.q.shape[1])

    def expect_joints(self, n: int, what: str) -> None:
        """DatasetError unless the motion has n joints; ``what`` is the user of the motion, for the message."""
        if self.n != n:
            raise DatasetError(f"{what}: expected a motion of shape (instants, {n}), got {self.q.shape}")


@dataclass(frozen=True, eq=False)
class Trajectory:
    """A motion of all joints with analytic derivatives: ``q(t) = X B(t)'``.

    Attributes
    ----------
    basis : Basis
    coefficients : ndarray, shape (n, basis.size)
        X.
    joints : tuple of str
        Names of the joints; default ``joint1 ...``.
    robot : str
        Name of the robot it was made for; may be empty.

    Raises
    ------
    DatasetError
        If coefficients do not fit the basis or are not finite, or the number of names is not that of the joints.
    """

    basis: Basis
    coefficients: Array
    joints: tuple[str, ...] = ()
    robot: str = ""

    def __post_init__(self) -> None:
        self.basis.check()
        X = np.array(self.coefficients, dtype=float)
        if X.ndim != 2 or X.shape[1] != self.basis.size:
            raise DatasetError(f"trajectory: expected coefficients of shape (n, {self.basis.size}), got {X.shape}")
        bad = np.argwhere(~np.isfinite(X))
        if len(bad):
            raise DatasetError(
                f"trajectory: coefficient '{self.basis.labels[bad[0][1]]}' of joint {bad[0][0] + 1} is "
                f"{X[tuple(bad[0])]}, not a finite number"
            )
        X.setflags(write=False)
        object.__setattr__(self, "coefficients", X)
        names = tuple(self.joints) or tuple(f"joint{k + 1}" for k in range(len(X)))
        if len(names) != len(X):
            raise DatasetError(f"trajectory: {len(names)} joint names for coefficients of {len(X)} joints")
        object.__setattr__(self, "joints", names)

    @property
    def n(self) -> int:
        """Number of joints."""
        return len(self.coefficients)

    def derivative(self, t: ArrayLike, order: int) -> Array:
        """Time derivative of the joint positions at the instants ``t``, shape (len(t), n)."""
        return np.asarray((self.coefficients @ self.basis.matrix(t, order).T).T)

    def motion(self, t: ArrayLike) -> Motion:
        """Position, velocity and acceleration at the instants ``t``, each (len(t), n)."""
        return Motion.of_coefficients(self.coefficients, self.basis.matrices(t))

    def sample(self, count: int) -> Motion:
        """Joint states at ``count`` uniform samples of the part that carries the information (see `Basis.samples`)."""
        return self.motion(self.basis.samples(count))

    def times(self, rate: float) -> Array:
        """Instants of the whole motion, ramps included, every 1 / ``rate`` [Hz], and its end, shape (m,) [s]."""
        if not (np.isfinite(rate) and rate > 0):
            raise DatasetError(f"sampling rate must be positive, got {rate} Hz")
        start, end = self.basis.span
        steps = np.arange(int(np.floor((end - start) * rate * (1 - 1e-12))) + 1) / rate
        return np.append(start + steps, end)


#: Kinds of motions that a file may hold.
KINDS: dict[str, type[Basis]] = {basis.kind: basis for basis in (Fourier, QuinticSpline, Poses)}


def trajectory_text(trajectory: Trajectory, form: str = "toml", rate: float = 100.0) -> str:
    """Text of a trajectory file.

    Parameters
    ----------
    form
        ``toml``: coefficients; `read_trajectory` gives back the same trajectory, to the last bit. ``csv``: samples
        ``t, q_<joint> ..., dq_<joint> ..., ddq_<joint> ...`` in SI units, from time 0; one row a pose for a sequence
        of poses. ``ros2``: ``trajectory_msgs/msg/JointTrajectory`` as YAML, for ``ros2 topic pub`` or a
        FollowJointTrajectory goal.
    rate
        Samples a second of ``csv`` and ``ros2`` [Hz].

    Raises
    ------
    DatasetError
        For an unknown form, a rate that is not positive, or static poses as ``ros2``.
    """
    forms = {"toml": _toml, "csv": _csv, "ros2": _ros2}
    if form not in forms:
        raise DatasetError(f"unknown form '{form}' of a trajectory file; known: {', '.join(forms)}")
    return forms[form](trajectory, rate)


def _toml(trajectory: Trajectory, _: float) -> str:
    head = {"schema": 1, **({"robot": trajectory.robot} if trajectory.robot else {})}
    lines = ["# Excitation trajectory: coefficients, SI units (rad or m, s).", *assignments(head)]
    lines += ["", "[basis]", *assignments(trajectory.basis.record())]
    for name, row in zip(trajectory.joints, trajectory.coefficients, strict=True):
        lines += ["", "[[joint]]", *assignments({"name": name}), "coefficients = ["]
        lines += [f"    {float(x)!r}, # {label}" for label, x in zip(trajectory.basis.labels, row, strict=True)]
        lines.append("]")
    return "\n".join(lines) + "\n"


def _csv(trajectory: Trajectory, rate: float) -> str:
    joints = trajectory.joints
    if trajectory.basis.static:
        poses = trajectory.coefficients.T.tolist()
        head = ["pose", *(f"q_{name}" for name in joints)]
        return csv_bytes(head, ([k + 1, *pose] for k, pose in enumerate(poses))).decode()
    t = trajectory.times(rate)
    states = zip(t - t[0], np.hstack(tuple(trajectory.motion(t))), strict=True)
    head = ["t", *(f"{symbol}_{name}" for symbol in ("q", "dq", "ddq") for name in joints)]
    return csv_bytes(head, ([f"{instant:.9g}", *(f"{x:.12g}" for x in state)] for instant, state in states)).decode()


def _ros2(trajectory: Trajectory, rate: float) -> str:
    if trajectory.basis.static:
        raise DatasetError("a sequence of static poses has no times: write it as CSV or TOML")
    t = trajectory.times(rate)
    motion = trajectory.motion(t)
    lines = ["header:", "  stamp: {sec: 0, nanosec: 0}", "  frame_id: ''", "joint_names:"]
    lines += [f"- {_quoted(name)}" for name in trajectory.joints]
    lines.append("points:")
    for k, instant in enumerate(t - t[0]):
        nanoseconds = round(float(instant) * 1e9)
        for key, values in zip(("- positions", "  velocities", "  accelerations"), motion, strict=True):
            lines.append(f"{key}: [{', '.join(f'{x:.10g}' for x in values[k])}]")
        lines.append(f"  time_from_start: {{sec: {nanoseconds // 10**9}, nanosec: {nanoseconds % 10**9}}}")
    return "\n".join(lines) + "\n"


def read_trajectory(path: str | Path) -> Trajectory:
    """Read a trajectory from TOML as `trajectory_text` writes it.

    Raises
    ------
    DatasetError
        Naming the file and the key.
    """
    path = Path(path)
    table = Table(read_toml(path, "trajectory file", DatasetError), path.name, ("schema", "robot", "basis", "joint"))
    table.require("schema", "basis", "joint")
    if table.data["schema"] != 1:
        table.fail(f"key 'schema': this version of casid reads schema 1, got {shown(table.data['schema'])}")
    try:
        basis = _basis(table)
        names, rows = [], []
        for number, entry in enumerate(table.tables("joint"), start=1):
            joint = Table(entry, f"{path.name}: joint {number}", ("name", "coefficients"))
            joint.require("name", "coefficients")
            row = joint.numbers("coefficients")
            if len(row) != basis.size:
                labels = listed(basis.labels)
                joint.fail(f"key 'coefficients': expected {basis.size} numbers ({labels}), got {len(row)}")
            if np.abs(row).max() > LARGEST:
                joint.fail(f"key 'coefficients': {np.abs(row).max():.3g} is beyond any motion")
            names.append(joint.text("name"))
            rows.append(row)
        if not rows:
            table.fail("expected [[joint]] tables")
        return Trajectory(basis, np.array(rows), tuple(names), table.text("robot") if "robot" in table else "")
    except ProblemError as error:
        raise DatasetError(f"{path.name}: {error}") from None


def _basis(file: Table) -> Basis:
    value = file.data["basis"]
    kind = value.get("kind") if isinstance(value, dict) else None
    found = KINDS.get(kind) if isinstance(kind, str) else None
    anything = value if isinstance(value, dict) else ()
    table = file.table("basis", anything if found is None else ("kind", *found.keys, "ramp"))
    assert table is not None
    basis = KINDS[table.choice("kind", KINDS)]
    table.require(*basis.keys)
    motion = basis.from_table(table)
    if "ramp" not in table:
        return motion
    if motion.static:
        table.fail("key 'ramp': static poses have no ramps")
    return Ramped(motion, positive(table, "ramp"))


def _quoted(text: str) -> str:
    """Double-quoted string that YAML reads back as it is."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + "".join(c if c.isprintable() else f"\\U{ord(c):08x}" for c in escaped) + '"'
