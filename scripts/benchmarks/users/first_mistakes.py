"""Sixty mistakes in files, options, expressions and units: each message names the place and a remedy."""

from __future__ import annotations

import contextlib
import os
import re
import tempfile
from pathlib import Path

import casadi as ca
import numpy as np
from typer.testing import CliRunner

import casid
from benchmarks.measure import Measure
from casid.cli import app
from casid.description import Robot, write_robot
from casid.motion import Sine

#: Least number of messages that name both, of all.
_NAMED = 57
#: A command (words; ``{}`` is none), what its message has to name, and any of the remedies (regular expressions).
#: Files are those of `_files`. Written before the messages were read.
COMMANDS: tuple[tuple[str, str, str], ...] = (
    # files
    ("identify arm.urdf log.csv", "arm.urdf", "exist|no such|not found|casid robots"),
    ("identify pnada log.csv", "pnada", "panda"),
    ("identify spatial_2r lgo.csv", "lgo.csv", "exist|no such|not found"),
    ("identify spatial_2r folder", "folder", "file|rosbag|metadata"),
    ("identify spatial_2r empty.csv", "empty.csv", "empty|no |header"),
    ("identify spatial_2r noise.npz", "noise.npz", "not a|npz|archive|zip"),
    ("identify spatial_2r no_torque.csv", "no_torque.csv", "tau|torque"),
    ("identify spatial_2r typo.csv", "tua1", "tau1|torque|--tau"),
    ("identify spatial_2r word.csv", r"line 7|row|sample", "number|NaN|abc"),
    ("identify spatial_2r backward.csv", r"backward.csv.*(sample|line|t\b)", "ascend|increas|backward|order"),
    ("identify spatial_2r short.csv", "short.csv", "sample|second|longer|least"),
    ("identify panda log.csv", "log.csv|panda", "7|joint|--lock"),
    ("identify broken.urdf log.csv", "broken.urdf", "line|XML|tag"),
    ("identify negative.urdf log.csv", "link", "mass|positive"),
    ("check typo.toml", "lenght|typo.toml", "keys|mean|known"),
    ("check axis.urdf", "joint1|axis", "zero|length|direction"),
    ("check limits.urdf", "joint1", "lower|upper"),
    ("check twice.urdf", "link1|joint1", "twice|two|unique|name"),
    ("check kind.urdf", "joint1.*|hinge", "revolute"),
    ("check parent.urdf", "nowhere", "link|parent"),
    ("view result.json", "result.json", "exist|no such|not found"),
    ("view log.txt", "log.txt", "exist|no such|not found|robot|report|json|toml"),
    ("validate spatial_2r nothing.json log.csv", "nothing.json", "exist|no such|not found|identify"),
    ("check grams.urdf", "link", "gram|1000|kg"),
    # options and arguments
    ("identfy spatial_2r log.csv", "identfy", "identify"),
    ("identify spatial_2r log.csv --fricton linear", "--fricton", "--friction"),
    ("identify spatial_2r log.csv --friction colomb", "colomb", "coulomb|stribeck|linear"),
    ("identify spatial_2r log.csv --terms viscos", "viscos", "viscous"),
    ("identify spatial_2r log.csv --method WSL", "WSL", "WLS"),
    ("identify spatial_2r log.csv --consistency ful", "ful", "full"),
    ("identify spatial_2r log.csv --bounds m9=0:3", "m9", "m2|names|parameter"),
    ("identify spatial_2r log.csv --bounds m2=3:0", "m2", "LOW:HIGH|below|order|lower|upper|largest"),
    ("identify spatial_2r log.csv --total-mass heavy", "heavy|total-mass", "LOW:HIGH|kg|number"),
    ("identify spatial_2r log.csv --lock joint9", "joint9", "joint1|joint2"),
    ("identify spatial_2r log.csv --folds -1", "folds", "0|range|>="),
    ("identify spatial_2r log.csv --share 5", "share", "between|from|0|1"),
    ("identify spatial_2r log.csv --urdf robot.txt", "robot.txt", r"\.urdf"),
    ("identify spatial_2r log.csv log.csv", "log.csv", "twice"),
    ("identify spatial_2r log.csv --gravity 0,0", "gravity", "three|3"),
    ("simulate panda --duration -1", "duration", "positive|greater|above"),
    ("simulate panda --noise 1,2", "noise", "three|3"),
    ("simulate panda --controller pid", "pid", "pd"),
    ("simulate panda --term-values viscous=abc", "abc|viscous", "number"),
    ("excite panda --basis furier", "furier", "fourier"),
    ("excite panda --criterion conditon", "conditon", "condition"),
    ("excite panda --home 0,0,0", "home", "7|joint"),
    ("excite panda --workspace z=1", "workspace", "LOW:HIGH"),
    ("solve panda_retrival", "panda_retrival", "panda_retrieval"),
    ("solve panda_retrieval --method drect", "drect", "direct"),
    ("solve spatial_2r --starts 0", "starts", "1|range|>="),
    ("convert spatial_2r robot.step", "robot.step", r"\.urdf"),
    ("export spatial_2r --functions gravty --out c", "gravty", "gravity"),
    # units
    ("import log.csv spatial_2r --torque-unit Nmm2", "Nmm2", "Nm"),
    ("identify spatial_2r units.toml", "degre", "deg"),
)
#: What a problem's ``build`` returns, what the message of `casid.solve` has to name, and any of the remedies.
PROBLEMS: tuple[tuple[str, str, str], ...] = (
    ('Problem("mine", links, fit, constraints=(Constraint("slim", links["lnik2"].mass <= 1),))', "lnik2", "link2"),
    ('Problem("mine", links, fit, constraints=(Constraint("slim", links["link2"].mas <= 1),))', "mas", "mass"),
    ('Problem("mine", links, fit, constraints=(Constraint("slim", True),))', "slim", "expression|bool|True"),
    ('Problem("mine", links, fit, constraints=(links["link2"].mass <= -1,))', "mass|m2", "<=|relax|contradict|by"),
    ('Problem("mine", links, links["link2"].com)', "objective", "scalar|1x1|one"),
    ('soften(Constraint("slim", links["link2"].mass <= 1), weight=-1)', "weight", "positive|negative"),
    ('Problem("mine", links, fit, constrains=())', "constrains", "constraints"),
    ('None', "build", "Problem|problem"),
    ('Problem("mine", links, fit', "mine.py", "syntax|closed|line"),
    ('1 / 0', "mine.py|build", "division|line"),
)  # fmt: skip
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
    inverse = casid.Model(robot).inverse_dynamics.map(len(t))
    tau = inverse(motion.q.T, motion.dq.T, motion.ddq.T, ca.repmat(ca.DM(parameters), 1, len(t))).full().T
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
    """Each mistake, what was said, and whether that names place and remedy and is no traceback."""
    found = []
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as name, contextlib.ExitStack() as left:
        left.callback(os.chdir, before)
        os.chdir(name)
        _files(Path(name))
        for command, place, remedy in COMMANDS:
            found.append((command, place, remedy, said(command.split())))
        for text, place, remedy in PROBLEMS:
            Path("mine.py").write_text(_BUILD.replace("{}", text), encoding="utf-8")
            found.append((text, place, remedy, said(["solve", "mine.py"])))
    return [
        (what, output, "Traceback" not in output and all(
            re.search(pattern, output, re.IGNORECASE) for pattern in (place, remedy)
        ))
        for what, place, remedy, output in found
    ]  # fmt: skip


def _measured() -> tuple[str, bool]:
    found = mistakes()
    wrong = [what for what, _, named in found if not named]
    traces = sum("Traceback" in output for _, output, _ in found)
    text = f"{len(found) - len(wrong)} of {len(found)}, {traces} tracebacks{''.join(f'; {what}' for what in wrong)}"
    return text, len(found) - len(wrong) >= _NAMED * len(found) / 60 and not traces


FIRST_MISTAKES_ROWS = [
    Measure(
        "64 mistakes in files, options, expressions, units: messages that name place and remedy",
        f">= {_NAMED} of 60; 0 tracebacks",
        "",
        _measured,
    )
]
