"""Pieces of a measurement: they add up, replace their like, and count only in the state they were measured in."""

from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pytest
from benchmarks.pieces import digest, keep, kept, measured


def test_pieces_add_up_and_a_part_measured_again_counts_once(tmp_path):
    assert kept("row", "a", tmp_path) == []
    for part, alive in ((0, 3), (1, 4), (0, 5)):
        keep("row", "a", {"part": part, "alive": alive}, tmp_path)
    assert kept("row", "a", tmp_path) == [{"part": 1, "alive": 4}, {"part": 0, "alive": 5}]
    assert kept("other", "a", tmp_path) == []


def test_pieces_of_another_state_do_not_count(tmp_path):
    keep("row", "old", {"part": 0}, tmp_path)
    keep("row", "old", {"part": 1}, tmp_path)
    keep("row", "new", {"part": 1}, tmp_path)
    assert kept("row", "new", tmp_path) == [{"part": 1}]
    assert kept("row", "old", tmp_path) == [{"part": 0}]
    assert len(kept("row", None, tmp_path)) == 2


def test_a_piece_says_its_part(tmp_path):
    with pytest.raises(KeyError, match="part"):
        keep("row", "a", {"alive": 1}, tmp_path)


def test_pieces_kept_at_once_are_all_kept(tmp_path):
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda part: keep("row", "a", {"part": part}, tmp_path), range(40)))
    assert sorted(piece["part"] for piece in kept("row", "a", tmp_path)) == list(range(40))


def test_a_state_is_its_files_names_and_contents(tmp_path):
    def state():
        return digest("*.py", root=tmp_path)

    with pytest.raises(ValueError, match="finds no file"):
        state()
    (tmp_path / "a.py").write_text("1")
    states = [state()]
    (tmp_path / "a.py").write_text("2")
    states.append(state())
    (tmp_path / "a.py").rename(tmp_path / "b.py")
    states.append(state())
    (tmp_path / "c.py").write_text("")
    states.append(state())
    assert len(set(states)) == 4
    (tmp_path / "c.txt").write_text("no part of it")
    assert state() == states[-1]


def test_what_is_kept_is_not_measured_again_and_time_ends_the_rest(tmp_path):
    parts = {name: partial(dict, value=name.upper()) for name in "abc"}
    keep("row", "now", {"part": "a", "value": "kept"}, tmp_path)
    keep("row", "now", {"part": "z", "value": "of no part"}, tmp_path)
    assert list(measured("row", "now", parts, 0.0, 1, tmp_path)) == ["a"]
    found = measured("row", "now", parts, 60.0, 1, tmp_path)
    assert [(part, found[part]["value"]) for part in found] == [("a", "kept"), ("b", "B"), ("c", "C")]
    assert found["b"]["seconds"] >= 0.0 and found["b"] in kept("row", "now", tmp_path)
    found = measured("row", "changed", parts, 60.0, 1, tmp_path)  # other code: all anew
    assert [one["value"] for one in found.values()] == ["A", "B", "C"]
