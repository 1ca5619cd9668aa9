"""Mutants: what is changed, what is left alone, and which tests name the subject."""

import ast
from pathlib import Path

import mutants
from benchmarks.soundness.evaluators import evaluated

SOURCE = '''"""Text 1 + 2."""

def f(a: "int | 3" = 2) -> float:
    """Text with 1 + 2."""
    if a < 0.5 and not a:
        raise ValueError(f"{a + 1}")
    return min(a, abs(a - 1.0))
'''


def test_each_change_is_one_and_gives_a_program(tmp_path: Path) -> None:
    path = tmp_path / "code.py"
    path.write_text(SOURCE, encoding="utf-8")
    made = list(mutants.mutants_of(path))
    whole = ast.unparse(ast.parse(SOURCE))
    for mutant in made:
        changed = ast.unparse(ast.parse(mutant.source))
        assert changed != whole and '"""Text with 1 + 2."""' in changed and "{a + 1}" in changed
        assert sum(a != b for a, b in zip(whole.splitlines(), changed.splitlines(), strict=True)) == 1
    after = {mutant.after for mutant in made}
    assert {"a <= 0.5", "a >= 0.5", "a < 0.5 or not a", "a", "max(a, abs(a - 1.0))", "a - 1.0", "a + 1.0", "3"} <= after


def test_tests_are_those_that_name_the_subject() -> None:
    found = mutants.tests_of(mutants.ROOT / "casid" / "identification" / "loads" / "_equations.py")
    assert "tests/identification/test_loads.py" in found and "tests/retrieval/test_ratio_ends.py" in found
    assert "tests/retrieval/test_solve.py" not in found


def test_casadi_and_the_walk_agree_on_some_graphs() -> None:
    text, met = evaluated(graphs=20, count=20)
    assert met, text
    assert text.startswith("0 of 400 points of 20 graphs, 51 operations")
