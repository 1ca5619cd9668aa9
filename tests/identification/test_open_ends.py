"""Results with open ends are written whole: an end that nothing bounds is null."""

import json
from dataclasses import replace
from string import Formatter

import numpy as np
import pytest

import casid
from casid.identification import Checks, Choice, ModelOptions
from casid.identification.diagnosis import CAUSES, Finding, Trial, Verdict
from casid.report import report_of
from casid.testing import recording


@pytest.fixture(scope="module")
def result() -> casid.identification.Identification:
    """A quick identification of an arm of two joints."""
    robot = casid.load_robot("spatial_2r")
    model = casid.Model(robot, ("viscous",))
    rng = np.random.default_rng(0)
    bodies = np.tile([0.5, 0, 0, 0.5, 0, 0.5, 0, 0, 0, 2.0], 2)
    data = recording(model, model.parameters(bodies, [0.3, 0.2]), samples=400, noise=0.01 * (1 + rng.random()))
    options = ModelOptions(terms=("viscous",), springs=False)
    return casid.identify(robot, data, processing=False, model=options, choice=Choice(believable=False),
                          checks=Checks(folds=0, verdict=False))  # fmt: skip


@pytest.mark.claim("an open end of a mass threw a whole identification away on writing")
def test_every_finding_may_have_open_ends(result: casid.identification.Identification) -> None:
    findings = []
    for cause, entry in CAUSES.items():
        names = {name for text in (entry.text, entry.remedy) for _, name, *_ in Formatter().parse(text) if name}
        values = dict.fromkeys(names - {"recording", "joint"}, np.inf)
        findings.append(Finding(cause, values=values, trial=Trial("held-out error", np.inf, -np.inf, np.inf)))
    whole = replace(result, verdict=Verdict(tuple(findings), 1.0, 2.0, 3))
    files = report_of(whole).files()
    assert set(files) >= {"identification.json", "parameters.csv"}
    written = json.loads(files["identification.json"])["verdict"]["findings"]
    assert len(written) == len(CAUSES)
    assert all(v is None for found in written for v in found["values"].values() if not isinstance(v, str))
    assert all(found["trial"]["before"] is None for found in written)


@pytest.mark.claim("an open end of a mass threw a whole identification away on writing")
def test_ranges_and_gaps_may_be_open(result: casid.identification.Identification) -> None:
    solution = replace(result.feasible.solution, lower_bound=-np.inf)
    fit = replace(result.unconstrained, condition_number=np.inf)
    whole = replace(result, unconstrained=fit, feasible=replace(result.feasible, fit=fit, solution=solution))
    written = json.loads(report_of(whole).files()["identification.json"])
    assert written["gap"] is None and written["condition_number"] is None and written["certified"] is False
    assert written["parameters"] == json.loads(report_of(result).files()["identification.json"])["parameters"]
