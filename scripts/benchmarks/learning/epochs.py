"""Data of the simulated iiwa, and the parametrisations' epochs, ladder and order."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cache
from itertools import groupby
from time import process_time
from typing import TYPE_CHECKING, Any

import numpy as np
from baselines.contract import Motion, nmse
from baselines.diffnea import CHECK
from joblib import Parallel, delayed
from numpy.typing import NDArray

import casid
from benchmarks.measure import ROOT, NotMeasured, Rows, need, process, scratch, skipped
from casid.arrays import Array
from casid.codegen import Function
from casid.description import write_robot
from casid.dynamics import Model
from casid.learning import Adam, Chart, GaussNewton, NaturalGradient, TorqueLoss, certified_limit, train
from casid.learning._optimisers import Optimiser
from casid.learning._parametrisations import PARAMETRISATIONS
from casid.measurement import Dataset
from casid.online import Online
from casid.online._estimator import plausible_values

row = Rows()

if TYPE_CHECKING:  # needs jax
    from baselines.network import Network

#: The paper's copy leaves the periods and amplitudes of the sines blank: these are our choice [s, share of the range].
PERIODS = (23.0, 19.0, 17.0, 13.0, 11.0, 7.0, 5.0)
AMPLITUDE = 0.5
#: Samples a second, and seconds: "we collect only 600*240 data points" (Sec. 4.1.2); batches of 256.
RATE, DURATION, BATCH = 240.0, 600.0, 256


@cache
def iiwa() -> Model:
    """KUKA iiwa 7 with the inertials of its description."""
    return Model(casid.load_robot("kuka_iiwa"))


def sines(speed: float = 1.0, amplitude: float = AMPLITUDE, duration: float = DURATION, noise: float = 0.0) -> Motion:
    """Sine tracking of every joint with the ground-truth model, as the paper collects it (Sec. 4.1)."""
    model = iiwa()
    limits = model.robot.limits
    t = np.arange(0.0, duration, 1.0 / RATE)
    w = 2 * np.pi * speed / np.array(PERIODS)
    a = amplitude * np.minimum(np.abs(limits.lower), np.abs(limits.upper))
    phase = np.outer(t, w)
    q, dq, ddq = a * np.sin(phase), a * w * np.cos(phase), -a * w**2 * np.sin(phase)
    tau = model.inverse_dynamics(q, dq, ddq, model.robot.standard_parameters())
    if noise:
        tau = tau + noise * np.random.default_rng(7).normal(size=tau.shape)
    return Motion(q, dq, ddq, tau)


def one_sine(samples: int = 10_000, amplitude: float = 0.7, frequency: float = 0.1) -> Motion:
    """The motion of the ladder's published code: the same sine for every joint, samples over 39 s."""
    model = iiwa()
    w, one = 2 * np.pi * frequency, np.ones(model.n)
    t = np.linspace(0.0, 39.0, samples)
    q, dq, ddq = (np.outer(x, one) for x in (np.sin(w * t), w * np.cos(w * t), -(w**2) * np.sin(w * t)))
    q, dq, ddq = amplitude * q, amplitude * dq, amplitude * ddq
    tau = model.inverse_dynamics(q, dq, ddq, model.robot.standard_parameters())
    return Motion(q, dq, ddq, tau)


def dataset(motion: Motion, name: str = "sines") -> Dataset:
    """As the library reads it."""
    t = np.arange(len(motion)) / RATE
    return Dataset(t, motion.q, motion.tau, motion.dq, motion.ddq, name=name)


RUNGS = ("nostr", "symm", "spd", "tri", "cov")
PAPER = "6153 / 84 / 21 / 21 / 21"
SEEDS = range(5)
#: Largest NMSE of a joint, ten a decade: 0.3 ... 1e-4.
GRID = 10.0 ** -(np.arange(5, 41) / 10)
#: What an ordered stretch of targets has to span.
LEAST, FACTOR = 3, 2.0
#: Coordinates of the centre of mass in these parametrisations.
COM = (1, 2, 3)
#: Standard deviation of the published starts of the other rungs' inertias, over that of NoStr's.
SMALL = 0.01
IN_SEQUENCE = Adam(rate=1e-2, batch=BATCH, shuffle=False)


