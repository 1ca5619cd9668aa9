"""The momentum observer on real recordings: a push on the UR10e, beside everything it moved freely."""

from __future__ import annotations

from functools import cache

import casadi as ca
import numpy as np
from scipy.signal import butter, filtfilt

import casid
from benchmarks.measure import Measure, data_folder
from benchmarks.recordings import UR_GAINS
from casid.dynamics import momentum_observer
from casid.identification import Checks, Choice, ModelOptions, identify
from casid.measurement import Processing, read_dataset

#: Gain of the observer [1/s]; margin over what the recordings of the fit show; seconds that a motion is remembered.
_GAIN, _MARGIN, _MEMORY = 60.0, 1.5, 0.5
#: Slower than this [rad/s] the robot counts as standing.
_STILL = 0.02
#: Recordings that the model is fitted on, and those that set the thresholds; all others are new to both.
_TRAINING = ("ur-20_02_10-30sec_12harm", "ur-20_02_12-40sec_12harm")
_CALIBRATION = (
    *(f"identification_data/{name}" for name in (*_TRAINING, "ur-20_02_05-20sec_8harm")),
    *(f"jointwise_motion/ur-20_01_22-joint_{k}" for k in range(1, 7)),
    *(f"validation_data/ur-20_01_17-p{k}" for k in (1, 3, 5)),
)
_LOADED = "ur-20_02_19_14harm50secLoad"  # carries a load: not free


def _arrays(path: str) -> tuple[np.ndarray, ...]:
    with np.load(data_folder() / "ur10e" / f"{path}.npz") as file:
        return file["t"] - file["t"][0], file["q"], file["dq"], file["i"] * np.array(UR_GAINS)


@cache
def _observer() -> tuple[ca.Function, ca.Function]:
    """The observer of a model identified on two free motions."""
    folder = data_folder() / "ur10e" / "identification_data"
    data = [read_dataset(folder / f"{name}.npz", columns={"tau": "i"}, gains=UR_GAINS) for name in _TRAINING]
    robot = casid.load_robot("ur10e")
    found = identify(
        robot,
        data,
        processing=Processing(cutoff=7.5, rate=None),
        model=ModelOptions(terms=("viscous", "coulomb", "offset", "rotor"), velocity_deadband=0.01),
        choice=Choice(believable=False),
        checks=Checks(folds=0),
    )
    return momentum_observer(found.model, found.parameters, _GAIN)


def residuals(t: np.ndarray, q: np.ndarray, dq: np.ndarray, tau: np.ndarray) -> np.ndarray:
    """The observer's residual at every sample, shape (N, n), in one call."""
    start, step = _observer()
    n = q.shape[1]
    names = ["q", "dq", "tau", "dt"]
    q_, dq_, tau_, state = (ca.SX.sym(name, n) for name in ("q", "dq", "tau", "state"))
    dt = ca.SX.sym("dt")
    r, following = step(q_, dq_, tau_, state, dt)
    fold = ca.Function("fold", [state, q_, dq_, tau_, dt], [following, r], ["state", *names], ["next", "r"])
    steps = np.diff(t, prepend=t[0])
    initial = start(q[0], dq[0])
    _, found = fold.mapaccum("run", len(t))(initial, q.T, dq.T, tau.T, steps[None])
    values: np.ndarray = np.asarray(found.full(), dtype=float).T
    return values


def _lasting(residual: np.ndarray) -> np.ndarray:
    """What two samples in a row have in common: a single spike is none, the rest keeps its size."""
    before = np.vstack([np.zeros(residual.shape[1]), residual[:-1]])
    common: np.ndarray = np.where(np.sign(before) == np.sign(residual), np.minimum(abs(before), abs(residual)), 0.0)
    return common


def _speed(t: np.ndarray, dq: np.ndarray) -> np.ndarray:
    """The fastest joint's speed, remembered with an exponential decay: models are worst while and after moving."""
    grown = np.exp(t / _MEMORY)
    found: np.ndarray = np.maximum.accumulate(np.abs(dq).max(axis=1) * grown) / grown
    return found


@cache
def _watched(name: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Times, lasting residuals and remembered speeds of a recording."""
    t, q, dq, tau = _arrays(name)
    return t, _lasting(residuals(t, q, dq, tau)), _speed(t, dq)


@cache
def _calibration() -> tuple[np.ndarray, np.ndarray]:
    """Threshold standing still, and its growth with the speed: the largest that the calibration shows."""
    seen = [_watched(name) for name in _CALIBRATION]
    still = np.max([r[v < _STILL].max(axis=0, initial=0.0) for _, r, v in seen], axis=0)
    growth = [np.maximum(r - still, 0)[v >= _STILL] / v[v >= _STILL, None] for _, r, v in seen]
    return still, np.max([slope.max(axis=0, initial=0.0) for slope in growth], axis=0)


def _share(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Times, and the largest joint's residual as a share of its threshold."""
    still, growth = _calibration()
    t, r, v = _watched(name)
    return t, (r / (_MARGIN * (still + growth * v[:, None]))).max(axis=1)


def _free() -> list[str]:
    root = data_folder() / "ur10e"
    files = [path for folder in ("identification_data", "jointwise_motion", "validation_data")
             for path in sorted((root / folder).glob("*.npz"))]  # fmt: skip
    return [f"{path.parent.name}/{path.stem}" for path in files if path.stem != _LOADED]


def _push() -> tuple[str, bool]:
    name = "collision/ur-20_01_22-push_pose_1"
    t, share = _share(name)
    # the oracle sees the whole recording: torque less that of the quiet first second, zero-phase at 10 Hz
    tau = _arrays(name)[3]
    b, a = butter(3, 10.0 / (0.5 / np.median(np.diff(t))))
    external = np.abs(filtfilt(b, a, tau - np.median(tau[t < 1.0], axis=0), axis=0))
    outside = (external > _MARGIN * _calibration()[0]).any(axis=1)
    if not (share > 1).any() or not outside.any():
        return "no push seen", False
    seen, onset = t[np.argmax(share > 1)], t[np.argmax(outside)]
    noise = 5 * external[t < 1.0].max(axis=0)
    first = t[np.argmax((external > noise).any(axis=1))]
    shares = {free: float(_share(free)[1].max()) for free in _free()}
    false = [free for free, worst in shares.items() if worst > 1]
    nearest = max(shares, key=lambda free: shares[free])
    new = sum(free not in _CALIBRATION for free in shares)
    return (
        f"seen at {seen:.2f} s, {1e3 * (seen - onset):.0f} ms after the oracle passes the thresholds "
        f"({1e3 * (seen - first):.0f} ms after it leaves the noise); {len(false)} of {len(shares)} free recordings "
        f"alarm ({new} of the {len(shares)} are new to model and thresholds); nearest {nearest.rpartition('/')[2]} at "
        f"{100 * shares[nearest]:.0f} %",
        bool(abs(seen - onset) <= 0.05 and not false),
    )


ROWS = [
    Measure(
        "collision observer on the UR10e's push recording", "push within 50 ms of an oracle, 0 false alarms",
        "De Luca and Mattone 2003; oracle: zero-phase torques", _push,
    )
]  # fmt: skip
