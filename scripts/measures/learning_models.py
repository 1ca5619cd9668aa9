"""Rows: learnt models beside the certified solve, on other motions, with noise, on real recordings."""

from __future__ import annotations

import numpy as np

from casid.codegen import evaluate_batch
from casid.dynamics import Model
from casid.identification import feasible_regression
from casid.inertia.parametrisations import PARAMETRISATIONS
from casid.learning import Chart, NaturalGradient, TorqueLoss, train
from casid.measurement import Dataset
from casid.regression import compress, wls
from measures.learning_data import dataset, iiwa, sines
from measures.measure import Measure, need
from measures.recordings import panda, panda_model

NETWORK_EPOCHS = 60


def _baselines(friction: bool) -> list[object]:
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
    from baselines.contract import Motion

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
        baseline.fit(motion(train_on), seed=0)  # type: ignore[attr-defined]
        scores[baseline.name] = score(baseline.predict(motion(test_on)))  # type: ignore[attr-defined]
    columns = [*np.ravel(model.link_columns), *sorted(model.term_columns)]
    for name, kind in PARAMETRISATIONS.items():
        if not kind.symmetric:
            continue  # an inertia that is not symmetric has no place in the simulator's inverse dynamics
        loss, chart = TorqueLoss(model, train_on), Chart(model, kind)
        run = train(loss, chart, NaturalGradient(), epochs=60, seed=0)
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


def robustness() -> tuple[str, bool]:
    """Train at 1 x speed with noise and a share of the data, test at twice the speed."""
    model = iiwa()
    test = dataset(sines(speed=2.0, duration=60.0))
    table = {}
    for noise, share in ((0.0, 1.0), (0.1, 0.1), (1.0, 1.0), (1.0, 0.1)):
        data = dataset(sines(noise=noise, duration=60.0))
        part = data.rows(slice(0, int(share * len(data))), "share")
        table[f"{noise:g} N m, {share:.0%} of 60 s"] = _scores(model, part, test, False)
    return _verdict(table)


def recordings() -> tuple[str, bool]:
    """Panda: first 14 s, then the rest."""
    data = panda()
    first, second = data.rows(data.t < 14.0, "t < 14 s"), data.rows(data.t >= 14.0, "t >= 14 s")
    return _verdict({"Panda": _scores(panda_model(), first, second, True)})


ROWS = [
    Measure("robustness: share of the data, torque noise, test at twice the speed (mean NMSE over joints)",
            "casid best or within 2 % in every cell", "-", robustness),
    Measure("real recording: Panda t < 14 s -> t >= 14 s (mean NMSE over joints)", "casid best or within 2 %",
            "Table 2: real iiwa NMSE 0.35", recordings),
]  # fmt: skip
