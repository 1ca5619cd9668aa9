"""Tables and figures of the four documents computed anew: `python scripts/reproduce.py` shows them one by one."""

from __future__ import annotations

import re
import sys
from functools import cache

import numpy as np
from papers import gaz2019_supplement as supplement
from papers import panda
from papers import sousa2014_wam as wam
from papers.catalogue import PAPERS, paper_of
from papers.item import Check, Outcome, Setting, Status
from papers.methods.sdpa import read_sdpa, solve_sdpa, write_sdpa
from papers.methods.wam import PERIODS, wam_data
from papers.methods.wam_inertial import inertial_errors
from papers.page import Done, same, section_of, sections
from papers.sousa2014_methods import nearest_to_beta_t2

from benchmarks import published
from benchmarks.measure import ROOT, NotMeasured, Result, Rows, need, process, scratch
from casid.errors import CasidError

MEASURES = row = Rows()

FULL = Setting()
SUPPLEMENT, THESIS = "gaz2019_supplement", "sousa2014"
#: Recomputations of the pages' numbers in plain numpy; entries that a computation can contradict.
RECOMPUTED, ENTRIES = 20, 110


def _numbered(kind: str, *numbers: str) -> set[str]:
    return {f"{kind} {number}" for number in numbers}


def _range(kind: str, chapter: int, last: int) -> set[str]:
    return {f"{kind} {chapter}.{k}" for k in range(1, last + 1)}


#: Every table, numbered figure and algorithm of each document, counted by hand from its captions.
EXPECTED = {
    "gaz2019": _numbered("Fig.", "1", "2", "3", "4", "5") | {"Table I", "Algorithm 1"},
    SUPPLEMENT: _numbered("Table", *"I II III IV V VI VII VIII IX".split()) | {f"Fig. {k}" for k in range(1, 11)},
    THESIS: _range("Fig.", 2, 3) | _range("Fig.", 3, 2) | _range("Fig.", 4, 9) | _range("Fig.", 5, 8)
    | _range("Fig.", 6, 4) | _range("Fig.", 7, 1) | _range("Table", 4, 11) | _range("Table", 5, 2)
    | _range("Table", 6, 2) | _range("Table", 7, 1),
    "sutanto2020": {"Table 1", "Table 2", "Fig. 1"},
}  # fmt: skip


@cache
def ran(key: str, name: str, quick: bool = False) -> Outcome:
    """What an item gives, computed once for all rows."""
    return paper_of(key).item(name).run(Setting(quick))


def stated(key: str, items: tuple[str, ...], asked: tuple[str, ...] = ()) -> Result:
    """What items state, computed in full.

    Met where every verdict is the recorded one and each claim that has one of the ``asked`` words holds; of those
    behind an exclamation mark, where it does not hold.
    """
    need("clarabel")
    checks = [check for name in items for check in ran(key, name).checks]
    text = "; ".join(("" if check.holds else "does not hold: ") + check.claim for check in checks)
    met = bool(checks) and not any(check.changed for check in checks)
    return text, met and all(_answered(words, checks) for words in asked)


def _answered(words: str, checks: list[Check]) -> bool:
    found = [check.holds for check in checks if words.lstrip("!") in check.claim]
    return bool(found) and all(holds != words.startswith("!") for holds in found)


@row("quick items' pages and verdicts", "equal a fresh run; none changed", "14 of 20")
def fresh() -> Result:
    stale, changed, total = list[str](), 0, 0
    for paper in PAPERS:
        old = sections((ROOT / "docs" / "papers" / f"{paper.key}.md").read_text(encoding="utf-8"))
        for item in (item for item in paper.items if item.repeatable):
            outcome, total = ran(paper.key, item.name), total + 1
            changed += any(check.changed for check in outcome.checks)
            if not same(section_of(Done(item, outcome), paper.key).strip(), old.get(item.name, "").strip()):
                stale.append(f"{paper.key} {item.name}")
    text = f"{total - len(stale)} of {total} quick items equal a fresh run, {changed} verdicts changed"
    return text + (f"; stale: {', '.join(stale)}" if stale else ""), not stale and not changed


