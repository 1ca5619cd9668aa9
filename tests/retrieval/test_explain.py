"""Explanations of a solution."""

from __future__ import annotations

from dataclasses import replace

import pytest

import casid
from casid.retrieval import com_box, explain, total_mass


def test_explanation_predicts_the_effect_of_relaxing():
    problem = casid.load_problem("panda_retrieval")
    link = problem.variables[6]
    tight = problem.with_constraints(total_mass(problem.variables.links[4:], 1.0, 2.5, label="wrist"))
    solution = casid.solve(tight)
    wrist = next(b for b in explain(solution).bounds if b.text.startswith("wrist"))
    step = 1e-3
    looser = problem.with_constraints(total_mass(problem.variables.links[4:], 1.0, 2.5 + step, label="wrist"))
    gained = solution.objective - casid.solve(looser).objective
    assert gained == pytest.approx(wrist.multiplier * step, rel=0.02)
    narrow = replace(com_box(link, [-0.001, -0.05, 0.04], [0.001, 0.05, 0.15]), label="narrow")
    boxed = casid.solve(problem.with_constraints(narrow))
    bound = next(b for b in explain(boxed).bounds if b.text.startswith("narrow x <="))
    wider = replace(com_box(link, [-0.001, -0.05, 0.04], [0.00101, 0.05, 0.15]), label="narrow")
    other = casid.solve(problem.with_constraints(wider))
    assert boxed.objective - other.objective == pytest.approx(bound.multiplier * 1e-5, rel=0.05)
    text = str(explain(boxed))
    assert "narrow x <= 0.001 m" in text and "pseudo-inertia" in text
