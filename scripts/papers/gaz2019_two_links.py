"""Items of the supplementary material about the spatial 2R robot: torques agree, wrenches need not."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, reduce

import numpy as np
from benchmarks import published
from casid.problems.spatial_2r import true_parameters
from examples.spatial_2r import torque_figure, wrench_figure

import casid
from casid.dynamics import Model
from casid.motion import Samples
from papers import two_links as arm
from papers.item import Parts, Setting, below, compared, holds, items_of, numbers, pictured


@cache
def solved() -> casid.Solution:
    """The retrieval with the exact, if-else set of shapes."""
    return casid.solve(casid.load_problem("spatial_2r"))


@cache
def relaxed(starts: int) -> tuple[arm.Relaxed, ...]:
    """Retrievals without constraints from as many random starts."""
    return tuple(arm.relaxed_retrieval(solved().problem, seed) for seed in range(starts))


@cache
def motion() -> Samples:
    """Of the validation."""
    return arm.validation_motion()


item = items_of("gaz2019_supplement")

#: Ends of the links along their long axes [m]: link 1 along y, link 2 along x.
FIRST_ENDS, SECOND_ENDS = (-1.42, 0.08), (-0.8, 0.0)
#: As the document states them.
PRINTED = (4 / np.pi, 4 / np.pi * (1 + 2 * arm.CONE / 0.8))


def shapes() -> tuple[float, float]:
    """Volumes of the cylinder, and of the cylinder with its conical end [m^3]."""
    first = np.pi * arm.CYLINDER**2 * (FIRST_ENDS[1] - FIRST_ENDS[0])
    end = arm.CONE / 3 * (arm.SECOND**2 + arm.SECOND * arm.TIP + arm.TIP**2)
    second = np.pi * (arm.SECOND**2 * (0.8 - arm.CONE) + end)
    return float(first), float(second)


def boxes() -> tuple[float, float]:
    """Volumes of the boxes around them [m^3]."""
    return (
        (2 * arm.CYLINDER) ** 2 * (FIRST_ENDS[1] - FIRST_ENDS[0]),
        (2 * arm.SECOND) ** 2 * (SECOND_ENDS[1] - SECOND_ENDS[0]),
    )


def drawn(samples: int, seed: int = 0) -> tuple[float, float]:
    """The same ratios by points drawn in the boxes and counted where the retrieval's own shapes hold them."""
    rng = np.random.default_rng([seed, 15])
    low = np.array([[-arm.CYLINDER, FIRST_ENDS[0], -arm.CYLINDER], [SECOND_ENDS[0], -arm.SECOND, -arm.SECOND]])
    high = np.array([[arm.CYLINDER, FIRST_ENDS[1], arm.CYLINDER], [SECOND_ENDS[1], arm.SECOND, arm.SECOND]])
    inside = np.array([[-0.0, -0.75, 0.0], [-0.4, 0.0, 0.0]])
    found = []
    for link in range(2):
        count = 0
        for point in rng.uniform(low[link], high[link], (samples, 3)):
            centres = inside.copy()
            centres[link] = point
            count += arm.outside(*centres) <= 0
        found.append(samples / count)
    return found[0], found[1]


@item("Sec. V")
def sec_v(setting: Setting) -> Parts:
    """Closed forms, points drawn, and the document's own formulas."""
    ratios = [box / shape for box, shape in zip(boxes(), shapes(), strict=True)]
    counted = drawn(2_000 if setting.quick else 50_000)
    rows = [[f"link {k + 1}", PRINTED[k], ratios[k], round(counted[k], 2), boxes()[k], shapes()[k]] for k in range(2)]
    columns = ("", "printed", "exact", "by points drawn", "box [m^3]", "shape [m^3]")
    yield compared("Volume of the box over that of the link", columns, rows)
    yield numbers(PRINTED[1], ratios[1])
    yield holds(round(ratios[0], 2) == 1.27, abs(ratios[1] / 2 - 1) <= 0.1, np.allclose(ratios, counted, rtol=0.05))


#: l_1 and l_2 [m].
LENGTHS = {"l1": 1.5, "l2": 0.8}


def standard_dh(a: float, alpha: float, d: float, theta: float) -> np.ndarray:
    """``Rot_z(theta) Trans_z(d) Trans_x(a) Rot_x(alpha)``."""
    ca, sa, ct, st = np.cos(alpha), np.sin(alpha), np.cos(theta), np.sin(theta)
    return np.array([[ct, -st * ca, st * sa, a * ct], [st, ct * ca, -ct * sa, a * st], [0, sa, ca, d], [0, 0, 0, 1]])


