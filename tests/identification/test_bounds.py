"""Default bounds of an identification: scaled by the robot's size and torques."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.optimize import lsq_linear

import casid
from casid.description import Inertial, Link, LinkBounds, transform
from casid.dynamics import Model
from casid.dynamics.terms import friction_terms
from casid.errors import ProblemError
from casid.identification import Checks, feasible_regression, identify
from casid.identification._accuracy import centre_intervals, certified_intervals, mass_intervals, without_intervals
from casid.identification._bounds import (
    GROWTH,
    LEAST_HELD,
    ROTOR,
    UNSEEN,
    default_bounds,
    expected_rotors,
    expected_terms,
    explained,
    largest_mass,
    largest_torques,
    reach,
    shaped_bodies,
    split_bounds,
    term_bounds,
    weighed_bodies,
    with_link_bounds,
)
from casid.identification._regression import ActiveBound
from casid.identification.diagnosis import Finding
from casid.inertia import consistency, from_standard
from casid.measurement import Dataset
from casid.regression import compress, wls
from casid.retrieval import link_variables
from casid.retrieval.plausible import DivergenceProgram, held_mass, plausible_bodies
from casid.testing import blind, recording
from tests.description.test_volumes import URDF
from tests.identification.conftest import serial


def test_masses_are_bounded_by_what_the_joints_hold(robot, noisy):
    torques, speeds = largest_torques([noisy])
    assert (torques == np.abs(noisy.tau).max(axis=0)).all() and (speeds > 0).all()
    assert largest_mass(robot) > max(robot.standard_parameters()[9::10])
    made = default_bounds(robot, torques)(link_variables(robot))
    assert len({constraint.label for constraint in made}) == len(made) >= 2 * len(robot.links)


def test_bounds_of_single_parameters(robot):
    links, terms = split_bounds({"m7": (0, 3), "fc2": (0, 1)})
    assert links == {"m7": (0, 3)} and terms == {"fc2": (0, 1)}
    assert split_bounds(None) == split_bounds({}) == ({}, {}) and with_link_bounds(None, {}) is None
    with pytest.raises(ProblemError, match="there is no parameter 'm9'"):
        with_link_bounds(None, {"m9": (0, 1)})(link_variables(robot))


TERMS = ("viscous", "coulomb", "offset", "rotor")


def recorded(robot, bodies):
    """A recording of these bodies with friction."""
    model = Model(robot, TERMS)
    truth = model.parameters(bodies, np.tile([2.0, 1.5, 0.2, 0.3], robot.n))
    data = recording(model, truth, samples=400, seed=3, noise=0.05)
    return data, wls(compress(Model(blind(robot), TERMS), data))


@pytest.fixture(scope="module")
def found(arm):
    return identify(blind(arm), recorded(arm, arm.standard_parameters())[0], processing=False)


@pytest.mark.slow
@pytest.mark.claim("a mass that torques leave open is stated with its interval, and the headline says so first")
def test_the_headline_of_the_links_names_open_masses(arm, found):
    total = float(found.standard_parameters[9::10].sum())
    low, high = found.total_mass_range
    assert low < float(arm.standard_parameters()[9::10].sum()) < high
    assert low * high == pytest.approx(total**2) and 1.1 < high / low < 4.0
    assert found.verdict.links.startswith("masses are not determined by these data")
    assert f"{low:.3g}" in found.verdict.links and found.verdict.right
    assert found.record()["masses"]["all links"] == pytest.approx([total, low, high])
    masses = zip(found.mass_ranges[1:], arm.standard_parameters()[9::10], strict=True)
    assert sum(one.low < truth < one.high for one, truth in masses) >= arm.n - 1
    ratios = [one.high / one.low for one in found.mass_ranges]
    assert max(ratios) > 1.5 * min(ratios[1:]) and ratios[0] < 1.1 * min(ratios[1:])  # by what the data decide
    known = arm.standard_parameters().reshape(-1, 10)
    centres = (known[:, 6:9] / known[:, 9:]).ravel()
    assert np.mean([one.low <= c <= one.high for one, c in zip(found.centre_ranges, centres, strict=True)]) >= 0.9


@pytest.mark.slow
def test_masses_have_no_interval_where_the_fit_is_wrong(arm, found):
    dead = Finding("dead channel", "run", "j1", {"others": "j0", "index": 1.0})
    wrong = replace(found, verdict=replace(found.verdict, findings=(dead,)))
    assert not wrong.verdict.right and wrong.total_mass_range == (0.0, np.inf)
    assert wrong.record()["masses"]["all links"][1:] == [0.0, None]
    poor = replace(found.feasible, values=0.3 * found.feasible.values)
    assert poor.relative_error > 30 and "above 30 %" in without_intervals(arm, poor)
    assert mass_intervals(arm, poor)[0].high == np.inf and centre_intervals(arm, poor)[0].low == -np.inf
    bound = ActiveBound("constraint", f"{arm.links[2].name} mass", 9.0, "")
    assert arm.links[2].name in without_intervals(blind(arm), replace(found.feasible, active=(bound,)))


@pytest.mark.slow
def test_intervals_end_at_the_bounds_of_the_description_and_at_proven_ones(arm, found):
    link, total = found.model.robot.links[1], found.mass_ranges[0].value
    mass = found.mass_ranges[2].value
    proven = SimpleNamespace(entries=[SimpleNamespace(name=f"{link.name} mass", low=0.9 * mass, high=1.1 * mass)])
    robot = replace(found.model.robot, total_mass=(0.99 * total, 1.05 * total))
    whole, *links = mass_intervals(robot, found.feasible, proven)
    assert whole.low == pytest.approx(0.99 * total) and total < whole.high <= 1.05 * total and not whole.open
    assert (links[1].low, links[1].high) == pytest.approx((0.9 * mass, 1.1 * mass)) and not links[1].open
    beyond = mass_intervals(replace(robot, total_mass=(2 * total, 3 * total)), found.feasible)[0]
    assert beyond.low == total  # an end that contradicts the value is the value


@pytest.mark.slow
def test_the_covariance_is_the_inverse_curvature_of_what_the_choice_minimises(arm):
    """Along ``v = C w``, ``w' v`` is half of the second difference of ``2 (D + price q)``; more data narrow it."""
    data, _ = recorded(arm, arm.standard_parameters())
    made = identify(arm, data, processing=False, checks=Checks(verdict=False)).feasible.believable
    assert not made.bodies.boxes.any()
    program = DivergenceProgram(made.problem, made.bodies.parameters, made.bodies.scaled, made.expected)
    rows, z = program.linear.matrix, made.choice.multipliers

    def minimised(x):
        held = (z @ (rows @ (x - made.x))) ** 2 / 2
        return program.divergence(x, 1.0) + made.choice.price * made.problem.objective(x) + held

    for k in (9, 19, 36):
        v = made.covariance[k] / np.sqrt(made.covariance[k, k])
        h = 1e-4
        curved = (minimised(made.x + h * v) - 2 * minimised(made.x) + minimised(made.x - h * v)) / h**2
        assert curved == pytest.approx(1.0, rel=1e-3)
    more = replace(made.choice, price=10 * made.choice.price)
    free = np.zeros(arm.n, dtype=bool)
    narrowed = np.diag(program.covariance(more, free)) / np.diag(made.covariance)
    assert (narrowed <= 1 + 1e-9).all() and narrowed.min() < 0.5
    assert (np.diag(program.covariance(more, ~free)) >= np.diag(program.covariance(more, free)) * (1 - 1e-9)).all()


