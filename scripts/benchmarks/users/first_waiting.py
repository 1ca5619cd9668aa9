"""Waiting at the first hour: Ctrl-C, silent time at a terminal, processor time of short commands."""

from __future__ import annotations

import itertools
import os
import pty
import re
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

from benchmarks.measure import README_RECORDING, Rows, process, scratch, skipped
from benchmarks.users.first_hour import controller_samples

row = Rows()

#: Moments after the start [s]; the first fall into imports.
_MOMENTS = (0.2, 0.6, 1.2, 2.0, 3.0, 4.0, 5.0, 6.5, 8.0, 10.0)
#: Longest time from the signal to the end, and longest silence at a terminal [s].
_LONGEST, _SILENT = 1.0, 2.0
_COMMANDS = (
    "excite panda --duration 10 --samples 80 --iterations 5000 --out motion",
    "study panda_retrieval study.jsonl --starts 5000",
    "solve panda_retrieval --starts 500 --out out",
    "intervals panda_retrieval --out intervals",
    "simulate panda --duration 200 --out long",
    "identify panda run/recording.npz --friction auto --out result",
    "reverse-engineer panda run/samples.npz run/recording.npz --out reversed",
    "validate panda run/solution.json run/recording.npz --refit-friction stribeck --out validation",
)
#: What the first command keeps of its best motion.
_KEPT = {"trajectory.toml", "trajectory.csv", "joint_trajectory.yaml", "motion.png", "excitation.json"}


def _casid(command: str) -> list[str]:
    """The command of this very Python."""
    return [sys.executable, "-m", "casid", *command.split()]


def _stopped(command: str, after: float, folder: Path) -> tuple[int, float, str]:
    """Exit code, seconds from the signal to the end, and the one line that states the interruption.

    Empty where there is none, or where a traceback or a message of CasADi's stands beside it.
    """
    with (folder / "output.txt").open("w+", encoding="utf-8") as file:
        process = subprocess.Popen(
            _casid(command), stdout=file, stderr=file, cwd=folder,
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


@row("Ctrl-C in eight commands at ten moments", "<= 1 s, exit 130, one sentence, files kept", "0.3: 2,000 lines",
     quick=skipped)  # fmt: skip
def interrupts(moments: tuple[float, ...] = _MOMENTS, commands: tuple[str, ...] = _COMMANDS) -> tuple[str, bool]:
    """Each command interrupted at each moment; where it had ended by then, at half of the time, and so on."""
    worst, failed = 0.0, []
    with scratch() as folder:
        for made in (f"{README_RECORDING} --out run", "solve panda_retrieval --no-believable --out run"):
            process(*_casid(made), folder=folder)
        controller_samples(folder / "run" / "samples.npz")
        for command in commands:
            for moment in moments:
                code, spent, stated = _stopped(command, moment, folder)
                while code == 0:  # it had ended
                    moment /= 2
                    code, spent, stated = _stopped(command, moment, folder)
                worst = max(worst, spent)
                kept = "best motion" not in stated or {path.name for path in (folder / "motion").iterdir()} >= _KEPT
                if code != 130 or spent > _LONGEST or not stated or not kept:
                    failed.append(f"{command.split()[0]} at {moment:g} s: exit {code}, {spent:.1f} s, '{stated[:60]}'")
    tried = len(commands) * len(moments)
    text = f"{tried - len(failed)} of {tried} stop, the slowest in {worst:.1f} s"
    return f"{text}{''.join(f'; {one}' for one in failed)}", not failed


_SHOWN = (
    "identify panda run/recording.npz --out result",
    "excite panda --duration 13.33 --ramp 0.5 --floor 0.1 --out motion",
    "intervals panda_retrieval --out intervals",
    "study panda_retrieval study.jsonl --starts 100",
)


def _silence(command: str, folder: Path) -> tuple[float, int]:
    """Longest time without output at a pseudo-terminal of 80 columns [s], and how often a bar goes back."""
    began = time.monotonic()
    child, terminal = pty.fork()
    if child == 0:
        os.chdir(folder)
        os.execve(sys.executable, _casid(command), {**os.environ, "COLUMNS": "80"})
    last, longest, text = began, 0.0, ""
    while True:
        try:
            data = os.read(terminal, 65536)
        except OSError:  # the command has ended
            data = b""
        now = time.monotonic()
        longest, last = max(longest, now - last), now
        if not data:
            break
        text += data.decode(errors="replace")
    os.waitpid(child, 0)
    plain = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", text.split("pictures")[0])
    shares = [int(share) for share in re.findall(r"(\d+) %\s+\d:\d\d:\d\d", plain)]
    return longest, sum(later < earlier for earlier, later in itertools.pairwise(shares))


@row("silent time at a terminal: identify, excite, intervals, study", "<= 2 s, no bar goes back", "0.3: 46 s",
     quick=(_SHOWN[3:],), left_out="three commands")  # fmt: skip
def silent(commands: tuple[str, ...] = _SHOWN) -> tuple[str, bool]:
    """The longest silence of each command."""
    with scratch() as folder:
        process(*_casid(f"{README_RECORDING} --out run"), folder=folder)
        found = {command.split()[0]: _silence(command, folder) for command in commands}
    text = ", ".join(f"{name} {longest:.1f} s, {back} times back" for name, (longest, back) in found.items())
    return text, all(longest <= _SILENT and not back for longest, back in found.values())


#: Largest processor time of short commands [s].
_SHORT = {"robots": 1.5, "--help": 0.4, "view nothing.urdf": 1.5}


@row("processor time: casid robots, --help, an error", "<= 1.5, 0.4, 1.5 s", "0.3: 4.5, 0.5, 4.5 s")
def _processor() -> tuple[str, bool]:
    """The median processor time of three runs of each, in its own process and those that it waits for."""
    found = {}
    for command in _SHORT:
        spent = []
        for _ in range(3):
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            process(*_casid(command), may_fail=True, OMP_NUM_THREADS="1")
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            spent.append(after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime)
        found[command] = sorted(spent)[1]
    text = ", ".join(f"casid {command}: {seconds:.2f} s" for command, seconds in found.items())
    return text, all(found[command] <= bar for command, bar in _SHORT.items())
