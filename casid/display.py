"""Tables and pictures of results: requested by the results, drawn by the reports.

Data flow one way: results do not import the reports. The package itself, which imports both, connects them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class Drawer(Protocol):
    """What draws: `casid.report.notebook`."""

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
    """Set what draws; it is called when first needed."""
    Displayed._drawer = staticmethod(drawer)
