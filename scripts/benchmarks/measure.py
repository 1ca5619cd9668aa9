"""One row of an acceptance table, and what became of it."""

from __future__ import annotations

import enum
import importlib
import json
import multiprocessing
import os
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from casid.codegen import find_compiler
from casid.testing import NotMeasured as NotMeasured
from casid.testing import need as need

ROOT = Path(__file__).resolve().parents[2]
#: Text of a row's value, and whether its bar is met.
Result = tuple[str, bool]
#: README's first recording, but for its folder.
README_RECORDING = (
    "simulate panda --duration 20 --term-values viscous=0.5,coulomb=0.2 --bandwidth 60 --noise 1e-5,1e-3,0.05"
)
#: What measures a row.
F = TypeVar("F", bound=Callable[..., Result])


@dataclass(frozen=True)
class Measure:
    """A quantity, the bar it must meet, and how to measure it.

    Attributes
    ----------
    name, bar, reference : str
        As printed.
    run : callable
        Measures anew; returns the value as text and whether the bar is met; raises `NotMeasured` where it cannot.
    quick : callable, optional
        The same with less of something, for ``--quick``; default: the whole.
    left_out : str
        What the quick form leaves out, in a few words.
    """

    name: str
    bar: str
    reference: str
    run: Callable[[], Result]
    quick: Callable[[], Result] | None = None
    left_out: str = ""

    def measure(self, quick: bool = False) -> Result:
        """Value and verdict; the quick form says what it leaves out."""
        if not quick or self.quick is None:
            return self.run()
        value, met = self.quick()
        return f"{value} (quick: without {self.left_out})", met


class LeftOut(NotMeasured):
    """A row that ``--quick`` does not demand."""


def skipped() -> Result:
    """Quick form of a row that takes minutes and has no small one."""
    raise LeftOut("left out by --quick")


class Verdict(enum.Enum):
    """What became of a row; only the first and the last two let a table pass."""

    MET = "yes"
    MISSED = "NO"
    NOT_MEASURED = "not measured"
    WAIVED = "waived"
    LEFT_OUT = "left out"


@dataclass(frozen=True)
class Outcome:
    """A row that was run: what it measured, what became of it, and the seconds that it took."""

    measure: Measure
    value: str
    verdict: Verdict
    seconds: float


def outcome(measure: Measure, quick: bool = False, waived: bool = False) -> Outcome:
    """Run a row.

    A row whose own code fails is missed, one that cannot be measured here is not measured; waived, either is neither.
    A bar that was measured and is missed cannot be waived.
    """
    begin, fails = time.perf_counter(), Verdict.WAIVED if waived else None
    try:
        value, met = measure.measure(quick)
        verdict = Verdict.MET if met else Verdict.MISSED
    except LeftOut as reason:
        value, verdict = str(reason), Verdict.LEFT_OUT
    except NotMeasured as reason:
        value, verdict = f"not measured: {reason}", fails or Verdict.NOT_MEASURED
    except Exception as error:  # the other rows are measured all the same
        value, verdict = f"failed: {type(error).__name__}: {error}", fails or Verdict.MISSED
    return Outcome(measure, value, verdict, time.perf_counter() - begin)


def headline(outcomes: Sequence[Outcome]) -> Result:
    """How many of the demanded rows are met, and whether the table passes: all of them, and at least one."""
    count = {verdict: sum(o.verdict is verdict for o in outcomes) for verdict in Verdict}
    demanded = len(outcomes) - count[Verdict.WAIVED] - count[Verdict.LEFT_OUT]
    parts = [f"{count[Verdict.MET]} of {demanded} demanded rows met", f"{count[Verdict.MISSED]} missed"]
    parts += [f"{count[Verdict.NOT_MEASURED]} not measured"]
    parts += [f"{count[Verdict.WAIVED]} waived"] if count[Verdict.WAIVED] else []
    parts += [f"{count[Verdict.LEFT_OUT]} left out by --quick"] if count[Verdict.LEFT_OUT] else []
    return ", ".join(parts), 0 < demanded == count[Verdict.MET]


