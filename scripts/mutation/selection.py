"""Which tests a mutant is tried on, and in which order."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from mutation.changes import ROOT, Mutant
from mutation.executed import Map

#: A test is quick below so many seconds: the quick ones run first.
QUICK = 0.5


def tests_for(mutant: Mutant, known: Map) -> list[str]:
    """Tests that execute a mutant's statement, in the order in which they run.

    What is executed only when modules are imported is tried on the tests that execute what reads it (functions that use
    the name, the function of a default, the class of a field), and on files of tests that name it or its module.
    """
    path = str(mutant.path.relative_to(ROOT))
    lines = known.lines.get(path, {})
    found = set(lines.get(mutant.line, ())) or set().union(*(lines.get(line, ()) for line in mutant.lines))
    if not found and any(line in known.imported.get(path, ()) for line in (mutant.line, *mutant.lines)):
        names = _names(mutant)
        for place, line in _readers(mutant, names):
            found |= known.lines.get(place, {}).get(line, set())
        texts = {file: (ROOT / file).read_text(encoding="utf-8") for file in {t.split("::")[0] for t in known.seconds}}
        naming = {file for file, text in texts.items() if any(re.search(rf"\b{name}\b", text) for name in names)}
        module = ".".join(mutant.path.relative_to(ROOT).with_suffix("").parts)
        own = {f"test_{mutant.path.stem.strip('_')}.py", f"test_{mutant.path.parent.name}.py"}
        naming |= {file for file, text in texts.items() if Path(file).name in own or f"from {module} import" in text}
        found |= {test for test in known.seconds if test.split("::")[0] in naming}
    stem, folder, room = mutant.path.stem.strip("_"), mutant.path.parent.name, mutant.path.relative_to(ROOT).parts[1]
    nearest = [{f"test_{stem}.py", f"test_{folder}_{stem}.py"}, {f"test_{folder}.py"}]

    def order(test: str) -> tuple[bool, int, bool, str, float]:
        file, seconds = Path(test.split("::")[0]), known.seconds[test]
        near = next((k for k, names in enumerate(nearest) if file.name in names), 2 if file.parent.name == room else 3)
        return seconds > 4 * QUICK, near, seconds > QUICK, str(file), seconds

    return sorted(found, key=order)


def _of(path: Path, node: ast.stmt) -> Iterator[tuple[str, int]]:
    return ((str(path.relative_to(ROOT)), line) for line in range(node.lineno, (node.end_lineno or 0) + 1))


def _around(mutant: Mutant) -> list[ast.stmt]:
    """Statements that a mutant is part of."""
    tree = ast.parse(mutant.path.read_text(encoding="utf-8"))
    every = [node for node in ast.walk(tree) if isinstance(node, ast.stmt)]
    return [node for node in every if node.lineno <= mutant.line <= (node.end_lineno or 0)]


def _names(mutant: Mutant) -> set[str]:
    """Names that a mutant's statement outside of functions sets, but those of a class's fields."""
    around, names = _around(mutant), set()
    for node in around if not any(isinstance(node, (ast.FunctionDef, ast.ClassDef)) for node in around) else ():
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        names |= {n.id for target in targets if target for n in ast.walk(target) if isinstance(n, ast.Name)}
    return names


def _readers(mutant: Mutant, names: set[str]) -> Iterator[tuple[str, int]]:
    """Files and lines of the functions and classes that a mutant is part of, and of those that read the names."""
    for node in _around(mutant):
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            yield from _of(mutant.path, node)
    room = ROOT / "casid" / mutant.path.relative_to(ROOT).parts[1]
    for path in sorted(room.rglob("*.py")) if names else ():
        for part in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(part, (ast.FunctionDef, ast.ClassDef)):
                read = {getattr(n, "id", None) or getattr(n, "attr", None) for n in ast.walk(part)}
                yield from _of(path, part) if names & read else ()
