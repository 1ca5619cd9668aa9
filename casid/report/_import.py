"""Report of how a log is read: the guesses with their evidence, and one row a joint."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich.table import Table

from casid.measurement import Proposal
from casid.report._section import Report, ReportSection, report_of
from casid.report._tables import PlainTable


@dataclass(frozen=True, eq=False)
class ProposalSection(ReportSection):
    """Guesses and joints."""

    found: Proposal

    def tables(self) -> Sequence[Table]:
        """What is guessed and why, and the columns of each joint with range and fit."""
        guesses = PlainTable(f"How {self.found.path.name} is read")
        for name in ("what", "guess", "why"):
            guesses.add_column(name, style="bold" if name == "what" else None)
        for row in self.found.evidence:
            guesses.add_row(*row)
        if not self.found.joints:
            return (guesses,)
        joints = PlainTable("Joints")
        joints.add_column("joint", style="bold")
        first, *others = self.found.joints
        whole = bool(others) and all(row[1:3] == first[1:3] for row in others)  # two arrays hold all joints
        commanded = "q_des" in self.found.settings.get("columns", {})
        for name in () if whole else ("positions", "commands" if commanded else "torques"):
            joints.add_column(name)
        for name in ("range", "follows") if commanded else ("range", "largest [N.m]", "gravity", "explained"):
            joints.add_column(name, justify="right")
        for cells in self.found.joints:
            joints.add_row(*(cells[:1] + cells[3:] if whole else cells))
        joints.caption = (
            "follows: correlation of positions and commands"
            if commanded
            else (
                "gravity: correlation of the torque with the robot's gravity torque; explained: share of its variance "
                "that the dynamics explain"
            )
        )
        return guesses, joints


@report_of.register(Proposal)
def _(result: Proposal) -> Report:
    return Report(result.path.name, (ProposalSection(result),))
