"""Findings from the signals of a recording, and about the links of a consistent fit, at their thresholds."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

import casid
from casid.description import Joint, Link, Robot
from casid.errors import SolveError
from casid.identification._feasible_fit import ActiveBound
from casid.identification.diagnosis import Verdict, _signals
from casid.identification.diagnosis._signals import (
    CONTRADICTION,
    _given_bounds,
    _speeds,
    link_findings,
    one_way,
    signal_findings,
)
from casid.measurement import Dataset, Defect, prepare
from casid.retrieval.plausible import heaviest

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


@pytest.mark.claim("bounds that were given and hold the links are named by the links' headline")
def test_given_bounds_that_hold_the_links_are_named(robot, noisy, feasible):
    """Those of the robot's file and of the caller; default ones are no bound of anybody's."""
    total = ActiveBound("constraint", "total mass", 16.0, "16 <= total mass <= 20 kg")
    given = ActiveBound("constraint", "m7 as given", 0.3, "0 <= m7 as given <= 0.3")
    name = robot.links[0].name
    assumed = [
        ActiveBound("constraint", f"{name} extent", 1.0, f"{name} extent <= 1"),
        ActiveBound("parameter", "fc1", 3.0, "fc1 <= 3"),
    ]
    (finding,) = _given_bounds(robot, feasible(active=(total, given, *assumed)))
    assert finding.about == "links" and not finding.wrong and total.text in finding.text and given.text in finding.text
    assert finding.text in Verdict((finding,), 1.0, 2.0, 3).links
    assert name not in finding.text and _given_bounds(robot, feasible(active=tuple(assumed))) == []
    assert causes(robot, [noisy], feasible(active=(total,)), None, False) == ["given bounds"]


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


def machine(limits=(2.0, 0.5, np.inf), kinds=("revolute", "revolute", "prismatic")) -> Robot:
    """Three joints with limits of speed."""
    joints = [
        Joint(f"j{k}", kind, k - 1, Link(f"l{k}"), np.eye(4), axis=np.array([0.0, 0.0, 1.0]))
        for k, kind in enumerate(kinds)
    ]
    made = Robot("machine", tuple(joints))
    return replace(made, limits=replace(made.limits, velocity=np.array(limits)))


def recorded(samples=1000, speeds=(1.0, 0.3, 2.0), noise=0.01) -> Dataset:
    """Two periods of sines of these largest speeds, with exact velocities and torques of three sizes."""
    t, rng = np.arange(samples) * 0.01, np.random.default_rng(0)
    w = 2 * np.pi / (t[-1] / 2)
    phase = np.outer(t, [w] * 3)
    q, dq = np.array(speeds) / w * np.sin(phase), np.array(speeds) * np.cos(phase)
    tau = np.array([10.0, 5.0, 1.0]) * np.sin(phase + 0.3) + noise * rng.normal(size=q.shape)
    return Dataset(t, q, tau, dq, -w * np.array(speeds) * np.sin(phase), name="run")


def of(found):
    return [(finding.cause, finding.joint) for finding in found]


def test_speeds_are_compared_with_limits_of_this_joint_and_of_another():
    """Twice its limit is too fast; it is another joint's speed where that one's limit fits to a tenth."""
    still, own = recorded(), machine()
    raw = replace(still, dq=None)

    def found(first, second, third=2.0):
        speeds = np.array([first, second, third])
        return _speeds(raw, replace(still, dq=still.dq / np.abs(still.dq).max(axis=0) * speeds), own)

    assert found(3.9, 0.99) == []
    (finding,) = found(4.1, 0.6)
    assert (finding.cause, finding.joint) == ("faster than its limit", "j0")
    assert finding.values == {"speed": pytest.approx(4.1), "limit": 2.0}
    (finding,) = found(0.5, 2.19)  # the second joint has the first one's speed, within a tenth of its limit
    assert (finding.cause, finding.joint) == ("faster than its limit, another joint is not", "j1")
    assert finding.values == {"other": "j0"}
    (finding,) = found(0.5, 2.21, 0.4)  # none but the sliding joint, which has no limit
    assert finding.values == {"other": "j2"}
    (finding,) = found(0.56, 2.21, 0.56)
    assert finding.cause == "faster than its limit" and finding.joint == "j1"
    (finding,) = found(0.019, 0.019)
    assert finding.cause == "slow motion" and finding.values["speed"] == pytest.approx(2.0)
    assert found(0.021, 0.01) == [] and found(0.01, 0.021) == []


def test_dead_and_noisy_channels():
    data, own = recorded(), machine()

    def found(tau, errors, mask=None):
        raw = prepare(replace(data, tau=tau), False)
        fit = SimpleNamespace(relative_errors=np.array(errors))
        return of(signal_findings(raw, replace(raw, mask=mask), own, fit))

    assert found(data.tau, [79.0, 10.0, 79.9]) == []
    assert found(data.tau, [79.0, 81.0, 10.0]) == [("noisy channel", "j1")]
    small = data.tau * [1.0, 1.0, 2e-3 * np.sqrt(100)]  # two hundredths of the largest: a channel
    assert found(small, [1.0, 1.0, 99.0]) == [("noisy channel", "j2")]
    nothing = data.tau * [1.0, 1.0, 5e-3]  # half a thousandth: nothing
    assert found(nothing, [1.0, 1.0, 99.0]) == []
    dead = data.tau.copy()
    dead[:, 1] = 3.0
    assert found(dead, [1.0, 99.0, 1.0]) == [("dead channel", "j1")]
    masked = np.ones(dead.shape, dtype=bool)
    masked[:, 1] = False
    assert found(dead, [1.0, 99.0, 1.0], masked) == []


def test_joints_that_move_one_way():
    data, own = recorded(), machine()
    assert one_way([data], own) == []
    forth = np.abs(data.dq) + 0.01
    backwards = np.where(np.arange(1000)[:, None] % 250 == 0, -forth, forth)  # four in a thousand the other way
    (found,) = one_way([replace(data, dq=np.where([True, False, True], backwards, data.dq))], own)
    assert found.joint == "j0, j2"
    eight = np.where(np.arange(1000)[:, None] % 125 == 0, -forth, forth)
    assert one_way([replace(data, dq=eight)], own) == []
    (found,) = one_way([replace(data, dq=np.where([True, False, False], -forth, data.dq))], own)
    assert found.joint == "j0"
    held = replace(data, dq=forth, q=5e-4 * data.q / np.ptp(data.q, axis=0))
    assert one_way([held], own) == []
    resting = np.where(np.arange(1000)[:, None] < 960, 0.0, forth)
    assert one_way([replace(data, dq=resting)], own) == []
    there, back = replace(data, dq=forth), replace(data, dq=np.where([True, False, True], -forth, forth))
    (found,) = one_way([there, back], own)  # the other recording moves the first and the last joint the other way
    assert found.joint == "j1" and found.text.startswith("j1: motion in one direction only")


def test_the_list_of_defects_is_worded():
    """Every kind once, with its numbers and what became of the samples, then what only the verdict can see."""
    own = machine()
    kinds = {
        "gap": (None, 0.02, {}), "repeats": (None, 0.03, {}), "spike": (2, 0.01, {}),
        "saturation": (1, 0.3, {"level": 4.6}), "standstill": (None, 0.4, {}), "dead": (0, 1.0, {"level": 2.0}),
    }  # fmt: skip
    defects = [
        Defect(kind, joint, np.array([[1.0, 1.5]]), np.array([50]), share, "left out", values)
        for kind, (joint, share, values) in kinds.items()
    ]
    also = [
        replace(defects[4], joint=0),
        Defect("velocity", 1, np.zeros((1, 2)), np.ones(1, int), values={"factor": 2}),
    ]
    data = replace(recorded(), defects=(*defects, *also))
    fast = replace(data, dq=np.abs(data.dq) + 4.1)
    fit = SimpleNamespace(relative_errors=np.full(3, 10.0))
    found = {f.cause: f for f in signal_findings(data, fast, own, fit)}
    assert set(found) == {
        "measured velocities", "standstill", "gaps", "repeats", "saturation", "dead channel", "spikes"
    }  # fmt: skip
    assert all("left out with the filter's reach" in found[cause].text for cause in ("standstill", "gaps", "spikes"))
    assert found["gaps"].values["share"] == 2.0 and "the longest 0.5 s" in found["gaps"].text
    assert "extreme 4.6 N.m for 30 %" in found["saturation"].text and found["saturation"].joint == "j1"
    assert "velocities of joint 'j1'" in found["measured velocities"].text
    assert found["dead channel"].values["others"] == "j1,j2" and "of joint 'j2'" in found["spikes"].text
    faster = signal_findings(data, replace(fast, defects=()), own, fit)
    assert [f.cause for f in faster] == ["faster than its limit"]
    kept = signal_findings(data, replace(data, defects=(replace(defects[0], treatment="bridged"),)), own, fit)
    assert kept[0].text.endswith("bridged by interpolation")


@pytest.mark.parametrize(("share", "named"), [(0.99, False), (1.01, True)])
def test_an_arm_weighs_no_more_than_any_that_holds_such_torques(share, named):
    arm = replace(casid.load_robot("ur10e"))
    tau = np.zeros((20, 6))
    tau[:, 1] = 150.0
    data = Dataset(np.arange(20.0), np.zeros((20, 6)), tau, np.zeros((20, 6)), np.zeros((20, 6)))
    rated = arm.limits.effort[np.isfinite(arm.limits.effort)].max(initial=0.0)
    limit = heaviest(arm.reach, max(150.0, rated / 3))
    masses = np.zeros(60)
    masses[9::10] = share * limit / 6
    fit = SimpleNamespace(
        standard_parameters=masses, fit=SimpleNamespace(objective=OBJECTIVE), believable=None, certified=True,
        solution=SimpleNamespace(total=OBJECTIVE, certified=True), active=(), gap=0.0,
    )  # fmt: skip
    assert causes(arm, [data], fit, None, False) == ["more than any arm"] * named
    sliding = replace(arm, joints=(replace(arm.joints[0], type="prismatic"), *arm.joints[1:]))
    assert causes(sliding, [data], fit, None, False) == []
    assert causes(replace(arm, gravity=np.zeros(3)), [data], fit, None, False) == []


def test_weak_arms_are_judged_by_their_torques_too(robot, noisy, feasible):
    heavy = np.array(feasible().standard_parameters)
    heavy[9::10] += 500.0
    weak = replace(noisy, tau=0.5 * noisy.tau / np.abs(noisy.tau).max())
    assert "more than any arm" in causes(robot, [weak], feasible(standard_parameters=heavy), None, False)
    none = replace(noisy, tau=0.0 * noisy.tau)
    assert causes(robot, [none], feasible(standard_parameters=heavy), None, False) == []


def test_links_that_were_chosen_are_the_most_plausible(robot, noisy, feasible):
    chosen = SimpleNamespace(bodies=SimpleNamespace(boxes=np.zeros(7, dtype=bool), origins=()), gap=0.0)
    assert causes(robot, [noisy], feasible(believable=chosen), None, True) == []


@pytest.mark.parametrize("proven", [(1.5, 8.0), (-0.1, np.inf), None])
def test_a_mass_at_a_default_bound_is_named_with_its_proven_range(robot, noisy, feasible, monkeypatch, proven):
    """Not where the description itself has such a bound."""
    asked = []

    def intervals(fit, without):
        asked.append(list(without))
        if proven is None:
            raise SolveError("no range", None)
        return SimpleNamespace(entries=[SimpleNamespace(low=proven[0], high=proven[1])])

    monkeypatch.setattr(_signals, "certified_intervals", intervals)
    name = robot.links[2].name
    reached = SimpleNamespace(kind="constraint", quantity=f"{name} extent")
    bodies = [SimpleNamespace(mass=float(k)) for k in range(len(robot.links))]
    fit = feasible(active=(reached, SimpleNamespace(kind="cone", quantity=f"{robot.links[0].name} mass")))
    fit.link_parameters = bodies
    (found,) = link_findings(robot, [noisy], fit, None, False)
    low, high = (0.0, np.inf) if proven is None else (max(proven[0], 0.0), proven[1])
    assert (found.cause, found.joint, found.values) == (
        "mass at a bound",
        name,
        {"most": 2.0, "low": low, "high": high, "end": f"{high:g} kg" if np.isfinite(high) else "any"},
    )
    assert asked == [[f"{name} mass", f"{name} extent"]]
    joints = list(robot.joints)
    k = [joint.link.name for joint in joints].index(name)
    bounded = replace(joints[k].link, bounds=replace(joints[k].link.bounds, mass=(0.0, 9.0)))
    joints[k] = replace(joints[k], link=bounded)
    assert link_findings(replace(robot, joints=tuple(joints)), [noisy], fit, None, False) == []
