"""Bounded or normal errors at poses: the more probable kind is taken, whatever the number of poses."""

from __future__ import annotations

import numpy as np
import pytest

from casid.identification.loads._bounded_errors import _bounded_are_likelier, _integral, _uniform_draws


@pytest.mark.parametrize("d", [1, 4, 11])
def test_the_integral_of_a_normal_density(d):
    rng = np.random.default_rng(d)
    root = np.tril(rng.normal(size=(d, d))) + 3 * np.eye(d)
    middle = rng.normal(size=d)
    found = _integral(lambda z: -0.5 * (np.linalg.solve(root, (z - middle).T) ** 2).sum(axis=0), middle, root @ root.T)
    assert found == pytest.approx(d / 2 * np.log(2 * np.pi) + np.log(np.diag(root)).sum(), abs=0.1)


@pytest.mark.claim("normal errors of few poses are not taken for bounded ones")
@pytest.mark.parametrize("joints", [1, 7])
def test_the_kind_of_errors_that_is_there_is_taken(joints):
    right = {"normal": 0, "uniform": 0}
    for seed in range(10):
        rng = np.random.default_rng(seed)
        U = np.linalg.qr(rng.normal(size=(15 * 7, 11)))[0]
        owner = np.repeat(np.arange(joints), 105 // joints)
        for kind, errors in (("normal", rng.normal(size=105)), ("uniform", rng.uniform(-1, 1, 105))):
            y = U @ rng.normal(size=11) + errors
            found = _bounded_are_likelier(U, y, owner, _uniform_draws(U, y, owner))
            right[kind] += found is (kind == "uniform")
    assert right["normal"] >= 9 and right["uniform"] >= 8
