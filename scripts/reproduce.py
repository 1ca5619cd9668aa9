"""Compute the tables and figures of the documents that this library builds on, beside the published numbers.

    python scripts/reproduce.py --list
    python scripts/reproduce.py sousa2014 --only "Fig. 6.4" --out build/papers [--quick]
    python scripts/reproduce.py all --out docs/papers          # every page, and the table of all items
    python scripts/reproduce.py all --compare docs/papers      # are the quick items' sections what a fresh run gives?

The exit code is 1 where an item could not be computed, a full run finds a verdict that is not the recorded one, or a
section differs from the page. Prints each item's comparison and what of the document's statements holds here, writes
its pictures to ``OUT/PAPER/`` and its section into the page ``OUT/PAPER.md``. Published tables and recordings are read
from the data folder: set CASID_DATA to it.
"""

from __future__ import annotations

import os

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")  # small dense systems: one thread is quickest; set before numpy loads

import argparse
import sys
import time
from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.table import Table

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

from benchmarks.measure import NotMeasured
from benchmarks.picture import small_png
from papers.catalogue import PAPERS, Paper, paper_of
from papers.item import Item, Setting
from papers.page import NAME, Done, counts, overview, page, same, section_of, sections, slug

from casid.errors import CasidError
from casid.files import prepare_directory, write_files

#: Resolution of the pages' pictures: they are many.
DPI = 80
#: What a page says of an item that no run has computed.
NOT_YET = "not asked for yet"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("paper", nargs="?", choices=["all", *(p.key for p in PAPERS)], help="which document")
    parser.add_argument("--list", action="store_true", help="list all items, and how each is reproduced")
    parser.add_argument(
        "--only", metavar="ITEM", nargs="+", default=[],
        help="items by name or its beginning; sections of an existing page that are not computed anew stay",
    )  # fmt: skip
    parser.add_argument("--out", type=Path, default=Path("build/papers"), help="folder for pages and pictures")
    parser.add_argument("--compare", type=Path, metavar="FOLDER", help="compare quick items with the pages there")
    parser.add_argument("--quick", action="store_true", help="few runs and samples: does it work?")
    options = parser.parse_args()
    console = Console(width=None if sys.stdout.isatty() else 170, highlight=False)
    if options.list:
        _list(console)
        return 0
    if options.paper is None:
        parser.error("name a document, or --list")
    papers = PAPERS if options.paper == "all" else (paper_of(options.paper),)
    if options.compare is not None:
        return sum(compare(console, paper, options.compare) for paper in papers) > 0
    names = [item.name for paper in papers for item in paper.items]
    unknown = [name for name in options.only if not any(_is(own, name) for own in names)]
    if unknown:
        parser.error(f"'{options.paper}' has no item '{unknown[0]}'; --list shows them")
    return any([reproduce(console, paper, options) for paper in papers])


def reproduce(console: Console, paper: Paper, options: argparse.Namespace) -> bool:
    """Compute the chosen items of a document and write its pages; whether anything is missing or changed."""
    chosen = [item for item in paper.items if not options.only or any(_is(item.name, name) for name in options.only)]
    pictures, text = prepare_directory(options.out / paper.key), options.out / f"{paper.key}.md"
    done: dict[str, Done] = {}
    for item in chosen:
        one = done[item.name] = compute(item, Setting(options.quick))
        _show(console, one)
        if one.outcome is not None:
            write_files(pictures, {f"{n}.png": small_png(f, DPI) for n, f in one.outcome.pictures.items()})
        left = [Done(i, None, "" if i.function is None else NOT_YET) for i in paper.items if i.name not in done]
        every = {d.item.name: d for d in (*done.values(), *left)}
        old = text.read_text(encoding="utf-8") if text.exists() else ""
        whole = page(paper, [every[i.name] for i in paper.items], options.quick, old, [d.item for d in left])
        write_files(options.out, {text.name: whole})
    write_overview(options.out)
    console.print(f"written: {text}")
    missing = [one.item.name for one in done.values() if one.missing]
    checks = [check for one in done.values() if one.outcome is not None for check in one.outcome.checks]
    changed = [check.claim for check in checks if check.changed]
    console.print(f"{counts(chosen)}; not computed here: {', '.join(missing) or 'none'}")
    console.print(f"checks: {sum(check.holds for check in checks)} of {len(checks)} hold")
    console.print(f"verdicts other than the recorded ones: {escape('; '.join(changed) or 'none')}")
    return bool(missing or (changed and not options.quick))


def write_overview(folder: Path) -> None:
    """The table of all items, from the pages in a folder."""
    places = {paper.key: folder / f"{paper.key}.md" for paper in PAPERS}
    pages = {key: place.read_text(encoding="utf-8") for key, place in places.items() if place.exists()}
    write_files(folder, {NAME: overview(pages)})


def compare(console: Console, paper: Paper, folder: Path) -> int:
    """How many sections of quick items differ from a fresh run, or have another verdict than the recorded one."""
    found, old = 0, sections((folder / f"{paper.key}.md").read_text(encoding="utf-8"))
    for item in (item for item in paper.items if item.repeatable):
        one = compute(item, Setting())
        stale = not same(section_of(one, paper.key).strip(), old.get(item.name, "").strip())
        changed = one.outcome is None or any(check.changed for check in one.outcome.checks)
        found += stale or changed
        console.print(f"{paper.key} {item.name}: {'stale' if stale else 'same'}{', verdict changed' * changed}")
    return found


def compute(item: Item, setting: Setting) -> Done:
    """Run an item; what it lacks, or what fails, is reported in its place."""
    if item.function is None:
        return Done(item, None)
    began = time.perf_counter()
    try:
        outcome = item.run(setting)
    except (NotMeasured, CasidError) as reason:
        return Done(item, None, str(reason))
    return Done(item, outcome, seconds=time.perf_counter() - began)


def _is(name: str, wanted: str) -> bool:
    return slug(name) == slug(wanted) or slug(name).startswith(slug(wanted) + "_")


def _list(console: Console) -> None:
    for paper in PAPERS:
        table = Table(title=f"{paper.key}: {counts(paper.items)}")
        for column in ("item", "what", "status", "how"):
            table.add_column(column)
        for item in paper.items:
            table.add_row(item.name, item.title, item.status.value, item.how)
        console.print(table)
    console.print(counts([item for paper in PAPERS for item in paper.items]))


def _show(console: Console, done: Done) -> None:
    console.rule(f"{done.item.name}: {done.item.title}")
    console.print(f"{done.item.status.value}: {done.item.how}")
    if done.missing:
        console.print(f"not computed: {escape(done.missing)}")
    if done.outcome is None:
        return
    for check in done.outcome.checks:
        console.print(
            f"{'[green]holds' if check.holds else '[red]DOES NOT HOLD'}[/]: {escape(check.claim)}"
            f"{' (recorded otherwise)' if check.changed else ''}"
        )
    for comparison in done.outcome.comparisons:
        table = Table(title=escape(comparison.title))
        for column in comparison.columns:
            table.add_column(escape(column))
        for row in comparison.rows:
            table.add_row(*(escape(text) for text in row))
        console.print(table)
    for words in done.outcome.words:
        console.print(escape(words))
    console.print(f"{done.seconds:.1f} s")


if __name__ == "__main__":
    sys.exit(main())
