"""Commands about a problem: ``solve``, ``intervals``, ``study``, ``explain``."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

import typer

import casid
from casid.cli import options as o
from casid.cli.shared import ProblemArgument, keeping, note, out_folder, present, refuse, say, shown, starts_bar
from casid.errors import CasidError

MethodOption = Annotated[
    str,
    typer.Option(
        help="auto, direct, penalty, branches or global; see docs/constraints.md.", rich_help_panel=o.ADVANCED
    ),
]


@dataclass(frozen=True)
class Solving(o.OptionGroup):
    """How a problem is solved."""

    starts: int | None = o.option(None, "Number of random starts; without it, one deterministic start.", min=1)
    seed: int = o.option(0, "Seed of the random starts.", min=0)
    method: MethodOption = "auto"

    def solve(self, problem: casid.Problem) -> tuple[casid.Solution, casid.Solution | casid.retrieval.study.Study]:
        """The best solution, and the result it is of: itself, or all starts; no exception where none is usable."""
        chosen = casid.retrieval.methods.method_of(self.method)
        if self.starts is None:
            found = casid.solve(problem, method=chosen, throw=False)
            return found, found
        with starts_bar(f"{problem.name}: {self.starts} starts", self.starts) as advance:
            study = casid.multistart(
                problem, starts=self.starts, seed=self.seed, method=chosen, progress=advance, throw=False
            )
        return study.best, study


@dataclass(frozen=True)
class Choice(o.OptionGroup):
    """Choice among all parameters that explain the data."""

    believable: bool = o.option(
        True, "Also the most plausible of all parameters that explain the coefficients within their errors."
    )
    share: o.Share = None


@o.grouped
def solve(
    context: typer.Context,
    problem: ProblemArgument,
    solving: Solving,
    choice: Choice,
    verbose: Annotated[bool, typer.Option("--verbose", help="Also show the solver's own status.")] = False,
    out: Annotated[
        Path | None, typer.Option(help="Folder for solution.json, CSV files and pictures; the best fit in best_fit.")
    ] = None,
) -> None:
    """Solve a problem, certify the solution, and write it to a folder; exit code 1 if no feasible point is found."""
    from casid.retrieval.plausible import check_share

    folder = out_folder(out)
    casid.retrieval.methods.method_of(solving.method)
    loaded = casid.load_problem(problem)
    if solving.starts is None:
        refuse(context, ("seed",), "is of random starts: give --starts")
    if not choice.believable:
        refuse(context, ("share",), "does not go with --no-believable")
    if choice.share is not None:
        check_share(choice.share)
    best, result = solving.solve(loaded)
    if best.usable:
        chosen = _choice(best, choice.share) if choice.believable else None
        present(casid.report.report_of(result, verbose=verbose, choice=chosen), folder)
    elif verbose:
        typer.echo(f"the solver's status: {best.solver_status}", err=True)
    best.or_raise()


def intervals(
    problem: ProblemArgument,
    tolerance: Annotated[
        float | None, typer.Option(help="Allowed increase of the sum of squares; default: what noise explains.")
    ] = None,
    weigh: Annotated[bool, typer.Option("--weigh", help="Also show what weighing each link would determine.")] = False,
    method: MethodOption = "auto",
    out: Annotated[Path | None, typer.Option(help="Folder for intervals.csv, intervals.png and the page.")] = None,
) -> None:
    """Find the interval of each parameter, and of each base parameter, that the data and the constraints leave."""
    folder = out_folder(out)
    with shown("solving") as update:
        import casadi as ca

        from casid.report import report_of
        from casid.retrieval.insight import weigh_each_link, what_if

        chosen, loaded = casid.retrieval.methods.method_of(method), casid.load_problem(problem)
        soft = [c.label for c in loaded.constraints if not c.hard and c.label not in loaded.objective_labels]
        loaded = loaded.without(*soft)  # they exclude nothing
        x, base = loaded.variables.x, casid.Model(loaded.variables.robot).base
        sums = zip(base.expressions, ca.vertsplit(ca.DM(base.K) @ x[: base.K.shape[1]]), strict=True)
        found = casid.retrieval.parameter_intervals(
            loaded, dict(zip(loaded.variables.names, ca.vertsplit(x), strict=True)) | dict(sums), tolerance,
            solution=casid.solve(loaded, method=chosen),
            progress=lambda done, of: update(f"interval {done + 1} of {of}", done, of),
        )  # fmt: skip
        if weigh:
            update("what weighing each link would determine", None, None)
        effects = what_if(found, weigh_each_link(found.problem, found)) if weigh else ()
    present(report_of(found, effects=effects), folder)


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
    with shown("reading"):
        chosen, loaded = casid.retrieval.methods.method_of(method), casid.load_problem(problem)
    keeping(f"the starts solved so far are kept in {file}; the same command goes on from there")
    with starts_bar(f"{loaded.name}: {starts} starts", starts) as advance:
        found = casid.study(loaded, file, starts, seed, chosen, cluster or jobs, progress=advance)
    best = found.best
    say(
        f"{len(found.results)} starts, {found.certified} certified, {found.solved} solved now in {found.time:.1f} s; "
        f"best: {best.status}, sum of squares {best.objective:.6e} (seed {best.seed})"
    )
    if not best.usable:
        raise typer.Exit(1)


def explain(problem: ProblemArgument, method: MethodOption = "auto") -> None:
    """Solve a problem and show which bounds and constraints determine its solution."""
    chosen = casid.retrieval.methods.method_of(method)
    say(casid.retrieval.explain(casid.solve(casid.load_problem(problem), method=chosen)))


def _choice(solution: casid.Solution, share: float | None) -> casid.retrieval.plausible.Believable | None:
    """The most plausible parameters that explain the coefficients; None where no tolerance follows from them."""
    from casid.inertia import Full
    from casid.retrieval.plausible import believable, coefficient_tolerance

    problem = solution.problem
    why = ""
    if any(entry.cone != Full() for entry in problem.cones):
        why = "it is a choice among fully consistent bodies, which this problem does not ask for"
    elif share is None and problem.coefficients is None:
        why = "the problem has no coefficients with errors, from which their distance follows; give --share"
    if why:
        note(f"no most plausible links are chosen: {why}")
        return None
    try:
        if share is not None:
            return replace(believable(problem, solution, share=share), reason=f"a share of {share:.3g} as given")
        tolerance = coefficient_tolerance(solution)
        return replace(believable(problem, solution, tolerance=tolerance.value), reason=tolerance.reason)
    except CasidError as error:
        note(f"no more plausible parameters were found: {error}")
        return None
