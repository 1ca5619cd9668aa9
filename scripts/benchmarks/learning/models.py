"""Models that learn inverse dynamics, on recordings and in the loop."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from multiprocessing import get_context
from time import process_time
from typing import Any

import casadi as ca
import numpy as np
from baselines.contract import Motion, nmse
from joblib import Parallel, delayed
from scipy.spatial import cKDTree

from benchmarks.learning.epochs import ADAM, AMPLITUDE, NETWORKS, PERIODS, RATE, dataset, iiwa, network_of, sines
from benchmarks.learning.online import simulate_law
from benchmarks.measure import Rows, need, skipped
from benchmarks.recordings import FRICTION, arrays, panda, panda_model, rokae, ur10e, ur10e_recording
from casid.arrays import Array
from casid.codegen import Function
from casid.dynamics import Model, newton_euler
from casid.identification import feasible_regression
from casid.learning import Chart, GaussNewton, TorqueLoss, train
from casid.learning._parametrisations import PARAMETRISATIONS
from casid.measurement import Dataset
from casid.online import entropic_fit
from casid.online._estimator import plausible_values
from casid.regression import choose_friction, compress, torques, wls
from casid.simulation import Plant

row = Rows()

#: Budget of every network: Adam steps on batches of 256, on at most so many samples, evenly taken from the motion.
NETWORK_STEPS, NETWORK_SAMPLES, NETWORK_BATCH = 4000, 3000, 256
#: Relative residual below which data count as free of noise; plausible size of friction [N.m], [N.m.s/rad].
EXACT, TERM = 1e-9, 10.0
CELLS = tuple((noise, share) for noise in (0.0, 0.1, 0.3, 1.0) for share in (1.0, 0.1))
#: Gauss-Newton on the ladder's rungs: steps a pass, passes at most.
STEPS, EPOCHS = 5, 60
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


def _motion(data: Dataset) -> Motion:
    return Motion(*arrays(data))


def _network_scores(name: str, split_of: Callable[..., Split], keys: Sequence[Key]) -> list[float]:
    """Of one kind of network on all splits in one process: its programs are compiled once for each number of joints."""
    scores = []
    for key in keys:
        split = split_of(*key)
        part = _motion(split.train).rows(slice(None, None, -(-len(split.train) // NETWORK_SAMPLES)))
        network = network_of(name, split.friction)
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
    found = Parallel(n_jobs=-1)([*tasks, *(delayed(_rigid_bodies)(split_of, key) for key in keys)])
    networks, bodies = zip(*found[: len(NETWORKS)], strict=True), found[len(NETWORKS) :]
    return [dict(zip(NETWORKS, row, strict=True)) | own for row, own in zip(networks, bodies, strict=True)]


def _verdict(table: dict[str, dict[str, float]]) -> tuple[str, bool]:
    """Whether casid leads networks, ladder, and the ladder with the friction that casid chose."""
    ok, texts = True, []
    for cell, row in table.items():
        own = {name: error for name, error in row.items() if not name.endswith(CHOSEN)}
        ok = ok and row["casid"] <= 1.02 * min(row.values()) + 1e-9
        text = f"{cell}: " + ", ".join(f"{name} {error:.3g}" for name, error in own.items())
        if lent := [f"{name.removesuffix(CHOSEN)} {error:.3g}" for name, error in row.items() if name not in own]:
            text += f" (the ladder with the friction that casid chose: {', '.join(lent)})"
        texts.append(text)
    return "; ".join(texts), ok


def _cell(noise: float, share: float) -> Split:
    data = dataset(sines(noise=noise, duration=60.0))
    part = data.rows(slice(0, int(share * len(data))), "share")
    return Split(iiwa(), part, dataset(sines(2.0, duration=60.0)), False)


@row("robustness: share of the data, torque noise, test at twice the speed (mean NMSE over joints)",
     "casid best or within 2 % in every cell", quick=(((0.0, 1.0), (1.0, 0.1)),),
     left_out="six of eight cells")  # fmt: skip
def robustness(cells: tuple[tuple[float, float], ...] = CELLS) -> tuple[str, bool]:
    """Train at 1 x speed with noise and a share of the data, test at twice the speed."""
    names = [f"{noise:g} N m, {share:.0%} of 60 s" for noise, share in cells]
    return _verdict(dict(zip(names, _table(_cell, cells), strict=True)))


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


@row("real recordings: Panda t < 14 s -> t >= 14 s, within its period, UR10e 30 -> 40 s, Rokae halves (NMSE)",
     "casid best or within 2 %", "Table 2: real iiwa NMSE 0.35", quick=(RECORDINGS[1:2],),
     left_out="the Panda's repetition, UR10e, Rokae")  # fmt: skip
def recordings(names: tuple[str, ...] = RECORDINGS) -> tuple[str, bool]:
    """Train on one part or motion, test on another."""
    return _verdict(recorded_scores(names))


#: Torques of states and accelerations, each of shape (lanes, n).
Torques = Callable[[Array, Array, Array], Array]

SEEDS = 5
#: NMSE of the worst joint at which Adam stops (blank in the paper's copy). On other motions than the sines it still
#: shows: the rungs are judged where Gauss-Newton has trained them out, and printed at both.
TARGET, TRAINED_OUT = 1e-3, 1e-10
#: Budgets of the networks: Adam steps on batches of 256 from every tenth sample of the sines.
NETWORKS_TRACKING = {"DeLaN": 10_000, "MLP tuned": 4000, "MLP": 4000}
NETWORK_EVERY, NETWORK_BATCH_TRACKING = 10, 256
FRAME = "lbr_iiwa_link_7"
POSTURE = np.array([0.0, 0.6, 0.0, -1.2, 0.0, 0.7, 0.0])
GOALS, LEG, SINE = 3, 3.0, 30.0  # goals a seed, seconds between them, seconds of sines
#: Feedback with the inertia of each joint alone in the description: natural frequency on sines [rad/s]; on paths rates
#: of the velocity error of the joints, of the error of the frame and of the null space [1/s].
STIFFNESS, DAMPING, APPROACH, REST = 10.0, 10.0, 5.0, 2.5
#: Differences below this print as 0.000 in the paper's table.
PRINTED = 5e-4
PAPER = {
    "truth": "0.000 0.000 0.005 0.008", "MLP": "0.000 0.001 0.256 5.542", "MLP tuned": "not in the paper",
    "DeLaN": "0.000 0.001 0.016 0.254", "nostr": "0.000 0.005 0.005 0.037", "symm": "0.000 0.000 0.005 0.011",
    "spd": "0.000 0.000 0.005 0.008", "tri": "0.000 0.000 0.005 0.008", "cov": "0.000 0.000 0.005 0.008",
    "log-cholesky": "not in the paper",
}  # fmt: skip
PHYSICAL = ("spd", "tri", "cov", "log-cholesky")


@cache
def _inverse_dynamics() -> Function:
    """``(q, dq, ddq, links) -> tau`` with thirteen numbers a link, so that every rung goes through the same code."""
    model = iiwa()
    q, dq, ddq = (ca.SX.sym(name, model.n) for name in ("q", "dq", "ddq"))
    links = ca.SX.sym("links", 13 * model.n)
    vector = model.gravity_vector
    assert vector is not None
    gravity = ca.SX(ca.DM(vector))
    tau = newton_euler(model.robot, q, dq, ddq, ca.vertsplit(links, 13), gravity)[0]
    return Function(ca.Function("learnt_inverse_dynamics", [q, dq, ddq, links], [ca.densify(tau)], {"cse": True}))


@cache
def _resolved() -> Function:
    """``(q, dq, x_ref, v_ref) -> dq_r, ddq_r, x, v``: velocity-based control (Nakanishi et al. 2008, Sec. 3.2).

    ``v_r = v_ref + K (x_ref - x)``, ``dq_r = J^+ v_r + N p``, ``ddq_r = J^+ (dv_r/dt - dJ/dt dq) + N dp``, where the
    null space N is drawn towards the posture. Nothing of the dynamics enters: every model can stand behind it.
    """
    model = iiwa()
    q, dq, x_ref, v_ref = (ca.SX.sym(name, size) for name, size in (("q", 7), ("dq", 7), ("x_ref", 3), ("v_ref", 3)))
    J = model.frame_jacobian(FRAME)(q)[:3, :]
    x = model.frame_placement(FRAME)(q)[:3, 3]
    v = J @ dq
    turn = ca.jtimes(v, q, dq)
    inverse = J.T @ ca.inv(J @ J.T)
    null = ca.SX.eye(7) - inverse @ J
    pull = REST * (ca.DM(POSTURE) - q)
    dq_r = inverse @ (v_ref + APPROACH * (x_ref - x)) + null @ pull
    ddq_r = inverse @ (APPROACH * (v_ref - v) - turn) + null @ (-REST * dq)
    outputs = [ca.densify(value) for value in (dq_r, ddq_r, x, v)]
    return Function(ca.Function("resolved_velocity", [q, dq, x_ref, v_ref], outputs, {"cse": True}))


def _gains(q: Array) -> Array:
    """Inertia of every joint at a posture, of the robot's description [kg.m^2]."""
    model = iiwa()
    return np.asarray(np.diag(np.asarray(model.mass_matrix(q, model.robot.standard_parameters()))))


