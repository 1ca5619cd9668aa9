"""The shape of the source, counted at each run: sizes, arrows, files that a workflow executes, numbers that decide."""

from __future__ import annotations

import ast
import datetime
import io
import random
import re
import subprocess
import sys
import tokenize
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache
from types import FrameType

from benchmarks.measure import ROOT, NotMeasured, Rows, measures, need, process, skipped, topics
from benchmarks.results import PRODUCT, digest, state_of, stored

MEASURES = row = Rows()

#: Leaves of the package: nothing else imports them.
ANNEXES = tuple(
    f"casid.{name}" for name in ("drives", "fmu", "learning", "loads", "online", "ros2", "teaching", "testing")
)
#: Mutants of a room that are tried, and the rooms.
SAMPLE, ROOMS = 400, ("retrieval", "identification", "dynamics", "regression")


def run(*words: str) -> subprocess.CompletedProcess[str]:
    """Python on these words, in the folder of the repository."""
    return process(sys.executable, *words, folder=ROOT, may_fail=True)


@cache
def files(folder: str) -> dict[str, ast.Module]:
    """Syntax trees of a folder's Python files by path."""
    paths = sorted((ROOT / folder).rglob("*.py"))
    return {str(path.relative_to(ROOT)): ast.parse(path.read_text(encoding="utf-8")) for path in paths}


def module(path: str) -> str:
    return path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def in_annex(name: str) -> bool:
    return ".".join(name.split(".")[:2]) in ANNEXES


