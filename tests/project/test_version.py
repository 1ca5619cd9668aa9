"""The version, in the package and in its metadata."""

from pathlib import Path

import casid
from casid.version import __version__


def test_one_version():
    assert casid.__version__ == __version__
    assert __version__.partition(".dev")[0] in (Path(__file__).parents[2] / "CHANGELOG.md").read_text(encoding="utf-8")
