"""Ctrl-C in the commands that take long, at several moments of each."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.measure import Measure, skipped

#: Moments after the start [s]; the first fall into imports.
_MOMENTS = (0.5, 2.0, 4.0, 6.0, 9.0)
#: Longest time from the signal to the end [s].
_LONGEST = 2.0
_RECORDING = "simulate panda --duration 20 --term-values viscous=0.5,coulomb=0.2 --bandwidth 60 --noise 1e-5,1e-3,0.05"
_COMMANDS = (
    "excite panda --duration 10 --samples 80 --iterations 5000 --out motion",
    "study panda_retrieval study.jsonl --starts 5000",
    "solve panda_retrieval --starts 500 --out out",
    "intervals panda_retrieval --out intervals",
    "simulate panda --duration 200 --out long",
    "identify panda run/recording.npz --friction auto --out result",
)


def _stopped(command: str, after: float, folder: Path) -> tuple[int, float, str]:
    """Exit code, seconds from the signal to the end, and the one line that states the interruption.

    Empty where there is none, or where a traceback or a message of CasADi's stands beside it.
    """
    with (folder / "output.txt").open("w+", encoding="utf-8") as file:
        process = subprocess.Popen(
            [sys.executable, "-m", "casid", *command.split()], stdout=file, stderr=file, cwd=folder,
            env={**os.environ, "OMP_NUM_THREADS": "1"},
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
        )  # fmt: skip
        time.sleep(after)
        begin = time.perf_counter()
        process.send_signal(signal.SIGINT)
        code = process.wait(120)
        spent = time.perf_counter() - begin
        file.seek(0)
        text = file.read()
    stated = [line for line in text.splitlines() if line.startswith("interrupted:")]
    return code, spent, stated[0] if len(stated) == 1 and not re.search("Traceback|CasADi", text) else ""


def _interrupts() -> tuple[str, bool]:
    worst, failed, tried = 0.0, [], 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        made = [sys.executable, "-m", "casid", *_RECORDING.split(), "--out", "run"]
        subprocess.run(made, cwd=folder, check=True, capture_output=True)
        for command in _COMMANDS:
            for moment in _MOMENTS:
                code, spent, stated = _stopped(command, moment, folder)
                if code == 0:  # it had ended
                    continue
                tried += 1
                worst = max(worst, spent)
                if code != 130 or spent > _LONGEST or not stated:
                    failed.append(f"{command.split()[0]} at {moment:g} s: exit {code}, {spent:.1f} s, '{stated[:60]}'")
    text = f"{tried - len(failed)} of {tried} stop, the slowest in {worst:.1f} s"
    return f"{text}{''.join(f'; {one}' for one in failed)}", not failed


ROWS = [
    Measure(
        "Ctrl-C in six long commands at five moments", "<= 2 s, exit 130, says what is kept", "0.2: excite no",
        _interrupts, skipped,
    ),
]  # fmt: skip
