"""What hard constraints imply for links: regions, quadratic forms, secants; nominal and random bodies within them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

import casadi as ca
import numpy as np
import pytest

import casid
from casid.errors import ProblemError
from casid.inertia import consistency, from_standard, to_standard
from casid.retrieval import (
    InfeasibleError,
    LeastSquares,
    Problem,
    com_box,
    explain,
    least_squares,
    link_variables,
    solve,
)
from casid.retrieval._region import Facts, Quadric, link_regions
from casid.retrieval.constraints import PhysicalConsistency
from casid.retrieval.constraints._constraint import LinkConstraint, ScalarRow, Setting
from casid.retrieval.program._nlp import nominal_parameters
from casid.testing import BODY, arm
from tests.helpers import nearest


def cloud(rng: np.random.Generator) -> np.ndarray:
    """Ten parameters of some point masses: a physical body."""
    masses, places = rng.uniform(0.1, 1.0, 6), rng.normal(size=(6, 3)) * rng.uniform(0.05, 0.5, 3)
    centre = masses @ places / masses.sum()
    arms = places - centre
    inertia = sum(m * (r @ r * np.eye(3) - np.outer(r, r)) for m, r in zip(masses, arms, strict=True))
    return np.asarray(to_standard(masses.sum(), centre, inertia))


def cones(links: int, *, free: bool = False) -> list:
    variables = link_variables(arm(links))
    own = tuple(PhysicalConsistency(link.index, link.name, "none", 0.0) for link in variables) if free else ()
    problem = Problem("arm", variables, least_squares(variables, np.eye(10 * links), np.zeros(10 * links)), own)
    return [entry.cone for entry in problem.cones]


def test_every_body_within_bounds_lies_in_the_region_of_its_bounds() -> None:
    """Of point clouds, with bounds around their own quantities, of which some are left out."""
    rng, variables, consistent = np.random.default_rng(2), link_variables(arm()), cones(1)
    for _ in range(300):
        x = cloud(rng)
        mass, centre, inertia = from_standard(x)
        facts, link = Facts(variables), variables[0]
        if rng.random() < 0.8:
            facts.within("mass", link, 0.5 * mass, mass * rng.uniform(1, 1.3))
        if rng.random() < 0.8:
            facts.within("com", link, centre - rng.uniform(0, 0.1, 3), centre + rng.uniform(0, 0.1, 3))
        if rng.random() < 0.7:
            six = inertia[[0, 0, 0, 1, 1, 2], [0, 1, 2, 1, 2, 2]]
            facts.within("inertia_com", link, six - rng.uniform(0, 0.1, 6), six + rng.uniform(0, 0.1, 6))
        spread = (x[0] + x[3] + x[5]) / 2
        if rng.random() < 0.7:
            facts.reach_below(link, spread / mass * rng.uniform(1, 1.3))
        (region,) = link_regions(facts, consistent)
        assert (np.abs(x) <= region.box * (1 + 1e-12)).all() and region.positive_mass
        assert spread + mass <= region.trace * (1 + 1e-12)
        assert region.mass[0] <= mass <= region.mass[1]


BOX = np.array([[-0.2, 0.3], [-0.1, 0.4], [0.05, 0.5]])


def values(form, x: np.ndarray) -> float:
    return float(form.form @ x + x[6:9] @ form.square @ x[6:9] / x[9])


@pytest.mark.parametrize("kind", ["concave", "convex", "mixed", "pair", "cone"])
def test_cuts_hold_at_every_point_that_meets_the_bound(kind: str) -> None:
    """Of bodies with their centre of mass in the box; at the point that they are made at, a concave form's is tight."""
    rng, met = np.random.default_rng(6), 0
    for _ in range(40):
        A = rng.normal(size=(3, 3))
        square = {"concave": -A @ A.T, "convex": A @ A.T, "mixed": A + A.T, "pair": np.zeros((3, 3)),
                  "cone": np.diag([-1.0, -1.0, 1.0])}[kind]  # fmt: skip
        if kind == "pair":
            square[0, 2] = square[2, 0] = rng.normal()
        cone = kind == "cone"
        scale = 0.0 if cone else 0.3
        inertia, moment = scale * rng.normal(size=6), scale * rng.normal(size=3)
        form = Quadric(0, 2, np.array([*inertia, *moment, -0.01 if cone else 0.1 * rng.normal()]), square)
        assert (form.lorentz(BOX) is not None) == cone
        assert form.is_convex_set(np.full((3, 2), np.inf)) == (np.linalg.eigvalsh(square).max() <= 1e-12)
        bodies = []
        for _ in range(60):
            x = cloud(rng)
            x[6:9] = x[9] * rng.uniform(BOX[:, 0], BOX[:, 1])
            bodies.append(x)
        rows = [*form.cuts(BOX, bodies[0])]
        for x in bodies:
            if values(form, x) >= 0:
                met += 1
                assert all(row @ x >= -1e-9 for row in rows)
        if kind == "concave":
            assert min(row @ bodies[0] for row in rows) == pytest.approx(values(form, bodies[0]))
        if cone and values(form, bodies[0]) < 0:
            assert min(row @ bodies[0] for row in rows) < 0  # it is cut off
    assert met > 100


@pytest.mark.claim("boxes of 1e8 m leave a nominal body; what double precision cannot hold is refused by name")
def test_nominal_bodies_in_boxes_of_any_size() -> None:
    links = link_variables(casid.load_robot("spatial_2r"))
    objective = LeastSquares(np.zeros((0, links.size)), np.zeros(0))

    def nominal(low: list[float], high: list[float]) -> np.ndarray:
        return nominal_parameters(Problem("box", links, objective, com_box(links["link1"], low, high)))

    for low, high in (([-1e5, -1e8, -0.3], [1e8, 1e8, 0.3]), ([-1.0, 90.0, 50.0], [1.0, 1e6, 1e6])):
        ten = nominal(low, high)[:10]
        assert consistency(ten).pseudo_inertia_margin > 1e-6
        assert (np.array(low) <= ten[6:9] / ten[9]).all() and (ten[6:9] / ten[9] <= high).all()
    with pytest.raises(ProblemError, match="link1: its centre of mass is bounded to about 1e\\+09 m"):
        nominal([1e9, 0.0, 0.0], [1e9 + 0.1, 0.1, 0.1])


@dataclass(frozen=True, eq=False)
class Spread(LinkConstraint):
    """``m <= most`` of a link, in a form of its own: everything about it is here."""

    unit: ClassVar[str] = "kg"

    def _quantity(self) -> ca.SX:
        return self.links[0].mass

    def own_rows(self, setting: Setting) -> Iterable[ScalarRow]:
        yield ScalarRow(3 * (self.upper[0] - self.links[0].mass), 0.0, np.inf, True, 0, "upper")

    def add_facts(self, facts: Facts) -> None:
        facts.within("mass", self.links[0], -np.inf, float(self.upper[0]))


@pytest.mark.claim("a new kind of constraint is one new class")
def test_a_new_kind_of_constraint() -> None:
    problem = nearest(BODY, lambda v: Spread("light", upper=1.5, links=(v[0],)), bounded=False)
    found = solve(problem)
    assert found["m1"] == pytest.approx(1.5, abs=1e-7) and found.objective == pytest.approx(0.25, rel=1e-5)
    assert problem.regions[0].mass[1] == 1.5
    assert any("light <= 1.5 kg" in str(bound) for bound in explain(found).bounds)
    with pytest.raises(InfeasibleError, match=r"light <= 0\.4 kg"):
        solve(nearest(BODY, lambda v: Spread("light", upper=0.4, links=(v[0],))))
