"""Files of a result: written beside their final place first, then renamed, so that none is ever half-written."""

from __future__ import annotations

import csv
import io
import json
import math
import os
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from casid.errors import ExportError


def prepare_directory(path: str | Path) -> Path:
    """Create a folder for results, parents included, and make sure that files can be written to it.

    Raises
    ------
    ExportError
        If the folder cannot be made or written to, or the path is a file.
    """
    directory = Path(path)
    try:
        directory.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=directory):
            pass
    except FileExistsError as error:
        raise ExportError(f"output folder '{directory}': a file of that name exists; choose another folder") from error
    except OSError as error:
        reason = error.strerror or str(error)
        raise ExportError(f"output folder '{directory}' cannot be written: {reason.lower()}") from error
    return directory


def write_files(directory: Path, contents: Mapping[str, bytes]) -> list[Path]:
    """Write a set of files: all to temporary files in the same folder, then all renamed.

    Parameters
    ----------
    contents
        File name -> content.

    Raises
    ------
    ExportError
        If one cannot be written; then none of them has changed.
    """
    final = [directory / name for name in contents]
    temporary = [path.with_name(f".{path.name}.{os.getpid()}.tmp") for path in final]
    try:
        for path, content in zip(temporary, contents.values(), strict=True):
            path.write_bytes(content)
        for path, target in zip(temporary, final, strict=True):
            path.replace(target)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise ExportError(f"cannot write {', '.join(contents)} to '{directory}': {reason}") from error
    finally:
        for path in temporary:
            path.unlink(missing_ok=True)
    return final


def json_bytes(record: Mapping[str, Any]) -> bytes:
    """JSON of a record with numpy values in it.

    Raises
    ------
    ExportError
        If a number is NaN or infinite; the message says where. ``None`` stands for what is not known.
    """
    return json.dumps(_plain(record, ""), indent=2, ensure_ascii=False, allow_nan=False).encode() + b"\n"


def csv_bytes(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> bytes:
    """CSV with a header; numbers with all their digits.

    Raises
    ------
    ExportError
        If a number is NaN or infinite; the message names its column and row.
    """
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(header)
    for k, row in enumerate(rows):
        cells = zip(header, row, strict=True)
        writer.writerow([_plain(value, f"row {k + 1}, column '{name}'") for name, value in cells])
    return buffer.getvalue().encode()


def png_bytes(figure: Figure) -> bytes:
    """Return the figure as a PNG file's content."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png")
    return buffer.getvalue()


def _plain(value: Any, where: str) -> Any:
    """Plain Python in place of numpy, mappings and tuples; refuses numbers that are not finite."""
    if isinstance(value, Mapping):
        return {str(key): _plain(item, f"{where}.{key}".lstrip(".")) for key, item in value.items()}
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, (list, tuple)):
        return [_plain(item, f"{where}[{k}]") for k, item in enumerate(value)]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        raise ExportError(f"result '{where}' is {value}: it is not written; the solve it comes from cannot be trusted")
    return value
