"""Reproduction of the documents: nothing missing, nothing staged, refusals; pages equal a fresh run."""

import re
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose

import casid
from casid.errors import DatasetError
from casid.inertia import to_standard
from casid.retrieval.program._nlp import uniform_parameters

pytest.importorskip("clarabel", reason="needs the extra test")

import reproduce
from benchmarks import published, seeds
from papers.catalogue import PAPERS, paper_of
from papers.item import Check, Outcome, Setting, Status
from papers.methods.earlier import parameters_of, theta_of, ting
from papers.methods.feasible_set import lmi
from papers.methods.penalties import PenalisedRetrieval
from papers.methods.point_masses import PriorMasses, grid, mass_map, regression_by_masses
from papers.methods.regression import random_regression
from papers.page import CHANGED, FAILS, HOLDS, Done, counts, overview, page, same, section_of, sections
from reproduce import compute

from tests.scripts.needs import needs_data


def test_no_item_is_missing_and_each_says_how():
    for paper in PAPERS:
        names = [item.name for item in paper.items]
        assert set(names) >= seeds.EXPECTED[paper.key] and len(names) == len(set(names))
        for item in paper.items:
            assert len(item.how) > 15
            if item.status is Status.IN_KIND:
                assert "stand-in" in item.how


def test_without_the_data_folder_an_item_says_what_it_needs(monkeypatch, tmp_path):
    monkeypatch.setenv("CASID_DATA", str(tmp_path))
    item = paper_of("sousa2014").item("Table 4.1")
    assert "CASID_DATA" in compute(item, Setting(quick=True)).missing


def test_a_table_with_a_wrong_number_of_rows_is_refused(monkeypatch, tmp_path):
    monkeypatch.setenv("CASID_DATA", str(tmp_path))
    (tmp_path / "README.md").write_text("data")
    (tmp_path / "published").mkdir()
    (tmp_path / "published" / "wam_table_4_3_pd_gains.csv").write_text("joint,Kp,Kd\n1,200,5\n")
    with pytest.raises(DatasetError, match="has 7 rows, this file has 1"):
        published.table("wam_table_4_3_pd_gains")
    with pytest.raises(DatasetError, match="no such table"):
        published.table("wam_table_4_1_dh")


def test_the_penalised_objective_is_that_of_the_paper():
    problem = casid.load_problem("panda_retrieval")
    paper, rng = PenalisedRetrieval.of(problem), np.random.default_rng(0)
    p = paper.uniform(rng, 3)
    assert (p >= paper.lower).all() and (p <= paper.upper).all()
    for row in p:
        bodies = []
        for m, *rest in row.reshape(7, 10):
            xx, xy, xz, yy, yz, zz = rest[3:]
            bodies.append(to_standard(m, np.array(rest[:3]), np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])))
        assert_allclose(paper.standard(row), np.concatenate(bodies), atol=1e-12)
        assert paper.phi(row) == pytest.approx(problem.objective(np.concatenate(bodies)), rel=1e-12)
    value, gradient = paper.value_and_gradient(p[0], 30.0)
    assert value == pytest.approx(float(paper.value(p[0], 30.0)), rel=1e-12)
    steps = 1e-6 * np.eye(paper.size)
    numeric = (paper.value(p[0] + steps, 30.0) - paper.value(p[0] - steps, 30.0)) / 2e-6
    assert_allclose(gradient, numeric, atol=1e-6 * np.abs(gradient).max())


@pytest.mark.claim("random starts of Algorithm 1 are uniform in masses, centres of mass and inertias")
def test_starts_of_algorithm_1_are_uniform_between_all_bounds():
    problem, rng = casid.load_problem("panda_retrieval"), np.random.default_rng(3)
    paper = PenalisedRetrieval.of(problem)
    draws = []
    for _ in range(400):
        x = uniform_parameters(problem, rng)
        points = []
        for ten in x.reshape(7, 10):
            m, c = ten[9], ten[6:9] / ten[9]
            steiner = m * ((c @ c) * np.eye(3) - np.outer(c, c))
            points.append([m, *c, *(ten[:6] - steiner[[0, 0, 0, 1, 1, 2], [0, 1, 2, 1, 2, 2]])])
        draws.append((np.ravel(points) - paper.lower) / paper.width)
    unit = np.array(draws)
    assert unit.min() > -1e-9 and unit.max() < 1 + 1e-9
    assert_allclose(unit.mean(axis=0), 0.5, atol=0.08)  # 5.5 standard deviations of the mean of 400
    assert_allclose(unit.var(axis=0), 1 / 12, atol=0.03)


