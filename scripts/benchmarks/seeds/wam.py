"""Rows about the thesis's arm: identification over seeds, model reduction, extra constraints, SDPA files."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
from papers import wam_cases
from papers.item import Setting
from papers.sousa2014 import contact, extra_constraints, model_reduction, predictions
from papers.sousa2014.study import of

from benchmarks.measure import Measure, need

Result = tuple[str, bool]
FULL = Setting()


def reduction() -> Result:
    need("clarabel")
    parts, met = [], True
    for share, found in model_reduction.by_ripple(FULL).items():
        removed = np.array([p.feasible_at if p.feasible_at is not None else 76 for p in found])
        ordered = sum(p.reduced is not None and p.weighted <= p.feasible < p.reduced for p in found)
        parts.append(
            f"ripple {share:g}: removed {removed.min()} to {removed.max()}, median {np.median(removed):.0f} of 76, "
            f"errors in the thesis's order in {ordered} of {len(found)}"
        )
        met &= ordered == len(found)
    return "; ".join(parts), met


def point_masses() -> Result:
    need("clarabel")
    from papers.methods.wam import PERIODS
    from papers.methods.wam_inertial import inertial_errors

    done = [list(inertial_errors(seed, PERIODS).values()) for seed in range(10)]
    errors = np.array(done)
    ordered = int(((errors[:, 0] <= errors[:, 1]) & (errors[:, 1] < errors[:, 2])).sum())
    a, b, c, d = np.median(errors, axis=0)
    text = (
        f"WLS {a:.2f}, beta* {b:.2f}, point masses {c:.2f} with the CAD prior of eq. 2.76 ({d:.2f} without), medians "
        "of "
        f"{len(done)} seeds; in the thesis's order in {ordered}"
    )
    return text, ordered == len(done)


def chapter_4() -> Result:
    found = predictions.study(FULL)
    middle = np.median(found.errors, axis=0)
    seeds, pairs = len(found.errors), found.errors[:, 2:, 0].size
    low, middle_one, high = np.percentile(found.over_wls, [0, 50, 100])
    rows = "; ".join(
        f"{name} {' / '.join(f'{value:.3f}' for value in row)}"
        for name, row in zip(predictions.ROWS, middle, strict=True)
    )
    text = (
        f"WLS / beta' / beta* / beta*e, medians of {seeds} seeds: {rows}; fitted data in the thesis's order in "
        f"{found.training_order} of {seeds}; validation: beta* better than WLS in {found.validation_wins}, beta* best "
        f"of the three in {found.best_on_validation}, one of the two best fits (beta*, beta*e) best of all four in "
        f"{found.optimum_best}, of {pairs}; error of beta* less that of WLS {low:+.3f} ... {middle_one:+.3f} ... "
        f"{high:+.3f} percentage points (least, median, largest); nearer than WLS to the machine's own torque, free of "
        f"disturbance, in {found.nearer[0]} of {seeds} on A, {found.nearer[1:].sum()} of {pairs} on B-D; beta* proven "
        f"within {found.largest_gap:.0e}"
    )
    shares = "; ".join(f"{row[0]}: {row[-1]}" for row in predictions.by_ripple(FULL)[0])
    text += f"; beta* better than WLS on B, C, D by the assumed share of the ripple: {shares}"
    return text, bool(found.largest_gap <= 1e-6 and found.training_order == seeds == found.nearer[0])


def extra() -> Result:
    parts, met = [], True
    for name in extra_constraints.SETS:
        found = {reading: extra_constraints.verdict(name, reading) for reading in extra_constraints.READINGS}
        words = ", ".join(f"{reading}: {extra_constraints.word(one)}" for reading, one in found.items())
        parts.append(f"{name}: {words}")
        decides = extra_constraints.within_digits if name == "beta*e" else extra_constraints.proven_infeasible
        met &= all(decides(one) for one in found.values())
    return f"y of link 3 {'; '.join(parts)}", met


def sdpa() -> Result:
    need("clarabel")
    from papers.methods.sdpa import solve_sdpa
    from papers.methods.sdpa_files import read_sdpa, write_sdpa

    solution = of(FULL).feasible.solution
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "wam.dat-s"
        written = write_sdpa(solution.problem, path)
        program, size = read_sdpa(path), path.stat().st_size
    same = (
        program.blocks == written.blocks
        and np.array_equal(program.cost, written.cost)
        and np.array_equal(program.places, written.places)
        and np.array_equal(program.values, written.values)
    )
    found = solve_sdpa(program)
    difference = found.objective / solution.objective - 1
    text = (
        f"{len(program.cost)} unknowns, {len(program.blocks)} blocks, {size / 1e3:.0f} kB, read back bitwise equal: "
        f"{same}; Clarabel {found.objective:.10g} ({found.status}), casid {solution.objective:.10g}: {difference:+.1e}"
    )
    return text, same and abs(difference) <= 1e-7


def walls() -> Result:
    parts, met = [], True
    for kind in ("impedance", "force"):
        found = {name: contact.contact(kind, name, contact.POSTURES) for name in wam_cases.SETS}
        loose = ", ".join(f"{name} {one.broken}" for name, one in found.items())
        feasible = [one for name, one in found.items() if name != contact.MISFIT]
        worst = max(float(np.abs(one.final - contact.expected(kind)).max()) for one in feasible)
        parts.append(f"{kind}: broke loose in {loose} of {contact.POSTURES}; feasible sets within {worst:.2f} N")
        met &= not any(one.broken for one in feasible) and found[contact.MISFIT].broken > 0
    return "; ".join(parts), met and worst <= 0.01 * contact.FORCE


WAM_ROWS = [
    Measure(
        "impedance and force control against a compliant wall, 32 postures (2.4.3, 2.4.4)",
        "feasible sets hold contact in all, force within 1 %; beta_WLS breaks loose in some",
        "no experiment",
        walls,
    ),
    Measure(
        "Fig. 6.4: model reduction, 76 parameters, 10 seeds",
        "best feasible < reduced model for every assumed share of the ripple",
        "36; 4.57 -> 4.66 / 4.62",
        reduction,
    ),
    Measure(
        "Table 6.2: point masses with CAD prior, 10 seeds",
        "WLS <= beta* < point masses",
        "19.64, 19.68, 20.25",
        point_masses,
    ),
    Measure(
        "WAM ch. 4: OLS, WLS, beta', beta*, beta*e on A-D, 10 seeds",
        "thesis's order on A in every seed; validation shown over the share of the ripple",
        "4.57/4.73/4.62; 7.90->7.79, 6.33->6.19, 7.05->6.87",
        chapter_4,
    ),
    Measure(
        "beta* with extra constraints",
        "every reading: beta_WLS, beta', beta* infeasible (proven plane), beta*e feasible",
        "4.5.4",
        extra,
    ),
    Measure("SDPA file of the WAM regression, solved by Clarabel", "equal to 1e-7", "7.2", sdpa),
]
