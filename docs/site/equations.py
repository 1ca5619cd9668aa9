r"""Equations of the pages, ``$...$`` and ``$$...$$``, as MathML: every current browser draws it, without a script."""

import html
import re
from typing import Any

from latex2mathml.converter import convert

_EQUATION = re.compile(r'<(span|div) class="arithmatex">\\([(\[])(.*?)\\[)\]]</\1>', re.DOTALL)


def on_page_content(content: str, **_: Any) -> str:
    """Replace what Arithmatex marked."""
    return _EQUATION.sub(
        lambda found: convert(html.unescape(found[3]).strip(), display="block" if found[2] == "[" else "inline"), content
    )
