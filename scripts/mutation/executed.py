"""Which tests execute a line of the package, and how long they take.

Each test file runs once in a process of its own under coverage.py, test by test. What a fixture or a cached value
computed counts for every test that uses it, not only for the first: a test would see a defect there as well. The map
of a test file is kept while the file, and those of the room in question that its tests executed, are unchanged.
"""

from __future__ import annotations

import functools
import hashlib
import json
import os
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "casid"
#: What is executed outside of tests: when modules are imported and tests collected.
IMPORT = "import"
#: Options of every run: fast tests only, nothing written beside them.
PYTEST = ("-q", "-s", "-m", "not slow", "-p", "no:cacheprovider", "-p", "no:xdist", f"--rootdir={ROOT}")


class Contexts:
    """Who executes: a test, a fixture or a cached value; and who uses whom."""

    def __init__(self, switch: Callable[[str], object]) -> None:
        self._switch, self._stack = switch, [IMPORT]
        self.uses: dict[str, set[str]] = defaultdict(set)

    def use(self, name: str) -> None:
        """What executes now depends on another context."""
        if name != self._stack[-1]:
            self.uses[self._stack[-1]].add(name)

    @contextmanager
    def of(self, name: str, used: bool = True) -> Iterator[None]:
        """What is executed inside belongs to a context."""
        if used:
            self.use(name)
        self._stack.append(name)
        self._switch(name)
        try:
            yield
        finally:
            self._stack.pop()
            self._switch(self._stack[-1])

    def all_of(self, name: str) -> set[str]:
        """A context and all that it depends on, but imports."""
        found, left = set(), [name]
        while left:
            one = left.pop()
            if one not in found and one != IMPORT:
                found.add(one)
                left += self.uses[one]
        return found


def trace_caches(contexts: Contexts) -> None:
    """Let ``functools.cache``, ``lru_cache`` and ``cached_property`` tell who uses a value, in our own modules."""
    lru_cache = functools.lru_cache

    def traced(function: Callable[..., Any], size: int | None, typed: bool = False) -> Any:
        if function.__module__.partition(".")[0] not in ("casid", "tests"):
            return lru_cache(size, typed)(function)

        def name(*values: Any, **named: Any) -> str:
            return f"cached {function.__module__}.{function.__qualname__} {hash((values, *sorted(named.items())))}"

        @functools.wraps(function)
        def inner(*values: Any, **named: Any) -> Any:
            with contexts.of(name(*values, **named)):
                return function(*values, **named)

        kept = lru_cache(size, typed)(inner)

        @functools.wraps(function)
        def outer(*values: Any, **named: Any) -> Any:
            contexts.use(name(*values, **named))
            return kept(*values, **named)

        vars(outer).update(cache_clear=kept.cache_clear, cache_info=kept.cache_info)
        return outer

    def maker(maxsize: Any = 128, typed: bool = False) -> Any:
        return traced(maxsize, 128) if callable(maxsize) else lambda function: traced(function, maxsize, typed)

    class Property(functools.cached_property[Any]):
        def __get__(self, instance: Any, owner: Any = None) -> Any:
            if instance is None:
                return self
            name = f"cached {self.func.__qualname__} {id(instance)}"
            contexts.use(name)
            if self.attrname not in instance.__dict__:
                with contexts.of(name):
                    instance.__dict__[self.attrname] = self.func(instance)
            return instance.__dict__[self.attrname]

        def __set__(self, instance: Any, value: Any) -> None:  # what makes hits pass here
            instance.__dict__[self.attrname] = value

    for name, value in (("cache", lambda f: traced(f, None)), ("lru_cache", maker), ("cached_property", Property)):
        setattr(functools, name, value)


