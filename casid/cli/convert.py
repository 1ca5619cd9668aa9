"""The command ``convert``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def convert(
    source: Annotated[str, typer.Argument(metavar="A", help="A shipped robot's name, or a robot file.")],
    target: Annotated[
        Path, typer.Argument(metavar="B", help="File to write: .toml, .urdf, .xml (MJCF) or .sdf, by its suffix.")
    ],
    angle_tolerance: Annotated[
        float, typer.Option(help="Angles this close to a multiple of pi/2 count as that multiple [rad].")
    ] = 1e-9,
) -> None:
    """Convert a robot file into another format. What that cannot hold goes to a file beside it, and is named."""
    from casid.cli.shared import say_conversion
    from casid.description import convert as run

    say_conversion(run(source, target, angle_tolerance=angle_tolerance))
