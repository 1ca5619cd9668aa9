"""Tables 4.3-4.5 and Figs. 4.4, 4.5: control gains and identification trajectories."""

from __future__ import annotations

import numpy as np
from benchmarks import published

from papers import wam_cases as thesis
from papers.item import Check, Comparison, Item, Outcome, Setting, Status
from papers.methods.wam import FUNDAMENTAL, HARMONICS, PERIODS, TRAJECTORIES, recorded, trajectory
from papers.pictures import joints_figure
from papers.sousa2014.study import of

#: Condition numbers of the filtered data of A and B, as printed (Sec. 4.3.3); the design aimed at 110.
PRINTED = {"A": 105.0, "B": 111.0}
TABLES = {"A": "wam_table_4_4_trajectory_A", "B": "wam_table_4_5_trajectory_B"}


def condition(name: str, step: float = 0.01) -> float:
    """Condition number of the base regressor along the reference."""
    model = thesis.model()
    motion = trajectory(name).motion(np.arange(0.0, thesis.PERIOD, step))
    W = model.base_regressor(*motion)
    return float(np.linalg.cond(W.reshape(-1, model.base.rank)))


def series(name: str, t: np.ndarray) -> np.ndarray:
    """Eq. 4.19 written out: positions of trajectory A or B, shape (N, 7)."""
    rows = published.table(TABLES[name])
    q = np.zeros((len(t), 7))
    for k, row in enumerate(rows):
        *coefficients, q[:, k] = [float(row[key]) for key in row if key != "joint"]
        for i, (a, b) in enumerate(zip(coefficients[:HARMONICS], coefficients[HARMONICS:], strict=True), start=1):
            w = FUNDAMENTAL * i
            q[:, k] += a / w * np.sin(w * t) - b / w * np.cos(w * t)
    return q


def table(name: str) -> Item:
    """Coefficients of a trajectory."""
    printed = TABLES[name]

    def run(setting: Setting) -> Outcome:
        rows = [[row[key] for key in row] for row in published.table(printed)]
        columns = tuple(published.table(printed)[0])
        limits, motion = thesis.model().robot.limits, trajectory(name).motion(np.arange(0.0, thesis.PERIOD, 0.005))
        inside = np.all((motion.q >= limits.lower) & (motion.q <= limits.upper), axis=0)
        outside = [str(k + 1) for k in range(7) if not inside[k]]
        found, measured = condition(name), float(np.linalg.cond(of(setting).sets[name].stacked()[0]))
        words = (
            f"Condition number of the base regressor along the reference {found:.1f}, on the simulated recording "
            f"{measured:.1f}; printed, of the recorded motion, {PRINTED[name]:.0f}. Joints beyond the mechanical stops "
            f"of the manual: {', '.join(outside) or 'none'}."
        )
        return Outcome(
            (Comparison.of("Fourier coefficients", columns, rows),),
            words=(words,),
            checks=(
                Check(
                    f"the condition number is {PRINTED[name]:.0f} (within 5 %)", abs(found / PRINTED[name] - 1) <= 0.05
                ),
                Check("the motion keeps the joints' limits", not outside),
            ),
        )

    number = "4.4" if name == "A" else "4.5"
    return Item(
        f"Table {number}", f"parameters of trajectory {name}", Status.REPRODUCED,
        "the printed Fourier series: its condition number and whether it keeps the joint limits", run,
    )  # fmt: skip


def figure(name: str) -> Item:
    """Reference positions."""
    number = "4.4" if name == "A" else "4.5"

    def run(setting: Setting) -> Outcome:
        t = np.arange(0.0, thesis.PERIOD, 0.02)
        q = trajectory(name).motion(t).q
        picture = joints_figure(t, {"reference": q}, f"Reference of trajectory {name}", "rad")
        deviation = float(np.abs(q - series(name, t)).max())
        return Outcome(
            pictures={f"fig_{number.replace('.', '_')}": picture},
            checks=(
                Check("the reference motion is eq. 4.19 with the printed numbers (to 1e-9 rad)", deviation <= 1e-9),
            ),
        )

    return Item(
        f"Fig. {number}", f"joint reference of trajectory {name}", Status.REPRODUCED, "from the printed series", run
    )


def gains(setting: Setting) -> Outcome:
    """How well the simulated arm follows with the printed gains."""
    periods = 1 if setting.quick else PERIODS
    names = TRAJECTORIES[:1] if setting.quick else TRAJECTORIES[:2]
    rows: list[list[object]] = [
        [f"{key} (printed)", *(row[key] for row in published.table("wam_table_4_3_pd_gains"))] for key in ("Kp", "Kd")
    ]
    for name in names:
        done = recorded(name, periods)
        error = done.q - trajectory(name, periods).motion(done.t).q
        rows.append([f"rms error on {name}, simulated [deg]", *np.degrees(np.sqrt((error**2).mean(axis=0))).tolist()])
    return Outcome((Comparison.of("PD control", ("", *(f"joint {k}" for k in range(1, 8))), rows),))


GAINS = Item(
    "Table 4.3",
    "PD gains of the data collection",
    Status.IN_KIND,
    "stand-in: the arm itself; the printed gains drive a simulated one along A and B. The thesis gives no tracking "
    "errors",
    gains,
)
ITEMS = (
    GAINS,
    table("A"),
    table("B"),
    figure("A"),
    figure("B"),
)
