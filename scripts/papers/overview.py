"""The first page of the papers' section: every item of every document, and how far it could be reproduced."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping

from papers.catalogue import PAPERS
from papers.claims import CLAIMS, Claim
from papers.item import Item, Status
from papers.page import DIFFERS, failing, outcome_of, sections

#: The page.
NAME = "index.md"


def overview(pages: Mapping[str, str]) -> str:
    """Markdown, from the documents' pages by their keys: counts, then one row an item and a statement."""
    found = {paper.key: sections(pages.get(paper.key, "")) for paper in PAPERS}
    lines = list[str]()
    for paper in PAPERS:
        lines += ["", f"## {paper.title}", "", "| item | what | | how, or why not |", "| --- | --- | --- | --- |"]
        lines += [_row(paper.key, item, found[paper.key].get(item.name, "")) for item in paper.items]
        lines += ["", "Statements of its sections, by the items that compute them:", ""]
        lines += ["| section | what | | computed with |", "| --- | --- | --- | --- |"]
        lines += [_claim(paper.key, claim, found) for claim in CLAIMS[paper.key]]
    return "\n".join([*_head(found), *lines]) + "\n"


def tally() -> tuple[Counter[Status], Counter[Status]]:
    """How many items, and how many statements of sections, of each kind."""
    items = Counter(item.status for paper in PAPERS for item in paper.items)
    return items, Counter(claim.status(paper.key) for paper in PAPERS for claim in CLAIMS[paper.key])


def _head(found: Mapping[str, Mapping[str, str]]) -> list[str]:
    items, claims = tally()
    each = [(p, item) for p in PAPERS for item in p.items]
    differing = sum(bool(failing(found[paper.key].get(item.name, ""))) for paper, item in each)
    both = items + claims
    return [
        "# Papers reproduced",
        "",
        f"{both.total()} entries of {len(PAPERS)} documents: {_counted(both)}. They are {items.total()} items, tables, "
        f"figures, algorithms and sections with a computation of their own ({_counted(items)}), and "
        f"{claims.total()} statements of sections that these compute ({_counted(claims)}). In {differing} items a "
        f'statement of the document does not hold here ("{DIFFERS}"): the statement, and what was found instead, are '
        "on the document's page.",
        "",
        "*Reproduced*: from the same data, or from none. *In kind*: the same computation on other data, which are "
        "named. *Impossible*: a drawing, or data that are not public and have no substitute. "
        "`python scripts/reproduce.py all --out docs/papers` writes all pages and this one; "
        "`python scripts/reproduce.py all --compare docs/papers` compares the quick items with a fresh run.",
    ]


def _counted(numbers: Counter[Status]) -> str:
    return ", ".join(f"{numbers[status]} {status.value}" for status in Status)


def _row(key: str, item: Item, section: str) -> str:
    return f"| {_link(key, item)} | {_plain(item.title)} | {outcome_of(item, section)} | {_why(item, section)} |"


def _claim(key: str, claim: Claim, found: Mapping[str, Mapping[str, str]]) -> str:
    by = claim.items(key)
    differs = any(failing(found[other].get(item.name, "")) for other, item in by)
    status = claim.status(key).value + (f", {DIFFERS}" if differs else "")
    links = ", ".join((f"{_short(other)} " if other != key else "") + _link(other, item) for other, item in by)
    return f"| {claim.name} | {_plain(claim.title)} | {status} | {links} |"


def _short(key: str) -> str:
    paper = next(paper for paper in PAPERS if paper.key == key)
    return paper.title.split(":")[0]


def _link(key: str, item: Item) -> str:
    return f"[{item.name}]({key}.md#{_anchor(item)})"


def _why(item: Item, section: str) -> str:
    wrong = "; ".join(failing(section))
    return _plain(item.how).replace("|", "\\|") + (f". Does not hold: {wrong}" if wrong else "")


def _anchor(item: Item) -> str:
    """The heading's anchor, as Python-Markdown and GitHub make it: points are dropped, spaces become hyphens."""
    return re.sub(r"\s+", "-", re.sub(r"[^\w\s-]", "", f"{item.name} {item.title}").strip().lower())


def _plain(text: str) -> str:
    return text.replace("*", "\\*")
