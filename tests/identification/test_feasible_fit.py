"""Huber's weights of single samples are part of everything that follows the robust fit."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

import casid
from casid.dynamics import Model
from casid.identification import Checks, Choice, FeasibleFit, ModelOptions, feasible_regression, identify
from casid.identification._accuracy import determined
from casid.identification._regression import active_bounds
from casid.regression import compress, irls, residual_torques, wls
from casid.testing import recording, with_friction

FRICTION = ("viscous", "coulomb", "offset")
EXTRAS = {"viscous": 0.4, "coulomb": 0.3, "offset": -0.1, "load_friction": 0.05}


def disturbed(terms, seed=5):
    """Model, truth, and a noisy recording of which 4 % of the torques are 20 N.m too high."""
    model = Model(casid.load_robot("panda"), terms)
    truth = model.parameters(model.robot.standard_parameters(), [EXTRAS[term] for _ in range(7) for term in terms])
    data = recording(model, truth, samples=900, noise=0.05)
    tau = np.array(data.tau)
    tau[np.random.default_rng(seed).random(tau.shape) < 0.04] += 20.0
    return model, truth, replace(data, tau=tau)


@pytest.fixture(scope="module", params=[FRICTION, (*FRICTION, "load_friction")], ids=["plain", "load_friction"])
def case(request):
    model, truth, data = disturbed(request.param)
    start = wls(compress(model, data))
    return model, truth, data, start, irls(data, start)


@pytest.mark.claim("the consistent fit after a robust one keeps the weights of its samples")
@pytest.mark.slow
def test_consistency_costs_and_never_gains(case):
    model, truth, data, start, robust = case
    consistent = feasible_regression(robust, constraints=None)
    assert 1.0 - 1e-9 <= consistent.residual_ratio < 1.1
    exact = model.base.values(truth)
    forgetful = feasible_regression(replace(robust, data=compress(model, data)), constraints=None)
    plain = feasible_regression(start, constraints=None)

    def bias(fit):
        return np.linalg.norm(fit.beta - exact)

    assert bias(consistent) < 0.25 * min(bias(plain), bias(forgetful))


@pytest.mark.claim("a robust fit's objective is what it minimised, its errors are of the torques as measured")
def test_objective_is_weighted_and_errors_are_plain(case):
    model, _, data, _, robust = case
    residual = residual_torques(robust, data)
    np.testing.assert_allclose(robust.rms, np.sqrt((residual**2).mean(axis=0)), rtol=1e-9)
    assert robust.relative_error == pytest.approx(100 * np.linalg.norm(residual) / np.linalg.norm(data.tau), rel=1e-9)
    h = np.minimum(1.0, 1.345 / np.abs(residual * robust.weights))  # the weights at convergence
    assert robust.objective == pytest.approx(float((h * residual**2).sum(axis=0) @ robust.weights**2), rel=1e-3)
    assert robust.objective < 0.1 * float(robust.weights**2 @ (residual**2).sum(axis=0))
    # no other base parameters make the robust sum smaller
    rng = np.random.default_rng(0)
    for step in rng.normal(size=(5, model.base.rank)) * np.where(np.isfinite(robust.sd), robust.sd, 0.0):
        assert float(robust.weights**2 @ robust.data.squared_errors(robust.beta + step)) > robust.objective


@pytest.mark.claim("IRLS has held-out errors, and they are of the torques as measured")
def test_identify_keeps_the_weights_to_the_end():
    model, truth, data = disturbed((*FRICTION, "load_friction"))
    options = {
        "model": ModelOptions(terms=[term.name for term in model.terms]),
        "processing": False,  # with its outliers
        "choice": Choice(believable=False),
        "checks": Checks(folds=2, verdict=False),
    }
    robust = identify(model.robot, data, estimator="IRLS", **options)
    assert robust.feasible.residual_ratio >= 1.0 - 1e-9
    assert robust.feasible.objective >= robust.unconstrained.objective * (1.0 - 1e-9)
    residual = residual_torques(robust.unconstrained, robust.datasets[0])
    share = 100 * np.linalg.norm(residual) / np.linalg.norm(robust.datasets[0].tau)
    assert robust.unconstrained.relative_error == pytest.approx(share, rel=1e-9)
    # outliers cannot be predicted: what was held out is as far off as what was seen, not the weighted part of it
    assert robust.held_out.tested["consistent"].total == pytest.approx(share, rel=0.2)
    exact = model.base.values(truth)
    plain = identify(model.robot, data, **options)
    assert np.linalg.norm(robust.feasible.beta - exact) < 0.25 * np.linalg.norm(plain.feasible.beta - exact)


def test_single_parameters_that_the_data_determine():
    model, values = with_friction(casid.load_robot("kuka_iiwa"))
    fit = wls(compress(model, recording(model, values, samples=800, noise=0.05)))
    entries = {entry.name: entry for entry in determined(fit, values)}
    assert entries["fv3"].by_data and entries["fv3"].low <= 0.4 <= entries["fv3"].high
    assert not entries["m1"].by_data and np.isinf(entries["m1"].high)
    inside = [e.low <= v <= e.high for e, v in zip(entries.values(), values, strict=True) if np.isfinite(e.high)]
    assert np.mean(inside) > 0.85


@pytest.mark.parametrize(
    ("solved", "chosen", "certified"), [(1, None, 1), (0, None, 0), (1, 0, 0), (0, 1, 0), (1, 1, 1)]
)
def test_a_fit_is_certified_where_both_its_optimum_and_its_choice_are(solved, chosen, certified):
    believable = None if chosen is None else SimpleNamespace(certified=bool(chosen))
    fit = SimpleNamespace(solution=SimpleNamespace(certified=bool(solved)), believable=believable)
    assert FeasibleFit.certified.fget(fit) == bool(certified)


def test_bounds_that_are_reached_from_either_side_are_active():
    """Rows of a constraint and of terms; a term that the data set to zero is not listed."""
    rows = [
        SimpleNamespace(constraint=c, entry=e, text=f"row {k}")
        for k, (c, e) in enumerate([(0, 0), (-1, 0), (-1, 1), (-1, 2)])
    ]
    problem = SimpleNamespace(
        variables=SimpleNamespace(extras={"fv1": None, "fc1": None, "fo1": None}), cones=(),
        constraints=[SimpleNamespace(label="total mass")],
    )  # fmt: skip
    lower, upper = np.array([0.0, 0.0, -np.inf, -5.0]), np.array([8.0, np.inf, 3.0, np.inf])
    linear = SimpleNamespace(matrix=np.eye(4), rows=rows, lower=lower, upper=upper)
    found = active_bounds(problem, linear, np.array([8.0, 0.0, 3.0, 1.0]))
    assert [(one.kind, one.quantity, one.value) for one in found] == [
        ("constraint", "total mass", 8.0), ("parameter", "fc1", 3.0),
    ]  # fmt: skip
    assert active_bounds(problem, linear, np.array([4.0, 1.0, 0.0, 1.0])) == ()


def test_a_term_that_the_data_do_not_show_keeps_to_its_bounds():
    """Rotors without accelerations make no torque: zero where the bounds allow it, else the nearest bound."""
    model = Model(casid.load_robot("spatial_2r"), ("viscous", "rotor"))
    truth = model.parameters(np.tile([0.3, 0, 0, 0.3, 0, 0.3, 0.5, 0, 0, 2.0], 2), [0.4, 0.1, 0.3, 0.2])
    data = recording(model, truth, samples=300)
    still = np.zeros_like(data.q)
    tau = np.asarray(model.inverse_dynamics(data.q, data.dq, still, truth))
    tau = tau + 0.01 * np.random.default_rng(0).normal(size=tau.shape)
    fit = wls(compress(model, replace(data, ddq=still, tau=tau)))
    made = feasible_regression(fit, bounds={"Ia2": (0.5, 0.7), "fv1": (0.0, 0.0)}).extras
    assert (made["Ia1"], made["Ia2"], made["fv1"]) == (0.0, 0.5, 0.0) and made["fv2"] == pytest.approx(0.3, abs=0.02)
