"""Every command of the README and of the docs' way to a controller, in order, as a new user runs them."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import casid
from benchmarks.measure import Measure

ROOT = Path(__file__).resolve().parents[3]
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


def _controller_samples(path: Path) -> None:
    """What a user has from a controller: mass matrices and gravity torques of a Panda at 60 poses."""
    robot, rng = casid.load_robot("panda"), np.random.default_rng(0)
    model, pi = casid.Model(robot), robot.standard_parameters()
    q = rng.uniform(robot.limits.lower, robot.limits.upper, (60, robot.n))
    M, g = (f.map(len(q))(q.T, pi).full().T.reshape(len(q), *shape) for f, shape in
            ((model.mass_matrix, (robot.n, robot.n)), (model.gravity, (robot.n,))))  # fmt: skip
    np.savez(path, q=q, M=M, g=g)


#: Files that a page calls the reader's own, and how a stand-in is made.
OWN: Mapping[str, Callable[[Path], None]] = {"samples.npz": _controller_samples}


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


def run(page: str, folder: Path, quick: bool, columns: int = 80) -> list[Ended]:
    """The commands of a page in an empty folder, with an empty home, each on the files of those before it."""
    ended = []
    home = folder / "home"
    home.mkdir(parents=True)
    environment = {**os.environ, "HOME": str(home), "COLUMNS": str(columns), "BROWSER": "true", "MPLBACKEND": "Agg"}
    for arguments in commands(page):
        for word in arguments:
            if word in OWN and not (folder / word).exists():
                OWN[word](folder / word)
        given = shorter(arguments) if quick else arguments
        done = subprocess.run(
            [sys.executable, "-m", "casid", *given], cwd=folder, env=environment, capture_output=True, text=True,
            check=False,
        )  # fmt: skip
        ended.append(Ended(given, done.returncode, done.stderr[-2000:]))
    return ended


def _measured(quick: bool) -> tuple[str, bool]:
    ended: list[Ended] = []
    for page in PAGES:
        with tempfile.TemporaryDirectory() as name:
            ended += run(page, Path(name), quick)
    wrong = [f"{' '.join(one.arguments)} ({one.code})" for one in ended if one.failed]
    return f"{len(wrong)} of {len(ended)} fail" + (f": {'; '.join(wrong)}" if wrong else ""), not wrong


ROWS = [
    Measure(
        "first hour: commands of README and docs in order, 80 columns, clean machine",
        "all exit as said",
        "8 of 16 fail",
        lambda: _measured(False),
        lambda: _measured(True),
        "long motions and searches",
    )
]
