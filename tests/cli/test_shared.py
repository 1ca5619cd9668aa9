"""What a newcomer meets: nothing left behind by an error, progress without a terminal, the solver's words on demand."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import casid
from casid.cli import shared
from casid.errors import SolveError
from casid.motion import read_trajectory
from casid.retrieval._solution import assess
from tests.helpers import run

IMPOSSIBLE = """
from casid.problems.spatial_2r import build as given
from casid.retrieval import Constraint


def build():
    problem = given()
    return problem.add(Constraint("far", problem.variables["link2"].com[0], lower=5.0))
"""


@pytest.mark.claim("notes and sentences of commands keep to 80 columns, words and markup whole")
def test_sentences_keep_to_the_columns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    study = run("study", "spatial_2r", tmp_path / "study.jsonl", "--starts", 2)
    explained = run("explain", "spatial_2r")
    simulated = run("simulate", "panda", "--duration", 0.1, "--term-values", "load_friction=0.1")
    assert "sum of squares" in " ".join(study.split()) and "no feasible set is better" in " ".join(explained.split())
    assert "grows with the load, here with that of the links without acceleration" in " ".join(simulated.split())
    said = "joint [red] of axis:100: " * 9
    shared.note(said)
    noted = capsys.readouterr().err
    assert noted.split() == ["note:", *said.split()]
    for text in (study, explained, simulated, noted):
        assert max(map(len, text.splitlines())) <= 80


@pytest.mark.claim("an empty folder stays behind after an error")
def test_a_folder_that_a_failed_command_made_is_gone(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(IMPOSSIBLE, encoding="utf-8")
    (tmp_path / "there").mkdir()
    for out in ("new/inner", "there"):
        text = run("solve", tmp_path / "mine.py", "--out", tmp_path / out, code=1)
        assert text.startswith("error: ") and "far" in text and "Traceback" not in text
    assert not (tmp_path / "new").exists() and (tmp_path / "there").is_dir()  # what was there stays


def test_the_solvers_own_words_are_shown_on_demand_only() -> None:
    plain, verbose = (run("solve", "spatial_2r", *more) for more in ((), ("--verbose",)))
    assert "optimal" in plain and "Solve_Succeeded" not in plain and "Acceptable" not in plain
    assert "optimal (" in verbose


def test_without_a_terminal_a_line_now_and_then_tells_progress(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    now = [0.0]
    monkeypatch.setattr(shared, "monotonic", lambda: now[0])
    with shared.starts_bar("arm: 40 starts", 40) as advance:
        for _ in range(40):
            now[0] += 1.0
            advance(object())
    lines = capsys.readouterr().err.splitlines()
    assert lines == [f"arm: 40 starts, {k} of 40, {5 * k // 2} % ({k} s)" for k in (10, 20, 30, 40)]


def test_an_error_about_starts_names_no_status_of_the_solver() -> None:
    problem = casid.load_problem("spatial_2r")
    lost = assess(
        problem, np.zeros(problem.variables.size), converged=False, solver_status="Infeasible_Problem_Detected"
    )
    with pytest.raises(SolveError, match=r"no feasible point was found from 1 start \(largest violation") as error:
        lost.or_raise()
    assert "Infeasible_Problem_Detected" not in str(error.value)


@pytest.mark.slow
@pytest.mark.claim("identify | head wrote no files")
def test_a_reader_that_closes_the_pipe_does_not_end_the_command(tmp_path: Path) -> None:
    command = [sys.executable, "-u", "-m", "casid", "solve", "spatial_2r", "--out", "out"]
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as done:
        assert done.stdout is not None and done.stderr is not None
        done.stdout.close()  # as `head` does after its lines
        errors = done.stderr.read()
    assert done.returncode == 0, errors
    assert (tmp_path / "out" / "solution.json").is_file() and "Broken pipe" not in errors


#: Seconds that a command may take to end; two on an idle machine.
PATIENCE = 2.0 * max(1.0, 2 * os.getloadavg()[0] / (os.cpu_count() or 1))
EXCITE = ("excite", "panda", "--duration", "10", "--samples", "80", "--iterations", "5000", "--out", "motion")


def interrupted(folder: Path, *arguments: str, after: float = 0.0, seen: str = "") -> tuple[str, int, float]:
    """Output, exit code, and seconds to the end of a command, interrupted after a time or once a file has grown."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    with (folder / "output.txt").open("w") as file:
        process = subprocess.Popen(
            [sys.executable, "-m", "casid", *arguments], stdout=file, stderr=file, cwd=folder, env=environment,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
        )  # fmt: skip
        deadline = time.monotonic() + 120
        while seen and time.monotonic() < deadline and process.poll() is None:
            if any(seen in path.read_text() for path in folder.iterdir() if path.is_file()):
                break
            time.sleep(0.05)
        time.sleep(after)
        begin = time.monotonic()
        process.send_signal(signal.SIGINT)
        code = process.wait(60)
    return (folder / "output.txt").read_text(), code, time.monotonic() - begin


