"""Controllers as C, on an example."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import numpy as np
from benchmarks.compiled.controller import build_controller, run_controller

from casid.control import PD
from casid.description import Robot
from casid.export import export_controller
from tests.export.conftest import needs_compiler


@needs_compiler
def test_controller_example_tracks(panda: Robot, tmp_path: Path) -> None:
    built = build_controller(panda, tmp_path)
    text = run_controller(built, 2.0, limit=1e-3)
    assert re.search(r"cycles 2000 at 1 kHz.*worst [\d.]+ us", text)
    if built.franka is not None:
        subprocess.run([built.franka], check=True, capture_output=True)


def test_a_law_without_a_model_is_written(tmp_path: Path) -> None:
    done = export_controller(PD(np.full(2, 50.0), np.full(2, 5.0)), tmp_path / "c", "hold")
    assert "int hold_control(" in (done.path / "hold.h").read_text()
