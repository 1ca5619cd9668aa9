"""Defects put into simulated recordings: each is named, and the error stays that of the clean recording.

``python -m benchmarks.real.defects --quick`` in ``scripts/``: two robots.
"""

from __future__ import annotations

import argparse
from dataclasses import replace

import numpy as np

import casid
from benchmarks.measure import Measure
from casid.dynamics import Model
from casid.measurement import Dataset, Processing
from casid.regression import compress, wls
from casid.testing._synthetic import BODY, motion

TERMS = ("viscous", "coulomb", "offset")
ROBOTS = ("panda", "ur10e", "kuka_iiwa", "tx40", "puma560", "stanford", "three_link", "wam7")
QUICK = ("panda", "three_link")
KINDS = ("gap", "spike", "repeats", "saturation", "standstill")
SAMPLES, CUTOFF = 6000, 8.0
Array = np.ndarray


def clean(model: Model, seed: int) -> tuple[Dataset, Array]:
    """A recording with quantised positions and noisy torques, and its parameters."""
    rng = np.random.default_rng(seed)
    bodies = np.tile(BODY, model.n)
    truth = model.parameters(bodies, np.tile([2.0, 3.0, 0.5], model.n))
    t, q, dq, ddq = motion(model.n, SAMPLES, seed)
    tau = model.inverse_dynamics(q, dq, ddq, truth)
    tau = tau + 0.01 * tau.std(axis=0) * rng.normal(size=tau.shape)
    return Dataset(t, q + 1e-6 * rng.normal(size=q.shape), tau, name=model.robot.name), truth


def spoiled(data: Dataset, kind: str, seed: int) -> Dataset:
    """The recording with one kind of defect."""
    rng = np.random.default_rng((seed, KINDS.index(kind)))
    t, q, tau = (np.array(x) for x in (data.t, data.q, data.tau))
    middle = SAMPLES // 2
    if kind == "gap":
        kept = np.ones(len(t), dtype=bool)
        kept[middle : middle + 60] = False
        t, q, tau = t[kept], q[kept], tau[kept]
    elif kind == "spike":
        tau[middle, 0] += 5 * np.ptp(tau[:, 0])
        q[middle // 2] += 1.0
    elif kind == "repeats":
        q[middle : middle + 60], tau[middle : middle + 60] = q[middle], tau[middle]
    elif kind == "saturation":
        tau[:, 0] = np.clip(tau[:, 0], *np.quantile(tau[:, 0], [0.03, 0.97]))
    else:  # the motion stops for two seconds: friction there is what is left of it
        count = int(2.0 / data.period)
        where = int(rng.integers(SAMPLES // 4, SAMPLES // 2))
        rest = np.repeat([where], count)
        order = np.concatenate([np.arange(where), rest, np.arange(where, SAMPLES)])
        t = np.asarray(np.arange(len(order)) * data.period)
        q, tau = np.asarray(q[order] + 1e-6 * rng.normal(size=(len(order), data.n))), tau[order]
        tau[where : where + count] += rng.uniform(-3.0, 3.0, data.n)
    return Dataset(t, q, tau, name=data.name)


def error(model: Model, data: Dataset, truth: Array, test: Dataset) -> tuple[float, set[str]]:
    """Error of the fit's torques on a recording without noise [%], and the kinds of defects that were named."""
    ready = Processing(cutoff=CUTOFF).apply(data)
    beta = wls(compress(model, ready)).beta
    return compress(model, test).relative_errors(beta)[0], {one.kind for one in ready.defects}


def injected(robots: tuple[str, ...] = ROBOTS, seed: int = 3) -> tuple[str, bool]:
    """The row of the table."""
    texts, met = [], True
    worst: dict[str, float] = dict.fromkeys(KINDS, 0.0)
    missed = []
    for name in robots:
        model = Model(casid.load_robot(name), TERMS)
        data, truth = clean(model, seed)
        other, _ = clean(model, seed + 1)
        test = Processing(cutoff=CUTOFF).apply(replace(other, name="test"))
        best, false = error(model, data, truth, test)
        missed += [f"{name}: {kind} named in the clean one" for kind in false]
        for kind in KINDS:
            found, named = error(model, spoiled(data, kind, seed), truth, test)
            worst[kind] = max(worst[kind], found / best - 1)
            missed += [] if kind in named else [f"{name}: {kind} not named"]
    met = not missed and max(worst.values()) <= 0.1
    texts = [f"{kind} {100 * value:+.1f} %" for kind, value in worst.items()]
    return f"error against the clean recording's, worst of {len(robots)} robots: {', '.join(texts)}; " + (
        "; ".join(missed) or "each named"
    ), met


DEFECT_ROWS = (
    Measure("defects injected, 5 kinds, simulated robots", "error within 10 % of clean; each named", "8 x", injected),
)

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="two robots")
    print(*injected(QUICK if parser.parse_args().quick else ROBOTS))
