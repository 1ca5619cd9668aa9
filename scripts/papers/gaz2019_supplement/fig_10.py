"""Fig. 10: forces inside the joints, with feasible and infeasible parameters."""

from __future__ import annotations

import numpy as np
from casid.problems.spatial_2r import true_parameters
from examples.spatial_2r import wrench_figure

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
    mass = reach(problem, truth, motion(), PRINTED)
    return Outcome(
        (Comparison.of("Largest force over the true one", ("parameters", "joint 1", "joint 2"), rows),),
        {"fig_10": wrench_figure(motion(), series)},
        (
            f"Of {starts} retrievals without physical constraints, from starts uniform between the printed bounds, "
            f"{infeasible} end at parameters that no bodies have, and all meet the coefficients to "
            f"{max(one.misfit for one in relaxed(starts)):.0e}. Their forces are wrong, but of the true order, not a "
            f"million times larger: for that, parameters of the order of {mass:.0e} kg must be let in or started from. "
            "The picture shows the worst of them.",
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
