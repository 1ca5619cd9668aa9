"""What every command prints at 80, 100 and 120 columns, through a pseudo-terminal: nothing is cut off."""

from __future__ import annotations

import fcntl
import os
import pty
import struct
import subprocess
import sys
import termios
from pathlib import Path

import numpy as np
import pytest

import casid
from casid.dynamics import Model
from casid.inertia import parameter_csv
from casid.measurement import Dataset
from casid.motion import Fourier, Trajectory, trajectory_text
from casid.testing import recording
from tests.helpers import two_links

WIDTHS = (80, 100, 120)
CUT = "\N{HORIZONTAL ELLIPSIS}"


def terminal(width: int, *arguments: object, cwd: Path | None = None) -> tuple[str, int]:
    """What a command prints to a terminal so wide, and its exit code."""
    main, other = pty.openpty()
    fcntl.ioctl(other, termios.TIOCSWINSZ, struct.pack("HHHH", 40, width, 0, 0))
    environment = {key: value for key, value in os.environ.items() if key not in ("COLUMNS", "LINES")}
    environment |= {"TERM": "dumb", "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "casid", *map(str, arguments)]
    process = subprocess.Popen(
        command, stdin=other, stdout=other, stderr=subprocess.DEVNULL, env=environment, cwd=cwd, close_fds=True
    )
    os.close(other)
    pieces = []
    while True:
        try:
            piece = os.read(main, 65536)
        except OSError:  # the other end is closed
            break
        if not piece:
            break
        pieces.append(piece)
    os.close(main)
    return b"".join(pieces).decode().replace("\r\n", "\n"), process.wait()


def _save(path: Path, data: Dataset) -> None:
    np.savez(path, t=data.t, q=data.q, dq=data.dq, tau=data.tau)


def _log(model: Model, values: np.ndarray) -> bytes:
    """A controller's log with long names."""
    data = recording(model, values, 800, 0, 0.02)
    names = [f"Roboterachse {k} {what}" for what in ("Istposition [Grad]", "Istdrehmoment [Nm]") for k in (1, 2)]
    rows = np.column_stack([data.t, np.rad2deg(0.3 * data.q), data.tau])
    lines = [";".join(f"{x:.5f}".replace(".", ",") for x in row) for row in rows]
    return "\n".join([";".join(["Zeitstempel [s]", *names]), *lines]).encode()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A robot of long names, recordings of it without and with a load, and a motion."""
    made = tmp_path_factory.mktemp("tables")
    robot = two_links()
    casid.description.write_robot(robot, made / "arm.toml")
    model = Model(robot, ("viscous", "coulomb", "offset"))
    values = np.concatenate([robot.standard_parameters(), np.tile([0.3, 0.2, 0.1], 2)])
    for name, seed in (("one.npz", 0), ("two.npz", 1)):
        _save(made / name, recording(model, values, 800, seed, 0.02))
    (made / "known.csv").write_bytes(parameter_csv(model.named(values)))
    loaded = values.copy()
    loaded[10:20] += [0.05, 0, 0, 0.05, 0, 0.05, 0.02, 0.03, 0.1, 1.0]
    _save(made / "loaded.npz", recording(model, loaded, 800, 0, 0.02))
    swing = 0.2 * np.random.default_rng(0).normal(size=(7, 8))
    coefficients = np.hstack([swing, [[0], [0], [0], [-1.5], [0], [2], [0]]])
    gravity = Model(robot).gravity
    poses = np.random.default_rng(1).uniform(-2, 2, (60, 2))
    mass = np.array([Model(robot).mass_matrix(q, robot.standard_parameters()) for q in poses])
    torques = np.array([gravity(q, robot.standard_parameters()) for q in poses])
    np.savez(made / "samples.npz", q=poses, M=mass, g=torques)
    (made / "log.csv").write_bytes(_log(model, values))
    (made / "motion.toml").write_text(trajectory_text(Trajectory(Fourier(1.0, 4), coefficients)))
    return made


#: Arguments, and names that must be whole.
COMMANDS = {
    "robots": (("robots",), ["spatial_2r", "panda", "ur10e"]),
    "robot": (("robots", "panda"), ["joint7", "-2.897 to 2.897", "0.7355"]),
    "identified": (("robots", "ur10_salerno"), ["Lyy1", "exciting_trajectory", "values lie outside"]),
    "base": (("base", "panda"), ["Lxx2 - Lyy2", "lx7"]),
    "ops": (("ops", "spatial_2r"), ["inverse dynamics, standard parameters", "negations"]),
    "check": (("check", "arm.toml"), ["link1", "link2", "verdict", "physical"]),
    "doctor": (("doctor",), ["casid", "IPOPT", "C compiler"]),
    "evaluate": (
        ("excite", "panda", "--evaluate", "motion.toml", "--no-collision"),
        ["condition number of this motion", "joint limits at every instant"],
    ),
    "identify": (
        ("identify", "arm.toml", "one.npz", "two.npz"),
        ["joint1", "link2", "physically consistent"],
    ),
    "validate": (("validate", "arm.toml", "known.csv", "two.npz"), ["joint1", "joint2"]),
    "payload": (
        ("payload", "arm.toml", "loaded.npz", "--without", "one.npz"),
        ["mass [kg]", "Ixx [kg.m^2], about centre", "centre of mass in"],
    ),
    "solve": (("solve", "panda_retrieval"), ["link7", "total", "certified"]),
    "intervals": (("intervals", "spatial_2r", "--tolerance", "0.01"), ["Lxx1", "m2"]),
    "explain": (("explain", "spatial_2r"), ["link2"]),
    "study": (("study", "spatial_2r", "study.jsonl", "--starts", "2"), ["2 certified"]),
    "reverse-engineer": (("reverse-engineer", "arm.toml", "samples.npz"), ["link1", "link2", "coefficients"]),
    "convert": (("convert", "arm.toml", "arm.sdf"), ["arm.sdf"]),
    "cache": (("cache",), []),
    "import": (
        ("import", "log.csv", "arm.toml", "--as-is", "--reversed", "none", "--angles", "deg", "--overwrite"),
        ["joint1", "Roboterachse 1 Istposition [Grad]", "decimal mark", "comma"],
    ),
    "simulate": (("simulate", "arm.toml", "--duration", "1"), ["joint1", "joint2", "work of the motors"]),
}  # fmt: skip


#: Run at the narrowest width in the quick check.
QUICK = ("check",)


def _cases() -> list[object]:
    return [
        pytest.param(*COMMANDS[name], width, id=f"{name}-{width}",
                     marks=[] if name in QUICK and width == WIDTHS[0] else [pytest.mark.slow])
        for name in COMMANDS for width in WIDTHS
    ]  # fmt: skip


@pytest.mark.slow
@pytest.mark.claim("no table loses a name, a number or a verdict at 80, 100 or 120 columns")
@pytest.mark.parametrize(("arguments", "names", "width"), _cases())
def test_nothing_is_cut_off(arguments: tuple[str, ...], names: list[str], width: int, folder: Path) -> None:
    text, code = terminal(width, *arguments, cwd=folder)
    assert code == 0, text
    assert CUT not in text
    rows = [line.rstrip() for line in text.splitlines() if "  " in line.strip()]  # a terminal wraps sentences itself
    assert max(map(len, rows), default=0) <= width
    for name in names:
        assert any(name in line for line in (*text.splitlines(), " ".join(text.split()))), (name, text)


@pytest.mark.slow
def test_a_pipe_obeys_columns(folder: Path) -> None:
    command = [sys.executable, "-m", "casid", "check", "arm.toml"]
    for width in (60, 200):
        environment = {**os.environ, "COLUMNS": str(width)}
        done = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=folder, check=True)
        lines = done.stdout.splitlines()
        assert max(map(len, lines)) <= width
        assert ("  verdict" in lines[0] + "".join(lines[2:4])) or any(line.startswith("  verdict") for line in lines)
        assert any(line.startswith("link1") for line in lines) == (width == 60)  # a block a link, or one table
