"""The bytes of a robot file."""

from __future__ import annotations

from pathlib import Path

from casid.errors import RobotError


def read_content(path: Path) -> bytes:
    """Content of a robot file; RobotError where it cannot be read."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise RobotError(f"cannot read robot file '{path}': {error.strerror}") from error
