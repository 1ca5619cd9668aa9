"""The state of a training on disk: written whole or not at all."""

from __future__ import annotations

import io
from dataclasses import astuple
from pathlib import Path
from typing import Any

import numpy as np

from casid.errors import ProblemError
from casid.files import write_files
from casid.files._arrays import npz_arrays
from casid.files._read import read_bytes
from casid.learning.epoch import Epoch
from casid.learning.optimiser import Step

_MEMORY = "memory_"


def write_checkpoint(path: Path, identity: str, step: Step, history: list[Epoch]) -> None:
    """Coordinates, memory and history, through a temporary file that replaces the old one.

    Raises
    ------
    ExportError
        If the file cannot be written.
    """
    arrays: dict[str, Any] = {_MEMORY + name: value for name, value in step.memory.items()}
    arrays |= {
        "identity": np.array(identity),
        "theta": step.theta,
        "history": np.array([astuple(epoch) for epoch in history], dtype=float),
    }
    stream = io.BytesIO()
    np.savez(stream, **arrays)
    write_files(path.parent, {path.name: stream.getvalue()})


def read_checkpoint(path: Path, identity: str, size: int) -> tuple[Step, list[Epoch]]:
    """State and history of a stored training.

    Raises
    ------
    ProblemError
        If the file is damaged or belongs to another training.
    """
    what = "training checkpoint"
    arrays = npz_arrays(read_bytes(path, what, ProblemError), str(path), what, ProblemError)
    try:
        found, theta = str(arrays["identity"]), np.array(arrays["theta"], dtype=float)
        rows = np.array(arrays["history"], dtype=float).reshape(-1, 6)
        history = [Epoch(int(r[0]), r[1], r[2], int(r[3]), r[4], r[5]) for r in rows.tolist()]
    except (ValueError, KeyError) as error:
        raise ProblemError(f"{what} '{path}': {str(error)[:80]} is missing or damaged; delete the file") from None
    if found != identity:
        raise ProblemError(f"checkpoint '{path}' belongs to another training ({found}); delete it or give another file")
    if theta.shape != (size,) or not np.isfinite(theta).all() or not history:
        raise ProblemError(f"checkpoint '{path}' is damaged: theta has shape {theta.shape}; delete it")
    memory = {name[len(_MEMORY) :]: value for name, value in arrays.items() if name.startswith(_MEMORY)}
    return Step(theta, memory), history
