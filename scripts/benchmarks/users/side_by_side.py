"""One task with casid, FIGAROH and mujoco.sysid: each tool runs as its documentation teaches, each is judged alike.

python scripts/benchmarks/users/side_by_side.py    # runs all and writes docs/side_by_side.md
"""

from __future__ import annotations

import os
import platform
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.measure import Measure, need, skipped
from benchmarks.users.peers import judged
from benchmarks.users.peers.task import Truth, write
from casid.version import __version__

HERE = Path(__file__).parent / "peers"
PAGE = Path(__file__).resolve().parents[3] / "docs" / "side_by_side.md"
_GIVEN = ("robot.urdf", "train.csv", "held_out.csv", "servos.json")


@dataclass(frozen=True)
class Tool:
    """A tool: the files a user writes for it, the command, and how its result is read."""

    name: str
    package: str
    files: tuple[str, ...]
    command: tuple[str, ...]
    read: Callable[[Path, Truth], judged.Result]

    @property
    def version(self) -> str:
        """Name and installed version."""
        if self.package == "casid":
            return f"casid {__version__}"
        return f"{self.name} {metadata.version(self.package)}"

    @property
    def lines(self) -> int:
        """Lines that a user writes: without blank ones, comments and docstrings."""
        text = "\n".join((HERE / file).read_text(encoding="utf-8") for file in self.files)
        bare = re.sub(r'^\s*""".*?"""$', "", text, flags=re.DOTALL | re.MULTILINE)
        return sum(bool(line.strip()) and not line.strip().startswith("#") for line in bare.splitlines())


TOOLS = (
    Tool("casid", "casid", ("by_casid.sh",), ("sh", "by_casid.sh"), judged.of_casid),
    Tool(
        "FIGAROH", "figaroh", ("by_figaroh.py", "by_figaroh.yaml"), (sys.executable, "by_figaroh.py"), judged.of_figaroh
    ),
    Tool("mujoco.sysid", "mujoco", ("by_mujoco.py",), (sys.executable, "by_mujoco.py"), judged.of_mujoco),
)


@dataclass(frozen=True)
class Run:
    """What a tool needed, and what its result is worth."""

    seconds: float
    processor: float
    score: judged.Score