def topics() -> list[str]:
    """Names of the topics that can be measured: the folders beside this file that list ``MEASURES``."""
    here = Path(__file__).parent
    return sorted(p.parent.name for p in here.glob("*/__init__.py") if "\nMEASURES" in p.read_text(encoding="utf-8"))


def measures(topic: str) -> Sequence[Measure]:
    """The rows of a topic, in their order."""
    rows: Sequence[Measure] = importlib.import_module(f"benchmarks.{topic}").MEASURES
    return rows


@contextmanager
def scratch() -> Iterator[Path]:
    """A folder that is thrown away."""
    with tempfile.TemporaryDirectory() as name:
        yield Path(name).resolve()


def process(
    *command: object, folder: Path | None = None, may_fail: bool = False, **environment: str
) -> subprocess.CompletedProcess[str]:
    """A command that has ended, with all that it printed; RuntimeError with the end of that where it failed."""
    words = [str(word) for word in command]
    done = subprocess.run(
        words, cwd=folder, env={**os.environ, **environment}, capture_output=True, text=True, check=False
    )
    if done.returncode and not may_fail:
        raise RuntimeError(f"{' '.join(words)[:200]} failed: {(done.stdout + done.stderr).strip()[-2000:]}")
    return done


def in_process(function: Callable[..., Any], *words: Any, limit: float) -> Any:
    """What a function returns, or raises, in a process of its own; TimeoutError after ``limit`` seconds.

    Raises
    ------
    ChildProcessError
        If the process ends without an answer.
    """
    context = multiprocessing.get_context("fork")
    mine, theirs = context.Pipe(duplex=False)

    def work() -> None:
        warnings.simplefilter("ignore")
        try:
            theirs.send((True, function(*words)))
        except Exception as error:
            theirs.send((False, error))

    process = context.Process(target=work)
    process.start()
    theirs.close()
    try:
        if not mine.poll(limit):
            raise TimeoutError(f"late: not done in {limit:g} s")
        good, found = mine.recv()
    except EOFError:
        raise ChildProcessError("the process ended") from None
    finally:
        process.kill()
        process.join()
    if not good:
        raise found
    return found


def need_compiler() -> list[str]:
    """The C compiler; NotMeasured without one."""
    compiler = find_compiler()
    if compiler is None:
        raise NotMeasured("needs a C compiler (Debian: apt-get install gcc)")
    return compiler


def by_acados(script: Path, *words: object) -> Any:
    """What a script prints as JSON in the environment of acados; NotMeasured without one."""
    done = process(os.environ.get("CASID_ACADOS_PYTHON", sys.executable), script, *words, may_fail=True)
    if "No module named 'acados'" in done.stderr:
        raise NotMeasured("needs acados: set CASID_ACADOS_PYTHON to a Python that has it, see docs/mpc.md")
    if done.returncode:
        raise RuntimeError(done.stderr.strip().splitlines()[-1])
    return json.loads(done.stdout)


class Rows(list[Measure]):
    """The rows of a module, each written above the function that measures it.

    ``@row(name, bar, reference)``; further arguments are those of the function, ``quick`` those of its quick form, or
    `skipped`.
    """

    def __call__(
        self, name: str, bar: str, reference: str = "-", *given: Any, quick: Any = None, left_out: str = "",
        **named: Any,
    ) -> Callable[[F], F]:  # fmt: skip
        """Add a row; the function stays as it is."""

        def add(function: F) -> F:
            short = partial(function, *quick) if isinstance(quick, tuple) else quick
            self.append(Measure(name, bar, reference, partial(function, *given, **named), short, left_out))
            return function

        return add


def rows_of(topic: str, *parts: str) -> list[Measure]:
    """The rows of a topic's modules, in their order."""
    return [one for part in parts for one in importlib.import_module(f"benchmarks.{topic}.{part}").row]


def data_folder() -> Path:
    """Folder of real recordings and published tables: ``CASID_DATA``, default ``../shared/data`` of the checkout."""
    folder = Path(os.environ.get("CASID_DATA", ROOT.parent / "shared" / "data"))
    if not (folder / "README.md").is_file():
        raise NotMeasured(f"needs the data folder: {folder} has no README.md; set CASID_DATA to it")
    return folder
