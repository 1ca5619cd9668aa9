"""SDPA files: written, read back to the last bit, and solved by somebody else."""

import numpy as np
import pytest

import casid
from casid.errors import DatasetError
from casid.inertia import pseudo_inertia
from casid.retrieval import Constraint, Problem, soften

pytest.importorskip("clarabel", reason="needs the extra test")

from papers.methods.comparison import problem as regression_problem
from papers.methods.regression import random_regression
from papers.methods.sdpa import parse_sdpa, read_sdpa, semidefinite_program, solve_sdpa, write_sdpa


@pytest.fixture(scope="module")
def problem() -> Problem:
    """Two links, semi or full, an affine bound that is active, a soft one that is broken."""
    stated = regression_problem(random_regression(2, seed=5, points=40))
    first, second = stated.variables
    heavy = Constraint("heavy", first.mass + second.mass, lower=1.5 * float(random_regression(2, 5).truth[9::10].sum()))
    wanted = soften(Constraint("light second", second.mass, upper=0.1), weight=3.0)
    return stated.add(heavy, wanted)


def test_an_independent_solver_finds_the_same_optimum(problem):
    ours = casid.solve(problem)
    theirs = solve_sdpa(parse_sdpa(semidefinite_program(problem).text(), "text"))
    assert ours.certified
    assert theirs == pytest.approx(ours.total, rel=1e-7)


def test_files_are_read_back_to_the_last_bit(problem, tmp_path):
    written = write_sdpa(problem, tmp_path / "p.dat-s")
    read = read_sdpa(tmp_path / "p.dat-s")
    assert read.blocks == written.blocks and read.names == written.names and read.constant == written.constant
    for name in ("cost", "places", "values"):
        np.testing.assert_array_equal(getattr(read, name), getattr(written, name))


def test_blocks_are_what_they_say(problem):
    program = semidefinite_program(problem)
    rng = np.random.default_rng(0)
    y = rng.normal(size=len(program.cost))
    x, squares = y[: problem.variables.size], y[problem.variables.size :]
    blocks = program.matrices(y)
    rows = len(problem.objective.target)
    residual = problem.objective.matrix @ x - problem.objective.target
    for k in (0, rows - 1):
        np.testing.assert_allclose(blocks[k], [[squares[k], residual[k]], [residual[k], 1.0]], atol=1e-9)
    for k, entry in enumerate(problem.cones):
        expected = pseudo_inertia(x[10 * k : 10 * k + 10]) - entry.margin * np.eye(4)
        np.testing.assert_allclose(blocks[rows + k], expected, atol=1e-9)


def test_what_is_not_affine_is_named(tmp_path):
    written = write_sdpa(casid.load_problem("spatial_2r"), tmp_path / "two.dat-s")
    assert "link1 com in its cylinder" in read_sdpa(tmp_path / "two.dat-s").left_out == written.left_out
    lower = solve_sdpa(read_sdpa(tmp_path / "two.dat-s"))
    assert lower <= casid.solve(casid.load_problem("spatial_2r")).objective + 1e-7


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda t: "1\n", "number of unknowns"),
        (lambda t: t.replace("\n1 1 1 1 1.0", "\n1 1 1 1", 1), "matrix block row column value"),
        (lambda t: t.replace("\n1 1 1 1 1.0", "\n1 9 1 1 1.0", 1), "no entry"),
        (lambda t: t.replace("\n1 1 1 1 1.0", "\n1 1 1 1 nan", 1), "no finite number"),
        (lambda t: t.replace("\n1 2 1 1 1.0", "\n1 2 1 2 1.0", 1), "diagonal"),
    ],
)
def test_malformed_files(change, message):
    text = "1\n2\n2 -2\n1.0\n1 1 1 1 1.0\n0 1 2 2 -1.0\n1 2 1 1 1.0\n"
    assert parse_sdpa(text, "text").blocks == (2, -2)
    with pytest.raises(DatasetError, match=message):
        parse_sdpa(change(text), "text")
