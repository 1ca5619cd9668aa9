"""The first hour: commands of the pages, tests as README says, the front of the package, logs."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import casid
from benchmarks.measure import ROOT, NotMeasured, Rows, need, process, scratch
from benchmarks.users.controllers import interpreter, sources
from casid.description import identified_names, identified_record

row = Rows()

#: Pages whose commands are run, each in an empty folder of its own.
PAGES = ("README.md", "docs/recording_to_controller.md")
_BLOCK = re.compile(r"```sh\n(.*?)```", re.DOTALL)
#: Quick form: the largest value of options that cost time, and what is said beside a command to bound its work.
SHORTER: Mapping[str, float] = {"--duration": 5.0, "--starts": 4, "--jobs": 1}
BOUNDED: Mapping[str, list[str]] = {"identify": ["--quick"], "excite": ["--starts", "1", "--iterations", "20"]}


def commands(page: str) -> list[list[str]]:
    """Arguments of each ``casid`` in the blocks ``sh`` of a page, in order; the installation is left out."""
    found = []
    for block in _BLOCK.findall((ROOT / page).read_text(encoding="utf-8")):
        for line in block.splitlines():
            for part in line.split("&&"):
                words = shlex.split(part, comments=True)
                if words and Path(words[0]).name == "casid":
                    found.append(words[1:])
    return found


def shorter(arguments: list[str]) -> list[str]:
    """The same command with less work."""
    made = list(arguments)
    for k, word in enumerate(arguments[:-1]):
        if word in SHORTER:
            made[k + 1] = f"{min(float(arguments[k + 1]), SHORTER[word]):g}"
    return [*made, *BOUNDED.get(arguments[0], [])]


def controller_samples(path: Path) -> None:
    """What a user has from a controller: mass matrices and gravity torques of a Panda at 60 poses."""
    robot, rng = casid.load_robot("panda"), np.random.default_rng(0)
    model, pi = casid.Model(robot), robot.standard_parameters()
    q = rng.uniform(robot.limits.lower, robot.limits.upper, (60, robot.n))
    np.savez(path, q=q, M=model.mass_matrix(q, pi), g=model.gravity(q, pi))


#: Files that a page calls the reader's own, and how a stand-in is made.
OWN: Mapping[str, Callable[[Path], None]] = {"samples.npz": controller_samples}


@dataclass(frozen=True)
class Ended:
    """A command that has ended: its arguments, its exit code, what it printed last on stderr."""

    arguments: list[str]
    code: int
    said: str

    @property
    def failed(self) -> bool:
        """Whether it ended otherwise than the page says."""
        return self.code != 0 or "Traceback" in self.said


def run(page: str, folder: Path, quick: bool, columns: int = 80, python: str = sys.executable) -> list[Ended]:
    """The commands of a page in an empty folder, with an empty home, each on the files of those before it."""
    ended = []
    home = folder / "home"
    home.mkdir(parents=True)
    environment = {"HOME": str(home), "COLUMNS": str(columns), "BROWSER": "true", "MPLBACKEND": "Agg"}
    for arguments in commands(page):
        for word in arguments:
            if word in OWN and not (folder / word).exists():
                OWN[word](folder / word)
        given = shorter(arguments) if quick else arguments
        done = process(python, "-m", "casid", *given, folder=folder, may_fail=True, **environment)
        ended.append(Ended(given, done.returncode, done.stderr[-2000:]))
    return ended


@row("first hour: commands of README and docs in order, 80 columns, clean machine", "all exit as said", "8 of 16 fail",
     False, quick=(True,), left_out="long motions and searches")  # fmt: skip
def _measured(quick: bool) -> tuple[str, bool]:
    ended: list[Ended] = []
    for page in PAGES:
        with scratch() as name:
            ended += run(page, name, quick)
    wrong = [f"{' '.join(one.arguments)} ({one.code})" for one in ended if one.failed]
    return f"{len(wrong)} of {len(ended)} fail" + (f": {'; '.join(wrong)}" if wrong else ""), not wrong


@row("lowest versions of the dependencies, oldest Python: README's commands in their short form", "all exit as said",
     "traceback")  # fmt: skip
def lowest_versions() -> tuple[str, bool]:
    need("uv", "dev")
    oldest = re.findall(r'requires-python = ">=([\d.]+)"', (ROOT / "pyproject.toml").read_text(encoding="utf-8"))[0]
    found = interpreter(oldest)
    if found is None:
        raise NotMeasured(f"needs python{oldest} on the path or in pyenv")
    with scratch() as place:
        python, uv = place / "venv" / "bin" / "python", (sys.executable, "-m", "uv")
        process(*uv, "venv", "-q", "--python", found, place / "venv")
        given = ("pip", "install", "-q", "--python", python, "--resolution", "lowest-direct")
        process(*uv, *given, sources(place))
        listed = json.loads(process(*uv, "pip", "list", "-q", "--python", python, "--format", "json").stdout)
        ended = run("README.md", place / "page", True, python=str(python))
    versions = {one["name"]: one["version"] for one in listed}
    words = ", ".join(f"{name} {versions[name]}" for name in ("casadi", "numpy", "scipy", "matplotlib", "typer"))
    wrong = [f"{' '.join(one.arguments)}: {one.said[-200:]}" for one in ended if one.failed]
    return "; ".join([f"Python {oldest}, {words}: {len(wrong)} of {len(ended)} commands fail", *wrong]), not wrong


#: Values of COLUMNS; None: not set.
WIDTHS = ("80", "100", "140", None)
#: Largest environment [MB], longest installation and longest run of the tests [s].
SIZE, INSTALL, RUN = 600, 120, 300


def _copy(folder: Path) -> None:
    """The checkout's files, as a clone has them, with its history."""
    listed = process("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", folder=ROOT)
    for name in filter(None, listed.stdout.split("\0")):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, folder / name)


