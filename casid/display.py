"""How results show themselves: asked for by the results, drawn by the room of reports.

Data flow one way, so a result does not know who draws it. The package itself, which knows every room, says who does.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class Drawer(Protocol):
    """Who draws: `casid.report._section`."""

    def html(self, result: Any) -> str:
        """A result as a piece of HTML."""

    def plot(self, result: Any, picture: str, **options: Any) -> tuple[Axes, ...]:
        """A picture of a result by its name."""


class Displayed:
    """A result that a notebook shows as tables, and that draws its pictures itself."""

    _drawer: Callable[[], Drawer]

    def _repr_html_(self) -> str:
        """Tables for a notebook."""
        return Displayed._drawer().html(self)

    def _plot(self, picture: str, **options: Any) -> tuple[Axes, ...]:
        return Displayed._drawer().plot(self, picture, **options)


def drawn_by(drawer: Callable[[], Drawer]) -> None:
    """Say who draws; it is called when first needed."""
    Displayed._drawer = staticmethod(drawer)
