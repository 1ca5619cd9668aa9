"""The command ``convert``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from casid.cli import options as o


def convert(
    source: Annotated[str, typer.Argument(metavar="A", help="A shipped robot's name, or a robot file.")],
    target: Annotated[
        Path, typer.Argument(metavar="B", help="File to write: .toml, .urdf, .xml (MJCF) or .sdf, by its suffix.")
    ],
    lock: o.Lock = None,
    gravity: o.Gravity = None,
    angle_tolerance: o.AngleTolerance = None,
) -> None:
    """Convert a robot file into another format. What that cannot hold goes to a file beside it, and is named."""
    from casid.cli.shared import say_conversion
    from casid.description import convert as run

    say_conversion(run(source, target, **o.reading_options(lock, gravity, angle_tolerance)))