@dataclass(frozen=True)
class Reading:
    """One way to read what the paper leaves open.

    ``one``: the motion of the published code, one sine of 0.7 rad and 0.1 Hz for all joints at once, 10 000 samples;
    else our sines. ``known``: the centre of mass is that of the description, as the published experiment's
    configuration has it; else it is learnt too. ``alike``: NoStr's inertias start as small as the others', not with the
    published standard deviation of 1 kg.m^2. ``plain``: the mean squared torque (eq. 2 as it stands) in place of the
    joints' NMSE.
    """

    words: str
    epochs: int
    optimiser: Adam = IN_SEQUENCE
    one: bool = False
    known: bool = False
    alike: bool = False
    plain: bool = False


READINGS = (
    Reading("authors' published experiment: one sine, centre of mass known, NMSE, in sequence, rate 1e-2", 8000,
            one=True, known=True),
    Reading("the same, NoStr started with inertias as small as the others'", 8000, one=True, known=True, alike=True),
    Reading("authors' published experiment, centre of mass learnt", 8000, one=True),
    Reading("our sines, centre of mass known, NMSE, in sequence, rate 1e-2", 400, known=True),
    Reading("our sines, NMSE, in sequence, rate 1e-2", 400),
    Reading("our sines, NMSE, shuffled, rate 1e-2", 400, Adam(rate=1e-2, batch=BATCH)),
    Reading("our sines, plain, shuffled, rate 1e-3", 400, Adam(rate=1e-3, batch=BATCH), plain=True),
)  # fmt: skip


@cache
def _loss(symmetric: bool, one: bool = False, plain: bool = False, noise: float = 0.0) -> TorqueLoss:
    motion = one_sine() if one else sines(noise=noise)
    return TorqueLoss(iiwa(), dataset(motion), np.ones(7) if plain else None, symmetric)


def _start(chart: Chart, seed: int, known: bool, alike: bool = False) -> Array:
    """As the published code starts; where it is known, with the centre of mass of the description."""
    start = chart.draw(np.random.default_rng(seed))
    if known:
        true = chart.inverse(iiwa().robot.standard_parameters())
        for k in COM:
            start[k :: chart.links.size] = true[k :: chart.links.size]
    if alike and not chart.links.symmetric:
        start.reshape(chart.n, -1)[:, 4:] *= SMALL
    return start


def epochs_of(
    loss: TorqueLoss, chart: Chart, optimiser: Optimiser, epochs: int, targets: Array, starts: dict[int, Array | None]
) -> Array:
    """Epochs until each target, median over the seeds; inf where it is not reached."""
    rows = []
    for seed, start in starts.items():
        run = train(loss, chart, optimiser, epochs=epochs, target=float(min(targets)), seed=seed, start=start)
        rows.append([next((float(e.number) for e in run.epochs if e.nmse <= t), np.inf) for t in targets])
    return np.asarray(np.median(rows, axis=0))


def _reached(name: str, reading: Reading, seeds: range) -> Array:
    """Epochs until each target of the grid, median over the seeds."""
    kind = PARAMETRISATIONS[name]
    chart = Chart(iiwa(), kind, COM if reading.known else ())
    starts: dict[int, Array | None] = {seed: _start(chart, seed, reading.known, reading.alike) for seed in seeds}
    loss = _loss(kind.symmetric, reading.one, reading.plain)
    return epochs_of(loss, chart, reading.optimiser, reading.epochs, GRID, starts)


def curves(readings: tuple[Reading, ...], seeds: range = SEEDS) -> list[Array]:
    """Of each reading: epochs of each rung to each target, shape (rungs, targets)."""
    found = Parallel(n_jobs=-1)(delayed(_reached)(name, reading, seeds) for reading in readings for name in RUNGS)
    return [np.array(found[len(RUNGS) * k : len(RUNGS) * (k + 1)]) for k in range(len(readings))]


