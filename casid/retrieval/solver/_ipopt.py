"""Two calls of IPOPT on the lifted program.

The first finds the optimum's neighbourhood: the objective is scaled to a gradient of moderate size at the nominal body.
The second starts warm from there, scaled to an objective of 1, and follows the central path to the barrier parameter
``mu = target gap / number of barrier terms``, stopping there and not at zero: on a convex problem that point is unique
and its dual is strictly feasible, so the answer is reproducible and its certificate tight.
"""

from __future__ import annotations

from dataclasses import replace

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from casid.retrieval.program._nlp import Outcome
from casid.retrieval.solver._build import BuiltProblem

Array = NDArray[np.float64]
#: Calls of IPOPT after the first, at most; another is not needed where the optimum is this share of the value that
#: scaled it.
_POLISHES, _ACCURATE = 3, 0.5
#: The objective is never scaled by less than this share of its value at x = 0: differences would be lost in rounding.
LEAST_SCALE = 1e-8


class Minimiser:
    """IPOPT's solvers of a built problem; made once, used from any number of starts."""

    def __init__(self, built: BuiltProblem) -> None:
        self.problem, self.options, self.program = built.problem, built.options, built.program
        self._terms = 2 * len(built.cones) + 2 * len(built.feasible_set.rows) + 1
        self._first = self.program.solver(
            {
                "tol": 1e-7,
                "mu_target": 1e-8,
                "max_iter": self.options.max_iterations,
                **(self.options.ipopt or {}),
            }
        )
        self._polishers: dict[int, ca.Function] = {}

    def minimise(self, x0: Array) -> tuple[Outcome, float]:
        """Both calls of IPOPT; the outcome's multipliers belong to the scale returned with it.

        The second is repeated, rescaled, where it found an optimum far below the value it was scaled by.
        """
        proximal = 1e-9 if self.options.proximal else 0.0
        gradient = self.program.gradient_size()
        coarse = self.options.initial_gradient / gradient if gradient > 0 else 1.0
        best, scale = self.program.solve(self._first, self.program.start(x0), coarse, proximal), coarse
        statuses, iterations = best.status, best.iterations
        for attempt in range(_POLISHES):
            if not best.good:
                break
            above = self.program.objective_value(best.point.w) - min(self.problem.objective.constant, 0.0)
            value = max(above, LEAST_SCALE * self.problem.objective.size)
            if scale * value >= _ACCURATE and attempt:
                break
            tried = self._polished(best, scale, value)
            iterations += sum(outcome.iterations for outcome in tried)
            statuses += "".join(f", {outcome.status}" for outcome in tried)
            if not tried[-1].good:
                break
            best, scale = tried[-1], 1.0 / value
        return replace(best, iterations=iterations, status=statuses), scale

    def _polished(self, best: Outcome, scale: float, value: float) -> list[Outcome]:
        """Warm from an outcome, scaled to an objective of 1; where that fails, again from its point alone."""
        ratio = 1.0 / (value * scale)
        warm = replace(
            best.point,
            multipliers=best.point.multipliers * ratio,
            bound_multipliers=best.point.bound_multipliers * ratio,
        )
        target = self.options.target_gap / self._terms
        proximal = target / 2 * self.options.proximal
        solver = self._polisher(max(best.mu * ratio, 10 * target), target)
        found = [self.program.solve(solver, warm, 1.0 / value, proximal)]
        if not found[0].good:
            found.append(self.program.solve(self._first, best.point.w, 1.0 / value, proximal))
        return found

    def _polisher(self, mu: float, target: float) -> ca.Function:
        """Solver that starts warm at a barrier parameter (rounded up to a power of 10) and stops at the target."""
        exponent = int(np.ceil(np.log10(mu)))
        if exponent not in self._polishers:
            pushes = ("bound_push", "bound_frac", "slack_bound_push", "slack_bound_frac", "mult_bound_push")
            self._polishers[exponent] = self.program.solver(
                {
                    "tol": 1e-12,
                    "acceptable_tol": 1e-9,
                    "acceptable_iter": 4,
                    "mu_target": target,
                    "mu_init": 10.0**exponent,
                    "dual_inf_tol": 1e-4,
                    "compl_inf_tol": 1e-4,
                    "max_iter": self.options.max_iterations,
                    "warm_start_init_point": "yes",
                    **{f"warm_start_{push}": 1e-16 for push in pushes},
                    **{k: v for k, v in (self.options.ipopt or {}).items() if k.startswith(("mumps", "fast_step"))},
                }
            )
        return self._polishers[exponent]
