r"""Equations of the pages, ``$...$`` and ``$$...$$``, as MathML: every current browser draws it, without a script."""

import html
import re
from typing import Any

from latex2mathml.converter import convert

_EQUATION = re.compile(r'<(span|div) class="arithmatex">\\([(\[])(.*?)\\[)\]]</\1>', re.DOTALL)


def mathml(tex: str, display: str) -> str:
    """One equation; brackets of matrices grow with them, dots stand close above their letters."""
    tex = tex.replace(r"\begin{bmatrix}", r"\left[\begin{matrix}").replace(r"\end{bmatrix}", r"\end{matrix}\right]")
    return convert(tex, display=display).replace("<mover>", '<mover accent="true">')


def on_page_content(content: str, **_: Any) -> str:
    """Replace what Arithmatex marked."""
    return _EQUATION.sub(
        lambda found: mathml(html.unescape(found[3]).strip(), "block" if found[2] == "[" else "inline"), content
    )
