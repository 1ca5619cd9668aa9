"""Tables of plain text: names are shown literally, never read as markup or emoji."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from typing import Any

from rich import box
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text


class PlainTable(Table):
    """A table of plain text; a cell with a style is given as `rich.text.Text`.

    Parameters
    ----------
    title
        Above the table, on the left.
    header
        Whether columns have names.
    """

    def __init__(self, title: str, header: bool = True) -> None:
        super().__init__(
            title=Text(title, style="bold"), title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False,
            show_header=header,
        )  # fmt: skip

    def add_column(self, header: RenderableType = "", *args: Any, **options: Any) -> None:
        """Add a column; its name is shown literally."""
        super().add_column(_literal(header), *args, **options)

    def add_row(self, *cells: RenderableType | None, **options: Any) -> None:
        """Add a row; text is shown literally."""
        super().add_row(*(None if cell is None else _literal(cell) for cell in cells), **options)

    def note(self, text: str) -> None:
        """Text below the table."""
        self.caption, self.caption_justify = Text(text), "left"


def html_of(table: Table) -> str:
    """A table of the terminal as HTML, with the same alignment of columns."""
    sides = ["right" if column.justify == "right" else "left" for column in table.columns]

    def line(tag: str, cells: Iterable[RenderableType]) -> str:
        pairs = zip(cells, sides, strict=True)
        return (
            "<tr>"
            + "".join(f'<{tag} style="text-align:{side}">{_html(cell)}</{tag}>' for cell, side in pairs)
            + "</tr>"
        )

    columns = [list(column.cells) for column in table.columns]
    head = line("th", (column.header for column in table.columns)) if table.show_header else ""
    body = "".join(line("td", row) for row in zip(*columns, strict=True))
    caption = "" if table.caption is None else f"<p><small>{_html(table.caption)}</small></p>"
    title = "" if table.title is None else f"<b>{_html(table.title)}</b>"
    return f"<div>{title}<table><thead>{head}</thead><tbody>{body}</tbody></table>{caption}</div>"


def summary_table(title: str, rows: Iterable[tuple[str, str]]) -> Table:
    """Table of two columns: quantity and value."""
    table = PlainTable(title, header=False)
    table.add_column("what", style="dim", no_wrap=True)
    table.add_column("value")
    for what, value in rows:
        table.add_row(what, value)
    return table


def _html(cell: RenderableType) -> str:
    return escape(cell.plain if isinstance(cell, Text) else str(cell))


def _literal(cell: RenderableType) -> RenderableType:
    return Text(cell) if isinstance(cell, str) else cell
