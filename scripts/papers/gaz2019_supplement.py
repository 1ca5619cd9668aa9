"""Items of the supplementary material about the Panda."""

from __future__ import annotations

from functools import cache

import numpy as np
from benchmarks import published, recordings
from benchmarks.excitation import table_ii as printed_motion
from benchmarks.measured import table_viii
from benchmarks.motion.engines import ENGINES, Replay, pose_errors, replay
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar

from casid.arrays import Array
from casid.control import ComputedTorque
from casid.errors import SolveError
from casid.identification import FeasibleFit, RegressionProblem, feasible_regression
from casid.identification.repair import feasibility_test
from casid.inertia import from_standard, pseudo_inertia
from casid.measurement import Dataset
from casid.simulation import Plant, simulate
from papers import panda
from papers.gaz2019 import printed_shapes, sinusoids
from papers.item import Parts, Setting, below, compared, holds, items_of, numbers, pictured, stated
from papers.methods.feasible_set import bounded_regression
from papers.pictures import bars_figure, joints_figure

item = items_of("gaz2019_supplement")


@item("Table I")
def table_i(setting: Setting) -> Parts:
    """Phi of every joint, fitted to the residual torques of pi_RE."""
    here, printed = panda.validations()["pi_RE"].shapes, printed_shapes()
    rows = [
        [f"phi_{i + 1}", unit, where, *(float(values[k, i]) for k in panda.SEVEN)]
        for i, unit in enumerate(("N m", "s/rad", "rad/s"))
        for where, values in (("printed", printed), ("here", here))
    ]
    yield compared("Friction parameters", ("", "unit", "", *panda.JOINTS), rows)


#: The command begins with a ramp: how far the printed motion may be shifted to meet the recorded one [s].
SHIFTS = (0.0, 2.0)
#: What a position controller may leave [rad].
TRACKING = 5e-3


@item("Table II")
def table_ii(setting: Setting) -> Parts:
    """The printed motion beside the recorded one."""
    raw = recordings.panda_raw()
    kept = (raw.t > 1.0) & (raw.t < 20.0)
    coarse = np.arange(*SHIFTS, 0.1)
    near = float(coarse[np.argmin([_error(raw, kept, shift).max() for shift in coarse])])
    shift = float(minimize_scalar(lambda s: (_error(raw, kept, s) ** 2).sum(), (near - 0.1, near, near + 0.1)).x)
    planned, error = printed_motion().motion(raw.t[kept] - shift).q, _error(raw, kept, shift)
    rows = [["rms of recorded minus printed [mrad]", *(1e3 * error).tolist()]]
    yield compared("Exciting motion", ("", *panda.JOINTS), rows)
    shown = {"recorded": raw.q[kept][::20], "Table II": planned[::20]}
    yield pictured("table_ii_motion", joints_figure(raw.t[kept][::20], shown, "Exciting motion", "rad"))
    yield numbers(shift)
    yield stated(1000.0 * TRACKING)
    yield holds(error.max() <= TRACKING)


def _error(raw: Dataset, kept: NDArray[np.bool_], shift: float) -> NDArray[np.float64]:
    """Root mean square deviation of each joint from the printed series [rad]."""
    planned = printed_motion().motion(raw.t[kept] - shift).q
    return np.asarray(np.sqrt(np.mean((planned - raw.q[kept]) ** 2, axis=0)))


#: Printed values of pi(p_hat) that do not follow from Tables VIII and IX.
ERRATA = {17, 21, 25, 39}
COLUMNS = (
    "coefficient", "pi_RE", "here", "sd [%]", "here", "pi(p_hat)", "from Tables VIII, IX", "casid",
    "pi_CLS", "here", "sd [%]", "here", "pi_OSI", "casid, one step",
)  # fmt: skip


