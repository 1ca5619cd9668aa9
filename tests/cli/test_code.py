"""Commands about generated code."""

from __future__ import annotations

import numpy as np
import pytest

import casid
from casid.cli._code import Values
from tests.helpers import run


def test_terms_and_parameters_follow_the_description_unless_given() -> None:
    robot = casid.load_robot("panda").with_parameters(casid.load_robot("panda").standard_parameters())
    for terms, named in (("none", []), ("viscous", ["viscous"])):
        model, given = Values(terms=terms).chosen(robot, False)
        assert [term.name for term in model.terms] == named and given is None


def test_the_cache_lists_its_folder(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CASID_CACHE", str(tmp_path))
    assert "0 files" in run("cache")
    (tmp_path / "other.txt").write_text("")
    assert "files removed" in run("cache", "--clear") and np.isfinite(len(list(tmp_path.iterdir())))
