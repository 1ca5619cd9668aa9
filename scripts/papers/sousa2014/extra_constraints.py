"""Table 4.8 and eq. 4.39: extra constraints on centres of mass and total mass; who obeys them."""

from __future__ import annotations

from functools import partial

import numpy as np
from benchmarks import published

from casid.identification.repair import feasibility_test
from casid.identification.repair._feasibility import Feasibility
from casid.retrieval import Constraints, LinkVariables, com_box, total_mass
from papers import wam_cases as thesis
from papers.item import Check, Comparison, Item, Outcome, Setting, Status

#: Printed values have four decimals: each base parameter lies within this of what is printed.
ROUNDING = 0.5e-4
SETS = {
    "beta_WLS": "beta_WLS", "beta'": "beta_prime_WLS", "beta*": "beta_star_WLS", "beta*e": "beta_star_e_WLS",
}  # fmt: skip
#: Readings of link 3's range of y.
READINGS = ("as printed", "turned", "left free")


def boxes(reading: str) -> tuple[np.ndarray, np.ndarray]:
    """Lower and upper bounds of the centres of mass, shape (7, 3) each."""
    rows = published.table("wam_table_4_8_com_bounds")
    low, high = (
        np.array([[float(row[f"{side}_{axis}_m"]) for axis in "xyz"] for row in rows]) for side in ("lower", "upper")
    )
    if reading == "turned":
        low[2, 1], high[2, 1] = -high[2, 1], -low[2, 1]
    elif reading == "left free":
        low[2, 1], high[2, 1] = -np.inf, np.inf
    return low, high


def constraints(links: LinkVariables, reading: str) -> Constraints:
    """Table 4.8 and 27 kg."""
    low, high = boxes(reading)
    return (*(com_box(link, low[k], high[k]) for k, link in enumerate(links)), total_mass(links, 0.0, 27.0))


def verdict(name: str, reading: str | None) -> Feasibility:
    """Of a printed set; reading None: physical feasibility alone."""
    rows = published.table("wam_table_4_9_feasible_estimates")
    build = None if reading is None else partial(constraints, reading=reading)
    return feasibility_test(thesis.model(), published.column(rows, SETS[name]), consistency="semi", constraints=build)


def proven_infeasible(found: Feasibility) -> bool:
    """Whether a plane separates all base parameters that round to the printed ones from the feasible ones."""
    return found.excludes(ROUNDING)


def within_digits(found: Feasibility) -> bool:
    """Whether feasible base parameters were found that round to the printed ones."""
    return bool(np.abs(found.corrected - found.given).max() <= ROUNDING)


def word(found: Feasibility) -> str:
    """Verdict as far as four decimals allow one."""
    if proven_infeasible(found):
        d = found.corrected - found.given
        reach = ROUNDING * float(np.abs(d).sum())
        return f"infeasible, distance {found.distance:.2e}; d'd = {float(d @ d):.2e} > {reach:.2e}"
    if within_digits(found):
        return (
            f"feasible within the printed digits (largest difference {np.abs(found.corrected - found.given).max():.0e})"
        )
    return "open"


def run(setting: Setting) -> Outcome:
    """All four sets, without and with the constraints, for every reading of the table."""
    low, high = boxes("as printed")
    robot = thesis.model().robot
    table = []
    for k, link in enumerate(robot.links):
        com = link.inertial.com if link.inertial is not None else np.full(3, np.nan)
        table.append([k + 1, *low[k].tolist(), *high[k].tolist(), " ".join(f"{c:.4f}" for c in com)])
    names = tuple(SETS)[2:] if setting.quick else tuple(SETS)
    readings = READINGS[::2] if setting.quick else READINGS
    found = {name: [verdict(name, reading) for reading in (None, *readings)] for name in names}
    rows = [[name, *(word(one) for one in verdicts)] for name, verdicts in found.items()]
    return Outcome(
        (
            Comparison.of(
                "Limits of the centres of mass [m]",
                ("link", "x >=", "y >=", "z >=", "x <=", "y <=", "z <=", "vendor's CAD value"),
                table,
            ),
            Comparison.of(
                "Feasible with the extra constraints?",
                ("set", "physics alone", *(f"y of link 3 {reading}" for reading in readings)),
                rows,
            ),
        ),
        words=(
            "Link 3's printed range of y, [-0.55, 0.04], does not hold the vendor's own centre of mass, y = +0.21: the "
            "body reaches from the elbow's frame towards +y. Turned, [-0.04, 0.55], it does. The robot file leaves y "
            "of link 3 free, and has the total mass of at most 27 kg.",
            "Printed values have four decimals: the set itself lies in the box |beta_i - printed_i| <= 0.5e-4. "
            "Infeasible means that nothing in the box is feasible, proven by a separating plane: with d from the "
            "printed set to its nearest feasible one, d'(beta - printed) >= d'd for every feasible beta (certified), "
            "and at most 0.5e-4 |d|_1 in the box. Feasible means that a feasible set that rounds to the "
            "printed one was found.",
        ),
        checks=(
            Check("beta* is feasible without the extra constraints", within_digits(found["beta*"][0])),
            Check(
                "beta* is infeasible with them (Sec. 4.5.4), however the table is read (proven)",
                all(proven_infeasible(one) for one in found["beta*"][1:]),
            ),
            Check(
                "beta*e is feasible with them, however the table is read",
                all(within_digits(one) for one in found["beta*e"][1:]),
            ),
        ),
    )


ITEM = Item(
    "Table 4.8",
    "extra constraints: spatial limits of the centres of mass",
    Status.REPRODUCED,
    "feasibility of the four printed solutions under the printed limits and 27 kg, with proofs",
    run,
)