def table() -> list[list[object]]:
    """All 64 rows, printed and computed."""
    rows = published.table("panda_table_III_dynamic_coefficients")
    estimate, found = panda.coefficients(), panda.classical()
    forms, places = panda.forms()
    names = panda.friction_model().base
    of_hat, of_casid = forms @ panda.printed_parameters("p_hat"), forms @ panda.retrieved().standard_parameters
    result: list[list[object]] = []
    for k, row in enumerate(rows):
        if row["kind"] == "inertial":
            column = names.row(estimate.base.names[places[k]])
            own: list[object] = [
                row["pi_RE"], float(estimate.values[places[k]]), row["sd_RE_percent"],
                float(estimate.relative_sd[places[k]]),
                row["pi_of_p_hat"] + (" (erratum)" if k + 1 in ERRATA else ""), float(of_hat[k]), float(of_casid[k]),
            ]  # fmt: skip
        else:
            column, own = names.row(row["expression_exact"]), list[object]([""] * 7)
        classical = [
            row["pi_CLS"], float(found.ordinary.beta[column]), row["sd_CLS_percent"],
            float(found.ordinary.relative_sd[column]), row["pi_OSI"], float(found.one_step.beta[column]),
        ]  # fmt: skip
        result.append([row["expression_as_printed"], *own, *classical])
    return result


def reliable() -> tuple[int, int]:
    """Coefficients with a printed, and with a computed, standard deviation of at most 30 %."""
    rows = published.table("panda_table_III_dynamic_coefficients")[:43]
    return sum(float(row["sd_RE_percent"]) <= 30 for row in rows), int(panda.coefficients().reliable().sum())


#: Samples in which a joint is slower than this are left out [rad/s]: sign(dq) jumps there, as the document warns.
SLOWEST = (0.0, 0.05, 0.1, 0.12, 0.15, 0.2)


def of_p_hat() -> tuple[int, int]:
    """Printed pi(p_hat) that follow from Tables VIII and IX within a unit of the 4th decimal, and all given."""
    rows = published.table("panda_table_III_dynamic_coefficients")[:43]
    values = panda.forms()[0] @ panda.printed_parameters("p_hat")
    given = [k for k, row in enumerate(rows) if row["pi_of_p_hat"]]
    return sum(abs(values[k] - float(rows[k]["pi_of_p_hat"])) <= 1.05e-4 for k in given), len(given)


def condition_numbers() -> dict[str, float]:
    """Of the observation matrix, by the filter and the samples that the document does not name."""
    found = {
        f"{cutoff:g} Hz{'' if trim else ', ramps kept'}": panda.classical(cutoff, trim, every=5).condition()
        for cutoff, trim in ((1.0, 0.5), (5.0, 0.5), (5.0, 0.0), (20.0, 0.5))
    }
    model, (q, dq, ddq, _) = panda.friction_model(), recordings.arrays(recordings.panda(every=5))
    Y = model.base_regressor(q, dq, ddq)
    for slowest in SLOWEST[1:]:
        kept = (np.abs(dq) > slowest).all(axis=1)
        found[f"5 Hz, all joints faster than {slowest:g} rad/s"] = float(
            np.linalg.cond(Y[kept].reshape(-1, model.base.rank))
        )
    return found


@item("Table III")
def table_iii(setting: Setting) -> Parts:
    """The whole table, and what the document says about it."""
    estimate, found = panda.coefficients(), panda.classical(every=10) if setting.quick else panda.classical()
    printed, computed = reliable()
    worst, _ = panda.deviations()
    follow, given = of_p_hat()
    readings = condition_numbers()
    nearest = min(readings, key=lambda name: abs(readings[name] / 121.88 - 1))
    friction, names = panda.friction_model().base, estimate.base.names
    inertial = [friction.row(names[place]) for place in panda.forms()[1]]
    apart = float(np.abs(found.one_step.beta - found.one_step_weighted.beta)[inertial].max())
    rows: list[list[object]] = [
        ["reverse engineering: condition number", 48.9, estimate.condition_number],
        ["reverse engineering: relative error [%]", 0.0315, estimate.relative_error],
        ["reverse engineering: coefficients with sd <= 30 %", printed, computed],
        ["classical: condition number", 121.88, found.condition()],
        ["classical: condition number, joints weighted", None, found.condition(found.weighted.weights)],
        ["classical: relative error [%]", 1.41, found.ordinary.relative_error],
        ["classical: relative error of the printed pi_CLS on this recording [%]", 1.41, printed_error("pi_CLS")],
        ["one step: relative error [%]", None, found.one_step.relative_error],
        ["one step, joints weighted: relative error [%]", None, found.one_step_weighted.relative_error],
        ["one step: largest change of a coefficient by the weights", None, apart],
        ["one step: relative error of the printed pi_OSI [%]", None, printed_error("pi_OSI")],
    ]
    yield compared("About the table", ("", "printed", "here"), rows)
    yield compared(
        "Condition number of the classical regressor by what the document leaves open",
        ("filter and samples", "here", "over the printed 121.88"),
        [[name, value, f"{value / 121.88 - 1:+.1%}"] for name, value in readings.items()],
    )
    yield compared("Coefficients", COLUMNS, table())
    yield numbers(found.condition(), nearest, readings[nearest])
    yield stated(worst, follow, given)
    yield holds(worst <= 1, computed == 41, abs(estimate.relative_error - 0.0315) <= 0.001, follow == given)
    yield holds(abs(found.condition() / 121.88 - 1) <= 0.01, abs(printed_error("pi_CLS") - 1.41) <= 0.02)


