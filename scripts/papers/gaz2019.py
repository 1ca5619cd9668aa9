"""Items of Gaz et al. (2019): the Panda's dynamics, retrieval by penalties, validation."""

from __future__ import annotations

import time
import timeit
from collections.abc import Mapping, Sequence
from typing import Any

import casadi as ca
import numpy as np
from benchmarks import published
from joblib import Parallel, delayed
from matplotlib.figure import Figure
from scipy.special import expit

import casid
from casid.arrays import Array
from casid.dynamics import Model
from casid.inertia import pseudo_inertia, to_standard
from casid.motion import Sine
from casid.report import BLUE, GREEN, INK, ORANGE, RED
from casid.retrieval.methods import Penalty
from papers import panda
from papers.gaz2019_two_links import frame_error
from papers.item import Parts, Setting, compared, holds, items_of, numbers, paragraphs, pictured, stated
from papers.methods.penalties import FEASIBLE, PenalisedRetrieval, Runs, annealing, genetic
from papers.methods.penalties import panda as panda_of_penalties
from papers.pictures import bars_figure, joints_figure, legend, panels

item = items_of("gaz2019")

#: d_1, d_3, d_5, a_4, a_5, a_7 [m] as printed under the figure; alpha as in the robot's modified DH table.
D1, D3, D5, A4, A5, A7 = 0.333, 0.316, 0.384, 0.0825, -0.0825, 0.088
_QUARTERS = (0, -1, 1, 1, -1, 1, 1)
TABLE = tuple(zip((0, 0, 0, A4, A5, 0, A7), np.pi / 2 * np.array(_QUARTERS), (D1, 0, D3, 0, D5, 0, 0), strict=True))


@item("Fig. 1")
def fig_1(setting: Setting) -> Parts:
    """Forward kinematics of the shipped robot against a product of the printed table's matrices."""
    rng = np.random.default_rng(1)
    count = 5 if setting.quick else 100
    worst = frame_error(
        Model(casid.load_robot("panda")), rng.uniform(-2, 2, (count, 7)),
        lambda q: [modified_dh(*link, theta) for link, theta in zip(TABLE, q, strict=True)],
    )  # fmt: skip
    rows = [[k + 1, a, alpha, d] for k, (a, alpha, d) in enumerate(TABLE)]
    yield compared("Modified Denavit-Hartenberg parameters", ("joint", "a [m]", "alpha [rad]", "d [m]"), rows)
    yield numbers(count, worst)
    yield holds(worst <= 1e-12)


def modified_dh(a: float, alpha: float, d: float, theta: float) -> np.ndarray:
    """``Rot_x(alpha) Trans_x(a) Rot_z(theta) Trans_z(d)``."""
    ca, sa, ct, st = np.cos(alpha), np.sin(alpha), np.cos(theta), np.sin(theta)
    return np.array([[ct, -st, 0, a], [st * ca, ct * ca, -sa, -d * sa], [st * sa, ct * sa, ca, d * ca], [0, 0, 0, 1]])


BODIES = 4000


def verdicts(count: int) -> np.ndarray:
    """Random inertia tensors with positive mass by each form, shape (count, 4).

    Columns: positive definite (eq. 12, 14); triangle inequality of the principal moments (eq. 15); half the trace above
    the largest eigenvalue (eq. 16); positive definite pseudo-inertia.
    """
    rng, found = np.random.default_rng(16), np.zeros((count, 4), dtype=bool)
    for row in found:
        turn = np.linalg.qr(rng.normal(size=(3, 3)))[0]
        moments = rng.uniform(-0.2, 1.0, 3)
        tensor = turn @ np.diag(moments) @ turn.T
        a, b, c = (float(value) for value in moments)
        body = to_standard(rng.uniform(0.1, 5.0), rng.normal(size=3), (tensor + tensor.T) / 2)
        row[:] = (
            np.linalg.eigvalsh(tensor)[0] > 0,
            a + b > c and b + c > a and c + a > b,
            np.trace(tensor) / 2 > np.linalg.eigvalsh(tensor)[2],
            np.linalg.eigvalsh(pseudo_inertia(body))[0] > 0,
        )
    return found


