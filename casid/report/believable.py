"""What is shown and written of the most plausible parameters among those that explain a problem's data."""

from __future__ import annotations

from typing import Any

from matplotlib.figure import Figure
from rich.table import Table

from casid.inertia._parameter_files import parameter_record
from casid.report.links_plot import links_figure
from casid.report.tables import links_table, summary_table
from casid.retrieval.plausible._choice import Believable


def believable_tables(choice: Believable) -> list[Table]:
    """Tables for the terminal: the chosen links, and how the choice was made."""
    proof = f"relative gap {choice.gap:.1e}{'' if choice.certified else ', not certified'}"
    rows = [
        ("sum of squares", f"{choice.objective:.6e}, allowed {choice.limit:.6e}, best {choice.best:.6e}"),
        ("divergence from plausible bodies", f"{choice.divergence:.4g}, {proof}"),
        ("plausible bodies", _origins(choice)),
        ("largest violation", f"{choice.max_violation:.1e}"),
    ]
    return [
        links_table(choice.link_parameters, "Most plausible links"),
        summary_table(f"{choice.problem.name}: most plausible of all that explain the data", rows),
    ]


def believable_record(choice: Believable) -> dict[str, Any]:
    """Content of ``believable.json``: parameters, and the proof that none are more plausible."""
    return {
        "problem": choice.problem.name,
        "robot": choice.problem.variables.robot.name,
        **parameter_record(choice.parameters),
        "objective": choice.objective,
        "allowed": choice.limit,
        "best": choice.best,
        "divergence": choice.divergence,
        "lower_bound": choice.choice.lower_bound,
        "gap": choice.gap,
        "certified": choice.certified,
        "scale": choice.scale,
        "max_violation": choice.max_violation,
        "bodies": dict(
            zip((link.name for link in choice.problem.variables.robot.links), choice.bodies.origins, strict=True)
        ),
    }


def believable_figures(choice: Believable) -> dict[str, Figure]:
    """Pictures by name: ``believable_links``."""
    title = f"{choice.problem.name}: the most plausible links, as ellipsoids of uniform density"
    robot = choice.problem.variables.robot
    return {"believable_links": links_figure(robot, choice.standard_parameters, title=title)}


def _origins(choice: Believable) -> str:
    counts = {origin: choice.bodies.origins.count(origin) for origin in dict.fromkeys(choice.bodies.origins)}
    return ", ".join(f"{count} from the {origin}" for origin, count in counts.items())
