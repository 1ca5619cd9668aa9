"""Mistakes in files, options, expressions and units: each message names the place and a remedy."""

from __future__ import annotations

import contextlib
import os
import re
from pathlib import Path

import numpy as np
from typer.testing import CliRunner

import casid
from benchmarks.measure import Rows, scratch
from casid.cli import app
from casid.description import Robot, write_robot
from casid.errors import DatasetError
from casid.files import csv_table
from casid.motion import Sine

row = Rows()

#: Least number of messages that name both, of 60.
_NAMED = 57
#: A command, or what a problem's ``build`` returns; what the message has to name, and any of the remedies (regular
#: expressions). Files are those of `_files`. Written before the messages were read.
MISTAKES = Path(__file__).with_suffix(".csv")
_BUILD = """import casid
from casid.problems.spatial_2r import true_parameters
from casid.retrieval import Constraint, Problem, base_parameter_error, link_variables, soften


def build():
    robot = casid.load_robot("spatial_2r")
    links, base = link_variables(robot), casid.Model(robot).base
    fit = base_parameter_error(links, base.K, base.values(true_parameters()))
    return {}
"""


def _log(robot: Robot) -> list[str]:
    """Lines of a recording of a motion of two joints."""
    t = np.arange(600) / 100.0
    motion = Sine.within(robot).at(t)
    parameters = np.tile([2e-2, 0, 0, 2e-2, 0, 2e-2, 0.1, 0, 0, 2.0], robot.n)
    tau = casid.Model(robot).inverse_dynamics(*motion, parameters)
    rows = (",".join(f"{value:.9g}" for value in row) for row in np.column_stack([t, motion.q, tau]))
    return ["t,q1,q2,tau1,tau2", *rows]


def _files(folder: Path) -> None:
    """Files of the mistakes."""
    robot = casid.load_robot("spatial_2r")
    log = _log(robot)
    texts = {
        "log.csv": log, "empty.csv": [], "short.csv": log[:4], "typo.csv": [log[0].replace("tau1", "tua1"), *log[1:]],
        "no_torque.csv": [line.rsplit(",", 2)[0] for line in log], "log.txt": ["nothing"],
        "word.csv": [*log[:6], log[6].replace(log[6].split(",")[3], "abc"), *log[7:]],
        "backward.csv": [*log[:300], *log[100:]], "typo.toml": ['schema = 1\nname = "x"\nlenght = 3'],
        "units.toml": ['file = "log.csv"\n[units]\nq = "degre"'],
    }  # fmt: skip
    for name, lines in texts.items():
        (folder / name).write_text("\n".join(lines) + "\n" * bool(lines), encoding="utf-8")
    (folder / "folder").mkdir()
    (folder / "noise.npz").write_bytes(bytes(range(200)))
    body = np.array([2e-2, 0, 0, 2e-2, 0, 2e-2, 0.0, 0, 0, 2.0])
    write_robot(robot.with_parameters(np.tile(body, robot.n)), folder / "good.urdf")
    good = (folder / "good.urdf").read_text(encoding="utf-8")
    changes = {
        "broken": (r"</link>", "", 1), "negative": (r'mass value="[^"]*"', 'mass value="-2"', 1),
        "axis": (r'axis xyz="[^"]*"', 'axis xyz="0 0 0"', 1), "kind": (r'type="\w+"', 'type="hinge"', 1),
        "limits": (r'type="\w+"(.*?)</joint>', r'type="revolute"\1<limit lower="1" upper="-1" effort="1"/></joint>', 1),
        "twice": (r'name="link2"', 'name="link1"', 1), "parent": (r'parent link="[^"]*"', 'parent link="nowhere"', 1),
        "grams": (r'mass value="[^"]*"', 'mass value="7000"', 0),
    }  # fmt: skip
    for name, (pattern, text, count) in changes.items():
        (folder / f"{name}.urdf").write_text(
            re.sub(pattern, text, good, count=count, flags=re.DOTALL), encoding="utf-8"
        )


def said(words: list[str]) -> str:
    """Errors, warnings and notes of a command, after ``Traceback`` where it ends with another exception."""
    done = CliRunner().invoke(app, words, env={"COLUMNS": "200"})
    raised = not (done.exception is None or isinstance(done.exception, SystemExit))
    lines = [
        line for line in done.output.splitlines() if re.match(r"\s*(error|warning|note|Traceback|WRONG|[^a-z]*│)", line)
    ]
    return " ".join(f"{'Traceback: ' * raised}{' '.join(lines)} {done.exception if raised else ''}".split())


def mistakes() -> list[tuple[str, str, bool]]:
    """Each mistake, what was said, and whether that names place and remedy and is no traceback.

    A word of the command itself, such as the name of a file, is no remedy.
    """
    table, found = csv_table(MISTAKES.read_text(encoding="utf-8"), MISTAKES.name, DatasetError), []
    with scratch() as name, contextlib.ExitStack() as left:
        left.callback(os.chdir, Path.cwd())
        os.chdir(name)
        _files(name)
        for kind, mistake, place, remedy in table.rows(MISTAKES.name, DatasetError):
            words = ["solve", "mine.py"] if kind == "problem" else mistake.split()
            Path("mine.py").write_text(_BUILD.replace("{}", mistake), encoding="utf-8")
            output = said(words)
            own = re.sub(rf"(?<!\w)({'|'.join(map(re.escape, words[1:]))})(?!\w)", "", output)
            named = re.search(place, output, re.IGNORECASE) and re.search(remedy, own, re.IGNORECASE)
            found.append((mistake, output, bool(named) and "Traceback" not in output))
    return found


@row("64 mistakes in files, options, expressions, units: messages that name place and remedy",
     f">= {_NAMED} of 60; 0 tracebacks", "")  # fmt: skip
def _measured() -> tuple[str, bool]:
    found = mistakes()
    wrong = [what for what, _, named in found if not named]
    traces = sum("Traceback" in output for _, output, _ in found)
    text = f"{len(found) - len(wrong)} of {len(found)}, {traces} tracebacks{''.join(f'; {what}' for what in wrong)}"
    return text, len(found) - len(wrong) >= _NAMED * len(found) / 60 and not traces
