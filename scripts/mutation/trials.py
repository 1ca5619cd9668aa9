"""Whether tests notice a mutant: each is tried in a fork of a process in which everything else is loaded.

Code inside a function is exchanged in the loaded function; other code (constants, defaults, fields) is put in place of
the module before the package is imported. The tests that execute the changed line run, those that killed other mutants
of the file first, then the quick ones of its subject, until one fails. That test must fail again alone, and pass alone
without the mutant.
"""

from __future__ import annotations

import gc
import importlib.abc
import importlib.util
import json
import os
import select
import shutil
import signal
import sys
import tempfile
import time
import types
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from mutation.changes import ROOT, Mutant
from mutation.executed import PYTEST, Map
from mutation.selection import tests_for

#: Seconds of computing after which no further test of a mutant begins: it survives.
PATIENCE = 20.0
#: Seconds of one test: so many, and so many times what it takes without a mutant.
ONE, LONGER = 20.0, 10.0
#: Seconds until the first test begins.
BEGIN = 120.0
SURVIVED, NOT_EXECUTED, KILLED = "survived", "not executed", "killed"


@dataclass(frozen=True)
class Failure:
    """The test that failed first, or whose time was over."""

    test: str
    late: bool = False


@dataclass(frozen=True)
class Trial:
    """What became of a mutant: the verdict, the test that kills it or another remark, and the seconds."""

    mutant: Mutant
    verdict: str
    note: str
    seconds: float

    def kept(self) -> dict[str, Any]:
        """As JSON."""
        return {
            "part": self.mutant.name, "line": self.mutant.line, "verdict": self.verdict, "note": self.note,
            "seconds": round(self.seconds, 1),
        }  # fmt: skip


def exchanges(mutant: Mutant) -> list[tuple[types.CodeType, types.CodeType]] | None:
    """Code of the functions that a mutant changes, before and after; None where it changes other code too."""
    original = compile(mutant.path.read_text(encoding="utf-8"), str(mutant.path), "exec")
    changed = compile(mutant.source, str(mutant.path), "exec")
    found: list[tuple[types.CodeType, types.CodeType]] = []

    def same(a: types.CodeType, b: types.CodeType) -> bool:
        mine, other = (
            [c for c in code.co_consts if not isinstance(c, types.CodeType)] + [code.co_code, code.co_names]
            for code in (a, b)
        )
        return repr(mine) == repr(other)

    def visit(a: types.CodeType, b: types.CodeType) -> bool:
        inner = [[c for c in code.co_consts if isinstance(c, types.CodeType)] for code in (a, b)]
        if not same(a, b) or len(inner[0]) != len(inner[1]):
            return False
        for one, other in zip(*inner, strict=True):
            if one.co_flags & 0x2:  # CO_NEWLOCALS: a function, not the body of a class
                if one != other and not _equal(one, other, same):
                    if one.co_freevars != other.co_freevars:
                        return False
                    found.append((one, other))
            elif not visit(one, other):
                return False
        return True

    return found if visit(original, changed) else None


def _equal(a: types.CodeType, b: types.CodeType, same: Callable[[types.CodeType, types.CodeType], bool]) -> bool:
    inner = [[c for c in code.co_consts if isinstance(c, types.CodeType)] for code in (a, b)]
    return (
        same(a, b) and len(inner[0]) == len(inner[1]) and all(_equal(x, y, same) for x, y in zip(*inner, strict=True))
    )


def in_functions(mutant: Mutant, known: Map) -> bool:
    """Whether a mutant changes only functions that nobody calls when modules are imported."""
    pairs, called = exchanges(mutant), known.imported.get(str(mutant.path.relative_to(ROOT)), set())
    return pairs is not None and not any(
        called & ({line for *_, line in before.co_lines() if line} - {before.co_firstlineno}) for before, _ in pairs
    )


def module_of(mutant: Mutant) -> str:
    """Dotted name of a mutant's module."""
    parts = mutant.path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


