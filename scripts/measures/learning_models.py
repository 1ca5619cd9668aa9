"""Rows: learnt models beside the certified solve, on other motions, with noise, on real recordings."""

from __future__ import annotations

from functools import partial

import numpy as np
from baselines.contract import Baseline, Motion
from joblib import Parallel, delayed

from casid.codegen import evaluate_batch
from casid.dynamics import Model
from casid.identification import feasible_regression
from casid.inertia.parametrisations import PARAMETRISATIONS
from casid.learning import Chart, GaussNewton, NaturalGradient, TorqueLoss, train
from casid.measurement import Dataset
from casid.regression import compress, wls
from measures.learning_data import dataset, iiwa, sines
from measures.measure import Measure, need
from measures.real_regression import ur10e_recording
from measures.recordings import panda, panda_model, rokae, ur10e

#: Budget of every network, on at most so many samples, evenly taken from the training motion.
NETWORK_EPOCHS, NETWORK_SAMPLES = 60, 3000
CELLS = tuple((noise, share) for noise in (0.0, 0.1, 0.3, 1.0) for share in (1.0, 0.1))


def _baselines(friction: bool) -> list[Baseline]:
    need("jax", "learning")
    need("optax", "learning")
    from baselines import delan, mlp

    tuned = mlp.tuned()
    tuned.epochs = NETWORK_EPOCHS
    return [
        mlp.MLP(epochs=NETWORK_EPOCHS),
        tuned,
        delan.DeLaN(epochs=NETWORK_EPOCHS, damping=friction),
        delan.DeLaN("DeLaN black box", False, epochs=NETWORK_EPOCHS, damping=friction),
    ]


def _scores(model: Model, train_on: Dataset, test_on: Dataset, friction: bool) -> dict[str, float]:
    """Mean NMSE over the joints on the test motion, of every model."""

    def motion(d: Dataset) -> Motion:
        assert d.dq is not None and d.ddq is not None
        return Motion(d.q, d.dq, d.ddq, d.tau)

    variance = test_on.tau.var(axis=0)

    def score(tau: np.ndarray) -> float:
        return float((((tau - test_on.tau) ** 2).mean(axis=0) / variance).mean())

    assert test_on.dq is not None and test_on.ddq is not None
    velocity, acceleration = test_on.dq, test_on.ddq

    def torques(pi: np.ndarray) -> np.ndarray:
        return np.asarray(
            evaluate_batch(model.inverse_dynamics, test_on.q, velocity, acceleration, pi)
        )[..., 0]  # fmt: skip

    scores: dict[str, float] = {}
    for baseline in _baselines(friction):
        baseline.fit(motion(train_on).rows(slice(None, None, -(-len(train_on) // NETWORK_SAMPLES))), seed=0)
        scores[baseline.name] = score(baseline.predict(motion(test_on)))
    columns = [*np.ravel(model.link_columns), *sorted(model.term_columns)]
    loss = TorqueLoss(model, train_on)
    for name, kind in PARAMETRISATIONS.items():
        if not kind.symmetric:
            continue  # an inertia that is not symmetric has no place in the simulator's inverse dynamics
        chart, optimisers = Chart(model, kind), (NaturalGradient(steps=5), GaussNewton(steps=5))
        runs = [train(loss, chart, optimiser, epochs=60, seed=0) for optimiser in optimisers]
        run = min(runs, key=lambda run: run.epochs[-1].loss)
        pi = np.zeros(len(columns))
        pi[columns] = run.parameters
        scores[name] = score(torques(pi))
    certified = feasible_regression(wls(compress(model, train_on), weights=1 / train_on.tau.std(axis=0)))
    scores["casid"] = score(torques(certified.parameters))
    return scores


def _verdict(table: dict[str, dict[str, float]]) -> tuple[str, bool]:
    ok = all(row["casid"] <= 1.02 * min(row.values()) + 1e-9 for row in table.values())
    text = "; ".join(f"{cell}: " + ", ".join(f"{m} {v:.3g}" for m, v in row.items()) for cell, row in table.items())
    return text, ok


def _cell(noise: float, share: float) -> dict[str, float]:
    data = dataset(sines(noise=noise, duration=60.0))
    return _scores(
        iiwa(), data.rows(slice(0, int(share * len(data))), "share"), dataset(sines(2.0, duration=60.0)), False
    )


def robustness(cells: tuple[tuple[float, float], ...] = CELLS) -> tuple[str, bool]:
    """Train at 1 x speed with noise and a share of the data, test at twice the speed."""
    found = Parallel(n_jobs=2)(delayed(_cell)(*cell) for cell in cells)
    names = (f"{noise:g} N m, {share:.0%} of 60 s" for noise, share in cells)
    return _verdict(dict(zip(names, found, strict=True)))


def _halves(name: str) -> dict[str, float]:
    if name == "Panda":
        model, data = panda_model(), panda()
        first, second = data.rows(data.t < 14.0, "t < 14 s"), data.rows(data.t >= 14.0, "t >= 14 s")
    elif name == "UR10e":
        model, first, second = ur10e()[0], *(ur10e_recording(which) for which in ("30sec_12harm", "40sec_12harm"))
    else:
        model, (data,) = rokae()
        middle = data.t[len(data) // 2]
        first, second = data.rows(data.t < middle, "first half"), data.rows(data.t >= middle, "second half")
    return _scores(model, first, second, True)


def recordings(names: tuple[str, ...] = ("Panda", "UR10e", "Rokae")) -> tuple[str, bool]:
    """Train on one part or motion, test on another."""
    found = Parallel(n_jobs=2)(delayed(_halves)(name) for name in names)
    return _verdict(dict(zip(names, found, strict=True)))


ROWS = [
    Measure("robustness: share of the data, torque noise, test at twice the speed (mean NMSE over joints)",
            "casid best or within 2 % in every cell", "-", robustness,
            partial(robustness, ((0.0, 1.0), (1.0, 0.1))), "six of eight cells"),
    Measure("real recordings: Panda t < 14 s -> t >= 14 s, UR10e 30 s -> 40 s, Rokae halves (mean NMSE over joints)",
            "casid best or within 2 %", "Table 2: real iiwa NMSE 0.35", recordings,
            partial(recordings, ("Panda",)), "UR10e, Rokae"),
]  # fmt: skip
