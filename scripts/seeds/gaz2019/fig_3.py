"""Fig. 3: torques of the Lagrangian model, with and without friction, against measured ones."""

from __future__ import annotations

import numpy as np

from seeds import panda
from seeds.item import Check, Comparison, Item, Outcome, Setting, Status
from seeds.pictures import joints_figure


def run(setting: Setting) -> Outcome:
    """pi_RE on the recorded exciting motion."""
    data, found = panda.recording(), panda.validations()["pi_RE"]
    tau, rigid, whole = data.tau, found.rigid, found.rigid + found.friction
    errors = [100 * panda.norm(tau - part) / panda.norm(tau) for part in (rigid, whole)]
    rows = [
        [name, *(panda.norm(tau[:, k] - part[:, k]) / panda.norm(tau[:, k]) * 100 for k in panda.SEVEN), total]
        for name, part, total in zip(("without friction", "with friction"), (rigid, whole), errors, strict=True)
    ]
    largest = {k + 1 for k in np.argsort([float(value) for value in rows[0][1:8]])[-3:]}
    better = all(float(b) < float(a) for a, b in zip(rows[0][1:], rows[1][1:], strict=True))
    columns = ("relative error [%]", *panda.JOINTS, "all")
    return Outcome(
        (Comparison.of("Lagrangian model with pi_RE", columns, rows),),
        {
            "fig_3": joints_figure(
                data.t,
                {"measured": tau, "model": rigid, "model and friction": whole},
                "Joint torques, pi_RE",
                "N m",
                {"error of the model": tau - rigid, "with friction": tau - whole},
            )
        },
        ("The paper gives no numbers here. Its torques are filtered at 1 Hz, these at 5 Hz.",),
        (
            Check("the model without friction fits joints 1 to 4 and is off at joints 5 to 7", largest == {5, 6, 7}),
            Check("friction lowers the error of every joint", better),
        ),
    )


ITEM = Item(
    "Fig. 3",
    "torques of the Lagrangian model on a validation motion",
    Status.IN_KIND,
    "stand-in: the recording on the sinusoids of Table I is not public; the recorded exciting motion of Table II is",
    run,
)
