"""Bases of motions and bounds of their derivatives."""

from __future__ import annotations

import numpy as np
import pytest

from casid.errors import DatasetError, ProblemError
from casid.motion import Basis, Fourier, Poses, QuinticSpline, Ramped, Trajectory
from tests.helpers import BASES, random_trajectory

MOTIONS = pytest.mark.parametrize("basis", BASES, ids=lambda basis: f"{type(basis).__name__}-{basis.size}")


@MOTIONS
def test_derivatives_are_those_of_the_positions(basis: Basis) -> None:
    start, end = basis.span
    t, h = np.linspace(start + 0.01, end - 0.01, 997), 1e-4
    t = t[np.min([np.abs(t - b) for b in (*basis.breaks, start)], axis=0) > 2 * h]
    for order in range(3):
        numeric = (basis.matrix(t + h, order) - basis.matrix(t - h, order)) / (2 * h)
        exact = basis.matrix(t, order + 1)
        assert np.abs(numeric - exact).max() <= 1e-6 * np.abs(exact).max()


@MOTIONS
def test_bounds_of_derivatives_hold(basis: Basis) -> None:
    trajectory = random_trajectory(basis)
    t = np.linspace(*basis.span, 5001)
    for order in range(4):
        reached = np.abs(trajectory.derivative(t, order)).max(axis=0)
        assert (reached <= basis.derivative_bound(trajectory.coefficients, order) * (1 + 1e-12)).all()


@MOTIONS
def test_a_constant_stands_still(basis: Basis) -> None:
    t = np.linspace(*basis.span, 50)
    assert basis.matrix(t) @ basis.constant(0.7) == pytest.approx(0.7)
    assert np.abs(basis.matrix(t, 1) @ basis.constant(0.7)).max() <= 1e-12


@pytest.mark.parametrize("basis", [QuinticSpline(10.0, 12), Ramped(Fourier(0.5, 4), 1.5)])
def test_starts_and_ends_at_rest(basis: Basis) -> None:
    trajectory = random_trajectory(basis)
    for order in (1, 2):
        assert np.abs(trajectory.derivative(basis.span, order)).max() <= 1e-12


def test_ramps_join_the_motion_smoothly() -> None:
    basis = Ramped(Fourier(0.5, 4), 1.5)
    trajectory = random_trajectory(basis)
    for instant in basis.motion.span:
        for order in range(3):
            before, after = trajectory.derivative([instant - 1e-9, instant + 1e-9], order)
            assert before == pytest.approx(after, abs=1e-7)


def test_the_two_fourier_forms_describe_the_same_motions() -> None:
    w = 0.5
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(2, 3))
    rates = w * np.arange(1, 4)
    t = np.linspace(0, 10, 40)
    velocity = Fourier(w, 3).matrix(t) @ np.concatenate([a, b, [0.2]])
    position = Fourier(w, 3, "position").matrix(t) @ np.concatenate([a / rates, -b / rates, [0.2]])
    written = (
        sum(a[k] / rates[k] * np.sin(rates[k] * t) - b[k] / rates[k] * np.cos(rates[k] * t) for k in range(3)) + 0.2
    )
    assert velocity == pytest.approx(written)
    assert position == pytest.approx(written)


def test_bad_settings_are_refused() -> None:
    for make in (
        lambda: Fourier(0.0, 3), lambda: Fourier(1.0, 0), lambda: Fourier(1.0, 2, "speed"),  # type: ignore[arg-type]
        lambda: QuinticSpline(1.0, 6), lambda: Ramped(Fourier(1.0, 2), 0.0), lambda: Poses(0),
    ):  # fmt: skip
        with pytest.raises(ProblemError):
            make()
    with pytest.raises(DatasetError, match=r"\(n, 5\)"):
        Trajectory(Fourier(1.0, 2), np.zeros((2, 4)))
    with pytest.raises(DatasetError, match="rate"):
        random_trajectory(Fourier(1.0, 2)).times(0.0)
