"""The commands study, intervals and explain."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from casid.cli import app


def run(*arguments):
    return CliRunner().invoke(app, [str(a) for a in arguments])


def test_study_is_resumed(tmp_path):
    file = tmp_path / "study.jsonl"
    first = run("study", "spatial_2r", file, "--starts", 2)
    assert first.exit_code == 0 and "2 starts, 2 certified, 2 solved now" in first.output
    second = run("study", "spatial_2r", file, "--starts", 3)
    assert second.exit_code == 0 and "3 starts, 3 certified, 1 solved now" in second.output
    assert len([json.loads(line) for line in file.read_text().splitlines()]) == 4
    before = file.read_bytes()
    refused = run("study", "panda_retrieval", file)
    assert refused.exit_code == 1
    assert "another problem" in refused.output and "Traceback" not in refused.output
    assert file.read_bytes() == before


def test_explain_names_the_active_bounds():
    explained = run("explain", "panda_retrieval")
    assert explained.exit_code == 0
    assert "link5 com z >= -0.05 m: relaxing it by 0.01 m" in explained.output


def test_intervals_need_a_noise_level():
    refused = run("intervals", "spatial_2r")
    assert refused.exit_code == 1
    assert "noise level cannot be estimated from a perfect fit" in refused.output


@pytest.mark.slow
def test_intervals_write_table_and_picture(tmp_path):
    done = run("intervals", "spatial_2r", "--tolerance", "0.01", "--weigh", "--out", tmp_path / "out")
    assert done.exit_code == 0, done.output
    assert "weigh link1" in done.output
    rows = (tmp_path / "out" / "intervals.csv").read_text().splitlines()
    assert len(rows) == 21
    assert (tmp_path / "out" / "intervals.png").stat().st_size > 20_000
