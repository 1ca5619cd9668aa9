"""Clocks, and which blocks of a table without names are positions, velocities and torques."""

from __future__ import annotations

import numpy as np
import pytest

from casid.description import load_robot
from casid.dynamics import Model
from casid.measurement._evidence import advances, blocks, clock_of, even_clock, rate_text
from casid.testing._synthetic import motion

T = np.arange(400) * 0.01


def test_the_clock_is_the_only_column_that_advances_evenly() -> None:
    counter, wave, jitter = np.arange(400.0), np.sin(T), T + 1e-3 * np.random.default_rng(0).normal(size=400)
    assert even_clock([counter, wave, jitter]) == 2  # samples are counted, not timed
    endless = np.where(np.arange(len(T)) % 7 == 3, np.inf, T)
    with np.errstate(all="raise"):
        assert even_clock([endless, wave, jitter]) == 2 and even_clock([endless]) is None
    assert even_clock([wave, np.cos(T)]) is None and even_clock([T, 2 * T]) is None
    assert even_clock([np.where(T > 2, np.nan, T)]) is None


def test_clocks_go_on() -> None:
    repeated, back = T.copy(), T.copy()
    repeated[5], back[5] = repeated[4], 0.0
    assert advances(T) and advances(repeated) and not advances(back) and not advances(0 * T)
    assert rate_text(1e3 * T, 1e-3) == "100 Hz" and rate_text(0 * T, 1.0) == "no rate"


def test_times_of_day_are_seconds() -> None:
    found = clock_of(np.array(["12:00:00.0", "12:00:00.5"]), "log")
    assert found is not None and found.tolist() == [0.0, 0.5]
    assert clock_of(np.array(["on", "off"]), "log") is None
    assert clock_of(np.array(["12:00:00", "late"]), "log") is None


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 0, 1), (1, 2, 0)])
def test_dynamics_tell_positions_velocities_and_torques(order: tuple[int, ...]) -> None:
    robot = load_robot("spatial_2r")
    t, q, dq, ddq = motion(2, 801, 2, speed=0.7)
    t = np.arange(801) * float(t[1])
    body = [0.3, 0.01, 0.02, 0.3, 0.01, 0.2, 0.1, 0.05, 0.1, 2.0, 0.2, 0.01, 0.01, 0.2, 0.01, 0.1, 0.2, 0.05, 0.1, 1.5]
    inverse = Model(robot).inverse_dynamics
    tau = np.array([inverse(*row, body) for row in zip(q, dq, ddq, strict=True)])
    parts = [q, dq, tau]
    table = [t, *(column for k in order for column in parts[k].T)]
    place = {k: [1 + 2 * order.index(k), 2 + 2 * order.index(k)] for k in range(3)}
    assert blocks(robot, t, range(1, 7), table) == {"q": place[0], "dq": place[1], "tau": place[2]}
    noise = [t, *np.random.default_rng(0).normal(size=(6, 801))]
    assert blocks(robot, t, range(1, 7), noise) is None
    assert blocks(robot, t, range(1, 6), table) is None
