"""The log-det divergence: derivatives against finite differences, its maps, and where it is infinite."""

from __future__ import annotations

import numpy as np
import pytest

from casid.inertia import (
    PSEUDO_INERTIA_MAP,
    STANDARD_MAP,
    TRIANGLE_MAP,
    Divergence,
    congruence,
    divergence_hessian,
    divergence_root,
    from_svec,
    log_det_function,
    lower_triangle,
    pseudo_inertia,
    symmetric,
    to_standard,
    to_svec,
)

BODIES = np.stack(
    [
        to_standard(3.0, [0.02, -0.01, 0.1], np.diag([0.03, 0.025, 0.02])),
        to_standard(0.4, [0.0, 0.05, 0.0], np.diag([1e-3, 2e-3, 1.5e-3])),
    ]
)
REFERENCES = np.stack([to_standard(m, [0.0, 0.0, 0.05], np.diag([0.02, 0.02, 0.01]) * m) for m in (2.0, 1.0)])
MAPS = {
    "standard": PSEUDO_INERTIA_MAP,
    "triangle": TRIANGLE_MAP,
    "orthonormal": from_svec(np.eye(10)).reshape(10, 16).T,
}


def test_the_value_is_that_of_its_definition_and_zero_at_the_reference():
    J, J0 = pseudo_inertia(BODIES), pseudo_inertia(REFERENCES)
    ratio = np.linalg.solve(J0, J)
    expected = np.trace(ratio, axis1=1, axis2=2) - np.log(np.linalg.det(ratio)) - 4.0
    assert Divergence(J0).value(J) == pytest.approx(expected, rel=1e-10)
    assert Divergence(J0).value(J0) == pytest.approx([0.0, 0.0], abs=1e-12)


@pytest.mark.parametrize("name", MAPS)
def test_gradient_and_hessian_are_those_of_finite_differences(name):
    basis, J = MAPS[name], pseudo_inertia(BODIES)
    divergence = Divergence(pseudo_inertia(REFERENCES))
    gradient, hessian = divergence.gradient(J, basis), divergence_hessian(J, basis)
    steps = 1e-6 / np.sqrt(np.einsum("kii->ki", hessian))
    for i in range(10):
        move = steps[:, i, None, None] * basis[:, i].reshape(4, 4)
        slope = (divergence.value(J + move) - divergence.value(J - move)) / (2 * steps[:, i])
        curve = (divergence.gradient(J + move, basis) - divergence.gradient(J - move, basis)) / (2 * steps[:, i, None])
        size = np.sqrt(np.einsum("kii->ki", hessian))
        assert np.abs(slope - gradient[:, i]).max() <= 1e-6 * (1 + np.abs(gradient).max())
        assert (np.abs(curve - hessian[:, i]) <= 1e-6 * size * size[:, i, None]).all()
    root = divergence_root(J, basis)
    assert np.swapaxes(root, 1, 2) @ root == pytest.approx(hessian, rel=1e-12)


def test_the_function_of_casadi_is_the_logarithm_of_the_determinant():
    J = pseudo_inertia(BODIES)[0]
    assert float(log_det_function()(lower_triangle(J))) == pytest.approx(np.linalg.slogdet(J)[1], rel=1e-12)


@pytest.mark.claim("a matrix with two negative eigenvalues has an infinite divergence, though its determinant is > 0")
def test_the_divergence_is_infinite_outside_the_cone():
    J0 = pseudo_inertia(REFERENCES)
    outside = np.diag([-1.0, -1.0, 1.0, 1.0])
    assert np.isinf(Divergence(J0[0]).value(outside))
    assert np.isinf(Divergence(outside).value(J0[0]))
    mixed = Divergence(J0).value(np.stack([outside, J0[1]]))
    assert np.isinf(mixed[0]) and mixed[1] == pytest.approx(0.0, abs=1e-12)


def test_maps_are_bijections_and_svec_keeps_inner_products():
    rng = np.random.default_rng(0)
    y, z = rng.normal(size=(2, 10))
    S, Z = symmetric(y), symmetric(z)
    assert (lower_triangle(S) == y).all() and (S == S.T).all()
    assert to_svec(S) @ to_svec(Z) == pytest.approx(float(np.sum(S * Z)))
    assert from_svec(to_svec(S))[0] == pytest.approx(S)
    assert (TRIANGLE_MAP @ y).reshape(4, 4) == pytest.approx(S)
    assert STANDARD_MAP @ pseudo_inertia(BODIES[0]).ravel() == pytest.approx(BODIES[0], abs=1e-12)
    factor = np.linalg.cholesky(pseudo_inertia(BODIES[0]))
    assert congruence(factor) @ lower_triangle(np.eye(4)) == pytest.approx(BODIES[0], abs=1e-12)