def printed_error(column: str) -> float:
    """Relative error of a printed column on the recording [%]."""
    rows, base = published.table("panda_table_III_dynamic_coefficients"), panda.friction_model().base
    beta, places = np.zeros(base.rank), panda.forms()[1]
    names = panda.coefficients().base.names
    for k, row in enumerate(rows):
        name = names[places[k]] if row["kind"] == "inertial" else row["expression_exact"]
        beta[base.row(name)] = float(row[column])
    return panda.classical().data.relative_errors(beta)[0]


#: The thesis's epsilon: the printed delta has all its smallest moments at twice this.
MARGIN = 1e-6


def anew() -> tuple[Array, float, FeasibleFit]:
    """Regression of all samples with one LMI a link, the bounds of Table VIII and friction that is not negative.

    Standard parameters, shape (70,), by the semidefinite program, its objective, and the certified fit of the same.
    """
    fit = panda.classical().ordinary
    built = RegressionProblem(fit, constraints=table_viii, margin=MARGIN)
    x = bounded_regression(built, MARGIN, 1e-10).x
    certified = feasible_regression(fit, constraints=table_viii, margin=MARGIN)
    return x[:70], float(built.problem.objective(x)), certified


@item("Sec. III")
def sec_iii(setting: Setting) -> Parts:
    """Printed delta beside the one found here."""
    (links, objective, certified), base = anew(), panda.model().base
    sets = {"delta, printed": panda.printed_parameters("delta"), "delta, here": links}
    validated = {name: panda.validated(base.values(x)) for name, x in sets.items()}
    moments, apart = [eigenvalues(x) for x in sets.values()], [squared_distances(x) for x in sets.values()]
    rows: list[list[object]] = [
        *([f"squared distance from {column}", *(one[column] for one in apart)]
          for column in ("pi_OSI", "pi_CLS", "pi_RE")),
        ["error on the recorded motion, friction refitted [%]", *(one.relative_error for one in validated.values())],
        ["total mass [kg]", *(float(x[9::10].sum()) for x in sets.values())],
    ]  # fmt: skip
    for k in range(1, 7):
        rows.append([f"mass of link {k + 1} [kg]", *(float(x[10 * k + 9]) for x in sets.values())])
    for k in range(1, 7):
        rows.append([f"smallest moment of link {k + 1} [kg m^2]", *(f"{one[k, 0]:.1e}" for one in moments)])
    difference = objective / certified.solution.objective - 1
    yield compared("delta, printed and anew", ("", *sets), rows)
    yield numbers(MARGIN, below(abs(difference), 1e-6), below(certified.gap, 1e-6))
    yield numbers(certified.relative_error)
    yield holds(moments[1][:, 1].min() >= 0.5 * MARGIN, abs(difference) <= 1e-6)
    yield holds(all(one["pi_OSI"] < min(one["pi_CLS"], one["pi_RE"]) for one in apart))
    yield holds(all((np.abs(one[2:, 0] - 2 * MARGIN) <= 5e-8).all() for one in moments))
    yield holds(validated["delta, here"].relative_error <= validated["delta, printed"].relative_error + 0.02)