def table_frames(links: Sequence[Sequence[float]], q: np.ndarray) -> list[np.ndarray]:
    """Matrices of a standard table's rows a, alpha, d at joint positions."""
    return [standard_dh(a, alpha, d, theta) for (a, alpha, d), theta in zip(links, q, strict=True)]


def frame_error(model: Model, poses: np.ndarray, matrices: Callable[[np.ndarray], list[np.ndarray]]) -> float:
    """Largest deviation of the last link's frame from the product of a table's matrices."""
    products = [reduce(np.matmul, matrices(q)) for q in poses]
    frames = [np.array(model.forward_kinematics.call([q])[-1]) for q in poses]
    return float(np.abs(np.array(frames) - products).max())


def value(text: str) -> float:
    """A number, a length, or a multiple of pi."""
    if text in LENGTHS:
        return LENGTHS[text]
    sign, body = (-1.0, text[1:]) if text.startswith("-") else (1.0, text)
    return sign * np.pi / 2 if body == "pi/2" else float(text)


@item("Table VI")
def table_vi(setting: Setting) -> Parts:
    """Forward kinematics of the robot file against the table's matrices."""
    rows = published.table("spatial_2R_table_VI_dh")
    links = [[value(row[key]) for key in ("a", "alpha_rad", "d")] for row in rows]
    poses = np.random.default_rng(2).uniform(-3, 3, (20, 2))
    worst = frame_error(Model(casid.load_robot("spatial_2r")), poses, lambda q: table_frames(links, q))
    columns = ("i", "a", "alpha", "d", "theta")
    table = [[row["i"], row["a"], row["alpha_rad"], row["d"], row["theta"]] for row in rows]
    yield compared("Standard Denavit-Hartenberg parameters", columns, table)
    yield numbers(below(worst, 1e-12))
    yield holds(worst <= 1e-12)


def printed() -> np.ndarray:
    """p_hat as standard parameters, shape (20,)."""
    values = {row["parameter"]: float(row["p_hat"]) for row in published.table("spatial_2R_table_VII_parameters")}
    return published.standard_of(values, 2)


@item("Table VII")
def table_vii(setting: Setting) -> Parts:
    """Both sets and how well they explain the coefficients."""
    problem = solved().problem
    ours, keys = published.by_name(solved().standard_parameters), ("units", "lower", "upper", "p_real", "p_hat")
    rows = [
        [row["parameter"], *(row[key] for key in keys), ours[row["parameter"]]]
        for row in published.table("spatial_2R_table_VII_parameters")
    ]
    fit = [
        ["|pi(p) - pi|^2", problem.objective(printed()), problem.objective(solved().standard_parameters)],
        ["outside the shapes [m]", arm.outside_shapes(printed()), arm.outside_shapes(solved().standard_parameters)],
    ]
    model, sets = Model(problem.variables.robot), (true_parameters(), printed(), solved().standard_parameters)
    sums, worst = [], 0.0
    for row in published.table("spatial_2R_dynamic_coefficients"):
        form = published.linear_form(row["expression_exact"], model.parameter_names)
        values = [float(form @ x) for x in sets]
        worst = max(worst, abs(values[1] - values[0]))
        sums.append([row["expression_as_printed"], *values])
    columns = ("parameter", "unit", "LB", "UB", "p_real", "p_hat (printed)", "p_hat (here)")
    yield compared("Parameters", columns, rows)
    yield compared("The eight dynamic coefficients", ("as printed", "p_real", "p_hat (printed)", "here"), sums)
    yield compared("Fit and shapes", ("", "printed p_hat", "here"), fit)
    yield holds(worst <= 1e-3, arm.outside_shapes(printed()) <= 1e-9)
    yield holds(arm.outside_shapes(sets[2]) <= 1e-9 and problem.objective(sets[2]) <= 1e-18)


@item("Fig. 9")
def fig_9(setting: Setting) -> Parts:
    """Torques on sinusoids that are not those of the identification."""
    robot = solved().problem.variables.robot
    sets = {"true": true_parameters(), "feasible": solved().standard_parameters, "infeasible": relaxed(1)[0].parameters}
    series = {name: arm.torques(robot, x, motion()) for name, x in sets.items()}
    largest = np.abs(series["true"]).max()
    rows = [[name, float(np.abs(series[name] - series["true"]).max() / largest)] for name in ("feasible", "infeasible")]
    yield compared("Largest torque error over the largest torque", ("set", "error"), rows)
    yield pictured("fig_9", torque_figure(motion(), series))
    yield holds(all(float(row[1]) <= 1e-6 for row in rows))