class Recorder:
    """A pytest plugin that switches contexts and keeps the time of tests that pass."""

    def __init__(self, contexts: Contexts) -> None:
        self._contexts = contexts
        self.seconds: dict[str, float] = defaultdict(float)
        self.failed: set[str] = set()

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Any:
        """What a test executes is its own."""
        with self._contexts.of(item.nodeid, used=False):
            return (yield)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_fixture_setup(self, fixturedef: Any, request: Any) -> Any:
        """What a fixture executes is the fixture's."""
        with self._contexts.of(self._fixture(fixturedef)):
            return (yield)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_call(self, item: Any) -> None:
        """A test depends on its fixtures, those of other tests before it too."""
        for definitions in item._fixtureinfo.name2fixturedefs.values():
            self._contexts.use(self._fixture(definitions[-1]))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Time of a test, and whether it passes."""
        self.seconds[report.nodeid] += report.duration
        if report.outcome != "passed":
            self.failed.add(report.nodeid)

    def _fixture(self, definition: Any) -> str:
        return f"fixture {definition.baseid}::{definition.argname}"


@dataclass
class Map:
    """What tests execute.

    Attributes
    ----------
    seconds : dict
        Time of each test that passes.
    lines : dict
        Tests by file of the package, as ``casid/...``, and line; `IMPORT` is none of them.
    imported : dict
        Lines that are executed outside of tests.
    """

    seconds: dict[str, float] = field(default_factory=dict)
    lines: dict[str, dict[int, set[str]]] = field(default_factory=lambda: defaultdict(lambda: defaultdict(set)))
    imported: dict[str, set[int]] = field(default_factory=lambda: defaultdict(set))

    def add(self, record: dict[str, Any]) -> None:
        """Add what one test file executes, as `of_file` gives it."""
        self.seconds |= record["seconds"]
        for path, groups in record["lines"].items():
            for lines, tests in groups:
                for line in lines:
                    self.lines[path][line] |= set(tests)
        for path, lines in record["imported"].items():
            self.imported[path] |= set(lines)


def of_file(test: str) -> dict[str, Any]:
    """Run one test file under coverage, in this process, which is good for nothing afterwards."""
    import coverage

    measured = coverage.Coverage(data_file=None, include=[f"{PACKAGE}/*"], config_file=False)
    measured.set_option("run:core", "ctrace")
    contexts = Contexts(measured.switch_context)
    trace_caches(contexts)
    recorder = Recorder(contexts)
    measured.start()
    measured.switch_context(IMPORT)
    pytest.main([*PYTEST, test], plugins=[recorder])
    measured.stop()
    data = measured.get_data()
    passed = {name: round(time, 3) for name, time in recorder.seconds.items() if name not in recorder.failed}
    users = defaultdict(set)
    for name in passed:
        for context in contexts.all_of(name):
            users[context].add(name)
    record: dict[str, Any] = {"seconds": passed, "lines": {}, "imported": {}, "failed": sorted(recorder.failed)}
    for file in sorted(data.measured_files()):
        groups = defaultdict(list)
        for line, executing in data.contexts_by_lineno(file).items():
            tests = set().union(*(users[context] for context in executing if context != IMPORT))
            groups[tuple(sorted(tests))].append(line)
            if IMPORT in executing:
                record["imported"].setdefault(str(Path(file).relative_to(ROOT)), []).append(line)
        executed = [[sorted(lines), list(tests)] for tests, lines in groups.items() if tests]
        if executed:
            record["lines"][str(Path(file).relative_to(ROOT))] = executed
    return record


def _text(path: str) -> str:
    place = ROOT / path
    return hashlib.sha256(place.read_bytes()).hexdigest()[:16] if place.is_file() else ""


def _kept(test: str, folder: Path, room: str) -> dict[str, Any] | None:
    """What was recorded of a test file, unless the tests have changed, or files of the room that they execute."""
    place = folder / f"{test.replace('/', '+')}.json"
    if not place.is_file():
        return None
    record: dict[str, Any] = json.loads(place.read_text(encoding="utf-8"))
    state = {path: text for path, text in record["state"].items() if path.startswith(("tests/", f"casid/{room}/"))}
    return record if all(_text(path) == text for path, text in state.items()) else None


def _record(test: str, folder: Path) -> None:
    record = of_file(test)
    shared = [p for d in (Path(test).parent, Path("tests")) for p in (f"{d}/conftest.py", "tests/helpers.py")]
    record["state"] = {path: _text(path) for path in [test, *shared, *record["lines"]]}
    record["loaded"] = {path: _text(path) for path in record["imported"]}
    place = folder / f"{test.replace('/', '+')}.json"
    place.write_text(json.dumps(record), encoding="utf-8")


def mapped(tests: Sequence[str], folder: Path, room: str, jobs: int = 2) -> Map:
    """The map of test files; those that changed, or whose room did, run anew, each in a fork of this process.

    Call it before anything of the package is imported.
    """
    folder.mkdir(parents=True, exist_ok=True)
    left = [test for test in tests if _kept(test, folder, room) is None]
    running: dict[int, str] = {}
    for number, test in enumerate(left, start=1):
        if len(running) == jobs:
            running.pop(os.wait()[0])
        print(f"{number} of {len(left)}: which lines {test} executes", flush=True)
        pid = os.fork()
        if not pid:
            _alone(functools.partial(_record, test, folder))
        running[pid] = test
    while running:
        running.pop(os.wait()[0])
    whole = Map()
    for test in tests:
        record = _kept(test, folder, room)
        if record is None:
            raise RuntimeError(f"{test}: its tests did not run to their end; run pytest on it")
        if record.get("failed"):
            print(f"not counted, they fail or are skipped: {', '.join(record['failed'])}", flush=True)
        same = {path for path, text in record["loaded"].items() if text == _text(path)}
        whole.add(record | {"imported": {path: record["imported"][path] for path in same}})
    return whole


def _alone(work: Callable[[], None]) -> None:
    """Do it in a forked process without output, and end the process."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    try:
        work()
    finally:
        sys.stdout.flush()
        os._exit(0)
