"""Chapter 4: the identification of the WAM."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache, partial

import numpy as np
from benchmarks import published

from casid.identification.repair import feasibility_test
from casid.identification.repair._feasibility import Feasibility
from casid.regression import CompressedData, predicted_torques
from casid.retrieval import Constraints, LinkVariables, com_box, total_mass
from papers import wam_cases as thesis
from papers.gaz2019_two_links import frame_error, table_frames, value
from papers.item import Parts, Setting, below, compared, holds, items_of, numbers, pictured, stated
from papers.methods import wam
from papers.methods.feasible_set import FeasibleSet, closest_feasible
from papers.pictures import joints_figure

item = items_of("sousa2014")
SETS = thesis.SETS


@item("Table 4.1")
def table_4_1(setting: Setting) -> Parts:
    """Forward kinematics of the robot file against the table's matrices."""
    rows, poses = published.table("wam_table_4_1_dh"), np.random.default_rng(3).uniform(-3, 3, (20, 7))
    links = [[value(row[key]) for key in ("a_m", "alpha_rad", "d_m")] for row in rows]
    worst = frame_error(thesis.model(), poses, lambda q: table_frames(links, q))
    table = [[row["joint"], row["alpha_rad"], row["a_m"], row["d_m"], row["theta"]] for row in rows]
    yield compared("Standard notation", ("joint", "alpha", "a [m]", "d [m]", "theta"), table)
    yield numbers(below(worst, 1e-12))
    yield holds(worst <= 1e-12)


def printed_form(expression: str, names: tuple[str, ...]) -> np.ndarray:
    """A printed combination as a linear form: ``Fvj1`` is fv1, ``Fvm1`` is fvm1."""
    text = re.sub(r"F([vco])j(\d)", r"f\1\2", re.sub(r"F([vco])m(\d)", r"f\1m\2", expression))
    return published.linear_form(text, names)


@item("Table 4.2")
def table_4_2(setting: Setting) -> Parts:
    """Every combination as computed beside the printed one."""
    model = thesis.model()
    rows = published.table("wam_table_4_2_base_parameters")
    table, worst = [], 0.0
    for row, form, expression in zip(rows, model.base.K, model.base.expressions, strict=True):
        difference = float(np.abs(printed_form(row["expression"], model.parameter_names) - form).max())
        worst = max(worst, difference)
        table.append([row["beta"], row["expression"], expression, f"{difference:.0e}"])
    yield compared("Base parameters", ("", "printed", "computed", "largest difference"), table)
    yield numbers(model.base.rank, worst)
    yield holds(model.base.rank == 76, worst <= 1e-8)


#: Seeds of the disturbance.
SEEDS = 10


@cache
def data(seed: int, periods: int = wam.PERIODS, share: float = wam.RIPPLE) -> wam.WamData:
    """One seed."""
    return wam.wam_data(seed, wam.TRAJECTORIES, periods, share)


def of(setting: Setting, seed: int = 0, share: float = wam.RIPPLE) -> wam.WamData:
    """One seed, one period if quick; ``share`` of the ripple in the disturbance's variance."""
    return data(seed, 1 if setting.quick else wam.PERIODS, share)


def seeds(setting: Setting) -> range:
    """Those to run."""
    return range(2 if setting.quick else SEEDS)


#: Condition numbers of the filtered data of A and B, as printed (Sec. 4.3.3); the design aimed at 110.
PRINTED = {"A": 105.0, "B": 111.0}
TABLES = {"A": "wam_table_4_4_trajectory_A", "B": "wam_table_4_5_trajectory_B"}


def condition(name: str, step: float = 0.01) -> float:
    """Condition number of the base regressor along the reference."""
    model = thesis.model()
    motion = wam.trajectory(name).motion(np.arange(0.0, thesis.PERIOD, step))
    W = model.base_regressor(*motion)
    return float(np.linalg.cond(W.reshape(-1, model.base.rank)))


