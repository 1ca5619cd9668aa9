"""Chapters 2 and 3: contact, earlier methods, the feasible set, regression as a semidefinite program."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache, partial

import casadi as ca
import numpy as np
from benchmarks.measure import scratch
from matplotlib.figure import Figure
from scipy import sparse

import casid
from casid.arrays import Array
from casid.control import Controller, ForceControl, Impedance
from casid.description import Joint, Link, Robot
from casid.dynamics import BaseParameters, Model
from casid.identification.repair import feasibility_test as certified_test
from casid.inertia._parameters import spatial_inertia
from casid.motion import Hold
from casid.report import BLUE, INK, ORANGE
from casid.simulation import Plant, SmoothCoulomb, Stops, Wall, simulate_many
from papers import wam_cases as thesis
from papers.item import Parts, Setting, below, compared, holds, items_of, numbers, pictured, stated
from papers.methods.comparison import run_size
from papers.methods.earlier import mata_eigenvalues, prior
from papers.methods.feasible_set import FeasibleSet, conic, epigraph, feasibility_test, least_squares, lmi, minors
from papers.methods.regression import Answer, Regression, random_regression
from papers.methods.sdpa import read_sdpa, solve_sdpa, write_sdpa
from papers.methods.yoshida import BETA_T1, BETA_T2, three_link
from papers.pictures import panels

item = items_of("sousa2014")

FRAME, MISFIT = "link7", "beta_WLS"
#: A point of the wall [m], its outward normal, stiffness [N/m], damping [N.s/m].
SURFACE, NORMAL, STIFFNESS, DAMPING = np.array([0.6, 0.0, 0.0]), np.array([-1.0, 0.0, 0.0]), 1e4, 50.0
#: How far the reference lies behind the surface, and the start before it [m].
INSIDE, BEFORE = 0.02, 0.005
#: Impedance along and about the axes, critically damped: stiffness, apparent inertia.
K, A = np.array([1000.0] * 3 + [20.0] * 3), np.array([5.0] * 3 + [0.1] * 3)
#: Force [N], first estimate of the wall's stiffness [N/m], gains of the rest of the frame's motion.
FORCE, FIRST, KP, KD = 15.0, 2e4, 400.0, 40.0
#: Seconds; postures: middle and half width of the random angles [rad], least singular value of the Jacobian.
DURATION, POSTURES = 2.0, 32
MIDDLE, SPREAD, CLEAR = np.array([0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0]), 1.5, 0.1


def law(kind: str, name: str) -> Controller:
    """A controller with the links of a set, friction left out as in Sec. 5.2."""
    links, pi = Plant(thesis.model(), thesis.parameters(name)).links
    if kind == "impedance":
        return Impedance(links, pi, K, 2 * np.sqrt(K * A), FRAME, inertia=A)
    gains = np.full(6, KP), np.full(6, KD)
    return ForceControl(links, pi, *gains, FRAME, direction=-NORMAL, force=FORCE, stiffness=FIRST)


def expected(kind: str) -> float:
    """Force at rest with an exact model: impedance and wall in series; what is asked for [N]."""
    return float(K[0] * STIFFNESS / (K[0] + STIFFNESS) * INSIDE) if kind == "impedance" else FORCE


@cache
def postures(count: int) -> tuple[Array, Array]:
    """References behind the surface and starts before it, shapes (count, 7), away from singular postures."""
    place, jacobian = thesis.model().frame_placement(FRAME), thesis.model().frame_jacobian(FRAME)

    def along(q: Array, x: float, rows: int) -> Array:
        """The nearest posture with the frame at x; with six rows its other coordinates and axes stay."""
        first = np.array(place(q))
        for _ in range(30):
            here = np.array(place(q))
            turn = sum(np.cross(here[:3, i], first[:3, i]) for i in range(3)) / 2
            error = np.concatenate([first[:3, 3] - here[:3, 3], turn])
            error[0] = x - here[0, 3]
            q = q + np.linalg.pinv(np.array(jacobian(q))[:rows]) @ error[:rows]
        return q

    rng = np.random.default_rng(0)
    found: list[tuple[Array, Array]] = []
    while len(found) < count:
        q = along(rng.uniform(-SPREAD, SPREAD, 7) + MIDDLE, SURFACE[0] + INSIDE, 1)
        if np.linalg.svd(np.array(jacobian(q)))[1][-1] > CLEAR:
            found.append((q, along(q, SURFACE[0] - BEFORE, 6)))
    references, starts = (np.array(part) for part in zip(*found, strict=True))
    return references, starts


@dataclass(frozen=True, eq=False)
class Contact:
    """One law with one set in all postures: instants (N,), forces on the wall (postures, N) [N], NaN after an end."""

    t: Array
    force: Array

    @property
    def broken(self) -> int:
        """In how many postures the arm broke loose."""
        return int(np.isnan(self.force[:, -1]).sum())

    @property
    def final(self) -> Array:
        """Forces at the end where there was no other."""
        return np.asarray(self.force[~np.isnan(self.force[:, -1]), -1])


@cache
def contact(kind: str, name: str, count: int) -> Contact:
    """From rest before the wall to rest in it."""
    references, starts = postures(count)
    wall = Wall(FRAME, SURFACE, NORMAL, STIFFNESS, DAMPING)
    plant = Plant(thesis.model(), thesis.parameters(thesis.MACHINE), SmoothCoulomb(0.02), forces=(wall,))
    done = simulate_many(
        plant, law(kind, name), [Hold(q) for q in references], DURATION, q0=starts, every=10, stops=Stops(speed=50.0)
    )
    model = thesis.model()
    place, jacobian = (f.map(len(done.t)) for f in (model.frame_placement(FRAME), model.frame_jacobian(FRAME)))
    force = []
    for q, dq in zip(done.q, done.dq, strict=True):
        x = np.array(place(q.T))[0, 3::4]
        v = np.einsum("nj,nj->n", np.array(jacobian(q.T))[0].reshape(len(q), 7), dq)
        depth = x - SURFACE[0]
        force.append(np.where(depth > 0, np.maximum(STIFFNESS * depth + DAMPING * v, 0.0), 0.0 * depth))
    return Contact(done.t, np.array(force))


def figure(kind: str, done: dict[str, Contact]) -> Figure:
    """Force over time in every posture, a panel a set."""
    title = f"{kind} control: force on the wall in {len(next(iter(done.values())).force)} postures"
    made, each = panels(title, 10.0, 5.0, 1, len(done), sharey=True)
    for axes, (name, one) in zip(each, done.items(), strict=True):
        axes.plot(one.t, one.force.T, linewidth=0.7)
        axes.axhline(expected(kind), color="0.4", linestyle=":", linewidth=1.0)
        axes.set(xlabel="time [s]", title=f"{name}: {one.broken} broke loose", ylim=(-1.0, 4 * expected(kind)))
    each[0].set_ylabel("force [N]")
    return made


def wall_contact(kind: str, setting: Setting) -> Parts:
    """One law with the sets of Table 4.9."""
    count = 8 if setting.quick else POSTURES
    done = {n: contact(kind, n, count) for n in ((MISFIT, "beta*") if setting.quick else thesis.SETS)}
    rows: list[list[object]] = [
        [n, sum(_least(n, q) <= 0 for q in postures(count)[1]), one.broken,
         *np.percentile(one.final, (0, 50, 100)).tolist()] for n, one in done.items()
    ]  # fmt: skip
    columns = ("controller's model", "M not positive definite", "broke loose", "force at last: least", "median",
               "largest")  # fmt: skip
    table = f"Contact in {count} postures; force at rest with an exact model {expected(kind):.4g} N"
    feasible = [one for n, one in done.items() if n != MISFIT]
    spread = max(float(np.abs(one.final - expected(kind)).max()) for one in feasible)
    yield compared(table, columns, rows)
    yield pictured(f"sec_2_4_{3 if kind == 'impedance' else 4}", figure(kind, done))
    yield holds(not any(one.broken for one in feasible), done[MISFIT].broken > 0)
    if kind == "force":
        yield stated(spread)
        yield holds(spread <= 0.01 * FORCE)


item("Sec. 2.4.3")(partial(wall_contact, "impedance"))
item("Sec. 2.4.4")(partial(wall_contact, "force"))


def _least(name: str, q: Array) -> float:
    """Smallest eigenvalue of the mass matrix of a set."""
    M = Plant(thesis.model(), thesis.parameters(name)).given.mass_matrix(q)
    return float(np.linalg.eigvalsh(np.array(M))[0])


LINKS = 7


@item("Sec. 2.6")
def sec_2_6(setting: Setting) -> Parts:
    """Every method's answer, checked here."""
    links = 2 if setting.quick else LINKS
    data = random_regression(links, seed=0, kind="semi")
    size = run_size(data, mata_seconds=1.0 if setting.quick else 20.0, repeats=1)
    rows = [
        [
            name, a.error_above_ols, a.excess / size.optimum - 1, "yes" if a.feasible else "no",
            "yes" if a.solved else "no", 1e3 * a.solve_time,
        ]
        for name, a in size.answers.items()
    ]  # fmt: skip
    columns = (
        "method",
        "error above OLS [%]",
        "excess, relative to the optimum's",
        "feasible",
        "says solved",
        "solver [ms]",
    )
    yield compared(f"Constrained regression of {links} links, m > 0 and I > 0", columns, rows)


