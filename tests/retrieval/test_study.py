"""Studies: repeatable, continued after a kill, on processes and clusters; faults of files and disks."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import casadi as ca
import numpy as np
import pytest
from benchmarks.soundness.fuzz_kinds import problem as fuzzed

import casid
from casid.errors import ProblemError
from casid.expressions import interruptible
from casid.retrieval import PreparedProblem, SolveOptions
from casid.retrieval.methods import Direct
from casid.retrieval.study._study import Grid, fingerprint


@pytest.fixture(scope="module")
def problem(panda):
    return panda


@pytest.fixture(scope="module")
def whole(problem, tmp_path_factory):
    file = tmp_path_factory.mktemp("study") / "whole.jsonl"
    return casid.study(problem, file, starts=6, seed=1), file


def same(a, b):
    return all(
        (r.start, r.seed, r.solution.objective) == (s.start, s.seed, s.solution.objective)
        and np.array_equal(r.solution.x, s.solution.x)
        for r, s in zip(a.results, b.results, strict=True)
    )


def test_every_start_can_be_repeated_alone(problem, whole):
    study, file = whole
    assert study.certified == study.solved == 6
    assert len({r.seed for r in study.results}) == 6
    alone = casid.solve(problem, seed=study.results[3].seed)
    assert np.array_equal(alone.x, study.results[3].solution.x)
    assert len(file.read_text().splitlines()) == 7
    assert study.best.objective == min(s.objective for s in study.solutions)


def test_interrupted_file_is_continued(problem, whole, tmp_path):
    study, file = whole
    lines = file.read_bytes().splitlines(keepends=True)
    cut = tmp_path / "cut.jsonl"
    cut.write_bytes(b"".join(lines[:4]) + lines[4][:37])  # killed while it wrote the fourth result
    resumed = casid.study(problem, cut, starts=6, seed=1)
    assert resumed.solved == 3
    assert same(study, resumed)
    assert sorted(json.loads(line)["start"] for line in cut.read_text().splitlines()[1:]) == list(range(6))
    longer = casid.study(problem, cut, starts=7, seed=1)
    assert longer.solved == 1 and same(study, resumed)


def test_killed_process_loses_nothing(problem, whole, tmp_path):
    file = tmp_path / "killed.jsonl"
    code = "import casid, sys; casid.study(casid.load_problem('panda_retrieval'), sys.argv[1], starts=400, seed=1)"
    process = subprocess.Popen([sys.executable, "-c", code, str(file)])
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and not (file.exists() and file.read_bytes().count(b"\n") >= 3):
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.wait()
    done = file.read_bytes().count(b"\n") - 1
    assert 2 <= done < 400
    resumed = casid.study(problem, file, starts=max(6, done), seed=1)
    assert resumed.solved == max(0, 6 - done)
    assert all(
        np.array_equal(a.solution.x, b.solution.x) for a, b in zip(whole[0].results, resumed.results, strict=False)
    )


def test_processes_give_the_same(problem, whole, tmp_path):
    pytest.importorskip("joblib", reason="needs the extra study")
    study = casid.study(problem, tmp_path / "p.jsonl", starts=6, seed=1, jobs=2)
    assert same(whole[0], study)


@pytest.mark.filterwarnings("ignore")
def test_local_dask_cluster_gives_the_same(problem, whole, tmp_path):
    distributed = pytest.importorskip("distributed", reason="needs the extra cluster")
    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=1, processes=False, dashboard_address=None
    ) as cluster:
        study = casid.study(problem, tmp_path / "d.jsonl", starts=6, seed=1, jobs=cluster.scheduler_address)
    assert same(whole[0], study)


def test_cluster_that_is_not_there(problem, tmp_path, monkeypatch):
    monkeypatch.setattr("casid.retrieval.study._study.CONNECT_SECONDS", 0.5)
    pytest.importorskip("distributed", reason="needs the extra cluster")
    with pytest.raises(ProblemError, match="no Dask scheduler answers at"):
        casid.study(problem, tmp_path / "n.jsonl", starts=1, jobs="tcp://127.0.0.1:9")
    assert not (tmp_path / "n.jsonl").exists()


@pytest.mark.slow
def test_sweep_and_penalty(tmp_path):
    problems = {shapes: casid.load_problem("spatial_2r", shapes=shapes) for shapes in ("box", "exact")}
    seen = []
    study = casid.study(problems, tmp_path / "s.jsonl", starts=1, method="penalty", progress=lambda *a: seen.append(a))
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
            casid.study(**{"problems": problem, "file": file, "starts": 6, "seed": 1, **arguments})
        assert file.read_text() == text
    with pytest.raises(ProblemError, match="at least one"):
        casid.study(problem, tmp_path / "z.jsonl", starts=0)


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


unix = pytest.mark.skipif(os.name == "nt", reason="signals as Unix has them")


@pytest.fixture(autouse=True)
def ctrl_c_is_heard() -> Iterator[None]:
    """A shell starts background jobs with Ctrl-C ignored, and so would be every process that they start."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


