"""Sec. 3.1: the feasible set as polynomials; for a planar arm, without the parameters that do not matter."""

from __future__ import annotations

import casadi as ca
import numpy as np

from casid.description import Joint, Link, Robot
from casid.dynamics import Model
from casid.identification.repair._feasibility import feasibility_test
from casid.inertia._parameters import spatial_inertia
from papers.item import Check, Comparison, Item, Outcome, Setting, Status
from papers.methods.sylvester import minors


def planar_arm(length: float = 0.5) -> Robot:
    """Two links in a vertical plane, axes along z, gravity along -y."""
    shoulder = Joint("joint1", "revolute", -1, Link("link1"))
    there = np.eye(4)
    there[0, 3] = length
    elbow = Joint("joint2", "revolute", 0, Link("link2"), there)
    return Robot("planar_2r", (shoulder, elbow), gravity=np.array([0.0, -9.80665, 0.0]))


def closed_form(beta: dict[str, float], length: float = 0.5) -> bool:
    """Whether base parameters are those of bodies, free of other unknowns.

    ``beta = (Lzz1 + a^2 m2, lx1 + a m2, ly1, Lzz2, lx2, ly2)``. With m1 and m2 as large as one likes only ``Lzz2 > 0``
    and the first link's ``Lzz1 = beta_1 - a^2 m2 > (lx1^2 + ly1^2) / m1`` remain; m1 is free and m2 must exceed
    ``(lx2^2 + ly2^2) / Lzz2``: ``beta_1 > a^2 (lx2^2 + ly2^2) / Lzz2`` with ``Lzz2 > 0``.
    """
    own, radius = beta["Lzz2"], beta["lx2"] ** 2 + beta["ly2"] ** 2
    return own > 0 and beta["Lzz1"] > length**2 * radius / own


def run(setting: Setting) -> Outcome:
    """Polynomials against eigenvalues on random links; the closed form against the certified test on the arm."""
    rng, count = np.random.default_rng(5), 20 if setting.quick else 500
    function = ca.Function("minors", [x := ca.SX.sym("x", 10)], [minors(x)])
    agree = 0
    for _ in range(count):
        link = rng.normal(size=10) * np.array([0.3, 0.05, 0.05, 0.3, 0.05, 0.3, 0.1, 0.1, 0.1, 1.0])
        link[[0, 3, 5, 9]] = np.abs(link[[0, 3, 5, 9]])
        agree += bool((np.array(function(link)) > 0).all()) == bool(np.linalg.eigvalsh(spatial_inertia(link))[0] > 0)
    model = Model(planar_arm())
    same, decided = 0, 0
    for _ in range(5 if setting.quick else 40):
        beta = rng.normal(size=model.base.rank) * 0.3
        verdict = feasibility_test(model, beta, consistency="semi", margin=1e-9)
        if verdict.verdict != "undecided":
            decided += 1
            same += verdict.feasible == closed_form(dict(zip(model.base.names, beta.tolist(), strict=True)))
    rows = [
        ["minors and eigenvalues agree, random links", f"{agree} of {count}"],
        ["base parameters of the planar arm", ", ".join(model.base.expressions)],
        ["closed form and certified test agree, random base parameters", f"{same} of {decided} decided"],
    ]
    return Outcome(
        (Comparison.of("The feasible set as a semialgebraic set", ("", "here"), rows),),
        words=(
            "For the arm the quantifiers can be eliminated by hand: Lzz2 > 0 and beta_1 > a^2 (lx2^2 + ly2^2) / Lzz2. "
            "The "
            "thesis leaves this to cylindrical algebraic decomposition and gives no result.",
        ),
        checks=(
            Check("the polynomials (eq. 3.1-3.6) describe the same set as the matrix inequality", agree == count),
            Check(
                "the arm's conditions without the free parameters are those of the certified test", 0 < same == decided
            ),
        ),
    )


ITEM = Item(
    "Sec. 3.1",
    "feasible parameters as a semialgebraic set; the planar arm",
    Status.REPRODUCED,
    "Sylvester's minors (eq. 3.1-3.6) against eigenvalues; the planar arm's conditions against the certified test",
    run,
)
