"""Report of a test of base parameters: the verdict, the nearest feasible ones, and what each has to change."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from rich.table import Table

from casid.dynamics import BaseParameters
from casid.files import csv_bytes
from casid.identification.repair import Feasibility
from casid.inertia import parameter_csv, parameter_record
from casid.report._section import Report, ReportSection, picked, report_of
from casid.report._tables import NAME, PlainTable, numbers, summary_table


@dataclass(frozen=True, eq=False)
class FeasibilitySection(ReportSection):
    """Verdict on given base parameters, the nearest feasible ones, and how much each has to change."""

    found: Feasibility
    base: BaseParameters
    consistency: str

    @property
    def _rows(self) -> list[list[Any]]:
        given, corrected = self.found.given, self.found.corrected
        change = corrected - given
        share = 100 * change**2 / max(float(change @ change), np.finfo(float).tiny)
        columns = (self.base.names, self.base.expressions, given, corrected, change, share)
        return [list(row) for row in zip(*columns, strict=True)]

    def tables(self) -> Sequence[Table]:
        """The verdict; one row for each base parameter."""
        found, size = self.found, float(np.linalg.norm(self.found.given))
        rows = [
            ("consistency", self.consistency),
            ("verdict", found.verdict),
            ("nearest feasible ones", f"at {found.distance:.4g}, {100 * found.distance / size:.3g} % of the norm"),
            ("proven: none is nearer than", f"{found.proven_distance:.4g}"),
        ]
        columns = {"parameter": NAME} | numbers("given", "nearest feasible", "change", "share of the distance [%]")
        lines = [(row[0], *(f"{value:.4g}" for value in row[2:5]), f"{row[5]:.1f}") for row in self._rows]
        return summary_table("Feasibility", rows), PlainTable("Base parameters", columns, lines)

    def record(self) -> Mapping[str, Any]:
        """Verdict and distances."""
        found = self.found
        proof = picked(found, "verdict", "distance", "proven_distance")
        return {"consistency": self.consistency, **proof, **parameter_record(found.parameters)}

    def files(self) -> Mapping[str, bytes]:
        """``base_parameters.csv``, ``parameters.csv``: consistent ones with the nearest feasible base parameters."""
        head = ["parameter", "expression", "given", "value", "change", "share of the distance [%]"]
        return {
            "base_parameters.csv": csv_bytes(head, self._rows),
            "parameters.csv": parameter_csv(self.found.parameters),
        }


@report_of.register(Feasibility)
def _of_feasibility(found: Feasibility, base: BaseParameters, consistency: str = "full") -> Report:
    return Report("feasibility", (FeasibilitySection(found, base, consistency),), json="feasibility.json")