@item("Sec. III-B")
def sec_iii_b(setting: Setting) -> Parts:
    """Counts, and which forms agree."""
    found = verdicts(200 if setting.quick else BODIES)
    positive, triangle, trace, pseudo = found.T
    names = (
        "I > 0 (eq. 12)", "triangle inequality (eq. 15)", "tr/2 > largest eigenvalue (eq. 16)", "pseudo-inertia > 0",
    )  # fmt: skip
    rows = [[name, int(own.sum()), int((own == triangle).sum())] for name, own in zip(names, found.T, strict=True)]
    columns = ("form", "bodies that obey it", "same verdict as eq. 15")
    yield compared(f"{len(found)} random tensors about the centre of mass", columns, rows)
    yield holds((triangle == trace).all(), positive[triangle].all() and positive.sum() > triangle.sum())
    yield holds((pseudo == triangle).all())


#: 5458 samples were collected; the sinusoids' amplitude in position is half the way they go.
SAMPLES = 5458


def sinusoids() -> Sine:
    """``dq_i = A_i sin(2 pi t / T_i)`` of Table I as a reference motion about the middle of the joint ranges.

    A negative amplitude begins towards negative positions. `Sine` begins at its centre and goes ``A T / pi`` from it.
    """
    rows = published.table("panda_ral_table_I_validation_sinusoids")
    speed, period = published.column(rows, "A_rad_per_s"), published.column(rows, "T_s")
    way = speed * period / np.pi
    limits = casid.load_robot("panda").limits
    return Sine((limits.lower + limits.upper) / 2 - way / 2, way, 1.0 / period, duration=SAMPLES / 1000.0)


@item("Table I")
def table_i(setting: Setting) -> Parts:
    """The motion, its limits and how many of its samples differ."""
    motion = sinusoids()
    t = np.arange(0.0, motion.duration, 0.01 if setting.quick else 0.001)
    state = motion.at(t)
    limits = casid.load_robot("panda").limits
    printed, rows = published.table("panda_ral_table_I_validation_sinusoids"), []
    for k, row in enumerate(printed):
        top = float(np.abs(state.dq[:, k]).max())
        inside = bool((state.q[:, k] >= limits.lower[k]).all() and (state.q[:, k] <= limits.upper[k]).all())
        rows.append([k + 1, row["A_rad_per_s"], row["T_s"], top, float(limits.velocity[k]), "yes" if inside else "no"])
    columns = ("joint", "A [rad/s] (printed)", "T [s] (printed)", "largest speed [rad/s]", "limit", "q within limits")
    speed, period = published.column(printed, "A_rad_per_s"), published.column(printed, "T_s")
    deviation = float(np.abs(state.dq - speed * np.sin(2 * np.pi * t[:, None] / period)).max())
    over = [str(row[0]) for row in rows if float(str(row[3])) > float(str(row[4]))]
    yield compared("Validation sinusoids", columns, rows)
    title = "Sinusoids of Table I, centred in the ranges"
    yield pictured("table_i_sinusoids", joints_figure(t, {"q": state.q}, title, "rad"))
    if over:
        yield paragraphs(f"The printed speeds of joints {', '.join(over)} exceed the limits that the vendor documents.")
    yield holds(deviation <= 1e-9, all(row[-1] == "yes" for row in rows), not over)


@item("Fig. 3")
def fig_3(setting: Setting) -> Parts:
    """pi_RE on the recorded exciting motion."""
    data, found = panda.recording(), panda.validations()["pi_RE"]
    tau, rigid, whole = data.tau, found.rigid, found.rigid + found.friction
    parts = {"without friction": rigid, "with friction": whole}
    size = np.append(np.linalg.norm(tau, axis=0), np.linalg.norm(tau))
    errors = {
        name: 100 * np.append(np.linalg.norm(tau - part, axis=0), np.linalg.norm(tau - part)) / size
        for name, part in parts.items()
    }
    rows: list[list[object]] = [[name, *values.tolist()] for name, values in errors.items()]
    largest = {int(k) + 1 for k in np.argsort(errors["without friction"][:7])[-3:]}
    better = bool((errors["with friction"] < errors["without friction"]).all())
    columns = ("relative error [%]", *panda.JOINTS, "all")
    yield compared("Lagrangian model with pi_RE", columns, rows)
    shown = {"measured": tau, "model": rigid, "model and friction": whole}
    missed = {"error of the model": tau - rigid, "with friction": tau - whole}
    yield pictured("fig_3", joints_figure(data.t, shown, "Joint torques, pi_RE", "N m", missed))
    yield holds(largest == {5, 6, 7}, better)


