"""One self-contained page: style, script and data inside, nothing fetched from anywhere."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from functools import cache
from html import escape
from importlib.resources import files
from typing import Any

from casid.version import __version__

#: The page may use what it holds and nothing else: a browser enforces it.
_POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src 'unsafe-inline'"


def page(title: str, body: Sequence[str], robots: Mapping[str, Any], plots: Mapping[str, Any]) -> str:
    """A whole HTML page.

    Parameters
    ----------
    title
        Plain text.
    body
        Pieces of HTML, among them those of `robot_box` and `plot_box`.
    robots, plots
        What the boxes show, by their keys: `scene`, and lists of `torque_charts`.
    """
    data = json.dumps({"robots": robots, "plots": plots}, allow_nan=False, separators=(",", ":"))
    data = data.replace("<", "\\u003c")  # nothing in a text may end the script
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><meta name="generator" content="casid '
        f'{escape(__version__)}"><meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
        '<meta name="viewport" content="width=device-width"><link rel="icon" href="data:,">'
        f"<title>{escape(title)}</title><style>\n{_asset('viewer.css')}</style></head><body>\n"
        '<button id="theme" type="button">Dark</button>\n'
        + "\n".join(body)
        + f'\n<script type="application/json" id="casid-data">{data}</script>\n'
        f"<script>\n{_asset('viewer.js')}</script>\n"
        "</body></html>\n"
    )


def robot_box(key: str) -> str:
    """Where a robot is drawn."""
    return f'<div class="robot" id="robot-{escape(key)}" data-robot="{escape(key)}"></div>'


def plot_box(key: str) -> str:
    """Where curves over time are drawn."""
    return f'<div data-plots="{escape(key)}"></div>'


def image(picture: bytes | None) -> str:
    """A PNG inside the page."""
    if picture is None:
        return "<p>This picture could not be drawn.</p>"
    return f'<img alt="" src="data:image/png;base64,{base64.b64encode(picture).decode()}">'


def html_table(header: Sequence[str], rows: Sequence[Sequence[str]], text: Sequence[int] = (), feet: int = 0) -> str:
    """A table whose columns sort by a click.

    Parameters
    ----------
    header
        HTML of the columns' names.
    rows
        Plain text.
    text
        Columns of words.
    feet
        Last rows that stay below.
    """

    def lines(some: Sequence[Sequence[str]]) -> str:
        return "".join(
            "<tr>"
            + "".join(f"<td{' class=text' if k in text else ''}>{escape(str(c))}</td>" for k, c in enumerate(row))
            + "</tr>"
            for row in some
        )

    head = "".join(f"<th>{cell}</th>" for cell in header)
    split = len(rows) - feet
    foot = f"<tfoot>{lines(rows[split:])}</tfoot>" if feet else ""
    body = f"<tbody>{lines(rows[:split])}</tbody>"
    return f'<div class="scroll"><table><thead><tr>{head}</tr></thead>{body}{foot}</table></div>'


@cache
def _asset(name: str) -> str:
    return (files(__package__) / "assets" / name).read_text(encoding="utf-8")