def series(name: str, t: np.ndarray) -> np.ndarray:
    """Eq. 4.19 written out: positions of trajectory A or B, shape (N, 7)."""
    rows = published.table(TABLES[name])
    q = np.zeros((len(t), 7))
    for k, row in enumerate(rows):
        *coefficients, q[:, k] = [float(row[key]) for key in row if key != "joint"]
        for i in range(wam.HARMONICS):
            a, b, w = coefficients[i], coefficients[wam.HARMONICS + i], thesis.FUNDAMENTAL * (i + 1)
            q[:, k] += a / w * np.sin(w * t) - b / w * np.cos(w * t)
    return q


def table(name: str, setting: Setting) -> Parts:
    """Coefficients of a trajectory: its condition number, and whether it keeps the joint limits."""
    rows, limits = published.table(TABLES[name]), thesis.model().robot.limits
    motion = wam.trajectory(name).motion(np.arange(0.0, thesis.PERIOD, 0.005))
    inside = np.all((motion.q >= limits.lower) & (motion.q <= limits.upper), axis=0)
    outside = [str(k + 1) for k in range(7) if not inside[k]]
    found, measured = condition(name), float(np.linalg.cond(of(setting).sets[name].stacked()[0]))
    yield compared("Fourier coefficients", tuple(rows[0]), [list(row.values()) for row in rows])
    yield numbers(found, measured, PRINTED[name], ", ".join(outside) or "none")
    yield stated(PRINTED[name])
    yield holds(abs(found / PRINTED[name] - 1) <= 0.05, not outside)


def figure(name: str, setting: Setting) -> Parts:
    """Reference positions."""
    t = np.arange(0.0, thesis.PERIOD, 0.02)
    q = wam.trajectory(name).motion(t).q
    picture = joints_figure(t, {"reference": q}, f"Reference of trajectory {name}", "rad")
    deviation = float(np.abs(q - series(name, t)).max())
    yield pictured(f"fig_4_{4 if name == 'A' else 5}", picture)
    yield holds(deviation <= 1e-9)


for _name, _number in (("A", "4.4"), ("B", "4.5")):
    item(f"Table {_number}")(partial(table, _name))
    item(f"Fig. {_number}")(partial(figure, _name))


@item("Table 4.3")
def table_4_3(setting: Setting) -> Parts:
    """How well the simulated arm follows with the printed gains."""
    periods = 1 if setting.quick else wam.PERIODS
    names = wam.TRAJECTORIES[:1] if setting.quick else wam.TRAJECTORIES[:2]
    rows: list[list[object]] = [
        [f"{key} (printed)", *(row[key] for row in published.table("wam_table_4_3_pd_gains"))] for key in ("Kp", "Kd")
    ]
    for name in names:
        done = wam.recorded(name, periods)
        error = done.q - wam.trajectory(name, periods).motion(done.t).q
        rows.append([f"rms error on {name}, simulated [deg]", *np.degrees(np.sqrt((error**2).mean(axis=0))).tolist()])
    yield compared("PD control", ("", *(f"joint {k}" for k in range(1, 8))), rows)


@item("Table 4.6")
def table_4_6(setting: Setting) -> Parts:
    """OLS and WLS of one seed beside the printed ones."""
    found = of(setting)
    printed, true = published.table("wam_table_4_6_classical_estimates"), thesis.parameters(thesis.MACHINE)
    own = found.base.values(true)
    cad = _cad()
    rows = [
        [
            row["first_term"], row["beta_CAD"], cad[k], row["beta_OLS"], row["sd_OLS_percent"], row["beta_WLS"],
            row["sd_WLS_percent"], float(own[k]), float(found.ordinary.beta[k]), float(found.ordinary.relative_sd[k]),
            float(found.weighted.beta[k]), float(found.weighted.relative_sd[k]),
        ]
        for k, row in enumerate(printed)
    ]  # fmt: skip
    worst = max(abs(own - float(row["beta_CAD"])) for own, row in zip(cad, printed, strict=True) if own is not None)
    ratios = [
        found.weighted.relative_sd[k] * abs(found.weighted.beta[k])
        / (float(row["sd_WLS_percent"]) * abs(float(row["beta_WLS"]))) for k, row in enumerate(printed)
        if float(row["beta_WLS"]) and float(row["sd_WLS_percent"])
    ]  # fmt: skip
    larger = float(np.median(ratios))
    columns = (
        "beta", "CAD", "CAD, here", "OLS", "sd [%]", "WLS", "sd [%]", "machine", "OLS, here", "sd [%]", "WLS, here",
        "sd [%]",
    )  # fmt: skip
    yield compared("Classical estimates", columns, rows)
    yield numbers(larger)
    yield holds(_infeasible(printed, "beta_OLS"), _infeasible(printed, "beta_WLS"))
    yield holds(all(_verdict(fit.beta) == "infeasible" for fit in (found.ordinary, found.weighted)), worst <= 1e-4)


