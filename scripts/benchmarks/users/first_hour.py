"""The first hour: commands of the pages, tests as README says, interrupts, the front of the package, logs."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np

import casid
from benchmarks.measure import Measure, need, skipped
from benchmarks.users.controllers import installed, wheel
from casid.description import identified_names, identified_record
from casid.dynamics import Model
from casid.errors import CasidError
from casid.measurement import Answers, Dataset, propose, read_dataset
from casid.retrieval.plausible import plausible_bodies
from casid.testing._synthetic import motion

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


FIRST_COMMANDS_ROWS = [
    Measure(
        "first hour: commands of README and docs in order, 80 columns, clean machine",
        "all exit as said",
        "8 of 16 fail",
        lambda: _measured(False),
        lambda: _measured(True),
        "long motions and searches",
    )
]


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


FIRST_TESTS_ROWS = [
    Measure(
        "first hour: README's second command in a clean folder, at COLUMNS of 80, 100, 140 and none",
        f"<= {INSTALL // 60} min, <= {SIZE} MB; <= {RUN // 60} min on two cores, 0 failed",
        "2.9 GB; 34 min; 1 failed",
        partial(second_command, WIDTHS),
        partial(second_command, WIDTHS[:1]),
        "three widths",
    )
]


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


INTERRUPTS_ROWS = [
    Measure(
        "Ctrl-C in six long commands at five moments", "<= 2 s, exit 130, says what is kept", "0.2: excite no",
        _interrupts, skipped,
    ),
]  # fmt: skip


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


FRONT_ROWS = [
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


# ruff: noqa: E501


Array = np.ndarray


@dataclass(frozen=True)
class Log:
    """One file: how it is written, and the answers that it needs.

    Attributes
    ----------
    name : str
        Name of the file.
    columns : sequence of (name, signal, joint)
        Signals ``t q dq tau``, those with ``*`` commanded ones, or the text of a status column; joint from 0, -1: none.
    """

    name: str
    columns: Sequence[tuple[str, str, int]]
    robot: str = "ur10e"
    separator: str = ","
    decimal: str = "."
    encoding: str = "utf-8"
    before: Sequence[str] = ()
    units_line: Sequence[str] = ()
    groups_line: Sequence[str] = ()
    no_header: bool = False
    after: Sequence[str] = ()
    scale: Mapping[str, float] = field(default_factory=dict)
    gains: Sequence[float] = ()
    form: Mapping[str, Callable[[float], str]] = field(default_factory=dict)
    end: str = "\n"
    trailing: bool = False
    quoted: bool = False
    start: float = 0.0
    sign: Mapping[int, float] = field(default_factory=dict)
    asked: Answers | None = None
    """Answers, where the log leaves something open; then it has to be asked for."""
    refused: bool = False


@cache
def truth(robot: str) -> tuple[Any, Any]:
    """A robot, and a recording of it with plausible bodies and friction, within its limits, at 100 Hz."""
    loaded = casid.load_robot(robot)
    model = Model(loaded, ("viscous", "coulomb", "offset"))
    values = np.concatenate([plausible_bodies(loaded).parameters.ravel(), np.tile([2.0, 1.5, 0.1], loaded.n)])
    t, q, dq, ddq = motion(loaded.n, 1001, 3, speed=0.8)
    middle = np.where(np.isfinite(loaded.limits.lower), (loaded.limits.lower + loaded.limits.upper) / 2, 0.0)
    stroke = np.where(np.isfinite(loaded.limits.lower), loaded.limits.upper - loaded.limits.lower, 2 * np.pi)
    share = np.minimum(1.0, 0.4 * stroke / np.abs(q).max(axis=0))
    q, dq, ddq = q * share + middle, dq * share, ddq * share
    tau = model.inverse_dynamics(q, dq, ddq, values)
    tau = tau + 0.05 * np.random.default_rng(4).normal(size=tau.shape)
    return loaded, Dataset(t, q, tau, dq)


def content(log: Log) -> bytes:
    """Bytes of the file."""
    robot, data = truth(log.robot)
    rng = np.random.default_rng(1)
    arrays = {"t": data.t[:, None] + log.start, "q": data.q, "dq": data.dq, "tau": data.tau.copy()}
    arrays["tau"] = arrays["tau"] * [log.sign.get(k, 1.0) for k in range(robot.n)]
    arrays |= {"q*": data.q + 0.01 * np.sin(7 * data.t)[:, None], "dq*": data.dq + 0.01, "tau*": 0.9 * data.tau + 1.0}
    if log.gains:
        arrays["tau"] = arrays["tau"] / np.array(log.gains)
    rows = []
    for k in range(len(data)):
        cells = []
        for _, what, joint in log.columns:
            if what not in arrays:
                fixed = {"count": str(k), "noise": f"{20 + rng.normal():.2f}"}.get(what, what)
                cells.append(fixed.replace(".", log.decimal))
                continue
            value = float(arrays[what][k, max(joint, 0)]) * log.scale.get(what.rstrip("*"), 1.0)
            text = log.form.get(what, lambda one: f"{one:.6f}")(value)
            cells.append(text.replace(".", log.decimal) if what not in log.form else text)
        rows.append(_line(cells, log))
    names = [_line([name for name, *_ in log.columns], log)] if not log.no_header else []
    extra = [_line(list(cells), log) for cells in (log.units_line,) if cells]
    above = [_line(list(cells), log) for cells in (log.groups_line,) if cells]
    text = log.end.join([*log.before, *above, *names, *extra, *rows, *log.after]) + log.end
    return text.encode(log.encoding)


def _line(cells: Sequence[str], log: Log) -> str:
    if log.quoted:
        cells = [f'"{cell}"' for cell in cells]
    return log.separator.join(cells) + (log.separator if log.trailing else "")


def judged(log: Log) -> tuple[str, str]:
    """``right``, ``asked`` or ``wrong``, and why."""
    robot, data = truth(log.robot)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / log.name
        path.write_bytes(content(log))
        try:
            found = propose(path, robot)
            open_ = "; ".join(f"{one.option}: {one.text}" for one in found.questions)
            if found.questions and log.asked is not None:
                found = propose(path, robot, log.asked)
            if found.questions:
                more = "; ".join(f"{one.option}: {one.text}" for one in found.questions)
                return ("wrong", f"the answers leave open: {more}") if log.asked is not None else ("asked", more)
            if not open_ and (log.asked is not None or log.refused):
                return "wrong", "not asked"
            made = path.with_name("read.toml")
            made.write_text(found.toml(), encoding="utf-8")
            read = read_dataset(made)
        except CasidError as error:
            return "asked", error.message
    off = [
        f"{name} off by {worst:.2g}"
        for name, got, true in (("t", read.t - read.t[0], data.t - data.t[0]), ("q", read.q, data.q), ("tau", read.tau, data.tau),
                                *((("dq", read.dq, data.dq),) if read.dq is not None else ()))
        if got.shape != true.shape or (worst := float(np.abs(got - true).max())) > 2e-3 * max(1.0, float(np.abs(true).max()))
    ]  # fmt: skip
    if off:
        return "wrong", ", ".join(off)
    return ("asked", open_) if open_ else ("right", "")


def block(pattern: str, signal: str, n: int = 6, first: int = 1) -> list[tuple[str, str, int]]:
    """Columns of one signal, ``#`` for the joint's number."""
    return [(pattern.replace("#", str(k + first)), signal, k) for k in range(n)]


