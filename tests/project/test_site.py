"""The documentation as a site: every page has a place, every link a target, and MkDocs has nothing to warn of."""

from __future__ import annotations

import ast
import importlib
import importlib.util
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import public_names
import pytest
from benchmarks import page as results
from benchmarks.measure import Measure, Outcome, Verdict, measures, topics
from benchmarks.page import publish
from benchmarks.users import site

DOCS = Path(__file__).parents[2] / "docs"
CONFIG = DOCS / "site" / "mkdocs.yml"


def listed() -> list[str]:
    return re.findall(r":\s*([\w/]+\.md)\s*$", CONFIG.read_text(encoding="utf-8"), re.MULTILINE)


def test_every_page_has_a_place_and_every_place_a_page() -> None:
    pages = {path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md")}
    pages |= {path.relative_to(DOCS).with_suffix(".md").as_posix() for path in DOCS.glob("notebooks/*.ipynb")}
    assert pages == set(listed()) and len(listed()) == len(set(listed()))


def test_every_room_has_a_reference_page() -> None:
    rooms = {path.parent.name for path in (DOCS.parent / "casid").glob("*/__init__.py")}
    internal = {"cli", "files"}
    assert {Path(page).stem for page in listed() if page.startswith("reference/")} == rooms - internal | {
        "casid",
        "index",
    }


def test_llms_txt_names_every_page_outside_the_reference() -> None:
    named = set(re.findall(r"\]\(([\w/]+\.md)\)", (DOCS / "llms.txt").read_text(encoding="utf-8")))
    assert named == {page for page in listed() if not page.startswith(("reference/", "notebooks/"))} - {"index.md"}


def test_the_task_table_is_whole_and_backed() -> None:
    text = (DOCS / "tasks.md").read_text(encoding="utf-8")
    rows = [line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("| ")][2:]
    assert len(rows) >= 40 and {len(row) for row in rows} == {7}
    for row in rows:
        linked = re.fullmatch(r"\[yes\]\(([\w/]+\.md)\)", row[1])
        assert row[1] == "no" or (linked and (DOCS / linked[1]).is_file()), row
        assert set(row[2:]) <= {"yes", "part", "-"}, row
        assert row[1] != "no" or {"yes", "part"} & set(row[2:]), f"nobody has '{row[0]}'"


def test_every_public_name_is_documented() -> None:
    found = list(public_names.fronts())
    assert sum(front.count for front in found) > 200
    for front in found:
        room = importlib.import_module(front.name)
        for names in front.subjects.values():
            bare = [name for name, _ in names if callable(getattr(room, name)) and not getattr(room, name).__doc__]
            assert not bare, f"{front.name}: {', '.join(bare)}"


@pytest.mark.parametrize("name", ["links", "equations", "notebooks"])
def test_the_hooks_are_python(name: str) -> None:
    assert ast.parse((DOCS / "site" / f"{name}.py").read_text(encoding="utf-8")).body
    assert f"{name}.py" in CONFIG.read_text(encoding="utf-8")


def test_notebooks_keep_what_their_cells_show() -> None:
    for path in DOCS.glob("notebooks/*.ipynb"):
        cells = [cell for cell in json.loads(path.read_text(encoding="utf-8"))["cells"] if cell["cell_type"] == "code"]
        shown = sum(bool(cell["outputs"]) for cell in cells)
        assert shown >= 0.6 * len(cells), f"{path.name}: run it before it is committed (jupyter execute --inplace)"
        assert not [o for cell in cells for o in cell["outputs"] if o["output_type"] == "error"]


@pytest.mark.slow
def test_the_site_builds_strictly_and_needs_no_network(tmp_path: Path) -> None:
    pytest.importorskip("material", reason="needs the extra site")
    pytest.importorskip("mkdocstrings", reason="needs the extra site")
    pytest.importorskip("latex2mathml", reason="needs the extra site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "-f", str(CONFIG), "-d", str(tmp_path)]
    quiet = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=quiet)
    assert done.returncode == 0, done.stderr[-3000:]
    assert (tmp_path / "search" / "search_index.js").is_file()  # search without a server
    assert (tmp_path / "assets" / "iframe-worker.js").is_file()  # and in pages that are opened from disk
    assert "<math" in (tmp_path / "concepts.html").read_text(encoding="utf-8")
    assert "data:image/png" in (tmp_path / "notebooks" / "2_identification.html").read_text(encoding="utf-8")
    assert "inverse_dynamics" in (tmp_path / "reference" / "dynamics.html").read_text(encoding="utf-8")
    for page in tmp_path.rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        if page.name == "404.html":  # for servers: its links begin at the server's root
            continue
        assert not re.findall(r'<(?:script|img|link)[^>]+(?:src|href)="https?://[^"]+"', text)
        for target in re.findall(r'href="(?!https?:|mailto:|#|data:)([^"#?]+)', text):
            assert (page.parent / target).exists(), f"{page.name}: {target}"


def _measure(name: str, reference: str = "") -> Measure:
    return Measure(name, "<= 1", reference, lambda: ("", True), lambda: ("", True), "half")


def test_results_are_kept_row_by_row(tmp_path: Path) -> None:
    one, three, later = _measure("one | two"), _measure("three", "x*"), _measure("later")
    first = [Outcome(one, "0.5", Verdict.MET, 1.0), Outcome(three, "[7]", Verdict.MISSED, 2.0)]
    publish("topic", first, {"topic": [three, one, later]}, False, tmp_path)
    lines = (tmp_path / "results.md").read_text(encoding="utf-8").splitlines()
    assert "1 of 3 rows met, 1 missed, 1 not measured." in lines  # a row that never ran is on the page
    second = [Outcome(later, "not measured: no *", Verdict.NOT_MEASURED, 0.1)]
    publish("topic", second, {"topic": [three, later], "other": [one]}, False, tmp_path)
    lines = (tmp_path / "results.md").read_text(encoding="utf-8").splitlines()
    assert "0 of 2 rows met, 1 missed, 1 not measured." in lines  # a row that is no longer there is dropped
    cells = [line for line in lines if line.startswith("| ") and not line.startswith(("| m", "| --"))]
    assert [re.split(r"(?<!\\) \| ", line.strip("| "))[0] for line in cells] == [r"one \| two", "three", "later"]
    assert r"\[7\]" in cells[1] and r"no \*" in cells[2] and "never measured" in cells[0]
    assert f"Measured on {results.machine()}." in lines and results.commit() in cells[1]


def test_a_quick_row_is_marked_and_replaces_no_whole_one(tmp_path: Path) -> None:
    row, catalogue = _measure("row"), {"topic": [_measure("row")]}
    publish("topic", [Outcome(row, "half", Verdict.MET, 1.0)], catalogue, True, tmp_path)
    assert "| half |  | yes (quick) |" in (tmp_path / "results.md").read_text(encoding="utf-8")
    publish("topic", [Outcome(row, "whole", Verdict.MISSED, 1.0)], catalogue, False, tmp_path)
    publish("topic", [Outcome(row, "half", Verdict.MET, 1.0)], catalogue, True, tmp_path)
    text = (tmp_path / "results.md").read_text(encoding="utf-8")
    assert "| whole |  | NO |" in text and "half" not in text


def test_the_page_of_results_is_that_of_its_files() -> None:
    """Where it is not: ``python scripts/benchmarks/page.py``."""
    text = (DOCS / "results.md").read_text(encoding="utf-8")
    at = re.search(r"counted from (\w+)\.", text)
    assert at is not None
    if not results.age(at[1], "HEAD"):
        pytest.skip("needs the history of the repository: ages of rows are counted in commits")
    assert text == results.page(DOCS / "results", {topic: measures(topic) for topic in topics()}, at[1])
    dated = [line for line in text.splitlines() if re.search(r"\d{4}-\d\d-\d\d", line) and line.startswith("| ")]
    assert dated and all(re.search(r"commits ago|at an unknown commit", line) for line in dated)


def test_missed_rows_have_their_reason_and_no_others() -> None:
    folder = DOCS / "results"
    for topic, given in results.reasons(folder).items():
        missed = {row.name for row in results.stored(topic, folder).values() if row.verdict == "NO"}
        assert set(given) <= missed, f"{topic}: reasons of rows that are not missed"
    text = (DOCS / "results.md").read_text(encoding="utf-8")
    assert "the reason is not known" not in text


def test_equations_become_mathml() -> None:
    pytest.importorskip("latex2mathml", reason="needs the extra site")
    specification = importlib.util.spec_from_file_location("equations", DOCS / "site" / "equations.py")
    assert specification is not None and specification.loader is not None
    hook = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(hook)
    marked = (
        r'<p>so <span class="arithmatex">\(a &lt; \dot q\)</span></p>'
        r'<div class="arithmatex">\[\begin{bmatrix} 1 \end{bmatrix}\]</div>'
    )
    drawn = hook.on_page_content(marked)
    assert "arithmatex" not in drawn and drawn.count("<math") == 2 and 'display="block"' in drawn
    assert 'stretchy="true"' in drawn and "<mover accent" in drawn and "\\" not in drawn


def test_dead_links_and_places_are_found(tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text(
        '<h2 id="here"></h2><a href="#here"></a><a href="b.html#there"></a><a href="c.html"></a>'
    )
    (tmp_path / "b.html").write_text('<a href="a.html#here"></a><a href="https://other.example/x"></a>')
    assert sorted(site.dead_links(tmp_path)) == ["a.html: b.html#there", "a.html: c.html"]
