"""A document's page: every item with what was published beside what was computed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from seeds.item import Comparison, Item, Outcome, Status
from seeds.papers import Paper


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


def page(paper: Paper, done: Sequence[Done], quick: bool) -> str:
    """Markdown."""
    command = f"python scripts/reproduce.py {paper.key} --out docs/papers{' --quick' if quick else ''}"
    lines = [
        f"# {paper.title}",
        "",
        f"{paper.citation}.",
        "",
        f"{counts(paper.items)}. Published numbers stand beside those computed here; `{command}` wrote this page.",
        "",
        "| item | what | |",
        "| --- | --- | --- |",
        *(f"| {item.name} | {item.title} | {item.status.value} |" for item in paper.items),
        "",
    ]
    if quick:
        lines += ["Made with few runs and samples (`--quick`): it shows that everything works, not how well.", ""]
    for one in done:
        lines += _section(one, paper.key)
    return "\n".join(lines).rstrip() + "\n"


def renewed(old: str, new: str, kept: Sequence[Item]) -> str:
    """The new page, with the sections of some items as they are in the old one, where it has them."""
    before, made = _sections(old), _sections(new)
    names = {item.name for item in kept}
    parts = [before.get(name, text) if name in names else text for name, text in made.items()]
    return "\n\n".join(part.strip() for part in parts) + "\n"


def _sections(text: str) -> dict[str, str]:
    """Head (by the empty name) and sections of a page, by the items' names."""
    head, *parts = text.split("\n## ")
    return {"": head} | {part.split(":", 1)[0]: f"## {part}" for part in parts}


def _section(done: Done, folder: str) -> list[str]:
    item = done.item
    lines = [f"## {item.name}: {item.title}", "", f"*{item.status.value}*: {item.how}.", ""]
    if done.missing:
        lines += [f"Not computed: {done.missing}", ""]
    if done.outcome is None:
        return lines
    for comparison in done.outcome.comparisons:
        lines += _table(comparison)
    for name in done.outcome.pictures:
        lines += [f"![{item.name}: {item.title}]({folder}/{name}.png)", ""]
    for words in done.outcome.words:
        lines += [_plain(words), ""]
    return lines


def _plain(text: str) -> str:
    """Stars are those of beta*, not emphasis."""
    return text.replace("*", "\\*")


def _table(comparison: Comparison) -> list[str]:
    lines = [f"**{comparison.title}**", ""]
    lines.append("| " + " | ".join(comparison.columns) + " |")
    lines.append("|" + " --- |" * len(comparison.columns))
    lines += ["| " + " | ".join(_plain(text).replace("|", "\\|") for text in row) + " |" for row in comparison.rows]
    return [*lines, ""]
