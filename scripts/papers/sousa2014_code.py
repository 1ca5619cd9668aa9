"""Chapters 7 and 8: generated code, and future work."""

from __future__ import annotations

import ctypes
import time
import timeit
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache

import clarabel
import numpy as np
from benchmarks import published
from matplotlib.figure import Figure
from scipy import sparse
from scipy.stats import spearmanr

import casid
from casid.arrays import Array
from casid.codegen import LANGUAGES, CFunction, compile_shared, scalar_source, script_source
from casid.description import Joint, Link, Robot, rotation_x, rotation_z, transform
from casid.dynamics import Model
from casid.report import BLUE, GREEN, INK, ORANGE, RED
from papers import wam_cases as thesis
from papers.item import Parts, Setting, below, compared, holds, items_of, numbers, pictured
from papers.methods.feasible_set import FeasibleSet, closest_feasible, conic, feasibility_test, stack
from papers.methods.wam import random_poses
from papers.pictures import panels

item = items_of("sousa2014")

#: Twist and offset of the angle; lengths are zero (standard notation).
TABLE = ((-np.pi / 2, np.pi / 2), (np.pi / 2, -np.pi / 2))
#: Base parameters as printed, in the names used here.
PRINTED = (
    "Lyy1 + Lzz2", "fv1", "fc1", "Lxx2 - Lzz2", "Lxy2", "Lxz2", "Lyy2", "Lyz2", "lx2", "lz2", "fv2", "fc2",
)  # fmt: skip
#: Additions (and subtractions) and multiplications in the printed C function, signs not counted.
ADDITIONS, MULTIPLICATIONS = 30, 43


def robot() -> Robot:
    """Two joints whose frames share their origin."""
    joints = []
    for k, (alpha, offset) in enumerate(TABLE):
        joints.append(
            Joint(
                f"joint{k + 1}", "revolute", k - 1, Link(f"link{k + 1}"), transform(rotation_z(offset)),
                link_placement=transform(rotation_x(alpha)),
            )
        )  # fmt: skip
    return Robot("example", tuple(joints), gravity=np.array([0.0, 0.0, -9.81]))


def pose(q: np.ndarray) -> np.ndarray:
    """The end frame as printed."""
    (s1, s2), (c1, c2) = np.sin(q), np.cos(q)
    return np.array([[-s1 * s2, -c1, s1 * c2, 0], [s2 * c1, -s1, -c1 * c2, 0], [c2, 0, s2, 0], [0, 0, 0, 1]])


def jacobian(q: np.ndarray) -> np.ndarray:
    """The end frame's Jacobian as printed: linear, then angular."""
    c1, s1 = np.cos(q[0]), np.sin(q[0])
    return np.array([[0, 0], [0, 0], [0, 0], [0, -c1], [0, -s1], [1, 0]])


def deviations(poses: int = 20) -> tuple[float, float]:
    """Largest deviation of the end frame, and of its Jacobian, from the printed expressions."""
    model, far, turned = Model(robot()), 0.0, 0.0
    for q in np.random.default_rng(8).uniform(-3, 3, (poses, 2)):
        far = max(far, float(np.abs(np.array(model.forward_kinematics.call([q])[-1]) - pose(q)).max()))
        turned = max(turned, float(np.abs(np.array(model.jacobian.call([q])[-1]) - jacobian(q)).max()))
    return far, turned


@item("Sec. 7.1.2")
def sec_7_1_2(setting: Setting) -> Parts:
    """Frame, Jacobian, base parameters and operations."""
    model = Model(robot(), ("viscous", "coulomb"))
    far, turned = deviations()
    operations = CFunction(model.inverse_dynamics).operations
    expressions = list(model.base.expressions)
    groupings = [[k + 1, text, "yes" if text in expressions else "no"] for k, text in enumerate(PRINTED)]
    counts: list[list[object]] = [
        ["additions", ADDITIONS, operations.additions],
        ["multiplications", MULTIPLICATIONS, operations.multiplications],
    ]
    yield compared("Base parameters", ("", "printed", "found here, too"), groupings)
    yield compared("Operations of the generated C function", ("", "printed listing", "here"), counts)
    yield numbers(model.base.rank, ", ".join(expressions), far, turned)
    yield holds(set(expressions) == set(PRINTED), max(far, turned) <= 1e-12)
    yield holds(operations.additions + operations.multiplications <= ADDITIONS + MULTIPLICATIONS)


