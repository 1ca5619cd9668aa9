"""A document's page, every item with what was published beside what was computed; and the first page of all."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from papers.catalogue import PAPERS, Claim, Paper, paper_of
from papers.item import Comparison, Item, Outcome, Status

_NUMBER = re.compile(r"(?<![A-Za-z_\d.])[-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?")
#: How the lines of a page begin that say what holds and what does not.
HOLDS, FAILS = "- holds here: ", "- **does not hold here**: "
#: How such a line ends where the verdict is another than the recorded one.
CHANGED = " **(recorded otherwise)**"
#: What an item counts as that has a statement which does not hold here.
DIFFERS = "differs"
MISSING = "Not computed: "


@dataclass(frozen=True, eq=False)
class Done:
    """An item and its outcome; ``missing`` says why there is none."""

    item: Item
    outcome: Outcome | None
    missing: str = ""
    seconds: float = 0.0


def slug(name: str) -> str:
    """``Fig. 6.4`` -> ``fig_6_4``."""
    return "_".join("".join(c if c.isalnum() else " " for c in name.lower()).split())


def counts(items: Sequence[Item]) -> str:
    """How many items of each kind."""
    numbers = {status: sum(item.status is status for item in items) for status in Status}
    return f"{len(items)} items: " + ", ".join(f"{number} {status.value}" for status, number in numbers.items())


def page(paper: Paper, done: Sequence[Done], quick: bool, old: str = "", kept: Sequence[Item] = ()) -> str:
    """Markdown.

    Parameters
    ----------
    paper, done
        The document, and its items in their order.
    quick
        Whether everything was made with few runs and samples.
    old, kept
        A page that is there already, and the items whose sections stay as they are in it, where it has them. Of the
        others, what could not be computed this time keeps what was computed before.
    """
    names, before = {item.name for item in kept}, sections(old)
    good = {name: text for name, text in before.items() if MISSING not in text}
    made = {one.item.name: section_of(one, paper.key) for one in done}
    made |= {name: before[name] for name in names & before.keys()}
    made |= {one.item.name: good[one.item.name] for one in done if one.missing and one.item.name in good}
    return "\n\n".join([_head(paper, made, quick), *(text.strip() for text in made.values())]) + "\n"


def _head(paper: Paper, made: Mapping[str, str], quick: bool) -> str:
    command = f"python scripts/reproduce.py {paper.key} --out docs/papers{' --quick' if quick else ''}"
    lines = [
        f"# {paper.title}",
        "",
        f"{paper.citation}.",
        "",
        f"{counts(paper.items)}. Published numbers stand beside those computed here; `{command}` wrote this page. "
        "What the document states, or its numbers imply, and a computation can contradict is checked: the last column "
        "counts what holds here.",
        "",
        "| item | what | | holds |",
        "| --- | --- | --- | --- |",
    ]
    for item in paper.items:
        section = made.get(item.name, "")
        lines.append(f"| {item.name} | {item.title} | {outcome_of(item, section)} | {_tally(section)} |")
    if quick:
        lines += ["", "Made with few runs and samples (`--quick`): it shows that everything works, not how well."]
    return "\n".join(lines)


def outcome_of(item: Item, section: str) -> str:
    """The item's status; ``differs`` where a statement about it does not hold in its section of a page."""
    return f"{item.status.value}, {DIFFERS}" if FAILS in section else item.status.value


def failing(section: str) -> list[str]:
    """Statements of a section that do not hold."""
    return [line.removeprefix(FAILS) for line in section.splitlines() if line.startswith(FAILS)]


def same(one: str, other: str, relative: float = 2e-3) -> bool:
    """Whether two sections have the same words, and numbers that differ by no more than rounding."""
    if _NUMBER.sub("#", one) != _NUMBER.sub("#", other):
        return False
    pairs = zip(_NUMBER.findall(one), _NUMBER.findall(other), strict=True)
    return all(abs(float(a) - float(b)) <= relative * max(abs(float(a)), abs(float(b))) + 1e-9 for a, b in pairs)


def _tally(section: str) -> str:
    """``2 of 3``; nothing where nothing is checked."""
    lines = section.splitlines()
    good = sum(line.startswith(HOLDS) for line in lines)
    total = good + sum(line.startswith(FAILS) for line in lines)
    return f"{good} of {total}" if total else ""


def sections(text: str) -> dict[str, str]:
    """Sections of a page, by the items' names."""
    return {part.split(":", 1)[0]: f"## {part}" for part in text.split("\n## ")[1:]}


def section_of(done: Done, folder: str) -> str:
    item = done.item
    lines = [f"## {item.name}: {item.title}", "", f"*{item.status.value}*: {_plain(item.how)}.", ""]
    if done.missing:
        lines += [f"{MISSING}{done.missing}", ""]
    if done.outcome is None:
        return "\n".join(lines)
    for check in done.outcome.checks:
        lines.append((HOLDS if check.holds else FAILS) + _plain(check.claim) + CHANGED * check.changed)
    lines += [""] if done.outcome.checks else []
    for comparison in done.outcome.comparisons:
        lines += _table(comparison)
    for name in done.outcome.pictures:
        lines += [f"![{item.name}: {item.title}]({folder}/{name}.png)", ""]
    for words in done.outcome.words:
        lines += [_plain(words), ""]
    return "\n".join(lines)


def _plain(text: str) -> str:
    """Stars are those of beta*, not emphasis."""
    return text.replace("*", "\\*")


def _table(comparison: Comparison) -> list[str]:
    lines = [f"**{comparison.title.replace('*', chr(92) + '*')}**", ""]
    lines.append("| " + " | ".join(_plain(text) for text in comparison.columns) + " |")
    lines.append("|" + " --- |" * len(comparison.columns))
    lines += ["| " + " | ".join(_plain(text).replace("|", "\\|") for text in row) + " |" for row in comparison.rows]
    return [*lines, ""]


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
        lines += [_claim(paper.key, claim, found) for claim in paper.claims]
    return "\n".join([*_head_overview(found), *lines]) + "\n"


def tally() -> tuple[Counter[Status], Counter[Status]]:
    """How many items, and how many statements of sections, of each kind."""
    items = Counter(item.status for paper in PAPERS for item in paper.items)
    return items, Counter(claim.status() for paper in PAPERS for claim in paper.claims)


def _head_overview(found: Mapping[str, Mapping[str, str]]) -> list[str]:
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
    by = claim.items()
    differs = any(failing(found[other].get(item.name, "")) for other, item in by)
    status = claim.status().value + (f", {DIFFERS}" if differs else "")
    links = ", ".join(
        (f"{paper_of(other).title.split(':')[0]} " if other != key else "") + _link(other, item) for other, item in by
    )
    return f"| {claim.name} | {_plain(claim.title)} | {status} | {links} |"


def _link(key: str, item: Item) -> str:
    return f"[{item.name}]({key}.md#{_anchor(item)})"


def _why(item: Item, section: str) -> str:
    wrong = "; ".join(failing(section))
    return _plain(item.how).replace("|", "\\|") + (f". Does not hold: {wrong}" if wrong else "")


def _anchor(item: Item) -> str:
    """The heading's anchor, as Python-Markdown and GitHub make it: points are dropped, spaces become hyphens."""
    return re.sub(r"\s+", "-", re.sub(r"[^\w\s-]", "", f"{item.name} {item.title}").strip().lower())
