"""The pages as a reader takes them: a crawl from the index, long sentences, words that say nothing."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from benchmarks.measure import ROOT, Rows

row = Rows()

DOCS = ROOT / "docs"
#: Pages that a script writes: they are reached, and a link back is the browser's.
WRITTEN = ("results.md", "graded_models.md", "identified_robots.md", "side_by_side.md", "papers", "reference")
#: Most words of a sentence.
MOST = 35
#: Filling and praise, and what only people do.
BANNED = (
    "simply", "easily", "obviously", "of course", "just", "really", "quite", "seamless", "seamlessly", "effortless",
    "powerful", "magic", "blazing", "cutting-edge", "state-of-the-art", "honest", "honestly", "wants", "hopes",
    "climbs", "likes", "happily",
)  # fmt: skip
_CODE = re.compile(r"```.*?```|\$\$.*?\$\$", re.DOTALL)


def _written(page: Path) -> bool:
    return page.relative_to(DOCS).parts[0] in WRITTEN if DOCS in page.parents else False


def crawled() -> tuple[set[Path], list[str]]:
    """Pages that the index leads to, and dead ends: files that are not there, and pages whose end leads nowhere."""
    todo, seen, dead = [DOCS / "index.md"], set[Path](), []
    while todo:
        page = todo.pop()
        if page in seen:
            continue
        seen.add(page)
        text = _CODE.sub("", page.read_text(encoding="utf-8"))
        links = {(page.parent / link).resolve() for link in re.findall(r"\]\(([^)#\s:]+)(?:#[^)]*)?\)", text)}
        dead += [f"{page.name}: {link.name} is not there" for link in links if not link.exists()]
        todo += [link for link in links if link.suffix == ".md" and DOCS in link.parents]
        if not _written(page) and ".md" not in text.rstrip().split("\n\n")[-1]:
            dead.append(f"{page.name}: no next step")
    return seen, dead


def sentences(text: str) -> Iterator[str]:
    """Sentences of a page's prose: no code, tables, headings; inline code and formulas are a word each."""
    for block in re.split(r"\n\s*\n|\n(?=\s*(?:[-*]|\d+\.)\s)", _CODE.sub("\n\n", text)):
        if not block.lstrip().startswith(("|", "#", "<", "![", ":::", "!", "@")):
            plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", block)
            plain = re.sub(r"`[^`]*`|\$[^$]*\$", "x", plain)
            yield from re.split(r"(?<=[.!?])[)*]*\s+(?=[A-Z(\[*x])|(?<=:)\s*\n", plain)


@row("pages: dead ends from the index, banned words, sentences over 35 words", "0; 0; 0", "0.3: many")
def _measured() -> tuple[str, bool]:
    seen, dead = crawled()
    pages = [ROOT / "README.md", *sorted(page for page in DOCS.glob("*.md") if not _written(page))]
    unreached = [page.name for page in pages[1:] if page not in seen]
    long: dict[str, int] = {}
    banned = []
    for page in pages:
        text = page.read_text(encoding="utf-8")
        many = sum(len(re.findall(r"\S*\w\S*", sentence)) > MOST for sentence in sentences(text))
        long |= {page.name: many} if many else {}
        banned += [f"{page.name}: {word}" for word in BANNED if re.search(rf"\b{word}\b", _CODE.sub("", text), re.I)]
    wrong = [*dead, *(f"{name} is not reached" for name in unreached), *banned]
    where = ", ".join(f"{name} {many}" for name, many in sorted(long.items(), key=lambda pair: -pair[1]))
    text = (
        f"{len(seen)} pages, {len(dead) + len(unreached)} dead ends; {len(banned)} banned words; {sum(long.values())} "
        f"sentences of more than {MOST} words ({where or 'none'}){''.join(f'; {one}' for one in wrong[:6])}"
    )
    return text, not wrong and not long