STUDY = """
import sys
sys.path[:0] = {paths!r}
from benchmarks.soundness.fuzz_kinds import problem
import casid
casid.study(problem(), {file!r}, starts=100000, jobs={jobs})
"""


def start(folder: Path, jobs: int) -> tuple[subprocess.Popen[bytes], Path]:
    """A study without end in a process of its own, some results of which are there."""
    file = folder / "study.jsonl"
    paths = [str(Path(__file__).parents[2] / "scripts")]
    program = STUDY.format(paths=paths, file=str(file), jobs=jobs)
    process = subprocess.Popen([sys.executable, "-c", program], stderr=subprocess.DEVNULL, start_new_session=True)
    until = time.monotonic() + 120
    while not (file.exists() and file.read_bytes().count(b"\n") > 3):
        assert process.poll() is None and time.monotonic() < until
        time.sleep(0.1)
    return process, file


def running(group: int) -> list[int]:
    """Processes of a session that are not dead."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            fields = (entry / "stat").read_text().rpartition(")")[2].split() if entry.name.isdigit() else []
        except OSError:
            continue
        if fields and int(fields[3]) == group and fields[0] != "Z":
            found.append(int(entry.name))
    return found


@pytest.mark.claim("Ctrl-C is not swallowed by IPOPT")
@unix
def test_ctrl_c_goes_through_casadi() -> None:
    x = ca.SX.sym("x", 50)
    terms = [100 * (x[k + 1] - x[k] ** 2) ** 2 + (1 - x[k]) ** 2 for k in range(49)]
    options = {"print_time": False, "ipopt.print_level": 0, "ipopt.sb": "yes", "ipopt.max_iter": 10**7}
    options |= {"ipopt.tol": 1e-300, "ipopt.hessian_approximation": "limited-memory"}
    solver = ca.nlpsol("s", "ipopt", {"x": x, "f": ca.sum1(ca.vertcat(*terms)), "g": ca.sin(1e3 * x)}, options)
    timer = threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT))
    before, began = signal.getsignal(signal.SIGINT), time.monotonic()
    timer.start()
    with pytest.raises(KeyboardInterrupt), interruptible():
        solver(x0=[-1.2] * 50, lbg=2, ubg=3)  # no point is feasible
        timer.join()
    assert time.monotonic() - began < 20
    assert signal.getsignal(signal.SIGINT) is before


@pytest.mark.slow
@pytest.mark.claim("a start that Ctrl-C interrupts is never stored in a study")
@unix
def test_an_interrupted_start_is_not_stored(tmp_path: Path) -> None:
    process, file = start(tmp_path, jobs=1)
    process.send_signal(signal.SIGINT)
    assert process.wait(60) != 0
    content = file.read_bytes()
    stored = content[: content.rfind(b"\n") + 1].count(b"\n") - 1
    study = casid.study(fuzzed(), file, starts=stored)
    assert study.solved == 0
    again = casid.study(fuzzed(), tmp_path / "again.jsonl", starts=stored)
    for one, other in zip(study.solutions, again.solutions, strict=True):
        assert one.status == other.status
        assert one.objective == pytest.approx(other.objective, rel=1e-9, abs=1e-15)


@pytest.mark.slow
@pytest.mark.claim("workers end with a killed study")
@pytest.mark.skipif(sys.platform != "linux", reason="looks for processes as Linux shows them")
def test_workers_end_with_a_killed_study(tmp_path: Path) -> None:
    pytest.importorskip("joblib", reason="needs the extra study")
    process, _ = start(tmp_path, jobs=2)
    assert len(running(process.pid)) >= 3
    process.kill()
    process.wait()
    until = time.monotonic() + 30
    while running(process.pid) and time.monotonic() < until:
        time.sleep(0.2)
    left = running(process.pid)
    for pid in left:
        os.kill(pid, signal.SIGKILL)
    assert not left


@pytest.mark.claim("an empty study file, or one killed in its first line, is used")
def test_an_empty_file_is_a_new_study(tmp_path: Path) -> None:
    file = tmp_path / "study.jsonl"
    file.write_bytes(b"")
    assert casid.study(fuzzed(), file, starts=1).solved == 1
    whole = file.read_bytes()
    file.write_bytes(whole[:20])
    assert casid.study(fuzzed(), file, starts=1).solved == 1
    assert file.read_bytes().count(b"\n") == 2
    file.write_bytes(b"my notes, without an end of line")
    with pytest.raises(ProblemError, match="not a study file"):
        casid.study(fuzzed(), file, starts=1)
    assert file.read_bytes() == b"my notes, without an end of line"


@pytest.mark.slow
@pytest.mark.claim("a study file on a full or read-only disk is one clear error")
@unix
def test_a_disk_that_is_full_or_read_only(tmp_path: Path) -> None:
    with pytest.raises(ProblemError, match=r"not a regular file|cannot be written"):
        casid.study(fuzzed(), "/dev/full", starts=1)
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(ProblemError, match=r"cannot be (read|written)"):
        casid.study(fuzzed(), tmp_path / "file" / "study.jsonl", starts=1)
    limited = STUDY.format(paths=[str(Path(__file__).parents[2] / "scripts")], file=str(tmp_path / "s.jsonl"), jobs=1)
    limits = "import resource, signal\nsignal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
    limits += "resource.setrlimit(resource.RLIMIT_FSIZE, (3000, 3000))\n"
    done = subprocess.run([sys.executable, "-c", limits + limited], capture_output=True, text=True, check=False)
    assert "ProblemError" in done.stderr
    assert "cannot be written: file too large" in done.stderr
    assert "make room and start again" in done.stderr
    study = casid.study(fuzzed(), tmp_path / "s.jsonl", starts=1)
    assert study.solved == 0


@pytest.fixture(scope="module")
def varied(problem):
    """The Panda with a least mass of its last link, and 24 values of it: more than one stretch."""
    base = problem.with_parameters(hand=1.0)
    links = base.variables
    return base.add(links[6].mass >= links.parameter("hand")), {"hand": np.linspace(0.7, 1.6, 24)}


def test_points_of_a_study_are_those_of_single_solves_whatever_was_solved_before(varied, tmp_path):
    problem, over = varied
    whole = casid.study(problem, over=over)
    assert whole.certified == 24
    leads = Grid.over(problem, over).leads
    assert len(set(leads.values())) == 2
    for result in whole.results[::5]:
        alone = casid.solve(problem.at(**whole.points[result.problem]))
        assert result.solution.objective == pytest.approx(alone.objective, rel=1e-8)
        assert result.solution.iterations < alone.iterations / 2 or result.problem in leads.values()
    file = tmp_path / "s.jsonl"
    casid.study(problem, file, over=over)
    header, *lines = file.read_bytes().splitlines(keepends=True)
    file.write_bytes(header + b"".join(lines[5:3:-1] + lines[20:]))  # as processes that were killed leave it
    rest = casid.study(problem, file, over=over)
    assert rest.solved == 24 - 6 and same(whole, rest)
    with pytest.raises(ProblemError, match="another problem"):
        casid.study(problem.with_parameters(hand=1.0).without("total mass"), file, over=over)


def test_a_point_that_its_neighbour_does_not_lead_to_is_solved_as_any(varied):
    problem, _ = varied
    first, far = problem.at(hand=0.7), problem.at(hand=1.5)
    prepared = PreparedProblem(first, None, SolveOptions(max_iterations=1))
    prepared.solve(throw=False)
    assert prepared.follow(far) is None  # it was not certified itself
    follow = Direct().follow(first, SolveOptions())
    assert follow(far).certified
    other = far.without("total mass")  # another structure
    assert np.array_equal(follow(other).x, casid.solve(other, method="direct").x)


@pytest.mark.claim("a point of a study that its neighbour leads to no certified optimum of is solved as alone")
def test_a_point_without_a_certificate_from_its_neighbour_is_solved_by_the_method(links, body_in_a_box):
    problem = body_in_a_box(links[0].mass <= 1.5).with_parameters(least=0.0)
    x, y, _ = ca.vertsplit(problem.variables[0].com)
    problem = problem.add(x * y >= problem.variables.parameter("least"))
    slack, active = -0.1, 0.001
    prepared = PreparedProblem(problem.at(least=slack))
    assert prepared.solve().certified and prepared.follow(problem.at(least=active)) is None
    assert casid.study(problem, over={"least": [active, slack]}, method="auto").certified == 2