def joints(patterns: Mapping[str, str], n: int = 6, first: int = 1) -> list[tuple[str, str, int]]:
    """Columns joint by joint."""
    return [(p.replace("#", str(k + first)), signal, k) for k in range(n) for signal, p in patterns.items()]


DEG = 180.0 / np.pi
MS, US, NS, RPM, CENTI = {"t": 1e3}, {"t": 1e6}, {"t": 1e9}, 60 / (2 * np.pi), 100.0
KT = (9.9, 10.2, 9.1, 6.0, 5.5, 5.1)
_UR = ("shoulder_pan_joint", "shoulder_lift_joint", "elbow_joint", "wrist_1_joint", "wrist_2_joint", "wrist_3_joint")


def _clock(seconds: float) -> str:
    whole = 12 * 3600 + 59 * 60 + 58 + seconds
    return f"2026-05-01 {int(whole // 3600) % 24:02d}:{int(whole // 60) % 60:02d}:{whole % 60:09.6f}"


def _german(seconds: float) -> str:
    return _clock(seconds).replace("2026-05-01", "01.05.2026").replace(".", ",").replace("01,05,2026", "01.05.2026")


def _named(pattern: str, signal: str) -> list[tuple[str, str, int]]:
    return [(pattern.replace("#", name), signal, k) for k, name in enumerate(_UR)]


