"""Rows about the documents' pages: equal to a fresh run, with the recorded verdicts; what follows from print alone."""

from __future__ import annotations

from pathlib import Path

from papers.catalogue import PAPERS
from papers.item import Setting
from papers.page import Done, same, section_of, sections
from papers.sousa2014.estimates import correction_of_print

from benchmarks.measure import Measure, need

Result = tuple[str, bool]
PAGES = Path(__file__).resolve().parents[3] / "docs" / "papers"


def fresh() -> Result:
    stale, changed, total = list[str](), 0, 0
    for paper in PAPERS:
        old = sections((PAGES / f"{paper.key}.md").read_text(encoding="utf-8"))
        for item in (item for item in paper.items if item.repeatable and item.run is not None):
            assert item.run is not None
            done = Done(item, item.run(Setting()))
            total += 1
            changed += any(check.changed for check in done.outcome.checks) if done.outcome else 0
            if not same(section_of(done, paper.key).strip(), old.get(item.name, "").strip()):
                stale.append(f"{paper.key} {item.name}")
    text = f"{total - len(stale)} of {total} quick items equal a fresh run, {changed} verdicts changed"
    return text + (f"; stale: {', '.join(stale)}" if stale else ""), not stale and not changed


def beta_prime() -> Result:
    need("clarabel")
    nearest, distance, off = correction_of_print()
    return f"u' {distance**2:.6f}, {len(nearest)} beta' within {off:.1e}", (
        round(distance**2, 4) == 0.0077 and len(nearest) == 76 and round(off, 6) <= 7e-5
    )


PAGE_ROWS = [
    Measure("quick items' pages and verdicts", "equal a fresh run; none changed", "14 of 20", fresh),
    Measure("Table 4.9: beta' of the printed beta_WLS", "u' 0.0077, 76 values within 7.0e-5", "0.0077", beta_prime),
]
