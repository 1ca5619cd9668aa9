"""The pages of `docs/`: their Python runs as printed, their commands exist, the files they name are there."""

from __future__ import annotations

import ast
import re
import shlex
from pathlib import Path

import pytest
import typer

import casid
from casid.cli import app
from casid.errors import DatasetError
from casid.files import parse_toml
from casid.retrieval import link_variables

ROOT = Path(__file__).parents[2]
PAGES = {path.name: path.read_text(encoding="utf-8") for path in [*sorted((ROOT / "docs").glob("*.md"))]}
PAGES |= {name: (ROOT / name).read_text(encoding="utf-8") for name in ("README.md", "CONTRIBUTING.md")}
#: Pages whose code takes more than a few seconds.
SLOW = {"constraints.md", "excitation.md", "identification.md", "simulation.md"}


def blocks(page: str, *languages: str) -> list[str]:
    return re.findall(rf"^```(?:{'|'.join(languages)})\n(.*?)^```", PAGES[page], re.DOTALL | re.MULTILINE)


def pages_with(*languages: str) -> list[str]:
    return [page for page in PAGES if blocks(page, *languages)]


@pytest.mark.parametrize(
    "page", [pytest.param(page, marks=[pytest.mark.slow] * (page in SLOW)) for page in pages_with("python", "py")]
)
def test_python_of_a_page_runs(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    for block in blocks(page, "python", "py"):
        exec(compile(block, f"docs/{page}", "exec"), names)
    if callable(names.get("build")):  # a problem file, as `casid solve` takes it
        assert casid.solve(names["build"]()).certified
    constraints = names.get("constraints")
    if callable(constraints):  # a constraint file, as `casid identify --constraints` takes it
        assert len(tuple(constraints(link_variables(casid.load_robot("panda"))))) > 0


def test_what_readme_prints(capsys: pytest.CaptureFixture[str]) -> None:
    exec(blocks("README.md", "python")[1], {})
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "43 Lzz1 + Lyy2"
    objective, bound, certified = lines[1].split()
    assert float(bound) <= float(objective) <= 3.8608e-4 and certified == "True"


@pytest.mark.claim("pages name functions that are public")
def test_functions_that_pages_name_are_public() -> None:
    public, defined, inner = set(dir(casid)), set(), set()
    for path in (ROOT / "casid").rglob("*.py"):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef):
                inner |= {part.name for part in node.body if isinstance(part, ast.FunctionDef)}
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                defined.add(node.name)
            elif isinstance(node, ast.ImportFrom) and path.name == "__init__.py":
                public |= {alias.asname for alias in node.names if alias.asname}
    commands = {name.replace("-", "_") for name in typer.main.get_command(app).commands}  # type: ignore[attr-defined]
    history = {"changelog.md", "results.md", "architecture.md", "CONTRIBUTING.md"}  # of the source, not of its use
    found = []
    for page in PAGES.keys() - history:
        for code in re.findall(r"`([^`]+)`", re.sub(r"```.*?```", "", PAGES[page], flags=re.DOTALL)):
            named = {*re.findall(r"(?<![\w./-])([A-Za-z]\w+)\(", code), *re.findall(r"^[a-z]+_\w+$", code)}
            found += [f"{page}: {name}" for name in named & defined - public - inner - commands]
    assert found == []


@pytest.mark.parametrize("page", pages_with("toml"))
def test_toml_of_a_page_is_valid(page: str) -> None:
    for block in blocks(page, "toml"):
        assert parse_toml(block, page, DatasetError)


@pytest.mark.parametrize("page", [page for page in PAGES if "\ncasid " in "".join(blocks(page, "sh"))])
def test_commands_of_a_page_exist_with_their_options(page: str) -> None:
    root = typer.main.get_command(app)
    lines = [line for block in blocks(page, "sh") for line in block.splitlines() if line.startswith("casid ")]
    for line in lines:
        name, *arguments = shlex.split(line, comments=True)[1:]
        command = root.get_command(None, name)  # type: ignore[attr-defined, arg-type]
        command.make_context(name, arguments)  # parses; raises for what does not exist, runs nothing


@pytest.mark.parametrize("page", PAGES)
def test_files_that_a_page_names_exist(page: str) -> None:
    folder = ROOT if page in ("README.md", "CONTRIBUTING.md") else ROOT / "docs"
    linked = [name for name in re.findall(r"\]\(([^)#]+)", PAGES[page]) if "://" not in name]
    named = re.findall(r"`((?:problems|scripts|casid|docs|tests|robots)/[\w./]*\w(?:\.\w+)?)`", PAGES[page])
    assert [name for name in linked if not (folder / name).exists()] == []
    assert [name for name in named if not (ROOT / name).exists()] == []
