"""Names of a module stand for one thing."""

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]


def named_again(source: str) -> Iterator[str]:
    """Module-level names that are given twice; the first value would be lost in silence."""
    seen: set[str] = set()
    for node in ast.parse(source).body:
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        every = [each for target in targets if target for each in ast.walk(target) if isinstance(each, ast.Name)]
        names = {each.id for each in every if isinstance(each.ctx, ast.Store)}
        yield from sorted(seen & names)
        seen |= names | ({node.name} if isinstance(node, (ast.FunctionDef, ast.ClassDef)) else set())


def test_a_name_is_given_once() -> None:
    paths = (ROOT / "casid").rglob("*.py")
    assert [(path.name, name) for path in paths for name in named_again(path.read_text(encoding="utf-8"))] == []


def test_a_second_value_is_noticed() -> None:
    assert list(named_again("A, B = 1, 2\nB: int = 3\nA.c = 4\ndef f(): ...\nf = 1\n")) == ["B", "f"]
