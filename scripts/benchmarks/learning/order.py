"""Row: order of the ladder, epochs of Adam until a target, over a fine grid of targets.

The paper's copy leaves target, rate, loss, periods and amplitudes blank, and eq. 3 says nothing of the centre of mass.
Each reading fills the blanks in one way. ``python scripts/benchmarks/learning/order.py PICTURE.png`` draws the row.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from functools import cache, partial
from itertools import groupby
from pathlib import Path
from textwrap import wrap

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray

from casid.arrays import Array

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.learning.data import BATCH, dataset, iiwa, one_sine, sines
from benchmarks.measure import Measure
from benchmarks.picture import write_picture
from casid.learning import Adam, Chart, TorqueLoss, train
from casid.learning._parametrisations import PARAMETRISATIONS
from casid.report import MUTED, new_figure, set_title, tidy

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
def _loss(symmetric: bool, one: bool, plain: bool) -> TorqueLoss:
    return TorqueLoss(iiwa(), dataset(one_sine() if one else sines()), np.ones(7) if plain else None, symmetric)


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


def _reached(name: str, reading: Reading, seeds: range) -> Array:
    """Epochs until each target of the grid, median over the seeds; inf where it is not reached."""
    kind = PARAMETRISATIONS[name]
    loss = _loss(kind.symmetric, reading.one, reading.plain)
    chart, rows = Chart(iiwa(), kind, COM if reading.known else ()), []
    for seed in seeds:
        start = _start(chart, seed, reading.known, reading.alike)
        run = train(
            loss, chart, reading.optimiser, epochs=reading.epochs, target=float(GRID[-1]), seed=seed, start=start
        )
        errors = np.array([epoch.nmse for epoch in run.epochs])
        rows.append([float(np.argmax(errors <= t)) if (errors <= t).any() else np.inf for t in GRID])
    return np.asarray(np.median(rows, axis=0))


def curves(readings: tuple[Reading, ...], seeds: range = SEEDS) -> list[Array]:
    """Of each reading: epochs of each rung to each target, shape (rungs, targets)."""
    found = Parallel(n_jobs=2)(delayed(_reached)(name, reading, seeds) for reading in readings for name in RUNGS)
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


def _shown(epochs: Array, k: int) -> str:
    numbers = " / ".join("-" if np.isinf(e) else f"{e:g}" for e in epochs[:, k])
    return f"{GRID[k]:.2g}: {numbers}"


def order_of_the_ladder(readings: tuple[Reading, ...] = READINGS, seeds: range = SEEDS) -> tuple[str, bool]:
    """For each reading the stretches of targets at which the paper's order holds, and what fails elsewhere."""
    texts, some = [], False
    for reading, epochs in zip(readings, curves(readings, seeds), strict=True):
        held = ordered(epochs)
        found = stretches(held)
        some = some or any(spans(stretch) for stretch in found)
        marks = sorted({k for stretch in found if spans(stretch) for k in (stretch[0], sum(stretch) // 2, stretch[1])})
        where = ", ".join(f"{GRID[a]:.2g} to {GRID[b]:.2g} ({b - a + 1} targets)" for a, b in found) or "nowhere"
        text = f"{reading.words} (<= {reading.epochs} epochs): in order at {where}"
        if not held.all():
            text += f"; elsewhere {_outside(epochs, held)}"
        texts.append(f"{text}; at " + ", ".join(_shown(epochs, k) for k in marks or (5, 15, 25)))
    return f"{' / '.join(RUNGS)}, median of {len(seeds)} seeds. " + ". ".join(texts), some


ROWS = [
    Measure("order of the ladder with Adam: epochs to 36 targets from 0.3 to 1e-4, seven readings of what is blank",
            "NoStr > Symm > SPD, Tri, Cov in one reading on 3 targets or more in a row, a factor of 2 apart in all",
            PAPER, order_of_the_ladder, partial(order_of_the_ladder, READINGS[:1], range(3)),
            "six of seven readings, two of five seeds"),
]  # fmt: skip


def main(picture: str) -> None:
    """Draw epochs over targets for every reading; shaded where the paper's order holds."""
    figure = new_figure(11.0, 6.4)
    set_title(figure, "Epochs of Adam until the worst joint's NMSE is at most a target")
    grid = figure.subplots(2, 3, sharex=True)
    readings = tuple(reading for reading in READINGS if not reading.alike)
    for axes, reading, epochs in zip(grid.flat, readings, curves(readings), strict=True):
        for first, last in stretches(ordered(epochs)):
            axes.axvspan(GRID[first] * 1.12, GRID[last] / 1.12, color=MUTED, alpha=0.18, linewidth=0)
        for name, row in zip(RUNGS, epochs, strict=True):
            axes.loglog(GRID, np.where(np.isinf(row), np.nan, np.maximum(row, 1)), label=name, linewidth=1.6)
        axes.set_title("\n".join(wrap(reading.words, 48)), fontsize=8)
        axes.axhline(reading.epochs, color=MUTED, linewidth=0.8, linestyle=":")
        tidy(axes)
    grid[0, 0].invert_xaxis()
    for axes in grid[1]:
        axes.set_xlabel("target")
    for axes in grid[:, 0]:
        axes.set_ylabel("epochs, median of five seeds")
    grid[0, 0].legend(frameon=False, fontsize=8)
    write_picture(figure, picture)


if __name__ == "__main__":
    from benchmarks.learning.order import main as imported  # worker processes find its functions by this name

    imported(sys.argv[1])