@pytest.fixture(scope="module")
def heavy():
    """An arm whose bodies are 1.7 times the template's, with friction: its data, and the template's bodies."""
    model = Model(casid.load_robot("panda"), ("viscous", "coulomb"))
    bodies = plausible_bodies(model.robot, nominal=False)
    rng = np.random.default_rng(2)
    q, ddq = (scale * rng.normal(size=(800, 7)) for scale in (1.0, 2.0))
    still = np.zeros((800, 7))
    weight = model.inverse_dynamics(q, still, still, model.parameters(bodies.parameters))
    dq = 0.05 * weight + 0.3 * rng.normal(size=q.shape)  # upward more often than not: friction looks like weight
    truth = model.parameters(1.7 * bodies.parameters, np.tile([0.8, 0.4], 7))
    tau = model.inverse_dynamics(q, dq, ddq, truth)
    return model, Dataset(np.arange(800) * 0.01, q, tau + 0.01 * rng.normal(size=tau.shape), dq, ddq), bodies


@pytest.mark.claim("the masses of plausible bodies follow all torques")
def test_the_factor_is_that_of_the_torques_and_friction_does_not_count(heavy):
    model, data, bodies = heavy
    found = weighed_bodies(bodies, wls(compress(model, data)), np.full(7, 1e-3))
    assert found.parameters == pytest.approx(1.7 * UNSEEN * bodies.parameters, rel=2e-3)
    assert found.weighed and bodies.scaled.all() and not found.scaled.any()


