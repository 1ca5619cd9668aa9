"""Commands about a problem: ``solve``, ``intervals``, ``study``, ``explain``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from casid.cli.options import Share
from casid.cli.progress import starts_bar
from casid.cli.shared import ProblemArgument, console, out_file, out_folder, refuse, say_written

if TYPE_CHECKING:
    from casid.retrieval._problem import Problem
    from casid.retrieval._solution import Solution
    from casid.retrieval.plausible._choice import Believable
if TYPE_CHECKING:
    from casid.retrieval import Problem, Solution
    from casid.retrieval.plausible._choice import Believable


MethodOption = Annotated[
    str,
    typer.Option(help="direct, penalty, branches, smoothed, global or annealing; see docs/constraints.md."),
]


def solve(
    context: typer.Context,
    problem: ProblemArgument,
    starts: Annotated[
        int | None, typer.Option(min=1, help="Number of random starts; without it, one deterministic start.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the random starts.")] = 0,
    method: MethodOption = "direct",
    believable: Annotated[
        bool,
        typer.Option(
            help="Where the coefficients have standard deviations: also the most plausible of all parameters that "
            "explain them as well."
        ),
    ] = True,
    share: Share = None,
    verbose: Annotated[bool, typer.Option("--verbose", help="Also show the solver's own status.")] = False,
    out: Annotated[Path | None, typer.Option(help="Folder for solution.json, CSV files and pictures.")] = None,
    sdpa: Annotated[
        Path | None, typer.Option(help="Also write the problem to this file, as a semidefinite program (.dat-s).")
    ] = None,
) -> None:
    """Solve a problem, certify the solution, and write it to a folder; exit code 1 if no feasible point is found."""
    from casid import retrieval
    from casid.report import believable_tables, solution_tables, write_solution
    from casid.retrieval.methods._solve import method_of
    from casid.retrieval.study._study import Study

    folder, sdpa = out_folder(out), out_file(sdpa)
    chosen, loaded = method_of(method), retrieval.load_problem(problem)
    if starts is None:
        refuse(context, ("seed",), "is of random starts: give --starts")
    if not believable:
        refuse(context, ("share",), "does not go with --no-believable")
    if share is not None:
        from casid.retrieval.plausible._choice import check_share

        check_share(share)
    if sdpa is not None:
        _write_sdpa(loaded, sdpa)
    result: retrieval.Solution | Study
    if starts is None:
        result = retrieval.solve(loaded, method=chosen, throw=False)
    else:
        with starts_bar(f"{loaded.name}: {starts} starts", starts) as advance:
            result = retrieval.multistart(
                loaded, starts=starts, seed=seed, method=chosen, progress=advance, throw=False
            )
    best = result.best if isinstance(result, Study) else result
    if best.usable:
        screen = console()
        choice = _choice(best, share) if believable else None
        for table in (*solution_tables(result, verbose), *([] if choice is None else believable_tables(choice))):
            screen.print(table)
        if folder is not None:
            say_written(folder, write_solution(result, folder, choice))
    elif verbose:
        typer.echo(f"the solver's status: {best.solver_status}", err=True)
    best.or_raise()


def intervals(
    problem: ProblemArgument,
    tolerance: Annotated[
        float | None, typer.Option(help="Allowed increase of the sum of squares; default: what noise explains.")
    ] = None,
    weigh: Annotated[bool, typer.Option("--weigh", help="Also tell what weighing each link would settle.")] = False,
    method: MethodOption = "direct",
    out: Annotated[Path | None, typer.Option(help="Folder for intervals.csv and intervals.png.")] = None,
) -> None:
    """Find how far the data and the constraints pin each parameter down."""
    from casid import retrieval
    from casid.report import intervals_table, what_if_table, write_intervals
    from casid.retrieval.insight._what_if import weigh_each_link, what_if
    from casid.retrieval.methods._solve import method_of

    folder = out_folder(out)
    chosen, loaded = method_of(method), retrieval.load_problem(problem)
    soft = [c.label for c in loaded.constraints if not c.hard]
    loaded = loaded.without(*soft)  # they exclude nothing
    found = retrieval.parameter_intervals(loaded, tolerance=tolerance, solution=retrieval.solve(loaded, method=chosen))
    screen = console()
    screen.print(intervals_table(found))
    if weigh:
        candidates = weigh_each_link(found.problem, found)
        screen.print(what_if_table(what_if(found, candidates)))
    if folder is not None:
        say_written(folder, write_intervals(found, folder))


def study(
    problem: ProblemArgument,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="JSON-lines file of the results; resumed if it exists.")],
    starts: Annotated[int, typer.Option(min=1, help="Number of random starts.")] = 100,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the random starts.")] = 0,
    jobs: Annotated[int, typer.Option(help="Processes; needs joblib if not 1.")] = 1,
    cluster: Annotated[str | None, typer.Option(help="Address of a Dask scheduler in place of processes.")] = None,
    method: MethodOption = "direct",
) -> None:
    """Solve a problem from many starts; results stream to a file, and a killed study continues where it stopped."""
    from casid import retrieval
    from casid.retrieval.methods._solve import method_of

    chosen, loaded = method_of(method), retrieval.load_problem(problem)
    with starts_bar(f"{loaded.name}: {starts} starts", starts) as advance:
        found = retrieval.run_study(loaded, file, starts, seed, chosen, jobs, cluster, progress=advance)
    best = found.best
    typer.echo(
        f"{len(found.results)} starts, {found.certified} certified, {found.solved} solved now in {found.time:.1f} s; "
        f"best: {best.status}, sum of squares {best.objective:.6e} (seed {best.seed})"
    )
    _exit_unless_usable(best)


def explain(problem: ProblemArgument, method: MethodOption = "direct") -> None:
    """Solve a problem and tell what holds its solution where it is."""
    from casid import retrieval
    from casid.retrieval.methods._solve import method_of

    chosen = method_of(method)
    typer.echo(str(retrieval.explain(retrieval.solve(retrieval.load_problem(problem), method=chosen))))


def _choice(solution: Solution, share: float | None) -> Believable | None:
    """The most plausible parameters that explain the coefficients; None where nothing says how well they are known."""
    from casid.errors import CasidError
    from casid.inertia._cones import Full
    from casid.retrieval.insight._intervals import indistinguishable
    from casid.retrieval.plausible._choice import believable

    problem = solution.problem
    given = problem.coefficients
    unknown = share is None and (given is None or given.sd is None)
    if unknown or any(entry.cone != Full() for entry in problem.cones):
        return None
    try:
        if share is not None:
            return believable(problem, solution, share=share)
        return believable(problem, solution, tolerance=indistinguishable(problem, solution.objective))
    except CasidError as error:
        typer.echo(f"note: no more plausible parameters were found: {error}", err=True)
        return None


def _exit_unless_usable(solution: Solution) -> None:
    if not solution.usable:
        raise typer.Exit(1)


def _write_sdpa(problem: Problem, path: Path) -> None:
    from casid.export import write_sdpa

    program = write_sdpa(problem, path)
    typer.echo(f"written: {path}, {len(program.cost)} unknowns, {len(program.blocks)} blocks")
    if program.left_out:
        typer.echo(f"note: not affine and left out of {path.name}: {', '.join(program.left_out)}", err=True)