def ordered(epochs: Array) -> NDArray[np.bool_]:
    """At which targets NoStr needs more epochs than Symm, and Symm more than SPD, Tri and Cov.

    A rung that does not reach a target counts as slower than one that does; two that do not are not ordered.
    """
    return np.asarray((epochs[0] > epochs[1]) & (epochs[1] > epochs[2:].max(axis=0)))


def stretches(held: NDArray[np.bool_]) -> list[tuple[int, int]]:
    """First and last index of each unbroken run of ordered targets."""
    runs = [list(group) for holds, group in groupby(range(len(held)), key=lambda k: bool(held[k])) if holds]
    return [(run[0], run[-1]) for run in runs]


def spans(stretch: tuple[int, int]) -> bool:
    """Whether a stretch has three targets of the grid or more, a factor of two apart or more."""
    first, last = stretch
    return last - first + 1 >= LEAST and bool(GRID[first] / GRID[last] >= FACTOR)


def _outside(epochs: Array, held: NDArray[np.bool_]) -> str:
    """Why the order fails where it does, by number of targets."""
    physical = epochs[2:].max(axis=0)
    reasons = {
        "reached by no rung": np.isinf(epochs).all(axis=0),
        "neither by NoStr nor by Symm": np.isinf(epochs[:2]).all(axis=0) & ~np.isinf(epochs).all(axis=0),
        "Symm not slower than all of SPD, Tri, Cov": np.isfinite(epochs[1]) & (epochs[1] <= physical),
        "NoStr not slower than Symm": np.isfinite(epochs[0]) & (epochs[0] <= epochs[1]),
    }
    counts = {words: int((where & ~held).sum()) for words, where in reasons.items()}
    return ", ".join(f"{words} {count}" for words, count in counts.items() if count)


def _shown(epochs: Array, between: str) -> str:
    return between.join("-" if np.isinf(e) else f"{e:g}" for e in epochs)


@row("order of the ladder with Adam: epochs to 36 targets from 0.3 to 1e-4, seven readings of what is blank",
     "NoStr > Symm > SPD, Tri, Cov at every target of the authors' published experiment", PAPER,
     quick=(READINGS[:1], range(3)), left_out="six of seven readings, two of five seeds")  # fmt: skip
