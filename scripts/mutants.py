"""Mutants of a room's code that its tests do not notice.

    python scripts/mutants.py retrieval --sample 25                 # 25 mutants, drawn by --seed; survivors are listed
    python scripts/mutants.py identification --only loads --sample 10
    python scripts/mutants.py dynamics --list --sample 5            # what would be tried

A mutant is one change of a file's code: another operator, comparison or constant, a condition negated, a call of
``abs``, ``min`` or ``max`` changed. Text, annotations, error messages and ``__repr__`` are left alone. It is tried in
a copy of the repository, on the tests that name its subject: the file of the module's own name, that of its folder,
and those that import the module. Nothing is kept of a run but what it prints; the exit code is 1 where one survives.
"""

from __future__ import annotations

import argparse
import ast
import copy
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
#: What a run of the tests needs beside the package.
NEEDED = ("casid", "tests", "problems", "robots", "scripts", "docs", "pyproject.toml", "README.md", "CHANGELOG.md")
#: Seconds that the tests of one subject may take, and how much longer those of a mutant may.
LIMIT, LONGER = 240.0, 3.0
_OPERATORS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.MatMult: ast.Mult, ast.Pow: ast.Mult,
    ast.FloorDiv: ast.Mult, ast.Mod: ast.Mult, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd,
}  # fmt: skip
_COMPARISONS: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Lt: (ast.LtE, ast.GtE), ast.LtE: (ast.Lt, ast.Gt), ast.Gt: (ast.GtE, ast.LtE), ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,), ast.NotEq: (ast.Eq,), ast.Is: (ast.IsNot,), ast.IsNot: (ast.Is,), ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
}  # fmt: skip
_CALLS = {"min": "max", "max": "min", "minimum": "maximum", "maximum": "minimum", "any": "all", "all": "any"}
_DROPPED = ("abs", "fabs", "sqrt", "maximum", "minimum")


@dataclass(frozen=True)
class Mutant:
    """One change: the file, where in it, the code before and after, and the whole new source."""

    path: Path
    line: int
    before: str
    after: str
    source: str

    def __str__(self) -> str:
        return f"{self.path.relative_to(ROOT)}:{self.line}: {self.before}  ->  {self.after}"


def changes(node: ast.AST) -> Iterator[ast.AST]:
    """Other nodes in a node's place."""
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
        yield ast.BinOp(node.left, _OPERATORS[type(node.op)](), node.right)
    elif isinstance(node, ast.Compare) and len(node.ops) == 1:
        for other in _COMPARISONS[type(node.ops[0])]:
            yield ast.Compare(node.left, [other()], node.comparators)
    elif isinstance(node, ast.BoolOp):
        yield ast.BoolOp(ast.Or() if isinstance(node.op, ast.And) else ast.And(), node.values)
        yield from node.values
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.Not, ast.USub)):
        yield node.operand
    elif isinstance(node, ast.IfExp):
        yield node.body
        yield node.orelse
    elif isinstance(node, ast.Call):
        yield from _calls(node)
    elif isinstance(node, ast.Constant) and isinstance(node.value, (int, float)):
        yield ast.Constant(not node.value if isinstance(node.value, bool) else node.value + 1)
        if isinstance(node.value, float) and abs(node.value) > 0.01:  # half of a small tolerance is as good
            yield ast.Constant(node.value / 2)


def _calls(node: ast.Call) -> Iterator[ast.AST]:
    name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    if name in _CALLS and isinstance(node.func, ast.Attribute):
        yield ast.Call(ast.Attribute(node.func.value, _CALLS[name], ast.Load()), node.args, node.keywords)
    elif name in _CALLS:
        yield ast.Call(ast.Name(_CALLS[name], ast.Load()), node.args, node.keywords)
    if name in _DROPPED and node.args:
        yield node.args[0]


def _places(node: ast.AST) -> Iterator[tuple[ast.AST, str, int | None]]:
    """Parent, field and position of every expression that may be changed."""
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "type_params", "decorator_list", "bases"):
            continue
        for position, child in enumerate(value) if isinstance(value, list) else [(None, value)]:
            if not isinstance(child, ast.AST) or isinstance(child, (ast.Raise, ast.JoinedStr, ast.Assert)):
                continue
            if isinstance(child, ast.FunctionDef) and child.name == "__repr__":
                continue
            if isinstance(child, ast.Expr) and isinstance(child.value, ast.Constant):
                continue
            if isinstance(child, ast.expr):
                yield node, name, position
            yield from _places(child)