def _nmse(reference: Array, found: Array) -> Array:
    """Of each lane: mean over the components of the squared error over the variance of the reference."""
    error = ((found - reference) ** 2).mean(axis=1) / reference.var(axis=1)
    return np.asarray(np.where(np.isfinite(error), error, np.inf).mean(axis=1))


def _track_sines(torques: Torques, lanes: int) -> Array:
    """NMSE of q and dq of each lane, shape (lanes, 2)."""
    motion = sines(duration=SINE + 1.0)
    inertia = _gains(motion.q[0])

    def law(tick: int, q: Array, dq: Array) -> Array:
        ddq = np.broadcast_to(motion.ddq[tick], q.shape)
        feedback = STIFFNESS**2 * (motion.q[tick] - q) + 2 * STIFFNESS * (motion.dq[tick] - dq)
        return np.asarray(torques(q, dq, ddq) + inertia * feedback)

    start = (np.tile(x[0], (lanes, 1)) for x in (motion.q, motion.dq))
    found = simulate_law(_plant(), law, round(SINE * RATE), RATE, *start)
    count = found[0].shape[1]
    q, dq = (np.tile(x[:count], (lanes, 1, 1)) for x in (motion.q, motion.dq))
    return np.stack([_nmse(q, found[0]), _nmse(dq, found[1])], axis=1)


