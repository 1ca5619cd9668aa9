"""The ten parameters of a link: conversions, pseudo-inertia, consistency."""

import numpy as np
import pytest

from casid import inertia
from casid.errors import DatasetError
from casid.inertia import PSEUDO_INERTIA_MAP, tensor_entries
from casid.testing import random_placement, standard_parameters
from tests.helpers import spatial_inertia


def test_standard_parameters_follow_the_parallel_axis_theorem(body):
    np.testing.assert_allclose(inertia.to_standard(*body), standard_parameters([body]), atol=1e-14)


def test_conversion_round_trip(body):
    mass, com, about_com = inertia.from_standard(inertia.to_standard(*body))
    assert mass == pytest.approx(body.mass)
    np.testing.assert_allclose(com, body.com, atol=1e-14)
    np.testing.assert_allclose(about_com, body.inertia, atol=1e-14)


def test_numbers_too_large_to_compute_with_are_refused():
    with np.errstate(all="raise"):
        for made in (
            lambda: inertia.from_standard([0.0] * 6 + [1e300, 0, 0, 1e-3]),
            lambda: inertia.to_standard(1e308, [9, 9, 9], np.eye(3)),
        ):
            with pytest.raises(DatasetError, match="too large to compute with; SI units"):
                made()


def test_pseudo_inertia_is_the_second_moment_of_the_mass(body):
    # four point masses with known moments: J = sum m [r; 1] [r; 1]'
    rng = np.random.default_rng(1)
    points, masses = rng.normal(size=(4, 3)), rng.uniform(0.5, 2.0, 4)
    lifted = np.hstack([points, np.ones((4, 1))])
    expected = (lifted.T * masses) @ lifted
    L = sum(m * (r @ r * np.eye(3) - np.outer(r, r)) for m, r in zip(masses, points, strict=True))
    pi = np.concatenate([tensor_entries(L), masses @ points, [masses.sum()]])
    np.testing.assert_allclose(inertia.pseudo_inertia(pi), expected, atol=1e-13)
    np.testing.assert_allclose(inertia.from_pseudo_inertia(expected), pi, atol=1e-13)
    np.testing.assert_allclose(PSEUDO_INERTIA_MAP @ pi, expected.ravel(), atol=1e-13)


def test_a_body_in_another_frame(body):
    placement = random_placement(np.random.default_rng(2))
    R, t = placement[:3, :3], placement[:3, 3]
    moved = inertia.express_in(inertia.to_standard(*body), R, t)
    expected = inertia.to_standard(body.mass, R @ body.com + t, R @ body.inertia @ R.T)
    np.testing.assert_allclose(moved, expected, atol=1e-13)


def test_conventions_round_trip_and_order():
    pi = np.arange(10.0)
    m, mcx, _, _, xx, xy, yy, xz, yz, zz = inertia.to_pinocchio(pi)
    assert (xx, xy, xz, yy, yz, zz, mcx, m) == (0, 1, 2, 3, 4, 5, 6, 9)
    np.testing.assert_array_equal(inertia.from_pinocchio(inertia.to_pinocchio(pi)), pi)


def test_pinocchio_agrees_on_the_order(body):
    pin = pytest.importorskip("pinocchio", reason="needs the extra peers")
    theirs = pin.Inertia(body.mass, body.com, body.inertia).toDynamicParameters()
    np.testing.assert_allclose(inertia.to_pinocchio(inertia.to_standard(*body)), theirs, atol=1e-14)


@pytest.mark.parametrize(
    ("mass", "moments", "full", "semi", "words"),
    [
        (-1.0, (1.0, 1.0, 1.0), False, False, "mass is -1 kg"),
        (0.0, (0.0, 0.0, 0.0), False, False, "must be positive"),
        (1.0, (1.0, -0.1, 1.0), False, False, "not positive definite"),
        (1.0, (1.0, 1.0, 2.5), False, True, "triangle inequality"),
        (1.0, (1.0, 1.0, 1.9), True, True, ""),
    ],
)
def test_consistency_names_what_is_wrong(mass, moments, full, semi, words):
    margins = inertia.consistency(inertia.to_standard(mass, [0.1, 0.2, 0.3], np.diag(moments)))
    assert (margins.full, margins.semi) == (full, semi)
    assert words in margins.complaint() and bool(words) == bool(margins.complaint())
    assert full == (margins.pseudo_inertia_margin > 0)


@pytest.mark.parametrize("seed", range(5))
def test_semi_consistency_is_the_positive_definite_spatial_inertia(seed):
    rng = np.random.default_rng(seed)
    pi = rng.normal(size=10)
    pi[9] = abs(pi[9])
    positive = np.linalg.eigvalsh(spatial_inertia(pi))[0] > 0
    assert positive == inertia.consistency(pi).semi
    assert inertia.consistency(pi).full == (np.linalg.eigvalsh(inertia.pseudo_inertia(pi))[0] > 0)
