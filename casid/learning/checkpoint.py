"""The state of a training on disk: written whole or not at all."""

from __future__ import annotations

import zipfile
from dataclasses import astuple
from pathlib import Path
from typing import Any

import numpy as np

from casid.errors import ExportError, ProblemError
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
    temporary = path.with_name(path.name + ".part")
    try:
        with temporary.open("wb") as stream:
            np.savez(stream, **arrays)
        temporary.replace(path)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise ExportError(f"checkpoint '{path}' cannot be written: {error.strerror or error}") from error


def read_checkpoint(path: Path, identity: str, size: int) -> tuple[Step, list[Epoch]]:
    """State and history of a stored training.

    Raises
    ------
    ProblemError
        If the file is damaged or belongs to another training.
    """
    try:
        with np.load(path, allow_pickle=False) as stored:
            arrays = {name: np.array(stored[name]) for name in stored.files}
        found, theta = str(arrays["identity"]), arrays["theta"]
        rows = np.atleast_2d(arrays["history"])
        history = [Epoch(int(r[0]), r[1], r[2], int(r[3]), r[4], r[5]) for r in rows.tolist()]
    except (OSError, ValueError, KeyError, IndexError, EOFError, zipfile.BadZipFile) as error:
        raise ProblemError(
            f"'{path}' is no training checkpoint ({str(error)[:80]}); delete it or give another"
        ) from error
    if found != identity:
        raise ProblemError(f"checkpoint '{path}' belongs to another training ({found}); delete it or give another file")
    if theta.shape != (size,) or not np.isfinite(theta).all() or not history:
        raise ProblemError(f"checkpoint '{path}' is damaged: theta has shape {theta.shape}; delete it")
    memory = {name[len(_MEMORY) :]: value for name, value in arrays.items() if name.startswith(_MEMORY)}
    return Step(theta, memory), history