#: Different states that the generated C is timed on.
STATES = 64
C_TIME, DIFFERENCE = "generated C [us]", "generated Python against C, largest difference"
ROBOTS = {"Stanford": "stanford", "Puma_560": "puma560", "WAM_7DOF": "wam7"}


def measured(name: str, calls: int) -> dict[str, float]:
    """What the writer made of a robot's inverse dynamics with viscous and Coulomb friction, by the rows of the table.

    Generation is that of model, graph and operations; times are those of one evaluation; in a batch every lane of the
    processor's vectors has a sample; the difference is over the largest torque.
    """
    began = time.process_time()
    model = Model(casid.load_robot(name), ("viscous", "coulomb"))
    function = CFunction(model.inverse_dynamics)
    operations = function.operations
    generation = time.process_time() - began
    rng, n = np.random.default_rng(0), model.n
    q, dq, ddq = rng.uniform(-1, 1, (3, calls, n))
    pi = rng.uniform(0, 1, len(model.parameter_names))
    module: dict[str, Callable[..., list[float]]] = {}
    exec(compile(script_source([function], name, LANGUAGES["python"]), f"{name}.py", "exec"), module)
    script = module[function.name]
    one = (q[0].tolist(), dq[0].tolist(), ddq[0].tolist(), pi.tolist())
    torques = model.inverse_dynamics(q, dq, ddq, pi, compiled=True).reshape(calls, n)
    written = np.array([script(*(part[k].tolist() for part in (q, dq, ddq)), pi.tolist()) for k in range(100)])
    batch = _per_call(lambda: model.inverse_dynamics(q, dq, ddq, pi, compiled=True), 3) / calls
    return {
        "code generation [s]": generation,
        "additions": operations.additions,
        "multiplications": operations.multiplications,
        "generated Python [us]": 1e6 * _per_call(lambda: script(*one), 200),
        C_TIME: 1e6 * _c_seconds(function, [part[:STATES] for part in (q, dq, ddq)], pi, 10 * calls),
        "generated C in a batch, one of many samples [us]": 1e6 * batch,
        "CasADi's interpreter [us]": 1e6 * _per_call(lambda: model.inverse_dynamics(q[0], dq[0], ddq[0], pi), 200),
        "generated Julia, source [bytes]": len(script_source([function], name, LANGUAGES["julia"])),
        DIFFERENCE: float(np.abs(written - torques[:100]).max() / np.abs(torques).max()),
    }


def _c_seconds(function: CFunction, states: Sequence[Array], pi: Array, calls: int) -> float:
    """One call of the generated C function, from a loop in C over a few states; the best of three loops.

    The loop goes through a pointer that the compiler does not know, so every call is made and none is inlined.
    """
    n = states[0].shape[1]
    loop = (
        "typedef int call(const double *, const double *, const double *, const double *, double *);\n"
        "void repeat(long calls, call *f, const double *q, const double *dq, const double *ddq, const double *pi, "
        "double *tau)\n"
        f"{{ for (long k = 0; k < calls; ++k) {{ long i = {n} * (k % {STATES}); "
        "f(q + i, dq + i, ddq + i, pi, tau); } }\n"
    )
    library = ctypes.CDLL(str(compile_shared(scalar_source([function], "casid") + loop, "table_7_1")))
    arrays = [*(np.ascontiguousarray(part) for part in states), pi, np.zeros(n)]
    pointers = [ctypes.c_void_p(a.ctypes.data) for a in arrays]
    called = ctypes.cast(getattr(library, function.name), ctypes.c_void_p)
    return _per_call(lambda: library.repeat(ctypes.c_long(calls), called, *pointers), 3) / calls


