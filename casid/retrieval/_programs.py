"""A problem as a nonlinear program of CasADi's, for any solver, and as an `casadi.Opti` stack to add to."""

from __future__ import annotations

from typing import Any

import casadi as ca

from casid.retrieval._problem import Problem
from casid.retrieval._solver import PreparedProblem
from casid.retrieval._variables import LinkVariables


def nlp(problem: Problem) -> dict[str, Any]:
    """The program that `solve` solves, ``min f(w)`` with ``lbx <= w <= ubx`` and ``lbg <= g(w) <= ubg``.

    Its unknowns are scaled parameters y, factors T of the links' cones (`casid.retrieval.program._nlp`) and slacks of
    soft constraints.

    Returns
    -------
    dict
        ``x, f, g`` (MX; f in units of the objective) for `casadi.nlpsol`, ``lbx, ubx, lbg, ubg, x0`` for its call,
        ``names`` of the entries of x, and ``parameters``, the function from x to the problem's own unknowns.
    """
    return PreparedProblem(problem).program.plain(problem.variables.names)


def opti(problem: Problem) -> tuple[ca.Opti, LinkVariables]:
    """The same program as an `casadi.Opti` stack, and the link quantities in it, to add to; choose the solver there."""
    program, stack = nlp(problem), ca.Opti()
    w = stack.variable(program["x"].numel())
    f, g = ca.Function("program", [program["x"]], [program["f"], program["g"]])(w)
    stack.minimize(f)
    for value, side in ((w, "x"), (g, "g")):
        stack.subject_to(stack.bounded(program[f"lb{side}"], value, program[f"ub{side}"]))
    stack.set_initial(w, program["x0"])
    return stack, problem.variables.over(program["parameters"](w))


Problem.nlp = nlp
Problem.opti = opti