@row("items of the four documents", "each runs; 0 missing, 0 not computed, 0 verdicts changed")
def items() -> Result:
    """Every item in its quick form; a repeatable one, whose full form is quick, must have the recorded verdicts."""
    counts = dict.fromkeys((*(status.value for status in Status), "differs", "not computed", "verdict changed"), 0)
    listed = all({item.name for item in paper.items} >= EXPECTED[paper.key] for paper in PAPERS)
    every = [(paper.key, item) for paper in PAPERS for item in paper.items]
    for key, item in every:
        counts[item.status.value] += 1
        if item.function is None:
            continue
        try:
            checks = ran(key, item.name, not item.repeatable).checks
        except (NotMeasured, CasidError):
            counts["not computed"] += 1
            continue
        counts["differs"] += any(not check.expected for check in checks)
        counts["verdict changed"] += item.repeatable and any(check.changed for check in checks)
    text = ", ".join(f"{number} {kind}" for kind, number in counts.items())
    met = listed and not counts["not computed"] and not counts["verdict changed"]
    return f"{len(every)} items: {text}; every numbered table and figure listed: {listed}", met


@row("entries of the four documents", f"at least {ENTRIES} that a computation can contradict", "102")
def entries() -> Result:
    """Items and statements of sections; how many of them have a claim that a computation can contradict."""
    every = [([item], item.status) for paper in PAPERS for item in paper.items]
    every += [([i for _, i in claim.items()], claim.status()) for paper in PAPERS for claim in paper.claims]
    falsifiable = sum(any(item.claims for item in by) for by, _ in every)
    words = ", ".join(f"{sum(own is status for _, own in every)} {status.value}" for status in Status)
    return f"{len(every)} entries: {words}; {falsifiable} with a claim that can fail", falsifiable >= ENTRIES


@row("recomputations in plain numpy",
     f"{RECOMPUTED} numbers of the pages agree; broken items are noticed", "outside the project")  # fmt: skip
def recomputed() -> Result:
    """The tests that compute the pages' numbers again in plain numpy, and see broken code of the items."""
    files = [f"tests/scripts/{name}.py" for name in ("test_guards", "test_independent")]
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *files]
    done = process(*command, folder=ROOT, may_fail=True)
    counted = {word: int(number) for number, word in re.findall(r"(\d+) (passed|failed|skipped|error)", done.stdout)}
    text = ", ".join(f"{number} {word}" for word, number in counted.items()) or done.stdout[-200:]
    return text, done.returncode == 0 and counted.get("passed", 0) >= RECOMPUTED


@row("Newton-Euler error on the recorded motion, friction refitted",
     "pi_RE 1.78, p_hat 2.09, casid <= 1.82 %", "Fig. 5, no numbers")  # fmt: skip
def newton_euler() -> Result:
    errors = {name: found.relative_error for name, found in panda.validations().items()}
    met = abs(errors["pi_RE"] - 1.78) <= 5e-3 and abs(errors["p_hat"] - 2.09) <= 5e-3 and errors["casid"] <= 1.82
    return ", ".join(f"{name} {error:.3f} %" for name, error in errors.items()), met


@row("Table III: 43 pi_RE, relative error, reliable coefficients",
     "printed digits; 0.0011 %, 43 (the data are without noise)", "0.031 %, 41")  # fmt: skip
def reverse_engineered() -> Result:
    (worst, count), estimate = panda.deviations(), panda.coefficients()
    reliable = supplement.reliable()[1]
    text = f"{count} coefficients, worst deviation {worst:.2f} of a unit of the 4th decimal; relative error "
    text += f"{estimate.relative_error:.4f} % (the data are without the interface's noise); {reliable} reliable"
    return text, count == 43 and worst <= 0.6 and estimate.relative_error <= 0.0012 and reliable == 43


@row("Table 4.9: beta' of the printed beta_WLS", "u' 0.0077, 76 values within 7.0e-5", "0.0077")
def beta_prime() -> Result:
    nearest, distance, off = wam.correction_of_print()
    met = round(distance**2, 4) == 0.0077 and len(nearest) == 76 and round(off, 6) <= 7e-5
    return f"u' {distance**2:.6f}, {len(nearest)} beta' within {off:.1e}", met


