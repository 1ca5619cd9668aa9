import numpy as np
import pytest

import casid
from casid.dynamics import Model
from casid.errors import ProblemError
from casid.identification import feasible_regression
from casid.inertia import consistency, pseudo_inertia
from casid.regression import compress, wls
from casid.retrieval import Constraint, Prior, sensible_bounds, total_mass
from casid.testing import recording

FRICTION = ("viscous", "coulomb", "offset")


def smallest(parameters):
    return min(np.linalg.eigvalsh(pseudo_inertia(ten))[0] for ten in parameters.reshape(-1, 10))


def test_feasible_fit_is_consistent_certified_and_no_better_than_the_free_one(fit):
    result = feasible_regression(fit)
    assert result.certified and result.gap <= 1e-6
    assert smallest(result.standard_parameters) >= 1e-6 - 1e-12
    names = result.model.parameter_names
    friction = [result.parameters[name] for name in names if name[:2] in ("fv", "fc")]
    assert min(friction) >= -1e-12
    assert result.residual_ratio >= 1.0
    w = fit.weights
    assert result.objective == pytest.approx(float(w**2 @ result.data.squared_errors(result.beta)), rel=1e-9)
    assert result.objective >= result.solution.lower_bound


def test_exact_data_give_the_true_base_parameters(model, truth):
    fit = wls(compress(model, recording(model, truth)), weights=np.ones(7))
    result = feasible_regression(fit)
    np.testing.assert_allclose(result.beta, model.base.values(truth), atol=2e-3)
    assert result.relative_error < 0.02


def test_semi_consistency_asks_less(fit):
    full, semi = (feasible_regression(fit, consistency=kind) for kind in ("full", "semi"))
    assert semi.certified and semi.objective < full.objective * (1 - 1e-4)
    states = [consistency(ten) for ten in semi.standard_parameters.reshape(-1, 10)]
    assert all(s.mass > 0 and s.smallest_principal_moment > -1e-9 for s in states)
    assert not all(s.full for s in states)


def test_constraints_and_bounds_are_obeyed(fit):
    def build(variables):
        light = Constraint("first link lighter than second", variables[0].mass - variables[1].mass, upper=0.0)
        level = Constraint("offset of joint 1", variables.extra("fo1"), lower=0.05)
        return (*sensible_bounds(variables), total_mass(variables, 0.0, 15.0), light, level)

    result = feasible_regression(fit, constraints=build, bounds={"fv2": (0.9, 1.0)})
    values = result.parameters
    assert result.certified
    assert sum(values[f"m{k}"] for k in range(1, 8)) <= 15.0 + 1e-8
    assert values["m1"] <= values["m2"] + 1e-8
    assert values["fo1"] >= 0.05 - 1e-8
    assert 0.9 - 1e-8 <= values["fv2"] <= 1.0 + 1e-8
    with pytest.raises(ProblemError, match="no term parameter 'fv9'"):
        feasible_regression(result.fit, bounds={"fv9": (0, 1)})


def test_free_offsets_are_eliminated_exactly(fit):
    free = feasible_regression(fit)
    kept = feasible_regression(fit, bounds={f"fo{k}": (-50.0, 50.0) for k in range(1, 8)})
    assert "fo1" not in free.solution.extras and "fo1" in kept.solution.extras
    np.testing.assert_allclose(free.objective, kept.objective, rtol=1e-6)


def test_friction_of_joints_left_out_is_zero(model, noisy):
    fit = wls(compress(model, noisy.only(range(5))), weights=np.ones(7))
    result = feasible_regression(fit)
    values = result.parameters.to_dict()
    assert [values[name] for name in ("fv6", "fc6", "fo6", "fv7", "fc7", "fo7")] == [0.0] * 6
    assert result.certified and values["fv1"] > 0.0
    assert max(abs(v) for v in values.values()) < 200.0


# ---------------------------------------------------------------------- priors


@pytest.mark.parametrize("metric", ["euclidean", "pullback", "entropic"])
def test_priors_pull_towards_the_nominal_bodies(fit, robot, metric):
    nominal = robot.standard_parameters()
    distances = []
    for weight in (1.0, 1e5):
        prior = Prior(robot, nominal, weight, metric)
        result = feasible_regression(fit, prior=prior)
        assert result.prior_distance == pytest.approx(prior.distance(result.standard_parameters))
        assert smallest(result.standard_parameters) >= 1e-6 - 1e-12
        distances.append(result.prior_distance)
    assert distances[1] < 0.05 * distances[0]


def test_entropic_prior_is_at_its_minimum(fit, robot):
    prior = Prior(robot, robot.standard_parameters(), 300.0, "entropic")
    result = feasible_regression(fit, prior=prior, constraints=None, margin=0.0)

    def value(x):
        pi = np.array(result.values)
        pi[np.ravel(result.model.link_columns)] = x
        beta = result.data.base.values(pi)
        return float(fit.weights**2 @ result.data.squared_errors(beta)) + prior.weight * prior.distance(x)

    best = result.standard_parameters
    here = value(best)
    rng = np.random.default_rng(0)
    for _ in range(20):
        step = rng.normal(size=70) * 1e-3 * np.abs(best)
        assert value(best + step) >= here * (1 - 1e-9)


def test_a_thin_prior_body_is_no_obstacle():
    """The Panda's published second link keeps less than the margin of the fit (Gaz et al. 2019, Table IX)."""
    robot = casid.load_robot("panda")
    model = Model(robot, FRICTION)
    data = recording(model, model.parameters(robot.standard_parameters()), noise=0.5)
    prior = Prior(robot, robot.standard_parameters(), 1.0)
    assert feasible_regression(wls(compress(model, data)), prior=prior).certified