def _verdict(beta: np.ndarray) -> str:
    """Of the certified test."""
    return feasibility_test(thesis.model(), beta, consistency="semi").verdict


def _infeasible(rows: list[dict[str, str]], column: str) -> bool:
    return _verdict(published.column(rows, column)) == "infeasible"


def _cad() -> list[float | None]:
    """CAD values of the base parameters of links; the robot file has no friction and no rotors."""
    model = thesis.model()
    pi = np.zeros(len(model.parameter_names))
    pi[np.ravel(model.link_columns)] = model.robot.standard_parameters()
    inertial = set(np.ravel(model.link_columns).tolist())
    values = model.base.values(pi)
    return [float(v) if i in inertial else None for v, i in zip(values, model.base.independent, strict=True)]


@item("Table 4.7")
def table_4_7(setting: Setting) -> Parts:
    """Relative errors of each joint."""
    found = of(setting)
    printed = published.table("wam_table_4_7_errors_OLS_WLS")
    rows = [
        [
            row["joint"], row["relative_error_OLS_percent"], row["relative_error_WLS_percent"],
            float(found.ordinary.relative_errors[k]), float(found.weighted.relative_errors[k]),
        ]
        for k, row in enumerate(printed)
    ]  # fmt: skip
    columns = ("joint", "OLS", "WLS", "OLS, here", "WLS, here")
    wrist = found.weighted.relative_errors[4:].sum() < found.ordinary.relative_errors[4:].sum()
    yield compared("Relative error [%], one seed", columns, rows)
    yield holds(wrist)


def correction_of_print() -> tuple[np.ndarray, float, float]:
    """Beta' of the printed beta_WLS, shape (76,), its distance, and its largest difference from the printed beta'."""
    model, rows = thesis.model(), published.table("wam_table_4_9_feasible_estimates")
    parameters, distance = closest_feasible(model.base.K, published.column(rows, "beta_WLS"), FeasibleSet.of(model))
    nearest = model.base.values(parameters)
    return nearest, distance, float(np.abs(nearest - published.column(rows, "beta_prime_WLS")).max())


@item("Table 4.9")
def table_4_9(setting: Setting) -> Parts:
    """The four solutions of one seed beside the printed ones."""
    found, printed = of(setting), published.table("wam_table_4_9_feasible_estimates")
    sets = found.solutions()
    rows = [
        [row["first_term"], *(row[key] for key in SETS.values()), *(float(beta[k]) for beta in sets.values())]
        for k, row in enumerate(printed)
    ]
    columns = ("beta", *sets, *(f"{name}, here" for name in sets))
    u = found.corrected.distance**2
    nearest, distance, off = correction_of_print()
    printed_rows = [
        [row["first_term"], row["beta_WLS"], row["beta_prime_WLS"], f"{value:.5f}"]
        for row, value in zip(printed, nearest, strict=True)
    ]
    yield compared("Classical and feasible estimates", columns, rows)
    yield compared("beta' from the printed beta_WLS", ("beta", "beta_WLS", "beta'", "beta' of it, here"), printed_rows)
    yield numbers(distance**2, off, found.corrected.verdict, u, found.feasible.gap)
    yield holds(round(distance**2, 4) == 0.0077, len(nearest) == 76 and round(off, 6) <= 7e-5)
    yield holds(found.corrected.verdict == "infeasible")