def _path(seed: int) -> tuple[Array, Array]:
    """Straight lines at constant speed through the places of the frame at random postures: x and v of each sample."""
    rng = np.random.default_rng([seed, 11])
    where = iiwa().frame_placement(FRAME)
    corners = [POSTURE, *(POSTURE + rng.uniform(-0.5, 0.5, 7) for _ in range(GOALS))]
    places = np.array([np.asarray(where(q))[:3, 3] for q in corners])
    ticks = round(LEG * RATE)
    share = np.arange(ticks)[:, None] / ticks
    x = np.concatenate([a + share * (b - a) for a, b in pairwise(places)])
    v = np.concatenate([np.tile((b - a) / LEG, (ticks, 1)) for a, b in pairwise(places)])
    return x, v


def _track_paths(torques: Torques, seeds: list[int]) -> Array:
    """NMSE of the frame's position and velocity of each lane, whose path is that of its seed."""
    x_ref, v_ref = (np.stack(parts) for parts in zip(*(_path(seed) for seed in seeds), strict=True))
    inertia, count = _gains(POSTURE), x_ref.shape[1]

    def law(tick: int, q: Array, dq: Array) -> Array:
        k = min(tick, count - 1)
        dq_r, ddq_r, _, _ = _resolved()(q, dq, x_ref[:, k], v_ref[:, k])
        return np.asarray(torques(q, dq, ddq_r) + inertia * DAMPING * (dq_r - dq))

    start = np.tile(POSTURE, (len(seeds), 1))
    found = simulate_law(_plant(), law, count, RATE, start, np.zeros_like(start))
    flat = (part[:, :count].reshape(-1, 7) for part in found)
    seen = _resolved()(*flat, x_ref.reshape(-1, 3), v_ref.reshape(-1, 3))
    x, v = (part.reshape(x_ref.shape) for part in seen[2:])
    return np.stack([_nmse(x_ref, x), _nmse(v_ref, v)], axis=1)


