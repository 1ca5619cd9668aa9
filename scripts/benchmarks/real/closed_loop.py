"""Estimators on a robot under its controller, with noisy positions and no filter: a row of the table ``real``."""

from __future__ import annotations

from functools import cache

import numpy as np
from joblib import Parallel, delayed

import casid
from benchmarks.measure import Measure
from benchmarks.real.simulated import POSITION_NOISE, TORQUE_NOISE, fourier, nominal
from casid.arrays import Array
from casid.control import PD
from casid.dynamics import Model
from casid.dynamics.terms import friction_terms
from casid.measurement import Dataset, Processing
from casid.regression.estimators import (
    OLS,
    ClosedLoop,
    InstrumentalVariables,
    Observations,
    OutputError,
)

RUNS, PERIOD = 100, 1e-3
FRICTION = {
    "fv": [8.05, 5.53, 1.97, 1.11, 1.86, 0.65],
    "fc": [7.14, 8.26, 6.34, 2.48, 3.03, 0.28],
    "fo": [0.5, -0.3, 0.2, 0.1, -0.1, 0.05],
    "Ia": [0.37, 0.37, 0.12, 0.09, 0.09, 0.05],
}
#: A held torque belongs to the middle of its interval.
PROCESSING = Processing(cutoff=None, trim=0.3, every=1, delay=-PERIOD / 2)


@cache
def _machine() -> tuple[ClosedLoop, Array, Dataset]:
    """Robot and controller, the true base parameters, and their motion."""
    robot = casid.load_robot("tx40")
    model = Model(robot, ("rotor", *friction_terms("smooth", [[0.05]] * 6)))
    terms = [FRICTION[term.symbol][k] for _, (term, k) in sorted(model.term_columns.items())]
    exact = np.asarray(model.base.values(model.parameters(nominal(robot), terms)))
    reference = fourier(6, np.arange(0, 8, PERIOD), 0.25, 5, 2 / np.sqrt(5))
    w, inertia = 2 * np.pi * 8, np.array([2.5, 2.5, 0.6, 0.15, 0.12, 0.06])
    controller = PD((inertia * w**2).tolist(), (inertia * 2 * w).tolist())
    loop = ClosedLoop(model, controller, *reference, PERIOD)
    return loop, exact, loop.simulate(exact)


def _instruments(beta: Array) -> list[Dataset]:
    made = _machine()[0].simulate(beta)
    return [PROCESSING.apply(Dataset(made.t, made.q, made.tau))]


def _run(seed: int) -> dict[str, tuple[Array, Array]]:
    """Estimates and their deviations by each method, of one noisy recording."""
    loop, _, true = _machine()
    rng = np.random.default_rng(seed)
    spread = rng.uniform(*POSITION_NOISE, 6)
    q = true.q + spread * rng.normal(size=true.q.shape)
    noisy = Dataset(true.t, q, true.tau + TORQUE_NOISE * rng.normal(size=q.shape))
    data = Observations(loop.model, PROCESSING.apply(noisy))
    estimators = OLS(), InstrumentalVariables(_instruments), OutputError(loop, q)
    return {fit.method: (fit.beta, fit.sd) for fit in (one.fit(data) for one in estimators)}


def closed_loop(runs: int = RUNS, jobs: int = 2) -> tuple[str, bool]:
    """Bias and coverage over many runs, spread over processes."""
    made = Parallel(n_jobs=jobs)(delayed(_run)(seed) for seed in range(runs))
    exact = _machine()[1]
    bias, inside = {}, {}
    for name in made[0]:
        beta, sd = (np.array([run[name][i] for run in made]) for i in (0, 1))
        bias[name] = float(np.abs((beta.mean(axis=0) - exact) / np.median(sd, axis=0)).max())
        inside[name] = 100 * float(np.mean(np.abs((beta - exact) / sd) < 1.96))
    text = "; ".join(f"{k}: largest bias {bias[k]:.2f} sd, intervals hold {inside[k]:.1f} %" for k in bias)
    good = all(bias[name] < 2 and 93 <= inside[name] <= 97 for name in ("IDIM-IV", "CLOE"))
    return f"{text}; {runs} runs", good and bias["OLS"] > 2


CLOSED_LOOP_ROWS = (
    Measure(
        "TX40 in closed loop, noise of BIRDy, no filter: bias and intervals", "IV, CLOE < 2 sd < OLS; 93-97 %", "-",
        closed_loop,
    ),
)  # fmt: skip
