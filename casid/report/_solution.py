"""Reports of a problem, its solution or many starts, the fit of its coefficients, and of the most plausible links."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.table import Table

from casid.arrays import Array
from casid.description import robot_reference
from casid.dynamics import linear_form
from casid.errors import ProblemError
from casid.files import csv_bytes
from casid.identification import ReverseEngineering
from casid.inertia import STANDARD_NAMES, parameter_csv, parameter_record, tensor_entries
from casid.report._links import links_figure, links_table
from casid.report._section import Report, ReportSection, SectionOf, picked, report_of
from casid.report._style import BAND, BLUE, GREEN, INK, MUTED, ORANGE, RED, Axes, Figure, new_figure, tidy
from casid.report._tables import PlainTable, summary_table, texts
from casid.retrieval import Coefficients, Problem, Solution
from casid.retrieval.plausible import Believable
from casid.retrieval.study import Study

_TENSOR = ("xx", "xy", "xz", "yy", "yz", "zz")
_COLUMNS = (
    "link", "mass [kg]", *(f"com_{k} [m]" for k in "xyz"), *(f"I{k} [kg.m^2]" for k in _TENSOR),
    *(f"{name} [{'kg.m^2' if name[0] == 'L' else 'kg.m' if name[0] == 'l' else 'kg'}]" for name in STANDARD_NAMES),
)  # fmt: skip

#: Characters of a label that leave the picture half of its width.
_LONGEST_LABEL = 44


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


@dataclass(frozen=True, eq=False)
class FittedCoefficients:
    """Linear forms of the parameters with their given and their fitted values.

    Attributes
    ----------
    expressions : tuple of str
        Each written out, e.g. ``Lzz1 + Lyy2``.
    given, fitted : ndarray, shape (r,)
    sd : ndarray, shape (r,), or None
        Standard deviations of the given values.
    used : ndarray of bool, shape (r,)
        Which ones the objective contains.
    """

    expressions: tuple[str, ...]
    given: Array
    fitted: Array
    sd: Array | None
    used: NDArray[np.bool_]


def coefficients(solution: Solution | Believable) -> FittedCoefficients | None:
    """Coefficients of a solution's problem; ``None`` where it was fitted to compressed samples.

    A problem may describe them (`casid.retrieval.Coefficients`); otherwise the rows of the objective are taken.
    """
    problem = solution.problem
    given = problem.coefficients
    if given is None:
        matrix, target = problem.objective.matrix, problem.objective.target
        if matrix.shape[0] >= matrix.shape[1] or len(matrix) == 0:
            return None
        given = Coefficients(matrix, target)
    forms = np.pad(given.forms, ((0, 0), (0, problem.variables.size - given.forms.shape[1])))
    names = problem.variables.names
    expressions = tuple(linear_form(row, names) for row in forms)
    return FittedCoefficients(expressions, given.values, forms @ solution.x, given.sd, given.used)


class FitSection(ReportSection):
    """Fit of each coefficient; without forms where the problem was made from samples."""

    def __init__(self, solution: Solution | Believable) -> None:
        self.solution, self.fit = solution, coefficients(solution)

    def files(self) -> Mapping[str, bytes]:
        """``coefficients.csv``."""
        fit = self.fit
        if fit is None:
            return {}
        deviations = np.full(len(fit.given), None) if fit.sd is None else fit.sd
        rows = zip(fit.expressions, fit.given, deviations, fit.fitted, fit.used, strict=True)
        return {"coefficients.csv": csv_bytes(["coefficient", "given", "sd", "fitted", "used"], list(rows))}

    def pictures(self) -> Mapping[str, Callable[..., Figure]]:
        """``fit``."""
        return {"fit": self._figure}

    def figures(self) -> Mapping[str, Figure]:
        """``fit``, where there are coefficients."""
        return {} if self.fit is None else {"fit": self._figure()}

    def _figure(self) -> Figure:
        fit, name = self.fit, self.solution.problem.name
        if fit is None:
            raise ProblemError(
                f"problem '{name}' was made from samples, not from coefficients: there is no fit of each to draw"
            )
        return fit_figure(fit, f"{name}: fit of each coefficient, sum of squares {self.solution.objective:.4e}")


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


def fit_figure(fit: FittedCoefficients, title: str) -> Figure:
    """Value of each coefficient, given and fitted, and the difference in standard deviations, or the plain one.

    The last link that leads a term groups the rows.
    """
    expressions, fitted, given, sd, mask = fit.expressions, fit.fitted, fit.given, fit.sd, fit.used
    order = sorted(range(len(given)), key=lambda i: (_link(expressions[i]), i))
    rows = np.empty(len(given))
    rows[order] = np.arange(len(given))

    figure = new_figure(10.0, 1.9 + 0.235 * len(given), title)
    left, right = figure.subplots(1, 2, sharey=True, width_ratios=[1.15, 1.0])
    _bands(left, [_link(expressions[i]) for i in order])
    _bands(right, [_link(expressions[i]) for i in order])
    _values(left, rows, fitted, given, sd, mask)
    _differences(right, rows, fitted - given, sd, mask)
    left.set_yticks(np.arange(len(given)), [_short(expressions[i]) for i in order], fontsize=8)
    left.set_ylim(len(given) - 0.4, -0.6)
    left.tick_params(axis="y", length=0, labelcolor=INK)
    right.tick_params(axis="y", length=0, labelleft=False)
    return figure


def _values(axes: Axes, rows: Array, fitted: Array, given: Array, sd: Array | None, used: NDArray[np.bool_]) -> None:
    axes.errorbar(
        given[used], rows[used], xerr=None if sd is None else sd[used], fmt="o", ms=6.5, mfc="white", mec=INK, mew=1.1,
        ecolor=INK, elinewidth=1.1, capsize=2.5, label="given" if sd is None else "given, ± 1 sd",
    )  # fmt: skip
    if not used.all():
        axes.plot(given[~used], rows[~used], "x", color=MUTED, ms=6.5, label="given, not used in the fit")
    axes.plot(fitted, rows, "o", ms=3.4, color=ORANGE, label="fitted", zorder=4)
    _symlog(axes, np.concatenate([fitted, given]), least=1e-3)
    axes.axvline(0.0, color=MUTED, linewidth=0.7, zorder=0)
    axes.legend(fontsize=8.5, frameon=False, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3, handletextpad=0.3)
    tidy(axes, "x", x="value [kg m² (inertia), kg m (first moment)]")


def _differences(axes: Axes, rows: Array, difference: Array, sd: Array | None, used: NDArray[np.bool_]) -> None:
    if sd is None:
        shown = difference
        label = "fitted − given [kg m², kg m]"
    else:
        shown = np.divide(difference, sd, out=np.full_like(difference, np.nan), where=sd > 0)
        label = "(fitted − given) / sd"
    colours = [ORANGE if use else MUTED for use in used]
    axes.barh(rows, np.nan_to_num(shown), height=0.62, color=colours)
    _symlog(axes, shown[np.isfinite(shown)], least=1.0 if sd is not None else 1e-6)
    if sd is not None:
        axes.axvspan(-2.0, 2.0, color=BLUE, alpha=0.12, linewidth=0, zorder=-1, label="within ± 2 sd")
        axes.legend(fontsize=8.5, frameon=False, loc="lower center", bbox_to_anchor=(0.35, 1.0))
    axes.axvline(0.0, color=MUTED, linewidth=0.7)
    edge = axes.get_yaxis_transform()
    for row, value in zip(rows, difference, strict=True):
        text = f"{value:+.1e}"
        axes.text(1.02, row, text, transform=edge, va="center", fontsize=7.5, color=MUTED, family="monospace")
    head = "fitted − given\n[SI]"
    axes.text(1.02, 1.01, head, transform=axes.transAxes, va="bottom", fontsize=7.5, color=MUTED)
    tidy(axes, "x", x=label)


def _bands(axes: Axes, links: Sequence[int]) -> None:
    """Shade every other group of rows that belong to one link."""
    start = 0
    for shade, (_, members) in enumerate(groupby(links)):
        count = len(list(members))
        if shade % 2 == 0:
            axes.axhspan(start - 0.5, start + count - 0.5, color=BAND, linewidth=0, zorder=-2)
        start += count


def _symlog(axes: Axes, values: Array, least: float) -> None:
    """Linear axis, or symmetric-logarithmic where the values span more than a decade."""
    sizes = np.abs(values[np.isfinite(values)])
    sizes = sizes[sizes > 0]
    if len(sizes) == 0 or np.log10(sizes.max() / max(least, sizes.min())) <= 1:
        axes.locator_params(axis="x", nbins=5)
        return
    axes.set_xscale("symlog", linthresh=least, linscale=1.0)
    limit = 10.0 ** np.ceil(np.log10(sizes.max() * 1.2))
    decades = 10.0 ** np.arange(np.log10(least), np.log10(limit) + 0.5)
    decades = decades[:: max(1, int(np.ceil(len(decades) / 3)))]
    axes.set_xticks(np.concatenate([-decades[::-1], [0.0], decades]))
    axes.set_xticks([], minor=True)
    low, high = np.nanmin(values, initial=0.0), np.nanmax(values, initial=0.0)
    axes.set_xlim(min(1.4 * low, -2.0 * least), max(1.4 * high, 2.0 * least))


def _link(expression: str) -> int:
    """Number of the link whose parameter comes first, e.g. 2 for ``Lxx2 - Lyy2 + ...``; 0 without one."""
    found = re.search(r"[A-Za-z](\d+)\b", expression)
    return int(found.group(1)) if found else 0


def _short(expression: str) -> str:
    return expression if len(expression) <= _LONGEST_LABEL else expression[: _LONGEST_LABEL - 2].rstrip(" +-*(") + " …"


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
