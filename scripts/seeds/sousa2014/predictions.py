"""Tables 4.10, 4.11 and Figs. 4.6-4.9: prediction errors on identification and validation trajectories."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from matplotlib.figure import Figure
from measures import published
from methods.wam import PERIODS, TRAJECTORIES, disturbed, processed

from casid.regression import predicted_torques
from seeds.item import Comparison, Item, Outcome, Setting, Status
from seeds.pictures import joints_figure
from seeds.sousa2014.study import STAND_IN, of, seeds

SETS = ("beta_WLS", "beta'", "beta*", "beta*e")
#: Rows of Table 4.10: the weighted data of A, then the plain data of every trajectory.
ROWS = ("weighted A", *TRAJECTORIES)


@dataclass(frozen=True, eq=False)
class Study:
    """Errors over seeds.

    Attributes
    ----------
    errors : ndarray, shape (seeds, 5, 4)
        Relative errors [%]: rows of Table 4.10, then its columns.
    per_joint : ndarray, shape (seeds, 4, 2, 7)
        Relative errors of each joint [%]: trajectories, beta_WLS and beta*e.
    gaps : ndarray, shape (seeds,)
        Certified relative gaps of beta*.
    """

    errors: np.ndarray
    per_joint: np.ndarray
    gaps: np.ndarray

    @property
    def largest_gap(self) -> float:
        """Of the proofs that beta* is the best fit."""
        return float(self.gaps.max())

    @property
    def optimum_best(self) -> int:
        """Pairs of seed and validation trajectory where beta* or beta*e is the best of all four."""
        return int((self.errors[:, 2:].argmin(axis=2) >= 2).sum())

    @property
    def training_order(self) -> int:
        """Seeds in which beta_WLS < beta* < beta' on the data they were fitted to."""
        wls, corrected, best, _ = self.errors[:, 0].T
        return int(((wls <= best) & (best <= corrected)).sum())

    @property
    def validation_wins(self) -> int:
        """Pairs of seed and validation trajectory where beta* predicts better than beta_WLS."""
        return int((self.errors[:, 2:, 2] < self.errors[:, 2:, 0]).sum())

    @property
    def best_on_validation(self) -> int:
        """Such pairs where beta* is the best of beta_WLS, beta' and beta*."""
        return int((self.errors[:, 2:, :3].argmin(axis=2) == 2).sum())


def study(setting: Setting) -> Study:
    """All seeds."""
    errors, joints, gaps = [], [], []
    for seed in seeds(setting):
        found = of(setting, seed)
        sets = found.solutions()
        table = [[found.relative_error(beta, weighted=True) for beta in sets.values()]]
        table += [[found.relative_error(beta, name) for beta in sets.values()] for name in TRAJECTORIES]
        errors.append(table)
        gaps.append(found.feasible.gap)
        joints.append(
            [
                [found.sets[name].relative_errors(sets[key])[1] for key in ("beta_WLS", "beta*e")]
                for name in TRAJECTORIES
            ]
        )
    return Study(np.array(errors), np.array(joints), np.array(gaps))


def table_4_10(setting: Setting) -> Outcome:
    """Medians over seeds."""
    found, printed = study(setting), published.table("wam_table_4_10_relative_errors")
    keys = ("beta_WLS", "beta_prime_WLS", "beta_star_WLS", "beta_star_e_WLS")
    middle = np.median(found.errors, axis=0)
    rows = [
        [name, *(row[key] for key in keys), *middle[i].tolist()]
        for i, (name, row) in enumerate(zip(ROWS, printed, strict=True))
    ]
    count, pairs = len(found.errors), found.errors[:, 2:, 0].size
    columns = ("data", *SETS, *(f"{name}, here" for name in SETS))
    return Outcome(
        (Comparison.of(f"Relative error [%], here the median of {count} seeds", columns, rows),),
        words=(
            f"On the data fitted to, beta_WLS < beta* < beta' in {found.training_order} of {count} seeds. On "
            "validation "
            f"trajectories beta* beats beta_WLS in {found.validation_wins} of {pairs}, beta* is the best of beta_WLS, "
            f"beta' and beta* in {found.best_on_validation} of {pairs}, and beta* or beta*e the best of all four in "
            f"{found.optimum_best}. beta* is proven within {found.largest_gap:.0e} of the best fit.",
        ),
    )


def table_4_11(setting: Setting) -> Outcome:
    """Errors of each joint, median over seeds."""
    found, printed = study(setting), published.table("wam_table_4_11_errors_per_joint")
    middle = np.median(found.per_joint, axis=0)
    rows = []
    for k, row in enumerate(printed):
        cells: list[object] = [row["joint"]]
        for i, name in enumerate(TRAJECTORIES):
            cells.append(f"{row[f'{name}_beta_WLS']} -> {row[f'{name}_beta_star_e_WLS']}")
            cells.append(f"{middle[i, 0, k]:.1f} -> {middle[i, 1, k]:.1f}")
        rows.append(cells)
    columns = ("joint", *(text for name in TRAJECTORIES for text in (name, f"{name}, here")))
    return Outcome((Comparison.of("Relative error [%], beta_WLS -> beta*e", columns, rows),))


def figure(name: str, compared: bool) -> Figure:
    """Torques of a trajectory, or the errors of both solutions."""
    found = of(Setting(), 0)
    data = disturbed(processed(name, PERIODS), 0, TRAJECTORIES.index(name))
    shown = slice(0, len(data) // PERIODS, 2)
    torque = {key: predicted_torques(found.sets[name], beta, data)[shown] for key, beta in found.solutions().items()}
    tau = data.tau[shown]
    series = {"measured": tau, "beta*e": torque["beta*e"]}
    if compared:
        series = {key: tau - torque[key] for key in ("beta_WLS", "beta*e")}
    what = "Prediction errors" if compared else "Measured and predicted torque"
    return joints_figure(data.t[shown], series, f"{what}, trajectory {name} (simulated)", "N m")


def pictured(number: str, name: str, compared: bool, title: str) -> Item:
    """One of the four figures."""

    def run(setting: Setting) -> Outcome:
        return Outcome(pictures={f"fig_{number.replace('.', '_')}": figure(name, compared)})

    return Item(f"Fig. {number}", title, Status.IN_KIND, STAND_IN, run)


ITEMS = (
    Item("Table 4.10", "relative errors on all trajectories", Status.IN_KIND, STAND_IN, table_4_10),
    pictured("4.6", "A", False, "torque predicted by beta*e on the regression trajectory"),
    pictured("4.7", "A", True, "classical and feasible prediction errors on the regression trajectory"),
    Item("Table 4.11", "relative errors of each joint", Status.IN_KIND, STAND_IN, table_4_11),
    pictured("4.8", "B", False, "torque predicted by beta*e on validation trajectory B"),
    pictured("4.9", "B", True, "classical and feasible prediction errors on trajectory B"),
)
