"""The mutants of a room: its sample, its tests, and what is known of them."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import Any

from benchmarks.pieces import digest, keep, kept

from mutation import SHARE
from mutation.changes import ROOT, Mutant, sample
from mutation.executed import mapped
from mutation.trials import KILLED, NOT_EXECUTED, PATIENCE, SURVIVED, Trial, tried
from mutation.validity import of_file, of_test

#: Tests of the whole library or of its commands: too slow for what they add to the tests of the rooms.
WIDE = ("attack", "cli", "fuzz", "project", "report", "scripts")
#: Mutants that no test could kill, with the reason; and where maps are kept.
EQUIVALENT = Path(__file__).parent / "equivalent.json"
MAPS = ROOT / "build" / "mutation"


def tests_of(room: str, wide: bool = False) -> list[str]:
    """Test files of a room and, if asked, those of other rooms that import it."""
    found = []
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        folder = path.relative_to(ROOT).parts[1]
        imports = re.search(rf"casid\.{room}\b", path.read_text(encoding="utf-8"))
        if folder == room or (wide and folder not in WIDE and imports):
            found.append(str(path.relative_to(ROOT)))
    return found


class Room:
    """A room's sample of mutants.

    Parameters
    ----------
    only
        Files whose path contains it.
    wide
        Whether tests of other rooms that import it are asked too; otherwise its own alone, which can only let more
        mutants survive.
    asked
        Test files that are asked at first: those whose path contains one of these words. Who survives them is not kept,
        for the others may kill it.
    """

    def __init__(
        self, name: str, size: int, seed: int = 0, only: str = "", wide: bool = False, asked: Sequence[str] = ()
    ) -> None:
        files = [path for path in sorted((ROOT / "casid" / name).rglob("*.py")) if only in str(path)]
        self.name, self.tests = name, tests_of(name, wide)
        self.mutants, self.number = sample(files, size, seed)
        self._asked = [test for test in self.tests if not asked or any(word in test for word in asked)]
        self._key = digest(f"casid/{name}/**/*.py", "tests/conftest.py", "tests/helpers.py", *self.tests)

    def known(self) -> list[dict[str, Any]]:
        """Trials of the sample that stand.

        The mutated file is as it was, and so is the test that killed the mutant. A survivor stands whatever tests came
        after it: it counts as one until it is tried again. One that is argued to be equivalent counts as one untried.
        """
        files = {mutant.name: of_file(mutant.path) for mutant in self.mutants}
        found = [piece for piece in kept(self._row, None) if files.get(piece["part"]) == piece.get("file", "")]
        found = [p for p in found if p["verdict"] != KILLED or p["test"] == of_test(p["note"].split(", ")[0])]
        untried = self._reasons.keys() & files.keys() - {piece["part"] for piece in found}
        return found + [
            {"part": name, "verdict": SURVIVED, "note": "untried", "seconds": 0.0} for name in sorted(untried)
        ]

    def left(self, again: bool = False) -> list[Mutant]:
        """Mutants of the sample to try: those not known, and survivors since whose trial the room or its tests changed.

        Those that are argued to be equivalent are tried once more only if asked for.
        """
        now = {piece["part"] for piece in kept(self._row, self._key)} | self._reasons.keys()
        done = {p["part"] for p in self.known() if p["verdict"] == KILLED or (p["part"] in now and not again)}
        return [mutant for mutant in self.mutants if mutant.name not in done]

    def measure(self, jobs: int = 2, patience: float = PATIENCE, again: bool = False) -> None:
        """Try the mutants that are `left`, and keep what became of each."""
        left = self.left(again)
        if not left:
            return
        import casadi  # noqa: F401 - loaded once for all forks
        import matplotlib.pyplot  # noqa: F401
        import scipy.optimize
        import scipy.signal  # noqa: F401

        os.chdir(ROOT)
        known = mapped(self._asked, MAPS, self.name, jobs)
        before = {piece["part"]: piece["note"].split(", ")[0] for piece in kept(self._row, None)}
        read, write = os.pipe()
        for job in range(jobs):
            if not os.fork():
                os.close(read)
                _worker(partial(tried, left[job::jobs], known, before, patience=patience), write)
        os.close(write)
        with os.fdopen(read, encoding="utf-8") as lines:
            for number, line in enumerate(lines, start=1):
                trial = json.loads(line)
                if trial["verdict"] == KILLED or self._asked == self.tests:
                    keep(self._row, self._key, self._dated(trial))
                print(f"{number:4d} {trial['verdict']} ({trial['seconds']:.0f} s) {trial['part']}", flush=True)

    def report(self) -> tuple[str, bool]:
        """Counts, each survivor with its reason, and whether all of the sample was tried and few enough survive."""
        found, reasons = self.known(), self._reasons
        alive = sorted((piece for piece in found if piece["verdict"] != KILLED), key=lambda piece: str(piece["part"]))
        count = {verdict: sum(p["verdict"] == verdict for p in alive) for verdict in (SURVIVED, NOT_EXECUTED)}
        argued = sum(piece["part"] in reasons for piece in alive)
        share = len(alive) / max(len(found), 1)
        text = f"{len(alive)} of {len(found)} ({100 * share:.1f} %) survive: {count[SURVIVED]} executed by tests, "
        text += f"{count[NOT_EXECUTED]} not; {argued} of them argued to be equivalent; "
        text += f"{sum(p['seconds'] for p in found) / max(len(found), 1):.1f} s each"
        text += f"; {len(self.mutants) - len(found)} of the sample untried" if len(found) < len(self.mutants) else ""
        lines = [f"{p['part']}: {reasons.get(p['part'], p['verdict'] + ', ' + p['note'])}" for p in alive]
        return "\n".join([text, *lines]), len(found) == len(self.mutants) and share <= SHARE

    def _dated(self, trial: dict[str, Any]) -> dict[str, Any]:
        """A trial with the digests of what it depends on."""
        path = next(mutant.path for mutant in self.mutants if mutant.name == trial["part"])
        killer = of_test(trial["note"].split(", ")[0]) if trial["verdict"] == KILLED else ""
        return trial | {"file": of_file(path), "test": killer}

    @cached_property
    def _reasons(self) -> dict[str, str]:
        reasons: dict[str, str] = json.loads(EQUIVALENT.read_text(encoding="utf-8"))
        return reasons

    @property
    def _row(self) -> str:
        return f"mutants_{self.name}"


def _worker(work: Callable[[Callable[[Trial], None]], None], write: int) -> None:
    """Try mutants in this forked process, write each trial as a line, and end."""
    code, out = 1, os.dup(2)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)

    def tell(trial: Trial) -> None:
        os.write(write, json.dumps(trial.kept()).encode() + b"\n")

    try:
        work(tell)
        code = 0
    except BaseException as error:
        os.write(out, f"mutation tests failed: {type(error).__name__}: {error}\n".encode())
    finally:
        os._exit(code)
