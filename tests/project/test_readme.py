"""The README's Python runs as printed."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import casid

README = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", README, re.DOTALL)


def test_readme_problem_solves(tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    path.write_text(next(block for block in BLOCKS if "def build" in block), encoding="utf-8")
    solution = casid.solve(casid.load_problem(path))
    assert solution.certified
    assert solution.violations["slim"] <= 1e-8


def test_readme_session_prints_what_it_says(capsys: pytest.CaptureFixture[str]) -> None:
    exec(next(block for block in BLOCKS if "def build" not in block), {})
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "43 Lzz1 + Lyy2"
    objective, bound, certified = lines[1].split()
    assert float(bound) <= float(objective) <= 3.8608e-4 and certified == "True"


def test_files_the_readme_names_exist() -> None:
    root = Path(__file__).parents[2]
    linked = re.findall(r"\]\(((?:docs|problems|robots)/[^)]+)\)", README)
    named = re.findall(r"`((?:problems|scripts|casid|docs)/[\w./]+)`", README)
    assert linked and named
    assert [name for name in {*linked, *named} if not (root / name).exists()] == []
