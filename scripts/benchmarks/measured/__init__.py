"""Identification from measured motion: reference fits, certified feasible fits, the thesis's examples, speed."""

from __future__ import annotations

import json
import sys
import time
import tracemalloc
from collections.abc import Callable, Iterable, Iterator

import numpy as np

import casid
from benchmarks import published, recordings
from benchmarks.measure import NotMeasured, Result, Rows, data_folder, need, process
from casid.dynamics import Model
from casid.identification import RegressionProblem, feasible_regression
from casid.identification.repair import nearest_feasible
from casid.measurement import Dataset
from casid.regression import CompressedData, Fit, compress, ols, wls
from casid.regression.friction import fit_jointly
from casid.retrieval import Constraint, LinkVariables, com_box, mass_bounds, total_mass
from casid.retrieval.constraints import ConsistencyKind, gyration_bound

MEASURES = row = Rows()


def clarabel_regression(fit: Fit, constraints: Callable[[LinkVariables], Iterable[Constraint]]) -> tuple[float, float]:
    """Ratio of the weighted residual norm to the unconstrained fit's, and seconds in the solver."""
    need("clarabel")
    from papers.methods.feasible_set import bounded_regression

    built = RegressionProblem(fit, constraints=constraints, margin=1e-6)
    found = bounded_regression(built, 1e-6)
    return float(np.sqrt(built.problem.objective(found.x) / fit.objective)), found.build_time + found.solve_time


Recorded = Callable[[], tuple[Model, list[Dataset]]]
_R = "README of the data set"


def table_viii(variables: LinkVariables) -> tuple[Constraint, ...]:
    """CoM boxes of Table VIII, m_i <= 10 kg, 16-20 kg in all; the extent, 1 m, is never active."""
    return (
        *(mass_bounds(link, 0.0, 10.0) for link in variables), *(com_box(link) for link in variables),
        *(gyration_bound(link, 1.0) for link in variables), total_mass(variables, 16.0, 20.0),
    )  # fmt: skip


def panda_fit() -> Fit:
    return wls(compress(recordings.panda_model(), recordings.panda()))


# ---------------------------------------------------------------------- the rows


@row("Panda, WLS, reference protocol", "1.00 % +-0.01, rank 64", f"{_R}; the authors' CLS 1.42 %")
def panda_reference() -> Result:
    fit = panda_fit()
    text = f"{fit.relative_error:.4f} %, rank {fit.rank}, per joint {np.round(fit.relative_errors, 2).tolist()}"
    return text, abs(fit.relative_error - 1.00) <= 0.01 and fit.rank == 64


@row("Panda, one-step feasible, Table VIII", "<= 1.053 %, gap <= 1e-7", "authors' one-step 1.40 %")
def panda_feasible() -> Result:
    result = feasible_regression(panda_fit(), constraints=table_viii)
    text = f"{result.relative_error:.4f} %, gap {result.gap:.1e}, largest violation {result.solution.max_violation:.1e}"
    return text, result.relative_error <= 1.053 and result.gap <= 1e-7 and result.certified


@row("Panda, weighted residual / unconstrained", "1.038 +-5e-4", "prototype")
def panda_ratio() -> Result:
    fit = panda_fit()
    result = feasible_regression(fit, constraints=table_viii)
    text = f"{result.residual_ratio:.5f}, certified to {result.gap:.0e}"
    try:
        peer, seconds = clarabel_regression(fit, table_viii)
        text += f"; Clarabel on the same matrices {peer:.5f} ({1e3 * seconds:.0f} ms)"
    except NotMeasured:
        pass
    # which sample of each ten is kept moves the ratio by more than the bar's tolerance
    phases = [panda_ratio_of(trim=0.5 + 1e-3 * phase) for phase in range(1, 10)]
    text += f"; keeping the 2nd ... 10th of each ten samples: {min(phases):.4f} ... {max(phases):.4f}"
    text += f"; keeping all: {panda_ratio_of(every=1):.5f}"
    return text, abs(result.residual_ratio - 1.038) <= 5e-4


def panda_ratio_of(**changes: float) -> float:
    """The residual ratio on other samples of the recording."""
    fit = wls(compress(recordings.panda_model(), recordings.panda(**changes)))
    return feasible_regression(fit, constraints=table_viii).residual_ratio


