"""What is shown and written of a solution: tables, ``solution.json``, CSV files, pictures."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from rich.table import Table

from casid.files import write_files
from casid.files._texts import csv_bytes, json_bytes
from casid.inertia import LinkParameters, Parameters
from casid.inertia._parameter_files import parameter_csv, parameter_record
from casid.inertia._parameters import STANDARD_NAMES, tensor_entries
from casid.report.believable import believable_figures, believable_record
from casid.report.coefficients import coefficients
from casid.report.fit_plot import fit_figure
from casid.report.links_plot import links_figure
from casid.report.starts_plot import starts_figure
from casid.report.tables import links_table, summary_table
from casid.report.write import pictures
from casid.retrieval._solution import Solution
from casid.retrieval.plausible._choice import Believable
from casid.retrieval.study._study import Study

_TENSOR = ("xx", "xy", "xz", "yy", "yz", "zz")
_COLUMNS = (
    "link", "mass [kg]", *(f"com_{k} [m]" for k in "xyz"), *(f"I{k} [kg.m^2]" for k in _TENSOR),
    *(f"{name} [{'kg.m^2' if name[0] == 'L' else 'kg.m' if name[0] == 'l' else 'kg'}]" for name in STANDARD_NAMES),
)  # fmt: skip


def solution_tables(result: Solution | Study, verbose: bool = False) -> list[Table]:
    """Tables for the terminal: the links, then the fit and its certificate; if verbose, with the solver's own words."""
    solution = _best(result)
    rows = [
        ("status", f"{solution.status} ({solution.solver_status})" if verbose else str(solution.status)),
        ("objective", _objective_words(solution)),
        ("lower bound", f"{solution.lower_bound:.6e}, relative gap {solution.gap:.1e}"),
        ("certified", _certified_words(solution)),
        ("largest violation", f"{solution.max_violation:.1e}{_worst(solution)}"),
        ("time", f"{solution.build_time + solution.solve_time:.2f} s, {solution.iterations} iterations"),
    ]
    if isinstance(result, Study):
        many = f"{result.certified} of {len(result.solutions)} certified, {result.restarts} restarts"
        rows.append(("starts", f"{many}, {result.time:.2f} s"))
    return [links_table(solution.link_parameters), summary_table(solution.problem.name, rows)]


def write_solution(result: Solution | Study, directory: Path, choice: Believable | None = None) -> list[Path]:
    """Write ``solution.json``, the tables (parameters, links, coefficients) and the pictures: all of them or none.

    Parameters
    ----------
    result
        A solution, or all of a multi-start: then its best one, and what became of every start.
    directory
        An existing folder, see `prepare_directory`.
    choice
        The most plausible parameters of all that explain the data: ``believable.json`` and its picture.

    Returns
    -------
    list of Path

    Raises
    ------
    ExportError
        If a file cannot be written or a number is not finite.
    """
    solution = _best(result)
    contents = {
        "solution.json": json_bytes(solution_record(result)),
        "parameters.csv": parameter_csv(_parameters(solution)),
        "links.csv": _links_csv(solution),
    }
    fit = coefficients(solution)
    if fit is not None:
        deviations = np.full(len(fit.given), None) if fit.sd is None else fit.sd
        rows = zip(fit.expressions, fit.given, deviations, fit.fitted, fit.used, strict=True)
        contents["coefficients.csv"] = csv_bytes(["coefficient", "given", "sd", "fitted", "used"], list(rows))
    if choice is not None:
        contents["believable.json"] = json_bytes(believable_record(choice))
    contents |= pictures(lambda: {**solution_figures(result), **({} if choice is None else believable_figures(choice))})
    return write_files(directory, contents)


def solution_record(result: Solution | Study) -> dict[str, Any]:
    """Content of ``solution.json``: SI units; ``null`` for what is not known."""
    solution = _best(result)
    problem = solution.problem
    robot = problem.variables.robot
    return {
        "problem": problem.name,
        "robot": robot.name,
        "status": solution.status,
        "objective": solution.objective,
        "penalty": solution.penalty,
        "lower_bound": _known(solution.lower_bound),
        "gap": _known(solution.gap),
        "certified": bool(solution.certified),
        **parameter_record(_parameters(solution)),
        "link_parameters": {link.name: _link(link) for link in solution.link_parameters},
        "violations": dict(solution.violations),
        "max_violation": solution.max_violation,
        "iterations": solution.iterations,
        "restarts": solution.restarts,
        "build_time": solution.build_time,
        "solve_time": solution.solve_time,
        "starts": [_start(start) for start in _starts(result)],
        "seed": result.seed,
        "versions": dict(solution.versions),
    }


def solution_figures(result: Solution | Study) -> dict[str, Figure]:
    """Pictures by name: ``links``; ``starts`` where there were several; ``fit`` where there are coefficients."""
    solution, starts = _best(result), _starts(result)
    problem = solution.problem
    figures = {
        "links": links_figure(
            problem.variables.robot,
            _parameters(solution).standard,
            title=f"{problem.name}: links as ellipsoids of uniform density",
        ),
    }
    if len(starts) > 1:
        figures["starts"] = starts_figure(
            [start.gap for start in starts],
            [start.iterations for start in starts],
            [start.certified for start in starts],
            solution.tolerances.gap,
            title=f"{problem.name}: convergence of {len(starts)} starts",
        )
    fit = coefficients(solution)
    if fit is not None:
        title = f"{problem.name}: fit of each coefficient, sum of squares {solution.objective:.4e}"
        figures["fit"] = fit_figure(fit.expressions, fit.fitted, fit.given, fit.sd, fit.used, title=title)
    return figures


def _best(result: Solution | Study) -> Solution:
    return result.best if isinstance(result, Study) else result


def _starts(result: Solution | Study) -> tuple[Solution, ...]:
    return result.solutions if isinstance(result, Study) else (result,)


def _parameters(solution: Solution) -> Parameters:
    variables = solution.problem.variables
    return Parameters(variables.names, solution.x, tuple(link.name for link in variables))


def _links_csv(solution: Solution) -> bytes:
    rows = [
        [link.name, link.mass, *link.com, *tensor_entries(link.inertia_com), *link.standard]
        for link in _parameters(solution).links.values()
    ]
    return csv_bytes(_COLUMNS, rows)


def _link(link: LinkParameters) -> dict[str, Any]:
    return {
        "mass": link.mass,
        "com": link.com,
        "inertia_com": link.inertia_com,
        "principal_moments": link.principal_moments,
    }


def _start(start: Solution) -> dict[str, Any]:
    return {
        "status": start.status,
        "objective": _known(start.objective),
        "gap": _known(start.gap),
        "certified": bool(start.certified),
        "iterations": start.iterations,
        "restarts": start.restarts,
        "solve_time": start.solve_time,
        "seed": start.seed,
    }


def _known(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None


def _certified_words(solution: Solution) -> str:
    if solution.certified:
        return "yes: no parameters that obey the constraints can fit noticeably better"
    return "no: better parameters that obey the constraints cannot be excluded"


def _objective_words(solution: Solution) -> str:
    text = f"{solution.objective:.6e}"
    return f"{text}, and {solution.penalty:.6e} for soft constraints" if solution.penalty else text


def _worst(solution: Solution) -> str:
    if solution.max_violation <= 0 or not solution.violations:
        return ""
    label = max(solution.violations, key=lambda name: solution.violations[name])
    return f" ({label})"