#: Printed values have four decimals: each base parameter lies within this of what is printed.
ROUNDING = 0.5e-4
#: Readings of link 3's range of y.
READINGS = ("as printed", "turned", "left free")


def boxes(reading: str) -> tuple[np.ndarray, np.ndarray]:
    """Lower and upper bounds of the centres of mass, shape (7, 3) each."""
    rows = published.table("wam_table_4_8_com_bounds")
    low, high = (
        np.array([[float(row[f"{side}_{axis}_m"]) for axis in "xyz"] for row in rows]) for side in ("lower", "upper")
    )
    if reading == "turned":
        low[2, 1], high[2, 1] = -high[2, 1], -low[2, 1]
    elif reading == "left free":
        low[2, 1], high[2, 1] = -np.inf, np.inf
    return low, high


def constraints(links: LinkVariables, reading: str) -> Constraints:
    """Table 4.8 and 27 kg."""
    low, high = boxes(reading)
    return (*(com_box(link, low[k], high[k]) for k, link in enumerate(links)), total_mass(links, 0.0, 27.0))


def verdict(name: str, reading: str | None) -> Feasibility:
    """Of a printed set; reading None: physical feasibility alone."""
    rows = published.table("wam_table_4_9_feasible_estimates")
    build = None if reading is None else partial(constraints, reading=reading)
    return feasibility_test(thesis.model(), published.column(rows, SETS[name]), consistency="semi", constraints=build)


def proven_infeasible(found: Feasibility) -> bool:
    """Whether a plane separates all base parameters that round to the printed ones from the feasible ones."""
    return found.excludes(ROUNDING)


def within_digits(found: Feasibility) -> bool:
    """Whether feasible base parameters were found that round to the printed ones."""
    return bool(np.abs(found.corrected - found.given).max() <= ROUNDING)


def word(found: Feasibility) -> str:
    """Verdict as far as four decimals allow one."""
    if proven_infeasible(found):
        d = found.corrected - found.given
        reach = ROUNDING * float(np.abs(d).sum())
        return f"infeasible, distance {found.distance:.2e}; d'd = {float(d @ d):.2e} > {reach:.2e}"
    if within_digits(found):
        return (
            f"feasible within the printed digits (largest difference {np.abs(found.corrected - found.given).max():.0e})"
        )
    return "open"


@item("Table 4.8")
def table_4_8(setting: Setting) -> Parts:
    """All four sets, without and with the constraints, for every reading of the table."""
    low, high = boxes("as printed")
    robot = thesis.model().robot
    table = []
    for k, link in enumerate(robot.links):
        com = link.inertial.com if link.inertial is not None else np.full(3, np.nan)
        table.append([k + 1, *low[k].tolist(), *high[k].tolist(), " ".join(f"{c:.4f}" for c in com)])
    names = tuple(SETS)[2:] if setting.quick else tuple(SETS)
    readings = READINGS[::2] if setting.quick else READINGS
    found = {name: [verdict(name, reading) for reading in (None, *readings)] for name in names}
    rows = [[name, *(word(one) for one in verdicts)] for name, verdicts in found.items()]
    yield compared(
        "Limits of the centres of mass [m]",
        ("link", "x >=", "y >=", "z >=", "x <=", "y <=", "z <=", "vendor's CAD value"),
        table,
    )
    yield compared(
        "Feasible with the extra constraints?",
        ("set", "physics alone", *(f"y of link 3 {reading}" for reading in readings)),
        rows,
    )
    yield holds(within_digits(found["beta*"][0]), all(proven_infeasible(one) for one in found["beta*"][1:]))
    yield holds(all(within_digits(one) for one in found["beta*e"][1:]))


