"""The documentation as a site: every page has a place, every link a target, and MkDocs has nothing to warn of."""

from __future__ import annotations

import importlib
import importlib.util
import json
import multiprocessing
import re
import subprocess
from functools import partial
from pathlib import Path
from typing import Any

import public_names
import pytest
from benchmarks import results
from benchmarks.measure import Measure, NotMeasured, Outcome, Verdict, measures, topics
from benchmarks.users import pages as site

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
    rows = site.task_rows()
    assert len(rows) >= 40 and {len(row) for row in rows} == {7}
    for row in rows:
        linked = re.fullmatch(r"\[yes\]\(([\w/]+\.md)\)", row[1])
        assert row[1] == "no" or (linked and (DOCS / linked[1]).is_file()), row
        assert set(row[2:]) <= {"yes", "part", "-"}, row
        assert row[1] != "no" or {"yes", "part"} & set(row[2:]), f"nobody has '{row[0]}'"


def test_every_public_name_is_documented() -> None:
    assert sum(front.count for front in public_names.fronts()) > 200
    assert site.undocumented() == []


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
    assert site.build(tmp_path) == 0 and site.dead_links(tmp_path) == []
    assert (tmp_path / "search" / "search_index.js").is_file()  # search without a server
    assert (tmp_path / "assets" / "iframe-worker.js").is_file()  # and in pages that are opened from disk
    assert "<math" in (tmp_path / "concepts.html").read_text(encoding="utf-8")
    assert "data:image/png" in (tmp_path / "notebooks" / "2_identification.html").read_text(encoding="utf-8")
    assert "inverse_dynamics" in (tmp_path / "reference" / "dynamics.html").read_text(encoding="utf-8")
    for page in tmp_path.rglob("*.html"):
        assert not re.findall(r'<(?:script|img|link)[^>]+(?:src|href)="https?://[^"]+"', page.read_text("utf-8"))


def _measure(name: str, reference: str = "") -> Measure:
    return Measure(name, "<= 1", reference, lambda: ("", True), lambda: ("", True), "half")


def _page(folder: Path) -> str:
    return (folder / "results.md").read_text(encoding="utf-8")


def test_results_are_kept_row_by_row(tmp_path: Path) -> None:
    one, three, later = _measure("one | two"), _measure("three", "x*"), _measure("later")
    first = [Outcome(one, "0.5", Verdict.MET, 1.0), Outcome(three, "[7]" + 200 * "x", Verdict.MISSED, 2.0)]
    results.publish("topic", first, {"topic": [three, one, later]}, False, tmp_path, "a")
    assert "1 of 3 rows met, 1 missed, 1 not measured." in _page(tmp_path)  # a row that never ran is on the page
    second = [Outcome(later, "not measured: no *", Verdict.NOT_MEASURED, 0.1)]
    results.publish("topic", second, {"topic": [three, later], "other": [one]}, False, tmp_path, "a")
    text = _page(tmp_path)
    assert "0 of 2 rows met, 1 missed, 1 not measured." in text  # a row that is no longer there is dropped
    cells = [line for line in text.splitlines() if line.startswith("| ") and not line.startswith(("| m", "| --"))]
    rows = [re.split(r"(?<!\\) \| ", line.strip("| ")) for line in cells]
    assert [row[0] for row in rows] == [r"one \| two", "three", "later"]
    assert rows[1][2].startswith(r"\[7\]") and rows[1][2].endswith("…") and len(rows[1][2]) <= results.CELL + 4
    assert f"at commit {results.commit()}, on {results.machine()} (1 rows);" in text and "never measured" in cells[0]


@pytest.mark.claim("a row that was measured in another state is not measured")
def test_a_row_of_another_state_is_not_measured(tmp_path: Path) -> None:
    one, two = _measure("one"), _measure("two")
    results.publish("topic", [Outcome(one, "0.5", Verdict.MET, 1.0)], {"topic": [one, two]}, False, tmp_path, "a")
    results.publish("topic", [Outcome(two, "0.6", Verdict.MET, 1.0)], {"topic": [one, two]}, False, tmp_path, "b")
    assert "1 of 2 rows met, 0 missed, 1 not measured." in _page(tmp_path)
    assert f"| one | &lt;= 1 | not measured; yes at {results.commit() or 'an unknown commit'} |" in _page(tmp_path)


def test_rows_of_other_machines_fill_what_is_missing() -> None:
    def record(state: str, **rows: tuple[str, str]) -> dict[str, Any]:
        return {"state": state, "rows": {"topic": {n: {"verdict": v, "state": s} for n, (v, s) in rows.items()}}}

    mine = record("a", one=("yes", "a"), two=("yes", "b"))
    rows = results.gathered(mine, [record("a", one=("NO", "a"), two=("NO", "a"), three=("yes", "b"))])["rows"]["topic"]
    assert {name: row["verdict"] for name, row in rows.items()} == {"one": "yes", "two": "NO"}
    with pytest.raises(ValueError, match="state b cannot stand beside those of a"):
        results.gathered(mine, [record("b", two=("NO", "b"))])


