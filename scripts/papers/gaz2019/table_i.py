"""Table I and eq. 31: sinusoidal joint velocities for validation."""

from __future__ import annotations

import numpy as np
from benchmarks import published

import casid
from casid.motion import Sine
from papers.item import Check, Comparison, Item, Outcome, Setting, Status, differs
from papers.pictures import joints_figure

#: 5458 samples were collected; the sinusoids' amplitude in position is half the way they go.
SAMPLES = 5458


def sinusoids(centre: np.ndarray | None = None) -> Sine:
    """``dq_i = A_i sin(2 pi t / T_i)`` of Table I as a reference motion; default centre: half-way of the joint ranges.

    A negative amplitude begins towards negative positions. `Sine` begins at ``centre`` and goes ``A T / pi`` from it.
    """
    rows = published.table("panda_ral_table_I_validation_sinusoids")
    speed, period = published.column(rows, "A_rad_per_s"), published.column(rows, "T_s")
    way = speed * period / np.pi
    limits = casid.load_robot("panda").limits
    start = (limits.lower + limits.upper) / 2 - way / 2 if centre is None else centre
    return Sine(start, way, 1.0 / period, duration=SAMPLES / 1000.0)


def run(setting: Setting) -> Outcome:
    """The motion, its limits and how many of its samples differ."""
    motion = sinusoids()
    t = np.arange(0.0, motion.duration, 0.01 if setting.quick else 0.001)
    state = motion.at(t)
    limits = casid.load_robot("panda").limits
    rows = []
    for k, row in enumerate(published.table("panda_ral_table_I_validation_sinusoids")):
        top = float(np.abs(state.dq[:, k]).max())
        inside = bool((state.q[:, k] >= limits.lower[k]).all() and (state.q[:, k] <= limits.upper[k]).all())
        rows.append([k + 1, row["A_rad_per_s"], row["T_s"], top, float(limits.velocity[k]), "yes" if inside else "no"])
    columns = ("joint", "A [rad/s] (printed)", "T [s] (printed)", "largest speed [rad/s]", "limit", "q within limits")
    printed = published.table("panda_ral_table_I_validation_sinusoids")
    speed, period = published.column(printed, "A_rad_per_s"), published.column(printed, "T_s")
    deviation = float(np.abs(state.dq - speed * np.sin(2 * np.pi * t[:, None] / period)).max())
    over = [str(row[0]) for row in rows if float(str(row[3])) > float(str(row[4]))]
    words = f"The printed speeds of joints {', '.join(over)} exceed the limits that the vendor documents."
    return Outcome(
        (Comparison.of("Validation sinusoids", columns, rows),),
        {"table_i_sinusoids": joints_figure(t, {"q": state.q}, "Sinusoids of Table I, centred in the ranges", "rad")},
        (words,) if over else (),
        (
            Check("the reference motion has the velocities of eq. 31 (to 1e-9 rad/s)", deviation <= 1e-9),
            Check("positions stay within the joints' ranges", all(row[-1] == "yes" for row in rows)),
            differs("speeds stay within the vendor's limits", not over),
        ),
    )


ITEM = Item(
    "Table I",
    "amplitudes and periods of the validation sinusoids (eq. 31)",
    Status.REPRODUCED,
    "eq. 31 as a reference motion of the simulator, with the printed numbers, against the joint limits",
    run,
    repeatable=True,
)