def _per_call(function: Callable[[], object], repeats: int) -> float:
    """Shortest processor time of a few calls [s]."""
    return min(timeit.repeat(function, timer=time.process_time, number=1, repeat=repeats))


@item("Table 7.1")
def table_7_1(setting: Setting) -> Parts:
    """All three robots."""
    printed = published.table("table_7_1_codegen")
    found = {key: measured(name, 1000 if setting.quick else 20_000) for key, name in ROBOTS.items()}
    rows: list[list[object]] = []
    for k, label in enumerate(found["Stanford"]):
        known = printed[k] if k < len(printed) else {}
        cells = ((known.get(key), one[label]) for key, one in found.items())
        rows.append([label, *(cell for pair in cells for cell in pair)])
    fewer = all(
        one[label] <= int(printed[k][key])
        for key, one in found.items()
        for k, label in ((1, "additions"), (2, "multiplications"))
    )
    columns = ("", *(text for key in ROBOTS for text in (key, f"{key}, here")))
    yield compared("Inverse dynamics with viscous and Coulomb friction", columns, rows)
    yield holds(fewer, all(one[DIFFERENCE] <= 1e-12 for one in found.values()))
    yield holds(all(one[C_TIME] < 1 for one in found.values()))


#: Random states; random rows of each term's regressor; distances below this are those of four printed decimals.
STATES_INFEASIBLE_TERMS, ROWS, ROUNDING = 4000, 60, 0.5e-4 * np.sqrt(76)
#: States of each point of the curves, and a change of acceleration [%] beyond which its digits mean nothing.
CURVE, ENORMOUS = 1000, 1e4
#: Shares of states at which a term is not that of a machine.
SHARES = (
    "mass matrix indefinite", "kinetic energy negative", "a joint moved against its own torque",
    "end effector moved against a wrench", "friction that drives",
)  # fmt: skip
#: Terms whose identifiable parameters are tested by themselves.
TERMS = ("gravity", "Coriolis", "mass matrix", "friction", "all")


@dataclass(frozen=True, eq=False)
class States:
    """Positions, velocities and joint torques, shape (7, N) each: uniform poses, normal velocities [rad/s]."""

    q: Array
    dq: Array
    tau: Array

    @classmethod
    @cache
    def drawn(cls, count: int) -> States:
        """Seeded; torques of the size of the arm's own."""
        rng = np.random.default_rng(81)
        return cls(random_poses(count), rng.normal(size=(7, count)), 5.0 * rng.normal(size=(7, count)))


@cache
def jacobians(count: int) -> Array:
    """Of the last link, shape (N, 6, 7)."""
    stacked = np.array(thesis.model().jacobian.map(count)(States.drawn(count).q)[-1])
    return np.asarray(stacked.reshape(6, count, 7).transpose(1, 0, 2))


@dataclass(frozen=True, eq=False)
class TermValues:
    """The model's terms at all states.

    M (N, 7, 7); Coriolis and gravity torques, and friction without its constant part, (7, N); accelerations under the
    drawn torques (N, 7).
    """

    M: Array
    coriolis: Array
    gravity: Array
    friction: Array
    ddq: Array

    @classmethod
    def of(cls, pi: Array, count: int) -> TermValues:
        """Of standard parameters."""
        model, states = thesis.model(), States.drawn(count)
        M = np.asarray(model.mass_matrix(states.q.T, pi))
        c = np.array(model.coriolis.map(count)(states.q, states.dq, pi))
        g = np.array(model.gravity.map(count)(states.q, pi))
        lossy = pi.copy()
        lossy[[k for k, (term, _) in model.term_columns.items() if not term.nonnegative]] = 0.0
        friction = np.array(model.friction.map(count)(states.dq, lossy))
        ddq = np.linalg.solve(M, (states.tau - c - g - friction).T[..., None])[..., 0]
        return cls(M, c, g, friction, ddq)

    def shares(self) -> list[float]:
        """Percent of the states, in the order of `SHARES`."""
        count = len(self.M)
        dq, J = States.drawn(count).dq, jacobians(count)
        inverse = np.linalg.inv(self.M)
        mobility = J @ inverse @ J.transpose(0, 2, 1)
        wrong = (
            np.linalg.eigvalsh(self.M)[:, 0] <= 0,
            np.einsum("in,nij,jn->n", dq, self.M, dq) < 0,
            inverse[:, range(7), range(7)].min(axis=1) < 0,
            np.linalg.eigvalsh(mobility)[:, 0] < 0,
            np.einsum("in,in->n", dq, self.friction) < 0,
        )
        return [100.0 * float(np.mean(one)) for one in wrong]

    def apart(self, other: TermValues) -> list[float]:
        """Percent by which terms differ from another set's.

        Gravity, Coriolis torques and the mass matrix (root of squares); accelerations: median and largest.
        """
        parts = [(self.gravity, other.gravity), (self.coriolis, other.coriolis), (self.M, other.M)]
        errors = [100.0 * float(np.linalg.norm(a - b) / np.linalg.norm(b)) for a, b in parts]
        ratio = np.linalg.norm(self.ddq - other.ddq, axis=1) / np.linalg.norm(other.ddq, axis=1)
        return [*errors, 100.0 * float(np.median(ratio)), 100.0 * float(ratio.max())]