def test_a_strong_prior_holds_the_point_masses_and_a_weak_one_lets_go():
    rng = np.random.default_rng(1)
    maps = [mass_map(grid(np.array([[-0.1, 0.2], [0.0, 0.3], [-0.2, 0.1]])))]
    truth, prior = maps[0] @ rng.uniform(0, 1, 27), maps[0] @ rng.uniform(0, 1, 27)
    R = rng.normal(size=(30, 10))
    masses = PriorMasses.of_bodies(prior, maps, 1e4).masses
    assert_allclose(maps[0] @ masses, prior, atol=1e-9)
    strong = regression_by_masses(R, R @ truth, maps, np.zeros(10), PriorMasses(masses, 1e4), 1e-10)
    weak = regression_by_masses(R, R @ truth, maps, np.zeros(10), PriorMasses(masses, 1e-6), 1e-10)
    assert_allclose(strong.x, prior, atol=1e-3)
    assert_allclose(weak.x, truth, atol=1e-3)


def test_theta_of_ting_is_a_feasible_body_and_never_beats_the_semidefinite_optimum():
    data = random_regression(2, seed=2, points=40, kind="semi", margin=0.0)
    bodies = data.truth
    back, jacobian = parameters_of(theta_of(bodies))
    assert_allclose(back, bodies, atol=1e-12)
    theta, step = theta_of(bodies), 1e-6
    numeric = (parameters_of(theta + step)[0] - parameters_of(theta - step)[0]) / (2 * step)
    assert_allclose(np.concatenate([block @ np.ones(10) for block in jacobian]), numeric, atol=1e-7)
    found = ting(data)
    assert found.eigenvalue >= -1e-12
    assert found.excess >= lmi(data, 1e-11).excess * (1 - 1e-6)


@pytest.fixture(scope="module")
def wam():
    needs_data()
    from papers.methods.wam import wam_data

    return wam_data(0, ("A",), periods=1)


def renewed(paper, old="", outcome=None, missing="", others="later"):
    """The page after its first item was computed; sections of the others stay as they are in an old page."""
    first, *rest = paper.items
    return page(paper, [Done(first, outcome, missing), *(Done(item, None, others) for item in rest)], False, old, rest)


def test_a_renewed_page_keeps_the_other_sections():
    paper = paper_of("sutanto2020")
    old = renewed(paper, missing="old words", others="kept words")
    text = renewed(paper, old, missing="new words", others="lost words")
    assert "new words" in text and text.count("kept words") == len(paper.items) - 1
    assert "old words" not in text and "lost words" not in text
    assert renewed(paper, text, missing="new words", others="lost words") == text


def test_what_cannot_be_computed_says_why_and_keeps_what_was_computed():
    paper = paper_of("sutanto2020")
    refused = renewed(paper, renewed(paper, missing="waits"), missing="needs a package")
    assert "needs a package" in refused and "waits" not in refused
    good = renewed(paper, refused, Outcome(words=("a result",)))
    assert "a result" in good and "needs a package" not in good
    assert renewed(paper, good, missing="needs a package") == good


def test_a_page_counts_what_holds_also_in_kept_sections():
    paper = paper_of("gaz2019")
    text = renewed(paper, outcome=Outcome(checks=(Check("one", True), Check("two of beta*", False))))
    assert f"{HOLDS}one" in text and f"{FAILS}two of beta\\*" in text and "| reproduced, differs | 1 of 2 |" in text
    later = [Done(item, None, "not now") for item in paper.items]
    assert "| reproduced, differs | 1 of 2 |" in page(paper, later, False, text, paper.items[:1])


@pytest.mark.parametrize("paper", PAPERS, ids=lambda paper: paper.key)
def test_the_page_in_the_documentation_has_every_item_and_its_pictures(paper):
    folder = Path(__file__).parents[2] / "docs" / "papers"
    text = (folder / f"{paper.key}.md").read_text(encoding="utf-8")
    assert [line for line in text.splitlines() if line.startswith("## ")] == [
        f"## {item.name}: {item.title}" for item in paper.items
    ]
    assert counts(paper.items) in text and "--quick" not in text and "Not computed" not in text
    for item, section in zip(paper.items, text.split("\n## ")[1:], strict=True):
        if item.status is Status.REPRODUCED:  # what cannot fail reproduces nothing
            assert HOLDS in section or FAILS in section, item.name
    named = set(re.findall(r"\]\(([^)]+\.png)\)", text))
    assert named == {f"{paper.key}/{path.name}" for path in (folder / paper.key).glob("*.png")}


