"""The common look of all figures, and figures as PNG. No global state of pyplot is used, except in `with_pyplot`."""

from __future__ import annotations

import io
from collections.abc import Iterator
from colorsys import hls_to_rgb
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Literal

from casid.display import Axes as Axes
from casid.display import Figure as Figure

#: Resolution of the files; a figure 10 inches wide becomes 1200 pixels wide.
DPI = 120
INK, MUTED, FAINT, BAND = "#1a1a2e", "#6b7280", "#d5d9e0", "#f3f5f8"
BLUE, ORANGE, GREEN, RED = "#2563eb", "#ea7317", "#1a8f5a", "#c62828"

_TABLEAU = (
    "#1f77b4", "#ff7f0e", "#2ca02c", "#d62728", "#9467bd", "#8c564b", "#e377c2", "#7f7f7f", "#bcbd22", "#17becf",
)  # fmt: skip

#: Whether figures belong to pyplot, which shows them in notebooks and windows.
_BY_PYPLOT: ContextVar[bool] = ContextVar("by_pyplot", default=False)


@contextmanager
def with_pyplot() -> Iterator[None]:
    """Context in which figures belong to pyplot: a notebook shows them, ``plt.show()`` opens them."""
    token = _BY_PYPLOT.set(True)
    try:
        yield
    finally:
        _BY_PYPLOT.reset(token)


def new_figure(
    width: float, height: float, title: str = "", layout: Literal["constrained"] | None = "constrained"
) -> Figure:
    """Empty figure of the given size [inch], drawn by Agg, which needs no display, with a title (`set_title`)."""
    if _BY_PYPLOT.get():
        import matplotlib.pyplot as plt  # chooses a window system, which files do not need

        figure = plt.figure(figsize=(width, height), facecolor="white", layout=layout)
    else:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure

        figure = Figure(figsize=(width, height), dpi=DPI, facecolor="white", layout=layout)
        FigureCanvasAgg(figure)
    set_title(figure, title)
    return figure


def tidy(
    axes: Axes, grid: Literal["both", "x", "y"] = "both", *, x: str = "", y: str = "", title: str = "",
    legend: bool = False,
) -> None:  # fmt: skip
    """Thin grid behind the data, no box, muted ticks; labels, a title on the left, a legend without box."""
    axes.set_axisbelow(True)
    axes.grid(True, axis=grid, color=FAINT, linewidth=0.6)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        axes.spines[side].set_color(FAINT)
    axes.tick_params(colors=MUTED, labelsize=9, length=3)
    for label, text in ((axes.xaxis.label, x), (axes.yaxis.label, y)):
        label.set(color=INK, text=text or label.get_text())
    if title:
        axes.set_title(title, loc="left", fontsize=10, color=INK)
    if legend:
        axes.legend(fontsize=9, frameon=False, labelcolor=MUTED)


def set_title(figure: Figure, text: str) -> None:
    """Title of the whole picture, top left; without a text none."""
    if text:
        figure.suptitle(text, x=0.012, ha="left", fontsize=13, fontweight="bold", color=INK)


def link_colours(count: int) -> list[str]:
    """One colour a link, as ``#rrggbb``, the same in pictures and pages: the palette of Tableau, beyond it hues."""
    hues = (hls_to_rgb(k / count, 0.45, 0.65) for k in range(count))
    return list(_TABLEAU[:count]) if count <= len(_TABLEAU) else [
        "#" + "".join(f"{round(255 * part):02x}" for part in hue) for hue in hues
    ]  # fmt: skip


def png_bytes(figure: Figure, dpi: float | None = None) -> bytes:
    """Content of the figure's PNG file, at ``dpi`` pixels per inch (default: the figure's own resolution)."""
    from matplotlib.text import Text

    for text in figure.findobj(Text):
        if isinstance(text, Text) and "$" in text.get_text():  # part of a name: no figure of casid contains a formula
            text.set_parse_math(False)
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi="figure" if dpi is None else dpi)
    return buffer.getvalue()
