"""Problems, ranges, explanations and fits with their certificates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple
from functools import cache, partial
from typing import Any

import numpy as np

import casid
from casid.codegen import operation_count
from casid.identification import feasible_regression
from casid.regression import Fit, compress, wls
from casid.regression.estimators import IRLS, OLS, Observations
from casid.retrieval import Prior, Problem, Solution, com_in_sphere, explain, parameter_intervals, total_mass
from tests.contract.case import Case
from tests.contract.recordings import LINEAR, data, embodied, simulated

RECIPES = (
    "cylinder", "cone", "sphere", "soft_mass", "ellipsoid", "hull", "symmetric", "revolution", "equal", "sub_chain",
    "realisable", "if_else", "bolted", "tube", "aligned", "round_section", "far_apart",
)  # fmt: skip


@cache
def problem(name: str, recipe: str = "") -> Problem:
    return casid.load_problem(name, recipe=recipe) if recipe else casid.load_problem(name)


@cache
def solution(name: str, recipe: str = "") -> Solution:
    return casid.solve(problem(name, recipe))


def solved(name: str, recipe: str = "") -> dict[str, Any]:
    """Optimum, bound, and how well constraints hold."""
    found = solution(name, recipe)
    return {
        "status": found.status,
        "objective": found.objective,
        "penalty": found.penalty,
        "lower_bound": found.lower_bound,
        "total_mass": float(np.sum(found.standard_parameters[9::10])),
    }


def ranges(name: str, quantities: Sequence[str] | None = None, tolerance: float | None = None) -> dict[str, Any]:
    """Proven ends of the ranges."""
    variables = problem(name).variables
    asked = None if quantities is None else {q: variables.x[list(variables.names).index(q)] for q in quantities}
    found = parameter_intervals(problem(name), asked, tolerance, solution(name))
    return {
        "low": {entry.name: entry.low for entry in found.entries},
        "high": {entry.name: entry.high for entry in found.entries},
        "certified": found.certified(),
    }


def explained(name: str, recipe: str = "") -> dict[str, Any]:
    """Bounds and links that determine the optimum, with their multipliers."""
    found = explain(solution(name, recipe))
    return {
        "bounds": {bound.text: bound.multiplier for bound in found.bounds},
        "cones": [cone.link for cone in found.cones],
        "violated_soft": list(found.violated_soft),
        "branches": len(found.branches),
    }


@cache
def fit(estimator: str = "WLS") -> Fit:
    """Of a three-link arm whose processed samples are given as they are."""
    robot = embodied(casid.load_robot("three_link"), 2)
    model = casid.Model(robot, LINEAR)
    data = casid.Processing(cutoff=20.0).apply(simulated(robot, 2))
    if estimator == "WLS":
        return wls(compress(model, data))
    made = {"OLS": OLS, "IRLS": IRLS}[estimator]()
    return made.fit(Observations(model, (data,)))


def regression(estimator: str = "WLS") -> dict[str, Any]:
    """An unconstrained fit."""
    found = fit(estimator)
    return {
        "beta": list(found.beta),
        "sd": list(found.sd),
        "rank": found.rank,
        "condition_number": found.condition_number,
        "weights": list(found.weights),
        "objective": found.objective,
        "error": found.relative_error,
    }


def feasible(**options: Any) -> dict[str, Any]:
    """A consistent fit of the same samples."""
    found = feasible_regression(fit(), **options)
    return {
        "objective": found.objective,
        "lower_bound": found.solution.lower_bound,
        "certified": found.certified,
        "prior_distance": found.prior_distance,
        "beta": list(found.beta),
        "error": found.relative_error,
        "active": sorted(bound.quantity for bound in found.active),
    }


def narrow(v: Any) -> Any:
    """Constraints that the best fit does not meet."""
    return total_mass(v.links[2:], 0.1, 1.0), com_in_sphere(v[2], centre=[0, 0, 0], radius=0.073)


def near(metric: Any) -> dict[str, Any]:
    """With a prior at the true bodies."""
    robot = embodied(casid.load_robot("three_link"), 2)
    return feasible(prior=Prior(robot, robot.standard_parameters(), 1.0, metric))


def controller() -> dict[str, Any]:
    """Base parameters from the mass matrices and gravity torques of a controller."""
    from casid.regression import reverse_engineer

    with np.load(data("panda", "reverse_engineering_1010.npz")) as samples:
        given = {name: samples[name] for name in samples.files}
    robot = casid.load_robot("panda")
    found = reverse_engineer(casid.Model(robot), given["q"], given["M"], given["g"])
    return {"beta": list(found.values), "sd": list(found.sd)}


FUNCTIONS = ("inverse_dynamics", "mass_matrix", "base_regressor")


def structure(name: str) -> dict[str, Any]:
    """Base parameters of a shipped robot, and the size of its functions."""
    model = casid.Model(casid.load_robot(name), LINEAR)
    counted = {f: list(astuple(operation_count(getattr(model, f)))) for f in FUNCTIONS}
    base = model.base
    return {"rank": base.rank, "expressions": list(base.expressions), "norm": float(np.linalg.norm(base.K)), **counted}


FAST_RECIPES = ("sphere", "soft_mass")
PANDA_QUANTITIES = ("m1", "m4", "m7", "lx4", "lz7", "Lzz7")
CASES = {
    "solve spatial_2r": Case(partial(solved, "spatial_2r"), slow=False),
    "solve panda_retrieval": Case(partial(solved, "panda_retrieval"), slow=False),
    **{
        f"solve cookbook {recipe}": Case(partial(solved, "cookbook", recipe), slow=recipe not in FAST_RECIPES)
        for recipe in RECIPES
    },
    "intervals spatial_2r": Case(partial(ranges, "spatial_2r", tolerance=1e-3)),
    "intervals panda_retrieval": Case(partial(ranges, "panda_retrieval", PANDA_QUANTITIES)),
    "intervals panda_retrieval m7": Case(partial(ranges, "panda_retrieval", ("m7",)), slow=False),
    "explain cookbook soft_mass": Case(partial(explained, "cookbook", "soft_mass"), slow=False),
    "explain panda_retrieval": Case(partial(explained, "panda_retrieval"), slow=False),
    **{f"regression {name}": Case(partial(regression, name), slow=False) for name in ("WLS", "OLS", "IRLS")},
    "feasible_regression": Case(feasible, slow=False),
    "feasible_regression semi": Case(partial(feasible, consistency="semi"), slow=False),
    "feasible_regression narrow": Case(partial(feasible, constraints=narrow)),
    "feasible_regression free": Case(partial(feasible, constraints=None), slow=False),
    **{f"feasible_regression {kind}": Case(partial(near, kind), slow=False) for kind in ("pullback", "entropic")},
    "reverse_engineer panda": Case(controller, slow=False),
    **{f"base {name}": Case(partial(structure, name), slow=False) for name in ("stanford", "tx40", "wam7")},
}