def run(tool: Tool, given: Path, truth: Truth) -> Run:
    """Run a tool in a folder of its own, which holds the task's files and its script alone."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for file in _GIVEN:
            shutil.copy(given / file, folder)
        for file in tool.files:
            shutil.copy(HERE / file, folder)
        casid = folder / "casid"  # the command of this very Python
        casid.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m casid "$@"\n', encoding="utf-8")
        casid.chmod(0o755)
        paths = {
            "PATH": f"{folder}{os.pathsep}{os.environ['PATH']}",
            "OMP_NUM_THREADS": "1",
            "PYTHONWARNINGS": "ignore",
        }
        before, begun = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
        done = subprocess.run(
            tool.command, cwd=folder, capture_output=True, text=True, check=False, env={**os.environ, **paths}
        )
        seconds, after = time.perf_counter() - begun, resource.getrusage(resource.RUSAGE_CHILDREN)
        if done.returncode:
            raise RuntimeError(
                f"{tool.name}: exit code {done.returncode}: {(done.stderr or done.stdout).strip()[-300:]}"
            )
        result = judged.score(tool.read(folder, truth), truth, given)
    return Run(seconds, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, result)


def all_runs() -> tuple[dict[str, Run], Truth]:
    """Simulate the task and run every tool, one after the other.

    Raises
    ------
    NotMeasured
        If a tool is not installed.
    RuntimeError
        If a tool fails.
    """
    for module in ("mujoco.sysid", "figaroh", "pinocchio"):
        need(module, "side-by-side")
    with tempfile.TemporaryDirectory() as name:
        truth = write(Path(name))
        return {tool.name: run(tool, Path(name), truth) for tool in TOOLS}, truth


def table(runs: Mapping[str, Run], truth: Truth) -> list[str]:
    """The lines of the table, a column a tool."""
    scores = [runs[tool.name].score for tool in TOOLS]
    commands = [
        sum(bool(line.strip()) for line in (HERE / "by_casid.sh").read_text(encoding="utf-8").splitlines()),
        1,
        1,
    ]
    rows: list[tuple[str, list[str]]] = [
        ("commands", [str(count) for count in commands]),
        ("lines that a user writes", [str(tool.lines) for tool in TOOLS]),
        ("time [s]", [f"{runs[tool.name].seconds:.0f}" for tool in TOOLS]),
        ("processor time [s]", [f"{runs[tool.name].processor:.0f}" for tool in TOOLS]),
        ("torques of the held-out motion, error, mean of joints [%]", [f"{s.held_out:.2f}" for s in scores]),
        ("... of the worst joint [%]", [f"{s.worst:.2f}" for s in scores]),
        ("torques at random states without friction, error [%]", [f"{s.rigid:.2f}" for s in scores]),
        ("friction, largest error of a parameter [%]", [f"{s.friction:.1f}" for s in scores]),
        (f"mass of all links [kg], truth {truth.masses.sum():.2f}", [f"{s.total:.2f}" for s in scores]),
        ("smallest eigenvalue of a body's second moment", [f"{s.eigenvalue:.1e}" for s in scores]),
        ("every body can be real", [_possible(s.eigenvalue) for s in scores]),
        ("certificate", [s.certificate for s in scores]),
    ]
    head = ["", *(tool.version for tool in TOOLS)]
    lines = [f"| {' | '.join(head)} |", "|" + " --- |" * len(head)]
    return lines + [f"| {' | '.join([name, *cells])} |" for name, cells in rows]


def _possible(eigenvalue: float) -> str:
    """Whether a body of this smallest eigenvalue is real; solvers of cones end on the boundary, to their tolerance."""
    return "yes" if eigenvalue > 0 else "on the boundary" if eigenvalue > -1e-8 else "no"


def page(runs: Mapping[str, Run], truth: Truth) -> str:
    """Content of ``docs/side_by_side.md``."""
    machine = f"{os.cpu_count()} cores, {platform.system()}, Python {platform.python_version()}"
    peers = ", ".join(f"{name} {metadata.version(name)}" for name in ("pin", "mujoco", "example-robot-data"))
    parts = [
        "# One task, three tools",
        "",
        _INTRODUCTION,
        "",
        *table(runs, truth),
        "",
        _NOTES,
        "",
        f"Run on {machine}; {peers}. {_HOW}",
    ]
    for tool in TOOLS:
        parts += ["", f"## {tool.name}", ""]
        for file in tool.files:
            kind = {".sh": "sh", ".py": "pycon", ".yaml": "yaml"}[Path(file).suffix]
            parts += [f"`{file}`:", "", f"```{kind}", (HERE / file).read_text(encoding="utf-8").rstrip(), "```", ""]
        parts.pop()
    return "\n".join(parts) + "\n"


_INTRODUCTION = """A UR5, 20 s of motion under position servos, positions and torques with noise: what are its masses,
centres of mass, inertias, friction and rotor inertias? Each tool gets the same four files: the robot as
[example-robot-data](https://pypi.org/project/example-robot-data/) ships it, a recording at 500 Hz,
another motion for its own validation, and the gains of the servos. The arm that moved, in MuJoCo at 10
kHz, has other bodies than the file says: masses differ by 10 %, second moments by 20 %, centres by 15
mm (standard deviations). The judge alone knows them."""

_NOTES = """Errors are root mean squares over those of the torque, joint by joint. The held-out motion is judged
without noise, at instants where every joint slides. At random states over the whole range of the joints
every error of a parameter that torques depend on shows, however little the recording excited it. The
mass of all links is not identifiable from a fixed base: what is printed there is what a tool chooses
among all that explain the data alike.

How each was run, and why so:

- **casid**: with no option. It got neither the servos nor, as prior, the bodies of the file.
- **FIGAROH**: its class for a robot, with the physically consistent fit, weights and actuator inertias. The cut-off
  is the best of 2, 5, 10, 20, 40 Hz by its own held-out error; the weight of the prior is 1e-3, since all links weigh
  71 kg with the default of 1e-6. Its solver returns the boundary of the cone to 1e-8, so that a body may be outside
  by less. It reports the solver's status, and no bound.
- **mujoco.sysid**: simulates the arm with its servos, which it must know, and fits positions and torques, all ten
  parameters of a body by `InertiaType.Pseudo`. It begins at the bodies of the file and stays within its default
  bounds around them: a local search, which the other two are not. Simulation at the time step of the recording. In
  mujoco 4.0.0 the ready callback of that type fails for bodies without geoms; the script's own sets the orientation,
  too. Velocities are needed at the first sample alone. Bodies are consistent by construction."""

_HOW = """Generated by `python scripts/benchmarks/users/side_by_side.py`, with `pip install
"casid[side-by-side]"`. The task is `scripts/benchmarks/users/peers/task.py`, the judge `judged.py`
beside it. Lines count what a user writes, without blank ones and comments; time is that of the whole
command, imports and files included, on a\nmachine with other work: compare the processor time."""


def _row() -> tuple[str, bool]:
    runs, truth = all_runs()
    cells = [line.strip("| ").split(" | ") for line in table(runs, truth)]
    text = PAGE.read_text(encoding="utf-8") if PAGE.is_file() else ""
    kept = [line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("|")]
    same = [row[0] for row in kept] == [row[0] for row in cells] and kept[0] == cells[0] if kept else False
    errors = ", ".join(f"{name} {r.score.held_out:.2f} % in {r.seconds:.0f} s" for name, r in runs.items())
    return (
        f"{len(runs)} tools run anew: held-out {errors}; page {'of these' if same else 'of OTHER'} versions and rows",
        same,
    )


ROWS = [
    Measure(
        "same task with FIGAROH and mujoco.sysid: commands, lines, time, errors, side by side", "generated",
        "FIGAROH, mujoco.sysid", _row, skipped, "the runs of the peers",
    ),
]  # fmt: skip

if __name__ == "__main__":
    PAGE.write_text(page(*all_runs()), encoding="utf-8")
