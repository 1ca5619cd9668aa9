"""The commands study, intervals and explain."""

from __future__ import annotations

import json

import pytest

from tests.helpers import run


def test_study_is_resumed(tmp_path):
    file = tmp_path / "study.jsonl"
    assert "2 starts, 2 certified, 2 solved now" in run("study", "spatial_2r", file, "--starts", 2)
    assert "3 starts, 3 certified, 1 solved now" in run("study", "spatial_2r", file, "--starts", 3)
    assert len([json.loads(line) for line in file.read_text().splitlines()]) == 4
    before = file.read_bytes()
    assert "another problem" in run("study", "panda_retrieval", file, code=1)
    assert file.read_bytes() == before


def test_explain_names_the_active_bounds():
    assert "link5 com z >= -0.05 m: relaxing it by 0.01 m" in run("explain", "panda_retrieval")


def test_intervals_need_a_noise_level():
    assert "noise level cannot be estimated from a perfect fit" in run("intervals", "spatial_2r", code=1)


@pytest.mark.slow
def test_intervals_write_table_and_picture(tmp_path):
    text = run("intervals", "spatial_2r", "--tolerance", "0.01", "--weigh", "--out", tmp_path / "out")
    assert "weigh link1" in text
    rows = (tmp_path / "out" / "intervals.csv").read_text().splitlines()
    assert len(rows) == 1 + 20 + 5  # header, parameters, sums among the base parameters
    assert (tmp_path / "out" / "intervals.png").stat().st_size > 20_000
