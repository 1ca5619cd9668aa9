"""Pictures for the documents: few colours, small files."""

from __future__ import annotations

import io
from pathlib import Path

from matplotlib.figure import Figure
from PIL import Image

from casid.report.write import png_bytes

DPI, COLOURS = 90, 256


def write_picture(figure: Figure, path: str | Path) -> None:
    """Write a figure as a PNG with a palette."""
    with Image.open(io.BytesIO(png_bytes(figure, DPI))) as image:
        image.convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE).save(path, "PNG", optimize=True)
