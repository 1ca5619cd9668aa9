"""Table II: Fourier coefficients of the exciting motion."""

from __future__ import annotations

import numpy as np
from measures import published, recordings

from casid.excitation import Fourier, Trajectory
from seeds import panda
from seeds.item import Comparison, Item, Outcome, Setting, Status
from seeds.pictures import joints_figure

#: The command begins with a ramp; with this shift it meets the recorded positions best [s].
SHIFT = 0.515


def trajectory() -> Trajectory:
    """The printed motion, fundamental 0.15 pi rad/s, five harmonics."""
    rows = published.table("panda_table_II_trajectory")
    table = np.array([[float(row[f"joint_{k}"]) for row in rows] for k in range(1, 8)])
    return Trajectory(Fourier(0.15 * np.pi, 5), table, robot="panda")


def run(setting: Setting) -> Outcome:
    """The printed motion beside the recorded one."""
    raw = recordings.panda_raw()
    kept = (raw.t > 1.0) & (raw.t < 20.0)
    planned = trajectory().motion(raw.t[kept] - SHIFT).q.T
    error = 1e3 * np.sqrt(np.mean((planned - raw.q[kept]) ** 2, axis=0))
    rows = [["rms of recorded minus printed [mrad]", *error.tolist()]]
    return Outcome(
        (Comparison.of("Exciting motion", ("", *panda.JOINTS), rows),),
        {
            "table_ii_motion": joints_figure(
                raw.t[kept][::20], {"recorded": raw.q[kept][::20], "Table II": planned[::20]}, "Exciting motion", "rad"
            )
        },
    )


ITEM = Item(
    "Table II",
    "parameters of the exciting trajectory",
    Status.REPRODUCED,
    "the printed Fourier series against the positions of the recording",
    run,
)
