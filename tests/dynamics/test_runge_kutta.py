"""One step of the classical Runge-Kutta method."""

import casadi as ca
import numpy as np

from casid.dynamics._runge_kutta import rk4_step


def test_a_step_is_of_fourth_order():
    def error(h: float) -> float:
        return abs(float(rk4_step(lambda x, u: u * x, np.array([1.0]), -1.0, h)[0]) - np.exp(-h))

    assert 28 < error(0.2) / error(0.1) < 36  # the local error falls with h^5


def test_expressions_and_arrays_give_the_same_step():
    def f(x, u):
        return -x * x + u

    x = ca.SX.sym("x")
    step = ca.Function("step", [x], [rk4_step(f, x, 0.5, 0.1)])
    np.testing.assert_allclose(float(step(0.3)), rk4_step(f, np.array(0.3), 0.5, 0.1), rtol=1e-15)
