"""Measure every bar of topics anew and print a table for each.

    python scripts/acceptance.py foundation
    python scripts/acceptance.py learning --quick   # less of what takes minutes; the rows say what is left out
    python scripts/acceptance.py real --waive "Panda, joints, held-out error"
    python scripts/acceptance.py all --publish      # every topic, and the page docs/results.md

Each row is published as soon as it is measured. ``--missing`` takes the rows that are not yet published in this state
of code, data and packages and that no other run is measuring: two such runs at once share the work, and one that was
interrupted goes on. ``house`` judges the other tables, so that it comes last:

    python scripts/acceptance.py all --publish --missing &  python scripts/acceptance.py all --publish --missing
    wait; python scripts/acceptance.py house --publish --missing

The exit code is 0 only where every demanded row was measured and meets its bar. A row that cannot be measured here (a
missing extra, compiler or data folder) fails the table like one that misses its bar, unless it is waived by its name;
so does a row whose own code fails. Every number is computed in this run, but for rows that take long (the attack,
CMA-ES): these add up in pieces over several runs, kept in build/pieces, and a piece counts while the files that it
depends on are unchanged.
"""

from __future__ import annotations

import os

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")  # "one core" means one core; set before numpy loads

import argparse
import sys
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from functools import partial
from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.table import Table

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent)]

from benchmarks.measure import Measure, Outcome, Verdict, headline, measures, outcome, skipped, topics
from benchmarks.results import PRODUCT, claimed, digest, publish

_COLOUR = {Verdict.MET: "green", Verdict.MISSED: "red", Verdict.NOT_MEASURED: "red"}
_ALL = "all"


def _arguments() -> tuple[argparse.ArgumentParser, argparse.Namespace]:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("topic", choices=[*topics(), _ALL], nargs="+")
    parser.add_argument("--only", metavar="WORD", help="measure only the rows whose name contains WORD")
    parser.add_argument(
        "--waive", metavar="NAME", action="append", default=[],
        help="let the row of this name be unmeasured; may be repeated",
    )  # fmt: skip
    parser.add_argument(
        "--quick", action="store_true", help="less of what takes minutes; the rows say what is left out"
    )
    parser.add_argument("--publish", action="store_true", help="write each row that is measured to docs/results.md")
    parser.add_argument(
        "--missing", action="store_true", help="with --publish: only rows that are not yet published in this state"
    )
    options = parser.parse_args()
    if options.missing and not options.publish:
        parser.error("--missing needs --publish")
    if _ALL in options.topic:
        options.topic = sorted(topics(), key="house".__eq__)  # it judges the others
    return parser, options


def _run(
    topic: str, chosen: Sequence[Measure], options: argparse.Namespace, done: Callable[[Outcome], None], state: str
) -> list[Outcome]:
    """Measure rows, each shown on stderr and handed on as soon as it is measured, and print the table."""
    console = Console(width=None if sys.stdout.isatty() else 170)
    progress = Console(stderr=True, soft_wrap=True)
    table = Table(title=f"{topic}: measured now", show_lines=True)
    for column in ("measure", "bar", "value", "reference", "met", "s"):
        table.add_column(column, justify="right" if column == "s" else "left")
    outcomes = []
    for measure in chosen:
        with claimed(topic, measure, state, options.quick) if options.missing else nullcontext(True) as mine:
            if not mine:
                continue
            row = outcome(measure, options.quick, measure.name in options.waive)
            done(row)
        colour = _COLOUR.get(row.verdict, "yellow")
        verdict = f"[{colour}]{row.verdict.value}[/]"
        texts = (measure.name, measure.bar, row.value, measure.reference)
        table.add_row(*map(escape, texts), verdict, f"{row.seconds:.1f}")
        progress.print(f"{verdict} {escape(measure.name)}: {escape(row.value)} ({row.seconds:.0f} s)")
        outcomes.append(row)
    console.print(table)
    return outcomes


def main() -> int:
    parser, options = _arguments()
    catalogue = {topic: measures(topic) for topic in (topics() if options.publish else options.topic)}
    word = (options.only or "").lower()
    chosen = {topic: [m for m in catalogue[topic] if word in m.name.lower()] for topic in options.topic}
    names = [measure.name for topic in options.topic for measure in catalogue[topic]]
    listed = "\n".join(f"  {name}" for name in names)
    if not any(chosen.values()):
        parser.error(f"no row of {', '.join(options.topic)} has '{options.only}' in its name; the rows are\n{listed}")
    for unknown in [name for name in options.waive if name not in names]:
        parser.error(f"--waive: no row has the name '{unknown}'; the rows are\n{listed}")
    if options.only and options.quick and all(m.quick is skipped for listed in chosen.values() for m in listed):
        parser.error(f"no row with '{options.only}' in its name has a quick form: measure it without --quick")
    state = digest(*PRODUCT) if options.publish else ""

    def done(topic: str, row: Outcome) -> None:
        if options.publish and digest(*PRODUCT) == state:
            publish(topic, [row], catalogue, options.quick, state=state)
        elif options.publish:
            sys.stderr.write(f"not published, for code, data or packages changed meanwhile: {row.measure.name}\n")

    passed, lines = True, []
    for topic in [topic for topic in options.topic if chosen[topic]]:
        outcomes = _run(topic, chosen[topic], options, partial(done, topic), state)
        text, passes = headline(outcomes)
        passed &= passes or (options.missing and not outcomes)
        lines.append(f"{topic}: {text}")
    print("\n".join(lines))
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
