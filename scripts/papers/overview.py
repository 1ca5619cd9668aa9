"""The first page of the papers' section: every item of every document, and how far it could be reproduced."""

from __future__ import annotations

from collections.abc import Mapping

from papers.catalogue import PAPERS
from papers.item import Item, Status
from papers.page import DIFFERS, failing, outcome_of, sections, slug

#: The page.
NAME = "index.md"


def overview(pages: Mapping[str, str]) -> str:
    """Markdown, from the documents' pages by their keys: counts, then one row an item."""
    lines, kinds, differing, total = list[str](), dict.fromkeys(Status, 0), 0, 0
    for paper in PAPERS:
        found = sections(pages.get(paper.key, ""))
        lines += ["", f"## {paper.title}", "", "| item | what | | how, or why not |", "| --- | --- | --- | --- |"]
        for item in paper.items:
            section = found.get(item.name, "")
            kinds[item.status] += 1
            total += 1
            differing += bool(failing(section))
            place = f"[{item.name}]({paper.key}.md#{_anchor(item)})"
            lines.append(f"| {place} | {_plain(item.title)} | {outcome_of(item, section)} | {_why(item, section)} |")
    counted = ", ".join(f"{number} {status.value}" for status, number in kinds.items())
    head = [
        "# Papers reproduced",
        "",
        f"{total} items of {len(PAPERS)} documents: {counted}. In {differing} of them a statement of the document does "
        f'not hold here ("{DIFFERS}"): the statement, and what was found instead, are on the document\'s page.',
        "",
        "*Reproduced*: from the same data, or from none. *In kind*: the same computation on other data, which are "
        "named. *Impossible*: a drawing, or data that are not public and have no substitute. "
        "`python scripts/reproduce.py all --out docs/papers` writes all pages and this one; "
        "`python scripts/reproduce.py all --compare docs/papers` compares the quick items with a fresh run.",
    ]
    return "\n".join([*head, *lines]) + "\n"


def _why(item: Item, section: str) -> str:
    wrong = "; ".join(failing(section))
    return _plain(item.how).replace("|", "\\|") + (f". Does not hold: {wrong}" if wrong else "")


def _anchor(item: Item) -> str:
    return slug(f"{item.name} {item.title}").replace("_", "-")


def _plain(text: str) -> str:
    return text.replace("*", "\\*")
