"""Names of earlier versions resolve, with a deprecation that names the new place."""

from __future__ import annotations

import importlib
import warnings
from pathlib import Path

import pytest

import casid
from casid._earlier import earlier_names

LINES = (Path(casid.__file__).parent / "earlier_names.txt").read_text(encoding="utf-8").splitlines()
PLACES = dict(line.split(" ", 1) for line in LINES if not line.startswith("#"))


def test_there_are_many() -> None:
    assert len(PLACES) > 300 and "casid.retrieval.Penalty" in PLACES


@pytest.mark.parametrize("front", sorted({name.rpartition(".")[0] for name in PLACES}))
def test_each_resolves_with_its_new_place(front: str) -> None:
    module = importlib.import_module(front)
    for name, place in PLACES.items():
        if name.rpartition(".")[0] != front:
            continue
        attribute = name.rpartition(".")[2]
        if " " in place:  # a sentence: nothing took its place by name
            with pytest.raises(AttributeError, match="any more"):
                getattr(module, attribute)
            continue
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            found = getattr(module, attribute)
        target, _, last = place.rpartition(".")
        assert found is getattr(importlib.import_module(target), last), name
        assert any(target in str(w.message) for w in caught if w.category is DeprecationWarning), name


def test_a_name_that_never_was_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        earlier_names("casid.retrieval")("nothing")
