"""Display of results in notebooks: requested by the results, drawn by the room of reports.

Data flow one way, so a result does not import the module that draws it; the package itself registers that module.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from matplotlib.axes import Axes as Axes
    from matplotlib.figure import Figure as Figure
else:  # annotations alone need them: matplotlib is slow to import
    Axes = Figure = Any


class Drawer(Protocol):
    """Module that draws: `casid.report._section`."""

    def html(self, result: Any) -> str:
        """A result as a piece of HTML."""

    def plot(self, result: Any, picture: str, **options: Any) -> tuple[Axes, ...]:
        """A picture of a result by its name."""


class Displayed:
    """A result that a notebook shows as tables, and that can draw its pictures."""

    _drawer: Callable[[], Drawer]

    def _repr_html_(self) -> str:
        """Tables for a notebook."""
        return Displayed._drawer().html(self)

    def _plot(self, picture: str, **options: Any) -> tuple[Axes, ...]:
        return Displayed._drawer().plot(self, picture, **options)


def drawn_by(drawer: Callable[[], Drawer]) -> None:
    """Register the module that draws; ``drawer`` is called when first needed."""
    Displayed._drawer = staticmethod(drawer)
