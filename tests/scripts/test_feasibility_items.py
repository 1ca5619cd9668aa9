"""What the items on infeasibility, Yoshida's recursion, penalties and forms of the regression are made of."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import casid
from casid.dynamics import Model
from tests.scripts.needs import needs_data

pytest.importorskip("clarabel", reason="needs the extra test")

from papers.catalogue import PAPERS, Claim
from papers.gaz2019 import ConstantPenalties
from papers.item import Status
from papers.methods.feasible_set import lmi
from papers.methods.penalties import PenalisedRetrieval
from papers.methods.regression import random_regression
from papers.methods.yoshida import BETA_T1, BETA_T2, Recursion, least_lyy, most_left, three_link, walk
from papers.page import overview, tally
from papers.sousa2014_theory import by_lmi, closed_form, planar_arm, with_prior


@pytest.fixture(scope="module")
def recursions():
    return [Recursion(*three_link(table)) for table in (BETA_T1, BETA_T2)]


@pytest.mark.claim("the recursion of Yoshida and Khalil decides their example as the matrix inequality does")
def test_the_recursion_ends_for_the_feasible_set_alone(recursions):
    feasible, infeasible = recursions
    assert most_left(feasible)[0] == pytest.approx(0.197143, abs=1e-6)
    assert most_left(infeasible)[0] == pytest.approx(-0.002857, abs=1e-6)
    assert walk(feasible, seed=0).found and not walk(infeasible, seed=0, outer=50).found


def test_the_least_lyy_makes_the_inertia_singular():
    rng = np.random.default_rng(1)
    for _ in range(20):
        x = rng.normal(size=10)
        x[[5, 9]] = 5.0, 3.0
        t = float(least_lyy(x[:, None])[0])
        L = np.array([[x[0] + t, x[1], x[2]], [x[1], x[3] + t, x[4]], [x[2], x[4], x[5]]])
        moment = x[6:9]
        inertia = L - ((moment @ moment) * np.eye(3) - np.outer(moment, moment)) / x[9]
        assert np.linalg.eigvalsh(inertia)[0] == pytest.approx(0.0, abs=1e-9)


def test_constant_penalties_count_violations_and_have_no_slope():
    panda = casid.load_problem("panda_retrieval")
    problem, steps = PenalisedRetrieval.of(panda), ConstantPenalties.of(panda)
    p = problem.uniform(np.random.default_rng(0), 5)
    broken = (problem.violations(p) > 1e-6).sum(axis=1)
    assert broken.max() > 0
    assert_allclose(steps.value(p, 30.0), problem.phi(p) + 30.0 * broken, rtol=1e-12)
    assert_allclose(steps.value_and_gradient(p[0], 30.0)[1], problem.value_and_gradient(p[0], 0.0)[1])


def test_the_prior_term_pulls_from_the_fit_to_the_prior():
    data, towards = random_regression(1, seed=2, points=40, kind="semi"), np.zeros(10)
    towards[[0, 3, 5, 9]] = 0.1, 0.1, 0.1, 2.0
    assert_allclose(lmi(with_prior(data, towards, 0.0), 1e-11).x, lmi(data, 1e-11).x, atol=1e-5)
    assert_allclose(lmi(with_prior(data, towards, 1e8), 1e-11).x, towards, atol=1e-4)


@pytest.mark.parametrize(("first", "feasible"), [(0.3, True), (0.05, False)])
def test_the_planar_arm_by_hand_and_by_the_inequality(first, feasible):
    model = Model(planar_arm())
    values = {"Lzz1": first, "lx1": 0.3, "ly1": 0.1, "Lzz2": 0.15, "lx2": 0.2, "ly2": 0.1}
    beta = np.array([values[name] for name in model.base.names])
    assert closed_form(values) is feasible and by_lmi(model, beta) is feasible


def test_every_statement_is_computed_by_listed_items():
    items, claims = tally()
    assert items.total() + claims.total() >= 110 and claims[Status.IMPOSSIBLE] == 0
    assert claims.total() == sum(len(paper.claims) for paper in PAPERS)
    text = overview({})
    for paper in PAPERS:
        names = [claim.name for claim in paper.claims]
        assert len(names) == len(set(names)) and all(f"| {name} |" in text for name in names)
    with pytest.raises(KeyError, match="no item 'Table X'"):
        Claim("Sec. 1", "nothing", (("gaz2019", "Table X"),)).items()


@pytest.fixture(scope="module")
def wam():
    needs_data()
    from papers import sousa2014_code

    return sousa2014_code


@pytest.mark.claim("gravity is never spoilt by infeasibility; Coriolis torques, mass matrix and friction are")
def test_terms_by_themselves(wam):
    assert wam.alone("gravity", "beta_WLS")[1] < 1e-9
    for term in ("Coriolis", "mass matrix", "friction"):
        rank, distance, radius = wam.alone(term, "beta_WLS")
        assert rank > 12 and distance > 1e-2 and radius > 1e4
        assert wam.alone(term, "beta*")[1] < wam.ROUNDING
