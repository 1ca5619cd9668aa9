"""Every command of the README and of the docs runs, each on the files of those before it."""

from __future__ import annotations

from pathlib import Path

import pytest
from benchmarks.users.first_hour import PAGES, SHORTER, commands, run, shorter


@pytest.mark.slow
@pytest.mark.claim("commands of the README and the docs run in order, at 80 columns, each on the files of those before")
@pytest.mark.parametrize("page", PAGES)
def test_commands_of_a_page_run_in_order(page: str, tmp_path: Path) -> None:
    ended = run(page, tmp_path / "chain", quick=True)
    assert ended and [(one.arguments, one.code, one.said) for one in ended if one.failed] == []


def test_commands_are_those_of_the_page() -> None:
    """What makes a command shorter changes a value or stands behind it: the options of the page stay."""
    for page in PAGES:
        found = commands(page)
        assert len(found) >= 10 and {"simulate", "identify", "export"} <= {one[0] for one in found}
        for arguments in found:
            changed = shorter(arguments)[: len(arguments)]
            for before, old, new in zip(arguments, arguments[1:], changed[1:], strict=False):
                assert old == new or (before in SHORTER and float(new) <= float(old))