def test_what_a_counterbalance_holds_is_not_below_a_third_of_what_the_drives_hold(heavy):
    model, data, bodies = heavy
    light = replace(data, tau=0.01 * data.tau)
    torques = np.full(7, 60.0)
    found = weighed_bodies(bodies, wls(compress(model, light)), torques)
    assert found.parameters[9::10].sum() == pytest.approx(LEAST_HELD * held_mass(model.robot, torques))


def test_known_masses_are_kept(heavy):
    model, data, bodies = heavy
    known = bodies.weighing(12.0)
    assert not known.scaled.all()
    for given in (known, plausible_bodies(casid.load_robot("ur10e"))):
        assert weighed_bodies(given, wls(compress(model, data)), np.full(7, 60.0)) is given


def machine(effort=(np.inf, 40.0, 300.0), kinds=("revolute", "revolute", "prismatic")):
    """Three joints 0.3, 0.4 and 0.5 m apart, the first on a pedestal, the last link with its frame 0.1 m away."""
    made = serial("machine", [[length, 0, 0] for length in (0.3, 0.4, 0.5)], [[0, 0, 1]] * 3, kinds)
    *others, last = made.joints
    joints = (*others, replace(last, link_placement=transform(translation=[0, 0, 0.1])))
    return replace(made, joints=joints, limits=replace(made.limits, effort=np.array(effort)))


def test_lengths_of_placements_are_summed():
    assert reach(machine()) == pytest.approx(0.3 + 0.4 + 0.5 + 0.1)
    assert reach(machine(), mounted=False) == pytest.approx(0.4 + 0.5 + 0.1)
    own = machine()
    here = [replace(joint, placement=np.eye(4), link_placement=np.eye(4)) for joint in own.joints]
    flat = replace(own, joints=tuple(here))
    assert reach(flat) == 1.0


def test_the_largest_mass_is_six_times_what_the_strongest_joint_holds():
    g, length = 9.80665, 1.3
    assert largest_mass(machine()) == pytest.approx(6 * max(40 / (g * length), 300 / g))
    turning = machine((np.inf, 40.0, 30.0), ("revolute",) * 3)
    assert largest_mass(turning) == pytest.approx(6 * 40 / (g * length))
    # a joint whose limit is not known: three times what was measured, of either sign; a known limit stays
    assert largest_mass(turning, [-20.0, 900.0, 5.0]) == pytest.approx(6 * 60 / (g * length))
    assert largest_mass(turning, [10.0, 900.0, 5.0]) == pytest.approx(6 * 40 / (g * length))
    assert largest_mass(machine((np.inf,) * 3)) == 0.0 == largest_mass(machine((0.0,) * 3))


