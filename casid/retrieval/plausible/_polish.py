"""A best fit proven more sharply, by Newton's method at the price of the residual where the proof is tight.

The answer y at a price lambda minimises ``D + lambda q`` with a dual matrix of each link, ``Z_k = M_k^-1 - 1`` up to
the price: with growing price these become the multipliers of the cones at the least q, and the lower bound that they
give (`casid.retrieval.bound._certificate`) its proof, with a gap of about the number of inequalities over ``lambda q``.
It is free of the cancellation that multipliers of a lifted program suffer where data are nearly without noise. D is
measured from very heavy bodies first: its linear term, which costs the bound ``tr M_k / lambda``, is then small. Where
every link is as thin as the margin allows, M_k of heavy bodies is lost in rounding; plausible bodies and a higher price
end the proof there.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from casid.inertia._cones import Full
from casid.retrieval._rows import NonlinearRows, split_rows
from casid.retrieval._solution import Solution
from casid.retrieval.bound._certificate import lower_bound
from casid.retrieval.plausible._bodies import PlausibleBodies, plausible_bodies
from casid.retrieval.plausible._most_plausible import DivergenceProgram

Array = NDArray[np.float64]
#: Relative gaps that are aimed at in turn, until the solution is certified.
GAPS = tuple(10.0 ** np.arange(3.0, -12.0, -0.5))
#: How much heavier than plausible the bodies are from which D is measured, in turn.
HEAVY = (1e3, 1.0)


def polished(solution: Solution, bodies: PlausibleBodies | None = None) -> Solution:
    """The solution with the better of two points and the higher of two proven bounds; itself where nothing is gained.

    Nonlinear rows are left out of the search: a point that violates them is not taken, and a bound without them holds.

    Parameters
    ----------
    solution
        Feasible, not certified.
    bodies
        Default: `plausible_bodies` of the robot.
    """
    problem = solution.problem
    if solution.certified or not solution.usable or any(cone.cone != Full() for cone in problem.cones):
        return solution
    given = bodies or plausible_bodies(problem.variables.robot)
    for heavy in HEAVY:
        if not solution.certified:
            solution = _sharper(solution, heavy * given.parameters)
    return solution


def _sharper(solution: Solution, bodies: Array) -> Solution:
    """The solution along the path of prices from these bodies, standard parameters of shape (10 n,)."""
    problem = solution.problem
    known = DivergenceProgram(problem, bodies, np.zeros(len(problem.cones), dtype=bool), solution.total)
    known.nonlinear = NonlinearRows.none()
    linear, _ = split_rows(problem)
    inequalities = 4 * len(problem.cones) + 2 * len(linear.rows) + 1
    prices = [inequalities / (gap * max(solution.total, 1e-300)) for gap in GAPS]
    for x, multipliers in known.duals(prices):
        bound = lower_bound(problem, x, linear, multipliers).lower_bound
        better = problem.objective(x) + problem.penalty(x) < solution.total
        feasible = problem.met(problem.violations(x), solution.tolerances.feasibility)
        point = x if better and feasible else solution.x
        solution = replace(solution, x=point, lower_bound=max(bound, solution.lower_bound))
        if solution.certified:
            break
    return solution
