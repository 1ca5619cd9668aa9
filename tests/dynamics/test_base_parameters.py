"""Base parameters: rank, selection, groupings."""

import numpy as np
import pytest

from casid import Model
from casid.dynamics import base_parameters, linear_form, regroup, stacked_regressor
from casid.errors import DatasetError, UnknownNameError
from casid.testing import random_robot


def brute_force_rank(model):
    """Rank by singular values of the regressor at many states: another algorithm, other states."""
    rng = np.random.default_rng(99)
    Y = np.vstack([model.regressor(*rng.uniform(-3, 3, (3, model.n))) for _ in range(15 * model.n)])
    lengths = np.linalg.norm(Y, axis=0)
    s = np.linalg.svd(Y[:, lengths > 0] / lengths[lengths > 0], compute_uv=False)
    return int((s > 1e-9 * s[0]).sum())


@pytest.mark.parametrize("seed", range(4))
def test_rank_and_K_of_random_trees(seed):
    model = Model(random_robot(seed, n=5, shifted_links=bool(seed % 2)), terms=("viscous", "rotor") if seed > 1 else ())
    base = model.base
    assert base.rank == brute_force_rank(model)
    np.testing.assert_array_equal(base.K[:, list(base.independent)], np.eye(base.rank))
    rng = np.random.default_rng(seed)
    for _ in range(5):
        Y = model.regressor(*rng.uniform(-3, 3, (3, model.n)))
        np.testing.assert_allclose(Y[:, list(base.independent)] @ base.K, Y, atol=1e-11 * abs(Y).max())


def test_deterministic_and_independent_of_the_samples():
    model = Model(random_robot(1, n=4))
    assert stacked_regressor(model, 7).shape == (28, 40) and stacked_regressor(model).shape == (6 * 40, 40)
    np.testing.assert_allclose(base_parameters(model, 77).K, model.base.K, atol=1e-9)
    again = Model(random_robot(1, n=4))
    np.testing.assert_array_equal(model.base.K, again.base.K)
    assert model.base.expressions == again.base.expressions


def test_leading_parameters_are_the_first_independent_ones_from_the_left():
    rng = np.random.default_rng(0)
    a, b, c = rng.normal(size=(3, 20))
    base = regroup(np.stack([0 * a, a, 2 * a, b, a - 0.5 * b, c], axis=1), list("zabcde"))
    assert base.names == ("a", "c", "e")
    assert base.expressions == ("a + 2*b + d", "c - 0.5*d", "e")
    assert base.unidentifiable == ("z",)
    np.testing.assert_allclose(base.values([1, 1, 1, 1, 1, 1]), [4, 0.5, 1])
    assert base.row("c") == 1
    with pytest.raises(UnknownNameError, match="'b' leads no base parameter"):
        base.row("b")


@pytest.mark.parametrize("share", [(54321.25, -0.375), (1234.5, 0.1), (0.316, np.sqrt(2) / 3)])
def test_coefficients_are_tidied_in_their_own_size_and_true_ones_are_not_changed(share):
    """Rounding grows with the largest: 1234.5 is found where a column is 1234.5 times another."""
    a, b = np.random.default_rng(4).normal(size=(2, 40))
    base = regroup(np.stack([a, b, share[0] * a + share[1] * b], axis=1), ["a", "b", "c"])
    assert base.K[0, 2] == share[0]
    assert base.K[1, 2] == pytest.approx(share[1], abs=1e-14 if share[0] < 1 else 1e-9)


def test_coefficients_below_the_decimals_are_kept_where_the_column_needs_them():
    """A column of a hundred-billionth: its share of the second, below the decimals, is 5 % of it."""
    rng = np.random.default_rng(5)
    a, b = np.linalg.qr(rng.normal(size=(40, 2)))[0].T
    tiny = 1e-11 * a + 5e-13 * b
    base = regroup(np.stack([a, b, tiny], axis=1), ["a", "b", "c"])
    np.testing.assert_allclose(base.K[:, 2], [1e-11, 5e-13], rtol=1e-3)


def test_linear_form_in_words():
    names = ["x", "y", "z", "w"]
    assert linear_form([1, -1, 0.3, 0.3], names) == "x - y + 0.3*(z + w)"
    assert linear_form([-2, 0, 0, 1], names) == "-2*x + w"
    assert linear_form([0, 0, 0, 0], names) == "0"
    assert linear_form([0.001, 0.0010005], ["a", "b"]) == "0.001*a + 0.0010005*b"  # not equal
    assert linear_form([1e4, 1e4 + 1e-6], ["a", "b"]) == "10000*(a + b)"  # equal to ten digits


@pytest.mark.parametrize(
    ("W", "words"),
    [(np.ones(2), "expected 2 columns, got shape"), (np.ones((5, 3)), "expected 2 columns, got shape"),
     (np.ones((5, 2, 2)), "expected 2 columns, got shape"), (np.zeros((3, 2)), "every column is zero"),
     ([[1.0, 1.0], [1.0, np.nan]], "row 1, column 'b'")],
)  # fmt: skip
def test_bad_observation_matrices(W, words):
    with pytest.raises(DatasetError, match=words):
        regroup(W, ["a", "b"])


def test_a_column_far_smaller_than_the_others_counts_and_rounding_does_not():
    a, b = np.eye(6)[:2]
    assert regroup(np.stack([a, 1e-10 * b], axis=1), ["a", "b"]).names == ("a", "b")
    assert regroup(np.stack([a, 1e-13 * b], axis=1), ["a", "b"]).unidentifiable == ("b",)


@pytest.mark.parametrize("angle", [np.pi / 2, 0.3, 1e-6])
def test_the_margin_is_the_sine_of_the_angle_to_the_columns_before(angle):
    W = np.array([[1.0, 3.0 * np.cos(angle)], [0.0, 3.0 * np.sin(angle)], [0.0, 0.0]])
    assert regroup(W, ["a", "b"]).margin == pytest.approx(np.sin(angle))
