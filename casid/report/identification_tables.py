"""Tables of an identification and of a validation for the terminal."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from rich.table import Table

from casid.identification import Identification, Prediction
from casid.report.intervals import intervals_table
from casid.report.plain_table import PlainTable
from casid.report.tables import links_table, summary_table


def identification_tables(result: Identification) -> list[Table]:
    """Tables for the terminal: errors per joint, links, summary."""
    fit, feasible = result.unconstrained, result.feasible
    solution = feasible.solution
    rows = [
        ("recordings", f"{', '.join(fit.data.datasets)}: {int(fit.data.counts.max())} samples a joint"),
        (
            "base parameters",
            f"{fit.rank} of {fit.data.base.rank} determined, condition number {fit.condition_number:.3g}",
        ),
        (f"unconstrained ({fit.method})", f"{fit.relative_error:.3f} % of the torque"),
        (
            "physically consistent",
            f"{feasible.relative_error:.3f} % ({raw_error(result):.3f} % of the unfiltered torque), weighted "
            f"residual x {feasible.residual_ratio:.4f}",
        ),
        (
            "certificate",
            f"{solution.status}, relative gap {solution.gap:.1e}, largest violation {solution.max_violation:.1e}",
        ),
        *_choice_rows(result),
        *_held_out_rows(result),
        ("time", f"{solution.build_time + solution.solve_time:.2f} s, {solution.iterations} iterations"),
        ("determined by the data", told_words(result)),
        *(("note", note) for note in result.notes),
    ]
    return [
        *verdict_tables(result),
        joints_table(result),
        *terms_tables(result),
        links_table(feasible.link_parameters),
        *([] if result.intervals is None else [intervals_table(result.intervals)]),
        summary_table(f"{result.model.robot.name} identification", rows),
    ]


def verdict_tables(result: Identification) -> list[Table]:
    """The verdict in one line, then each finding with what mends it."""
    if result.verdict is None:
        return []
    rows = [("", result.verdict.line)]
    rows += [(finding.kind, f"{finding.text}; {finding.remedy}") for finding in result.verdict.findings]
    return [summary_table("Verdict", rows)]


def raw_error(result: Identification) -> float:
    """Error of the consistent fit against the torques before filtering [%]."""
    return result.feasible.data.relative_errors(result.feasible.beta, raw=True)[0]


def told_words(result: Identification) -> str:
    """Single parameters that the data determine; the others are the plausible choice."""
    told = [entry.name for entry in result.determined if entry.by_data]
    count = len(result.model.parameter_names)
    listed = ", ".join(told) if told else "no single parameter"
    return f"{listed}: {len(told)} of {count}, the rest is the plausible choice among all that explain the data"


def _choice_rows(result: Identification) -> list[tuple[str, str]]:
    choice = result.feasible.believable
    if choice is None:
        return []
    text = (
        f"most plausible within {100 * choice.share:.2f} % of the best fit: divergence {choice.divergence:.4g}, "
        f"relative gap {choice.gap:.1e}"
    )
    return [("links", text)]


def _held_out_rows(result: Identification) -> list[tuple[str, str]]:
    apart = result.held_out
    if apart is None:
        return []
    text = "; ".join(
        f"{kind} {apart.tested[kind].total:.3f} % (training {apart.training[kind].total:.3f} %)"
        for kind in apart.tested
    )
    return [("held-out error", f"{text}; each of {apart.folds} parts predicted from the others")]


def joints_table(result: Identification) -> Table:
    """Error of each joint, in N.m and in percent: a large percentage of a small torque is a small error."""
    table = PlainTable("Joints")
    table.add_column("joint", style="bold", no_wrap=True)
    for column in joint_columns(result)[1:]:
        table.add_column(column, justify="right", no_wrap=True)
    for row in joint_rows(result):
        table.add_row(*row)
    return table


def terms_tables(result: Identification) -> list[Table]:
    """Friction and the other joint terms, one row a joint; nothing where there are none."""
    columns = result.model.term_columns
    terms = list(dict.fromkeys(term for term, _ in columns.values()))
    if not terms:
        return []
    values = {(term, k): f"{result.feasible.values[column]:.4g}" for column, (term, k) in columns.items()}
    table = PlainTable("Friction and other joint terms")
    table.add_column("joint", style="bold", no_wrap=True)
    for term in terms:
        table.add_column(f"{term.symbol} [{term.unit}]", justify="right", no_wrap=True)
    for k, joint in enumerate(result.model.robot.coordinates):
        table.add_row(joint.name, *(values.get((term, k), "") for term in terms))
    return [table]


def joint_columns(result: Identification) -> list[str]:
    """Columns of the joints' table; held-out errors where there are any."""
    columns = ["joint", "torque RMS [N.m]", "error RMS [N.m]", "error [%]", "unconstrained [%]"]
    return columns if result.held_out is None else [*columns, "held out [%]", "unconstrained, held out [%]"]


def validation_tables(prediction: Prediction, names: Sequence[str]) -> list[Table]:
    """RMS, MSE and relative error of each joint on another recording."""
    title = f"{prediction.dataset.name}: predicted by Newton-Euler"
    table = PlainTable(title)
    table.add_column("joint", style="bold", no_wrap=True)
    for column in ("torque RMS [N.m]", "error RMS [N.m]", "MSE [(N.m)^2]", "error [%]"):
        table.add_column(column, justify="right", no_wrap=True)
    size = np.sqrt(np.mean(prediction.dataset.tau**2, axis=0))
    for k, name in enumerate(names):
        table.add_row(
            name,
            f"{size[k]:.3f}",
            f"{prediction.rms[k]:.4f}",
            f"{prediction.mse[k]:.3e}",
            f"{prediction.relative_errors[k]:.2f}",
        )
    table.add_section()
    table.add_row("all", "", "", "", f"{prediction.relative_error:.3f}")
    return [table]


def joint_rows(result: Identification) -> list[list[str]]:
    """Rows of the joints' table, in the order of `joint_columns`."""
    data, feasible, fit = result.feasible.data, result.feasible, result.unconstrained
    size = np.sqrt(data.squared_torques / np.maximum(data.counts, 1))
    kept = [] if result.held_out is None else [result.held_out.tested[kind] for kind in ("consistent", "unconstrained")]
    rows = [
        [
            joint.name,
            f"{size[k]:.3f}",
            f"{feasible.rms[k]:.4f}",
            f"{feasible.relative_errors[k]:.2f}",
            f"{fit.relative_errors[k]:.2f}",
            *(f"{errors.joints[k]:.2f}" for errors in kept),
        ]
        if data.counts[k]
        else [joint.name, "not used", "-", "-", "-", *("-" for _ in kept)]
        for k, joint in enumerate(result.model.robot.coordinates)
    ]
    total = ["all", "", "", f"{feasible.relative_error:.3f}", f"{fit.relative_error:.3f}"]
    return [*rows, [*total, *(f"{errors.total:.3f}" for errors in kept)]]
