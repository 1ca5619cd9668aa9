"""Fig. 9: torques of feasible and infeasible parameters agree."""

from __future__ import annotations

import numpy as np
from casid.problems.spatial_2r import true_parameters
from examples.spatial_2r import torque_figure

from papers.gaz2019_supplement.two_links import motion, relaxed, solved
from papers.item import Check, Comparison, Item, Outcome, Setting, Status
from papers.two_links import torques


def run(setting: Setting) -> Outcome:
    """Torques on sinusoids that are not those of the identification."""
    robot = solved().problem.variables.robot
    sets = {"true": true_parameters(), "feasible": solved().standard_parameters, "infeasible": relaxed(1)[0].parameters}
    series = {name: torques(robot, x, motion()) for name, x in sets.items()}
    largest = np.abs(series["true"]).max()
    rows = [[name, float(np.abs(series[name] - series["true"]).max() / largest)] for name in ("feasible", "infeasible")]
    return Outcome(
        (Comparison.of("Largest torque error over the largest torque", ("set", "error"), rows),),
        {"fig_9": torque_figure(motion(), series)},
        checks=(Check("both sets predict the torques (to 1e-6)", all(float(row[1]) <= 1e-6 for row in rows)),),
    )


ITEM = Item(
    "Fig. 9",
    "validation torques of feasible and infeasible parameters",
    Status.REPRODUCED,
    "simulated torques of p_real against Newton-Euler with the retrieved and with a relaxed retrieval's parameters",
    run,
    repeatable=True,
)
