"""How many arithmetic operations a function costs."""

from __future__ import annotations

from dataclasses import dataclass

from casid.codegen.graph import Graph

_TRIGONOMETRIC = {"sin", "cos", "tan", "asin", "acos", "atan", "atan2"}


@dataclass(frozen=True)
class Operations:
    """Operation counts of a program.

    Attributes
    ----------
    multiplications : int
        Products, squares included.
    additions : int
        Sums and differences; doubling a value counts as one.
    divisions : int
    trigonometric : int
        Calls of sin, cos, ...; two for the sine and the cosine of one angle.
    other : int
        Any other function: sign, sqrt, comparisons, ...
    negations : int
        Changes of sign that no sum or difference absorbs: results returned with the opposite sign, mostly. As in the
        literature, they are not counted as additions.
    """

    multiplications: int = 0
    additions: int = 0
    divisions: int = 0
    trigonometric: int = 0
    other: int = 0
    negations: int = 0


def count_operations(graph: Graph) -> Operations:
    """Operations of a program's live nodes."""
    count = dict.fromkeys(Operations.__dataclass_fields__, 0)
    negated: set[int] = set()
    for number in graph.live():
        node = graph[number]
        if node.op in ("const", "input"):
            continue
        if node.op == "mul":
            doubling = any(graph.number(arg) == 2.0 for arg in node.args)
            count["additions" if doubling else "multiplications"] += 1
        elif node.op == "add":
            count["additions"] += 1
        elif node.op == "div":
            count["divisions"] += 1
        else:
            count["trigonometric" if node.op in _TRIGONOMETRIC else "other"] += 1
            negated.update(-arg for arg in node.args if arg < 0 and graph.number(arg) is None)
    negated.update(-ref for _, _, ref in graph.outputs if ref < 0 and graph.number(ref) is None)
    count["negations"] = len(negated)
    return Operations(**count)
