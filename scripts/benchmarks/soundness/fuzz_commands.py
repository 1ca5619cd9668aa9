"""Commands on spoilt files, run as a user runs them: exit code 0, or one line of error; never a traceback."""

from __future__ import annotations

import contextlib
import io
import tempfile
from collections.abc import Iterable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.soundness import fuzz_mutators as mutators
from benchmarks.soundness.fuzz_kinds import ROBOT, Generator
from benchmarks.soundness.fuzz_recordings import Csv, dataset_numbers, recording
from benchmarks.soundness.fuzz_robots import AnyRobot
from casid.cli import app
from casid.description import Robot, load_robot
from casid.dynamics import Model
from casid.errors import CasidError, DatasetError
from casid.files import read_toml
from casid.inertia import to_standard
from casid.measurement import read_dataset
from casid.testing._synthetic import recorded


def run(*words: str) -> str:
    """Output of a command.

    Raises
    ------
    CasidError
        With its line of error, where it ends with another exit code than 0.
    """
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            app(list(words), standalone_mode=True)
        except SystemExit as end:
            code = end.code
    if code == 0:
        return out.getvalue()
    lines = [line for line in err.getvalue().splitlines() if line.startswith("error:")]
    if not lines and code == 1 and out.getvalue().strip():  # a finding, as `check` reports it
        raise CasidError(f"{words[0]}: exit code 1 and a table")
    if not lines and code == 2:
        raise CasidError(" ".join(err.getvalue().split()) or "exit code 2")
    if len(lines) != 1:
        raise AssertionError(f"{words[0]}: exit code {code} with {len(lines)} lines of error")
    raise CasidError(lines[0])


def _no_nan(text: str) -> None:
    words = text.replace(",", " ").split()
    for word in ("nan", "inf"):
        if word in words:
            raise AssertionError(f"'{word}' is printed")


class Check(AnyRobot):
    name = "command check"

    def read(self, path: Path) -> Iterable[Any]:
        text = run("check", str(path))
        if b"nan" not in path.read_bytes().lower():  # names may be anything
            _no_nan(text)
        return []


class View(AnyRobot):
    name = "command view"

    def read(self, path: Path) -> Iterable[Any]:
        with tempfile.TemporaryDirectory() as scratch:
            page = Path(scratch) / "page.html"
            run("view", str(path), "--out", str(page), "--no-browser")
            if not page.read_text(encoding="utf-8").rstrip().endswith("</html>"):
                raise AssertionError("half a page is written")
        return []


class OfArm(Csv):
    """A log of an arm whose torques its dynamics explain, with a load of 2 kg; and one without."""

    rare = 10**9
    ARM = "ur10e"

    @cached_property
    def robot(self) -> Robot:
        return load_robot(self.ARM)

    def log(self, load: float) -> bytes:
        model = Model(self.robot, ["viscous", "coulomb", "offset"])
        body = to_standard(load, [0.0, 0.0, 0.1], np.eye(3) * 4e-3 * load)
        t, q, dq, _, tau, _ = recorded(model, 200, body, 0.02)
        names = [joint.name for joint in self.robot.coordinates]
        header = ["t", *(f"{signal}_{name}" for signal in ("q", "dq", "tau") for name in names)]
        rows = (",".join(f"{x:.7g}" for x in row) for row in np.column_stack([t, q, dq, tau]))
        return "\n".join([",".join(header), *rows]).encode()

    @cached_property
    def seeds(self) -> Sequence[bytes]:
        return [self.log(2.0)]

    @cached_property
    def beside(self) -> bytes:
        return self.log(0.0)

    def spoilt(self, rng: Generator) -> bytes:
        gentle = (mutators.other_number, mutators.other_lines, mutators.unicode)
        return mutators.spoil(self.seeds[0], gentle, rng) if rng.random() < 0.5 else super().spoilt(rng)


class Loads(OfArm):
    """A command on a loaded and an unloaded recording, of which the loaded one is spoilt."""

    words: tuple[str, ...]

    def place(self, content: bytes, folder: Path) -> Path:
        (folder / "empty.csv").write_bytes(self.beside)
        return super().place(content, folder)

    def read(self, path: Path) -> Iterable[Any]:
        words = (word.format(empty=path.parent / "empty.csv") for word in self.words)
        _no_nan(run(self.name.split()[1], self.ARM, str(path), *words))
        return []


class Payload(Loads):
    name, words = "command payload", ("--without", "{empty}")


class Gains(Loads):
    name, words = "command gains", ("--without", "{empty}", "--mass", "2.0")


class _Half(CasidError):
    """A file that is not whole; worse than an error of the command."""

    def __init__(self, message: str) -> None:
        raise AssertionError(f"half a file is written: {message}")


class Import(OfArm):
    """The import assistant: a description that can be read, a question (exit code 2) or an error."""

    name = "command import"

    def read(self, path: Path) -> Iterable[Any]:
        description = path.with_suffix(".toml")
        try:
            run("import", str(path), self.ARM, "--out", str(description))
            data = read_dataset(description)
        except CasidError:  # a log that needs a cut, e.g.: what is written for the user to complete is whole
            if description.exists():
                read_toml(description, "recording", _Half)
            raise
        finally:
            description.unlink(missing_ok=True)
        return dataset_numbers(data)


class CommandRecording(Csv):
    """A recording of commands and encoders, or its TOML with the servos."""

    name, rare = "command recording", 10**9
    _toml = False
    TOML = b"""file = "run.csv"
motion = "sine"
joints = ["joint1", "joint2", "joint3"]

[servo]
kp = { value = 20.0, sd = 2.0 }
kd = [0.1, 0.2, 0.1]
delay = "free"
limit = 30.0
hold = "zero-order"
enabled = "on"

[unknown]
armature = { value = 0.03, sd = 0.02 }
viscous = "free"
"""

    @cached_property
    def robot(self) -> Robot:
        return load_robot(ROBOT)

    @cached_property
    def seeds(self) -> Sequence[bytes]:
        arrays = recording(120)
        names = [joint.name for joint in self.robot.coordinates]
        header = ["t", *(f"{signal}_{name}" for signal in ("q", "q_des") for name in names), "on"]
        table = np.column_stack([arrays["t"], arrays["q"], arrays["q"] + 0.01, np.ones(120)])
        return ["\n".join([",".join(header), *(",".join(f"{x:.6g}" for x in row) for row in table)]).encode()]

    def spoilt(self, rng: Generator) -> bytes:
        self._toml = bool(rng.integers(2))
        good = self.toml if self._toml else self.seeds[0]
        return mutators.spoil(good, (*mutators.BYTES, *mutators.TEXT), rng)

    @cached_property
    def toml(self) -> bytes:
        words = ", ".join(f'"{joint.name}"' for joint in self.robot.coordinates)
        return self.TOML.replace(b'"joint1", "joint2", "joint3"', words.encode())

    def place(self, content: bytes, folder: Path) -> Path:
        (folder / "run.csv").write_bytes(self.seeds[0] if self._toml else content)
        (folder / "run.toml").write_bytes(content if self._toml else self.toml)
        return folder / "run.toml"

    def read(self, path: Path) -> Iterable[Any]:
        from casid.drives import read_commands
        from casid.drives._recording import has_commands_only
        from casid.drives._servo import servo_from

        has_commands_only(path)
        servo_from(read_toml(path, "recording", DatasetError), path.name)
        data = read_commands(path, self.robot)
        return [data.t, data.q, data.q_des]