#: Rows of Table 4.10: the weighted data of A, then the plain data of every trajectory.
ROWS = ("weighted A", *wam.TRAJECTORIES)


@dataclass(frozen=True, eq=False)
class Study:
    """Errors over seeds.

    Attributes
    ----------
    errors : ndarray, shape (seeds, 5, 4)
        Relative errors [%]: rows of Table 4.10, then its columns.
    per_joint : ndarray, shape (seeds, 4, 2, 7)
        Relative errors of each joint [%]: trajectories, beta_WLS and beta*e.
    gaps : ndarray, shape (seeds,)
        Certified relative gaps of beta*.
    to_machine : ndarray, shape (seeds, 4, 4)
        Torque difference from the machine without disturbance [% of its torque]: trajectories, columns of Table 4.10;
        on A of the weighted torques.
    """

    errors: np.ndarray
    per_joint: np.ndarray
    gaps: np.ndarray
    to_machine: np.ndarray


def study(setting: Setting) -> Study:
    """All seeds."""
    errors, joints, gaps, distances = [], [], [], []
    for seed in seeds(setting):
        found = of(setting, seed)
        sets = found.solutions()
        table = [[found.relative_error(beta, weighted=True) for beta in sets.values()]]
        table += [[found.relative_error(beta, name) for beta in sets.values()] for name in wam.TRAJECTORIES]
        errors.append(table)
        gaps.append(found.feasible.gap)
        machine = found.base.values(thesis.parameters(thesis.MACHINE))
        weights = {"A": found.weighted.weights}
        for name, data in found.sets.items():
            distances.append([_distance(data, beta, machine, weights.get(name)) for beta in sets.values()])
            joints.append([data.relative_errors(sets[key])[1] for key in ("beta_WLS", "beta*e")])
    per_seed = len(gaps), len(wam.TRAJECTORIES)
    per_joint, to_machine = (np.reshape(x, (*per_seed, *np.shape(x)[1:])) for x in (joints, distances))
    return Study(np.array(errors), per_joint, np.array(gaps), to_machine)


def _distance(data: CompressedData, beta: np.ndarray, machine: np.ndarray, weights: np.ndarray | None) -> float:
    """``100 |G W (beta - beta_machine)| / |G W beta_machine|`` [%]."""
    R = data.stacked(weights)[0]
    return 100.0 * float(np.linalg.norm(R @ (beta - machine)) / np.linalg.norm(R @ machine))


def by_ripple(setting: Setting) -> tuple[list[list[object]], bool]:
    """For each share of the ripple: medians of beta_WLS and beta* on B, C, D, and pairs in which beta* is better.

    The second says whether beta* has the lower medians for every share.
    """
    rows, always = list[list[object]](), True
    for share in wam.RIPPLES:
        pairs = []
        for seed in seeds(setting):
            found = of(setting, seed, share)
            sets = (found.weighted.beta, found.feasible.beta)
            pairs.append([[found.relative_error(beta, name) for beta in sets] for name in wam.TRAJECTORIES[1:]])
        errors = np.array(pairs)
        middle = np.median(errors, axis=0)
        better = int((errors[:, :, 1] < errors[:, :, 0]).sum())
        cells = [f"{wls:.3f} -> {best:.3f}" for wls, best in middle]
        always &= bool((middle[:, 1] < middle[:, 0]).all())
        rows.append([f"{share:g}", *cells, f"{better} of {errors[:, :, 0].size}"])
    return rows, always


