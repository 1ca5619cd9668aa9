"""Rows: learnt models beside casid, on other motions, with noise, on real recordings.

What casid stands for in both rows is one recipe: friction chosen on the training data (recordings), weights from the
residual, and of all bodies those that explain the data best with a small price on implausible ones (`Online`'s estimate
of all samples at once; plausible are boxes around the skeleton, known from the kinematics alone), with its certificate.
Where the data leave no error there is no noise to weigh plausibility with: the certified best fit itself.
``python scripts/benchmarks/learning/models.py PICTURE.png`` draws the first row.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from baselines.contract import Motion
from joblib import Parallel, delayed
from scipy.spatial import cKDTree

from benchmarks.learning.data import dataset, iiwa, sines
from benchmarks.measure import Measure, need
from benchmarks.picture import write_picture
from benchmarks.real.regression import ur10e_recording
from benchmarks.recordings import FRICTION, panda, panda_model, rokae, ur10e
from casid.dynamics import Model
from casid.identification import feasible_regression
from casid.learning import Chart, GaussNewton, TorqueLoss, train
from casid.learning._parametrisations import PARAMETRISATIONS
from casid.measurement import Dataset
from casid.regression import choose_friction, compress, torques, wls
from casid.report import INK, MUTED, new_figure, set_title, tidy

if TYPE_CHECKING:  # needs jax
    from baselines.network import Network
from casid.online import entropic_fit
from casid.online._estimator import plausible_values

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))


#: Budget of every network: Adam steps on batches of 256, on at most so many samples, evenly taken from the motion.
NETWORK_STEPS, NETWORK_SAMPLES, NETWORK_BATCH = 4000, 3000, 256
NETWORKS = ("MLP", "MLP tuned", "DeLaN", "DeLaN black box")
#: Relative residual below which data count as free of noise; plausible size of friction [N.m], [N.m.s/rad].
EXACT, TERM = 1e-9, 10.0
CELLS = tuple((noise, share) for noise in (0.0, 0.1, 0.3, 1.0) for share in (1.0, 0.1))
#: Gauss-Newton on the ladder's rungs: steps a pass, passes at most.
STEPS, EPOCHS = 5, 60
#: Errors below are drawn there: exact models.
FLOOR = 1e-6
#: What a split is made of.
Key = tuple[Any, ...]
#: What stands behind the name of a rung that has casid's friction.
CHOSEN = ", chosen friction"


@dataclass(frozen=True, eq=False)
class Split:
    """What is trained on, and what is tested on; ``friction``: learn friction too."""

    model: Model
    train: Dataset
    test: Dataset
    friction: bool

    def score(self, tau: np.ndarray) -> float:
        """Mean NMSE over the joints on the test motion."""
        return float((((tau - self.test.tau) ** 2).mean(axis=0) / self.test.tau.var(axis=0)).mean())

    def novelty(self) -> float:
        """Median distance of a test sample (q, dq, ddq) to the nearest training sample, rms of deviations.

        Next to nothing where the test repeats the training motion: then errors say what a model remembers.
        """
        seen, asked = (np.hstack([m.q, m.dq, m.ddq]) for m in (_motion(self.train), _motion(self.test)))
        scale = seen.std(axis=0) * np.sqrt(seen.shape[1])
        return float(np.median(cKDTree(seen / scale).query(asked / scale)[0]))


def _network(name: str, friction: bool) -> Network:
    from baselines import delan, mlp

    made: dict[str, Callable[[], Network]] = {
        "MLP": mlp.MLP,
        "MLP tuned": mlp.tuned,
        "DeLaN": lambda: delan.DeLaN(damping=friction),
        "DeLaN black box": lambda: delan.DeLaN("DeLaN black box", False, damping=friction),
    }
    return made[name]()


def _motion(d: Dataset) -> Motion:
    assert d.dq is not None and d.ddq is not None
    return Motion(d.q, d.dq, d.ddq, d.tau)


def _network_scores(name: str, split_of: Callable[..., Split], keys: Sequence[Key]) -> list[float]:
    """Of one kind of network on all splits in one process: its programs are compiled once for each number of joints."""
    scores = []
    for key in keys:
        split = split_of(*key)
        part = _motion(split.train).rows(slice(None, None, -(-len(split.train) // NETWORK_SAMPLES)))
        network = _network(name, split.friction)
        network.epochs = -(-NETWORK_STEPS // max(1, len(part) * 9 // 10 // NETWORK_BATCH))
        network.fit(part, seed=0)
        scores.append(split.score(network.predict(_motion(split.test))))
    return scores


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
            return model, feasible_regression(fit, constraints=None).values
        fit = wls(fit.data)
    return model, entropic_fit(fit, plausible_values(model, nominal=False, term=TERM)).parameters.values


def _rungs(split: Split, model: Model, words: str = "") -> dict[str, float]:
    """Every rung that the simulator's inverse dynamics can take, trained out, and the certified limit of them all."""
    columns = [*np.ravel(model.link_columns), *sorted(model.term_columns)]
    loss, scores = TorqueLoss(model, split.train), {}
    for name, kind in PARAMETRISATIONS.items():
        if not kind.symmetric:
            continue  # an inertia that is not symmetric has no place in the simulator's inverse dynamics
        run = train(loss, Chart(model, kind), GaussNewton(steps=STEPS), epochs=EPOCHS, seed=0)
        pi = np.zeros(len(columns))
        pi[columns] = run.parameters
        scores[f"{name}{words}"] = split.score(torques(model, pi, split.test))
    certified = feasible_regression(wls(compress(model, split.train), weights=1 / split.train.tau.std(axis=0)))
    scores[f"limit of the ladder{words}"] = split.score(torques(model, certified.values, split.test))
    return scores


