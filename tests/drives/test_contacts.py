"""Searches where joints have play."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from casid.drives import FREE, FreeRuns, Servo
from casid.drives._contacts import has_play, restarted, shaken, softened
from casid.drives._runs import Point
from casid.drives._search import Search
from casid.testing import broadband_commands, commanded_motion

TRUE = Servo(kp=[12.0, 9.0], armature=0.02, viscous=0.4, coulomb=0.1, bias=0.003, delay=0.01)
T = np.arange(400) * 0.02


@pytest.fixture(scope="module")
def played(arm):
    """A search about two unknowns of an arm whose first joint has play, and a start at 1.1 times their values."""
    weightless = replace(arm, gravity=np.zeros(3))
    given = replace(TRUE, bias=0.0, viscous=[FREE, 0.4], backlash=[FREE, 0.0])
    truth = replace(given, viscous=0.4, backlash=[0.03, 0.0])
    data = [
        commanded_motion(weightless, truth, T, broadband_commands(T, [0.5, -0.3], 0.7, seed=k, highest=2.5), noise=3e-4,
                         step=1e-3, seed=k, name=f"motion {k}")
        for k in range(2)
    ]  # fmt: skip
    runs = FreeRuns(weightless, given, data, 2.5e-3, 4.0, threads=1)
    values = np.array([0.4, 0.03])
    return Search(runs, budget=np.inf), runs.point(1.1 * values), values


@pytest.mark.claim("searches from shaken starts find the minimum of a rough cost that plain Gauss-Newton stops before")
def test_shaken_starts_find_a_lower_minimum(played):
    search, start, values = played
    plainly = search.run(restarted(search, start), 16)[0]
    best, scatter = shaken(search, plainly)
    assert search.value(best) < search.value(plainly)
    assert best.theta == pytest.approx(values, rel=0.02)
    sd = np.sqrt(np.diag(scatter))
    assert np.all(sd > 0) and np.all(sd < 0.1 * values)
    assert has_play(search.runs, values) and not has_play(search.runs, np.array([0.4, 0.0]))


@pytest.mark.claim("derivatives of soft contacts are nearer to finite changes of the motion than those of hard ones")
def test_soft_contacts_give_the_trend_and_hard_ones_the_errors(played):
    search, start, values = played
    point = restarted(search, Point(values, start.starts))
    search.rescale(point)
    hard, soft = search.normal(point), softened(search, point)
    assert soft.squares == pytest.approx(hard.squares)
    change = np.array([0.0, 0.01 * values[1]])
    ends = [search.runs.simulate(Point(values + side * change, point.starts)) for side in (1, -1)]
    secant = sum(float(((a - b) ** 2).sum()) for a, b in zip(*ends, strict=True)) / (2 * change[1]) ** 2
    weight = 1.0 / (search.scale**2 * search.inflation)
    curvature = [sum(block.A[1, 1] for made in one.blocks for block in made) / weight for one in (hard, soft)]
    assert abs(np.log(curvature[1] / secant)) < abs(np.log(curvature[0] / secant))


@pytest.mark.claim("a piece whose joint began at the wrong end of its play is run from the other")
def test_pieces_begin_at_the_end_of_the_play_that_costs_least(arm):
    known = Servo(kp=[12.0, 9.0], armature=0.02, viscous=0.4, coulomb=0.1, bias=0.0, delay=0.0, backlash=[FREE, 0.04])
    weightless = replace(arm, gravity=np.zeros(3))
    data = commanded_motion(weightless, replace(known, backlash=0.04), T, broadband_commands(T, [0.5, -0.3], 0.7))
    runs = FreeRuns(weightless, known, [data.rows(slice(60, 400))], 2e-3, np.inf, threads=1)
    search = Search(runs, scale=3e-4)
    ends = {}
    for name, shift in {"one": 0.0, "other": 1.0}.items():
        point = runs.point(np.array([0.04]))
        sides = restarted(search, point).starts[0][4:6] if name == "one" else ends["one"]
        point.starts[0][4:6] = sides + shift * np.where(sides == 0.0, 0.04, 0.0)
        ends[name] = restarted(search, point).starts[0][4:6]
        assert search.value(restarted(search, point)) <= search.value(point)
    assert ends["other"] == pytest.approx(ends["one"], abs=0.03)