def test_an_unexpected_verdict_in_either_direction_is_a_change():
    assert Check("true", True).changed is False and Check("true", False).changed
    assert Check("known to differ", False, False).changed is False and Check("known to differ", True, False).changed
    paper = paper_of("gaz2019")
    assert CHANGED in renewed(paper, outcome=Outcome(checks=(Check("one", True, False),)))
    text = renewed(paper, outcome=Outcome(checks=(Check("one", False, False),)))
    assert CHANGED not in text and "| reproduced, differs | 0 of 1 |" in text


def test_the_exit_code_tells_a_changed_verdict(tmp_path, monkeypatch):
    paper = paper_of("gaz2019_supplement")
    item = paper.item("Sec. V")
    for verdict, code in (
        (Check("one", False, False), False),
        (Check("one", True, False), True),
        (Check("one", False), True),
    ):
        outcome = Outcome(checks=(verdict,))
        monkeypatch.setattr("reproduce.compute", lambda one, setting, made=outcome: Done(one, made))
        options = ["reproduce.py", paper.key, "--only", item.name, "--out", str(tmp_path)]
        monkeypatch.setattr("sys.argv", options)
        assert bool(reproduce.main()) is code


SLOW = {("gaz2019_supplement", "Sec. III"), ("sousa2014", "Sec. 8.1 (terms)")}
REPEATABLE = [
    pytest.param(paper.key, item.name, marks=[pytest.mark.slow] * ((paper.key, item.name) in SLOW))
    for paper in PAPERS for item in paper.items if item.repeatable
]  # fmt: skip


@pytest.mark.claim("pages equal a fresh run, with the recorded verdicts")
@pytest.mark.parametrize(("key", "name"), REPEATABLE)
def test_the_page_is_what_a_fresh_run_gives(key, name):
    item = paper_of(key).item(name)
    done = compute(item, Setting())
    if done.missing and "CASID_DATA" in done.missing:
        pytest.skip(done.missing)
    assert done.outcome is not None
    assert not [check.claim for check in done.outcome.checks if check.changed]
    text = (Path(__file__).parents[2] / "docs" / "papers" / f"{key}.md").read_text(encoding="utf-8")
    assert same(section_of(done, key).strip(), sections(text)[name].strip())


def test_the_first_page_lists_every_item_and_is_that_of_the_pages():
    folder = Path(__file__).parents[2] / "docs" / "papers"
    pages = {paper.key: (folder / f"{paper.key}.md").read_text(encoding="utf-8") for paper in PAPERS}
    text = (folder / "index.md").read_text(encoding="utf-8")
    assert text == overview(pages)
    assert text.count("\n| [") == sum(len(paper.items) for paper in PAPERS)
    assert all(CHANGED not in page for page in pages.values())


@pytest.mark.slow
@pytest.mark.claim("the feasibility test decides all ten simulated estimates of the WAM")
@pytest.mark.parametrize("seed", range(10))
def test_every_simulated_estimate_is_decided(seed):
    needs_data()
    from papers.methods.wam import wam_data

    found = wam_data(seed, ("A",)).corrected
    assert found.verdict == "infeasible" and 0 < found.proven_distance <= found.distance


@pytest.mark.slow
def test_the_simulated_arm_is_infeasible_by_least_squares_and_ordered_like_the_thesis(wam):
    assert wam.base.rank == 76
    errors = {name: wam.relative_error(beta, weighted=True) for name, beta in wam.solutions().items()}
    assert wam.corrected.verdict == "infeasible" and wam.constrained.certified
    assert errors["beta_WLS"] <= errors["beta*"] <= errors["beta*e"] + 1e-9
    assert errors["beta*"] <= errors["beta'"] + 1e-9
    triangle = wam.triangle
    beta = wam.weighted.beta
    weighted = float(wam.weighted.weights**2 @ wam.regression.squared_errors(beta))
    assert float(np.sum((triangle[:-1, :-1] @ beta - triangle[:-1, -1]) ** 2)) < 1e-9 * weighted
    assert triangle[-1, -1] ** 2 == pytest.approx(weighted, rel=1e-9)
