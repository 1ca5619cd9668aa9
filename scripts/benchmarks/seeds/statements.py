"""Rows that run single items in full: what they state of the document, and whether the recorded verdicts stand."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
from papers.catalogue import paper_of
from papers.item import Check, Setting, Status
from papers.overview import tally
from papers.sousa2014 import methods_compared

from benchmarks.measure import Measure, need
from casid.identification.repair import nearest_feasible

Result = tuple[str, bool]
ROOT = Path(__file__).resolve().parents[3]
#: Recomputations in plain numpy that the documents' pages must have.
RECOMPUTED = 20


def checks(key: str, name: str) -> tuple[Check, ...]:
    """Of one item, computed in full."""
    item = next(item for item in paper_of(key).items if item.name == name)
    assert item.run is not None
    return item.run(Setting()).checks


def stated(key: str, *names: str) -> Result:
    """What items state, each statement with its verdict; met where every verdict is the recorded one."""
    need("clarabel")
    found = [check for name in names for check in checks(key, name)]
    text = "; ".join(("" if check.holds else "does not hold: ") + check.claim for check in found)
    return text, bool(found) and not any(check.changed for check in found)


def entries() -> Result:
    items, claims = tally()
    both = items + claims
    words = ", ".join(f"{both[status]} {status.value}" for status in Status)
    return f"{both.total()} entries ({items.total()} items, {claims.total()} statements of sections): {words}", (
        both.total() >= 110
    )


def sets() -> Result:
    """Figs. 6.2 and 6.3 with the thesis's feasible set, and with the triangle inequality."""
    need("clarabel")
    parts, met = [], True
    for kind, words in methods_compared.SETS.items():
        links, errors, feasible = methods_compared.above(kind, False)
        ratios = (errors[1] / errors[0])[np.array(links) >= 7]
        parts.append(
            f"{words}: OLS feasible for {', '.join(map(str, feasible)) or 'no number of'} links, point masses "
            f"{ratios.min():.2f} ... {np.median(ratios):.2f} ... {ratios.max():.2f} times LMI-SDP from 7 links on"
        )
        if kind == "semi":
            met &= feasible == [1] and 1.5 <= float(np.median(ratios)) <= 3
    return "; ".join(parts), met


def decided() -> Result:
    """The certified test on ten simulated estimates of the WAM."""
    from papers.methods.wam import wam_data

    found = [wam_data(seed, ("A",)).corrected for seed in range(10)]
    proven = [one.proven_distance for one in found]
    verdicts = [one.verdict for one in found]
    text = (
        f"{verdicts.count('infeasible')} of {len(found)} proven infeasible, {verdicts.count('undecided')} undecided; "
        f"proven distances {min(proven):.3g} to {max(proven):.3g}"
    )
    return text, verdicts.count("infeasible") == len(found)


def one_step() -> Result:
    """pi_OSI by the document's own, unweighted objective."""
    from papers import panda

    own, weighted = panda.classical().one_step, panda.classical().one_step_weighted
    apart = float(np.abs(own.beta - weighted.beta).max())
    text = (
        f"unweighted {own.relative_error:.3f} %, weighted {weighted.relative_error:.3f} %, coefficients up to "
        f"{apart:.3f} apart; gap {own.gap:.0e}"
    )
    return text, own.relative_error < weighted.relative_error and own.certified


def three_links() -> Result:
    """Nearest feasible parameters of Table 6.1 by the library."""
    from papers.methods.yoshida_khalil import BETA_T2

    import casid
    from casid.dynamics import Model

    robot = casid.load_robot("three_link")
    base = Model(robot).base
    found = nearest_feasible(
        robot, base.K, np.array([BETA_T2[name] for name in base.names]), consistency="semi", margin=1e-6
    )
    text = f"distance {found.distance:.4e}, proven at least {found.proven_distance:.4e}"
    return text, (abs(found.distance - 1.6504e-3) <= 5e-8 and found.proven_distance >= (1 - 1e-6) * found.distance)


def recomputed() -> Result:
    """The tests that compute the pages' numbers again in plain numpy."""
    files = [f"tests/scripts/{name}.py" for name in ("test_independent", "test_independent_feasibility")]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *files],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    counted = {word: int(number) for number, word in re.findall(r"(\d+) (passed|failed|skipped|error)", done.stdout)}
    text = ", ".join(f"{number} {word}" for word, number in counted.items()) or done.stdout[-200:]
    return text, done.returncode == 0 and counted.get("passed", 0) >= RECOMPUTED


def _row(name: str, bar: str, printed: str, key: str, *items: str) -> Measure:
    run: Callable[[], Result] = partial(stated, key, *items)
    return Measure(name, bar, printed, run)


SUPPLEMENT, THESIS = "gaz2019_supplement", "sousa2014"
STATEMENT_ROWS = [
    Measure("entries of the four documents", "at least 110, none absent, each with its reason", "102", entries),
    Measure("recomputations in plain numpy", "20 agree", "outside the project", recomputed),
    Measure("Figs. 6.2, 6.3 with both feasible sets", "OLS feasible for 1 link alone; point masses about twice LMI-SDP",
            "wrong set", sets),
    Measure("Sec. 3.3: test on ten simulated beta_WLS", "10 of 10 decided, infeasible", "4 of 10", decided),
    Measure("pi_OSI", "the document's unweighted objective", "weighted", one_step),
    _row("boxes around the 2R links", "1.27 and 1.48, an erratum of the document", "1.27, 2", SUPPLEMENT, "Sec. V"),
    Measure("Table 6.1 by casid", "1.6504e-3, proven to 1e-6", "1.6523e-3", three_links),
    _row("Sec. 8.1: terms that infeasibility spoils", "every term, shares and proofs", "absent", THESIS,
         "Sec. 8.1 (terms)"),
    _row("Sec. 8.1: contribution of each parameter", "76 parameters, relation judged", "absent", THESIS,
         "Sec. 8.1 (parameters)"),
    _row("Sec. V: constant against violation-dependent penalty", "100 starts each", "absent", "gaz2019", "Sec. V"),
    _row("Sec. VI: Lagrangian against Newton-Euler", "operations and times", "absent", "gaz2019", "Sec. VI"),
    _row("delta by LMI-SDP anew", "solved, certified, compared", "absent", SUPPLEMENT, "Sec. III"),
    _row("Yoshida's recursion", "carried out, equal to the LMI", "a substitute", THESIS, "Sec. 6.2"),
    _row("Mata's eq. 2.69 with its prior term", "all weights, equal to the SDP", "absent", THESIS, "Sec. 2.6.6"),
    _row("planar 2R by hand", "equal to the LMI at every point", "absent", THESIS, "Sec. 3.1"),
]  # fmt: skip