def lines(path: str, tree: ast.Module) -> int:
    """Lines with code: no docstring, comment or blank."""
    seen: set[int] = set()
    unseen = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}
    for token in tokenize.generate_tokens(io.StringIO((ROOT / path).read_text(encoding="utf-8")).readline):
        if token.type not in unseen:
            seen |= set(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(node) is not None:
            seen -= set(range(node.body[0].lineno, (node.body[0].end_lineno or 0) + 1))
    return len(seen)


@row("code lines of tests", "<= 22,000", "31,400", False, "tests", 22_000)
@row("code lines of scripts", "<= 13,000", "20,300", False, "scripts", 13_000)
@row("code lines of casid", "<= 38,000", "44,900", False, "casid", 38_000)
@row("code lines of the core", "<= 32,000", "-", True, "casid", 32_000)
def sizes(core: bool, folder: str, bar: int) -> tuple[str, bool]:
    found = {p: lines(p, t) for p, t in files(folder).items() if not (core and in_annex(module(p)))}
    rooms: Counter[str] = Counter()
    for path, count in found.items():
        rooms["/".join(path.split("/")[:2])] += count
    return f"{rooms.total():,} ({', '.join(f'{room} {n:,}' for room, n in rooms.most_common(4))})", rooms.total() <= bar


def imports(folder: str) -> Iterator[tuple[str, str]]:
    """File, and module of casid that it imports anywhere."""
    for path, tree in files(folder).items():
        for node in ast.walk(tree):
            names = [a.name for a in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            yield from ((path, name) for name in names if name.startswith("casid."))


def private(path: str, name: str) -> bool:
    """Whether a module is hidden from a file: below another room, with a leading underscore."""
    parts = name.split(".")
    return any(p.startswith("_") for p in parts[2:]) and module(path).split(".")[:2] != parts[:2]


@row("imports that reach into another room; test files that do", "0; <= 40", "809; 294")
def reaching() -> tuple[str, bool]:
    inside = [f"{path}: {name}" for path, name in imports("casid") if private(path, name)]
    tests = {path for path, name in imports("tests") if private(path, name)}
    return f"{len(inside)}; {len(tests)} of {len(files('tests'))} files", not inside and len(tests) <= 40


@row("core importing an annex; contracts of import-linter", "0; all kept")
def arrows() -> tuple[str, bool]:
    need("importlinter", "dev")
    done = run("-c", "from importlinter.cli import lint_imports_command as run; run()", "--no-cache")
    core = {f"{module(p)} -> {n}" for p, n in imports("casid") if in_annex(n) and not in_annex(module(p))}
    kept = re.findall(r"Contracts: .*", done.stdout)
    return f"{len(core)} imports of annexes; {' '.join(kept) or done.stdout[-200:]}", not core and done.returncode == 0


def executed(workflow: Callable[[], object]) -> tuple[set[str], set[frozenset[str]]]:
    """Files of casid that run while a workflow does, and pairs of them that call each other both ways."""
    ran: set[str] = set()
    calls: set[tuple[str, str]] = set()

    def seen(frame: FrameType, event: str, _: object) -> None:
        if event == "call" and frame.f_code.co_name != "<module>" and frame.f_back is not None:
            callee, caller = frame.f_code.co_filename, frame.f_back.f_code.co_filename
            if "/casid/" in callee:
                ran.add(callee)
                calls.add((caller, callee))

    sys.setprofile(seen)
    try:
        workflow()
    finally:
        sys.setprofile(None)
    return ran, {frozenset(pair) for pair in calls if pair[0] != pair[1] and pair[::-1] in calls}


@row("files executed; pairs that call both ways", "<= 30, 28, 50; 0", "49, 44, 83; 8")
def workflows() -> tuple[str, bool]:
    import casid
    from benchmarks import recordings
    from casid.identification import feasible_regression
    from casid.regression import compress, wls

    panda, fit = recordings.panda_raw(), wls(compress(recordings.panda_model(), recordings.panda()))
    problem, texts, met = casid.load_problem("panda_retrieval"), [], True
    for name, bar, workflow in (
        ("Gaz's retrieval", 30, lambda: casid.solve(problem)),
        ("Sousa's regression", 28, lambda: feasible_regression(fit)),
        ("default identify", 50, lambda: casid.identify(casid.load_robot("panda"), panda)),
    ):
        ran, pairs = executed(workflow)
        met &= len(ran) <= bar and not pairs
        texts.append(f"{name} {len(ran)} files, {len(pairs)} pairs")
    return "; ".join(texts), met


@row("module constants with numbers; inline thresholds", "<= 250; 0", "424; 193")
def numbers() -> tuple[str, bool]:
    constants = thresholds = 0
    for tree in files("casid").values():
        for statement in tree.body:
            target = statement.targets[0] if isinstance(statement, ast.Assign) else getattr(statement, "target", None)
            values = [n for n in ast.walk(statement) if isinstance(n, ast.Constant) and type(n.value) in (int, float)]
            constants += isinstance(target, ast.Name) and target.id.isupper() and bool(values)
        for node in ast.walk(tree):
            sides = [node.left, *node.comparators] if isinstance(node, ast.Compare) else []
            inner = (n.value for side in sides for n in ast.walk(side) if isinstance(n, ast.Constant))
            thresholds += any(isinstance(value, float) and value not in (0.0, 1.0) for value in inner)
    return f"{constants}; {thresholds}", constants <= 250 and thresholds == 0


@row("contract tests", "pass", quick=skipped)
def contract() -> tuple[str, bool]:
    done = run("-m", "pytest", "-q", "-m", "slow or not slow", "tests/contract")
    return (done.stdout.strip().splitlines() or ["no output"])[-1], done.returncode == 0


def mutmut(*words: str) -> str:
    """What a command of mutmut prints; settings stand in pyproject.toml."""
    return process("mutmut", *words, folder=ROOT, may_fail=True).stdout


def survivors(room: str) -> tuple[str, bool]:
    """Mutants of a room that its tests let pass, drawn anew each day; ``mutants/`` keeps what was tried."""
    need("mutmut", "mutation")
    if not (ROOT / "mutants").is_dir():
        mutmut("run", "nothing*")  # makes the mutants
    names = sorted(re.findall(rf"(casid\.{room}\.\S+__mutmut_\d+):", mutmut("results", "--all", "true")))
    drawn = random.Random(datetime.date.today().toordinal()).sample(names, min(SAMPLE, len(names)))
    mutmut("run", *drawn)
    found = dict(re.findall(r"(\S+__mutmut_\d+): ([\w ]+)", mutmut("results", "--all", "true")))
    count = Counter(found.get(name, "not tried").strip() for name in drawn)
    passed = len(drawn) - count["killed"] - count["timeout"]
    return ", ".join(f"{n} {word}" for word, n in count.most_common()), 0 < len(drawn) >= 10 * passed


def older(topic: str) -> tuple[str, bool]:
    """The table of another topic as it was published in this state; it is not measured here."""
    rows, now, listed = stored()["rows"].get(topic, {}), digest(*PRODUCT), measures(topic)
    found = {m.name: (rows.get(m.name), state_of(m, now)) for m in listed}
    ended = {
        name: row["verdict"] for name, (row, own) in found.items() if row and row["state"] == own and not row["quick"]
    }
    left, missed = len(listed) - len(ended), [name for name, word in ended.items() if word == "NO"]
    if left and not missed:
        raise NotMeasured(f"{left} rows are not published in this state: acceptance.py {topic} --publish --missing")
    text = f"{len(ended) - len(missed)} rows met, {left} not measured, missed: {'; '.join(missed) or 'none'}"
    return text, not missed


for room in ROOMS:
    row(f"surviving mutants of {SAMPLE}: {room}", "<= 10 %", "own tool", room, quick=skipped)(survivors)
for topic in topics():
    if topic != "house":
        row(f"older table: {topic}", "holds", "-", topic, quick=skipped)(older)
