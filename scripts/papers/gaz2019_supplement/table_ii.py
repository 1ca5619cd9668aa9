"""Table II: Fourier coefficients of the exciting motion."""

from __future__ import annotations

import numpy as np
from benchmarks import published, recordings
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar

from casid.measurement import Dataset
from casid.motion import Fourier, Trajectory
from papers import panda
from papers.item import Check, Comparison, Item, Outcome, Setting, Status
from papers.pictures import joints_figure

#: The command begins with a ramp: how far the printed motion may be shifted to meet the recorded one [s].
SHIFTS = (0.0, 2.0)
#: What a position controller may leave [rad].
TRACKING = 5e-3


def trajectory() -> Trajectory:
    """The printed motion, fundamental 0.15 pi rad/s, five harmonics."""
    rows = published.table("panda_table_II_trajectory")
    table = np.array([[float(row[f"joint_{k}"]) for row in rows] for k in range(1, 8)])
    return Trajectory(Fourier(0.15 * np.pi, 5), table, robot="panda")


def run(setting: Setting) -> Outcome:
    """The printed motion beside the recorded one."""
    raw = recordings.panda_raw()
    kept = (raw.t > 1.0) & (raw.t < 20.0)
    coarse = np.arange(*SHIFTS, 0.1)
    near = float(coarse[np.argmin([_error(raw, kept, shift).max() for shift in coarse])])
    shift = float(minimize_scalar(lambda s: (_error(raw, kept, s) ** 2).sum(), (near - 0.1, near, near + 0.1)).x)
    planned, error = trajectory().motion(raw.t[kept] - shift).q, _error(raw, kept, shift)
    rows = [["rms of recorded minus printed [mrad]", *(1e3 * error).tolist()]]
    return Outcome(
        (Comparison.of("Exciting motion", ("", *panda.JOINTS), rows),),
        {
            "table_ii_motion": joints_figure(
                raw.t[kept][::20], {"recorded": raw.q[kept][::20], "Table II": planned[::20]}, "Exciting motion", "rad"
            )
        },
        (f"The command begins with a ramp: the series meets the recording best {shift:.3f} s later, as found here.",),
        (
            Check(
                f"the recording follows the printed series within {1e3 * TRACKING:g} mrad rms", error.max() <= TRACKING
            ),
        ),
    )


def _error(raw: Dataset, kept: NDArray[np.bool_], shift: float) -> NDArray[np.float64]:
    """Root mean square deviation of each joint from the printed series [rad]."""
    planned = trajectory().motion(raw.t[kept] - shift).q
    return np.asarray(np.sqrt(np.mean((planned - raw.q[kept]) ** 2, axis=0)))


ITEM = Item(
    "Table II",
    "parameters of the exciting trajectory",
    Status.REPRODUCED,
    "the printed Fourier series against the positions of the recording",
    run,
)
