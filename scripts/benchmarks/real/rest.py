"""Rest that is added to real recordings: errors while moving, and masses, are those without it."""

from __future__ import annotations

from itertools import product

import numpy as np

from benchmarks.measure import Rows
from benchmarks.real import robots
from casid.identification import Checks, Identification, identify
from casid.measurement import Dataset

row = Rows()

#: Robots, shares of the time at rest, and where.
NAMES, SHARES, PLACES = ("Rokae", "UR10e"), (0.1, 0.5, 0.8), ("within", "ends")


def rested(data: Dataset, share: float, where: str) -> Dataset:
    """The recording with rest for a share of its time, where it is slowest or at its ends; noise as it has."""
    rng, N = np.random.default_rng(0), len(data)
    speed = np.abs(np.gradient(data.q, axis=0)).max(axis=1)
    middle = slice(N // 10, N - N // 10)
    places = [N // 10 + int(np.argmin(speed[middle]))] if where == "within" else [0, N - 1]
    repeats = np.ones(N, dtype=int)
    repeats[places] += int(share / (1.0 - share) * N) // len(places)
    order = np.repeat(np.arange(N), repeats)
    noise = rng.normal(size=(len(order), data.n)) * (repeats[order] > 1)[:, None]
    tau = data.tau[order] + noise * np.diff(data.tau, n=3, axis=0).std(axis=0) / np.sqrt(20)
    t = np.asarray(np.arange(len(order)) * data.period, dtype=np.float64)
    return Dataset(t, data.q[order] + 1e-6 * noise, tau, name=data.name)


def _found(name: str, data: Dataset) -> tuple[Identification, float]:
    found = identify(robots.blind(robots.recording_of(name)[0]), data, checks=Checks(verdict=False))
    assert found.held_out is not None
    return found, found.held_out.tested["consistent"].total


@row("rest added to recordings, 10 to 80 % of the time, within and at the ends", "error, masses within 3 %", "2.3 x",
     quick=(("UR10e",), (0.8,)), left_out="one robot, other shares")  # fmt: skip
def rest(names: tuple[str, ...] = NAMES, shares: tuple[float, ...] = SHARES) -> tuple[str, bool]:
    """Largest ratio of held-out errors, and difference of masses, to those without rest."""
    texts, met = [], True
    for name in names:
        data = robots.recording_of(name)[1]
        t = np.asarray(np.arange(len(data)) * data.period, dtype=np.float64)
        data = Dataset(t, data.q, data.tau, name=data.name)
        own, error = _found(name, data)
        ratios, away = [], []
        for share, where in product(shares, PLACES):
            other, now = _found(name, rested(data, share, where))
            ratios.append(now / error)
            away.append(float(np.abs(other.standard_parameters[9::10] / own.standard_parameters[9::10] - 1.0).max()))
        texts.append(f"{name}: error x {max(ratios):.3f}, masses {100 * max(away):.1f} %")
        met = met and max(ratios) <= 1.03 and max(away) <= 0.03
    return "; ".join(texts), met