def test_links_are_bounded_where_the_description_does_not():
    bodies = Inertial(200.0, np.zeros(3), np.eye(3)), Inertial(1.0, np.zeros(3), np.eye(3))
    own = machine()
    joints = [
        replace(own.joints[0], link=Link("l0", bodies[0])),
        replace(own.joints[1], link=Link("l1", bodies[1], LinkBounds(mass=np.array([0.5, np.inf])))),
        replace(own.joints[2], link=Link("l2", None, LinkBounds(mass=np.array([1.0, 7.0])))),
    ]
    own = replace(own, joints=tuple(joints))
    made = {c.label: c for c in default_bounds(own)(link_variables(own))}
    most = largest_mass(own)
    assert (made["l0 mass"].lower, made["l0 mass"].upper) == (0.0, 800.0)  # four times its nominal mass
    assert (made["l1 mass"].lower, made["l1 mass"].upper) == (0.5, pytest.approx(most))
    assert (made["l2 mass"].lower, made["l2 mass"].upper) == (1.0, 7.0)
    assert {f"l{k} extent" for k in range(3)} <= set(made)
    unknown = replace(own, limits=replace(own.limits, effort=np.full(3, np.inf)))
    made = {c.label: c for c in default_bounds(unknown)(link_variables(unknown))}
    assert made["l1 mass"].upper == 100.0


def test_rotors_are_expected_by_the_description_or_by_torque_and_reach():
    own = machine()
    joints = (replace(own.joints[0], terms={"Ia": 0.7}), *own.joints[1:])
    own = replace(own, joints=joints)
    model = Model(own, ("rotor", "viscous", "motor_rotor"))
    found = expected_rotors(model, [50.0, -20.0, 0.0])
    size = own.reach
    assert found["Ia1"] == 0.7 and found["Ia2"] == pytest.approx(0.01 * size**2 * 20.0)
    assert "Ia3" not in found and not any(name.startswith("fv") for name in found)


def test_a_mass_is_looked_for_far_beyond_a_bound_that_was_assumed():
    """A lift of 20 kg whose bound says 1 kg: the data leave 20 +- 2.2 kg, of the misfit at 1 kg."""
    lift = serial("lift", np.zeros((1, 3)), [[0, 0, 1]], ("prismatic",))
    (joint,) = lift.joints
    lift = replace(lift, joints=(replace(joint, link=replace(joint.link, bounds=LinkBounds(mass=(0.0, 1.0)))),))
    model = Model(lift)
    data = recording(model, np.array([0.1, 0, 0, 0.1, 0, 0.1, 0, 0, 0, 20.0]), samples=300, noise=0.1)
    made = feasible_regression(wls(compress(model, data)))
    label = f"{lift.links[0].name} mass"
    assert [bound.quantity for bound in made.active] == [label]
    (mass,) = certified_intervals(made, [label]).entries
    assert mass.low == pytest.approx(17.8, abs=0.2) and mass.high == pytest.approx(22.2, abs=0.2)


def test_open_offsets_of_friction_are_expected_within_a_twentieth_of_the_largest_torque():
    """Not one that the data know, that of a prismatic joint, or that of a spring."""
    own = machine(kinds=("revolute", "revolute", "prismatic"))
    names, sd = ("fo1", "fo2", "fo3"), np.ones(3)
    for term, known, found in (("viscous", 1.9, {"fo1", "fo2"}), ("viscous", 2.0, {"fo2"}), ("spring", 1.0, {"fo1"})):
        model = Model(own, ("offset", "rotor", f"{term}@{own.coordinates[1].name}"))
        data = SimpleNamespace(model=model, base=SimpleNamespace(names=names))
        fit = SimpleNamespace(data=data, beta=np.array([known, -1.0, 1.0]), sd=sd)
        made, rotors = expected_terms(fit, [-40.0, 20.0, 10.0]), expected_rotors(model, [-40.0, 20.0, 10.0])
        assert made == rotors | {name: pytest.approx({"fo1": 2.0, "fo2": 1.0}[name]) for name in found}
    sprung = Model(own, friction_terms("linear+spring", [[]] * 3))  # a law whose offset is the spring's rest
    data = SimpleNamespace(model=sprung, base=SimpleNamespace(names=()))
    assert expected_terms(SimpleNamespace(data=data, beta=np.zeros(0), sd=np.zeros(0)), [1.0, 1.0, 1.0]) == {}