@cache
def identifiable(term: str) -> Array:
    """Orthonormal basis of what one term of the model shows of the parameters, shape (rank, N)."""
    model, rng, zero, rows = thesis.model(), np.random.default_rng(8), np.zeros(7), list[Array]()
    inertial = [*np.ravel(model.link_columns), *(k for k, (t, _) in model.term_columns.items() if t.inertial)]
    lossy = [k for k, (t, _) in model.term_columns.items() if not t.inertial]
    for _ in range(ROWS):
        q, dq, ddq = rng.uniform(-np.pi, np.pi, 7), rng.normal(size=7), rng.normal(size=7)
        still, moving, pushed = (
            np.array(model.regressor(q, *state)) for state in ((zero, zero), (dq, zero), (zero, ddq))
        )
        Y = {"gravity": still, "Coriolis": moving - still, "mass matrix": pushed - still, "friction": moving}.get(term)
        if Y is None:
            Y = np.array(model.regressor(q, dq, ddq))
        elif term == "friction":
            Y[:, inertial] = 0.0
        else:
            Y[:, lossy] = 0.0
        rows.append(Y)
    _, sizes, basis = np.linalg.svd(np.concatenate(rows), full_matrices=False)
    return np.asarray(basis[sizes > 1e-9 * sizes[0]])


def alone(term: str, name: str) -> tuple[int, float, float]:
    """What a term shows of a set: how many parameters, their distance from feasible ones, and the proof's radius."""
    forms, pi, allowed = identifiable(term), thesis.parameters(name), FeasibleSet.of(thesis.model())
    distance = closest_feasible(forms, forms @ pi, allowed)[1]
    return len(forms), distance, feasibility_test(forms, forms @ pi, allowed).excluded_radius


def along(weights: Array, count: int) -> Array:
    """Shares over the line of eq. 6.1 from beta_WLS to beta*, shape (weights, 5)."""
    ends = thesis.parameters("beta_WLS"), thesis.parameters("beta*")
    return np.array([TermValues.of((1 - w) * ends[0] + w * ends[1], count).shares() for w in weights])


def picture(weights: Array, shares: Array) -> Figure:
    """One curve a kind of defect."""
    figure, (axes,) = panels("What infeasible parameters spoil, from beta_WLS (0) to beta* (1)", 9.0, 4.8)
    for values, name, colour in zip(shares.T, SHARES, (BLUE, ORANGE, GREEN, RED, INK), strict=True):
        axes.plot(weights, values, "o-", markersize=3, linewidth=1.2, color=colour, label=name)
    axes.set(xlabel="λ of eq. 6.1", ylabel="random states [%]")
    axes.legend(frameon=False)
    return figure


