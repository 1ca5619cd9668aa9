"""Progress on stderr: a bar on a terminal, a line now and then in a file or a pipe."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic

import typer

#: Seconds between two lines where stderr is no terminal; the first comes after as many.
LINE_EVERY = 10.0


@contextmanager
def shown(text: str, total: int | None = None) -> Iterator[Callable[[str, int | None, int | None], None]]:
    """Progress of something; call what it gives with words, and with what is done of how much if that is known."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    screen = Console(stderr=True)
    if not screen.is_terminal:
        yield _lines()
        return
    counted = [BarColumn(), MofNCompleteColumn()] if total is not None else [SpinnerColumn()]
    columns = (TextColumn("{task.description}", markup=False), *counted, TimeElapsedColumn())
    with Progress(*columns, console=screen, transient=True) as bar:
        task = bar.add_task(text, total=total)

        def update(words: str, done: int | None, of: int | None) -> None:
            bar.update(task, description=words, completed=done, total=of)

        yield update


def _lines() -> Callable[[str, int | None, int | None], None]:
    began = said = monotonic()

    def say(words: str, done: int | None, of: int | None) -> None:
        nonlocal said
        now = monotonic()
        if now - said >= LINE_EVERY:
            said = now
            share = "" if done is None or of is None else f", {done} of {of}"
            typer.echo(f"{words}{share} ({now - began:.0f} s)", err=True)

    return say


@contextmanager
def starts_bar(text: str, total: int) -> Iterator[Callable[..., None]]:
    """Progress of `total` starts; the function it gives is called once for each finished start."""
    done = 0
    with shown(text, total) as update:

        def advance(*_: object) -> None:
            nonlocal done
            done += 1
            update(text, done, total)

        yield advance


@contextmanager
def steps() -> Iterator[Callable[[str, int, int], None]]:
    """Progress of a run in steps."""
    with shown("reading", 1) as update:
        yield update
