"""Rows: learnt models beside casid, on other motions, with noise, on real recordings.

What casid stands for in both rows is one recipe: friction chosen on the training data (recordings), weights from the
residual, and of all bodies those that explain the data best with a small price on implausible ones (`Online`'s estimate
of all samples at once; plausible are boxes around the skeleton, known from the kinematics alone), with its certificate.
Where the data leave no error there is no noise to weigh plausibility with: the certified best fit itself.
``python scripts/measures/learning_models.py PICTURE.png`` draws the first row.
"""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path

import numpy as np
from joblib import Parallel, delayed

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from baselines.contract import Baseline, Motion

from casid.dynamics import Model
from casid.identification import feasible_regression
from casid.identification.online import Plausible, entropic_fit
from casid.inertia.parametrisations import PARAMETRISATIONS
from casid.learning import Chart, GaussNewton, TorqueLoss, train
from casid.measurement import Dataset
from casid.regression import choose_friction, compress, wls
from casid.regression.observation import torques
from casid.report.style import INK, MUTED, new_figure, set_title, tidy
from measures.learning_data import dataset, iiwa, sines
from measures.measure import Measure, need
from measures.real_regression import ur10e_recording
from measures.recordings import FRICTION, panda, panda_model, rokae, ur10e

#: Budget of every network, on at most so many samples, evenly taken from the training motion.
NETWORK_EPOCHS, NETWORK_SAMPLES = 60, 3000
#: Relative residual below which data count as free of noise; plausible size of friction [N.m], [N.m.s/rad].
EXACT, TERM = 1e-9, 10.0
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


def _casid(model: Model, data: Dataset, friction: bool) -> tuple[Model, np.ndarray]:
    """The recipe above: the model with the friction that it chose, and its parameters."""
    if friction:
        terms = sorted({term.name for term, _ in model.term_columns.values()} - set(FRICTION))
        choice = choose_friction(Model(model.robot, terms, model.gravity_vector), data)
        model, fit = choice.model, choice.fit
    else:
        scale = data.tau.std(axis=0)
        fit = wls(compress(model, data), weights=1 / scale)
        if fit.objective <= EXACT**2 * fit.data.counts.sum():
            return model, feasible_regression(fit, constraints=None).parameters
        fit = wls(fit.data)
    return model, entropic_fit(fit, Plausible.of(model, nominal=False, term=TERM)).parameters.values


def _scores(model: Model, train_on: Dataset, test_on: Dataset, friction: bool) -> dict[str, float]:
    """Mean NMSE over the joints on the test motion, of every model."""

    def motion(d: Dataset) -> Motion:
        assert d.dq is not None and d.ddq is not None
        return Motion(d.q, d.dq, d.ddq, d.tau)

    variance = test_on.tau.var(axis=0)

    def score(tau: np.ndarray) -> float:
        return float((((tau - test_on.tau) ** 2).mean(axis=0) / variance).mean())

    scores: dict[str, float] = {}
    for baseline in _baselines(friction):
        baseline.fit(motion(train_on).rows(slice(None, None, -(-len(train_on) // NETWORK_SAMPLES))), seed=0)
        scores[baseline.name] = score(baseline.predict(motion(test_on)))
    columns = [*np.ravel(model.link_columns), *sorted(model.term_columns)]
    loss = TorqueLoss(model, train_on)
    for name, kind in PARAMETRISATIONS.items():
        if not kind.symmetric:
            continue  # an inertia that is not symmetric has no place in the simulator's inverse dynamics
        run = train(loss, Chart(model, kind), GaussNewton(steps=5), epochs=60, seed=0)
        pi = np.zeros(len(columns))
        pi[columns] = run.parameters
        scores[name] = score(torques(model, pi, test_on))
    certified = feasible_regression(wls(compress(model, train_on), weights=1 / train_on.tau.std(axis=0)))
    scores["limit of the ladder"] = score(torques(model, certified.parameters, test_on))
    found, parameters = _casid(model, train_on, friction)
    scores["casid"] = score(torques(found, parameters, test_on))
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


def _cells(cells: tuple[tuple[float, float], ...]) -> dict[tuple[float, float], dict[str, float]]:
    return dict(zip(cells, Parallel(n_jobs=2)(delayed(_cell)(*cell) for cell in cells), strict=True))


def _named(table: dict[tuple[float, float], dict[str, float]]) -> tuple[str, bool]:
    return _verdict({f"{noise:g} N m, {share:.0%} of 60 s": row for (noise, share), row in table.items()})


def robustness(cells: tuple[tuple[float, float], ...] = CELLS) -> tuple[str, bool]:
    """Train at 1 x speed with noise and a share of the data, test at twice the speed."""
    return _named(_cells(cells))


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


def main(picture: str) -> None:
    """Draw and print the robustness row."""
    table = _cells(CELLS)
    figure = new_figure(11.0, 4.6)
    set_title(figure, "Trained on 60 s of slow sines, tested at twice the speed")
    noises = sorted({noise for noise, _ in table})
    for axes, share in zip(figure.subplots(1, 2, sharey=True), (1.0, 0.1), strict=True):
        for name in next(iter(table.values())):
            errors = [max(table[noise, share][name], 1e-6) for noise in noises]
            own = name == "casid"
            axes.semilogy(
                range(len(noises)), errors, label=name, color=INK if own else None, linewidth=2.6 if own else 1.2,
                linestyle="-" if own or name in PARAMETRISATIONS else "--", marker="o" if own else None,
            )  # fmt: skip
        axes.axhline(1.0, color=MUTED, linewidth=0.8)
        axes.set_xticks(range(len(noises)), [f"{noise:g}" for noise in noises])
        axes.set(xlabel="torque noise [N m]", title=f"{share:.0%} of the data")
        tidy(axes)
    figure.axes[0].set_ylabel("NMSE, mean of the joints (less than 1e-6: 1e-6)")
    figure.axes[1].legend(frameon=False, fontsize=8, loc="center left", bbox_to_anchor=(1.0, 0.5))
    figure.savefig(picture)
    sys.stdout.write(f"{_named(table)}\n")


if __name__ == "__main__":
    main(sys.argv[1])
