"""The groups of cases; each has a file of golden values."""

from __future__ import annotations

from tests.contract import commanded, identified, retrieved
from tests.contract.case import Case

GROUPS: dict[str, dict[str, Case]] = {
    "identified": identified.CASES,
    "retrieved": retrieved.CASES,
    "commanded": commanded.CASES,
}
