"""A recording: time, joint positions and torques, what was done to them, what it was made from. Frozen and checked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from casid.arrays import Array
from casid.errors import DatasetError
from casid.measurement._defects import Defect
from casid.measurement._low_pass import LowPass


@dataclass(frozen=True, eq=False)
class FullRate:
    """Motion at the full rate, and which of its samples a `Dataset` keeps.

    A filtered torque belongs to *filtered* columns of the regressor: ``sign(dq)`` jumps where a filtered torque cannot.
    With this the columns are computed at the full rate and go through the torques' filter before samples are taken.

    Attributes
    ----------
    q, dq, ddq, tau : ndarray, shape (M, n)
        At the full rate; the torques as measured.
    low_pass : LowPass
        What the torques went through.
    index : ndarray of int, shape (N,)
        Where the dataset's samples stand.
    """

    q: Array
    dq: Array
    ddq: Array
    tau: Array
    low_pass: LowPass
    index: NDArray[np.intp]

    def __post_init__(self) -> None:
        for name in ("q", "dq", "ddq", "tau", "index"):
            getattr(self, name).setflags(write=False)

    def __len__(self) -> int:
        """Number of samples at the full rate."""
        return len(self.q)

    def rows(self, which: slice | ArrayLike) -> FullRate:
        """The same motion with fewer samples kept."""
        return replace(self, index=np.array(self.index[which if isinstance(which, slice) else np.asarray(which)]))

    @property
    def every(self) -> float:
        """Full-rate samples from one kept sample to the next, typically."""
        return float(np.median(np.diff(self.index))) if len(self.index) > 1 else 1.0

    @property
    def correlation(self) -> float:
        """Kept samples over those that count as independent, with white noise before the filter; at least 1."""
        return max(1.0, 1.0 / (self.every * self.low_pass.noise_gain))

    def check(self, name: str, q: Array, dq: Array | None, ddq: Array | None) -> None:
        """Refuse a dataset whose motion was replaced after processing.

        Raises
        ------
        DatasetError
            If its motion is not the one at the kept samples.
        """
        pairs = ((self.q, q), (self.dq, dq), (self.ddq, ddq))
        if not all(theirs is not None and np.array_equal(mine[self.index], theirs) for mine, theirs in pairs):
            raise DatasetError(
                f"{name}: the motion was replaced after processing, but the columns of the regressor are filtered at "
                "the full rate; change the raw recording, or give up the filter with replace(dataset, full=None)"
            )


#: Fewest samples that a recording may have.
FEWEST_SAMPLES = 10
#: Larger numbers are no measurement; their squares would overflow in sums.
LARGEST = 1e12
#: Arrays with one column a joint.
_JOINT_ARRAYS = ("q", "dq", "ddq", "tau", "tau_raw")


@dataclass(frozen=True, eq=False, repr=False)
class Dataset:
    """Samples of a motion, one row a sample, one column a joint.

    Attributes
    ----------
    t : ndarray, shape (N,)
        Time [s], not decreasing.
    q : ndarray, shape (N, n)
        Joint positions [rad or m].
    tau : ndarray, shape (N, n)
        Torques that the drives apply to the links [N.m or N]: ``tau = M ddq + c + g + friction``.
    dq, ddq : ndarray, shape (N, n), optional
        Velocities and accelerations, measured or from `Processing`.
    tau_raw : ndarray, shape (N, n), optional
        The torques before filtering, at the same samples.
    mask : ndarray of bool, shape (N, n), optional
        Which torques count; all by default. A sample may count for some joints only.
    full : FullRate, optional
        What the columns of the regressor are filtered from, alike with the torques (see `Processing`).
    name : str
        For messages and figures.
    steps : tuple of str
        What was done to the recording, in order.
    notes : tuple of str
        What a reader of the result should know: clock jumps, dead channels, ...
    joints : tuple of str
        Names of the joints in the order of the columns, where the file has them; empty: not known.
    defects : tuple of Defect
        What processing found not to measure the motion, and what became of it, in the order of time.
    """

    t: Array
    q: Array
    tau: Array
    dq: Array | None = None
    ddq: Array | None = None
    tau_raw: Array | None = None
    mask: NDArray[np.bool_] | None = None
    full: FullRate | None = None
    name: str = "recording"
    steps: tuple[str, ...] = ()
    notes: tuple[str, ...] = field(default=())
    joints: tuple[str, ...] = ()
    defects: tuple[Defect, ...] = ()

    def __post_init__(self) -> None:
        t = np.array(self.t, dtype=float)
        if t.ndim != 1:
            raise DatasetError(f"{self.name}: time must have one entry a sample, got shape {t.shape}")
        if len(t) < FEWEST_SAMPLES:
            raise DatasetError(f"{self.name}: {len(t)} samples are too few; at least {FEWEST_SAMPLES} are needed")
        if not np.isfinite(t).all():
            raise DatasetError(f"{self.name}: time of sample {int(np.flatnonzero(~np.isfinite(t))[0])} is not finite")
        back = np.flatnonzero(np.diff(t) < 0)
        if len(back):
            raise DatasetError(
                f"{self.name}: time goes back by {t[back[0]] - t[back[0] + 1]:.6g} s after sample {back[0]} "
                f"({len(back)} such jumps); cut the recording there or read its parts one by one"
            )
        if t[0] == t[-1]:
            raise DatasetError(
                f"{self.name}: column t: the time is {t[0]:g} s in all {len(t)} samples; name the column that holds it "
                "(columns in a TOML beside the recording), or leave it out and give the sampling rate"
            )
        if np.abs(t).max() > LARGEST:
            raise DatasetError(
                f"{self.name}: time reaches {np.abs(t).max():.3g} s; give a time in seconds from the start"
            )
        _freeze(self, "t", t)
        n = np.shape(self.q)[1] if np.ndim(self.q) == 2 else -1
        if n == 0:
            raise DatasetError(f"{self.name}: it has no joint")
        for name in _JOINT_ARRAYS:
            given = getattr(self, name)
            if given is None:
                continue
            value = np.array(given, dtype=float)
            if value.shape != (len(t), n):
                turned = value.ndim == 2 and value.shape[1] == len(t) != value.shape[0]
                wanted = (len(t), value.shape[0] if turned and name == "q" else max(n, 1))
                hint = f": it is transposed, give {name}.T, one row a sample" if turned else ", as t and q have"
                raise DatasetError(f"{self.name}: {name} has shape {value.shape}; expected {wanted}{hint}")
            off = np.argwhere(~(np.abs(value) <= LARGEST))  # NaN is off too
            if len(off):
                sample, joint = off[0]
                wrong = value[sample, joint]
                fault = f"{wrong:.3g}, which no robot does" if np.isfinite(wrong) else "not a finite number"
                raise DatasetError(
                    f"{self.name}: {name} of joint {joint + 1}, sample {sample} is {fault} ({len(off)} in all that "
                    "are no number or too large); drop these samples first"
                )
            _freeze(self, name, value)
        if self.mask is not None:
            mask = np.array(self.mask, dtype=bool)
            if mask.shape != (len(t), n):
                raise DatasetError(f"{self.name}: mask has shape {mask.shape}; expected {(len(t), n)}")
            _freeze(self, "mask", mask)
        for name in ("steps", "notes", "joints", "defects"):
            object.__setattr__(self, name, tuple(getattr(self, name)))
        if self.joints and len(self.joints) != n:
            raise DatasetError(f"{self.name}: {len(self.joints)} joint names for {n} joints")

    def __len__(self) -> int:
        """Number of samples."""
        return len(self.t)

    def __repr__(self) -> str:
        held = ", ".join(name for name in (*_JOINT_ARRAYS, "mask") if getattr(self, name) is not None)
        seconds, rate = self.t[-1] - self.t[0], 1.0 / self.period
        return f"Dataset({self.name}: {len(self)} samples of {self.n} joints, {seconds:.4g} s at {rate:.4g} Hz; {held})"

    @property
    def n(self) -> int:
        """Number of joints."""
        return int(self.q.shape[1])

    @cached_property
    def counted(self) -> NDArray[np.bool_]:
        """Which torques count, shape (N, n): those of the mask, or all."""
        return np.ones(self.q.shape, dtype=bool) if self.mask is None else self.mask

    @property
    def period(self) -> float:
        """Median time between samples [s], repeated stamps left out."""
        steps = np.diff(self.t)
        return float(np.median(steps[steps > 0]))

    def rows(self, which: slice | ArrayLike, step: str) -> Dataset:
        """The samples ``which`` (a slice, indices or booleans), with a note of what was done."""
        index = which if isinstance(which, slice) else np.asarray(which)
        arrays = {k: getattr(self, k) for k in ("t", *_JOINT_ARRAYS, "mask")}
        cut: dict[str, Any] = {k: None if value is None else value[index] for k, value in arrays.items()}
        full = None if self.full is None else self.full.rows(index)
        return replace(self, **cut, full=full, steps=(*self.steps, step))

    def between(self, start: float, end: float = np.inf) -> Dataset:
        """Samples with ``start <= t < end`` [s]."""
        return self.rows((self.t >= start) & (self.t < end), f"kept {start:g} s <= t < {end:g} s")

    def columns(self, which: Sequence[int], step: str) -> Dataset:
        """The joints ``which`` (indices from 0), in that order, with a note of what was done."""
        arrays = {k: getattr(self, k) for k in (*_JOINT_ARRAYS, "mask")}
        cut: dict[str, Any] = {k: None if value is None else value[:, list(which)] for k, value in arrays.items()}
        joints = tuple(self.joints[k] for k in which) if self.joints else ()
        places = {k: place for place, k in enumerate(which)}
        of = [one for one in self.defects if one.joint is None or one.joint in places]
        defects = tuple(one if one.joint is None else replace(one, joint=places[one.joint]) for one in of)
        return replace(self, **cut, joints=joints, defects=defects, steps=(*self.steps, step))

    def only(self, joints: Sequence[int]) -> Dataset:
        """Count the torques of these joints only (indices from 0)."""
        mask = np.zeros(self.q.shape, dtype=bool)
        mask[:, list(joints)] = True
        mask &= self.counted
        names = ", ".join(str(k + 1) for k in joints)
        return replace(self, mask=mask, steps=(*self.steps, f"torques of joints {names} only"))

    def moving(self, speed: float) -> Dataset:
        """Drop the torques of a joint while it is slower than ``speed`` [rad/s].

        Friction at rest is not determined by the velocity; near-zero samples bias Coulomb friction.
        """
        if self.dq is None:
            raise DatasetError(f"{self.name}: motion and rest differ by velocities; process the recording first")
        mask = self.counted & (np.abs(self.dq) >= speed)
        return replace(self, mask=mask, steps=(*self.steps, f"dropped torques of joints slower than {speed:g} rad/s"))


def _freeze(dataset: Dataset, name: str, value: np.ndarray) -> None:
    value.setflags(write=False)
    object.__setattr__(dataset, name, value)
