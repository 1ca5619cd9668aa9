"""One task with casid, FIGAROH and mujoco.sysid: each tool runs as its documentation teaches, each is judged alike.

python scripts/benchmarks/users/side_by_side.py    # runs all and writes docs/side_by_side.md
"""

from __future__ import annotations

import os
import platform
import re
import resource
import shutil
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.measure import ROOT, Rows, need, process, scratch, skipped
from benchmarks.users.peers import judged
from benchmarks.users.peers.task import Truth, write
from casid.version import __version__

row = Rows()

HERE = Path(__file__).parent / "peers"
PAGE = ROOT / "docs" / "side_by_side.md"
_GIVEN = ("robot.urdf", "train.csv", "held_out.csv", "servos.json")


@dataclass(frozen=True)
class Tool:
    """A tool: the files a user writes for it, the command, and how its result is read."""

    name: str
    package: str
    files: tuple[str, ...]
    command: tuple[str, ...]
    read: Callable[[Path, Truth], judged.Result]
    own: str = ""  # expression that finds in the output the error that the tool states for the held-out motion [N m]

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
        "FIGAROH", "figaroh", ("by_figaroh.py", "by_figaroh.yaml"), (sys.executable, "by_figaroh.py"),
        judged.of_figaroh, r"RMSE identified: (\S+)",
    ),
    Tool("mujoco.sysid", "mujoco", ("by_mujoco.py",), (sys.executable, "by_mujoco.py"), judged.of_mujoco),
)  # fmt: skip

#: The text of the settings that are varied, per tool, and what takes its place.
_CUT_OFF, _WEIGHT, _ITERATIONS = "sampling_frequency: 500.0", "enabled: true}", "max_iters=20"
VARIANTS: tuple[tuple[str, str, Mapping[str, str]], ...] = (
    *(
        (
            "FIGAROH",
            f"cut-off {cut} Hz, prior weight {weight}",
            {_CUT_OFF: f"{_CUT_OFF}, cutoff_frequency: {cut}.0", _WEIGHT: f"enabled: true, prior_weight: {weight}}}"},
        )
        for cut in (5, 10, 20, 40, 100, 200)
        for weight in ("1.0e-6", "1.0e-2")
        if (cut, weight) != (100, "1.0e-6")  # the defaults, which the first table has
    ),
    ("mujoco.sysid", "at most 40 iterations", {_ITERATIONS: "max_iters=40"}),
)


@dataclass(frozen=True)
class Run:
    """What a tool needed, and what its result is worth."""

    seconds: float
    processor: float
    score: judged.Score
    own: str = ""


class Failed(RuntimeError):
    """A tool ended without a result; the text is the last line it wrote."""


def run(tool: Tool, given: Path, truth: Truth, changes: Mapping[str, str] | None = None) -> Run:
    """Run a tool in a folder of its own, which holds the task's files and its script alone, settings changed.

    Raises
    ------
    Failed
        If the tool ends with an error.
    """
    with scratch() as folder:
        for file in _GIVEN:
            shutil.copy(given / file, folder)
        texts = {file: (HERE / file).read_text(encoding="utf-8") for file in tool.files}
        for old, new in (changes or {}).items():
            assert sum(text.count(old) for text in texts.values()) == 1, old
            texts = {file: text.replace(old, new) for file, text in texts.items()}
        for file, text in texts.items():
            (folder / file).write_text(text, encoding="utf-8")
        casid = folder / "casid"  # the command of this very Python
        casid.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m casid "$@"\n', encoding="utf-8")
        casid.chmod(0o755)
        paths = {"PATH": f"{folder}{os.pathsep}{os.environ['PATH']}", "OMP_NUM_THREADS": "1"}
        before, begun = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
        done = process(*tool.command, folder=folder, may_fail=True, PYTHONWARNINGS="ignore", **paths)
        seconds, after = time.perf_counter() - begun, resource.getrusage(resource.RUSAGE_CHILDREN)
        if done.returncode:
            raise Failed((done.stderr or done.stdout).strip().splitlines()[-1])
        result = judged.score(tool.read(folder, truth), truth, given)
    stated = re.search(tool.own, done.stdout) if tool.own else None
    processor = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Run(seconds, processor, result, stated[1] if stated else "")