def test_friction_is_bounded_where_the_data_leave_it_open():
    """By the largest torque, over the speed for viscous terms; what is known to a tenth of that has no bound."""
    own = machine(kinds=("revolute", "revolute", "prismatic"))
    model = Model(own, ("viscous", "coulomb", "offset", "rotor"))
    names = model.base.names
    assert {"fv1", "fc1", "fo1", "fv2", "fc2", "fo2", "fv3", "fc3", "fo3"} <= set(names)
    sd, beta = dict.fromkeys(names, 1e3), dict.fromkeys(names, 0.1)
    sd["fc1"], beta["fc1"] = 0.99, 5.0  # of 10: known to a tenth
    sd["fo1"], beta["fo1"] = 0.99, -11.0  # known, beyond the bound
    sd["fv2"], beta["fv2"] = 1.01 * 0.1 * 4.0 / 2.0, 0.5  # not quite
    sd["fv3"] = 0.0
    fit = SimpleNamespace(
        data=SimpleNamespace(model=model, base=model.base), sd=np.array([sd[n] for n in names]),
        beta=np.array([beta[n] for n in names]),
    )  # fmt: skip
    largest = np.array([10.0, 4.0, 0.0]), np.array([0.01, 2.0, 1.0])
    found = term_bounds(fit, *largest)
    assert found == {
        "fv1": (0.0, 100.0),  # ten times the largest torque of all, not 1000
        "fo1": (-10.0, 10.0), "fv2": (0.0, pytest.approx(2.0)), "fc2": (0.0, 4.0), "fo2": (-4.0, 4.0),
    }  # fmt: skip
    moved = term_bounds(fit, np.array([10.0, 4.0, 6.0]), np.ones(3))
    assert "fo3" not in moved  # what a counterbalance leaves of the weight


def test_torques_that_do_not_count_bound_nothing():
    tau, mask = np.array([[1.0, -5.0]] * 20), np.ones((20, 2), dtype=bool)
    tau[3], mask[3, 1] = [-2.0, 9.0], False
    data = Dataset(np.arange(20.0), np.zeros((20, 2)), tau, np.full((20, 2), -0.3), mask=mask)
    torques, speeds = largest_torques([data, replace(data, tau=0.1 * tau, dq=np.full((20, 2), 0.4), mask=None)])
    assert torques.tolist() == [2.0, 5.0] and speeds.tolist() == [0.4, 0.4]


def test_the_common_factor_and_friction_are_those_of_nonnegative_least_squares():
    """On the plain rows: the bodies' torque as one column, each joint term another, signs of physics kept."""
    model = Model("spatial_2r", ("viscous", "coulomb", "offset"))
    template = np.tile([0.3, 0, 0, 0.3, 0, 0.3, 0.5, 0, 0, 2.0], 2)
    truth = model.parameters(1.7 * template, [0.5, -0.4, 0.1, 0.3, 0.2, -0.6])  # a friction that would drive
    data = recording(model, truth, samples=150, noise=0.1)
    bodies = SimpleNamespace(parameters=template)
    found = explained(bodies, compress(model, data))
    rows = np.vstack([model.regressor(*x) for x in zip(data.q, data.dq, data.ddq, strict=True)])
    terms = sorted(model.term_columns)
    links = np.ravel(model.link_columns)
    columns = np.column_stack([rows[:, links] @ template, rows[:, terms]])
    names = [model.parameter_names[c] for c in terms]
    low = np.array([0.0, *(-np.inf if name.startswith("fo") else 0.0 for name in names)])
    best = lsq_linear(columns, data.tau.ravel(), (low, np.full(7, np.inf)), tol=1e-14).x
    assert found.mass == pytest.approx(best[0] * 4.0, rel=1e-4)
    assert found.terms[terms[names.index("fc1")]] == pytest.approx(0.0, abs=1e-6)
    for column, value in zip(terms, best[1:], strict=True):
        assert found.terms[column] == pytest.approx(value, abs=1e-3)
    without = explained(bodies, compress(model, data), ["fv2"])
    assert without.terms[terms[names.index("fv2")]] == 0.0