@pytest.mark.claim("Ctrl-C ends a study, which says what is kept, without a message of the solver")
def test_a_study_keeps_its_starts(tmp_path: Path) -> None:
    text, code, seconds = interrupted(
        tmp_path, "study", "panda_retrieval", "study.jsonl", "--starts", "5000", seen='"objective"'
    )
    assert code == 130
    assert "the starts solved so far are kept in study.jsonl; the same command goes on from there" in text
    assert "CasADi" not in text and "Traceback" not in text
    assert (tmp_path / "study.jsonl").stat().st_size > 0
    assert seconds <= PATIENCE


_NOTHING_YET = """
import os, signal, sys
from casid.__main__ import main
from casid.excitation import Designer

def first(self, *given):
    os.kill(os.getpid(), signal.SIGINT)
    return None
Designer._start = first
sys.argv = ["casid", *sys.argv[1:]]
main()
"""


def test_excite_without_a_motion_yet_says_that_nothing_is_kept(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", _NOTHING_YET, *EXCITE], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 130
    assert done.stderr.splitlines()[-1] == "interrupted: nothing was written"
    assert not (tmp_path / "motion").exists()


@pytest.mark.slow
@pytest.mark.claim(
    "Ctrl-C ends excite with one sentence and every file of its best motion, without a line of the solver"
)
@pytest.mark.parametrize("after", [0.0, 4.0, 12.0])
def test_excite_keeps_its_best_motion(tmp_path: Path, after: float) -> None:
    text, code, _ = interrupted(tmp_path, *EXCITE, seen="Ctrl-C keeps", after=after)
    lines = [line for line in text.splitlines() if line and not line.startswith(("1 start", "start 1/1"))]
    assert code == 130 and len(lines) == 1 and lines[0].startswith("interrupted: "), text
    if "nothing was written" in text:
        assert not (tmp_path / "motion").exists()
    else:
        assert read_trajectory(tmp_path / "motion" / "trajectory.toml").n == 7
        names = {path.name for path in (tmp_path / "motion").iterdir()}
        assert {"trajectory.csv", "joint_trajectory.yaml", "motion.png", "excitation.json"} <= names


@pytest.mark.slow
@pytest.mark.parametrize(
    "arguments", [("intervals", "panda_retrieval"), ("solve", "panda_retrieval", "--starts", "500")]
)
def test_other_long_commands_say_that_nothing_was_written(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    text, code, seconds = interrupted(tmp_path, *arguments, after=8.0)
    assert code == 130 and seconds <= PATIENCE, text
    assert text.strip().splitlines()[-1] == "interrupted: nothing was written"


@pytest.mark.claim("an interruption of code given as text, caught later, ends with 130, not by the signal")
def test_an_interruption_of_code_given_as_text_has_the_exit_code(tmp_path: Path) -> None:
    (tmp_path / "probe.py").write_text(
        "import casid.cli as cli, os, signal\n"
        "def app():\n"
        "    exec('import os, signal; os.kill(os.getpid(), signal.SIGINT)\\nfor _ in range(10**8): pass')\n"
        "cli.app = app\n"
        "cli.main()\n"
    )
    done = subprocess.run(
        [sys.executable, "-m", "probe"], capture_output=True, text=True, timeout=60, cwd=tmp_path,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )  # fmt: skip
    assert done.returncode == 130 and "interrupted: nothing was written" in done.stderr
