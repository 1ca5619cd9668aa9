"""Frames placed relative to each other, in any order."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from casid.description.formats.numbers import snapped
from casid.description.placement import Array
from casid.errors import RobotError
from casid.files._words import listed, near


class Poses:
    """A forest of named frames; the empty name is the model's own frame.

    Parameters
    ----------
    where
        The file, for messages.
    """

    def __init__(self, where: str) -> None:
        self.where = where
        self._frames: dict[str, tuple[str, Array]] = {}

    def add(self, name: str, parent: str, placement: Array) -> None:
        """Place a frame in another one, which may be added later."""
        if name in self._frames:
            raise RobotError(f"{self.where}: two links, joints or frames are named '{name}'; names must be unique")
        self._frames[name] = (parent, placement)

    def _chain(self, name: str) -> list[tuple[str, Array]]:
        """The frames from ``name`` to the model, each with the placement of ``name`` in it."""
        chain, placement = [(name, np.eye(4))], np.eye(4)
        while name:
            if name not in self._frames:
                raise RobotError(
                    f"{self.where}: there is no frame '{name}'{near(name, self._frames)} "
                    f"(frames: {listed(self._frames)})"
                )
            parent, step = self._frames[name]
            placement = step @ placement + 0.0
            if any(parent == seen for seen, _ in chain):
                raise RobotError(f"{self.where}: frame '{parent}' is placed relative to itself")
            chain.append((parent, placement))
            name = parent
        return chain

    def relative(self, frame: str, other: str) -> Array:
        """Placement of ``other`` in ``frame``, through their nearest common frame (exact where one holds the other)."""
        up = dict(self._chain(frame))
        for name, placement in self._chain(other):
            if name not in up:
                continue
            here = up[name]
            if np.array_equal(here, np.eye(4)):
                return placement
            inverse = np.eye(4)
            inverse[:3, :3] = here[:3, :3].T
            inverse[:3, 3] = -here[:3, :3].T @ here[:3, 3]
            result = inverse @ placement
            result[:3, :3] = snapped(result[:3, :3], 1e-12)
            result[:3, 3] = np.where(np.abs(result[:3, 3]) < 1e-15, 0.0, result[:3, 3])
            return result
        raise AssertionError("the model's frame is common to all")

    def carrier(self, name: str, links: Collection[str], base: str) -> str:
        """The link that a frame moves with: the first one above it, else the base."""
        for parent, _ in self._chain(name)[1:]:
            if parent in links:
                return parent
        return base