def all_runs() -> tuple[dict[str, Run], Truth]:
    """Simulate the task and run every tool, one after the other.

    Raises
    ------
    NotMeasured
        If a tool is not installed.
    Failed
        If a tool fails.
    """
    for module in ("mujoco.sysid", "figaroh", "pinocchio"):
        need(module, "side-by-side")
    with scratch() as name:
        truth = write(name)
        return {tool.name: run(tool, name, truth) for tool in TOOLS}, truth


def table(runs: Mapping[str, Run], truth: Truth) -> list[str]:
    """The lines of the table, a column a tool."""
    scores = [runs[tool.name].score for tool in TOOLS]
    own = sum(bool(line.strip()) for line in (HERE / "by_casid.sh").read_text(encoding="utf-8").splitlines())
    rows: list[tuple[str, list[str]]] = [
        ("commands", [str(own), "1", "1"]),
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


def settings(given: Path, truth: Truth) -> list[str]:
    """The lines of the table of other settings, each run anew."""
    tools = {tool.name: tool for tool in TOOLS}
    lines = [
        "| tool | setting | its own error of the held-out motion [N m] | judged: held-out [%] "
        "| random states [%] | mass [kg] | every body can be real |",
        "|" + " --- |" * 7,
    ]
    for name, label, changes in VARIANTS:
        try:
            found = run(tools[name], given, truth, changes)
        except Failed as failure:
            lines.append(f"| {name} | {label} | no result: {str(failure).replace('|', '/')} | | | | |")
            continue
        score = found.score
        cells = [found.own, f"{score.held_out:.2f}", f"{score.rigid:.2f}", f"{score.total:.2f}"]
        lines.append(f"| {' | '.join([name, label, *cells, _possible(score.eigenvalue)])} |")
    return lines


def _possible(eigenvalue: float) -> str:
    """Whether a body of this smallest eigenvalue is real; solvers of cones end on the boundary, to their tolerance."""
    return "yes" if eigenvalue > 0 else "on the boundary" if eigenvalue > -1e-8 else "no"


def page(runs: Mapping[str, Run], truth: Truth, others: Sequence[str]) -> str:
    """Content of ``docs/side_by_side.md``: the runs, and the lines of other settings."""
    machine = f"{os.cpu_count()} cores, {platform.system()}, Python {platform.python_version()}"
    peers = ", ".join(f"{name} {metadata.version(name)}" for name in ("pin", "mujoco", "example-robot-data"))
    template = (HERE / "page.md").read_text(encoding="utf-8").rstrip()
    text = template.format(table="\n".join(table(runs, truth)), others="\n".join(others), machine=machine, peers=peers)
    parts = [text]
    for tool in TOOLS:
        parts += ["", f"## {tool.name}", ""]
        for file in tool.files:
            kind = {".sh": "sh", ".py": "pycon", ".yaml": "yaml"}[Path(file).suffix]
            parts += [f"`{file}`:", "", f"```{kind}", (HERE / file).read_text(encoding="utf-8").rstrip(), "```", ""]
        parts.pop()
    return "\n".join(parts) + "\n"


def _same_rows(text: str, lines: Sequence[str]) -> bool:
    """Whether the first table of a page has the versions and the rows of these lines."""
    cells = [line.strip("| ").split(" | ") for line in lines]
    rows = text.partition("\n|")[2].partition("\n\n")[0].splitlines()
    kept = [row.strip("| ").split(" | ") for row in rows]
    return [row[0] for row in kept] == [row[0] for row in cells] and kept[0] == cells[0]


@row("same task with FIGAROH and mujoco.sysid: commands, lines, time, errors, side by side", "generated",
     "FIGAROH, mujoco.sysid", quick=skipped, left_out="the runs of the peers")  # fmt: skip
def _row() -> tuple[str, bool]:
    runs, truth = all_runs()
    same = _same_rows(PAGE.read_text(encoding="utf-8") if PAGE.is_file() else "", table(runs, truth))
    errors = ", ".join(f"{name} {r.score.held_out:.2f} % in {r.seconds:.0f} s" for name, r in runs.items())
    return (
        f"{len(runs)} tools run anew: held-out {errors}; page {'of these' if same else 'of OTHER'} versions and rows",
        same,
    )


def main() -> None:
    """Run all, and write the page."""
    runs, truth = all_runs()
    with scratch() as name:
        PAGE.write_text(page(runs, truth, settings(name, write(name))), encoding="utf-8")


if __name__ == "__main__":
    main()
