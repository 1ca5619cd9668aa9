"""The README's first lines in a clean environment, and Ctrl-C and load in the commands that take long."""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path

import numpy as np

import casid
from benchmarks.measure import Measure, need
from benchmarks.users.packages import installed, wheel
from casid.description import identified_names, identified_record

ROOT = Path(__file__).resolve().parents[3]
#: Most words before the first result.
_WORDS = 120
#: From an empty environment to the last line's result [s].
_SECONDS = 120.0


def first_lines() -> tuple[list[str], int]:
    """Commands of the README's first block, and the number of words until the result that follows it."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    block = re.search(r"```sh\n(.*?)```", text, re.DOTALL)
    assert block is not None
    before = re.sub(r"!\[[^\]]*\]\([^)]*\)", "", text[: block.end()])
    return block[1].strip().splitlines(), len(before.split())


def _readme() -> tuple[str, bool]:
    need("build", "test")
    lines, words = first_lines()
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        file = wheel(place)
        started, failed = time.perf_counter(), []
        clean = installed(file, place / "venv")
        ready = time.perf_counter()
        for line in lines:
            done = subprocess.run(line, shell=True, cwd=place, env=clean, capture_output=True, text=True, check=False)
            if done.returncode:
                failed.append(f"{line}: {done.stderr.strip()[-200:]}")
        end = time.perf_counter()
    text = f"{words} words; {len(lines) - len(failed)} of {len(lines)} lines run, {end - ready:.0f} s"
    text += f"; from nothing {end - started:.0f} s{''.join(f' ({one})' for one in failed)}"
    return text, words <= _WORDS and not failed and end - started <= _SECONDS


def _tables() -> tuple[str, bool]:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(ROOT / "tests/cli/test_tables.py")]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    return done.stdout.strip().splitlines()[-1], done.returncode == 0


def _busy() -> tuple[str, bool]:
    """The README's design beside busy processes: the same condition number, whatever the load."""
    spin = [sys.executable, "-c", "while True: pass"]
    command = "excite panda --duration 13.33 --ramp 0.5 --floor 0.1"
    found: dict[int, float] = {}
    for load in (1, 4, 8):
        others = [subprocess.Popen(spin) for _ in range(load - 1)]
        try:
            run = [sys.executable, "-m", "casid", *command.split()]
            text = subprocess.run(run, capture_output=True, text=True, check=True).stdout
        finally:
            for other in others:
                other.kill()
        match = re.search(r"condition number of this motion\s+([\d.]+)", text)
        assert match is not None
        found[load] = float(match[1])
    same = max(found.values()) <= 1.03 * min(found.values())
    return ", ".join(f"{load} busy: {value:.4g}" for load, value in found.items()), same and max(found.values()) <= 31.0


def _library(most: int | None = None) -> tuple[str, bool]:
    """Entries whose command makes them again, to 0.1 % of the largest parameter."""
    names = identified_names()
    differ: list[str] = []
    chosen = names if most is None else [name for name in names if "sha256" not in identified_record(name)][:most]
    with tempfile.TemporaryDirectory() as folder:
        for name in chosen:
            command = [sys.executable, str(ROOT / "scripts/library.py"), name, "--out", folder]
            subprocess.run(command, check=True, capture_output=True)
            again = casid.load_robot(Path(folder) / f"{name}.toml").standard_parameters()
            stored = casid.load_robot(name).standard_parameters()
            if np.abs(again - stored).max() > 1e-3 * np.abs(stored).max():
                differ.append(name)
    text = f"{len(names)} entries; {len(chosen) - len(differ)} of {len(chosen)} made again"
    return f"{text}{': not ' + ', '.join(differ) if differ else ''}", len(names) >= 15 and not differ


ROWS = [
    Measure("every command's tables at 80, 100, 120 columns", "0 cut", "through a pseudo-terminal", _tables),
    Measure("excite by README's command beside 1, 4, 8 busy processes", "same +- 3 %; Panda <= 31", "0.2: 62.8", _busy),
    Measure(
        "library of identified robots: entries, each made again by its command", ">= 15, all", "0.2: 0",
        _library, partial(_library, 2), "those from recordings",
    ),
    Measure(
        "README: words to the first result; its lines in a clean environment", "<= 120; all run; 120 s from nothing",
        "0.2: 1,845; no", _readme,
    )
]  # fmt: skip
