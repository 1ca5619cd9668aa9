"""Ranges of single operations."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

from casid.expressions import as_function, enclose
from casid.expressions._interval_rules import BINARY, UNARY

N = 4


UNARY_CODES, BINARY_CODES = sorted(UNARY), sorted({*BINARY} - {ca.OP_PRINTME})


@pytest.mark.parametrize("code", UNARY_CODES)
def test_every_unary_operation_is_enclosed_and_none_is_forgotten(x, code):
    rng = np.random.default_rng(code)
    function = as_function(ca.SX.unary(code, x[0]), x)
    ends = np.sort(rng.choice([*rng.normal(0, 3, 40), 0, 1, -1, np.pi, np.pi / 2, -np.pi, 400, 1e7], (2, 300)), axis=0)
    (found,) = enclose(function, np.tile(ends[0], (N, 1)), np.tile(ends[1], (N, 1)))
    shares = rng.random((300, 30))
    points = np.clip(ends[0][:, None] + shares * np.ptp(ends, axis=0)[:, None], ends[0][:, None], ends[1][:, None])
    values = np.array(function.map(points.size)(np.tile(points.reshape(-1), (N, 1)))).reshape(points.shape)
    nan = np.isnan(values)
    assert (nan <= np.broadcast_to(found.undefined, 300)[:, None]).all()
    assert (nan | ((values >= found.low[:, None]) & (values <= found.high[:, None]))).all()
    if code != ca.OP_ERFINV:
        assert (np.isfinite(found.low) & np.isfinite(found.high)).any()


@pytest.mark.claim("a power of minus infinity, where a base overflows, lies in its range")
@pytest.mark.parametrize("exponent", [0.5, 1.3, -0.7])
def test_powers_of_minus_infinity(exponent):
    x = ca.SX.sym("x", 2)
    function = as_function(x[0] ** x[1], x)
    point = np.array([-np.inf, exponent])
    (found,) = enclose(function, point, point)
    assert found.low <= float(function(point)) <= found.high