PARTS = 10
COMPARED = ("p_hat", "delta")


def _better(first: np.ndarray, second: np.ndarray) -> list[str]:
    """Which of `COMPARED` has the lower number at each joint."""
    return [COMPARED[int(b < a)] for a, b in zip(first, second, strict=True)]


@item("Fig. 1")
def fig_1(setting: Setting) -> Parts:
    """Torques of both printed sets."""
    data, sets = panda.recording(), panda.validations()
    shown = {"measured": data.tau} | {name: sets[name].rigid + sets[name].friction for name in COMPARED}
    errors = {f"error of {name}": data.tau - shown[name] for name in COMPARED}
    yield pictured("fig_1", joints_figure(data.t, shown, "Torques of p_hat and delta", "N m", errors))


@item("Fig. 2")
def fig_2(setting: Setting) -> Parts:
    """Positions of the parts."""
    data = panda.recording()
    yield pictured("fig_2", joints_figure(data.t, {"q": data.q}, "Joint positions of the parts", "rad"))


@item("Fig. 3")
def fig_3(setting: Setting) -> Parts:
    """Torques of the parts."""
    data = panda.recording()
    yield pictured("fig_3", joints_figure(data.t, {"torque": data.tau}, "Joint torques of the parts", "N m"))


@item("Table IV")
def table_iv(setting: Setting) -> Parts:
    """Mean square errors, and their spread over the parts."""
    printed = {row["parameter_set"]: row for row in published.table("panda_table_IV_mse")}
    rows: list[list[object]] = []
    sets = panda.validations()
    better = _better(*(np.array([float(printed[n][f"joint_{k}_Nm2"]) for k in range(1, 8)]) for n in COMPARED))
    own = _better(*(sets[name].mse for name in COMPARED))
    same = sum(a == b for a, b in zip(better, own, strict=True))
    ratio = np.median([float(printed[n][f"joint_{k + 1}_Nm2"]) / sets[n].mse[k] for n in COMPARED for k in range(7)])
    for name, found in sets.items():
        if name in printed:
            rows.append([f"{name}, printed", *(float(printed[name][f"joint_{k}_Nm2"]) for k in range(1, 8))])
        rows.append([f"{name}, here", *found.mse.tolist()])
        parts = np.array([np.mean(part**2, axis=0) for part in np.array_split(found.residual, PARTS)])
        rows.append([f"{name}, largest part", *parts.max(axis=0).tolist()])
    rows += [["lower error, printed", *better], ["lower error, here", *own]]
    yield compared("Mean square error [(N m)^2]", ("set", *panda.JOINTS), rows)
    yield numbers(ratio, same)


#: Of the feedback [rad/s], critically damped: V-REP's own position control is not documented.
BANDWIDTH = 40.0


