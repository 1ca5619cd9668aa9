"""Report of how a log is read: the guesses with their evidence, and one row a joint."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich.table import Table

from casid.measurement import Proposal
from casid.report._section import Report, ReportSection, report_of
from casid.report._tables import NAME, PlainTable, numbers, texts


@dataclass(frozen=True, eq=False)
class ProposalSection(ReportSection):
    """Guesses and joints."""

    found: Proposal

    def tables(self) -> Sequence[Table]:
        """What is guessed and why, and the columns of each joint with range and fit."""
        named = {"what": {"style": "bold"}} | texts("guess", "why")
        guesses = PlainTable(f"How {self.found.path.name} is read", named, self.found.evidence)
        if not self.found.joints:
            return (guesses,)
        first, *others = self.found.joints
        whole = bool(others) and all(row[1:3] == first[1:3] for row in others)  # two arrays hold all joints
        commanded = "q_des" in self.found.settings.get("columns", {})
        columns = {"joint": NAME} | ({} if whole else texts("positions", "commands" if commanded else "torques"))
        columns |= numbers(*(("range", "follows") if commanded else ("range", "largest [N.m]", "gravity", "explained")))
        rows = [cells[:1] + cells[3:] if whole else cells for cells in self.found.joints]
        note = (
            "follows: correlation of positions and commands"
            if commanded
            else (
                "gravity: correlation of the torque with the robot's gravity torque; explained: share of its variance "
                "that the dynamics explain"
            )
        )
        return guesses, PlainTable("Joints", columns, rows, note)


@report_of.register(Proposal)
def _(result: Proposal) -> Report:
    return Report(result.path.name, (ProposalSection(result),))
