"""Ctrl-C with real signals: long commands end at once, with exit code 130, and say what is kept."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from casid.motion import read_trajectory

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


@pytest.mark.slow
@pytest.mark.claim("Ctrl-C ends excite, which keeps its best motion")
@pytest.mark.parametrize("after", [1.0, 4.0, 9.0])
def test_excite_keeps_its_best_motion(tmp_path: Path, after: float) -> None:
    text, code, seconds = interrupted(tmp_path, *EXCITE, seen="Ctrl-C keeps", after=after)
    assert code == 130 and seconds <= PATIENCE, text
    if "kept in" in text:
        assert read_trajectory(tmp_path / "motion" / "trajectory.toml").n == 7
    else:
        assert "nothing was written" in text and not (tmp_path / "motion").exists()


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
