"""Pictures for the documents: few colours, small files."""

from __future__ import annotations

import io
from pathlib import Path

from matplotlib.figure import Figure
from PIL import Image

from casid.files import prepare_directory, write_files
from casid.report import png_bytes

DPI, COLOURS = 90, 256


def small_png(figure: Figure, dpi: int = DPI) -> bytes:
    """A figure as a PNG with a palette; its colours are spread over all that occur, so that rare ones stay."""
    out, few = io.BytesIO(), Image.Quantize.MAXCOVERAGE
    with Image.open(io.BytesIO(png_bytes(figure, dpi))) as image:
        image.convert("RGB").quantize(COLOURS, few, kmeans=1).save(out, "PNG", optimize=True)
    return out.getvalue()


def write_picture(figure: Figure, path: str | Path) -> None:
    """Write a figure as such a PNG."""
    place = Path(path)
    write_files(prepare_directory(place.parent), {place.name: small_png(figure)})