def test_rotors_of_a_robot_without_lengths_are_those_of_a_metre():
    """Of any sign of the torque."""
    points = serial("points", np.zeros((2, 3)), [[0, 0, 1]] * 2, ("revolute", "prismatic"))
    model = Model(points, ("rotor", "viscous"))
    assert expected_rotors(model, [-5.0, 3.0]) == {"Ia1": pytest.approx(ROTOR * 5.0), "Ia2": pytest.approx(ROTOR * 3.0)}


def shaped(tmp_path: Path, text: str = URDF):
    path = tmp_path / "two.urdf"
    path.write_text(text)
    robot = casid.load_robot(path)
    return robot, plausible_bodies(robot)


@pytest.mark.claim("links without inertial values have masses in the proportions of their shapes in the robot's file")
def test_masses_follow_the_volumes(tmp_path: Path) -> None:
    robot, plain = shaped(tmp_path)
    made = shaped_bodies(robot, plain)
    assert made.origins == ("shape", "shape", "skeleton") and made.boxes.all() and not made.weighed
    tens, before = made.parameters.reshape(-1, 10), plain.parameters.reshape(-1, 10)
    ball = 4 / 3 * np.pi * 1e-3
    assert tens[1, 9] / tens[0, 9] == pytest.approx(((0.006 + ball) / 0.006) ** GROWTH, rel=0.02)
    mass, com, inertia = from_standard(tens[0])
    np.testing.assert_allclose(com, [0.3, 0.0, 0.0], atol=1e-12)
    assert inertia[0, 0] == pytest.approx(mass * (0.01 + 0.01) / 12, rel=1e-9)
    assert all(consistency(ten).full for ten in tens)
    factor = np.sqrt(np.prod(tens[:2, 9] / before[:2, 9]))  # median of two logarithms
    np.testing.assert_allclose(tens[2], factor * before[2], rtol=1e-9)


def test_few_shapes_or_known_masses_change_nothing(tmp_path: Path) -> None:
    robot, plain = shaped(tmp_path, URDF.replace('<sphere radius="0.1"/>', '<sphere radius="0"/>').replace(
        '<box size="0.1 0.2 0.3"/>', '<box size="0 0 0"/>'))  # fmt: skip
    assert shaped_bodies(robot, plain) is plain  # one link of three
    robot, plain = shaped(tmp_path)
    weighed = plain.weighing(5.0)
    assert shaped_bodies(robot, weighed) is weighed
    described = casid.load_robot("kuka_iiwa")
    given = plausible_bodies(described)
    assert shaped_bodies(described, given) is given


def test_the_interval_of_a_link_shrinks_to_what_torques_say_where_the_others_are_known(four, four_data):
    true = four.standard_parameters().reshape(-1, 10)

    def known(joint, ten):
        centre = np.reshape(ten[6:9] / ten[9], (3, 1)) + np.array([-1e-4, 1e-4])
        return replace(joint, link=replace(joint.link, bounds=LinkBounds(ten[9] * np.array([0.999, 1.001]), centre)))

    bare = blind(four)
    informed = replace(bare, joints=(*map(known, bare.joints[:-1], true), bare.joints[-1]))
    options = {"processing": False, "checks": Checks(folds=0, verdict=False)}
    without, with_them = (identify(robot, four_data, **options).mass_ranges[-1] for robot in (bare, informed))
    assert with_them.low <= true[-1, 9] <= with_them.high
    assert np.log(with_them.high / with_them.low) < 0.3 * np.log(without.high / without.low)
    found = identify(informed, four_data, **options)
    masses = found.samples(64).table[:, [columns[9] for columns in found.model.link_columns]]
    assert np.all(np.abs(masses[:, :-1] / true[:-1, 9] - 1) <= 1.001e-3) and masses[:, -1].std() > 0