def power_balance(name: str) -> float:
    """Largest ``|dq'(dM/dt - 2 C) dq|`` relative to ``|dq'C dq|`` at fifty states."""
    model, states, pi, worst = thesis.model(), States.drawn(STATES_INFEASIBLE_TERMS), thesis.parameters(name), 0.0
    for q, dq in zip(states.q.T[:50], states.dq.T[:50], strict=True):
        step = 1e-6 * dq
        rate = (np.array(model.mass_matrix(q + step, pi)) - np.array(model.mass_matrix(q - step, pi))) / 2e-6
        power = float(dq @ np.array(model.coriolis(q, dq, pi)).ravel())
        worst = max(worst, abs(float(dq @ rate @ dq) - 2 * power) / max(abs(power), 1e-3))
    return worst


@item("Sec. 8.1 (terms)")
def sec_8_1_terms(setting: Setting) -> Parts:
    """Every term, along the line of Fig. 6.1 and by itself."""
    count = 300 if setting.quick else STATES_INFEASIBLE_TERMS
    found = {name: TermValues.of(thesis.parameters(name), count) for name in thesis.SETS}
    best = found["beta*"]
    shares = {name: one.shares() for name, one in found.items()}
    rows = [[f"{name} [% of the states]", *(one[k] for one in shares.values())] for k, name in enumerate(SHARES)]
    apart = {name: one.apart(best) for name, one in found.items()}
    parts = {term: [alone(term, name) for name in ("beta_WLS", "beta*")] for term in TERMS}
    proofs = [
        [term, a[0], below(a[1], ROUNDING), "infeasible (proven)" if a[1] > ROUNDING and a[2] > 1e4 else "feasible",
         below(b[1], ROUNDING)]
        for term, (a, b) in parts.items()
    ]  # fmt: skip
    weights = np.linspace(0.0, 1.2, 7 if setting.quick else 13)
    curves = along(weights, min(count, CURVE))
    infeasible = {term for term, (a, _) in parts.items() if a[1] > ROUNDING and a[2] > 1e4}
    balance = power_balance("beta_WLS")
    yield compared("Terms that are not those of a machine", ("", *found), [*rows, *_differing(apart)])
    yield compared(
        "What each term shows of the parameters: could it be that of bodies?",
        ("term", "parameters", "distance of beta_WLS", "verdict", "distance of beta*"),
        proofs,
    )
    yield pictured("infeasible_terms", picture(weights, curves))
    yield numbers(len(TERMS), ROUNDING, count)
    yield holds({"Coriolis", "friction", "mass matrix"} <= infeasible, "gravity" not in infeasible)
    yield holds(min(shares["beta_WLS"][0], shares["beta_WLS"][2]) > 0, shares["beta_WLS"][4] > 0)
    yield holds(all(max(shares[name]) == 0 for name in thesis.FEASIBLE), balance <= 1e-5)
    yield holds(max(apart["beta_WLS"][:3]) <= 10 and apart["beta_WLS"][4] > 1000)


def _differing(apart: dict[str, list[float]]) -> list[list[object]]:
    """Rows of what `TermValues.apart` gives for each set."""
    labels = ("gravity", "Coriolis torques", "mass matrix", "acceleration, median", "acceleration, largest")
    rows = list[list[object]]()
    for k, label in enumerate(labels):
        cells = (f"above {ENORMOUS:.0e}" if one[k] > ENORMOUS else one[k] for one in apart.values())
        rows.append([f"{label} apart from beta* [%]", *cells])
    return rows


#: Share of the squared distance from which on a parameter is counted [%].
SMALL = 1.0

#: Share of the squared distance below which a parameter does not move [%]: the change is the cone solver's tolerance.
UNMOVED = 1e-4


@cache
def printed() -> tuple[Array, Array, Array, tuple[str, ...]]:
    """beta_WLS, its relative standard deviations [%], K, and the leading terms' names."""
    rows = published.table("wam_table_4_9_feasible_estimates")
    deviations = published.column(published.table("wam_table_4_6_classical_estimates"), "sd_WLS_percent")
    names = tuple(row["first_term"] for row in rows)
    return published.column(rows, "beta_WLS"), deviations, thesis.model().base.K, names


@cache
def plane() -> Array:
    """``d = beta' - beta_WLS``, normal of the plane that separates the estimate from all feasible parameters."""
    beta, _, K, _ = printed()
    return np.asarray(K @ closest_feasible(K, beta, FeasibleSet.of(thesis.model()))[0] - beta)