def _rigid_bodies(split_of: Callable[..., Split], key: Key) -> dict[str, float]:
    """The ladder with the friction of the recordings' models, with casid's friction where that is chosen, casid."""
    split = split_of(*key)
    found, parameters = _casid(split.model, split.train, split.friction)
    scores = _rungs(split, split.model)
    if split.friction:
        scores |= _rungs(split, found, CHOSEN)
    return scores | {"casid": split.score(torques(found, parameters, split.test))}


def _table(split_of: Callable[..., Split], keys: Sequence[Key]) -> list[dict[str, float]]:
    """Mean NMSE over the joints on the test motion, of every model on every split."""
    need("jax", "learning")
    need("optax", "learning")
    tasks = [delayed(_network_scores)(name, split_of, keys) for name in NETWORKS]
    found = Parallel(n_jobs=2)([*tasks, *(delayed(_rigid_bodies)(split_of, key) for key in keys)])
    networks, bodies = zip(*found[: len(NETWORKS)], strict=True), found[len(NETWORKS) :]
    return [dict(zip(NETWORKS, row, strict=True)) | own for row, own in zip(networks, bodies, strict=True)]


def _verdict(table: dict[str, dict[str, float]]) -> tuple[str, bool]:
    """Whether casid leads networks and ladder; the ladder with the friction that casid chose is printed beside."""
    ok, texts = True, []
    for cell, row in table.items():
        own = {name: error for name, error in row.items() if not name.endswith(CHOSEN)}
        ok = ok and own["casid"] <= 1.02 * min(own.values()) + 1e-9
        text = f"{cell}: " + ", ".join(f"{name} {error:.3g}" for name, error in own.items())
        if lent := [f"{name.removesuffix(CHOSEN)} {error:.3g}" for name, error in row.items() if name not in own]:
            text += f" (the ladder with the friction that casid chose: {', '.join(lent)})"
        texts.append(text)
    return "; ".join(texts), ok


def _cell(noise: float, share: float) -> Split:
    data = dataset(sines(noise=noise, duration=60.0))
    part = data.rows(slice(0, int(share * len(data))), "share")
    return Split(iiwa(), part, dataset(sines(2.0, duration=60.0)), False)


def _cells(cells: tuple[tuple[float, float], ...]) -> dict[tuple[float, float], dict[str, float]]:
    return dict(zip(cells, _table(_cell, cells), strict=True))


def _named(table: dict[tuple[float, float], dict[str, float]]) -> tuple[str, bool]:
    return _verdict({f"{noise:g} N m, {share:.0%} of 60 s": row for (noise, share), row in table.items()})


def robustness(cells: tuple[tuple[float, float], ...] = CELLS) -> tuple[str, bool]:
    """Train at 1 x speed with noise and a share of the data, test at twice the speed."""
    return _named(_cells(cells))


