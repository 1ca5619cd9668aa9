"""README's second command on a clean machine: what it installs, and the tests that it runs, at several widths."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
import time
from functools import partial
from pathlib import Path

from benchmarks.measure import Measure

ROOT = Path(__file__).resolve().parents[3]
#: Values of COLUMNS; None: not set.
WIDTHS = ("80", "100", "140", None)
#: Largest environment [MB], longest installation and longest run of the tests [s].
SIZE, INSTALL, RUN = 600, 120, 300


def _copy(folder: Path) -> None:
    """The checkout's files, as a clone has them, with its history."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for name in filter(None, listed.split("\0")):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, folder / name)


def second_command(widths: tuple[str | None, ...]) -> tuple[str, bool]:
    """Install as README says, then run as it says, once for each width."""
    lines = re.findall(r"^python3 -m venv .*\[test\].*$", (ROOT / "README.md").read_text("utf-8"), re.MULTILINE)
    make, install, run = lines[0].split(" && ")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        _copy(folder)
        began = time.perf_counter()
        subprocess.run(f"{make} && {install}", shell=True, cwd=folder, check=True, capture_output=True)
        seconds = time.perf_counter() - began
        used = subprocess.run(["du", "-sm", ".venv"], cwd=folder, capture_output=True, text=True, check=True)
        size = int(used.stdout.split()[0])
        texts, met = [f"{size} MB installed in {seconds:.0f} s"], size <= SIZE and seconds <= INSTALL
        for width in widths:
            environment = {key: value for key, value in os.environ.items() if key != "COLUMNS"}
            environment |= {} if width is None else {"COLUMNS": width}
            began = time.perf_counter()
            done = subprocess.run(
                run, shell=True, cwd=folder, env=environment, capture_output=True, text=True, check=False
            )
            spent = time.perf_counter() - began
            last = (done.stdout.strip().splitlines() or ["no output"])[-1]
            texts.append(f"COLUMNS {width or 'not set'}: {last.strip('= ')}")
            met &= done.returncode == 0 and spent <= RUN
    return "; ".join(texts), met


ROWS = [
    Measure(
        "first hour: README's second command in a clean folder, at COLUMNS of 80, 100, 140 and none",
        f"<= {INSTALL // 60} min, <= {SIZE} MB; <= {RUN // 60} min on two cores, 0 failed",
        "2.9 GB; 34 min; 1 failed",
        partial(second_command, WIDTHS),
        partial(second_command, WIDTHS[:1]),
        "three widths",
    )
]
