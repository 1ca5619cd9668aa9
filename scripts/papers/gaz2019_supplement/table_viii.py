"""Tables VIII and IX: bounds, p_hat and delta, checked for consistency and fit."""

from __future__ import annotations

import numpy as np
from benchmarks import published

from casid.identification.repair import feasibility_test
from casid.identification.repair._feasibility import Feasibility
from casid.inertia import from_standard, pseudo_inertia
from papers import panda
from papers.item import Check, Comparison, Item, Outcome, Setting, Status, differs


def eigenvalues(parameters: np.ndarray) -> np.ndarray:
    """Smallest eigenvalue of the inertia about the centre of mass, and of the pseudo-inertia, of every link: (7, 2)."""
    return np.array(
        [
            [np.linalg.eigvalsh(from_standard(ten)[2])[0], np.linalg.eigvalsh(pseudo_inertia(ten))[0]]
            for ten in parameters.reshape(7, 10)
        ]
    )


def misfit(parameters: np.ndarray) -> float:
    """``|pi(p) - pi_RE|^2`` over the 41 reliable coefficients."""
    return panda.retrieved().problem.objective(parameters)


def squared_distances(column: str) -> dict[str, float]:
    """Of the coefficients of p_hat or delta from each column of Table III, over the 41 reliable ones."""
    rows = published.table("panda_table_III_dynamic_coefficients")[:43]
    reliable = [k for k, row in enumerate(rows) if float(row["sd_RE_percent"]) <= 30]
    values = panda.forms()[0] @ panda.printed_parameters(column)
    return {
        name: float(sum((values[k] - float(rows[k][name])) ** 2 for k in reliable))
        for name in ("pi_RE", "pi_CLS", "pi_OSI")
    }


def delta_verdict() -> Feasibility:
    """Whether any consistent parameters have the coefficients of delta."""
    model = panda.model()
    return feasibility_test(model, model.base.values(panda.printed_parameters("delta")))


def run(setting: Setting) -> Outcome:
    """Printed sets beside the certified one."""
    sets = {
        "p_hat": panda.printed_parameters("p_hat"),
        "delta": panda.printed_parameters("delta"),
        "casid": panda.retrieved().standard_parameters,
    }
    rows: list[list[object]] = [["|pi(p) - pi_RE|^2", *(misfit(x) for x in sets.values())]]
    rows.append(["its root", *(float(np.sqrt(misfit(x))) for x in sets.values())])
    rows.append(["total mass [kg]", *(float(x[9::10].sum()) for x in sets.values())])
    for k in range(7):
        rows.append([f"link {k + 1}: smallest moment [kg m^2]", *(float(eigenvalues(x)[k, 0]) for x in sets.values())])
    for k in range(7):
        rows.append([f"link {k + 1}: of pseudo-inertia", *(float(eigenvalues(x)[k, 1]) for x in sets.values())])
    names = [row["parameter"] for row in published.table("panda_table_VIII_masses_coms")]
    mass, com = panda.retrieved().standard_parameters[9::10], [link.com for link in panda.retrieved().link_parameters]
    table: list[list[object]] = []
    for row in published.table("panda_table_VIII_masses_coms"):
        k = int(row["parameter"][1]) - 1
        own = float(mass[k]) if row["parameter"][0] == "m" else float(com[k]["xyz".index(row["parameter"][2])])
        table.append([row["parameter"], row["lower"], row["upper"], row["p_hat"], row["delta"], own])
    assert len(table) == len(names)
    verdict, squared = delta_verdict(), squared_distances("delta")
    times = squared["pi_RE"] / squared_distances("p_hat")["pi_RE"]
    return Outcome(
        (
            Comparison.of("Consistency and fit", ("", *sets), rows),
            Comparison.of("Table VIII", ("parameter", "LB", "UB", "p_hat", "delta", "casid"), table),
        ),
        words=(
            f"delta is called consistent; link 2 has a principal moment of {eigenvalues(sets['delta'])[1, 0]:.1e} "
            f"kg m^2. Its digits are too few to say more of the body, but its coefficients are {verdict.verdict}: no "
            f"consistent parameters come nearer to them than {verdict.proven_distance:.2e} (proven). The squared "
            f"distance of delta's coefficients from pi_RE, {squared['pi_RE']:.2e}, is {times:.0f} times p_hat's: "
            "delta "
            "was not retrieved from pi_RE but identified from measured torques, and is nearer to the columns that were "
            f"(pi_CLS {squared['pi_CLS']:.2e}, pi_OSI {squared['pi_OSI']:.2e}).",
        ),
        checks=(
            Check("p_hat is consistent", bool((eigenvalues(sets["p_hat"]) > 0).all())),
            differs("delta is consistent", bool((eigenvalues(sets["delta"]) > 0).all())),
            differs("consistent parameters have the coefficients of delta", verdict.verdict != "infeasible"),
            Check(
                "the set found here is consistent and nearer to pi_RE than p_hat",
                bool((eigenvalues(sets["casid"]) > 0).all()) and misfit(sets["casid"]) < misfit(sets["p_hat"]),
            ),
            Check(
                "its masses and centres of mass are within the printed bounds",
                all(
                    float(str(low)) - 1e-6 <= float(str(own)) <= float(str(high)) + 1e-6
                    for _, low, high, *_, own in table
                ),
            ),
        ),
    )


def run_inertias(setting: Setting) -> Outcome:
    """All inertias."""
    found = panda.retrieved().link_parameters
    rows: list[list[object]] = []
    within = printed = True
    for row in published.table("panda_table_IX_inertias"):
        name, low, high = row["parameter"], float(row["lower"]), float(row["upper"])
        own = float(found[int(name[1]) - 1].inertia_com["xyz".index(name[2]), "xyz".index(name[3])])
        rows.append([name, row["lower"], row["upper"], row["p_hat"], row["delta"], own])
        within &= low - 1e-6 <= own <= high + 1e-6
        printed &= all(low <= float(row[key]) <= high for key in ("p_hat", "delta"))
    columns = ("parameter", "LB", "UB", "p_hat", "delta", "casid")
    return Outcome(
        (Comparison.of("Inertias about the centres of mass [kg m^2]", columns, rows),),
        checks=(
            Check("p_hat and delta are within the printed bounds", printed),
            Check("so is the set found here", within),
        ),
    )


ITEMS = (
    Item(
        "Table VIII",
        "bounds and values of masses and centres of mass, p_hat and delta",
        Status.REPRODUCED,
        "retrieval from pi_RE with the printed bounds; both printed sets checked",
        run,
    ),
    Item(
        "Table IX",
        "bounds and values of the inertias, p_hat and delta",
        Status.REPRODUCED,
        "the same retrieval",
        run_inertias,
    ),
)
