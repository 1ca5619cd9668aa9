"""The list of public names: complete, up to date, every name documented."""

from __future__ import annotations

from pathlib import Path

import public_names
import pytest


def test_the_pages_are_those_of_the_fronts() -> None:
    for name, content in public_names.pages().items():
        page = public_names.FOLDER / name
        assert page.read_text(encoding="utf-8") == content, f"{name}: run python scripts/public_names.py"


def test_a_room_s_page_names_each_of_its_public_names() -> None:
    pages = public_names.pages()
    for front in public_names.fronts():
        if front.name != "casid":
            text = pages[f"{front.name.split('.')[1]}.md"]
            assert all(f"::: {front.name}.{name}\n" in text for names in front.subjects.values() for name, _ in names)


def test_every_public_name_has_a_summary() -> None:
    missing = [
        f"{front.name}.{name}"
        for front in public_names.fronts()
        for names in front.subjects.values()
        for name, summary in names
        if not summary
    ]
    assert missing == []


def test_names_are_grouped_by_the_comments_above_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    room = tmp_path / "casid" / "room"
    room.mkdir(parents=True)
    (tmp_path / "casid" / "__init__.py").write_text("")
    (room / "_part.py").write_text('class Thing:\n    """A thing | of use.\n\n    M.\n    """\n\n\ndef hidden(): ...\n')
    (room / "__init__.py").write_text(
        '"""Room."""\n\n# Things\nfrom casid.room._part import Thing as Thing\nfrom casid.room._part import hidden\n'
    )
    monkeypatch.setattr(public_names, "ROOT", tmp_path)
    (front,) = public_names.fronts()
    assert front.name == "casid.room" and front.subjects == {"Things": [("Thing", "A thing \\| of use.")]}
