"""Laws of the drives in C: dry friction solves the complementarity problem of every joint."""

import ctypes

import casadi as ca
import numpy as np
import pytest

from casid.codegen._compiler import Program
from casid.output_error._step_laws import LAWS

#: The part before the recursion, with an entry.
ENTRY = (
    "#define N 4\n#include <math.h>\n" + LAWS.split("#define PAR")[0] +
    """
int casid_friction(const double *H_, const double *r, const double *fc, double h, int *mode, int *sticks, double *v)
{
    double H[N][N], L[N][N];
    int set[N], size, i;
    for (i = 0; i < N * N; ++i) H[i / N][i % N] = H_[i];
    return step_velocity((const double (*)[N])H, r, fc, h, mode, sticks, L, set, &size, v);
}
"""
)  # fmt: skip


@pytest.fixture(scope="module")
def friction():
    x = ca.SX.sym("x")
    entry = Program((ca.Function("unused", [x], [x]),), lambda built: ENTRY, "friction", (ENTRY,)).load().casid_friction

    def solved(H, r, fc, h, mode, sticks):
        mode, sticks, v = (np.array(mode, dtype=np.intc), np.array(sticks, dtype=np.intc), np.zeros(4))
        held = [np.ascontiguousarray(a, dtype=float) for a in (H, r, fc)]
        places = [ctypes.c_void_p(a.ctypes.data) for a in (*held, mode, sticks, v)]
        assert entry(*places[:3], ctypes.c_double(h), *places[3:]) == 0
        return v, mode

    return solved


@pytest.mark.parametrize("seed", range(40))
def test_friction_is_complementary(friction, seed):
    """``H v = r - h f`` with ``f = fc sign(v)`` where a joint slides and ``|f| <= fc`` where it stands."""
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(4, 4))
    H, r, fc, h = root @ root.T + 0.1 * np.eye(4), rng.normal(size=4), rng.uniform(0, 400, 4), 1e-3
    fc[seed % 4] = 0.0
    for first in ([1, 1, 1, 1], [0, 0, 0, 0], [-1, 1, 0, -1]):  # the solution does not depend on the first modes
        first = np.where(fc > 0, first, 0)
        v, _ = friction(H, r, fc, h, first, (first == 0) & (fc > 0))
        f = (r - H @ v) / h
        slides = np.abs(v) > 1e-12
        assert f[slides] == pytest.approx((fc * np.sign(v))[slides], abs=1e-7)
        assert np.all(np.abs(f) <= fc + 1e-7)