def test_a_quick_row_is_marked_and_replaces_no_whole_one(tmp_path: Path) -> None:
    row, catalogue = _measure("row"), {"topic": [_measure("row")]}
    for value, verdict, quick in (("half", Verdict.MET, True), ("whole", Verdict.MISSED, False)):
        results.publish("topic", [Outcome(row, value, verdict, 1.0)], catalogue, quick, tmp_path, "a")
        assert f"| {value} |  | {'yes (quick)' if quick else 'NO'} |" in _page(tmp_path)
    results.publish("topic", [Outcome(row, "half", Verdict.MET, 1.0)], catalogue, True, tmp_path, "a")
    assert "| whole |  | NO |" in _page(tmp_path) and "half" not in _page(tmp_path)


def _published(number: int, docs: Path) -> None:
    row = _measure(f"row {number}")
    catalogue = {"topic": [_measure(f"row {k}") for k in range(3)]}
    results.publish("topic", [Outcome(row, "0.5", Verdict.MET, 1.0)], catalogue, False, docs, "a")


@pytest.mark.claim("runs that publish at once lose no row")
def test_runs_that_publish_at_once_lose_no_row(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    runs = [context.Process(target=_published, args=(number, tmp_path)) for number in range(3)]
    for run in runs:
        run.start()
    for run in runs:
        run.join()
    rows = results.stored(tmp_path)["rows"]["topic"]
    assert list(rows) == [f"row {number}" for number in range(3)]


def test_a_row_is_measured_by_one_run_and_once_in_a_state(tmp_path: Path) -> None:
    with results.claimed("topic", _measure("row 1"), "a", docs=tmp_path) as mine:
        with results.claimed("topic", _measure("row 1"), "a", docs=tmp_path) as second:
            assert mine and not second
        with results.claimed("topic", _measure("row 2"), "a", docs=tmp_path) as other:
            assert other
    _published(1, tmp_path)
    for state, open_ in (("a", False), ("b", True)):
        with results.claimed("topic", _measure("row 1"), state, docs=tmp_path) as again:
            assert again is open_


def test_a_state_is_its_files_names_and_contents(tmp_path: Path) -> None:
    def state() -> str:
        return results.digest("*.py", root=tmp_path)

    with pytest.raises(ValueError, match="finds no file"):
        state()
    (tmp_path / "a.py").write_text("1")
    states = [state()]
    (tmp_path / "a.py").write_text("2")
    states.append(state())
    (tmp_path / "a.py").rename(tmp_path / "b.py")
    states.append(state())
    assert len(set(states)) == 3
    (tmp_path / "c.txt").write_text("no part of it")
    assert state() == states[-1]
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    (tmp_path / ".gitignore").write_text("built.py\n")
    (tmp_path / "built.py").write_text("built beside the sources")
    assert state() == states[-1]


def test_the_state_of_a_row_is_that_of_the_scripts_that_measure_it(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(results, "ROOT", tmp_path)
    monkeypatch.setattr(results, "SCRIPTS", tmp_path / "scripts")
    topic = tmp_path / "scripts" / "benchmarks" / "topic"
    (topic / "peers").mkdir(parents=True)
    texts = {
        "__init__.py": "from benchmarks.topic import a, b\n",
        "a.py": "from benchmarks.topic import c\nrun('tool.py')\n",
        "b.py": "1", "c.py": "1", "peers/tool.py": "1", "table.csv": "1",
    }  # fmt: skip
    for name, text in texts.items():
        (topic / name).write_text(text)

    def state() -> str:
        results.scripts_of.cache_clear()
        results._named.cache_clear()
        return results.scripts_of("benchmarks.topic.a")

    first = state()
    for name, changes in {
        "b.py": False,
        "__init__.py": False,
        "c.py": True,
        "peers/tool.py": True,
        "table.csv": True,
    }.items():
        (topic / name).write_text("2")
        assert (state() != first) is changes, name
        (topic / name).write_text(texts[name])
    results.scripts_of.cache_clear()
    assert results.scripts_of("json") == ""


def test_what_is_kept_is_not_measured_again_and_time_ends_the_rest(tmp_path: Path) -> None:
    parts = {name: partial(dict, value=name.upper()) for name in "abc"}
    for part, value in (("a", "first"), ("a", "kept"), ("z", "of no part")):
        results.keep("row", "now", {"part": part, "value": value}, tmp_path)
    with pytest.raises(NotMeasured, match="2 of 3 parts are left, such as 'b'"):
        results.measured("row", "now", parts, 0.0, 1, tmp_path)
    found = results.measured("row", "now", parts, 60.0, 1, tmp_path)
    assert [(part, found[part]["value"]) for part in found] == [("a", "kept"), ("b", "B"), ("c", "C")]
    found = results.measured("row", "changed", parts, 60.0, 1, tmp_path)  # other code: all anew
    assert [one["value"] for one in found.values()] == ["A", "B", "C"]


def test_the_page_of_results_is_that_of_its_file() -> None:
    """Where it is not: ``python scripts/benchmarks/results.py``."""
    record = results.stored()
    assert _page(DOCS) == results.page(record, {topic: measures(topic) for topic in topics()})
    for topic, given in results.reasons().items():
        missed = {name for name, row in record["rows"][topic].items() if row["verdict"] == "NO"}
        assert set(given) <= missed, f"{topic}: reasons of rows that are not missed"


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
