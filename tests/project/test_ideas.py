"""The page that says where an idea is built."""

import re
from importlib import import_module
from pathlib import Path

ROOT = Path(__file__).parents[2]


def found(name: str) -> bool:
    room, _, rest = name.rpartition(".")
    try:
        import_module(name)
    except ImportError:
        return hasattr(import_module(room), rest)
    return True


def test_every_place_exists_and_stands_once() -> None:
    text = (ROOT / "docs" / "ideas.md").read_text(encoding="utf-8")
    rows = [line.split("|")[1:3] for line in text.splitlines() if line.startswith("| ") and "`" in line]
    places = [name for _, cell in rows for name in re.findall(r"`([^`]+)`", cell)]
    assert len(rows) >= 35 and len(set(places)) == len(places)
    assert [name for name in places if not found(name)] == []


def test_a_name_that_is_gone_is_noticed() -> None:
    assert not found("casid.evidence.coin_toss")
