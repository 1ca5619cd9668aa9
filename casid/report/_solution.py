"""Reports of a problem, of its solution or many starts, and of the most plausible parameters that explain the data."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from rich.table import Table

from casid.arrays import Array
from casid.description import robot_reference
from casid.files import csv_bytes
from casid.identification import ReverseEngineering
from casid.inertia import STANDARD_NAMES, parameter_csv, parameter_record, tensor_entries
from casid.report._fit import FitSection, coefficients
from casid.report._links import links_figure, links_table
from casid.report._section import Report, ReportSection, SectionOf, picked, report_of
from casid.report._style import GREEN, INK, RED, new_figure, tidy
from casid.report._tables import PlainTable, summary_table, texts
from casid.retrieval import Problem, Solution
from casid.retrieval.plausible import Believable
from casid.retrieval.study import Study

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_TENSOR = ("xx", "xy", "xz", "yy", "yz", "zz")
_COLUMNS = (
    "link", "mass [kg]", *(f"com_{k} [m]" for k in "xyz"), *(f"I{k} [kg.m^2]" for k in _TENSOR),
    *(f"{name} [{'kg.m^2' if name[0] == 'L' else 'kg.m' if name[0] == 'l' else 'kg'}]" for name in STANDARD_NAMES),
)  # fmt: skip


class ProblemSection(SectionOf[Problem]):
    """Size of a problem, and its constraints."""

    def tables(self) -> Sequence[Table]:
        """Summary, and one row for each constraint."""
        problem = self.result
        stated = [constraint for constraint in problem.constraints if constraint.label not in problem.objective_labels]
        soft = sum(not constraint.hard for constraint in stated)
        rows = [
            ("robot", f"{problem.variables.robot.name}, {len(problem.variables)} links"),
            ("unknowns", str(problem.variables.size)),
            (
                "rows of the objective",
                f"{problem.objective.matrix.shape[0]}{', and an expression' * bool(problem.objective_labels)}",
            ),
            ("constraints", f"{len(stated)}, {soft} of them soft"),
            ("consistency", f"{problem.consistency.name}, margin {max(entry.margin for entry in problem.cones):g}"),
            *([("source", problem.source)] if problem.source else []),
        ]
        lines = []
        for constraint in stated:
            low, high = (f"{float(end(np.asarray(bound))):.4g}" for end, bound in (
                (np.min, constraint.lower), (np.max, constraint.upper)))  # fmt: skip
            kind = "hard" if constraint.hard else f"soft, weight {np.max(constraint.weight):.4g}"
            lines.append((constraint.label, low, high, str(constraint.size), kind))
        table = PlainTable("Constraints", texts("label", "from", "to", "entries", "kind"), lines)
        return (summary_table(f"Problem {problem.name}", rows), *([table] if stated else []))


class BodiesSection(SectionOf[Solution | Believable]):
    """Links of a solution, or of the choice that was made beside it."""

    def tables(self) -> Sequence[Table]:
        """One row for each link."""
        return (links_table(self.result.link_parameters, f"Links: {self._kind}"),)

    @property
    def _kind(self) -> str:
        if not isinstance(self.result, Solution):
            return "most plausible"
        return "optimal" if self.result.problem.objective_labels else "best fit"

    def record(self) -> Mapping[str, Any]:
        """Parameters, and what they mean for each link."""
        names = ("mass", "com", "inertia_com", "principal_moments")
        links = {link.name: picked(link, *names) for link in self.result.link_parameters}
        return {**parameter_record(self.result.parameters), "link_parameters": links}

    def files(self) -> Mapping[str, bytes]:
        """``parameters.csv``, ``links.csv``."""
        parameters = self.result.parameters
        rows = [
            [link.name, link.mass, *link.com, *tensor_entries(link.inertia_com), *link.standard]
            for link in parameters.links.values()
        ]
        return {"parameters.csv": parameter_csv(parameters), "links.csv": csv_bytes(_COLUMNS, rows)}

    def pictures(self) -> Mapping[str, Callable[..., Figure]]:
        """``links``."""
        problem = self.result.problem
        title = f"{problem.name}: links ({self._kind}), as ellipsoids of uniform density"
        parameters = self.result.standard_parameters
        return {"links": lambda: links_figure(problem.variables.robot, parameters, title=title)}


@dataclass(frozen=True, eq=False)
class CertificateSection(ReportSection):
    """Objective, lower bound, certificate and violations; of several starts also how many were certified.

    With a ``doubt`` nothing is certified: what the problem was made of is contradicted.
    """

    solution: Solution
    starts: Study | None = None
    verbose: bool = False
    doubt: str = ""

    def tables(self) -> Sequence[Table]:
        """One row for each quantity."""
        solution, study = self.solution, self.starts
        rows = [
            ("status", f"{solution.status} ({solution.solver_status})" if self.verbose else str(solution.status)),
            ("objective", _objective_text(solution)),
            ("lower bound", f"{solution.lower_bound:.6e}, relative gap {solution.gap:.1e}"),
            ("certified", f"no: {self.doubt}" if self.doubt else _certified_text(solution)),
            ("largest violation", f"{solution.max_violation:.1e}{_worst(solution)}"),
            solver_time(solution),
        ]
        if study is not None:
            many = f"{study.certified} of {len(study.solutions)} certified, {study.restarts} restarts"
            rows.append(("starts", f"{many}, {study.time:.2f} s"))
        return (summary_table(solution.problem.name, rows),)

    def record(self) -> Mapping[str, Any]:
        """Everything but the parameters; ``null`` for what is not known."""
        solution = self.solution
        return {
            "problem": solution.problem.name,
            **robot_reference(solution.problem.variables.robot),
            "status": solution.status,
            "objective": solution.objective,
            "penalty": solution.penalty,
            "certified": bool(solution.certified and not self.doubt),
            **picked(solution, "lower_bound", "gap", "max_violation", "iterations"),
            **picked(solution, "restarts", "build_time", "solve_time"),
            "violations": dict(solution.violations),
            "versions": dict(solution.versions),
        }


@dataclass(frozen=True, eq=False)
class StartsSection(ReportSection):
    """Every start: its gap and its iterations."""

    solutions: tuple[Solution, ...]
    seed: int | None

    def record(self) -> Mapping[str, Any]:
        """One entry for each start."""
        names = ("status", "objective", "gap", "certified", "iterations", "restarts", "solve_time", "seed")
        return {"starts": [picked(start, *names) for start in self.solutions], "seed": self.seed}

    def pictures(self) -> Mapping[str, Callable[..., Figure]]:
        """``starts``."""
        return {"starts": lambda: starts_figure(self.solutions)}

    def figures(self) -> Mapping[str, Figure]:
        """``starts``, where there are several."""
        return super().figures() if len(self.solutions) > 1 else {}


@dataclass(frozen=True, eq=False)
class PlausibleSection(ReportSection):
    """How the most plausible parameters were chosen among all that explain the data, and the proofs."""

    choice: Believable
    best: Solution
    doubt: str = ""

    def tables(self) -> Sequence[Table]:
        """One row for each statement."""
        choice, best = self.choice, self.best
        gap = f"relative gap {choice.gap:.1e}"
        kind = "proven most plausible" if choice.certified else "most plausible found"
        certified = f"no: {self.doubt}" if self.doubt else f"{_certified_text(best)}, relative gap {best.gap:.1e}"
        bound = f"proven at least {best.lower_bound:.6e}"
        rows = [
            ("links", f"{kind} of all that explain the data: divergence {choice.divergence:.4g}, {gap}"),
            ("plausible bodies", _origins(choice)),
            ("fit", f"{_missed(choice)}sum of squares {choice.objective:.6e}, allowed {choice.limit:.6e}"),
            *([("allowed by", choice.reason)] if choice.reason else []),
            ("largest violation", f"{choice.max_violation:.1e}"),
            ("best fit", f"{_missed(best)}sum of squares {_objective_text(best)}, {bound}"),
            ("certified", certified),
            ("why not the best fit", "where the data leave the mass distribution open it ends at bodies of no extent, "
             "needles and plates; it is in best_fit"),
        ]  # fmt: skip
        return (summary_table(choice.problem.name, rows),)

    def record(self) -> Mapping[str, Any]:
        """The choice, and the best fit that it is compared with."""
        choice = self.choice
        links = (link.name for link in choice.problem.variables.robot.links)
        return {
            "problem": choice.problem.name,
            **robot_reference(choice.problem.variables.robot),
            **picked(choice, "objective", "divergence", "gap", "scale", "max_violation"),
            "certified": bool(choice.certified and not self.doubt),
            "allowed": choice.limit,
            "allowed_by": choice.reason,
            "lower_bound": choice.choice.lower_bound,
            "bodies": dict(zip(links, choice.bodies.origins, strict=True)),
            "best_fit": picked(self.best, "objective", "lower_bound", "gap", "certified"),
        }


@report_of.register(Problem)
def _of_problem(problem: Problem) -> Report:
    return Report(problem.name, (ProblemSection(problem),))


@report_of.register(Solution)
def _of_solution(
    solution: Solution,
    verbose: bool = False,
    choice: Believable | None = None,
    starts: Study | None = None,
    doubt: str = "",
) -> Report:
    name, certificate = solution.problem.name, CertificateSection(solution, starts, verbose, doubt)
    many = StartsSection((solution,) if starts is None else starts.solutions, (starts or solution).seed)
    if choice is None:
        return Report(name, (BodiesSection(solution), certificate, many, FitSection(solution)), json="solution.json")
    best = Report(name, (BodiesSection(solution), certificate, FitSection(solution)), json="solution.json")
    sections = (BodiesSection(choice), PlausibleSection(choice, solution, doubt), many, FitSection(choice))
    return Report(name, sections, json="solution.json", folders={"best_fit": best})


@report_of.register(ReverseEngineering)
def _of_reverse_engineering(result: ReverseEngineering) -> Report:
    doubt = "; ".join(finding.text for finding in result.findings)
    return _of_solution(result.solution, choice=result.choice, doubt=doubt)


@report_of.register(Study)
def _of_study(study: Study, verbose: bool = False, choice: Believable | None = None) -> Report:
    return _of_solution(study.best, verbose, choice, study)


def starts_figure(starts: Sequence[Solution]) -> Figure:
    """Certified relative gap of every start, sorted, and how many iterations the starts took, restarts included."""
    gap, work = (np.array([getattr(start, name) for start in starts], dtype=float) for name in ("gap", "iterations"))
    good = np.array([start.certified for start in starts])
    tolerance = starts[0].tolerances.gap
    figure = new_figure(10.0, 4.8, f"{starts[0].problem.name}: convergence of {len(starts)} starts")
    left, right = figure.subplots(1, 2, width_ratios=[1.25, 1.0])
    _sorted_gaps(left, gap, good, tolerance)
    _iterations(right, work, good)
    return figure


def _sorted_gaps(axes: Axes, gap: Array, good: NDArray[np.bool_], tolerance: float) -> None:
    order = np.argsort(np.where(np.isfinite(gap), gap, np.inf), kind="stable")
    rank = np.empty(len(gap))
    rank[order] = np.arange(1, len(gap) + 1)
    shown = np.maximum(gap, np.finfo(float).eps)  # less is rounding
    finite = np.isfinite(gap)
    size = 6.0 if len(gap) <= 40 else 4.0
    low, high = shown[finite].min(initial=tolerance), shown[finite].max(initial=tolerance)
    axes.set_yscale("log")
    for mask, values, mark, colour, label in (
        (good & finite, shown, "o", GREEN, "certified"),
        (~good & finite, shown, "X", RED, "not certified"),
        (~finite, np.full(len(gap), 4 * high), "^", RED, "failed"),
    ):
        if mask.any():
            axes.plot(rank[mask], values[mask], mark, color=colour, ms=size + 2 * (mark != "o"), alpha=0.8, label=label)
    axes.axhline(tolerance, color=INK, linewidth=1.0, linestyle="--", label=f"certified below {tolerance:.0e}")
    axes.set_ylim(low / 8, high * 12)
    axes.set_xlim(0, len(gap) + 1)
    axes.locator_params(axis="x", integer=True)
    axes.minorticks_off()
    certified = f"{good.sum()} of {len(good)} certified"
    tidy(axes, x="start, sorted by gap", y="relative gap to the lower bound", title=certified, legend=True)


def _iterations(axes: Axes, work: Array, good: NDArray[np.bool_]) -> None:
    edges = np.histogram_bin_edges(work, bins=min(20, max(5, len(work) // 4)))
    axes.hist([work[good], work[~good]], bins=list(edges), stacked=True, color=[GREEN, RED], alpha=0.8, rwidth=0.9)
    axes.locator_params(axis="y", integer=True)
    low, middle, high = np.percentile(work, [0, 50, 100])
    title = f"median {middle:.0f} iterations, {low:.0f} to {high:.0f}"
    tidy(axes, "y", x="iterations, restarts included", y="starts", title=title)


def solver_time(solution: Solution) -> tuple[str, str]:
    """Row of a summary: seconds and iterations of the solver."""
    seconds = solution.build_time + solution.solve_time
    return "time of the solver", f"{seconds:.2f} s, {solution.iterations} iterations"


def _certified_text(solution: Solution) -> str:
    if not solution.certified:
        return "no: better parameters that obey the constraints cannot be excluded"
    better = "reach a noticeably smaller objective" if solution.problem.objective_labels else "fit noticeably better"
    return f"yes: no parameters that obey the constraints can {better}"


def _objective_text(solution: Solution) -> str:
    text = f"{solution.objective:.6e}"
    return f"{text}, and {solution.penalty:.6e} for soft constraints" if solution.penalty else text


def _worst(solution: Solution) -> str:
    if solution.max_violation <= 0 or not solution.violations:
        return ""
    label = max(solution.violations, key=lambda name: solution.violations[name])
    return f" ({label})"


def _missed(solution: Solution | Believable) -> str:
    """By how many of their standard deviations the coefficients are missed, in words."""
    fit = coefficients(solution)
    if fit is None or fit.sd is None:
        return ""
    z = (fit.fitted - fit.given)[fit.used] / fit.sd[fit.used]
    return f"coefficients missed by {np.sqrt(np.mean(z**2)):.3g} standard deviations (root mean square), "


def _origins(choice: Believable) -> str:
    counts = {origin: choice.bodies.origins.count(origin) for origin in dict.fromkeys(choice.bodies.origins)}
    return ", ".join(f"{count} from the {origin}" for origin, count in counts.items())
