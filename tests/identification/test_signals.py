"""Findings about the links of a consistent fit: bodies that cost residual, and links heavier than any arm's."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from casid.identification.diagnosis._signals import CONTRADICTION, _spikes, link_findings
from casid.measurement import Dataset

OBJECTIVE = 4.0


@pytest.fixture(scope="module")
def feasible(robot):
    """What link findings read of a consistent fit whose bodies cost nothing."""

    def made(**changes):
        nominal = {
            "standard_parameters": robot.standard_parameters(), "fit": SimpleNamespace(objective=OBJECTIVE),
            "solution": SimpleNamespace(total=OBJECTIVE, certified=True), "believable": None, "certified": True,
            "gap": 1e-9, "active": (),
        }  # fmt: skip
        return SimpleNamespace(**{**nominal, **changes})

    return made


def causes(*arguments):
    return [finding.cause for finding in link_findings(*arguments)]


def test_a_certified_fit_of_usual_bodies_has_none(robot, noisy, feasible):
    assert causes(robot, [noisy], feasible(), None, False) == []
    assert causes(robot, [noisy], feasible(), None, True) == ["not the most plausible"]
    (finding,) = link_findings(robot, [noisy], feasible(certified=False, gap=0.3), None, False)
    assert (finding.cause, finding.values) == ("not certified", {"gap": 0.3})


def test_masses_of_no_arm_are_named(robot, noisy, feasible):
    heavy = np.array(feasible().standard_parameters)
    heavy[9::10] += 500.0
    found = {f.cause: f for f in link_findings(robot, [noisy], feasible(standard_parameters=heavy), None, False)}
    assert found["more than any arm"].values["mass"] == pytest.approx(heavy[9::10].sum())


def test_bodies_that_contradict_the_torques_are_judged_by_held_out_parts(robot, noisy, feasible):
    fit = feasible(solution=SimpleNamespace(total=OBJECTIVE * (1.1 * CONTRADICTION) ** 2, certified=True))
    (finding,) = link_findings(robot, [noisy], fit, None, False)
    assert finding.cause == "bodies cost residual"
    assert finding.values["ratio"] == pytest.approx(1.1 * CONTRADICTION)

    def held_out(consistent):
        tested = {"consistent": SimpleNamespace(total=consistent), "unconstrained": SimpleNamespace(total=2.0)}
        return SimpleNamespace(tested=tested)

    assert causes(robot, [noisy], fit, held_out(2.0), False) == []  # the unconstrained fit explained noise
    assert causes(robot, [noisy], fit, held_out(3.0), False) == ["torques against bodies"]


@pytest.mark.claim("torques in coarse steps are no spikes; spikes among them are")
@pytest.mark.parametrize("joint", [None, 1])
def test_spikes_are_told_from_steps_of_the_torque(robot, joint):
    rng = np.random.default_rng(0)
    t = np.arange(20000) * 1e-3
    waves = np.sin(0.6 * t[:, None] + np.arange(robot.n))
    tau = 0.03 * np.round((waves + 0.005 * rng.normal(size=waves.shape)) / 0.03)
    if joint is not None:
        tau[500::1000, joint] += 5.0
    found = _spikes(Dataset(t, waves, tau), robot)
    assert [f.joint for f in found] == ([] if joint is None else [robot.coordinates[joint].name])