@row("Table 6.2: point masses with CAD prior, 10 seeds",
     "19.64, 19.68, 20.25 within 0.05; ordered in all", "19.64, 19.68, 20.25")  # fmt: skip
def point_masses() -> Result:
    printed = [float(row["relative_error_percent"]) for row in published.table("wam_table_6_2_errors")]
    errors = np.array([list(inertial_errors(seed, PERIODS).values()) for seed in range(10)])
    here = np.median(errors, axis=0)[:3]
    ordered = int(((errors[:, 0] <= errors[:, 1]) & (errors[:, 1] < errors[:, 2])).sum())
    text = f"WLS {here[0]:.2f}, beta* {here[1]:.2f}, point masses {here[2]:.2f}, medians of 10 seeds"
    return f"{text}; ordered in {ordered}", ordered == 10 and bool((np.abs(here - printed) <= 0.05).all())


@row(
    "beta* with extra constraints", "every reading: beta_WLS, beta', beta* infeasible (proven), beta*e is not", "4.5.4"
)
def extra() -> Result:
    parts, met = [], True
    for name in wam.SETS:
        found = {reading: wam.verdict(name, reading) for reading in wam.READINGS}
        parts.append(f"{name}: {', '.join(f'{reading}: {wam.word(one)}' for reading, one in found.items())}")
        decides = wam.within_digits if name == "beta*e" else wam.proven_infeasible
        met &= all(decides(one) for one in found.values())
    return f"y of link 3 {'; '.join(parts)}", met


@row("SDPA file of the WAM regression, solved by Clarabel", "equal to 1e-7", "7.2")
def sdpa() -> Result:
    need("clarabel")
    solution = wam.of(FULL).feasible.solution
    with scratch() as folder:
        path = folder / "wam.dat-s"
        written, program = write_sdpa(solution.problem, path), read_sdpa(path)
    arrays = ((getattr(one, name) for name in ("cost", "places", "values")) for one in (program, written))
    same_numbers = program.blocks == written.blocks and all(map(np.array_equal, *arrays))
    found = solve_sdpa(program)
    apart = found / solution.objective - 1
    text = f"{len(program.cost)} unknowns, {len(program.blocks)} blocks, read back bitwise equal: {same_numbers}; "
    return text + f"Clarabel apart from casid by {apart:+.1e}", same_numbers and abs(apart) <= 1e-7


@row("Sec. 3.3: test on ten simulated beta_WLS", "10 of 10 decided, infeasible", "4 of 10")
def decided() -> Result:
    """The certified test on ten simulated estimates of the WAM."""
    found = [wam_data(seed, ("A",)).corrected for seed in range(10)]
    count = sum(one.verdict == "infeasible" for one in found)
    return f"{count} of {len(found)} proven infeasible", count == len(found)


@row("pi_OSI", "unweighted objective, certified, error at most that of the print", "weighted")
def one_step() -> Result:
    """pi_OSI by the document's own, unweighted objective, beside the printed column on the same recording."""
    own, printed = panda.classical().one_step, supplement.printed_error("pi_OSI")
    text = f"unweighted {own.relative_error:.3f} %, printed {printed:.3f} %; gap {own.gap:.0e}"
    return text, own.certified and own.relative_error <= printed


@row("Table 6.1 by casid", "1.6504e-3, proven to 1e-6", "1.6523e-3")
def three_links() -> Result:
    """Nearest feasible parameters of Table 6.1 by the library."""
    _, found = nearest_to_beta_t2()
    text = f"distance {found.distance:.4e}, proven at least {found.proven_distance:.4e}"
    return text, abs(found.distance - 1.6504e-3) <= 5e-8 and found.proven_distance >= (1 - 1e-6) * found.distance


def _row(name: str, bar: str, printed: str, key: str, items: str, *asked: str) -> None:
    row(name, bar, printed, key, tuple(items.split("; ")), asked)(stated)


_row("CLS column, 64 rows", "condition number within 1 %, all samples kept; pi_CLS 1.41 %", "1.41 %, 121.88",
     SUPPLEMENT, "Table III", "the condition number of the classical regressor", "error of 1.41 %")  # fmt: skip
