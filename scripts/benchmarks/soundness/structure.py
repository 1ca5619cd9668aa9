"""The shape of the source, read from its syntax trees: who imports whom, where things are named and built."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
PACKAGE = ROOT / "casid"
#: Rooms from the top of the slope to its foot: a room imports only from itself and from rooms before it.
ROOMS = (
    "version", "errors", "display", "files", "expressions", "inertia", "description", "motion", "dynamics",
    "codegen", "control", "measurement", "regression", "retrieval", "identification", "excitation", "simulation",
    "drives", "learning", "teaching", "export", "report", "cli", "testing", "__main__",
)  # fmt: skip
#: The same inside a room: its files and folders in groups, those of one group are equals.
SLOPES: dict[str, tuple[tuple[str, ...], ...]] = {
    "excitation": (("information", "limits"), ("optimisation",), ("_settings",), ("__init__",)),
    "retrieval": (
        ("_variables", "_objectives", "_result"),
        ("_region",),
        ("constraints",),
        ("_problem",),
        ("_problem_files", "_solution"),
        ("_rows", "_combinations"),
        ("bound",),
        ("program", "plausible"),
        ("_solver",),
        ("methods",),
        ("study",),
        ("insight",),
        ("__init__",),
    ),
}


@cache
def trees() -> dict[str, tuple[Path, ast.Module]]:
    """Every module of the package by its dotted name."""
    found = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        found[name] = path, ast.parse(path.read_text(encoding="utf-8"))
    return found


@cache
def imported(module: str, annotations: bool = True) -> frozenset[str]:
    """Modules of the package that a module imports anywhere, inside functions and, if asked, for type checking too."""
    known, found = trees(), set()
    tree = known[module][1]
    unseen = set()
    if not annotations:
        for block in ast.walk(tree):
            if isinstance(block, ast.If) and _name(block.test) == "TYPE_CHECKING":
                unseen |= {id(node) for node in ast.walk(block)}
    for node in ast.walk(tree):
        if id(node) in unseen:
            continue
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    resolved = set()
    for name in found:
        while name and name not in known:
            name = name.rpartition(".")[0]
        if name and name != module:
            resolved.add(name)
    return frozenset(resolved)


def circles(annotations: bool = False) -> list[list[str]]:
    """Groups of modules that need one another when they run, directly or by a detour (Tarjan's strong components).

    Imports inside functions count, those for annotations alone if asked.
    """
    graph = {module: imported(module, annotations) for module in trees()}
    index: dict[str, int] = {}
    lowest: dict[str, int] = {}
    stack: list[str] = []
    found: list[list[str]] = []

    def visit(module: str) -> None:
        index[module] = lowest[module] = len(index)
        stack.append(module)
        for other in sorted(graph[module]):
            if other not in index:
                visit(other)
                lowest[module] = min(lowest[module], lowest[other])
            elif other in stack:
                lowest[module] = min(lowest[module], index[other])
        if lowest[module] == index[module]:
            group: list[str] = []
            while not group or group[-1] != module:
                group.append(stack.pop())
            if len(group) > 1:
                found.append(sorted(group))

    for module in graph:
        if module not in index:
            visit(module)
    return found


def arrows() -> list[str]:
    """Imports against the slope: of rooms, and of the folders and files inside a room of `SLOPES`."""
    against = []
    for module in trees():
        for other in sorted(imported(module)):
            ours, theirs = module.split(".")[1:], other.split(".")[1:]
            if not ours or not theirs:
                continue  # the package's own front door offers every room
            if ROOMS.index(theirs[0]) > ROOMS.index(ours[0]):
                against.append(f"{module} -> {other}")
            elif ours[0] == theirs[0] and ours[0] in SLOPES and step(theirs) > step(ours):
                against.append(f"{module} -> {other}")
    return against


def step(parts: list[str]) -> int:
    """Place of a module on the slope of its room, from the top; ``parts`` of its name without the package's."""
    name = parts[1] if len(parts) > 1 else "__init__"
    for number, group in enumerate(SLOPES[parts[0]]):
        if name in group:
            return number
    raise KeyError(f"casid.{parts[0]}.{name} has no place on the slope: add it to SLOPES in {Path(__file__).name}")


def constraint_kinds() -> dict[str, set[str]]:
    """Name of each kind of constraint -> modules that name it outside its own, public fronts and builders aside.

    A kind is a class that derives from `Constraint`; it may be used by the function that makes it, by the package
    fronts that export it, and by nothing that must know which kinds there are.
    """
    kinds: dict[str, str] = {}
    grown = True
    bases = {"Constraint", "LinkConstraint"}
    while grown:
        grown = False
        for module, (_, tree) in trees().items():
            for node in ast.walk(tree):
                if (
                    isinstance(node, ast.ClassDef)
                    and node.name not in bases
                    and any(_name(b) in bases for b in node.bases)
                ):
                    bases.add(node.name)
                    kinds[node.name] = module
                    grown = True
    named: dict[str, set[str]] = {kind: set() for kind in kinds}
    for module, (path, tree) in trees().items():
        if path.name == "__init__.py":
            continue
        used = {alias.name for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) for alias in node.names}
        for kind in used & set(kinds):
            if kinds[kind] != module:
                named[kind].add(module)
    return {kind: modules for kind, modules in named.items() if modules}


def kind_switches() -> list[str]:
    """Comparisons of ``quantity`` or ``kind`` of constraints and cones with a string: switches in other files."""
    found = []
    for module, (_, tree) in trees().items():
        if not module.startswith("casid.retrieval"):
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.Compare):
                sides = [node.left, *node.comparators]
                if any(isinstance(s, ast.Attribute) and s.attr in ("quantity", "kind") for s in sides):
                    found.append(f"{module}:{node.lineno}")
    return found


def builders(name: str = "Solution") -> list[str]:
    """Places that call a class."""
    return [
        f"{module}:{node.lineno}"
        for module, (_, tree) in trees().items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and _name(node.func) == name
    ]


def ignores() -> list[str]:
    """``type: ignore`` comments on lines that have nothing to do with CasADi and its buffers."""
    found = []
    for folder in ("casid", "problems", "scripts"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
                code, comment, _ = line.partition("# " + "type: ignore")
                if comment and not re.search(r"\bca\.|casadi|\bset_(arg|res)\(", code):
                    found.append(f"{path.relative_to(ROOT)}:{number}")
    return found


def _name(node: ast.AST) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def report() -> Iterator[str]:
    """Everything, a line each."""
    yield from (f"circle: {' '.join(group)}" for group in circles())
    yield from (f"against the slope: {arrow}" for arrow in arrows())
    yield from (f"kind {kind}: {', '.join(sorted(modules))}" for kind, modules in constraint_kinds().items())
    yield from (f"switch: {place}" for place in kind_switches())
    yield from (f"builds a Solution: {place}" for place in builders())
    yield from (f"type: ignore: {place}" for place in ignores())


if __name__ == "__main__":
    import sys

    sys.stdout.writelines(f"{line}\n" for line in report())
