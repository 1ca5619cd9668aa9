"""Parts of a search in a journal: an interrupted search goes on, files of others are refused."""

from dataclasses import replace

import numpy as np
import pytest

from casid.drives import FREE, Servo, SimulationOptions, identify_from_commands
from casid.drives._kept import Kept
from casid.errors import DatasetError

TRUE = {"kp": [12.0, 9.0], "armature": 0.03, "viscous": 0.4, "coulomb": 0.0, "bias": 0.01, "delay": 0.01}
T = np.arange(250) * 0.02


def test_a_part_is_computed_once_and_appended():
    written: list[dict] = []
    kept = Kept(append=written.append)
    for _ in range(2):
        assert kept.part("one", lambda: {"value": len(written)}) == {"value": 0}
    assert written == [{"part": "one", "value": 0}]


@pytest.mark.claim("a search that was interrupted goes on from its file, and ends where an uninterrupted one does")
def test_an_interrupted_search_goes_on(arm, data, tmp_path):
    options, file = SimulationOptions(threads=1, coarse=2.0, terms=("load_friction",)), tmp_path / "search.jsonl"
    called: list[str] = []

    def stopped(text, done, total):
        called.append(text)
        if len(called) == 4:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        identify_from_commands(arm, [data], options=options, progress=stopped, file=file)
    begun = file.read_text().splitlines()
    with file.open("a") as last:
        last.write('{"part": "cut')  # killed while it wrote
    whole = identify_from_commands(arm, [data], options=options)
    again = identify_from_commands(arm, [data], options=options, file=file)
    assert again.theta == pytest.approx(whole.theta, rel=1e-12)
    ended = file.read_text().splitlines()
    assert ended[: len(begun)] == begun and len(ended) > len(begun) and "cut" not in ended[len(begun)]
    kept: list[str] = []
    third = identify_from_commands(arm, [data], options=options, file=file, progress=lambda text, *_: kept.append(text))
    assert third.theta == pytest.approx(whole.theta, rel=1e-12) and file.read_text().splitlines() == ended
    assert not any("free runs" in text for text in kept)  # nothing is searched again


def test_files_of_other_searches_are_refused(arm, data, tmp_path):
    options, file = SimulationOptions(threads=1, terms=(), folds=0), tmp_path / "search.jsonl"
    known = {**TRUE, "kp": FREE}
    identify_from_commands(arm, [data], Servo(**known), options, file=file)
    before = file.read_bytes()
    with pytest.raises(DatasetError, match="belongs to other recordings"):
        identify_from_commands(arm, [data], Servo(**{**known, "viscous": FREE}), options, file=file)
    placement = np.array(arm.joints[1].placement)
    placement[0, 3] += 0.01
    moved = replace(arm, joints=(arm.joints[0], replace(arm.joints[1], placement=placement)))
    with pytest.raises(DatasetError, match="another robot"):
        identify_from_commands(moved, [data], Servo(**known), options, file=file)
    file.write_bytes(before.replace(b'"part"', b'"pat"', 1))
    with pytest.raises(DatasetError, match="line 2 is damaged"):
        identify_from_commands(arm, [data], Servo(**known), options, file=file)
    file.write_text("t,q\n0,1\n")
    with pytest.raises(DatasetError, match="is not a search file"):
        identify_from_commands(arm, [data], Servo(**known), options, file=file)
    assert file.read_text() == "t,q\n0,1\n"