def sigmoid(phi: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Eq. 25."""
    one, two, three = phi
    return np.asarray(one * (expit(two * (v + three)) - expit(two * three)))


def printed_shapes() -> np.ndarray:
    """Phi of Table I of the supplement, shape (7, 3)."""
    rows = published.table("panda_table_I_friction")
    return np.array([[float(row[f"joint_{k}"]) for row in rows] for k in range(1, 8)])


@item("Fig. 4")
def fig_4(setting: Setting) -> Parts:
    """Residual torques of pi_RE over velocity with the fitted curve."""
    data, found, printed = panda.recording(), panda.validations()["pi_RE"], printed_shapes()
    assert data.dq is not None
    figure, each = panels("Friction: residual torque of pi_RE over velocity", 11.0, 6.0, 2, 4)
    rows = []
    for k, axes in enumerate(each):
        if k == 7:
            axes.set_axis_off()
            continue
        v = np.linspace(data.dq[:, k].min(), data.dq[:, k].max(), 200)
        axes.plot(data.dq[:, k], data.tau[:, k] - found.rigid[:, k], ".", color=RED, markersize=1, label="residual")
        axes.plot(v, sigmoid(found.shapes[k], v), color=BLUE, label="fitted here")
        axes.plot(v, sigmoid(printed[k], v), "--", color=GREEN, label="printed (Suppl. Table I)")
        axes.set_title(f"joint {k + 1}", fontsize=9)
        axes.set_xlabel("velocity [rad/s]", fontsize=8)
        if k % 4 == 0:
            axes.set_ylabel("torque [N m]", fontsize=8)
        level = sigmoid(found.shapes[k], np.array([1.0, -1.0])), sigmoid(printed[k], np.array([1.0, -1.0]))
        rows.append([k + 1, float(np.ptp(level[0])), float(np.ptp(level[1]))])
    legend(figure)
    columns = ("joint", "here", "printed")
    yield compared("Jump of the friction from -1 to 1 rad/s [N m]", columns, rows)
    yield pictured("fig_4", figure)


#: Runs, successive solves (as printed), and runs with IPOPT, which takes longer and always ends at the same point.
Q, KAPPA, WITH_IPOPT = 100, 10, 10
#: Evaluations of each of the kappa searches of a run; and, in fewer runs, with more time.
EVALUATIONS, MORE, PATIENT_RUNS = 1000, 10_000, 10
#: Titles of the pictures.
ENDS = "Algorithm 1: where the runs of each method end"
PENALTIES = "Annealing with constant and with violation-dependent penalties, the same 100 starts"


def ipopt_once(seed: int, lower_bound: float, kappa: int) -> tuple[float, float, int, float]:
    """One run of Algorithm 1 with exact penalties, from a start uniform in all unknowns."""
    began = time.process_time()
    problem = casid.load_problem("panda_retrieval", margin=1e-9)
    found = casid.solve(problem, method=Penalty(kappa, lower_bound), seed=seed, throw=False)
    return found.objective, found.max_violation, found.iterations, time.process_time() - began


def searches(runs: int, kappa: int, evaluations: int, jobs: int = 2) -> list[Runs]:
    """Both global methods with this many evaluations a search."""
    problem, _ = panda_of_penalties()
    return [
        annealing(problem, runs, kappa, evaluations, jobs),
        genetic(problem, runs, kappa, population=60, generations=evaluations // 20, jobs=jobs),
    ]


def study(
    runs: int = Q, kappa: int = KAPPA, evaluations: int = EVALUATIONS, ipopt_runs: int = WITH_IPOPT, jobs: int = 2
) -> tuple[list[Runs], casid.Solution]:
    """All methods, and the library's certified solution of the same problem."""
    _, solution = panda_of_penalties()
    found, bound = searches(runs, kappa, evaluations, jobs), solution.lower_bound
    done = Parallel(n_jobs=jobs)(delayed(ipopt_once)(seed, bound, kappa) for seed in range(ipopt_runs))
    phi, violation, iterations, seconds = (np.array(part) for part in zip(*done, strict=True))
    found.append(Runs("IPOPT, exact penalties", phi, violation, float(seconds.mean()), float(iterations.mean())))
    return found, solution


def rows(found: Sequence[Runs], optimum: float) -> list[list[object]]:
    """One a method."""
    return [
        [
            one.method, len(one.phi), len(one.feasible), best(one) if len(one.feasible) else None,
            float(np.median(one.phi)), one.successes(optimum), best(one) / optimum - 1 if len(one.feasible) else None,
            one.evaluations, one.seconds,
        ]
        for one in found
    ]  # fmt: skip


def best(runs: Runs) -> float:
    """Lowest value of a run that ended feasible."""
    return float(runs.feasible.min(initial=np.inf))


def picture(title: str, found: Mapping[str, Runs], optimum: float, printed: float | None = None) -> Figure:
    """Values of all runs in order, feasible ones filled."""
    figure, (axes,) = panels(title, 9.0, 4.6)
    for (name, one), colour, marker in zip(found.items(), (BLUE, ORANGE, GREEN), "osD", strict=False):
        order = np.argsort(one.phi)
        place, phi, good = (np.arange(len(order)) + 0.5) / len(order), one.phi[order], one.feasible_runs[order]
        axes.plot(100 * place[good], phi[good], marker, color=colour, markersize=3.5, label=name)
        axes.plot(100 * place[~good], phi[~good], marker, color=colour, markersize=3.5, markerfacecolor="white")
    if printed is not None:
        axes.axhline(printed, color=RED, linewidth=1.2, linestyle="--", label="printed p_hat, best of 100 runs")
    axes.axhline(optimum, color=INK, linewidth=1.2, label="certified optimum")
    axes.set(
        yscale="log", xlabel="share of the runs that end at or below [%]; open: not feasible", ylabel="|pi(p) - pi_RE|²"
    )
    legend(figure, 3)
    return figure


@item("Algorithm 1")
def algorithm_1(setting: Setting) -> Parts:
    """The comparison."""
    found, solution = study(2, 3, 300, 1, 1) if setting.quick else study()
    more = searches(1, 2, 600, 1) if setting.quick else searches(PATIENT_RUNS, KAPPA, MORE)
    optimum, printed = solution.lower_bound, solution.problem.objective(panda.printed_parameters("p_hat"))
    columns = (
        "method", "runs", "feasible", "best", "median", "within 1 %", "gap of the best",
        "evaluations a run", "s a run",
    )  # fmt: skip
    direct = [1, 1, solution.objective, solution.objective, 1, solution.gap, None, solution.solve_time]
    table: list[list[object]] = [
        ["paper: simulannealbnd and fmincon (printed p_hat)", Q, None, printed, None, None, printed / optimum - 1],
        ["convex program (certified)", *direct],
        *rows(found, optimum),
    ]
    table[0] += [None, None]
    table += [[f"{row[0]}, more evaluations", *row[1:]] for row in rows(more, optimum)]
    none_below = all(one.phi[one.feasible_runs].min(initial=np.inf) >= optimum * (1 - 1e-6) for one in (*found, *more))
    yield compared("|pi(p) - pi_RE|^2 over the 41 reliable coefficients", columns, table)
    yield pictured("algorithm_1", picture(ENDS, {one.method: one for one in found}, optimum, printed))
    yield numbers(EVALUATIONS, MORE)
    yield holds(printed > 1.01 * optimum, none_below, best(found[0]) <= printed)
    yield holds(found[2].successes(optimum) == len(found[2].phi))


class ConstantPenalties(PenalisedRetrieval):
    """``phi + xi_k (number of violated constraints)``: a step at each constraint, with no slope that leads back."""

    def value(self, p: Array, weight: float) -> Array:
        """F at points of shape (..., 10 n)."""
        broken = self.violations(p) > FEASIBLE
        return np.asarray(self.phi(p) + weight * broken.sum(axis=-1))

    def value_and_gradient(self, p: Array, weight: float) -> tuple[float, Array]:
        """F at one point, and its gradient wherever it has one: that of phi."""
        gradient = super().value_and_gradient(p, 0.0)[1]
        return float(self.value(p, weight)), gradient


@item("Sec. V")
def sec_v(setting: Setting) -> Parts:
    """Both penalties from the same starts."""
    problem, solution = panda_of_penalties()
    starts, kappa, evaluations = (3, 2, 200) if setting.quick else (Q, KAPPA, EVALUATIONS)
    found = {
        "constant": annealing(ConstantPenalties.of(solution.problem), starts, kappa, evaluations, jobs=1),
        "violation-dependent": annealing(problem, starts, kappa, evaluations, jobs=1),
    }
    optimum, rows = solution.lower_bound, list[list[object]]()
    for name, runs in found.items():
        good = runs.feasible
        middle = float(np.median(good)) if len(good) else None
        rows.append(
            [name, starts, len(good), float(good.min()) if len(good) else None, middle,
             None if middle is None else middle / optimum, int((good <= 10 * optimum).sum()), runs.seconds]
        )  # fmt: skip
    columns = (
        "penalty", "starts", "end feasible", "best", "median of the feasible", "over the optimum",
        "feasible within 10 times the optimum", "s a run",
    )  # fmt: skip
    old, new = found["constant"], found["violation-dependent"]
    yield compared("Algorithm 1 by annealing, |pi(p) - pi_RE|^2 over the 41 reliable coefficients", columns, rows)
    yield pictured("penalties", picture(PENALTIES, found, optimum))
    yield numbers(EVALUATIONS, KAPPA)
    yield holds(len(new.feasible) > len(old.feasible))


@item("Fig. 5")
def fig_5(setting: Setting) -> Parts:
    """Every set with friction refitted on the recording."""
    data, sets = panda.recording(), panda.validations()
    sizes = np.linalg.norm(data.tau, axis=0) / 100
    rows = [[n, *(np.linalg.norm(v.residual, axis=0) / sizes).tolist(), v.relative_error] for n, v in sets.items()]

    def near(name: str) -> float:
        return sets[name].relative_error - sets["pi_RE"].relative_error

    shown = {"measured": data.tau} | {n: sets[n].rigid + sets[n].friction for n in ("p_hat", "casid")}
    yield compared("Relative error, sigmoid friction refitted [%]", ("set", *panda.JOINTS, "all"), rows)
    yield pictured("fig_5", joints_figure(data.t, shown, "Newton-Euler torques with feasible parameters", "N m"))
    yield holds(near("p_hat") <= 0.5, near("casid") < near("p_hat"))


def lagrangian(model: Model) -> ca.Function:
    """``tau = d/dt dT/ddq - dT/dq + dU/dq`` from the energies, with CasADi's derivatives."""
    n, size = model.robot.n, len(model.parameter_names)
    q, dq, ddq, pi = ca.SX.sym("q", n), ca.SX.sym("dq", n), ca.SX.sym("ddq", n), ca.SX.sym("pi", size)
    kinetic, potential = model.kinetic_energy(q, dq, pi), model.potential_energy(q, pi)
    momentum = ca.gradient(kinetic, dq)
    rate = ca.jtimes(momentum, q, dq) + ca.jtimes(momentum, dq, ddq)
    tau = rate - ca.gradient(kinetic, q) + ca.gradient(potential, q)
    return ca.Function("lagrangian", [q, dq, ddq, pi], [tau])


def timed(function: ca.Function, states: list[tuple[np.ndarray, ...]]) -> float:
    """Microseconds a call, in CasADi's interpreter; the quickest of five passes."""
    passes = timeit.repeat(lambda: [function(*state) for state in states], number=1, repeat=5)
    return 1e6 * min(passes) / len(states)


@item("Sec. VI")
def sec_vi(setting: Setting) -> Parts:
    """Operations, building time and time of a call."""
    model, pi = panda.model(), panda.printed_parameters("p_hat")
    began = time.perf_counter()
    energy = lagrangian(model)
    built = time.perf_counter() - began
    began = time.perf_counter()
    recursive = Model(model.robot, (), panda.GRAVITY).inverse_dynamics
    direct = time.perf_counter() - began
    rng = np.random.default_rng(14)
    states = [(*rng.uniform(-2, 2, (3, 7)), pi) for _ in range(20 if setting.quick else 500)]
    gap = max(float(np.abs(np.array(energy(*s) - recursive(*s))).max()) for s in states)
    rows: list[list[Any]] = [
        ["Lagrangian", energy.n_instructions(), 1e3 * built, timed(energy, states)],
        ["Newton-Euler", recursive.n_instructions(), 1e3 * direct, timed(recursive, states)],
    ]
    times = rows[0][1] / rows[1][1]
    shares = {str(row[0]): np.array([row[1] / rows[1][1], row[3] / rows[1][3]]) for row in rows}
    yield compared("Inverse dynamics of the Panda", ("", "operations", "built in [ms]", "a call [us]"), rows)
    yield pictured("sec_vi", bars_figure(("operations", "time of a call"), shares, "Over Newton-Euler", "ratio"))
    yield stated(times)
    yield holds(gap <= 1e-10, times > 1)