class _InPlace(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Imports a mutant's source as its module."""

    def __init__(self, mutant: Mutant) -> None:
        self._module, self._mutant = module_of(mutant), mutant

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        if name != self._module:
            return None
        return importlib.util.spec_from_file_location(name, self._mutant.path, loader=self)

    def exec_module(self, module: types.ModuleType) -> None:
        exec(compile(self._mutant.source, str(self._mutant.path), "exec"), module.__dict__)


class _Stop:
    """A pytest plugin that tells which test runs, and ends the run after the first that fails or after some time."""

    def __init__(self, tell: Callable[[str], None], patience: float) -> None:
        self._tell, self._patience, self._end = tell, patience, float("inf")
        self.failed = ""
        self._session: pytest.Session | None = None

    @property
    def over(self) -> bool:
        """Whether no further test begins."""
        return bool(self.failed) or time.process_time() > self._end

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self._end = min(self._end, time.process_time() + self._patience)
        self._tell(nodeid)

    def pytest_runtest_logfinish(self) -> None:
        if self.over and self._session is not None:
            self._session.shouldstop = "enough"

    def pytest_sessionstart(self, session: pytest.Session) -> None:
        self._session = session

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.failed = self.failed or (report.nodeid if report.failed else "")


def _forked(
    work: Callable[[Callable[[str], None]], str], tests: Sequence[str], seconds: dict[str, float]
) -> Failure | None:
    """Do it in a fork that tells each test as it begins; `Failure` of the first that fails or is late, else None.

    A run that is not over before its first test began has no failure: the mutant survives it.
    """
    read, write = os.pipe()
    pid = os.fork()
    if not pid:
        os.close(read)
        _child(work, write)
    os.close(write)
    current, began, buffer, over = "", time.monotonic(), b"", False
    failure: Failure | None = None
    while not over:
        now = time.monotonic()
        if select.select([read], [], [], 0.2)[0]:
            piece = os.read(read, 65536)
            *rows, buffer = (buffer + piece).split(b"\n")
            for row in map(json.loads, rows):
                current, began = row.get("begins", current), now
                failure = Failure(row["failed"]) if row.get("failed") else failure
            over = not piece
        elif now - began > (ONE + LONGER * seconds.get(current, 0.0) if current else BEGIN):
            failure, over = Failure(current, late=True) if current else None, True
    os.close(read)
    with suppress(ProcessLookupError):
        os.killpg(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    shutil.rmtree(_folder(pid), ignore_errors=True)
    return failure


def _folder(pid: int) -> Path:
    return Path(tempfile.gettempdir()) / f"mutant-{pid}"


def _child(work: Callable[[Callable[[str], None]], str], write: int) -> None:
    os.setpgid(0, 0)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)

    def tell(row: dict[str, str]) -> None:
        os.write(write, json.dumps(row).encode() + b"\n")

    failed = ""
    try:
        failed = work(lambda test: tell({"begins": test}))
    except BaseException as error:
        failed = f"import: {type(error).__name__}"
    finally:
        tell({"failed": failed})
        os._exit(0)


class Loaded:
    """A pytest session in which all tests are collected; mutants of functions are tried in forks of it."""

    def __init__(self, session: pytest.Session, known: Map, patience: float = PATIENCE) -> None:
        self._items = {item.nodeid: item for item in session.items}
        self._config, self._known, self._patience = session.config, known, patience
        self._functions: dict[tuple[str, str, int], list[types.FunctionType]] = {}
        for thing in gc.get_objects():
            if isinstance(thing, types.FunctionType) and thing.__code__.co_filename.startswith(str(ROOT / "casid")):
                code = thing.__code__
                self._functions.setdefault((code.co_filename, code.co_name, code.co_firstlineno), []).append(thing)
        gc.collect()
        gc.freeze()  # forks share the memory

    def run(self, tests: Sequence[str], mutant: Mutant | None = None) -> Failure | None:
        """Run tests in a fork, with the mutant in place."""
        if mutant is not None and not self._in_place(mutant):
            return run_anew(tests, mutant, seconds=self._known.seconds, patience=self._patience)
        there = [test for test in tests if test in self._items]
        return _forked(partial(self._work, there, mutant), there, self._known.seconds)

    def _in_place(self, mutant: Mutant) -> bool:
        """Whether its functions are loaded, or their module is not yet."""
        pairs = exchanges(mutant)
        return module_of(mutant) not in sys.modules or (bool(pairs) and all(self._of(one) for one, _ in pairs or ()))

    def _of(self, code: types.CodeType) -> list[types.FunctionType]:
        return self._functions.get((code.co_filename, code.co_name, code.co_firstlineno), [])

    def _work(self, tests: Sequence[str], mutant: Mutant | None, tell: Callable[[str], None]) -> str:
        if mutant is not None and module_of(mutant) not in sys.modules:
            sys.meta_path.insert(0, _InPlace(mutant))
        elif mutant is not None:
            for before, after in exchanges(mutant) or ():
                for function in self._of(before):
                    function.__code__ = after
        stop = _Stop(tell, self._patience)
        self._config.pluginmanager.register(stop)
        config: Any = self._config
        config._tmp_path_factory._given_basetemp = _folder(os.getpid())
        items = [self._items[test] for test in tests]
        for item, after_it in zip(items, [*items[1:], None], strict=True):
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=after_it)
            if stop.over:
                break
        return stop.failed