#: Links; weights of the prior term relative to the data term (lambda_beta over lambda_omega, both scaled by the mean
#: diagonal of W'W).
LINKS_PRIOR_TERM, WEIGHTS = 7, (0.0, 1e-6, 1e-4, 1e-2, 1.0, 100.0)


@dataclass(frozen=True, eq=False)
class Pulled:
    """Answers to eq. 2.69 for one weight, by Mata's nonlinear program and by the semidefinite one.

    ``least`` is the value below which the objective cannot be.
    """

    weight: float
    least: float
    sequential: Answer
    semidefinite: Answer

    @property
    def above(self) -> float:
        """How far Mata's value of eq. 2.69 is above the semidefinite one, relative."""
        return (self.sequential.excess - self.semidefinite.excess) / (self.least + self.semidefinite.excess)


def with_prior(data: Regression, towards: Array, weight: float) -> Regression:
    """``lambda_omega |omega - W delta|^2 + lambda_beta |beta_hat - delta|^2`` as one regression with more rows.

    Random data determine all standard parameters: the base parameters of eq. 2.69 are delta itself, K = 1.
    """
    size = len(towards)
    pull = np.sqrt(weight * float(np.mean(np.diag(data.R.T @ data.R)))) * np.eye(size)
    return replace(
        data, W=np.concatenate([data.triangle[:, :-1], pull]),
        tau=np.concatenate([data.triangle[:, -1], pull @ towards]), outputs=1,
    )  # fmt: skip


