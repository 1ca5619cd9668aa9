"""Statements about bounds that were once false: each test fails on the code that made them."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pytest

from casid.errors import BoundWarning
from casid.inertia import from_pseudo_inertia, pseudo_inertia, to_standard
from casid.retrieval import Constraint, Problem, soften, solve
from casid.retrieval._rows import split_rows
from casid.retrieval.bound._certificate import Search, lower_bound
from casid.retrieval.bound._cuts import Relaxation
from casid.retrieval.program._starts import nominal_parameters, random_parameters
from casid.testing.synthetic_problems import BODY, nearest


@pytest.mark.claim("a bound counts what its own point gains by missing the rows a little")
@pytest.mark.parametrize("width", [-2e-11, 0.0, 1e-12])
def test_a_sliver_does_not_contradict_its_bound(width: float) -> None:
    def slivers(v):
        m, x = v[0].mass, v[0].first_moment[0]
        return Constraint("above", x - 0.1 * m, lower=0.0), Constraint("below", x - (0.1 + width) * m, upper=0.0)

    target = to_standard(BODY[9], [0.3, 0.0, 0.1], np.diag([0.02, 0.02, 0.03]))
    problem = nearest(target, slivers, bounded=False)
    with warnings.catch_warnings():
        warnings.simplefilter("error", BoundWarning)
        found = solve(problem, throw=False)
    assert found.lower_bound <= found.total * (1 + 1e-9)


@pytest.mark.claim("no bound exceeds the value of the point it was made at, whatever that point misses")
@pytest.mark.parametrize("consistency", ["full", "semi"])
def test_no_bound_exceeds_its_own_point(consistency: str) -> None:
    def build(v):
        both = v[0].mass + v[1].mass
        return (
            Constraint("total", both, lower=4.0, upper=4.0),
            soften(Constraint("light", v[1].mass, upper=1.5), weight=3.0),
            Constraint("above", v[0].inertia_com[0, 0], lower=0.03),
        )

    target = np.concatenate([BODY, BODY, [0.2]])
    problem = nearest(target, build, {"fv1": (0.0, 1.0)}, consistency=consistency)
    linear, curved = split_rows(problem)
    rng, nominal = np.random.default_rng(0), nominal_parameters(problem)
    relaxation = Relaxation(problem)
    inside = [random_parameters(problem, rng) for _ in range(20)]
    for k in range(400):
        x = inside[k % 20] + 10.0 ** rng.uniform(-14, 0) * rng.normal(size=len(target))
        # multipliers of slivers: enormous, and on both sides
        given = [10.0 ** rng.uniform(-3, 15) * rng.normal(size=len(rows.rows)) for rows in (linear, curved)]
        found = lower_bound(problem, x, linear, given[0], curved, given[1], Search(nominal, 1e3), relaxation=relaxation)
        assert found.lower_bound <= problem.objective(x) + problem.penalty(x)
        elsewhere = inside[(k + 7) % 20]  # a feasible point but for the total mass: what it misses is given away there
        other = problem.objective(elsewhere) + problem.penalty(elsewhere)
        assert found.at(elsewhere).lower_bound <= other * (1 + 1e-9)


@pytest.mark.claim("no bound exceeds the value of a body that keeps less than its margin")
@pytest.mark.parametrize("kept", [0.5, 0.0, -1.0])
def test_no_bound_exceeds_the_value_of_a_body_at_half_its_margin(kept: float) -> None:
    margin = nearest(BODY).cones[0].margin
    values, vectors = np.linalg.eigh(pseudo_inertia(BODY))
    values[0] = kept * margin
    thin = from_pseudo_inertia(vectors @ np.diag(values) @ vectors.T)
    price = np.array([vectors[:, 0] @ pseudo_inertia(unit) @ vectors[:, 0] for unit in np.eye(10)])
    for size in (1.0, 1e6):  # towards less of what the body has too little of
        problem = nearest(thin - size * price)
        linear, _ = split_rows(problem)
        found = lower_bound(problem, thin, linear, np.zeros(len(linear.rows)), search=Search(BODY, 10.0))
        assert 0.9 * problem.objective(thin) < found.lower_bound <= problem.objective(thin)


@pytest.mark.claim("a bound that says nothing is the constant of the objective, to the last bit")
def test_a_trivial_bound_is_the_constant() -> None:
    problem = nearest(np.append(BODY, 0.5), extras={"fv1": (0.0, np.inf)})
    objective = replace(problem.objective, constant=0.12494365600571089)
    problem = Problem("far", problem.variables, objective, problem.constraints)
    linear, _ = split_rows(problem)
    rng, search = np.random.default_rng(0), Search(nominal_parameters(problem), 1e12)
    attained = problem.objective(np.append(BODY, 0.5))
    for _ in range(300):
        x = np.append(BODY, 0.5) + 10.0 ** rng.uniform(-6, 3) * rng.normal(size=11)
        given = 10.0 ** rng.uniform(-3, 6) * rng.normal(size=len(linear.rows))
        assert lower_bound(problem, x, linear, given, search=search).lower_bound <= attained
