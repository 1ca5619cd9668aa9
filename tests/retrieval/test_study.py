"""Studies: streamed, resumable, the same on processes and on a cluster; foreign and damaged files stay as they are."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from dataclasses import replace

import numpy as np
import pytest

import casid
from casid.errors import ProblemError
from casid.retrieval import SolveOptions, run_study
from casid.retrieval.study._file import fingerprint
from casid.retrieval.study._study import start_seeds


@pytest.fixture(scope="module")
def problem(panda):
    return panda


@pytest.fixture(scope="module")
def whole(problem, tmp_path_factory):
    file = tmp_path_factory.mktemp("study") / "whole.jsonl"
    return run_study(problem, file, starts=6, seed=1), file


def same(a, b):
    return all(
        (r.start, r.seed, r.solution.objective) == (s.start, s.seed, s.solution.objective)
        and np.array_equal(r.solution.x, s.solution.x)
        for r, s in zip(a.results, b.results, strict=True)
    )


def test_every_start_can_be_repeated_alone(problem, whole):
    study, file = whole
    assert study.certified == study.solved == 6
    assert [r.seed for r in study.results] == start_seeds(6, 1)
    alone = casid.solve(problem, seed=study.results[3].seed)
    assert np.array_equal(alone.x, study.results[3].solution.x)
    assert len(file.read_text().splitlines()) == 7
    assert study.best.objective == min(s.objective for s in study.solutions)


def test_interrupted_file_is_continued(problem, whole, tmp_path):
    study, file = whole
    lines = file.read_bytes().splitlines(keepends=True)
    cut = tmp_path / "cut.jsonl"
    cut.write_bytes(b"".join(lines[:4]) + lines[4][:37])  # killed while it wrote the fourth result
    resumed = run_study(problem, cut, starts=6, seed=1)
    assert resumed.solved == 3
    assert same(study, resumed)
    assert sorted(json.loads(line)["start"] for line in cut.read_text().splitlines()[1:]) == list(range(6))
    longer = run_study(problem, cut, starts=7, seed=1)
    assert longer.solved == 1 and same(study, resumed)


def test_killed_process_loses_nothing(problem, whole, tmp_path):
    file = tmp_path / "killed.jsonl"
    code = (
        "import casid, sys; from casid.retrieval import run_study; "
        "run_study(casid.load_problem('panda_retrieval'), sys.argv[1], starts=400, seed=1)"
    )
    process = subprocess.Popen([sys.executable, "-c", code, str(file)])
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and not (file.exists() and file.read_bytes().count(b"\n") >= 3):
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.wait()
    done = file.read_bytes().count(b"\n") - 1
    assert 2 <= done < 400
    resumed = run_study(problem, file, starts=max(6, done), seed=1)
    assert resumed.solved == max(0, 6 - done)
    assert all(
        np.array_equal(a.solution.x, b.solution.x) for a, b in zip(whole[0].results, resumed.results, strict=False)
    )


def test_processes_give_the_same(problem, whole, tmp_path):
    pytest.importorskip("joblib", reason="needs the extra study")
    study = run_study(problem, tmp_path / "p.jsonl", starts=6, seed=1, jobs=2)
    assert same(whole[0], study)


@pytest.mark.filterwarnings("ignore")
def test_local_dask_cluster_gives_the_same(problem, whole, tmp_path):
    distributed = pytest.importorskip("distributed", reason="needs the extra cluster")
    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=1, processes=False, dashboard_address=None
    ) as cluster:
        study = run_study(problem, tmp_path / "d.jsonl", starts=6, seed=1, jobs=cluster.scheduler_address)
    assert same(whole[0], study)


def test_cluster_that_is_not_there(problem, tmp_path, monkeypatch):
    monkeypatch.setattr("casid.retrieval.study._study.CONNECT_SECONDS", 0.5)
    pytest.importorskip("distributed", reason="needs the extra cluster")
    with pytest.raises(ProblemError, match="no Dask scheduler answers at"):
        run_study(problem, tmp_path / "n.jsonl", starts=1, jobs="tcp://127.0.0.1:9")
    assert not (tmp_path / "n.jsonl").exists()


@pytest.mark.slow
def test_sweep_and_penalty(tmp_path):
    problems = {shapes: casid.load_problem("spatial_2r", shapes=shapes) for shapes in ("box", "exact")}
    seen = []
    study = run_study(problems, tmp_path / "s.jsonl", starts=1, method="penalty", progress=lambda *a: seen.append(a))
    assert [r.problem for r in study.results] == ["box", "exact"]
    assert study.certified == 2
    assert seen == [(1, 2), (2, 2)]


def test_foreign_and_damaged_files_stay_untouched(problem, whole, tmp_path):
    file = tmp_path / "s.jsonl"
    good = whole[1].read_text()
    other = casid.load_problem("spatial_2r")
    for text, arguments, message in (
        (good, {"problems": other}, "another problem"),
        (good, {"seed": 2}, "another seed"),
        (good, {"method": "penalty"}, "another method"),
        (good, {"options": SolveOptions(restarts=0)}, "other solver options"),
        ("time,torque\n1,2\n", {}, "not a study file"),
        (good.replace('"start": 2', '"start": oops'), {}, "line 4 is damaged"),
    ):
        file.write_text(text)
        with pytest.raises(ProblemError, match=message):
            run_study(**{"problems": problem, "file": file, "starts": 6, "seed": 1, **arguments})
        assert file.read_text() == text
    with pytest.raises(ProblemError, match="at least one"):
        run_study(problem, tmp_path / "z.jsonl", starts=0)


def test_fingerprint_sees_every_change(problem):
    base = fingerprint(problem)
    assert base == fingerprint(casid.load_problem("panda_retrieval"))
    changed = [
        replace(problem, margin=2e-6),
        problem.without("total mass"),
        casid.load_problem("panda_retrieval", largest_sd=2.0),
        replace(problem, constraints=(replace(problem.constraints[0], upper=9.0), *problem.constraints[1:])),
    ]
    assert len({base, *(fingerprint(p) for p in changed)}) == 5
