"""CMA-ES with PACE's parameters, bounds and score, on the free runs of casid: what people use today.

Parameters of each joint: armature, damping, friction, encoder bias; one delay; the gain too where it is unknown. Score:
mean square of measured minus simulated positions. Bounds of the source repository of the Go2's recording.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from benchmarks.encoders.data import Bench
from benchmarks.measure import need
from benchmarks.results import digest, measured
from casid.drives import FreeRuns
from casid.drives._runs import Point

#: Lower and upper bounds by attribute, of others casid's own; the gain's in decades.
BOUNDS = {
    "armature": (1e-5, 1.0),
    "viscous": (0.0, 7.0),
    "coulomb": (0.0, 1.0),
    "bias": (-0.1, 0.1),
    "kp": (0.0, 2.0),
    "back_emf": (0.0, 7.0),
}

#: What a run exercises: one that was kept counts while these are unchanged.
EXERCISED = (
    *(f"casid/drives/{name}.py" for name in ("_law", "_loop", "_rollout", "_runs", "_servo")),
    "scripts/benchmarks/encoders/cma_es.py",
    "scripts/benchmarks/encoders/data.py",
)


def kept_fit(bench: Bench, seed: int, rollouts: int) -> dict[str, Any]:
    """`fitted`, or what an earlier run of this state of the code has kept of it: a seed is a piece of the row."""
    need("cma", "encoders")
    part = f"{bench.name}, seed {seed}, {rollouts} runs"
    return measured("cma_es", digest(*EXERCISED), {part: partial(fitted, bench, seed, rollouts)}, 1.0, jobs=1)[part]


def fitted(bench: Bench, seed: int, rollouts: int, steps: float = 5.0) -> dict[str, Any]:
    """Best of one run from the middle of the bounds: error on training and held-out motions [rad].

    Parameters
    ----------
    steps
        Largest delay in samples.
    """
    cma = need("cma", "encoders")
    runs = FreeRuns(bench.robot, bench.servo, bench.train, threads=1, longest=10.0)
    bounds = []
    for p in runs.parameters:
        span = (0.0, steps * runs.period) if p.attribute == "delay" else BOUNDS.get(p.attribute, (p.lower, p.upper))
        span = (np.log10(p.lower), np.log10(min(p.upper, 100.0))) if p.attribute == "kp" and p.lower < 1e-3 else span
        bounds.append(span)
    low, high = np.array(bounds).T
    gain = np.array([p.attribute == "kp" for p in runs.parameters])
    bias = [i for i, p in enumerate(runs.parameters) if p.attribute == "bias"]

    def theta_of(x: np.ndarray) -> np.ndarray:
        theta = low + (high - low) * np.clip(x, 0.0, 1.0)
        return np.asarray(np.where(gain, 10.0**theta, theta))

    def errors(x: np.ndarray, of: FreeRuns) -> float:
        """An encoder that shows q + b: the servo follows u - b, and b is added to what it shows."""
        theta = theta_of(x)
        b = theta[bias].copy()
        theta[bias] = -b
        starts = [piece.start - np.pad(b, (0, len(piece.start) - len(b))) for piece in of.pieces]
        shown = of.simulate(Point(theta, starts))
        squares = [((piece.measured - q - b) ** 2).sum() for piece, q in zip(of.pieces, shown, strict=True)]
        return float(sum(squares) / sum(piece.measured.size for piece in of.pieces))

    options = {"seed": seed + 1, "maxfevals": rollouts, "bounds": [0.0, 1.0], "verbose": -9, "verb_log": 0}
    search = cma.CMAEvolutionStrategy(np.full(len(low), 0.5), 0.25, options)
    count = 0
    while not search.stop() and count < rollouts:
        asked = search.ask()
        search.tell(asked, [errors(np.asarray(x), runs) for x in asked])
        count += len(asked)
    best = np.asarray(search.result.xbest)
    held = runs.of(bench.test)
    return {
        "train": float(np.sqrt(errors(best, runs))),
        "test": float(np.sqrt(errors(best, held))),
        "rollouts": count,
        "theta": theta_of(best).tolist(),
    }