def _halves(name: str) -> Split:
    if name.startswith("Panda"):
        model, data = panda_model(), panda()
        if name == "Panda":  # the motion has a period of 13.33 s: the second part is the first once more
            first, second = data.rows(data.t < 14.0, "t < 14 s"), data.rows(data.t >= 14.0, "t >= 14 s")
        else:
            new = (data.t >= 7.5) & (data.t < 13.5)
            first, second = data.rows(data.t < 7.5, "t < 7.5 s"), data.rows(new, "7.5 s to 13.5 s")
    elif name == "UR10e":
        model, first, second = ur10e()[0], *(ur10e_recording(which) for which in ("30sec_12harm", "40sec_12harm"))
    else:
        model, (data,) = rokae()
        middle = data.t[len(data) // 2]
        first, second = data.rows(data.t < middle, "first half"), data.rows(data.t >= middle, "second half")
    return Split(model, _complete(first), _complete(second), True)


def _complete(data: Dataset) -> Dataset:
    """The samples of which no torque is masked: networks and losses of whole samples have no use for the others."""
    return data if data.mask is None else data.rows(data.mask.all(axis=1), "complete samples")


RECORDINGS = ("Panda", "Panda within its period", "UR10e", "Rokae")


def recorded_scores(names: tuple[str, ...] = RECORDINGS) -> dict[str, dict[str, float]]:
    """Mean NMSE over the joints of every model, trained on one part or motion of a recording, tested on another."""
    titles = [f"{name} (test motion {_halves(name).novelty():.2g} from what was seen)" for name in names]
    return dict(zip(titles, _table(_halves, [(name,) for name in names]), strict=True))


def recordings(names: tuple[str, ...] = RECORDINGS) -> tuple[str, bool]:
    """Train on one part or motion, test on another."""
    return _verdict(recorded_scores(names))


ROWS = [
    Measure("robustness: share of the data, torque noise, test at twice the speed (mean NMSE over joints)",
            "casid best or within 2 % in every cell", "-", robustness,
            partial(robustness, ((0.0, 1.0), (1.0, 0.1))), "six of eight cells"),
    Measure("real recordings: Panda t < 14 s -> t >= 14 s, within its period, UR10e 30 -> 40 s, Rokae halves (NMSE)",
            "casid best or within 2 %", "Table 2: real iiwa NMSE 0.35", recordings,
            partial(recordings, RECORDINGS[1:2]), "the Panda's repetition, UR10e, Rokae"),
]  # fmt: skip


def draw(table: dict[tuple[float, float], dict[str, float]], picture: str) -> None:
    """Errors over noise, one panel a share of the data: networks dashed, rungs of the ladder dotted, casid black."""
    figure = new_figure(10.0, 4.4)
    set_title(figure, "Trained on slow sines of the iiwa (60 s, or 6 s), tested at twice the speed")
    noises = sorted({noise for noise, _ in table})
    for axes, share in zip(figure.subplots(1, 2, sharey=True), (1.0, 0.1), strict=True):
        for name in next(iter(table.values())):
            errors = [max(table[noise, share][name], FLOOR) for noise in noises]
            own, rung = name == "casid", name in PARAMETRISATIONS
            axes.semilogy(
                range(len(noises)), errors, label=name, color=INK if own else None, linewidth=2.6 if own else 1.3,
                linestyle="-" if own else ":" if rung else "-." if name not in NETWORKS else "--",
                marker="o" if own else None, zorder=3 if own else 2,
            )  # fmt: skip
        axes.axhline(1.0, color=MUTED, linewidth=0.8)
        axes.set_xticks(range(len(noises)), [f"{noise:g}" for noise in noises])
        axes.set(xlabel="torque noise [N m]", title=f"{60 * share:g} s of data")
        tidy(axes)
    figure.axes[0].set_ylabel(f"NMSE, mean of the joints (at least {FLOOR:g})")
    figure.axes[1].legend(frameon=False, fontsize=8, loc="center left", bbox_to_anchor=(1.0, 0.5))
    write_picture(figure, picture)


def main(picture: str) -> None:
    """Draw and print the robustness row."""
    table = _cells(CELLS)
    draw(table, picture)
    sys.stdout.write(f"{_named(table)}\n")


if __name__ == "__main__":
    from benchmarks.learning.models import main as imported  # worker processes find its functions by this name

    imported(sys.argv[1])
