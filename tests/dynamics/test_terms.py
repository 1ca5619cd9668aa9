"""Joint terms and friction laws."""

from dataclasses import replace

import numpy as np
import pytest

import casid
from casid.description.joint_parameters import JointParameter, symbol_and_joint
from casid.dynamics import Model
from casid.dynamics.terms import JOINT_TERMS, JointTerm
from casid.errors import RobotError

COUPLED = ("viscous", "coulomb", "offset", "motor_viscous", "motor_coulomb", "motor_offset", "motor_rotor")


@pytest.fixture(scope="module")
def wam():
    return Model(casid.load_robot("wam7"), COUPLED)


def test_coupled_drive_trains_follow_equation_4_9(wam):
    rng = np.random.default_rng(0)
    q, dq, ddq = rng.normal(size=(3, 7))
    pi = np.zeros(len(wam.parameter_names))
    values = {}
    for column, (term, k) in wam.term_columns.items():
        pi[column] = values[term.name, k] = rng.uniform(0.1, 2.0)
    T = wam.robot.transmission
    dqm, ddqm = T.T @ dq, T.T @ ddq

    def of(name):
        return np.array([values[name, k] for k in range(7)])

    joint = of("viscous") * dq + of("coulomb") * np.sign(dq) + of("offset")
    motor = (
        of("motor_viscous") * dqm + of("motor_coulomb") * np.sign(dqm) + of("motor_offset") + of("motor_rotor") * ddqm
    )
    expected = joint + T @ motor
    np.testing.assert_allclose(wam.inverse_dynamics(q, dq, ddq, pi), expected, atol=1e-12)
    mass = wam.mass_matrix(q, pi)
    np.testing.assert_allclose(mass, T @ np.diag(of("motor_rotor")) @ T.T, atol=1e-12)
    assert float(wam.kinetic_energy(q, dq, pi)) == pytest.approx(dqm @ (of("motor_rotor") * dqm) / 2)


def test_wam_has_76_base_parameters_as_printed(wam):
    """Sousa 2014, Table 4.2; a selection of its lines, with this library's names."""
    assert wam.base.rank == 76
    expressions = dict(zip(wam.base.names, wam.base.expressions, strict=True))
    printed = {
        "Lyy1": "Lyy1 + Iam1 + Lzz2",
        "fv1": "fv1 + fvm1",
        "fo1": "fo1 - fom1",
        "fv2": "fv2 + 2*fvm3",
        "fc2": "fc2",
        "fo2": "fo2 + 1.68*fo3 - 2*fom3",
        "fvm2": "fvm2 - fvm3",
        "fom2": "fom2 - 1.68*fo3 + fom3",
        "Iam2": "Iam2",
        "fv5": "fv5 + 2*fvm6",
        "fo5": "fo5 + fo6 + 2*fom6",
        "fom5": "fom5 - fo6 - fom6",
        "Iam7": "Iam7",
        "lx3": "lx3 + 0.045*(m3 + m4 + m5 + m6 + m7)",
    }
    for leading, expression in printed.items():
        assert expressions[leading] == expression
    assert "0.7086167" in expressions["fv3"] and "fvm3" in expressions["fv3"]


def test_tx40_wrist_coupling_has_three_more_base_parameters():
    robot = casid.load_robot("tx40")
    plain = ("viscous", "coulomb", "offset", "rotor")
    wrist = ("motor_viscous@joint_6", "motor_coulomb@joint_6", "motor_rotor@joint_6")
    assert Model(robot, plain).base.rank == 58
    assert Model(robot, (*plain, *wrist)).base.rank == 61


