"""Physical consistency of a link."""

import numpy as np
import pytest

from casid import inertia
from casid.inertia._consistency import spatial_inertia


def test_consistency_of_a_real_body(body):
    margins = inertia.consistency(inertia.to_standard(*body))
    assert margins.full and margins.semi and margins.complaint() == ""
    assert margins.pseudo_inertia_margin > 0


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
    assert words in margins.complaint()


@pytest.mark.parametrize("seed", range(5))
def test_semi_consistency_is_the_positive_definite_spatial_inertia(seed):
    rng = np.random.default_rng(seed)
    pi = rng.normal(size=10)
    pi[9] = abs(pi[9])
    positive = np.linalg.eigvalsh(spatial_inertia(pi))[0] > 0
    assert positive == inertia.consistency(pi).semi
    assert inertia.consistency(pi).full == (np.linalg.eigvalsh(inertia.pseudo_inertia(pi))[0] > 0)
