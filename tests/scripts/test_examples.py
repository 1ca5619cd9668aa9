"""Examples run as their page has it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.claim("examples run from the folder of the repository, without settings of the environment")
@pytest.mark.parametrize("name", ["mpc", "mpc_do_mpc"])
def test_examples_find_their_neighbours(name: str) -> None:
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    command = [sys.executable, f"scripts/examples/{name}.py", "--help"]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