_row("delta (LMI-SDP)", "inconsistency proven; distance printed", '"fully consistent"', SUPPLEMENT, "Table VIII",
     "!delta is consistent", "!consistent parameters have the coefficients")  # fmt: skip
_row("Fig. 10, 100 relaxed retrievals", "the distribution; that it is not 10^6", "almost 10^6", SUPPLEMENT,
     "Fig. 10", "infeasible parameters explain the torques", "!10^6 times the true ones")  # fmt: skip
_row("Table V: closed loop in MuJoCo and Bullet, offset not fitted on what is judged",
     "engines' own mean torque error <= 0.005 N.m, flange within 0.03 mm", "0.0027 ... 1.76 N.m, 15 mm", SUPPLEMENT,
     "Table V", "own mean torque error", "the flange stays", "another half")  # fmt: skip
_row("annealing and genetic algorithm, 100 runs, kappa = 10", "statistics; none below the certified optimum",
     "1.290e-3", "gaz2019", "Algorithm 1", "no feasible run of any method ends below")  # fmt: skip
_row("impedance and force control against a compliant wall, 32 postures (2.4.3, 2.4.4)",
     "feasible sets hold contact in all, force within 1 %; beta_WLS breaks loose in some", "no experiment", THESIS,
     "Sec. 2.4.3; Sec. 2.4.4", "holds contact", "breaks loose", "exact within 1 %")  # fmt: skip
_row("Fig. 6.4: model reduction, 76 parameters, 10 seeds", "removed 36 +- 10, thesis's order, for every share",
     "36; 4.57 -> 4.66 / 4.62", THESIS, "Fig. 6.4", "fits best, then beta*", "holds for every share", "36")  # fmt: skip
_row("WAM ch. 4: OLS, WLS, beta', beta*, beta*e on A-D, 10 seeds",
     "thesis's order on A in every seed; beta* validates better in every seed",
     "4.57/4.73/4.62; 7.90->7.79, 6.33->6.19, 7.05->6.87", THESIS, "Table 4.10", "on A beta_WLS fits best",
     "beta* validates better")  # fmt: skip
_row("Figs. 6.2, 6.3 with both feasible sets", "OLS feasible for 1 link alone; point masses about twice LMI-SDP",
     "wrong set", THESIS, "Fig. 6.2", "OLS is infeasible from 2", "OLS is feasible for 1", "around twice")  # fmt: skip
_row("boxes around the 2R links", "1.27 and 1.48, an erratum of the document", "1.27, 2", SUPPLEMENT, "Sec. V")
_row("Sec. 8.1: terms that infeasibility spoils", "every term, shares and proofs", "absent", THESIS,
     "Sec. 8.1 (terms)", "Coriolis and friction alone are infeasible", "gravity alone is feasible")  # fmt: skip
_row("Sec. 8.1: contribution of each parameter", "a relation with the deviations (p < 0.05)", "absent", THESIS,
     "Sec. 8.1 (parameters)", "rise together")  # fmt: skip
_row("Sec. V: constant against violation-dependent penalty", "more of 100 starts end feasible", "absent", "gaz2019",
     "Sec. V", "more of the starts end feasible")  # fmt: skip
_row("Sec. VI: Lagrangian against Newton-Euler", "the same torques; the Lagrangian is more expensive", "absent",
     "gaz2019", "Sec. VI", "the same torques", "more expensive")  # fmt: skip
_row("delta by LMI-SDP anew", "the certified optimum; nearest to pi_OSI, as printed", "absent", SUPPLEMENT,
     "Sec. III", "certified one", "nearest to pi_OSI")  # fmt: skip
_row("Yoshida's recursion", "carried out, equal to the LMI", "a substitute", THESIS, "Sec. 6.2", "that of the LMI")
_row("Mata's eq. 2.69 with its prior term", "all weights, equal to the SDP", "absent", THESIS, "Sec. 2.6.6",
     "ends at the semidefinite optimum")  # fmt: skip
_row("planar 2R by hand", "equal to the LMI at every point", "absent", THESIS, "Sec. 3.1", "at every point")
