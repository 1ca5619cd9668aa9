"""The compiled loop is the loop in Python."""

from __future__ import annotations

import numpy as np
import pytest

from casid.control import ComputedTorque
from casid.motion import Sine
from casid.simulation import (
    Plant,
    Sensor,
    simulate,
)
from casid.simulation._loop import recorded
from casid.simulation._plant import Sampling
from casid.simulation._result import End
from casid.simulation.integrators import RungeKutta4


@pytest.mark.parametrize(("delay", "sensor"), [(0.0, None), (2e-3, Sensor(1e-4, 1e-3, 0.1, seed=3)), (5e-4, None)])
def test_compiled_loop_is_the_loop_in_python(
    panda: tuple[Plant, ComputedTorque, Sine], delay: float, sensor: Sensor | None
) -> None:
    options = {"integrator": RungeKutta4(5e-4), "rate": 500.0, "delay": delay, "sensor": sensor}
    one, other = (simulate(*panda, 0.2, compiled=compiled, **options) for compiled in (True, False))  # type: ignore[arg-type]
    for name in ("q", "dq", "tau", "command", "work", "dissipated"):
        assert np.abs(getattr(one, name) - getattr(other, name)).max() < 1e-10, name
    if delay == 2e-3:  # one period: the command of a sample acts at the next
        assert np.array_equal(one.tau[1:], one.command[:-1])
        assert (one.tau[0] == 0).all()


def test_samples_up_to_an_end() -> None:
    sampling = Sampling(1.0, 100.0)
    assert recorded(End(1.0), sampling) == 101
    assert recorded(End(0.5), sampling) == 51
    assert recorded(End(0.505), sampling, every=10) == 6
