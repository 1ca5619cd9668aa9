"""Sec. 6.2: the recursion of Yoshida and Khalil, carried out on their example, against the LMI."""

from __future__ import annotations

import clarabel
import numpy as np
from matplotlib.figure import Figure
from scipy import sparse

import casid
from casid.dynamics import Model
from casid.report import INK, new_figure, set_title, tidy
from casid.report._style import RED
from papers.item import Check, Comparison, Item, Outcome, Setting, Status
from papers.methods.feasibility_test import FeasibleSet
from papers.methods.lmi import settings
from papers.methods.yoshida_khalil import BETA_T1, BETA_T2
from papers.methods.yoshida_recursion import LX, LY, ZZ, Recursion, most_left, walk

SEEDS, OUTER = 10, 300


def recursion(table: dict[str, float]) -> Recursion:
    """Of a set of base parameters."""
    base = Model(casid.load_robot("three_link")).base
    return Recursion(base, np.array([table[name] for name in base.names]))


def left_by_lmi(one: Recursion) -> float:
    """The same largest remainder of link 1 by a conic program over links 2 and 3."""
    S, cones, _ = FeasibleSet(30, (10, 20), "semi").rows()
    rest = np.flatnonzero(np.array(one.base.independent) >= 10)
    first = int(np.flatnonzero(np.array(one.base.independent) < 10)[0])
    taken = one.base.K[first].copy()
    taken[one.base.independent[first]] = 0.0
    A = sparse.vstack([sparse.csc_matrix(one.base.K[rest]), -S], format="csc")
    b = np.concatenate([one.beta[rest], np.zeros(S.shape[0])])
    cones = [clarabel.ZeroConeT(len(rest)), *cones]
    result = clarabel.DefaultSolver(sparse.csc_matrix((30, 30)), taken, A, b, cones, settings(1e-10)).solve()
    return float(one.beta[first] - taken @ np.array(result.x))


def least_mass(one: Recursion) -> float:
    """Where the last link's region begins: ``(lx^2 + ly^2) / Lzz`` [kg]."""
    own = one.link(2, np.zeros((30, 1)))[:, 0]
    return float((own[LX] ** 2 + own[LY] ** 2) / own[ZZ])


def picture(sets: dict[str, Recursion], points: int) -> Figure:
    """The last link's region in its mass and lz; in it, what the best second link leaves for the first."""
    figure = new_figure(11.0, 4.6)
    set_title(figure, "Regions of the last link's mass and lz, and what they leave for link 1 [kg m²]")
    for axes, (name, one) in zip(figure.subplots(1, 2), sets.items(), strict=True):
        m3, z3 = np.meshgrid(np.linspace(1.0, 4.0, points), np.linspace(-1.0, 1.0, points))
        last = one.choose(2, np.zeros((30, 1)), m3.ravel(), z3.ravel())
        best = np.full(m3.size, np.nan)
        for z2 in np.linspace(-1.5, 1.5, 31):
            best = np.fmax(best, one.left(one.choose(1, last, np.full(m3.size, 1e12), np.full(m3.size, z2))))
        shown = axes.contourf(m3, z3, best.reshape(m3.shape), levels=np.linspace(-1.0, 0.2, 13), cmap="Blues")
        axes.contour(m3, z3, best.reshape(m3.shape), levels=[0.0], colors=RED)
        axes.axvline(least_mass(one), color=INK, linestyle="--", linewidth=1)
        axes.set(xlabel="m3 [kg]", ylabel="lz3 [kg m]", title=f"{name}; red: nothing left")
        figure.colorbar(shown, ax=axes)
        tidy(axes)
    return figure


def run(setting: Setting) -> Outcome:
    """Search by trial as published, regions closed in on, and the LMI."""
    sets = {"beta_t1": recursion(BETA_T1), "beta_t2": recursion(BETA_T2)}
    rows, left, found = list[list[object]](), dict[str, tuple[float, float]](), dict[str, int]()
    for name, one in sets.items():
        best, where = most_left(one)
        left[name] = best, left_by_lmi(one)
        walks = [walk(one, seed, 50 if setting.quick else OUTER) for seed in range(3 if setting.quick else SEEDS)]
        found[name] = sum(w.found for w in walks)
        outer, inner = (float(np.median([getattr(w, key) for w in walks])) for key in ("outer", "inner"))
        rows.append([name, f"{found[name]} of {len(walks)}", outer, inner, best, left[name][1], *where.tolist()])
    columns = (
        "set", "searches that end", "points of link 3 (median)", "of link 2", "largest value left for link 1", "by LMI",
        "at m3", "lz3", "lz2",
    )  # fmt: skip
    agree = max(abs(a - b) for a, b in left.values())
    return Outcome(
        (Comparison.of("Recursion from link 3 to link 1", columns, rows),),
        {"recursion": picture(sets, 30 if setting.quick else 60)},
        (
            "Link 3 is free in m3, lz3 and Lyy3, link 2 in m2, lz2 and Lyy2; each region is where the link's inertia "
            "about its centre of mass is positive, its least Lyy in closed form. Link 3's region begins at m3 = "
            f"(lx3^2 + ly3^2) / Lzz3 = {least_mass(sets['beta_t1']):.4f} kg (dashed). What both leave "
            "for Lyy1 must be positive. The authors chose by eye on screen; here points are drawn (masses by their "
            f"logarithm, 0.1 to 100 kg, first moments within 1 kg m), {OUTER} of link 3, 50 of link 2 for each.",
            "As the thesis says, a search that ends proves feasibility, one that does not proves nothing: that nothing "
            "is left for link 1 with beta_t2 is proven by the LMI's dual (Table 6.1).",
        ),
        (
            Check("beta_t1 is feasible: the recursion finds a body for every link", found["beta_t1"] > 0),
            Check("with beta_t2 no search ends", found["beta_t2"] == 0),
            Check("the most that the regions leave for link 1 is that of the LMI (to 1e-6)", agree <= 1e-6),
        ),
    )


ITEM = Item(
    "Sec. 6.2",
    "comparison to Yoshida's method: the recursion itself",
    Status.REPRODUCED,
    "the recursion with its regions on the printed base parameters, by trial and closed in on, beside the LMI",
    run,
    repeatable=True,
)