def study(links: int, seconds: float) -> tuple[Regression, Array, list[Pulled]]:
    """All weights on one draw of random data, towards uniform bodies half as large as the links' boxes."""
    data = random_regression(links, seed=0, kind="semi")
    towards, found = prior(data), []
    for weight in WEIGHTS:
        pulled = with_prior(data, towards, weight)
        found.append(Pulled(weight, pulled.constant, mata_eigenvalues(pulled, seconds=seconds), lmi(pulled, 1e-11)))
    return data, towards, found


def picture(data: Regression, towards: Array, found: list[Pulled]) -> Figure:
    """Error above OLS and distance from the prior over the weight."""
    figure, (axes,) = panels("The prior term of eq. 2.69: fit against distance from the prior (links: 7)", 9.0, 4.2)
    weights = [max(one.weight, 1e-8) for one in found]
    errors = [data.error_above_ols(one.semidefinite.x) for one in found]
    away = [100 * distance(one.semidefinite.x, towards) for one in found]
    axes.loglog(weights, errors, "o-", color=BLUE, label="error above OLS [%]")
    axes.loglog(weights, away, "s-", color=ORANGE, label="distance from the prior, relative [%]")
    axes.set(xlabel="weight of the prior term (leftmost: none)")
    axes.legend(frameon=False)
    return figure