def mutants_of(path: Path) -> Iterator[Mutant]:
    """All mutants of a file."""
    source = path.read_text(encoding="utf-8")
    tree, lines = ast.parse(source), source.splitlines()
    for parent, name, position in _places(tree):
        held = getattr(parent, name)
        node = held if position is None else held[position]
        first, last = node.lineno, node.end_lineno
        for other in changes(node):
            text = f"({ast.unparse(ast.fix_missing_locations(copy.deepcopy(other)))})"
            piece = "\n".join(lines[first - 1 : last])
            start = len(lines[first - 1].encode()[: node.col_offset].decode())
            end = len(piece) - len(lines[last - 1]) + len(lines[last - 1].encode()[: node.end_col_offset].decode())
            new = [*lines[: first - 1], piece[:start] + text + piece[end:], *lines[last:]]
            yield Mutant(path, first, ast.unparse(node), text[1:-1], "\n".join(new) + "\n")


def tests_of(path: Path) -> list[str]:
    """Test files that name the subject of a module: its own, its folder's, and those that import it."""
    module = ".".join(path.relative_to(ROOT).with_suffix("").parts)
    room, names = path.relative_to(ROOT).parts[1], {path.stem.strip("_"), path.parent.name}
    found = [p for name in sorted(names) for p in (ROOT / "tests" / room).glob(f"test_{name}.py")]
    for test in sorted((ROOT / "tests").rglob("test_*.py")):
        if test not in found and f"from {module} import" in test.read_text(encoding="utf-8"):
            found.append(test)
    return [str(p.relative_to(ROOT)) for p in found]


def passes(copy_of: Path, tests: list[str], limit: float) -> bool | None:
    """Whether the tests pass in the copy of the repository; None where the time is over."""
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-m", "not slow", "-p", "no:cacheprovider", *tests]
    try:
        done = subprocess.run(command, cwd=copy_of, capture_output=True, text=True, timeout=limit, check=False)
    except subprocess.TimeoutExpired:
        return None
    return done.returncode == 0


class Trials:
    """A copy of the repository in which mutants are tried one after another."""

    def __init__(self, folder: Path) -> None:
        self._copy = folder
        self._limits: dict[tuple[str, ...], float | None] = {}
        for name in NEEDED:
            source, target = ROOT / name, folder / name
            if source.is_dir():
                shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
            elif source.is_file():
                shutil.copy(source, target)

    def _limit(self, tests: list[str]) -> float | None:
        """Time limit of a mutant's tests; None where they do not pass without one."""
        key = tuple(tests)
        if key not in self._limits:
            began = time.perf_counter()
            passed = passes(self._copy, tests, LIMIT)
            self._limits[key] = 10.0 + LONGER * (time.perf_counter() - began) if passed else None
        return self._limits[key]

    def verdict(self, mutant: Mutant) -> str:
        """``killed``, ``survived``, or why it was not tried."""
        tests = tests_of(mutant.path)
        if not tests:
            return "survived (no test names its subject)"
        limit = self._limit(tests)
        if limit is None:
            return "not tried: its tests fail or take too long without it"
        place = self._copy / mutant.path.relative_to(ROOT)
        original = place.read_text(encoding="utf-8")
        place.write_text(mutant.source, encoding="utf-8")
        try:
            passed = passes(self._copy, tests, limit)
        finally:
            place.write_text(original, encoding="utf-8")
        return "survived" if passed else "killed"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    rooms = sorted(p.name for p in (ROOT / "casid").iterdir() if (p / "__init__.py").is_file())
    parser.add_argument("room", choices=rooms)
    parser.add_argument("--sample", type=int, default=25, help="number of mutants")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="", metavar="WORD", help="files whose path contains WORD")
    parser.add_argument("--list", action="store_true", help="print the mutants and try none")
    options = parser.parse_args()
    files = [p for p in sorted((ROOT / "casid" / options.room).rglob("*.py")) if options.only in str(p)]
    every = [mutant for path in files for mutant in mutants_of(path)]
    drawn = random.Random(options.seed).sample(every, min(options.sample, len(every)))
    print(f"{options.room}: {len(every)} mutants in {len(files)} files, {len(drawn)} drawn", flush=True)
    if options.list:
        print("\n".join(map(str, drawn)))
        return 0
    verdicts = []
    with tempfile.TemporaryDirectory() as folder:
        trials = Trials(Path(folder))
        for number, mutant in enumerate(drawn, start=1):
            began = time.perf_counter()
            verdicts.append(trials.verdict(mutant))
            print(f"{number:4d} {verdicts[-1]} ({time.perf_counter() - began:.0f} s) {mutant}", flush=True)
    tried = [v for v in verdicts if not v.startswith("not tried")]
    alive = sum(v.startswith("survived") for v in tried)
    print(f"{options.room}: {alive} of {len(tried)} survived ({100 * alive / max(len(tried), 1):.0f} %)")
    return 1 if alive else 0


if __name__ == "__main__":
    sys.exit(main())
