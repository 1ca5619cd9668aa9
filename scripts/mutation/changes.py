"""Mutants: changes of a module's code, one at a time, and the sample of a room's that stays the same when it can.

A mutant is another operator, comparison or constant, a condition negated, or a call of ``abs``, ``min`` or ``max``
changed. Text, annotations, error messages and ``__repr__`` are left alone.
"""

from __future__ import annotations

import ast
import copy
import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
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
    """One change: the file, where in it, the code before and after, and the whole new source.

    Attributes
    ----------
    name : str
        File, function, and the code before and after: the same wherever in the file the function stands.
    lines : range
        Lines of the expression's statement, without those of its body.
    """

    path: Path
    line: int
    before: str
    after: str
    source: str
    name: str
    lines: range

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
    """All mutants of a file; their sources have the lines of the original where it has them."""
    source = path.read_text(encoding="utf-8")
    tree, lines = ast.parse(source), source.splitlines()
    within, count = _owners(tree), Counter[str]()
    for parent, field, position in _places(tree):
        held = getattr(parent, field)
        node = held if position is None else held[position]
        first, last = node.lineno, node.end_lineno
        owner, extent = within[node]
        for other in changes(node):
            text = ast.unparse(ast.fix_missing_locations(copy.deepcopy(other)))
            piece = "\n".join(lines[first - 1 : last])
            start = len(lines[first - 1].encode()[: node.col_offset].decode())
            end = len(piece) - len(lines[last - 1]) + len(lines[last - 1].encode()[: node.end_col_offset].decode())
            changed = f"{piece[:start]}({text}{chr(10) * (last - first)}){piece[end:]}"
            new = [*lines[: first - 1], changed, *lines[last:]]
            before = ast.unparse(node)
            name = f"{path.relative_to(ROOT) if path.is_relative_to(ROOT) else path.name}, {owner}: {before} -> {text}"
            count[name] += 1
            name += f" (place {count[name]})" if count[name] > 1 else ""
            yield Mutant(path, first, before, text, "\n".join(new) + "\n", name, extent)


def _owners(tree: ast.Module) -> dict[ast.AST, tuple[str, range]]:
    """Of each node, the dotted name of its function or class, and the lines of its statement without its body."""
    found: dict[ast.AST, tuple[str, range]] = {}

    def visit(node: ast.AST, name: str, lines: range) -> None:
        if isinstance(node, (ast.stmt, ast.ExceptHandler)):
            body = getattr(node, "body", None)
            last = (node.end_lineno or node.lineno) if not body else max(node.lineno, body[0].lineno - 1)
            lines = range(node.lineno, last + 1)
        found[node] = name, lines
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            name = f"{name}.{node.name}" if name != "module" else node.name
        for child in ast.iter_child_nodes(node):
            visit(child, name, lines)

    visit(tree, "module", range(0))
    return found


def sample(paths: Iterable[Path], count: int, seed: int = 0) -> tuple[list[Mutant], int]:
    """So many mutants of files, drawn, and the number of all.

    Those whose names have the smallest digests with the seed are taken: a uniform sample, in which a change of one
    function replaces the mutants of that function and leaves the others.
    """
    every = [mutant for path in paths for mutant in mutants_of(path)]
    every.sort(key=lambda mutant: hashlib.sha256(f"{seed} {mutant.name}".encode()).digest())
    return every[:count], len(every)
