"""Algorithm 1, the spatial 2R study, explanations."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from papers.two_links import (
    force_ratios,
    outside_shapes,
    relaxed_retrieval,
    torques,
    validation_motion,
    wrenches,
)

import casid
from casid.errors import ProblemError
from casid.retrieval.constraints import PhysicalConsistency
from casid.retrieval.methods._penalty import Penalty, penalty_weights
from problems.spatial_2r import true_parameters

SCRIPTS = Path(__file__).resolve().parents[2] / "scripts"


def test_penalty_weights_are_those_of_the_paper():
    assert penalty_weights(4) == (0.0, 10.0, 20.0, 30.0)


@pytest.mark.slow
def test_algorithm_1_reaches_the_certified_optimum():
    problem = casid.load_problem("panda_retrieval")
    direct = casid.solve(problem)
    solution = casid.solve(problem, method=Penalty(kappa=3), seed=1)
    assert solution.certified
    assert solution.objective == pytest.approx(direct.objective, rel=1e-6)
    first = solution.trace[0]
    assert len(solution.trace) == 3 and first.weight == 0.0
    assert first.violation > 1e-3  # nothing but the bounds acts in the first step
    assert first.objective < direct.objective
    assert solution.max_violation <= 1e-8


def test_algorithm_1_on_if_else():
    solution = casid.solve(casid.load_problem("spatial_2r"), method="penalty")
    assert solution.status == "optimal"
    assert outside_shapes(solution.standard_parameters) <= 1e-8


def test_penalty_refuses_what_it_is_not():
    problem = casid.load_problem("spatial_2r")
    with pytest.raises(ProblemError, match="at least 1"):
        Penalty(kappa=0)
    semi = problem.with_constraints(PhysicalConsistency(problem.variables[0].index, problem.variables[0].name, "semi"))
    with pytest.raises(ProblemError, match="triangle inequality"):
        casid.solve(semi, method=Penalty())


def test_spatial_2r_from_random_starts():
    problem = casid.load_problem("spatial_2r")
    robot, motion = problem.variables.robot, validation_motion(samples=100)
    truth = true_parameters()
    true = torques(robot, truth, motion)
    for solution in casid.multistart(problem, starts=10, seed=3).solutions:
        x = solution.standard_parameters
        assert np.abs(torques(robot, x, motion) - true).max() <= 1e-8 * np.abs(true).max()
        assert outside_shapes(x) <= 1e-8
        assert solution.max_violation <= 1e-8
    relaxed = [relaxed_retrieval(problem, seed) for seed in range(3)]
    for bad in relaxed:  # no bodies, and yet the torques are right; the joints' forces are not
        assert np.abs(torques(robot, bad.parameters, motion) - true).max() <= 1e-6 * np.abs(true).max()
        assert bad.eigenvalue < 0
        ratios = force_ratios(robot, bad.parameters, truth, motion)
        assert max(abs(np.log(ratio)) for ratio in ratios) > 0.05
        forces = np.abs(wrenches(robot, bad.parameters, motion)[:, :, :3]).max()
        assert forces < 1e3 * np.abs(wrenches(robot, truth, motion)[:, :, :3]).max()  # starts within bounds stay small
    assert force_ratios(robot, truth, truth, motion) == pytest.approx((1.0, 1.0))
    assert outside_shapes(truth) == 0.0


def test_boxes_admit_what_the_shapes_exclude():
    box, exact = (casid.load_problem("spatial_2r", shapes=s) for s in ("box", "exact"))
    assert len(box.constraints) < len(exact.constraints)
    with pytest.raises(ProblemError, match="sphere"):
        casid.load_problem("spatial_2r", shapes="sphere")


@pytest.mark.slow
def test_spatial_2r_script(tmp_path):
    run = subprocess.run(
        [sys.executable, "-m", "examples.spatial_2r", "--out", str(tmp_path)],
        cwd=SCRIPTS,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert run.returncode == 0, run.stderr
    assert "infeasible" in run.stdout
    for name in ("spatial_2r_torques.png", "spatial_2r_wrenches.png"):
        assert (tmp_path / name).stat().st_size > 20_000