@pytest.mark.parametrize("name", sorted(JOINT_TERMS))
def test_every_term_is_linear_in_its_parameter_and_documented(name):
    robot = casid.load_robot("panda")
    model = Model(robot, (name,))
    rng = np.random.default_rng(2)
    q, dq, ddq, signal = rng.normal(size=(4, 7))
    pi = np.zeros(len(model.parameter_names))
    pi[sorted(model.term_columns)] = rng.uniform(0.5, 1.5, 7)
    extra = [signal] if "signal" in model.regressor.name_in() else []
    torque = model.inverse_dynamics(q, dq, ddq, pi, *extra)
    np.testing.assert_allclose(model.regressor(q, dq, ddq, *extra) @ pi, torque, atol=1e-12)
    assert np.abs(torque).max() > 0
    term = JOINT_TERMS[name]
    assert term.doc and term.unit and term.inertial == (term.name in ("rotor", "motor_rotor"))


def test_own_terms_and_terms_at_single_joints():
    robot = casid.load_robot("spatial_2r")
    own = JointTerm("cubic_angle", JointParameter("c3", "N.m/rad^3", "hardening spring"), lambda s: s.q**3)
    model = Model(robot, ("rotor@joint2", own))
    extras = [name for name in model.parameter_names if name[0] in "Ic"]
    assert extras == ["c31", "Ia2", "c32"]


@pytest.mark.claim("a term named twice is at the joints of both, and another term of its set at its own alone")
@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (("rotor@joint1", "rotor@joint3", "rotor@joint1"), {"Ia": {1, 3}}),
        (("rotor@joint1", "rotor"), {"Ia": {1, 2, 3, 4, 5, 6, 7}}),
        (("rotor", "rotor@joint1"), {"Ia": {1, 2, 3, 4, 5, 6, 7}}),
        (("coulomb_positive@joint1", "asymmetric_coulomb@joint2"), {"fcp": {1, 2}, "fcn": {2}}),
        (("coulomb_positive", "asymmetric_coulomb@joint2"), {"fcp": {1, 2, 3, 4, 5, 6, 7}, "fcn": {2}}),
    ],
)
def test_terms_are_where_they_were_asked_for(names, expected):
    model = Model(casid.load_robot("panda"), names)
    found = {}
    for name in (model.parameter_names[column] for column in model.term_columns):
        symbol, joint = symbol_and_joint(name, 7)
        found.setdefault(symbol, set()).add(joint + 1)
    assert found == expected


def test_errors_say_what_is_known():
    robot = casid.load_robot("spatial_2r")
    with pytest.raises(RobotError, match="unknown joint term 'viscus'; did you mean 'viscous'"):
        Model(robot, ("viscus",))
    with pytest.raises(RobotError, match=r"unknown joint term 'stiction'; known: viscous"):
        Model(robot, ["stiction"])
    with pytest.raises(RobotError, match="has no joint 'elbow'; it has joint1, joint2"):
        Model(robot, ("rotor@elbow",))
    with pytest.raises(RobotError, match="two joint terms have the symbol 'fv'"):
        Model(robot, ("viscous", JointTerm("mine", JointParameter("fv", "-", "-"), lambda s: s.dq)))
    with pytest.raises(RobotError, match="transmission matrix is singular"):
        replace(robot, transmission=np.ones((2, 2)))
    with pytest.raises(RobotError, match="velocity_deadband"):
        Model(robot, velocity_deadband=-1.0)


@pytest.mark.claim("house h: every dry or one-sided term obeys the velocity deadband")
@pytest.mark.parametrize("name", [t.name for t in JOINT_TERMS.values() if t.dry] + ["sqrt_viscous"])
def test_signs_vanish_inside_the_deadband(name):
    model = Model(casid.load_robot("panda"), (name,), velocity_deadband=0.1)
    pi = model.parameters(model.robot.standard_parameters(), np.ones(7))
    slow, fast = np.resize([0.05, -0.05], 7), np.resize([0.5, -0.5], 7)
    extra = {"signal": np.ones(7)} if "signal" in model.friction.name_in() else {}
    extra |= {"q": np.full(7, 0.3)} if "q" in model.friction.name_in() else {}
    assert not model.friction(dq=slow, pi=pi, **extra)["tau"].any()
    assert model.friction(dq=fast, pi=pi, **extra)["tau"].any()