class _Chosen:
    """A pytest plugin that runs chosen tests in their order."""

    def __init__(self, tests: Sequence[str]) -> None:
        self._tests = tests

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        by_name = {item.nodeid: item for item in items}
        items[:] = [by_name[test] for test in self._tests if test in by_name]


def run_anew(
    tests: Sequence[str], mutant: Mutant | None, *, seconds: dict[str, float], patience: float = PATIENCE
) -> Failure | None:
    """Run tests in a fork that imports the package anew, with the mutant as its module."""

    def work(tell: Callable[[str], None]) -> str:
        if mutant is not None:
            sys.meta_path.insert(0, _InPlace(mutant))
        stop = _Stop(tell, patience)
        files = list(dict.fromkeys(test.split("::")[0] for test in tests))
        options = [*PYTEST, "-x", f"--basetemp={_folder(os.getpid())}"]
        code = pytest.main([*options, *files], plugins=[stop, _Chosen(tests)])
        return stop.failed or ("" if code == 0 or stop.over else f"collection, exit code {int(code)}")

    return _forked(work, tests, seconds)


def verdict(mutant: Mutant, tests: Sequence[str], run: Callable[..., Failure | None], hint: str = "") -> Trial:
    """Try a mutant.

    Parameters
    ----------
    run
        Runs tests with a mutant or None.
    hint
        The test that killed it before: it runs first.
    """
    began, left = time.perf_counter(), [hint] * (hint in tests) + [test for test in tests if test != hint]
    if not left:
        return Trial(mutant, NOT_EXECUTED, "no fast test executes it", time.perf_counter() - began)
    while left:
        failure = run(left, mutant)
        if failure is None:
            break
        killer = f"{failure.test}{', time limit' if failure.late else ''}"
        if failure.test not in left:  # the module cannot even be imported
            return Trial(mutant, KILLED, killer, time.perf_counter() - began)
        again = failure if failure.late else run([failure.test], mutant)
        if again is not None and run([failure.test], None) is None:
            return Trial(mutant, KILLED, killer, time.perf_counter() - began)
        left.remove(failure.test)
    return Trial(mutant, SURVIVED, f"executed by {len(tests)} tests", time.perf_counter() - began)


def deadliest(tests: Sequence[str], kills: Mapping[str, int], known: Map) -> list[str]:
    """Tests with those first that killed the most mutants of the same file for the time that they take."""
    return sorted(tests, key=lambda test: -kills.get(test, 0) / (0.1 + known.seconds[test]))


class _Loop:
    """A pytest plugin that, once all tests are collected, does something else than to run them."""

    def __init__(self, instead: Callable[[pytest.Session], None]) -> None:
        self._instead = instead

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        self._instead(session)
        return True


def _clean_once(run: Callable[..., Failure | None]) -> Callable[..., Failure | None]:
    """The same, but a test without a mutant runs once."""
    clean: dict[tuple[str, ...], Failure | None] = {}

    def once(tests: Sequence[str], mutant: Mutant | None) -> Failure | None:
        if mutant is not None:
            return run(tests, mutant)
        if tuple(tests) not in clean:
            clean[tuple(tests)] = run(tests, None)
        return clean[tuple(tests)]

    return once


def tried(
    mutants: Sequence[Mutant],
    known: Map,
    hints: dict[str, str],
    tell: Callable[[Trial], None],
    patience: float = PATIENCE,
) -> None:
    """Try mutants one after another, those of functions first, in a process that has not imported the package.

    Parameters
    ----------
    hints
        Tests that killed mutants before, by the mutant's name.
    patience
        Seconds of computing after which no further test of a mutant begins.
    """
    tests = {mutant.name: tests_for(mutant, known) for mutant in mutants}
    quick = [m for m in mutants if not tests[m.name] or in_functions(m, known)]
    kills: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for name, test in hints.items():
        kills[name.partition(",")[0]][test] += 1

    def each(chosen: Sequence[Mutant], run: Callable[..., Failure | None]) -> None:
        for mutant in chosen:
            found = kills[str(mutant.path.relative_to(ROOT))]
            trial = verdict(mutant, deadliest(tests[mutant.name], found, known), run, hints.get(mutant.name, ""))
            found[trial.note if trial.verdict == KILLED else ""] += 1
            tell(trial)

    def loaded(session: pytest.Session) -> None:
        each(quick, _clean_once(Loaded(session, known, patience).run))

    files = sorted({test.split("::")[0] for mutant in quick for test in tests[mutant.name]})
    pid = os.fork()
    if not pid:
        if quick:
            pytest.main([*PYTEST, *files], plugins=[_Loop(loaded)])
        os._exit(0)
    os.waitpid(pid, 0)
    each(
        [m for m in mutants if m not in quick],
        _clean_once(partial(run_anew, seconds=known.seconds, patience=patience)),
    )
