"""The example of Yoshida and Khalil (2000): two sets of base parameters of a three-link robot (Sousa 2014, Table 6.1).

The first set is feasible and the second is not, they found; Sousa (2014, Sec. 6.2) confirms both and gives the
distance of the second from the feasible set, 1.65e-3. Both speak of ``semi`` consistency: with the triangle
inequality the first set fails, too.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

import casid
from casid.arrays import Array
from casid.dynamics import Model
from papers.methods.feasibility_test import FeasibleSet, Verdict, closest_feasible, feasibility_test
from papers.methods.regression import Kind

#: Sousa 2014, Table 6.1, column beta_t1, by leading parameter; beta_t2 differs in the first one only.
BETA_T1 = {
    "Lyy1": 6.4,
    "Lxx2": -5.48,
    "Lxy2": 0.072,
    "Lxz2": -0.087,
    "Lyz2": 0.051,
    "Lzz2": 5.6,
    "lx2": 6.5,
    "ly2": -0.00075,
    "Lxx3": -0.72,
    "Lxy3": -0.0098,
    "Lxz3": -0.0098,
    "Lyz3": -0.00045,
    "Lzz3": 0.72,
    "lx3": 0.95,
    "ly3": 0.015,
}
BETA_T2 = {**BETA_T1, "Lyy1": 6.2}
#: Kinds of consistency.
WORDS: dict[Kind, str] = {"semi": "masses and inertias positive", "full": "with the triangle inequality, too"}


#: Norm up to which a proof of infeasibility is claimed: far above any robot's, far below what rounding decides.
CLAIMED = 1e6


@dataclass(frozen=True, eq=False)
class ThreeLink:
    """Verdict on one set: its name and kind of consistency, the test's outcome, the distance from the feasible set."""

    name: str
    kind: Kind
    verdict: Verdict
    distance: float
    closest: Array

    @property
    def text(self) -> str:
        """In words."""
        what = f"{self.name}, {WORDS[self.kind]}"
        if self.verdict.feasible:
            return f"{what}: feasible, with a smallest eigenvalue of {self.verdict.margin:.3g} to spare"
        return (
            f"{what}: infeasible, {self.distance:.3e} from the nearest feasible ones. Proof: standard parameters with "
            f"these base parameters would have a norm of more than {min(self.verdict.excluded_radius, CLAIMED):.0e}"
        )


def three_link_verdicts() -> list[ThreeLink]:
    """Both sets, both kinds of consistency."""
    base = Model(casid.load_robot("three_link")).base
    found = []
    for name, table in (("beta_t1", BETA_T1), ("beta_t2", BETA_T2)):
        beta = np.array([table[leading] for leading in base.names])
        kinds: tuple[Kind, Kind] = ("semi", "full")
        for kind in kinds:
            allowed = FeasibleSet(30, (0, 10, 20), kind)
            verdict = feasibility_test(base.K, beta, allowed)
            nearest, distance = closest_feasible(base.K, beta, allowed)
            found.append(ThreeLink(name, kind, verdict, 0.0 if verdict.feasible else distance, base.values(nearest)))
    return found