def order_of_the_ladder(readings: tuple[Reading, ...] = READINGS, seeds: range = SEEDS) -> tuple[str, bool]:
    """For each reading the stretches of targets at which the paper's order holds, and what fails elsewhere."""
    texts, met = [], True
    for reading, epochs in zip(readings, curves(readings, seeds), strict=True):
        held = ordered(epochs)
        found = stretches(held)
        met = met and (reading is not READINGS[0] or bool(held.all()))
        marks = sorted({k for stretch in found if spans(stretch) for k in (stretch[0], sum(stretch) // 2, stretch[1])})
        where = ", ".join(f"{GRID[a]:.2g} to {GRID[b]:.2g} ({b - a + 1} targets)" for a, b in found) or "nowhere"
        text = f"{reading.words} (<= {reading.epochs} epochs): in order at {where}"
        if not held.all():
            text += f"; elsewhere {_outside(epochs, held)}"
        texts.append(
            f"{text}; at " + ", ".join(f"{GRID[k]:.2g}: {_shown(epochs[:, k], ' / ')}" for k in marks or (5, 15, 25))
        )
    return f"{' / '.join(RUNGS)}, median of {len(seeds)} seeds. " + ". ".join(texts), met


PHYSICAL = ("spd", "tri", "cov", "log-cholesky", "spectral")

#: The paper's copy leaves its target blank.
TARGETS = (1e-1, 1e-2, 1e-3)
#: Learning rate and loss are not in the paper: one rate for all rungs.
ADAM = Adam(rate=3e-2, batch=BATCH)


@row(
    "guarantees of each parametrisation, 1e5 random theta; inverse round trip", "0 exceptions; 1e-12", "Sutanto 3.1-3.5"
)
def guarantees() -> tuple[str, bool]:
    """1e5 random theta of each rung over six decades of size; inverses of 1000 random bodies."""
    rng = np.random.default_rng(0)
    broken, worst = 0, 0.0
    for p in PARAMETRISATIONS.values():
        theta = rng.standard_normal((100_000, p.size)) * 10.0 ** rng.uniform(-4, 1, (100_000, 1))
        pi = Function(p.map)(theta)
        size = np.maximum(1.0, np.abs(pi[:, :9]).max(axis=1))
        broken += int((~np.isfinite(pi)).any(axis=1).sum())
        if p.positive_mass:
            broken += int((pi[:, 9] <= 0).sum())
        lengths = pi[:, 6:9] / pi[:, 9:10]
        L = pi[:, [0, 1, 2, 1, 3, 4, 2, 4, 5]].reshape(-1, 3, 3)
        own = L - pi[:, 9, None, None] * (
            (lengths**2).sum(axis=1)[:, None, None] * np.eye(3) - lengths[:, :, None] * lengths[:, None, :]
        )
        if p.definite:
            moments = np.linalg.eigvalsh(own)
            broken += int((moments[:, 0] < -1e-12 * size).sum())
            if p.triangle:
                broken += int((moments.sum(axis=1) / 2 - moments[:, 2] < -1e-12 * size).sum())
        for _ in range(1000):
            A = rng.standard_normal((4, 6)) * np.array([0.2, 0.1, 0.3, 1.0])[:, None]
            J = A @ A.T
            sigma = J[:3, :3]
            inertia = np.trace(sigma) * np.eye(3) - sigma
            body = np.concatenate([inertia[np.triu_indices(3)], J[:3, 3], [J[3, 3]]])
            back = p.parameters(p.inverse(body))[:10]
            worst = max(worst, float(np.abs(back - body).max() / np.abs(body).max()))
    return f"{broken} exceptions of {len(PARAMETRISATIONS)} x 1e5; round trip {worst:.1e}", not broken and worst < 1e-12


def _reached_ladder(name: str, optimiser: Optimiser, epochs: int, published: bool, seeds: range) -> Array:
    """Epochs to the three targets, median over the seeds."""
    chart = Chart(iiwa(), name)
    starts = {seed: chart.draw(np.random.default_rng(seed)) if published else None for seed in seeds}
    return epochs_of(_loss(chart.links.symmetric), chart, optimiser, epochs, np.array(TARGETS), starts)


@row("iiwa sine data, five seeds: epochs to three targets (largest joint's NMSE)",
     "physical at 1e-2: <= 21 (Adam); all targets: <= 3 (Newton-type)",
     "MLP 233, DeLaN 5819, NoStr 6153, Symm 84, SPD/Tri/Cov 21", quick=(range(1),),
     left_out="four of five seeds")  # fmt: skip
def epochs_to_target(seeds: range = SEEDS) -> tuple[str, bool]:
    """Median passes over the data until every joint's NMSE is at most each of three targets.

    Gauss-Newton and the natural gradient take ten steps a pass, from random bodies: they need the data once only.
    """
    ways = {
        "Adam": (ADAM, 60, True, tuple(PARAMETRISATIONS)), "from bodies": (ADAM, 60, False, tuple(PARAMETRISATIONS)),
        "Gauss-Newton": (GaussNewton(steps=10), 10, False, PHYSICAL),
        "natural gradient": (NaturalGradient(steps=10), 10, False, PHYSICAL),
    }  # fmt: skip
    work = [(way, name, how) for way, (*how, names) in ways.items() for name in names]
    rows = Parallel(n_jobs=-1)(delayed(_reached_ladder)(name, *how, seeds) for _, name, how in work)
    found = {(way, name): row for (way, name, _), row in zip(work, rows, strict=True)}
    texts, ok = [], True
    for name in PARAMETRISATIONS:
        shown = [f"{way} {_shown(found[way, name], '/')}" for way in ways if (way, name) in found]
        texts.append(f"{name}: {', '.join(shown)}")
        if name in PHYSICAL:
            newtons = min(found[way, name].max() for way in ("Gauss-Newton", "natural gradient"))
            ok = ok and bool(found["Adam", name][1] <= 21 and newtons <= 3)
    return f"NMSE {'/'.join(f'{t:g}' for t in TARGETS)}: " + "; ".join(texts), ok


def _gaps(name: str) -> tuple[str, float, float]:
    kind = PARAMETRISATIONS[name]
    loss, chart = _loss(True, noise=0.05), Chart(iiwa(), kind)
    limit = certified_limit(loss, kind)
    found, least = [], limit.gap(limit.value)
    for optimiser, epochs in ((GaussNewton(), 400), (NaturalGradient(), 400), (ADAM, 60)):
        runs = [train(loss, chart, optimiser, epochs=epochs, limit=limit, tolerance=1e-7, seed=s) for s in SEEDS]
        ends, least = [run.gap for run in runs], min(least, *(epoch.gap for run in runs for epoch in run.epochs))
        found.append((float(np.median(ends)), float(max(ends))))
    newton, natural, adam = (f"{m:.1e} (worst {w:.1e})" for m, w in found)
    text = f"{name}: Gauss-Newton {newton}, natural {natural}, Adam {adam}; own gap {limit.gap(limit.value):.0e}"
    return text, min(found[0][1], found[1][1]), least


@row("gap of every physical rung to the certified optimum", "<= 1e-6", "none has it", quick=(("spd", "cov"),),
     left_out="three of five rungs")  # fmt: skip
def gaps(names: tuple[str, ...] = PHYSICAL) -> tuple[str, bool]:
    """Noisy data (0.05 N m), so that the optimum is not zero: gap of each rung, five seeds."""
    found = Parallel(n_jobs=-1)(delayed(_gaps)(name) for name in names)
    texts, worst, least = zip(*found, strict=True)
    text = f"{'; '.join(texts)}; smallest gap of any epoch {min(least):.0e}"
    return text, max(worst) <= 1e-6 and min(least) >= -1e-9


PROGRAM = ROOT / "scripts" / "baselines" / "diffnea.py"
#: CPU seconds that the ladder's code may train; torque noise of the data [N.m].
BUDGET, NOISE = 60.0, 0.05


@row("direct certified solve against training with the ladder's own code (and with Adam of this library)", ">= 100 x",
     "differentiable-robot-model 0.2.3", quick=skipped, left_out="the whole row")  # fmt: skip
def direct_against_training(budget: float = BUDGET) -> tuple[str, bool]:
    """CPU seconds of one core: the certified solve from raw samples, and what training reaches in how many of them."""
    motion = sines(noise=NOISE)
    data = dataset(motion)
    certified_limit(TorqueLoss(iiwa(), data), Chart(iiwa(), "cov").links)  # compiles what is compiled once
    start = process_time()
    loss, chart = TorqueLoss(iiwa(), data), Chart(iiwa(), "cov")
    limit = certified_limit(loss, chart.links)
    direct = process_time() - start
    begin = chart.draw(np.random.default_rng(0))
    loss.slopes(BATCH, False)
    start = process_time()
    run = train(loss, chart, Adam(rate=1e-2, batch=BATCH), epochs=60, limit=limit, start=begin)
    own = process_time() - start
    text = (
        f"certified {direct:.2f} s, loss {limit.value:.3g} (gap {limit.gap(limit.value):.0e}); Adam of this library "
        f"on a matrix of each batch: {own:.1f} s for 60 epochs, gap {run.gap:.1e}"
    )
    interpreter = os.environ.get("CASID_DIFFNEA")
    if interpreter is None:
        raise NotMeasured(f"{text}; the ladder's own code: set CASID_DIFFNEA to an interpreter that has it")
    with scratch() as folder:
        write_robot(iiwa().robot, folder / "robot.urdf")
        links = [link.name for link in iiwa().robot.links]
        np.savez(folder / "data.npz", q=motion.q, dq=motion.dq, ddq=motion.ddq, tau=motion.tau, links=np.array(links))
        process(interpreter, PROGRAM, "robot.urdf", "data.npz", f"{budget:g}", "out.npz", folder=folder)
        with np.load(folder / "out.npz") as out:
            times, losses, steps = out["seconds"], out["losses"], int(out["steps"])

    # the same samples for both: the loss of a part differs from that of the whole by more than what is asked for
    part = motion.rows(slice(None, None, CHECK))
    best = iiwa().inverse_dynamics(part.q, part.dq, part.ddq, limit.parameters)
    reference = float(np.mean((best - part.tau) ** 2 / motion.tau.var(axis=0)))

    def first(share: float) -> tuple[float, str]:
        """How many times the solve's CPU seconds until the loss was within a share of the certified solution's."""
        close = np.flatnonzero(losses <= reference * (1 + share))
        seconds = float(times[close[0]] if len(close) else times[-1])
        how = f"{seconds:.0f} s" if len(close) else f"not within {seconds:.0f} s"
        return seconds / direct, f"{how}, {'' if len(close) else 'more than '}{seconds / direct:.0f} times the solve"

    (ratio, words), (loose, early) = first(1e-3), first(1e-2)
    curve = ", ".join(f"{v:.4g} after {s:.0f} s" for s, v in zip(times[::6], losses[::6], strict=True))
    return (
        f"{text}; the ladder's own code: {steps} steps, loss on every {CHECK}th sample {curve}; "
        f"the certified solution's {reference:.4g}; within 1 % of it: {early}; "
        f"within 0.1 %: {words}"
    ), min(ratio, loose) >= 100


#: Adam steps a batch; seconds.
STEPS, DURATION_SEQUENTIAL = 10, 30.0
_KINDS = ("nostr", "symm", "spd", "tri", "cov", "log-cholesky")
#: Torque noise as a share of each joint's deviation; the paper's data have none.
_NOISE = (0.0, 0.05)


def _batches(motion: Motion) -> list[Motion]:
    return [motion.rows(slice(k, k + BATCH)) for k in range(0, len(motion) - BATCH + 1, BATCH)]


def _noisy(motion: Motion, noise: float) -> Motion:
    rng = np.random.default_rng(7)
    tau = motion.tau + noise * motion.tau.std(axis=0) * rng.normal(size=motion.tau.shape)
    return Motion(motion.q, motion.dq, motion.ddq, tau)


def _online(motion: Motion, noise: float, loss: TorqueLoss) -> list[float]:
    """casid: boxes around the skeleton as plausible bodies, the noise as stated (0.1 % where there is none)."""
    model = iiwa()
    online = Online(model, 1 / (max(noise, 1e-3) * motion.tau.std(axis=0)), plausible_values(model, nominal=False))
    errors = []
    for part in _batches(motion):
        online.update(part.q, part.dq, part.ddq, part.tau)
        pi = online.estimate().parameters.values[np.ravel(model.link_columns)]
        errors.append(float(np.mean(loss.nmse(pi))))
    return errors


def _ladder(kind: str, motion: Motion, loss: TorqueLoss) -> list[float]:
    """A parametrisation of the ladder by Adam, from the bodies that casid starts from."""
    chart = Chart(iiwa(), kind)
    theta = chart.inverse(plausible_values(iiwa(), nominal=False).bodies.ravel())
    slopes = loss.slopes(BATCH, False)
    first, second = np.zeros_like(theta), np.zeros_like(theta)
    errors = []
    for k in range(len(_batches(motion))):
        for step in range(k * STEPS + 1, (k + 1) * STEPS + 1):
            slope = chart.pullback(theta, slopes(k, chart.parameters(theta)))
            first, second = 0.9 * first + 0.1 * slope, 0.999 * second + 0.001 * slope**2
            theta = theta - 1e-2 / (1 - 0.9**step) * first / (np.sqrt(second / (1 - 0.999**step)) + 1e-8)
        errors.append(float(np.mean(loss.nmse(chart.parameters(theta)))))
    return errors


NETWORKS = ("MLP", "MLP tuned", "DeLaN", "DeLaN black box")


def network_of(name: str, friction: bool = False) -> Network:
    """A network of this name; those with a Lagrangian learn friction too where that is asked."""
    from baselines import delan, mlp

    if name.startswith("MLP"):
        return mlp.paper() if name == "MLP" else mlp.tuned()
    return delan.DeLaN(name, name == "DeLaN", friction)


def _network(network: Any, motion: Motion, check: Motion) -> list[float]:
    """A network by Adam, from its own start."""
    jax, optax = need("jax", "learning"), need("optax", "learning")
    jnp = jax.numpy
    network.prepare(motion)
    weights = network.start(jax.random.PRNGKey(0), motion.q.shape[1])
    optimiser = optax.adamw(network.rate, weight_decay=network.decay)
    state = optimiser.init(weights)
    torque = jax.vmap(network.torque, in_axes=(None, None, 0, 0, 0))

    def batch(w: Any, s: Any, q: Any, dq: Any, ddq: Any, tau: Any) -> Any:
        def step(carry: Any, _: Any) -> Any:
            w, s = carry
            slope = jax.grad(lambda v: jnp.mean((torque(v, network.scales, q, dq, ddq) - tau) ** 2))(w)
            update, s = optimiser.update(slope, s, w)
            return (optax.apply_updates(w, update), s), None

        return jax.lax.scan(step, (w, s), None, length=STEPS)[0]

    compiled = jax.jit(batch)
    errors = []
    for part in _batches(motion):
        weights, state = compiled(weights, state, *network.normalised(part))
        network.weights = weights
        errors.append(float(nmse(check.tau, network.predict(check)).mean()))
    return errors


def curves_sequential(noise: float, duration: float) -> dict[str, list[float]]:
    """NMSE on the whole set (without the noise) after each batch, mean over the joints, of every model."""
    need("jax", "learning")
    need("optax", "learning")
    clean = sines(duration=duration)
    motion = _noisy(clean, noise)
    loss = TorqueLoss(iiwa(), dataset(motion))
    judge = loss if noise == 0.0 else TorqueLoss(iiwa(), dataset(clean))
    found = {"casid on line": _online(motion, noise, judge)}
    for kind in _KINDS:
        own = loss if PARAMETRISATIONS[kind].symmetric else TorqueLoss(iiwa(), dataset(motion), symmetric=False)
        found[kind] = _ladder(kind, motion, own)
    check = clean.rows(slice(None, None, 16))
    for network in map(network_of, NETWORKS):
        found[network.name] = _network(network, motion, check)
    return found


@row("on-line sequential batches of 256: NMSE on the whole set", "casid below every other from the second batch on",
     "Fig. 1", quick=(_NOISE[1:], 10.0), left_out="torques without noise, two thirds of the samples")  # fmt: skip
def sequential(noises: tuple[float, ...] = _NOISE, duration: float = DURATION_SEQUENTIAL) -> tuple[str, bool]:
    """Whether casid's on-line estimate is below every other from the second batch on."""
    texts, ok = [], True
    for noise in noises:
        found = curves_sequential(noise, duration)
        own = np.array(found.pop("casid on line"))
        others = np.array(list(found.values()))
        ok &= bool((own[1:] < others[:, 1:].min(axis=0)).all())
        at = [1, len(own) // 4, len(own) - 1]
        rows = {"casid on line": own, **{name: np.array(v) for name, v in found.items()}}
        texts.append(
            f"noise {noise:.0%}, after batches {', '.join(str(k + 1) for k in at)}: "
            + ", ".join(f"{name} {' / '.join(f'{row[k]:.2g}' for k in at)}" for name, row in rows.items())
        )
    return "; ".join(texts), ok