def without(index: int) -> float:
    """Distance that is left when one base parameter may take any value."""
    beta, _, K, _ = printed()
    keep = np.arange(len(beta)) != index
    return closest_feasible(K[keep], beta[keep], FeasibleSet.of(thesis.model()))[1]


def alone_contributions(index: int) -> float:
    """Smallest change of one base parameter by itself that makes the set feasible; infinite where there is none."""
    beta, _, K, _ = printed()
    S, cones, _ = FeasibleSet.of(thesis.model()).rows()
    size, unit = K.shape[1], sparse.csc_matrix(np.eye(len(beta))[:, [index]])
    P = sparse.block_diag([sparse.csc_matrix((size, size)), sparse.identity(1)], format="csc")
    A = stack([[sparse.csc_matrix(K), -unit], [-S, None]])
    b = np.concatenate([beta, np.zeros(S.shape[0])])
    cones = [clarabel.ZeroConeT(len(beta)), *cones]
    found = conic(np.zeros(size + 1), A, b, cones, 1e-8, P)
    return abs(float(found.x[-1])) if found.success else np.inf


def picture_contributions(share: Array, deviations: Array, names: tuple[str, ...]) -> Figure:
    """Shares of the squared distance, and shares over relative standard deviations."""
    title = "What each base parameter of beta_WLS contributes to its infeasibility"
    figure, (left, right) = panels(title, 11.0, 4.6, 1, 2)
    first = np.argsort(-share)[:12]
    left.barh([names[k] for k in first][::-1], share[first][::-1], color=BLUE)
    left.set(xlabel="share of the squared distance [%]", xscale="log")
    right.loglog(deviations, np.maximum(share, 1e-9), "o", color=ORANGE, markersize=4)
    right.set(xlabel="relative standard deviation of the estimate [%]", ylabel="share of the squared distance [%]")
    return figure


def _percent(share: float) -> str:
    """To a tenth; below one it is the cone solver's tolerance."""
    return f"{share:.1f}" if share >= 1 else "below 1"


@item("Sec. 8.1 (parameters)")
def sec_8_1_parameters(setting: Setting) -> Parts:
    """Shares, what is left without each parameter, and repairs by one parameter alone."""
    beta, deviations, _, names = printed()
    d = plane()
    share, distance = 100 * d**2 / float(d @ d), float(np.linalg.norm(d))
    order = np.argsort(-share)[: 4 if setting.quick else 12]
    sigma = np.abs(beta) * deviations / 100
    rows = [
        [names[k], float(beta[k]), float(d[k]), float(share[k]), float(deviations[k]),
         float(abs(d[k]) / sigma[k]) if sigma[k] > 0 else None, _percent(100 * (1 - (without(k) / distance) ** 2))]
        for k in order
    ]  # fmt: skip
    repairs = [] if setting.quick else [names[k] for k in range(len(beta)) if np.isfinite(alone_contributions(k))]
    moved = np.isfinite(deviations) & (deviations > 0) & (share > UNMOVED)
    relation = spearmanr(share[moved], deviations[moved])
    columns = (
        "beta", "beta_WLS", "change to beta'", "share of the squared distance [%]", "standard deviation [%]",
        "change in standard deviations", "distance lost if it were free [% of the square]",
    )  # fmt: skip
    large = int((share > SMALL).sum())
    yield compared("Parameters with the largest shares", columns, rows)
    yield pictured("contributions", picture_contributions(share, deviations, names))
    yield numbers(large, len(beta), SMALL, ", ".join(repairs) or "none", int(moved.sum()), UNMOVED, relation.statistic)
    yield numbers(relation.pvalue, deviations[order[0]], deviations[order[1]])
    yield holds({names[k] for k in order[:2]} == {"Fcj2", "Iam4"} and float(share[order[:2]].sum()) >= 90)
    yield holds(float(relation.statistic) > 0 and float(relation.pvalue) < 0.05, (deviations[order[:2]] > 30).all())
    yield holds(not repairs)
