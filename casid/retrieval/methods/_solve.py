"""`solve`: one problem, any method, given as such or by name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from numpy.typing import ArrayLike

from casid.errors import ProblemError
from casid.files import near
from casid.retrieval._combinations import check_dead_branches
from casid.retrieval._problem import Problem
from casid.retrieval._problem_files import load_problem
from casid.retrieval._solution import Solution
from casid.retrieval._solver import SolveOptions, checked_point
from casid.retrieval.methods._branching import Auto, Branches, Global
from casid.retrieval.methods._method import Direct, Method, Start
from casid.retrieval.methods._penalty import Penalty

#: Name -> the method with its default settings.
METHODS: dict[str, type[Method]] = {kind.name: kind for kind in (Auto, Direct, Penalty, Branches, Global)}


def method_of(method: Method | str) -> Method:
    """A method, also by its name.

    Raises
    ------
    ProblemError
        If there is no method of that name.
    """
    if isinstance(method, Method):
        return method
    if method not in METHODS:
        hint = near(str(method), METHODS)
        raise ProblemError(f"unknown method {method!r}{hint}; known: {', '.join(METHODS)}, or a Method")
    return METHODS[method]()


def solve(
    problem: Problem | str | Path,
    start: ArrayLike | None = None,
    seed: int | None = None,
    options: SolveOptions | Mapping[str, Any] | None = None,
    throw: bool = True,
    method: Method | str = "auto",
    solver: str | None = None,
) -> Solution:
    """Solve a problem.

    Parameters
    ----------
    problem
        What to solve, or what `load_problem` takes: a shipped problem's name, a file.
    start
        All unknowns to start from, shape (N,): standard parameters, then the extras. Default: the nominal body of every
        link.
    seed
        Start from the random point of this seed instead; not together with ``start``.
    options
        Of every solve, see `SolveOptions`; or options of the solver's plugin as CasADi spells them, passed through
        whole: ``{"ipopt": {"max_iter": 50}}``.
    throw
        Raise if no feasible point is found; otherwise return a `Solution` with that status (for sweeps).
    method
        `Auto` (the default: `Solution.tried` names the way that was chosen), `Direct`, `Penalty`, `Branches`, `Global`,
        or one of your own; or a name, for default settings.
    solver
        Plugin of `casadi.nlpsol` for the first call (`SolveOptions.solver`), such as ``sqpmethod`` or ``fatrop``.

    Raises
    ------
    ProblemError
        If the start has a wrong shape, a constraint is NaN there, or the method cannot use what it is given.
    SolveError
        If no feasible point is found; `InfeasibleError` where it is proven that there is none (with the constraints
        that conflict, and the smallest relaxation).
    """
    chosen = method_of(method)
    problem = problem if isinstance(problem, Problem) else load_problem(problem)
    if start is not None and seed is not None:
        raise ProblemError(f"method '{chosen.name}' starts from a point or from a seed: give start or seed, not both")
    check_dead_branches(problem)
    settings = options if isinstance(options, SolveOptions) else SolveOptions(nlpsol=options)
    given = Start(
        None if start is None else checked_point(problem, start, "start"),
        seed,
        settings if solver is None else replace(settings, solver=solver),
    )
    solution = chosen.solve(problem, given)
    return solution.or_raise() if throw else solution
