"""Pictures as files. A picture that cannot be drawn is a warning: results are never lost by one."""

from __future__ import annotations

import io
import warnings
from collections.abc import Callable, Mapping

from matplotlib.figure import Figure
from matplotlib.text import Text

from casid.errors import CasidWarning
from casid.files._words import reason


def png_bytes(figure: Figure, dpi: float | None = None) -> bytes:
    """Return the figure as a PNG file's content; ``dpi`` pixels an inch in place of its own."""
    for text in figure.findobj(Text):
        if isinstance(text, Text) and "$" in text.get_text():  # a name, not a formula: no picture of casid has one
            text.set_parse_math(False)
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi="figure" if dpi is None else dpi)
    return buffer.getvalue()


def pictures(make: Callable[[], Mapping[str, Figure]]) -> dict[str, bytes]:
    """PNG files by name, ``.png`` added; those that cannot be drawn are left out.

    Parameters
    ----------
    make
        Makes the figures.

    Warns
    -----
    CasidWarning
        For each picture that cannot be drawn, with the reason.
    """
    drawn: dict[str, bytes] = {}
    try:
        figures = make()
    except Exception as error:  # whatever a drawing library raises for numbers and names that it has not met
        _say("the pictures", error)
        return drawn
    for name, figure in figures.items():
        try:
            drawn[f"{name}.png"] = png_bytes(figure)
        except Exception as error:  # as above
            _say(f"{name}.png", error)
    return drawn


def _say(what: str, error: Exception) -> None:
    words = f"{what} could not be drawn; the results are written without: {reason(error)}"
    warnings.warn(words, CasidWarning, stacklevel=4)
