"""Tables 4.6, 4.7 and 4.9: estimates of the base parameters and their errors."""

from __future__ import annotations

import numpy as np
from measures import published, thesis

from seeds.item import Comparison, Item, Outcome, Setting, Status
from seeds.sousa2014.study import STAND_IN, of


def table_4_6(setting: Setting) -> Outcome:
    """OLS and WLS of one seed beside the printed ones."""
    found = of(setting)
    printed, true = published.table("wam_table_4_6_classical_estimates"), thesis.parameters(thesis.MACHINE)
    own = found.base.values(true)
    cad = _cad()
    rows = [
        [
            row["first_term"], row["beta_CAD"], cad[k], row["beta_OLS"], row["sd_OLS_percent"], row["beta_WLS"],
            row["sd_WLS_percent"], float(own[k]), float(found.ordinary.beta[k]), float(found.ordinary.relative_sd[k]),
            float(found.weighted.beta[k]), float(found.weighted.relative_sd[k]),
        ]
        for k, row in enumerate(printed)
    ]  # fmt: skip
    columns = (
        "beta", "CAD", "CAD, here", "OLS", "sd [%]", "WLS", "sd [%]", "machine", "OLS, here", "sd [%]", "WLS, here",
        "sd [%]",
    )  # fmt: skip
    return Outcome(
        (Comparison.of("Classical estimates", columns, rows),),
        words=("CAD is computed from the vendor's values in the robot file; the machine of the simulation is beta*e.",),
    )


def _cad() -> list[float | None]:
    """CAD values of the base parameters of links; the robot file has no friction and no rotors."""
    model = thesis.model()
    pi = np.zeros(len(model.parameter_names))
    pi[np.ravel(model.link_columns)] = model.robot.standard_parameters()
    inertial = set(np.ravel(model.link_columns).tolist())
    values = model.base.values(pi)
    return [float(v) if i in inertial else None for v, i in zip(values, model.base.independent, strict=True)]


def table_4_7(setting: Setting) -> Outcome:
    """Relative errors of each joint."""
    found = of(setting)
    printed = published.table("wam_table_4_7_errors_OLS_WLS")
    rows = [
        [
            row["joint"], row["relative_error_OLS_percent"], row["relative_error_WLS_percent"],
            float(found.ordinary.relative_errors[k]), float(found.weighted.relative_errors[k]),
        ]
        for k, row in enumerate(printed)
    ]  # fmt: skip
    columns = ("joint", "OLS", "WLS", "OLS, here", "WLS, here")
    return Outcome((Comparison.of("Relative error [%]", columns, rows),))


def table_4_9(setting: Setting) -> Outcome:
    """The four solutions of one seed beside the printed ones."""
    found, printed = of(setting), published.table("wam_table_4_9_feasible_estimates")
    sets = found.solutions()
    keys = ("beta_WLS", "beta_prime_WLS", "beta_star_WLS", "beta_star_e_WLS")
    rows = [
        [row["first_term"], *(row[key] for key in keys), *(float(beta[k]) for beta in sets.values())]
        for k, row in enumerate(printed)
    ]
    columns = ("beta", *sets, *(f"{name}, here" for name in sets))
    u = found.corrected.distance**2
    return Outcome(
        (Comparison.of("Classical and feasible estimates", columns, rows),),
        words=(
            f"beta_WLS is {found.corrected.verdict} here, too: u' = {u:.3g} (printed 0.0077). beta* is proven within "
            f"{found.feasible.gap:.0e} of the optimum.",
        ),
    )


ITEMS = (
    Item("Table 4.6", "classical base parameter estimates", Status.IN_KIND, STAND_IN, table_4_6),
    Item("Table 4.7", "relative errors of OLS and WLS for each joint", Status.IN_KIND, STAND_IN, table_4_7),
    Item("Table 4.9", "classical and feasible base parameter estimates", Status.IN_KIND, STAND_IN, table_4_9),
)
