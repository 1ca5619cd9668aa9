"""Options of the whole suite."""

from __future__ import annotations

import os

import pytest

import casid

os.environ["COLUMNS"] = "150"  # what commands print does not depend on the terminal that the tests run in
os.environ.setdefault("OMP_NUM_THREADS", "1")  # before numpy loads: as many processes as cores
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--claims", metavar="WORD", help="only tests whose `claim` begins with WORD; the claims are listed"
    )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    word = config.getoption("--claims")
    if word:
        chosen = [item for item in items if any(text.startswith(word) for text in claims(item))]
        config.hook.pytest_deselected(items=[item for item in items if item not in chosen])
        items[:] = chosen
        config.stash[LISTED] = sorted({text for item in items for text in claims(item) if text.startswith(word)})


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    for text in config.stash.get(LISTED, ()):
        terminalreporter.write_line(text)


def claims(item: pytest.Item) -> list[str]:
    return [str(mark.args[0]) for mark in item.iter_markers("claim")]


LISTED = pytest.StashKey[list[str]]()


@pytest.fixture(scope="session")
def panda() -> casid.Robot:
    return casid.load_robot("panda")