@cache
def _plant() -> Plant:
    return Plant.of(iiwa().robot)


def _track(torques: Torques, seeds: list[int]) -> Array:
    return np.concatenate([_track_sines(torques, len(seeds)), _track_paths(torques, seeds)], axis=1)


def _rungs_tracking(seeds: int) -> tuple[dict[str, Array], dict[str, str]]:
    """Scores of the truth and of every rung, shape (seeds, 4), and the epochs of Adam of each."""
    data, model = dataset(sines()), iiwa()
    losses = {symmetric: TorqueLoss(model, data, symmetric=symmetric) for symmetric in (True, False)}
    truth = np.zeros((7, 13))
    truth[:, :10] = model.robot.standard_parameters().reshape(7, 10)
    links, epochs = [np.tile(truth.ravel(), (seeds, 1))], dict[str, str]()
    rungs = [name for name in PARAMETRISATIONS if name != "spectral"]
    for name in rungs:
        chart, reached, ends = Chart(model, name), [], []
        loss = losses[chart.links.symmetric]
        first: list[Array] = []
        last: list[Array] = []
        for seed in range(seeds):
            start = chart.draw(np.random.default_rng(seed))
            run = train(loss, chart, ADAM, epochs=80, target=TARGET, seed=seed, start=start)
            # from random bodies: where Adam left masses near zero, their squares hold Gauss-Newton up
            out = train(loss, chart, GaussNewton(steps=10), epochs=30, target=TRAINED_OUT, seed=seed)
            ends.append(out.epochs[-1].nmse)
            reached.append("-" if run.reached is None else str(run.reached))
            for found, held in ((run, first), (out, last)):
                own = np.zeros((7, 13))
                own[:, : chart.links.count] = found.parameters.reshape(7, -1)
                held.append(own.reshape(1, -1))
        links += [*first, *last]
        epochs[name] = f"NMSE at most {max(ends):.0e}"
        epochs[f"{name} at {TARGET:g}"] = f"{'/'.join(reached)} epochs of Adam"
    names = [label for name in rungs for label in (f"{name} at {TARGET:g}", name)]
    every = np.concatenate(links)

    def torques(q: Array, dq: Array, ddq: Array) -> Array:
        return np.asarray(_inverse_dynamics()(q, dq, ddq, every))

    scores = _track(torques, [*range(seeds)] * (len(names) + 1))
    return {name: scores[seeds * k : seeds * (k + 1)] for k, name in enumerate(["truth", *names])}, epochs


