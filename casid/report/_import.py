"""Report of how a log is read: the guesses with their evidence, and one row a joint."""

from __future__ import annotations

from collections.abc import Sequence

from rich.table import Table

from casid.measurement import Proposal
from casid.report._section import Report, SectionOf, report_of
from casid.report._tables import NAME, PlainTable, numbers, texts


class ProposalSection(SectionOf[Proposal]):
    """Guesses and joints."""

    def tables(self) -> Sequence[Table]:
        """What is guessed and why, and the columns of each joint with range and fit."""
        named = {"what": {"style": "bold"}} | texts("guess", "why")
        guesses = PlainTable(f"How {self.result.path.name} is read", named, self.result.evidence)
        if not self.result.joints:
            return (guesses,)
        first, *others = self.result.joints
        whole = bool(others) and all(row[1:3] == first[1:3] for row in others)  # two arrays hold all joints
        commanded = "q_des" in self.result.settings.get("columns", {})
        columns = {"joint": NAME} | ({} if whole else texts("positions", "commands" if commanded else "torques"))
        columns |= numbers(*(("range", "follows") if commanded else ("range", "largest [N.m]", "gravity", "explained")))
        rows = [cells[:1] + cells[3:] if whole else cells for cells in self.result.joints]
        note = "follows: correlation of positions and commands" if commanded else (
            "gravity: correlation of the torque with the robot's gravity torque; explained: share of its variance "
            "that the dynamics explain"
        )  # fmt: skip
        return guesses, PlainTable("Joints", columns, rows, note)


@report_of.register(Proposal)
def _(result: Proposal) -> Report:
    return Report(result.path.name, (ProposalSection(result),))