LOGS: tuple[Log, ...] = (
    Log("kuka_trace.csv", [("Zeit [ms]", "t", -1), *joints({"q": "A#_Istwert [°]", "q*": "A#_Sollwert [°]", "tau": "A#_Moment [Nm]"}), ("Betriebsart", "AUT", -1)],
        separator=";", decimal=",", encoding="cp1252", before=["KUKA Roboter GmbH", "Trace vom 01.05.2026; Gerät: KR C4", ""], scale={**MS, "q": DEG}, end="\r\n"),
    Log("german_excel.csv", [("Zeit [s]", "t", -1), *block("Position Achse # [Grad]", "q"), *block("Drehmoment Achse # [Nm]", "tau")],
        separator=";", decimal=",", encoding="cp1252", scale={"q": DEG}, end="\r\n", trailing=True),
    Log("rtde.csv", [("timestamp", "t", -1), *block("target_q_#", "q*", first=0), *block("actual_q_#", "q", first=0), *block("actual_qd_#", "dq", first=0),
                     *block("actual_current_#", "tau", first=0), ("robot_mode", "7", -1)],
        separator=" ", start=5321.3, gains=KT, asked=Answers(gains=KT)),
    Log("libfranka.csv", [("time", "t", -1), *block("q_#", "q", 7, 0), *block("q_d_#", "q*", 7, 0), *block("dq_#", "dq", 7, 0), *block("tau_J_#", "tau", 7, 0),
                          *block("tau_J_d_#", "tau*", 7, 0), *block("tau_ext_hat_filtered_#", "noise", 7, 0), ("control_command_success_rate", "noise", -1)], robot="panda"),
    Log("excel_unicode.txt", [("Time", "t", -1), *block("Joint # Position (deg)", "q"), *block("Joint # Torque (Nm)", "tau")], separator="\t", encoding="utf-16", scale={"q": DEG}),
    Log("fri_log.txt", [("% time_us", "t", -1), *block("msrJntPos#", "q", 7), *block("cmdJntPos#", "q*", 7), *block("msrTrq#", "tau", 7), *block("extTrq#", "noise", 7)],
        robot="kuka_iiwa", separator="\t", scale=US),
    Log("egm.csv", [("seq", "count", -1), ("time_ms", "t", -1), *block("feedback_joint_#_deg", "q"), *block("planned_joint_#_deg", "q*"), *block("motor_torque_#", "tau")],
        scale={**MS, "q": DEG}),
    Log("plotjuggler.csv", [("__time", "t", -1), *_named("/joint_states/#/position", "q"), *_named("/joint_states/#/velocity", "dq"), *_named("/joint_states/#/effort", "tau")], start=1.7e9),
    Log("two_lines.csv", [("Time", "t", -1), *block("pos#", "q"), *block("vel#", "dq"), *block("trq#", "tau")],
        units_line=["ms", *["deg"] * 6, *["deg/s"] * 6, *["Nm"] * 6], scale={**MS, "q": DEG, "dq": DEG}),
    Log("groups.csv", [("t", "t", -1), *block("A#", "q"), *block("A#", "dq"), *block("A#", "tau")], separator=";",
        groups_line=["Time", "Position", "", "", "", "", "", "Velocity", "", "", "", "", "", "Torque", "", "", "", "", ""]),
    Log("savetxt.txt", [("# t", "t", -1), *block("q#", "q"), *block("tau#", "tau")], separator=" "),
    Log("pandas.csv", [("", "count", -1), ("timestamp_ns", "t", -1), *block("joint#_pos", "q"), *block("joint#_vel", "dq"), *block("joint#_effort", "tau")], scale=NS, start=1000.0,
        form={"t": lambda one: f"{one:.0f}"}),
    Log("clock.csv", [("Timestamp", "t", -1), *block("J#.ActualPosition", "q"), *block("J#.ActualTorque", "tau")], form={"t": _clock}),
    Log("uhrzeit.csv", [("Datum/Uhrzeit", "t", -1), *block("Winkel_A#", "q"), *block("Moment_A#", "tau"), ("Status", "LÄUFT", -1)], separator=";", decimal=",",
        encoding="cp1252", scale={"q": DEG}, form={"t": _german}),
    Log("plain_degrees.csv", [("t", "t", -1), *block("q#", "q"), *block("dq#", "dq"), *block("tau#", "tau")], scale={"q": DEG, "dq": DEG}),
    Log("milliseconds.csv", [("time", "t", -1), *block("q#", "q"), *block("tau#", "tau")], scale=MS),
    Log("rpm.csv", [("t[s]", "t", -1), *block("q#[rad]", "q"), *block("n#[rpm]", "dq"), *block("M#[Nm]", "tau")], scale={"dq": RPM}),
    Log("millinewton.csv", [("t", "t", -1), *block("q#", "q"), *block("tau# [mNm]", "tau")], scale={"tau": 1e3}),
    Log("fanuc.dt", [("Tick", "count", -1), ("Time(s)", "t", -1), *block("J#(deg)", "q"), *block("J# Torque(Nm)", "tau"), ("Alarm", "-", -1)], scale={"q": DEG},
        before=["DATA MONITOR", "Program: EXCITE", ""]),
    Log("footer.csv", [("t", "t", -1), *block("q#", "q"), *block("tau#", "tau")], after=["", "End of record", "Samples: 900"]),
    Log("cut.csv", [("t", "t", -1), *block("q#", "q"), *block("tau#", "tau")], after=["9.01,0.1,0.2"]),
    Log("quoted.csv", [("Time", "t", -1), *block("Pos #", "q"), *block("Torque #", "tau")], quoted=True, decimal=","),
    Log("decimal_commas.csv", [("t", "t", -1), *block("q#", "q"), *block("tau#", "tau")], decimal=",", refused=True),
    Log("no_header.csv", [("t", "t", -1), *block("q#", "q"), *block("tau#", "tau")], no_header=True),
    Log("no_time.csv", [("sample", "count", -1), *block("q#", "q"), *block("tau#", "tau")], before=["# rate 100 Hz"], asked=Answers(rate=100.0)),
    Log("kilo.csv", [("t", "t", -1), *block("ActPos#", "q"), *block("ActTorque# [kNm]", "tau")], scale={"tau": 1e-3}, form={"tau": lambda one: f"{one:.9f}"}),
    Log("reversed.csv", [("t", "t", -1), *block("q#", "q"), *block("tau#", "tau")], sign={1: -1.0, 4: -1.0}, asked=Answers(reversed=(2, 5))),
    Log("codesys.csv", [("TimeStamp", "t", -1), *block("GVL.Axis[#].fActPosition", "q"), *block("GVL.Axis[#].fActTorque", "tau")], separator=";", scale={**US, "q": DEG}),
    Log("twincat.csv", [("Name", "t", -1), *block("Axis # ActPos", "q"), *block("Axis # ActTorque", "tau")], separator="\t", decimal=",", scale={**MS, "q": DEG},
        before=["File\tC:\\scope\\run.svdx", "Starttime of export\t133000000", ""]),
    Log("staubli.csv", [("temps (s)", "t", -1), *block("position axe # (deg)", "q"), *block("couple axe # (Nm)", "tau")], separator=";", decimal=",", encoding="latin-1",
        before=["Société Stäubli"], scale={"q": DEG}),
    Log("bars.txt", [("t", "t", -1), *block("q#", "q"), *block("dq#", "dq"), *block("tau#", "tau")], separator=" | "),
    Log("crlf_bom.csv", [("time", "t", -1), *block("joint_position_#", "q"), *block("joint_torque_#", "tau")], encoding="utf-8-sig", end="\r\n"),
    Log("shuffled.csv", [("t", "t", -1), *reversed(block("q#", "q")), *block("tau#", "tau")]),
    Log("ros_named.csv", [("stamp", "t", -1), *_named("#_pos", "q"), *_named("#_vel", "dq"), *_named("#_eff", "noise"), *_named("#_torque", "tau")], start=1.6e9),
    Log("external_axis.csv", [("Zeit [s]", "t", -1), *block("AchsIst_A# [deg]", "q"), ("AchsIst_E1 [deg]", "noise", -1), *block("MomentIst_A# [Nm]", "tau"), ("MomentIst_E1 [Nm]", "noise", -1)],
        separator=";", scale={"q": DEG}),
    Log("motor_side.csv", [("t", "t", -1), *block("q#", "q"), *block("motor_speed#", "dq"), *block("tau#", "tau")], scale={"dq": 101.0}),
    Log("temperatures.csv", [("t", "t", -1), *joints({"q": "axis#_angle_rad", "noise": "axis#_temp_C", "tau": "axis#_torque_Nm"})]),
    Log("thousands.csv", [("Zeit [ms]", "t", -1), *block("Position # [rad]", "q"), *block("Moment # [Nm]", "tau")], separator=";", decimal=",", scale=MS,
        form={"t": lambda one: f"{one:,.2f}".replace(",", "_").replace(".", ",").replace("_", ".")}),
    Log("actuators.csv", [("Time (ms)", "t", -1), *block("Actuator # position", "q", 7), *block("Actuator # velocity", "dq", 7), *block("Actuator # torque", "tau", 7)],
        robot="kuka_iiwa", scale={**MS, "q": DEG, "dq": DEG}),
    Log("lab.csv", [("t (s)", "t", -1), *block("th# (rad)", "q"), *block("thd# (rad/s)", "dq"), *block("u# (N.m)", "tau"), ("notes", "ok", -1)]),
)  # fmt: skip


def _logs() -> tuple[str, bool]:
    found = {log.name: judged(log) for log in LOGS}
    counts = {word: sum(what == word for what, _ in found.values()) for word in ("right", "asked", "wrong")}
    bad = "; ".join(f"{name}: {why}" for name, (what, why) in found.items() if what == "wrong")
    text = ", ".join(f"{count} {word}" for word, count in counts.items())
    return f"{text}{f' ({bad})' if bad else ''}", counts["right"] >= 36 and counts["wrong"] == 0


LOGS_ROWS = [
    Measure(
        "40 messy logs through `casid import`",
        "36 right without a question, 4 asked, 0 wrong without a word",
        "0.2: 3",
        _logs,
    )
]