def _network_tracking(kind: str, seeds: int, share: float) -> tuple[dict[str, Array], dict[str, str]]:
    """Scores of a network trained from each seed with the whole budget, and what the training reached."""
    import jax
    import jax.numpy as jnp

    network, motion = network_of(kind), sines().rows(slice(None, None, NETWORK_EVERY))
    network.epochs = -(-round(share * NETWORKS_TRACKING[kind]) // (len(motion) * 9 // 10 // NETWORK_BATCH_TRACKING))
    check = motion.rows(slice(None, None, 8))
    weights, reached, ends, began = [], [], [], process_time()
    for seed in range(seeds):
        done: list[int] = []

        def note(epoch: int, predict: Callable[[Motion], Array], done: list[int] = done) -> bool:
            if not done and nmse(check.tau, predict(check)).max() <= TARGET:
                done.append(epoch)
            return False

        network.fit(motion, seed, note)
        weights.append(network.weights)
        reached.append(str(done[0]) if done else "-")
        ends.append(float(nmse(check.tau, network.predict(check)).max()))
    used = process_time() - began
    stacked = jax.tree.map(lambda *leaves: jnp.stack(leaves), *weights)
    compiled: Any = jax.jit(jax.vmap(network.torque, in_axes=(0, None, 0, 0, 0)))

    def torques(q: Array, dq: Array, ddq: Array) -> Array:
        found = compiled(stacked, network.scales, q, dq, ddq)
        return np.asarray(np.asarray(found, dtype=float) * network.scale + network.offset())

    words = (
        f"{network.epochs} epochs of {len(motion)} samples, {used / seeds:.0f} s CPU a seed; NMSE {TARGET:g} after "
        f"{'/'.join(reached)}; at the end {min(ends):.1e} to {max(ends):.1e}"
    )
    return {kind: _track(torques, [*range(seeds)])}, {kind: words}


def tracking_scores(seeds: int = SEEDS, share: float = 1.0) -> tuple[dict[str, Array], dict[str, str]]:
    """NMSE of every model in the loop, shape (seeds, 4): sine q, dq, end effector x, v; and what its training took.

    The networks are given a share of their budgets.
    """
    need("jax", "learning")
    need("optax", "learning")
    scores: dict[str, Array] = {}
    epochs: dict[str, str] = {}
    with ProcessPoolExecutor(2, get_context("spawn")) as pool:  # compiled networks make joblib replace its workers
        tasks = [pool.submit(_network_tracking, name, seeds, share) for name in NETWORKS_TRACKING]
        tasks.append(pool.submit(_rungs_tracking, seeds))
        for task in tasks:
            found, used = task.result()
            scores |= found
            epochs |= used
    order = list(PAPER)
    return dict(sorted(scores.items(), key=lambda item: order.index(item[0].partition(" at ")[0]))), epochs


def as_the_truth(scores: Mapping[str, Array], names: Sequence[str]) -> bool:
    """Whether these models track as the true one does, within 10 % or what the paper's table does not print."""
    truth = scores["truth"]
    return all(bool((np.abs(scores[n] - truth) <= np.maximum(0.1 * truth, PRINTED)).all()) for n in names)


def worse_at_the_end(scores: Mapping[str, Array], names: Sequence[str]) -> bool:
    """Whether the medians of these models at the end effector are all more than 10 % above the true model's."""
    median = {name: np.median(scores[name], axis=0)[2:] for name in ("truth", *names)}
    return all(bool((median[name] > 1.1 * median["truth"]).all()) for name in names)


@row("tracking NMSE with every learnt model in the loop: sine q, dq; end effector x, v; five seeds",
     "SPD, Tri, Cov, LogCholesky = truth within 10 % (or 0.0005); MLP, DeLaN worse at the end effector",
     "Table 1, means", quick=skipped, left_out="the whole row")  # fmt: skip
def tracking() -> tuple[str, bool]:
    """Median over the seeds of the NMSE: sine q, sine dq, end effector x, v; the paper's means beside."""
    scores, epochs = tracking_scores()
    same = as_the_truth(scores, [name for name in scores if name.partition(" at ")[0] in PHYSICAL])
    worse = worse_at_the_end(scores, list(NETWORKS_TRACKING))
    texts = []
    for name, score in scores.items():
        used_text = f" ({epochs[name]})" if name in epochs else ""
        shown, largest = (
            " ".join(f"{value:.3f}" for value in row) for row in (np.median(score, axis=0), score.max(axis=0))
        )
        paper = f" [paper {PAPER[name]}]" if name in PAPER else ""
        texts.append(f"{name}{used_text}: {shown}, worst seed {largest}{paper}")
    how = f"rungs by Gauss-Newton to NMSE {TRAINED_OUT:g} and by Adam to {TARGET:g}"
    return f"{how}, sines {AMPLITUDE:g} x range, {PERIODS} s; " + "; ".join(texts), same and worse
