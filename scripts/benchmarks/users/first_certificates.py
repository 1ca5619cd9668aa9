"""Certificates in the first hour: objectives of light and heavy parts, any signal over noise, rounded constants."""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np

import casid
from benchmarks.measure import Measure
from benchmarks.users.planted_problems import COM, MARGIN, MASS, Case, Claim, Operations, cases, falsehood
from casid.errors import CasidError
from casid.retrieval import Constraint, LinkVariables, Problem, com_box, least_squares, link_variables, mass_bounds
from casid.testing._synthetic import arm

_SYMBOLS = Operations(ca.if_else, ca.fmin, ca.fmax)
_COUNT, _QUICK = 500, 60


def _objective(case: Case, links: LinkVariables) -> Any:
    """The case's objective, as a user writes it."""
    x, light = links.x, ca.dot(ca.sparsify(ca.DM(case.light)), links.x)
    if case.form == "linear":
        return light
    if case.form == "expanded":
        H, b, c = case.expanded
        return ca.dot(x, ca.DM(H) @ x) + ca.dot(ca.DM(b), x) + c
    if case.form == "data":
        fit = least_squares(links, case.W / case.sd, case.tau / case.sd)
        return fit + light if case.light.any() else fit
    return ca.sumsqr((ca.DM(case.W) @ x - ca.DM(case.tau)) / case.sd) + light


def _claim(case: Case) -> Claim:
    links = link_variables(arm(case.links))
    rows: list[Any] = [row for k in links for row in (mass_bounds(k, *MASS), com_box(k, [COM[0]] * 3, [COM[1]] * 3))]
    if case.expression is not None:
        first = links[0]
        value = case.expression(_SYMBOLS, first.mass, [first.com[i] for i in range(3)])
        rows.append(Constraint("own", value, case.lower, case.upper))
    try:
        problem = Problem("planted", links, _objective(case, links), rows, margin=MARGIN)
        found = casid.solve(problem, throw=False, method=case.method)
    except CasidError:
        return Claim("refused", np.nan, -np.inf, None)
    return Claim(found.status, found.total, found.lower_bound, found.x)


def _certificates(count: int) -> tuple[str, bool]:
    said = [(case, _claim(case)) for case in cases(count)]
    false = [f"{case.name}: {words}" for case, claim in said if (words := falsehood(case, claim))]
    statuses = [claim.status for _, claim in said]
    counts = ", ".join(f"{statuses.count(s)} {s}" for s in dict.fromkeys(sorted(statuses, reverse=True)))
    worst = f"; {'; '.join(false[:3])}" if false else ""
    return f"{len(false)} of {count} false ({counts}){worst}", not false


ROWS = [
    Measure(
        name="first hour: certificates of 500 planted problems (light parts over 12 decades, signal 1e0 to 1e9 of the "
        "noise, constants one rounding off), judged in rational numbers without casid",
        bar="0 false",
        reference="41 of 70 lines false",
        run=lambda: _certificates(_COUNT),
        quick=lambda: _certificates(_QUICK),
        left_out="most of the problems",
    )
]
