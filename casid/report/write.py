"""Pictures as files."""

from __future__ import annotations

import io

from matplotlib.figure import Figure


def png_bytes(figure: Figure) -> bytes:
    """Return the figure as a PNG file's content."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png")
    return buffer.getvalue()
