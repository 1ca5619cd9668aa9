"""A machine with a gripper in a URDF, shared by the tests of robot files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from casid.description import Robot
from casid.description.formats import Reading, Toml

#: Folder of robot files.
FILES = Path(__file__).parent / "files"
URDF = (FILES / "arm.urdf").read_text(encoding="utf-8")


@pytest.fixture
def arm(tmp_path: Path) -> Path:
    path = tmp_path / "arm.urdf"
    path.write_text(URDF, encoding="utf-8")
    return path


def rpy_matrix(roll: float, pitch: float, yaw: float) -> np.ndarray:
    """W. Khalil's roll-pitch-yaw matrix, written out."""
    cr, sr, cp, sp, cy, sy = (f(a) for a in (roll, pitch, yaw) for f in (np.cos, np.sin))
    return np.array(
        [
            [cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr],
            [sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr],
            [-sp, cp * sr, cp * cr],
        ]
    )


def parsed(text: str, name: str = "machine.toml", **options: Any) -> Robot:
    """The robot of a TOML file's text."""
    return Toml().read(text.encode(), Reading(name)).robot(**options)


def joint(name: str, parent: str, child: str, kind: str = "revolute", **more: Any) -> dict[str, Any]:
    """One joint of a TOML file in the convention ``placement``."""
    return {"name": name, "type": kind, "parent": parent, "link": {"name": child, **more.pop("link", {})}, **more}


def build(joints: list[dict[str, Any]], head: str = "", tail: str = "", **options: Any) -> Robot:
    """The robot of these joints, read as TOML."""
    blocks = ["\n".join(["[[joint]]", *(f"{key} = {_value(value)}" for key, value in one.items())]) for one in joints]
    text = "\n".join(['schema = 1\nname = "machine"\nconvention = "placement"', head, *blocks, tail])
    return parsed(text, **options)


def _value(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key} = {_value(item)}" for key, item in value.items()) + "}"
    return json.dumps(value.tolist() if isinstance(value, np.ndarray) else value)
