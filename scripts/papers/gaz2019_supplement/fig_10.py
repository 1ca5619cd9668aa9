"""Fig. 10: forces inside the joints, with feasible and infeasible parameters."""

from __future__ import annotations

import numpy as np
from casid.problems.spatial_2r import true_parameters
from examples.spatial_2r import wrench_figure

from papers.gaz2019_supplement.table_vii import printed
from papers.gaz2019_supplement.two_links import motion, relaxed, solved
from papers.item import Check, Comparison, Item, Outcome, Setting, Status, differs
from papers.two_links import force_ratios, reach, wrenches

STARTS = 100
#: "almost 10^6 times larger than the real values".
PRINTED = 1e6


def ratios(starts: int) -> np.ndarray:
    """Largest force of each joint over the true one for every relaxed retrieval, shape (starts, 2)."""
    robot = solved().problem.variables.robot
    return np.array([force_ratios(robot, one.parameters, true_parameters(), motion()) for one in relaxed(starts)])


def field_errors(starts: int) -> tuple[np.ndarray, dict[str, list[float]]]:
    """``|F - F_true| / |F_true|`` over the motion, joints 1 and 2: of relaxed retrievals, and of feasible sets."""
    robot = solved().problem.variables.robot
    true = wrenches(robot, true_parameters(), motion())[:, :, :3]

    def error(x: np.ndarray) -> list[float]:
        ours = wrenches(robot, x, motion())[:, :, :3]
        return [float(np.linalg.norm(a - b) / np.linalg.norm(b)) for a, b in zip(ours, true, strict=True)]

    feasible = {"printed p_hat, feasible": printed(), "found here, feasible": solved().standard_parameters}
    relaxed_errors = np.array([error(one.parameters) for one in relaxed(starts)])
    return relaxed_errors, {name: error(x) for name, x in feasible.items()}


def run(setting: Setting) -> Outcome:
    """The distribution over random starts, whatever it is."""
    starts = 5 if setting.quick else STARTS
    problem, truth = solved().problem, true_parameters()
    found = ratios(starts)
    feasible = force_ratios(problem.variables.robot, solved().standard_parameters, truth, motion())
    rows: list[list[object]] = [["feasible", *feasible]]
    rows += [
        [f"infeasible, {name} of {starts} starts", *np.percentile(found, percent, axis=0).tolist()]
        for name, percent in (("smallest", 0), ("median", 50), ("largest", 100))
    ]
    rows.append(["infeasible, printed", "almost 1e6", "almost 1e6"])
    worst = relaxed(starts)[int(found.max(axis=1).argmax())]
    sets = {"true": truth, "feasible": solved().standard_parameters, "infeasible": worst.parameters}
    series = {name: wrenches(problem.variables.robot, x, motion()) for name, x in sets.items()}
    infeasible = sum(one.eigenvalue < 0 for one in relaxed(starts))
    errors, feasible_errors = field_errors(starts)
    field = [[name, *values] for name, values in feasible_errors.items()]
    field += [
        [f"infeasible, {name} of {starts} starts", *np.percentile(errors, percent, axis=0).tolist()]
        for name, percent in (("smallest", 0), ("median", 50), ("largest", 100))
    ]
    middle, of_print = np.median(errors, axis=0), np.array(feasible_errors["printed p_hat, feasible"])
    found_here, nearer = feasible_errors["found here, feasible"], (errors < of_print).sum(axis=0)
    mass = reach(problem, truth, motion(), PRINTED)
    return Outcome(
        (
            Comparison.of("Largest force over the true one", ("parameters", "joint 1", "joint 2"), rows),
            Comparison.of("Relative error of the forces over the whole motion", ("set", "joint 1", "joint 2"), field),
        ),
        {"fig_10": wrench_figure(motion(), series)},
        (
            f"Of {starts} retrievals without physical constraints, from starts uniform between the printed bounds, "
            f"{infeasible} end at parameters that no bodies have, and all meet the coefficients to "
            f"{max(one.misfit for one in relaxed(starts)):.0e}. Their forces are wrong, but of the true order, not a "
            f"million times larger: for that, parameters of the order of {mass:.0e} kg must be let in or started from. "
            "The picture shows the worst of them.",
            "The largest force alone says little: it is linear in the parameters and may err to either side. Over the "
            f"whole motion the median relative error of infeasible sets is {middle[0]:.2f} and {middle[1]:.2f} (joints "
            f"1 and 2), that of the printed, feasible p_hat {of_print[0]:.2f} and {of_print[1]:.2f}, of the feasible "
            f"set found here {found_here[0]:.2f} and {found_here[1]:.2f}; {nearer[0]} and {nearer[1]} of {starts} "
            "infeasible sets are nearer to the true forces than p_hat. Joint torques leave the inner forces open, and "
            "a feasible set need not have them right either.",
        ),
        (
            Check(
                "infeasible parameters explain the torques as well as feasible ones",
                max(one.misfit for one in relaxed(starts)) <= 1e-6 and infeasible > 0,
            ),
            Check(
                "their forces can be further from the true ones than those of the feasible set",
                bool((np.abs(found - 1) > np.abs(np.array(feasible) - 1)).all(axis=1).any()),
            ),
            differs(
                "over the whole motion every infeasible set is further from the true forces than the printed p_hat",
                not nearer.any(),
            ),
            differs("their forces are up to almost 10^6 times the true ones", float(found.max()) >= 1e5),
        ),
    )


ITEM = Item(
    "Fig. 10",
    "internal forces of feasible and infeasible parameters",
    Status.REPRODUCED,
    "relaxed retrieval over 100 random starts; the document does not give its infeasible set",
    run,
)
