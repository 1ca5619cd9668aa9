"""Measure every bar of one topic anew and print a table.

    python scripts/acceptance.py foundation
    python scripts/acceptance.py learning --quick   # less of what takes minutes; the rows say what is left out
    python scripts/acceptance.py users --publish    # and write the rows to docs/results.md

The exit code is 1 when a measured row misses its bar. A row that cannot be measured here (a missing extra, compiler or
data folder) is shown with the reason. Nothing stored is read: every number is computed in this run.
"""

from __future__ import annotations

import os

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")  # "one core" means one core; set before numpy loads

import argparse
import importlib
import sys
import time
from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.table import Table

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent)]

from benchmarks.measure import NotMeasured
from benchmarks.page import Row, publish

_MET, _MISSED, _OPEN = "[green]yes", "[red]NO", "[yellow]-"


def topics() -> list[str]:
    """Names of the topics that can be measured: the folders of ``benchmarks`` that list ``MEASURES``."""
    return sorted(p.parent.name for p in (HERE / "benchmarks").glob("*/__init__.py") if "\nMEASURES" in p.read_text())


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("topic", choices=topics())
    parser.add_argument("--only", metavar="WORD", help="measure only the rows whose name contains WORD")
    parser.add_argument(
        "--quick", action="store_true", help="less of what takes minutes; the rows say what is left out"
    )
    parser.add_argument("--publish", action="store_true", help="write what was measured to docs/results.md")
    options = parser.parse_args()
    if options.publish and options.quick:
        parser.error("quick rows are no results to publish")
    console = Console(width=None if sys.stdout.isatty() else 170)
    progress = Console(stderr=True, soft_wrap=True)  # each row as soon as it is measured
    module = importlib.import_module(f"benchmarks.{options.topic}")
    table = Table(title=f"{options.topic}: measured now", show_lines=True)
    for column in ("measure", "bar", "value", "reference", "met", "s"):
        table.add_column(column, justify="right" if column == "s" else "left")
    missed = unmeasured = 0
    rows: list[Row] = []
    chosen = [m for m in module.MEASURES if not options.only or options.only.lower() in m.name.lower()]
    if not chosen:
        names = "\n".join(f"  {measure.name}" for measure in module.MEASURES)
        parser.error(f"no row of '{options.topic}' has '{options.only}' in its name; it has\n{names}")
    for measure in chosen:
        start = time.perf_counter()
        try:
            value, met = measure.measure(options.quick)
            verdict = _MET if met else _MISSED
            missed += not met
        except NotMeasured as reason:
            value, verdict = f"not measured: {reason}", _OPEN
            unmeasured += 1
        except Exception as error:  # the other rows are measured all the same
            value, verdict = f"failed: {type(error).__name__}: {error}", _MISSED
            missed += 1
        seconds = time.perf_counter() - start
        rows.append(Row(measure.name, measure.bar, value, measure.reference, verdict.partition("]")[2], seconds))
        texts = (measure.name, measure.bar, value, measure.reference)
        table.add_row(*map(escape, texts), verdict, f"{seconds:.1f}")
        progress.print(f"{verdict}[/] {escape(measure.name)}: {escape(value)} ({seconds:.0f} s)")
    console.print(table)
    if options.publish:
        publish(options.topic, rows, [measure.name for measure in module.MEASURES])
    console.print(f"{missed} missed, {unmeasured} not measured, of {table.row_count} rows")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