def distance(x: Array, towards: Array) -> float:
    """Relative to the prior."""
    return float(np.linalg.norm(x - towards) / np.linalg.norm(towards))


@item("Sec. 2.6.6")
def sec_2_6_6(setting: Setting) -> Parts:
    """Both solvers for every weight."""
    links = 2 if setting.quick else LINKS_PRIOR_TERM
    data, towards, found = study(links, 2.0 if setting.quick else 20.0)
    rows = [
        [f"{one.weight:g}", data.error_above_ols(one.semidefinite.x), data.error_above_ols(one.sequential.x),
         100 * distance(one.semidefinite.x, towards), "yes" if one.sequential.success else "no",
         one.sequential.iterations, below(abs(one.above), 1e-6)]
        for one in found
    ]  # fmt: skip
    columns = (
        "lambda_beta / lambda_omega", "error above OLS [%], LMI-SDP", "by Mata (eigenvalues, SQP)",
        "distance from the prior [%]", "solved and feasible", "iterations", "objective apart from LMI-SDP, relative",
    )  # fmt: skip
    errors = np.array([data.error_above_ols(one.semidefinite.x) for one in found])
    iterations = [one.sequential.iterations for one in found]
    yield compared(f"Constrained regression of {links} links with a prior term, m > 0 and I > 0", columns, rows)
    yield pictured("prior_term", picture(data, towards, found))
    yield holds((np.diff(errors) >= -1e-5 * errors.max()).all(), iterations[-1] < iterations[0])
    yield holds(all(abs(one.above) <= 1e-6 for one in found))


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


def picture_planar_arm(inertia: np.ndarray, moment: np.ndarray, verdicts: np.ndarray) -> Figure:
    """Points by the inequality, the boundary by hand."""
    figure, (axes,) = panels("Planar arm: boundary by hand, points by the LMI", 8.0, 4.4)
    x, y = np.meshgrid(moment, inertia)
    good = verdicts[..., 1]
    axes.plot(x[good], y[good], "o", color=BLUE, markersize=4, label="feasible by the LMI")
    axes.plot(x[~good], y[~good], "x", color=ORANGE, markersize=4, label="infeasible by the LMI")
    fine = np.linspace(moment[0], moment[-1], 200)
    axes.plot(fine, 0.25 * (fine**2 + 0.01) / 0.15, color=INK, label="a² (lx2² + ly2²) / Lzz2")
    axes.set(xlabel="lx2 [kg m]", ylabel="Lzz1 + a² m2 [kg m²]", ylim=(inertia[0], inertia[-1]))
    axes.legend(fontsize=8, loc="upper center")
    return figure


@item("Sec. 3.1")
def sec_3_1(setting: Setting) -> Parts:
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
    yield compared("The feasible set as a semialgebraic set", ("", "here"), rows)
    yield pictured("sec_3_1", picture_planar_arm(inertia, moment, verdicts))
    yield holds(agree == count, 0 < same == decided, equal == points**2)


SAMPLES = 20


def ols_by_sdp(W: Array, w: Array, known: float = 0.0) -> tuple[Array, float]:
    """``min u, [[u - known, (w - W b)'], [w - W b, 1]] >= 0`` (eq. 3.44; eq. 3.51 with known = |rho_2|^2): b and u."""
    A, b, cone = epigraph(W, w, known)
    x = conic(np.append(np.zeros(W.shape[1]), 1.0), A.tocsc(), b, [cone], 1e-11).x
    return x[:-1], float(x[-1])