@row("first hour: README's second command in a clean folder, at COLUMNS of 80, 100, 140 and none",
     f"<= {INSTALL // 60} min, <= {SIZE} MB; <= {RUN // 60} min on two cores, 0 failed", "2.9 GB; 34 min; 1 failed",
     WIDTHS, quick=(WIDTHS[:1],), left_out="three widths")  # fmt: skip
def second_command(widths: tuple[str | None, ...]) -> tuple[str, bool]:
    """Install as README says, then run as it says, once for each width."""
    lines = re.findall(r"^python3 -m venv .*\[test\].*$", (ROOT / "README.md").read_text("utf-8"), re.MULTILINE)
    make, install, run = lines[0].split(" && ")
    with scratch() as folder:
        _copy(folder)
        began = time.perf_counter()
        subprocess.run(f"{make} && {install}", shell=True, cwd=folder, check=True, capture_output=True)
        seconds = time.perf_counter() - began
        size = int(process("du", "-sm", ".venv", folder=folder).stdout.split()[0])
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


@row("README: words to the first result; its lines in a clean environment", "<= 120; all run; 120 s from nothing",
     "0.2: 1,845; no")  # fmt: skip
def _readme() -> tuple[str, bool]:
    lines, words = first_lines()
    with scratch() as place:
        _copy(place)
        started, failed = time.perf_counter(), []
        for line in lines:
            done = subprocess.run(line, shell=True, cwd=place, capture_output=True, text=True, check=False)
            if done.returncode:
                failed.append(f"{line}: {done.stderr.strip()[-200:]}")
        end = time.perf_counter()
    text = f"{words} words; {len(lines) - len(failed)} of {len(lines)} lines run"
    text += f"; from nothing {end - started:.0f} s{''.join(f' ({one})' for one in failed)}"
    return text, words <= _WORDS and not failed and end - started <= _SECONDS


@row("every command's tables at 80, 100, 120 columns", "0 cut", "through a pseudo-terminal")
def _tables() -> tuple[str, bool]:
    options = ("-q", "-p", "no:cacheprovider", "-m", "slow or not slow")
    done = process(sys.executable, "-m", "pytest", *options, "tests/cli/test_tables.py", folder=ROOT, may_fail=True)
    return done.stdout.strip().splitlines()[-1], done.returncode == 0


@row("excite by README's command beside 1, 4, 8 busy processes", "same +- 3 %; Panda <= 31", "0.2: 62.8")
def _busy() -> tuple[str, bool]:
    """The README's design beside busy processes: the same condition number, whatever the load."""
    spin = [sys.executable, "-c", "while True: pass"]
    command = "excite panda --duration 13.33 --ramp 0.5 --floor 0.1"
    found: dict[int, float] = {}
    for load in (1, 4, 8):
        others = [subprocess.Popen(spin) for _ in range(load - 1)]
        try:
            text = process(sys.executable, "-m", "casid", *command.split()).stdout
        finally:
            for other in others:
                other.kill()
        match = re.search(r"condition number of this motion\s+([\d.]+)", text)
        assert match is not None
        found[load] = float(match[1])
    same = max(found.values()) <= 1.03 * min(found.values())
    return ", ".join(f"{load} busy: {value:.4g}" for load, value in found.items()), same and max(found.values()) <= 31.0


@row("library of identified robots: entries, each made again by its command", ">= 15, all", "0.2: 0", quick=(2,),
     left_out="those from recordings")  # fmt: skip
def _library(most: int | None = None) -> tuple[str, bool]:
    """Entries whose command makes them again, to 0.1 % of the largest parameter."""
    names = identified_names()
    differ: list[str] = []
    chosen = names if most is None else [name for name in names if "sha256" not in identified_record(name)][:most]
    with scratch() as folder:
        for name in chosen:
            process(sys.executable, ROOT / "scripts/library.py", name, "--out", folder)
            again = casid.load_robot(folder / f"{name}.toml").standard_parameters()
            stored = casid.load_robot(name).standard_parameters()
            if np.abs(again - stored).max() > 1e-3 * np.abs(stored).max():
                differ.append(name)
    text = f"{len(names)} entries; {len(chosen) - len(differ)} of {len(chosen)} made again"
    return f"{text}{': not ' + ', '.join(differ) if differ else ''}", len(names) >= 15 and not differ