@row("Panda, fitted on t < 14 s, tested after, feasible", "< 1.09 %", "reference WLS 1.09 %")
def panda_best() -> Result:
    reference = recordings.panda()
    data = recordings.panda(velocity="measured", torque_cutoff=5.0)
    assert np.array_equal(reference.tau, data.tau)  # the same filtered torque
    model = Model(
        casid.load_robot("panda"), (*recordings.FRICTION, "rotor", "sqrt_viscous", "cubic_viscous"), recordings.GRAVITY
    )
    fit = wls(compress(model, data.between(0.0, 14.0)))
    result = feasible_regression(fit, constraints=table_viii)
    error = compress(model, data.between(14.0)).relative_errors(result.beta)[0]
    how = "measured velocity, 5 Hz; rotor, fv, fc, fo, sqrt and cubic friction"
    text = f"{error:.4f} % on t >= 14 s ({how}), gap {result.gap:.0e}"
    return text, error < 1.09 and result.certified


@row("WAM two-joint, reference fit", "2.12 % +-0.05", _R, recordings.wam, 2.12)
@row("Kinova, three recordings jointly", "6.14 % +-0.05", _R, recordings.kinova, 6.14)
@row("Rokae, reference fit", "1.64 % +-0.05", _R, recordings.rokae, 1.64)
@row("TX40, reference fit", "6.73 % +-0.05", _R, recordings.tx40, 6.73)
@row("UR10e, reference fit (OLS)", "5.06 % +-0.05", _R, recordings.ur10e, 5.06, fitted=ols)
def reference(build: Recorded, total: float, fitted: Callable[[CompressedData], Fit] = wls) -> Result:
    model, data = build()
    fit = fitted(compress(model, data))
    return f"{fit.relative_error:.3f} %, rank {fit.rank} of {model.base.rank}", abs(fit.relative_error - total) <= 0.05


@row("WAM two-joint, feasible", "certified, ratio > 1.05 explained", "-", recordings.wam,
     "two of seven joints move: the unconstrained fit explains noise with moments of 1e5 kg.m^2")  # fmt: skip
@row("Kinova, feasible", "certified, ratio reported", "-", recordings.kinova)
@row("Rokae, feasible", "certified, ratio reported", "-", recordings.rokae)
@row("TX40, feasible", "certified, ratio reported", "-", recordings.tx40)
@row("UR10e, feasible", "certified, ratio reported", "-", recordings.ur10e)
def feasible(build: Recorded, explanation: str = "") -> Result:
    result = feasible_regression(wls(compress(*build())))
    why = f" ({explanation})" if result.residual_ratio > 1.05 else ""
    text = f"ratio {result.residual_ratio:.4f}{why}, {result.relative_error:.3f} %, gap {result.gap:.1e}"
    return text, result.certified and (result.residual_ratio <= 1.05 or bool(explanation))


@row("TX40, nonlinear friction fitted jointly", "<= 5.68 %", _R)
def tx40_nonlinear() -> Result:
    terms = [t for t in recordings.TX40_TERMS if t not in recordings.FRICTION]
    model = Model(casid.load_robot("tx40"), terms, recordings.GRAVITY, velocity_deadband=0.02)
    joint = fit_jointly(model, recordings.tx40_data(), "stribeck")
    linear = Model(
        casid.load_robot("tx40"), (*recordings.TX40_TERMS, "sqrt_viscous", "cubic_viscous"), recordings.GRAVITY, 0.02
    )
    other = wls(compress(linear, recordings.tx40_data()))
    consistent = feasible_regression(joint.fit)
    text = (
        f"{joint.fit.relative_error:.3f} % (Stribeck); feasible "
        f"{consistent.relative_error:.3f} %, gap {consistent.gap:.0e}; sqrt and cubic terms "
        f"{other.relative_error:.3f} %"
    )
    return text, joint.fit.relative_error <= 5.68


@row("thesis Table 6.1, triangle inequality", "both infeasible, 1.93e-4 and 0.0564", "a semidefinite solver", "full",
     ((1.93e-4, 5e-7), (0.0564, 5e-5)))  # fmt: skip
@row("thesis Table 6.1, m > 0 and I > 0", "feasible / infeasible, within 5e-6, distance 1.652e-3", "thesis Sec. 6.2",
     "semi", ((0.0, 5e-6), (1.652e-3, 5e-6)))  # fmt: skip
def table_6_1(kind: ConsistencyKind, printed: tuple[tuple[float, float], ...]) -> Result:
    """Distances of beta_t1 and beta_t2 as printed, each within its tolerance; none of a feasible set."""
    robot = casid.load_robot("three_link")
    rows = published.table("yoshida_table_6_1_three_link")
    forms = np.array([published.linear_form(row["expression"], robot.parameter_names()) for row in rows])
    sets = [published.column(rows, column) for column in ("beta_t1", "beta_t2")]
    results = [nearest_feasible(robot, forms, given, consistency=kind) for given in sets]
    text = "; ".join(f"{r.verdict}, {r.distance:.4e}, proven >= {r.proven_distance:.4e}" for r in results)
    met = all(
        r.verdict == ("infeasible" if distance else "feasible") and abs(r.distance - distance) <= tolerance
        for r, (distance, tolerance) in zip(results, printed, strict=True)
    )
    if kind == "full":
        return text, met
    off = float(np.abs(results[1].corrected - published.column(rows, "beta_prime_t2")).max())
    return f"{text}; corrected within {off:.1e} of beta'_t2", met and off <= 5e-6