@cache
def engine_torques(every: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Instants, measured torques, MuJoCo's torques: (N,), (N, 7), (N, 7)."""
    from casid.testing import MuJoCo, running

    data = panda.recording()
    robot = panda.model().robot.with_parameters(panda.printed_parameters("p_hat"))
    states = zip(*(part[::every] for part in recordings.arrays(data)[:3]), strict=True)
    with running(robot, MuJoCo) as engine:
        torque = np.array([engine.inverse_dynamics(*state) for state in states])
    return data.t[::every], data.tau[::every], torque


def _every(setting: Setting) -> int:
    return 100 if setting.quick else 10


@cache
def replays() -> dict[str, Replay]:
    """Both engines, stepped through the second half of the motion with the robot identified from the first."""
    return {kind.name: replay(kind, held_out=True) for kind in ENGINES}


@item("Table V")
def table_v(setting: Setting) -> Parts:
    """Mean torque errors."""
    _, measured, simulated = engine_torques(_every(setting))
    rows: list[list[object]] = [
        [row["engine"] + ", printed", *(float(row[f"joint_{k}_Nm"]) for k in range(1, 8))]
        for row in published.table("panda_table_V_engine_torque_errors")
    ]
    rows += [[f"{name}, closed loop, held out", *done.mean_error.tolist()] for name, done in replays().items()]
    rows.append(["MuJoCo, inverse dynamics of p_hat", *(measured - simulated).mean(axis=0).tolist()])
    own = [[name, *one.of_engine.mean(axis=0).tolist()] for name, one in replays().items()]
    largest = max(float(np.abs(one.of_engine.mean(axis=0)).max()) for one in replays().values())
    distance = max(float(one.distance.mean()) for one in replays().values())
    vanishing = min(float(np.abs(one.mean_error).max()) for one in replays().values())
    yield compared("Mean torque errors, measured minus simulated [N m]", ("", *panda.JOINTS), rows)
    yield compared("Of the engine alone: less the inverse dynamics of the same bodies", ("", *panda.JOINTS), own)
    yield stated(largest, 1000.0 * distance)
    yield holds(largest <= 0.005, distance <= 3e-5, vanishing > 0.01)


@item("Fig. 5")
def fig_5(setting: Setting) -> Parts:
    """Torques over time."""
    done = replays()
    first = next(iter(done.values()))
    shown = slice(None, None, _every(setting))
    series = {"measured": first.measured[shown]} | {name: one.replayed[shown] for name, one in done.items()}
    figure = joints_figure(first.t[shown], series, "Measured and replayed torques, held-out half", "N m")
    yield pictured("fig_5", figure)


@item("Fig. 6")
def fig_6(setting: Setting) -> Parts:
    """Mean and standard deviation of the errors."""
    bars = {
        f"{name}, {what}": np.asarray(getattr(one.error, key)(axis=0))
        for name, one in replays().items() for what, key in (("mean", "mean"), ("standard deviation", "std"))
    }  # fmt: skip
    yield pictured("fig_6", bars_figure(panda.JOINTS, bars, "Torque errors of the replay", "N m"))


@item("Fig. 7")
def fig_7(setting: Setting) -> Parts:
    """Pose of the flange while a simulated drive follows the sinusoids of Table I."""
    pi = panda.retrieved().standard_parameters
    plant, motion = Plant(panda.model(), pi), sinusoids()
    model, every = panda.model(), 50
    gains = np.full(7, BANDWIDTH**2), np.full(7, 2 * BANDWIDTH)
    control = ComputedTorque(model, panda.printed_parameters("p_hat"), *gains)
    done = simulate(plant, control, motion, 1.0 if setting.quick else motion.duration)
    if not done.end.finished:
        raise SolveError(f"the simulated arm did not follow the sinusoids: {done.end}")
    pairs = [
        [np.array(model.forward_kinematics.call([q])[-1]) for q in (there, here)]
        for there, here in zip(done.q_ref[::every], done.q[::every], strict=True)
    ]
    distance, turn = pose_errors(*np.array(pairs).transpose(1, 0, 2, 3))
    errors = {
        f"{name}, replay of the recorded motion": (1e3 * one.distance, one.angle) for name, one in replays().items()
    }
    errors["casid's simulator, computed torque"] = 1e3 * distance, turn
    rows: list[list[object]] = [
        ["printed: all engines (V-REP)", "below 15", "below 3", "", ""],
        ["printed: ODE", "below 5", "below 1.2", "", ""],
        ["printed: Bullet 2.78, the worst", "", "", "91.3", "3.14"],
    ]
    rows += [[name, *(float(f(x)) for f in (np.mean, np.max) for x in pair)] for name, pair in errors.items()]
    columns = ("", "mean position [mm]", "mean orientation [deg]", "largest [mm]", "largest [deg]")
    figure = joints_figure(
        done.t[::every], {"position [mm]": 1e3 * distance[:, None], "orientation [deg]": turn[:, None]},
        "Pose error of the last link's frame on the sinusoids", "mm, deg", columns=1, label="error",
    )  # fmt: skip
    yield compared("Pose error", columns, rows)
    yield pictured("fig_7", figure)
    yield numbers(BANDWIDTH, done.t[-1])


def eigenvalues(parameters: np.ndarray) -> np.ndarray:
    """Smallest eigenvalue of the inertia about the centre of mass, and of the pseudo-inertia, of every link: (7, 2)."""
    both = [(from_standard(ten)[2], pseudo_inertia(ten)) for ten in parameters.reshape(7, 10)]
    return np.array([[np.linalg.eigvalsh(matrix)[0] for matrix in pair] for pair in both])


def misfit(parameters: np.ndarray) -> float:
    """``|pi(p) - pi_RE|^2`` over the 41 reliable coefficients."""
    return panda.retrieved().problem.objective(parameters)


def squared_distances(parameters: Array) -> dict[str, float]:
    """Of the coefficients from each column of Table III, over the 41 reliable ones."""
    rows = published.table("panda_table_III_dynamic_coefficients")[:43]
    reliable = [k for k, row in enumerate(rows) if float(row["sd_RE_percent"]) <= 30]
    values = panda.forms()[0] @ parameters
    return {
        name: float(sum((values[k] - float(rows[k][name])) ** 2 for k in reliable))
        for name in ("pi_RE", "pi_CLS", "pi_OSI")
    }


#: Columns of Tables VIII and IX.
PRINTED = ("parameter", "lower", "upper", "p_hat", "delta")


@item("Table VIII")
def table_viii_item(setting: Setting) -> Parts:
    """Printed sets beside the certified one."""
    sets = {
        "p_hat": panda.printed_parameters("p_hat"),
        "delta": panda.printed_parameters("delta"),
        "casid": panda.retrieved().standard_parameters,
    }
    rows: list[list[object]] = [["|pi(p) - pi_RE|^2", *(misfit(x) for x in sets.values())]]
    rows.append(["its root", *(float(np.sqrt(misfit(x))) for x in sets.values())])
    rows.append(["total mass [kg]", *(float(x[9::10].sum()) for x in sets.values())])
    least = {name: eigenvalues(x) for name, x in sets.items()}
    for i, what in enumerate(("smallest moment [kg m^2]", "of pseudo-inertia")):
        rows += [[f"link {k + 1}: {what}", *(float(one[k, i]) for one in least.values())] for k in range(7)]
    ours = published.by_name(sets["casid"])
    table = [
        [*(row[key] for key in PRINTED), ours[row["parameter"]]]
        for row in published.table("panda_table_VIII_masses_coms")
    ]
    model, squared = panda.model(), squared_distances(sets["delta"])
    verdict = feasibility_test(model, model.base.values(sets["delta"]))
    times = squared["pi_RE"] / squared_distances(sets["p_hat"])["pi_RE"]
    yield compared("Consistency and fit", ("", *sets), rows)
    yield compared("Table VIII", ("parameter", "LB", "UB", "p_hat", "delta", "casid"), table)
    yield numbers(least["delta"][1, 0], verdict.verdict, verdict.proven_distance, squared["pi_RE"], times)
    yield numbers(squared["pi_CLS"], squared["pi_OSI"])
    yield holds((least["p_hat"] > 0).all(), (least["delta"] > 0).all(), verdict.verdict != "infeasible")
    yield holds(bool((least["casid"] > 0).all()) and misfit(sets["casid"]) < misfit(sets["p_hat"]))
    yield holds(
        all(float(str(low)) - 1e-6 <= float(str(own)) <= float(str(high)) + 1e-6 for _, low, high, *_, own in table)
    )


@item("Table IX")
def table_ix(setting: Setting) -> Parts:
    """All inertias."""
    ours = published.by_name(panda.retrieved().standard_parameters)
    rows: list[list[object]] = []
    within = printed = True
    for row in published.table("panda_table_IX_inertias"):
        low, high, own = float(row["lower"]), float(row["upper"]), ours[row["parameter"]]
        rows.append([*(row[key] for key in PRINTED), own])
        within &= low - 1e-6 <= own <= high + 1e-6
        printed &= all(low <= float(row[key]) <= high for key in ("p_hat", "delta"))
    columns = ("parameter", "LB", "UB", "p_hat", "delta", "casid")
    yield compared("Inertias about the centres of mass [kg m^2]", columns, rows)
    yield holds(printed, within)