STARTS = 100
#: "almost 10^6 times larger than the real values".
PRINTED_FIG_10 = 1e6


def ratios(starts: int) -> np.ndarray:
    """Largest force of each joint over the true one for every relaxed retrieval, shape (starts, 2)."""
    robot = solved().problem.variables.robot
    return np.array([arm.force_ratios(robot, one.parameters, true_parameters(), motion()) for one in relaxed(starts)])


def metrics(x: np.ndarray) -> list[float]:
    """Both metrics against the true forces, joints 1 and 2 each.

    The largest force's relative error ``|max F / max F_true - 1|``, and that of the field, ``|F - F_true| / |F_true|``
    over all instants.
    """
    robot = solved().problem.variables.robot
    ours, true = (arm.wrenches(robot, p, motion())[:, :, :3] for p in (x, true_parameters()))
    largest = np.abs(np.array(arm.force_ratios(robot, x, true_parameters(), motion())) - 1)
    return [*largest.tolist(), *(np.linalg.norm(ours - true, axis=(1, 2)) / np.linalg.norm(true, axis=(1, 2))).tolist()]


def samples(starts: int) -> dict[str, np.ndarray]:
    """Both metrics of infeasible sets that all have the true coefficients, by how they are drawn, shape (sets, 4)."""
    problem, rng = solved().problem, np.random.default_rng(10)
    drawn = {
        "retrieved from random starts in (m, c, I)": [one.parameters for one in relaxed(starts)],
        "nearest to the same random starts": [
            arm.nearest(problem, arm.random_start(problem, k)) for k in range(starts)
        ],
        "nearest to p_hat varied by 10 %": [
            arm.nearest(problem, printed() * (1 + 0.1 * rng.standard_normal(20))) for _ in range(starts)
        ],
    }
    return {
        name: np.array([metrics(x) for x in sets if arm.smallest_eigenvalue(x) < 0]).reshape(-1, 4)
        for name, sets in drawn.items()
    }


@item("Fig. 10")
def fig_10(setting: Setting) -> Parts:
    """The distribution over random starts, whatever it is."""
    starts = 5 if setting.quick else STARTS
    problem, truth = solved().problem, true_parameters()
    found = ratios(starts)
    feasible = arm.force_ratios(problem.variables.robot, solved().standard_parameters, truth, motion())
    rows: list[list[object]] = [["feasible", *feasible]]
    rows += [
        [f"infeasible, {name} of {starts} starts", *np.percentile(found, percent, axis=0).tolist()]
        for name, percent in (("smallest", 0), ("median", 50), ("largest", 100))
    ]
    rows.append(["infeasible, printed", "almost 1e6", "almost 1e6"])
    worst = relaxed(starts)[int(found.max(axis=1).argmax())]
    sets = {"true": truth, "feasible": solved().standard_parameters, "infeasible": worst.parameters}
    series = {name: arm.wrenches(problem.variables.robot, x, motion()) for name, x in sets.items()}
    infeasible = sum(one.eigenvalue < 0 for one in relaxed(starts))
    found_sets = samples(starts)
    of_print, of_found = metrics(printed()), metrics(solved().standard_parameters)
    field: list[list[object]] = [["printed p_hat, feasible", *of_print], ["found here, feasible", *of_found]]
    field += [[f"infeasible ({len(m)}), {name}, median", *np.median(m, axis=0)] for name, m in found_sets.items()]
    first = next(iter(found_sets.values()))
    middle, nearer = np.median(first, axis=0), (first < of_print).sum(axis=0)
    mass = arm.reach(problem, truth, motion(), PRINTED_FIG_10)
    yield compared("Largest force over the true one", ("parameters", "joint 1", "joint 2"), rows)
    yield compared(
        "Relative error in both metrics",
        ("set", "largest force, joint 1", "joint 2", "whole motion, joint 1", "joint 2"),
        field,
    )
    yield pictured("fig_10", wrench_figure(motion(), series))
    yield numbers(starts, infeasible, max(one.misfit for one in relaxed(starts)), mass, middle[2], middle[3])
    yield numbers(of_print[2], of_print[3], of_found[2], of_found[3], nearer[2], nearer[3], len(first))
    yield holds(max(one.misfit for one in relaxed(starts)) <= 1e-6 and infeasible > 0)
    yield holds((np.abs(found - 1) > np.abs(np.array(feasible) - 1)).all(axis=1).any(), not nearer[2:].any())
    yield holds(float(found.max()) >= 1e5)