WHOLE = """
import json, resource, sys, time
began = time.perf_counter(), time.process_time()
import casid
data = casid.read_dataset(sys.argv[1])
settings = casid.Processing(rate=1000.0, cutoff=5.0, every=10, filter_columns=False)
from casid.identification import Checks, Choice, ModelOptions
beyond = {} if sys.argv[2] == "default" else {"choice": Choice(believable=False), "checks": Checks(0, verdict=False)}
model = ModelOptions(gravity=(0, 0, -9.81))
result = casid.identify(casid.load_robot("panda"), data, processing=settings, model=model, **beyond)
wall, core = time.perf_counter() - began[0], time.process_time() - began[1]
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
print(json.dumps([core, wall, peak, result.feasible.certified, result.feasible.relative_error]))
"""


@row("whole Panda identification, file to certified parameters", "<= 2 s wall, <= 400 MB")
def whole_panda() -> Result:
    """What the bar was set for: both fits and the certificate. Beside it the default, that does more."""
    command = [sys.executable, "-c", WHOLE, str(data_folder() / "panda" / "trajectory_1.npz")]

    def best(options: str) -> tuple[float, float, float, bool, float]:
        runs = [json.loads(process(*command, options).stdout) for _ in range(3)]
        core, wall, peak, certified, error = min(runs)
        return core, wall, peak, certified, error

    core, wall, peak, certified, error = best("fits")
    default = best("default")
    text = (
        f"{core:.2f} s of one core with imports ({wall:.2f} s by the clock), {peak:.0f} MB, best of 3; {error:.3f} %; "
        f"with verdict, held-out error and believable links, the default: {default[0]:.2f} s, {default[2]:.0f} MB"
    )
    return text, core <= 2.0 and max(peak, default[2]) <= 400 and certified and default[3]


@row("1e6 samples stacked and compressed", "<= 15 s on one core, linear, bounded memory")
def million() -> Result:
    model, part = recordings.panda_model(), recordings.panda(every=1)
    size = len(part)

    def tiled(count: int) -> Iterator[Dataset]:
        for _ in range(count):
            yield part

    compress(model, tiled(1))
    seconds, peaks = [], []
    for count in (250_000 // size + 1, 1_000_000 // size + 1):
        began = time.process_time()
        compress(model, tiled(count))
        seconds.append((time.process_time() - began) / (count * size))
    for count in (2, 20):
        tracemalloc.start()
        compress(model, tiled(count))
        peaks.append(tracemalloc.get_traced_memory()[1] / 1e6)
        tracemalloc.stop()
    total = 1e6 * seconds[1]
    text = (
        f"{total:.1f} s of one core for 1e6 samples x 7 joints; per sample {1e6 * seconds[1]:.2f} us, at a quarter "
        f"of the length {1e6 * seconds[0]:.2f} us; working memory {peaks[0]:.1f} MB at {2 * size}, {peaks[1]:.1f} "
        f"MB at {20 * size} samples"
    )
    return text, total <= 15.0 and abs(seconds[1] / seconds[0] - 1) <= 0.25 and peaks[1] <= 1.2 * peaks[0]


@row("feasible solve on compressed data, 7 links", "<= 20 ms after building", "Clarabel called directly: 6 ms")
def feasible_speed() -> Result:
    problem = RegressionProblem(panda_fit(), constraints=table_viii)
    cores, clocks = [], []
    for _ in range(30):
        clock, core = time.perf_counter(), time.process_time()
        result = problem.solve()
        cores.append(time.process_time() - core)
        clocks.append(time.perf_counter() - clock)
    clock, typical = 1e3 * min(clocks), 1e3 * float(np.median(clocks))
    text = f"{1e3 * min(cores):.1f} ms of one core (by the clock {clock:.1f}, median {typical:.1f})"
    try:
        need("clarabel")
        text += f"; Clarabel {1e3 * min(clarabel_regression(panda_fit(), table_viii)[1] for _ in range(5)):.1f} ms"
    except NotMeasured:
        pass
    text += f"; {result.solution.iterations} iterations, gap {result.gap:.0e}"
    return text, min(cores) <= 0.020 and result.certified