@item("Table 4.10")
def table_4_10(setting: Setting) -> Parts:
    """Medians over seeds."""
    found, printed = study(setting), published.table("wam_table_4_10_relative_errors")
    middle = np.median(found.errors, axis=0)
    rows = [
        [name, *(row[key] for key in SETS.values()), *middle[i].tolist()]
        for i, (name, row) in enumerate(zip(ROWS, printed, strict=True))
    ]
    count, pairs = len(found.errors), found.errors[:, 2:, 0].size
    shares, always = by_ripple(setting)
    validated, (wls, corrected, best, _) = found.errors[:, 2:], found.errors[:, 0].T
    ordered = int(((wls <= best) & (best <= corrected)).sum())
    wins, best_of_three = (validated[..., 2] < validated[..., 0]).sum(), (validated[..., :3].argmin(axis=2) == 2).sum()
    over_wls = np.percentile(validated[..., 2] - validated[..., 0], [0, 25, 50, 75, 100])
    nearer = (found.to_machine[:, :, 2] < found.to_machine[:, :, 0]).sum(axis=0)
    columns = ("data", *SETS, *(f"{name}, here" for name in SETS))
    yield compared(f"Relative error [%], here the median of {count} seeds", columns, rows)
    yield compared(
        "The same by the assumed share of the ripple, beta_WLS -> beta* (medians) [%]",
        ("share", *wam.TRAJECTORIES[1:], "beta* better"),
        shares,
    )
    yield numbers(ordered, count, found.gaps.max(), count, wins, pairs, best_of_three)
    yield numbers((validated.argmin(axis=2) >= 2).sum(), *over_wls, nearer[0], count)
    yield numbers(", ".join(str(k) for k in nearer[1:]), count)
    yield holds(ordered == count, (found.errors[:, 0, 2] <= found.errors[:, 0, 3] + 1e-9).all())
    yield holds(wins == pairs, always, found.errors.max() < 8)


@item("Table 4.11")
def table_4_11(setting: Setting) -> Parts:
    """Errors of each joint, median over seeds."""
    found, printed = study(setting), published.table("wam_table_4_11_errors_per_joint")
    middle = np.median(found.per_joint, axis=0)
    rows = []
    for k, row in enumerate(printed):
        cells: list[object] = [row["joint"]]
        for i, name in enumerate(wam.TRAJECTORIES):
            cells.append(f"{row[f'{name}_beta_WLS']} -> {row[f'{name}_beta_star_e_WLS']}")
            cells.append(f"{middle[i, 0, k]:.1f} -> {middle[i, 1, k]:.1f}")
        rows.append(cells)
    columns = ("joint", *(text for name in wam.TRAJECTORIES for text in (name, f"{name}, here")))
    less = int((middle[1:, 1] < middle[1:, 0]).sum())
    yield compared(f"Relative error [%], beta_WLS -> beta*e, here medians of {len(found.errors)}", columns, rows)
    yield numbers(less, float((middle[1:, 1] - middle[1:, 0]).max()))
    yield holds((middle[0, 1] >= middle[0, 0])[4:].all(), less == 21)
    yield holds((found.per_joint[:, 1:, 1] < found.per_joint[:, 1:, 0])[..., 4:6].all())
    yield holds((middle[1:, 1] < middle[1:, 0])[:, 4:6].all())


def predictions(number: str, name: str, compared: bool, setting: Setting) -> Parts:
    """Torques of a trajectory over one period, or the errors of both solutions; of the first seed."""
    found, periods = of(setting, 0), 1 if setting.quick else wam.PERIODS
    data = wam.disturbed(wam.processed(name, periods), 0, wam.TRAJECTORIES.index(name))
    shown = slice(0, len(data) // periods, 2)
    torque = {key: predicted_torques(found.sets[name], beta, data)[shown] for key, beta in found.solutions().items()}
    tau = data.tau[shown]
    series, errors = {"measured": tau, "beta*e": torque["beta*e"]}, {"error": tau - torque["beta*e"]}
    if compared:
        series, errors = {key: tau - torque[key] for key in ("beta_WLS", "beta*e")}, {}
    what = "Prediction errors" if compared else "Measured and predicted torque"
    figure = joints_figure(data.t[shown], series, f"{what}, trajectory {name} (simulated)", "N m", errors)
    yield pictured(f"fig_4_{number}", figure)


for _number, _name, _compared in (("6", "A", False), ("7", "A", True), ("8", "B", False), ("9", "B", True)):
    item(f"Fig. 4.{_number}")(partial(predictions, _number, _name, _compared))
