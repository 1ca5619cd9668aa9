"""How long the outcome of a trial stands: while the mutated file and the test that killed the mutant are unchanged.

A test is what its function says and all that the function names: helpers, constants and fixtures of its file, of the
``conftest.py`` beside it and above it, and of ``tests/helpers.py``. Another test in the same file changes nothing.
"""

from __future__ import annotations

import ast
import hashlib
from collections import defaultdict
from functools import cache
from pathlib import Path

from mutation.changes import ROOT


def of_file(path: Path) -> str:
    """Digest of a file; empty where there is none."""
    return _short(path.read_bytes()) if path.is_file() else ""


def of_test(test: str, root: Path = ROOT) -> str:
    """Digest of a test by its node id, whatever its parameters' values; empty where it is gone.

    What is neither a test nor defined by a name (a mark of the whole file, an automatic fixture) counts for all tests.
    """
    file, _, name = test.partition("::")
    name = name.partition("[")[0].partition("::")[0]
    if not name or not (root / file).is_file():
        return ""
    folders = [folder for folder in (root / file).parents if folder.is_relative_to(root / "tests")]
    shared = [root / "tests" / "helpers.py", *(folder / "conftest.py" for folder in reversed(folders))]
    texts = [path.read_text(encoding="utf-8") for path in (*shared, root / file) if path.is_file()]
    defined, common = _definitions(tuple(texts))
    if name not in _definitions((texts[-1],))[0]:
        return ""
    left, used = [name, *common], set[str]()
    while left:
        one = left.pop()
        if one not in used:
            used.add(one)
            left += [other for node in defined[one] for other in _named(node) if other in defined]
    return _short("\n".join(ast.unparse(node) for one in sorted(used) for node in defined[one]).encode())


@cache
def _definitions(texts: tuple[str, ...]) -> tuple[dict[str, list[ast.stmt]], list[str]]:
    """Statements of files by the names that they define, and the names of those that count for all tests."""
    defined: dict[str, list[ast.stmt]] = defaultdict(list)
    common = ["any test"]
    for node in (node for text in texts for node in ast.parse(text).body if not _is_text(node)):
        names = _set_by(node) or ["any test"]
        for name in names:
            defined[name].append(node)
        if "pytestmark" in names or "autouse" in ast.dump(node):
            common += names
    return defined, common


def _is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _set_by(node: ast.stmt) -> list[str]:
    if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
        return [node.name]
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        return [alias.asname or alias.name.partition(".")[0] for alias in node.names]
    return [n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)]


def _named(node: ast.stmt) -> set[str]:
    """Names that a statement reads, arguments, and texts that may name a fixture among them."""
    names = {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
    names |= {n.arg for n in ast.walk(node) if isinstance(n, ast.arg)}
    return names | {n.value for n in ast.walk(node) if isinstance(n, ast.Constant) and isinstance(n.value, str)}


def _short(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:16]