def constrained(base: BaseParameters, R: Array, rho: Array, dependent: bool) -> tuple[Array, float]:
    """Eq. 3.53 in the base-dependent space, or eq. 3.58 in that of the standard parameters: beta and its error."""
    S, cones, unit = FeasibleSet(30, (0, 10, 20), "semi").rows()
    rank, others = base.rank, [k for k in range(30) if k not in base.independent]
    if dependent:  # delta from (beta, delta_d): the inverse of eq. 3.11
        to_delta = np.zeros((30, 30))
        to_delta[list(base.independent), :rank] = np.eye(rank)
        to_delta[np.ix_(list(base.independent), range(rank, 30))] = -base.K[:, others]
        to_delta[others, rank:] = np.eye(30 - rank)
        forms = np.hstack([np.eye(rank), np.zeros((rank, 30 - rank))])
    else:
        to_delta, forms = np.eye(30), base.K
    beta = forms @ least_squares(R @ forms, rho, S @ sparse.csc_matrix(to_delta), cones, unit, 1e-6, 1e-11).x
    return beta, float(np.sum((R @ beta - rho) ** 2))


@item("Sec. 3.5")
def sec_3_5(setting: Setting) -> Parts:
    """The same optimum by every form; and a set that is infeasible, yet feasible in what it shows."""
    (base, target), (_, feasible), rng = three_link(BETA_T2), three_link(BETA_T1), np.random.default_rng(35)
    W = rng.normal(size=(3 * SAMPLES, base.rank))
    w = W @ target + 0.1 * rng.normal(size=len(W))
    analytic = np.linalg.lstsq(W, w, rcond=None)[0]
    least = float(np.sum((w - W @ analytic) ** 2))
    Q, R = np.linalg.qr(W)
    rho = Q.T @ w
    whole, reduced = ols_by_sdp(W, w), ols_by_sdp(R, rho, least)
    standard, based = constrained(base, R, rho, False), constrained(base, R, rho, True)
    hat = np.zeros(30)
    hat[list(base.independent)] = feasible
    own = min(float(np.linalg.eigvalsh(spatial_inertia(hat[k : k + 10]))[0]) for k in (0, 10, 20))
    virtually = feasibility_test(base.K, base.K @ hat, FeasibleSet(30, (0, 10, 20), "semi"))
    rows: list[list[object]] = [
        ["OLS, analytic (eq. 2.58)", "", least, ""],
        ["OLS as an SDP (eq. 3.44)", len(w) + 1, whole[1], below(float(np.abs(whole[0] - analytic).max()), 1e-5)],
        ["reduced by QR (eq. 3.51)", base.rank + 1, reduced[1],
         below(float(np.abs(reduced[0] - analytic).max()), 1e-5)],
        ["feasible, base-dependent space (eq. 3.53)", "", least + based[1], ""],
        ["feasible, standard space (eq. 3.58)", "", least + standard[1],
         below(float(np.abs(standard[0] - based[0]).max()), 1e-5)],
    ]  # fmt: skip
    apart = max(float(np.abs(one[0] - analytic).max()) for one in (whole, reduced))
    columns = ("form", "order of the matrix U", "least u", "largest difference of beta from the form before")
    yield compared("Regression of the three-link robot, 60 equations around beta_t2", columns, rows)
    yield numbers(own)
    yield holds(apart <= 1e-5, float(np.abs(standard[0] - based[0]).max()) <= 1e-5, own < 0 and virtually.feasible)


@item("Sec. 7.2")
def sec_7_2(setting: Setting) -> Parts:
    """The Panda's retrieval as an SDPA file, read back and solved by another solver."""
    solution = casid.solve(casid.load_problem("panda_retrieval"))
    with scratch() as folder:
        path = folder / "panda.dat-s"
        write_sdpa(solution.problem, path)
        program, size = read_sdpa(path), path.stat().st_size
    found = solve_sdpa(program)
    apart = abs(found / solution.objective - 1)
    rows = [[len(program.cost), len(program.blocks), size, found, solution.objective]]
    columns = ("unknowns", "blocks", "bytes", "optimum of the file, Clarabel", "optimum, casid")
    yield compared("From symbols to coefficient matrices to an SDPA file and back", columns, rows)
    yield holds(apart <= 1e-6)
