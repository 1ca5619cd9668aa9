"""Friction laws by name."""

import casadi as ca
import numpy as np
import pytest

from casid.dynamics.terms import FRICTION_MODELS, Friction, JointFriction, JointSignals, friction_model


@pytest.mark.parametrize("name", FRICTION_MODELS)
def test_laws_have_as_many_columns_as_amplitudes_and_vanish_where_they_should(name):
    law = friction_model(name)
    symbols = [ca.SX.sym(x) for x in ("q", "dq", "ddq", "sign", "load", "signal")]
    s = JointSignals(0, *symbols, ca.SX.sym("memory", law.memory))
    theta = law.candidates(2.0)[0]
    assert len(theta) == len(law.shape) and all(
        low <= x <= high for low, x, high in zip(law.lower(2.0), theta, law.upper(2.0), strict=True)
    )
    columns = law.columns(s, theta)
    assert len(columns) == len(law.amplitudes)
    f = ca.Function("f", list(s[1:]), [ca.vertcat(*columns)])
    assert np.isfinite(f(0.3, -1.5, 0.2, -1.0, 4.0, 0.0, np.full(law.memory, 0.5)).full()).all()
    backward = Friction((JointFriction(law, theta),)).terms(["joint1"])
    assert [t.symbol for t in backward] == [a.symbol for a in law.amplitudes]
    assert all(t.loaded == law.loaded for t in backward)
