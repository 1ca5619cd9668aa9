"""Sec. 3.1: the feasible set as polynomials; for a planar arm, without the parameters that do not matter."""

from __future__ import annotations

import casadi as ca
import numpy as np
from matplotlib.figure import Figure

from casid.description import Joint, Link, Robot
from casid.dynamics import Model
from casid.identification.repair import feasibility_test as certified_test
from casid.inertia._parameters import spatial_inertia
from casid.report import BLUE, INK, ORANGE, new_figure, set_title, tidy
from papers.item import Check, Comparison, Item, Outcome, Setting, Status
from papers.methods.feasibility_test import FeasibleSet, feasibility_test
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


def by_lmi(model: Model, beta: np.ndarray) -> bool:
    """Whether the matrix inequality (eq. 3.34) has a solution for these base parameters."""
    return feasibility_test(model.base.K, beta, FeasibleSet(20, (0, 10), "semi"), tolerance=1e-7).feasible


def section(model: Model, points: int, length: float = 0.5) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Both verdicts on a plane of base parameters, ``Lzz1 + a^2 m2`` against ``lx2``, the others fixed.

    The axes' points; verdicts by hand and by the inequality, shape (points, points, 2).
    """
    inertia, moment = np.linspace(-0.1, 1.0, points), np.linspace(-0.8, 0.8, points)
    verdicts = np.zeros((points, points, 2), dtype=bool)
    fixed = {"Lzz1": 0.0, "lx1": 0.3, "ly1": 0.1, "Lzz2": 0.15, "lx2": 0.0, "ly2": 0.1}
    for i, first in enumerate(inertia):
        for j, second in enumerate(moment):
            values = {**fixed, "Lzz1": float(first), "lx2": float(second)}
            beta = np.array([values[name] for name in model.base.names])
            verdicts[i, j] = closed_form(values, length), by_lmi(model, beta)
    return inertia, moment, verdicts


def picture(inertia: np.ndarray, moment: np.ndarray, verdicts: np.ndarray) -> Figure:
    """Points by the inequality, the boundary by hand."""
    figure = new_figure(8.0, 4.4)
    set_title(figure, "Planar arm: boundary by hand, points by the LMI")
    axes = figure.subplots()
    x, y = np.meshgrid(moment, inertia)
    good = verdicts[..., 1]
    axes.plot(x[good], y[good], "o", color=BLUE, markersize=4, label="feasible by the LMI")
    axes.plot(x[~good], y[~good], "x", color=ORANGE, markersize=4, label="infeasible by the LMI")
    fine = np.linspace(moment[0], moment[-1], 200)
    axes.plot(fine, 0.25 * (fine**2 + 0.01) / 0.15, color=INK, label="a² (lx2² + ly2²) / Lzz2")
    axes.set(xlabel="lx2 [kg m]", ylabel="Lzz1 + a² m2 [kg m²]", ylim=(inertia[0], inertia[-1]))
    axes.legend(fontsize=8, loc="upper center")
    tidy(axes)
    return figure


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
        verdict = certified_test(model, beta, consistency="semi", margin=1e-9)
        if verdict.verdict != "undecided":
            decided += 1
            same += verdict.feasible == closed_form(dict(zip(model.base.names, beta.tolist(), strict=True)))
    points = 6 if setting.quick else 17
    inertia, moment, verdicts = section(model, points)
    equal = int((verdicts[..., 0] == verdicts[..., 1]).sum())
    rows = [
        ["minors and eigenvalues agree, random links", f"{agree} of {count}"],
        ["base parameters of the planar arm", ", ".join(model.base.expressions)],
        ["closed form and certified test agree, random base parameters", f"{same} of {decided} decided"],
        ["closed form and matrix inequality agree, points of the picture", f"{equal} of {points**2}"],
    ]
    return Outcome(
        (Comparison.of("The feasible set as a semialgebraic set", ("", "here"), rows),),
        {"sec_3_1": picture(inertia, moment, verdicts)},
        words=(
            "By hand: in the plane a link is a body when m > 0 and Lzz m > lx^2 + ly^2. The base parameters are beta_1 "
            "= Lzz1 + a^2 m2, beta_2 = lx1 + a m2, ly1, Lzz2, lx2, ly2; m1 and m2 are free. Link 2: there is an m2 if "
            "and only if Lzz2 > 0, namely any m2 > (lx2^2 + ly2^2) / Lzz2. Link 1: Lzz1 = beta_1 - a^2 m2 must exceed "
            "((beta_2 - a m2)^2 + ly1^2) / m1; as m1 may be as large as one likes, Lzz1 > 0 is enough. Both together: "
            "there is an m2 between (lx2^2 + ly2^2) / Lzz2 and beta_1 / a^2. The quantifiers are gone: Lzz2 > 0 and "
            "beta_1 > a^2 (lx2^2 + ly2^2) / Lzz2. The thesis leaves this to cylindrical algebraic decomposition and "
            "gives no result.",
        ),
        checks=(
            Check("the polynomials (eq. 3.1-3.6) describe the same set as the matrix inequality", agree == count),
            Check(
                "the arm's conditions without the free parameters are those of the certified test", 0 < same == decided
            ),
            Check("they are those of the matrix inequality at every point of the picture", equal == points**2),
        ),
    )


ITEM = Item(
    "Sec. 3.1",
    "feasible parameters as a semialgebraic set; the planar arm",
    Status.REPRODUCED,
    "Sylvester's minors (eq. 3.1-3.6) against eigenvalues; the planar arm's conditions by hand against the matrix "
    "inequality and the certified test",
    run,
)
