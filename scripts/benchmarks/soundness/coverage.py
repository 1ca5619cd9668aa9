"""How often stated intervals hold the truth: loads, on-line estimates, identification. A row of ``soundness``."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from joblib import Parallel, delayed

from benchmarks.measure import Rows
from benchmarks.real import loads as loads
from benchmarks.recordings import arrays
from casid.inertia import to_standard
from casid.measurement import Dataset, Processing
from casid.online import Online, OnlineLoad, TorqueErrors
from casid.regression import compress, wls

row = Rows()

RUNS = loads.RUNS
_SECONDS, _CORRELATION = 20.0, 0.9
#: Standard deviation of the encoders [rad], and the rate that identified recordings have [1/s].
_ENCODER, _RATE = 2e-5, 100
Run = Callable[[int], list[bool]]


def _identified(correlation: float, run: int) -> list[bool]:
    """Raw positions and torques through the default processing and weighted least squares: base parameters."""
    model, truth = loads.arm()
    rng = np.random.default_rng([31, run])
    clean = loads.recorded(truth, _SECONDS, run, loads.Condition("identified", correlation=correlation), _RATE)
    data = Processing().apply(Dataset(clean.t, clean.q + _ENCODER * rng.normal(size=clean.q.shape), clean.tau))
    fit = wls(compress(model, data))
    return list(np.abs(fit.beta - model.base.values(truth)) <= 1.96 * fit.sd)


def _recursive(run: int) -> list[bool]:
    """The on-line estimator of the whole robot: base parameters."""
    model, truth = loads.arm()
    data = loads.recorded(truth, _SECONDS, run, loads.Condition("on line"))
    online = Online(model, np.full(model.n, 1 / loads.NOISE))
    online.update(*arrays(data), data.t)
    low, high = online.estimate().intervals.T
    exact = model.base.values(truth)
    return list((low <= exact) & (exact <= high))


def _load_on_line(run: int) -> list[bool]:
    """The on-line estimator of a load, noise that is correlated from sample to sample: its mass."""
    model, truth = loads.arm()
    mass = float(np.random.default_rng([33, run]).uniform(0.5, 3.0))
    x = truth.copy()
    x[np.asarray(model.link_columns[-1])] += to_standard(mass, [0.3, 0.0, 0.0], 0.004 * mass * np.eye(3))
    data = loads.recorded(x, _SECONDS, run, loads.Condition("on line", correlation=_CORRELATION))
    errors = TorqueErrors(correlation=_CORRELATION)
    body = to_standard(1.0, [0.2, 0.0, 0.0], 0.01 * np.eye(3))
    online = OnlineLoad(model, truth, np.full(model.n, 1 / loads.NOISE), body, errors=errors)
    online.update(*arrays(data), data.t)
    low, high = online.estimate().interval
    return [low <= mass <= high]


CONDITIONS: tuple[tuple[str, Run], ...] = (
    ("identification, white noise", partial(_identified, 0.0)),
    ("identification, correlated noise", partial(_identified, _CORRELATION)),
    ("on line, whole robot", _recursive),
    ("on line, load, correlated noise", _load_on_line),
)


@row(
     f"coverage of payload, on-line and identify intervals, {len(CONDITIONS) + len(loads.CONDITIONS)} conditions, "
        f"{RUNS} runs each",
     "95 % +- 3", "35-100 %", quick=(20,), left_out=f"{RUNS - 20} of {RUNS} runs")  # fmt: skip
def coverage(runs: int = RUNS, jobs: int = 2) -> tuple[str, bool]:
    """All conditions: shares of intervals that hold the truth, both sides, each condition for itself."""
    text, met = loads.coverage(runs, jobs)
    texts = [text]
    for name, one in CONDITIONS:
        held = Parallel(n_jobs=jobs)(delayed(one)(run) for run in range(runs))
        share = 100 * float(np.mean(held))
        texts.append(f"{name}: {share:.1f} % of {np.size(held)}")
        met = met and 92.0 <= share <= 98.0
    return "; ".join(texts), met
