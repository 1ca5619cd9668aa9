"""Robots whose joints follow others, through everything: links and coordinates are then different numbers.

The follower stands in the middle of the order, so that joints and coordinates have different indices after it.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from casid.control import ComputedTorque, nominal
from casid.description import Capsule, load_robot, write_robot
from casid.dynamics import Model
from casid.excitation import CollisionConstraint, DesignSettings
from casid.export import export_robot
from casid.export import load as load_export
from casid.identification import Checks, Choice, ModelOptions, identify, load_model
from casid.motion import Motion, Sine
from casid.online import NaturalAdaptation, simulate_adaptive
from casid.simulation import Plant, Sensor, record, simulate
from tests.helpers import needs_compiler, run

BODIES = {  # mass, centre of mass, principal moments
    "upper": (3.0, (0.0, 0.03, 0.15), (0.05, 0.05, 0.01)),
    "slaved": (1.5, (0.1, 0.0, 0.02), (0.01, 0.02, 0.02)),
    "lower": (1.0, (0.08, 0.02, 0.01), (0.004, 0.006, 0.008)),
    "slider": (0.5, (0.0, 0.01, 0.06), (0.002, 0.002, 0.001)),
}
RATIO, OFFSET = -0.6, 0.2
JOINTS = (
    ("shoulder", "revolute", "base", "upper", "0 0 0.3", "0 1 0", 'lower="-2" upper="2" velocity="3" effort="90"', ""),
    (
        "slave", "revolute", "upper", "slaved", "0 0 0.35", "0 1 0", 'lower="-3" upper="3" velocity="3" effort="90"',
        f'<mimic joint="shoulder" multiplier="{RATIO}" offset="{OFFSET}"/><dynamics damping="0.5" friction="0.25"/>',
    ),
    (
        "elbow", "revolute", "slaved", "lower", "0.25 0 0", "0 0 1", 'lower="-2" upper="2" velocity="4" effort="30"',
        '<dynamics damping="0.4"/>',
    ),
    (
        "slide", "prismatic", "lower", "slider", "0.1 0 0", "0 0.6 0.8",
        'lower="-0.3" upper="0.4" velocity="1" effort="50"', "",
    ),
)  # fmt: skip


def urdf(spoilt: str = "") -> str:
    lines = ['<robot name="slaved_arm">', '<link name="base"/>']
    for name, (mass, com, moments) in BODIES.items():
        xx, yy, zz = (moments[0], moments[1], 9.0) if name == spoilt else moments
        lines.append(
            f'<link name="{name}"><inertial><origin xyz="{com[0]} {com[1]} {com[2]}"/><mass value="{mass}"/>'
            f'<inertia ixx="{xx}" ixy="0" ixz="0" iyy="{yy}" iyz="0" izz="{zz}"/></inertial></link>'
        )
    for name, kind, parent, child, xyz, axis, limit, more in JOINTS:
        lines.append(
            f'<joint name="{name}" type="{kind}"><origin xyz="{xyz}"/><parent link="{parent}"/><child link="{child}"/>'
            f'<axis xyz="{axis}"/><limit {limit}/>{more}</joint>'
        )
    return "\n".join([*lines, "</robot>"])


@pytest.fixture
def arm(tmp_path: Path) -> Path:
    path = tmp_path / "arm.urdf"
    path.write_text(urdf())
    return path


@pytest.fixture
def recorded(arm: Path):
    """A recording of the arm with friction, and what it was made with."""
    robot = load_robot(arm)
    plant = Plant.of(robot, viscous=[0.5, 0.3, 2.0], coulomb=[0.4, 0.2, 1.0])
    data = record(plant, Sine.within(robot, 1.5, 0.4, 10.0), sensor=Sensor(1e-6, 1e-5, 1e-3))
    return plant, data


def test_friction_of_a_follower_acts_on_the_joint_that_it_follows(arm: Path) -> None:
    robot = load_robot(arm)
    assert [joint.name for joint in robot.coordinates] == ["shoulder", "elbow", "slide"]
    assert robot.parameters.terms == pytest.approx({"fv1": 0.5 * RATIO**2, "fc1": 0.25 * abs(RATIO), "fv3": 0.4})
    model = Model(robot, ["viscous", "coulomb"])
    assert [(term.name, k) for _, (term, k) in sorted(model.term_columns.items())] == [
        ("viscous", 0), ("coulomb", 0), ("viscous", 1), ("coulomb", 1), ("viscous", 2), ("coulomb", 2),
    ]  # fmt: skip
    dq = np.array([0.7, -0.9, 0.3])
    friction = model.friction(dq, model.parameters(robot.parameters))
    by_hand = 0.5 * (RATIO * dq[0]) * RATIO + 0.25 * np.sign(RATIO * dq[0]) * RATIO
    np.testing.assert_allclose(friction, [by_hand, 0.4 * dq[1], 0.0], rtol=1e-12)


@pytest.mark.slow
def test_identification_recovers_dynamics_and_friction(recorded, tmp_path: Path) -> None:
    plant, data = recorded
    robot = plant.model.robot
    linear = ModelOptions(terms=["viscous", "coulomb"])
    result = identify(robot, data, model=linear, choice=Choice(share=0.005), checks=Checks(folds=0))
    error = result.model.base.K @ (result.parameters.values - plant.parameters)
    assert np.abs(error).max() < 0.02 * np.abs(result.model.base.K @ plant.parameters).max()
    record_ = json.loads(json.dumps(result.record(), default=lambda value: np.asarray(value).tolist()))
    model, again = load_model(record_, robot)
    np.testing.assert_allclose(again, result.parameters.values, rtol=1e-12)
    assert model.parameter_names == result.model.parameter_names
    for suffix in (".urdf", ".xml", ".sdf", ".toml"):
        found = robot.with_parameters(result.parameters)
        write_robot(found, tmp_path / f"out{suffix}")
        back = load_robot(tmp_path / f"out{suffix}")
        state = np.random.default_rng(0).uniform(-1, 1, (3, 3))
        want = result.model.inverse_dynamics(*state, result.parameters.values)
        with_terms = Model(back, ["viscous", "coulomb"])
        got = with_terms.inverse_dynamics(*state, with_terms.parameters(back.parameters))
        np.testing.assert_allclose(got, want, rtol=1e-9, atol=1e-9)


@needs_compiler
def test_exported_code_equals_the_graphs(arm: Path, tmp_path: Path) -> None:
    robot = load_robot(arm)
    names = ("inverse_dynamics", "mass_matrix", "gravity", "coriolis", "forward_dynamics", "regressor", "jacobian")
    export_robot(Model(robot, ["viscous", "coulomb"]), tmp_path / "c", names, parameters=robot.parameters)
    library = load_export(tmp_path / "c")
    model = Model(robot, ["viscous", "coulomb"])
    given = model.with_parameters(robot.parameters)
    rng = np.random.default_rng(3)
    for name in names:
        graph = getattr(given, name)
        arguments = [rng.uniform(-1, 1, graph.size1_in(i)) for i in range(graph.n_in())]
        wanted = graph(*arguments, compiled=False)
        np.testing.assert_allclose(library[name](*arguments), wanted, rtol=1e-12, atol=1e-12)


def test_the_energy_balance_of_a_simulation_closes_and_adaptation_its_lyapunov_function(arm: Path) -> None:
    robot = load_robot(arm)
    reference = Sine.within(robot, 1.0, 0.5, 2.0)
    plant = Plant.of(robot, parameters=robot.parameters)
    assert plant.n == 3
    done = simulate(plant, ComputedTorque(*nominal(robot), kp=100, kd=20), reference, 2.0)
    assert done.end.finished
    assert done.energy.relative_imbalance < 1e-8
    truth = robot.standard_parameters()
    run_ = simulate_adaptive(
        Model(robot), truth, 1.1 * truth, NaturalAdaptation(0.5), reference, 2.0, q0=reference.at(0.0).q[0] + 0.1
    )
    assert run_.estimates.shape[1:] == (4, 10)
    assert np.ptp(run_.lyapunov + run_.dissipated) < 1e-6 * run_.lyapunov[0]


@pytest.mark.slow
def test_designs_keep_clear_of_a_follower_and_bound_its_speed(arm: Path) -> None:
    robot = load_robot(arm)
    capsules = (
        Capsule("column", -1, np.array([0.0, 0.0, 0.0]), np.array([0.0, 0.0, 0.25]), 0.05),
        Capsule("slaved", 1, np.array([0.05, 0.0, 0.0]), np.array([0.25, 0.0, 0.0]), 0.04),
        Capsule("slider", 3, np.array([0.0, 0.0, 0.0]), np.array([0.0, 0.0, 0.15]), 0.03),
    )
    robot = replace(robot, capsules=capsules)
    collision = CollisionConstraint(robot)
    arms = collision.lever_arms()
    assert arms.shape == (len(collision.pairs), 3)
    rng = np.random.default_rng(0)
    q = rng.uniform(robot.limits.lower, robot.limits.upper, (300, 3)).T
    step = 1e-4
    for k in range(3):
        moved = q.copy()
        moved[k] += step
        rate = (collision.values(Motion.at_rest(moved.T)) - collision.values(Motion.at_rest(q.T))) / step
        assert (np.abs(rate).max(axis=1) <= arms[:, k] + 1e-6).all()
    limits = replace(robot.limits, acceleration=np.full(3, 10.0))
    designer = DesignSettings(duration=5.0, samples=40).designer(replace(robot, limits=limits))
    design = designer.run(1, 0, max_seconds=5.0)
    assert design.trajectory.joints == ("shoulder", "elbow", "slide")
    assert design.value < 1e4


@pytest.mark.slow
@needs_compiler
def test_every_command_takes_the_robot(arm: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    text = run("simulate", arm, "--term-values", "viscous=0.5,coulomb=0.3", "--duration", 4, "--noise",
               "1e-6,1e-5,1e-3", "--out", out)  # fmt: skip
    assert "slave" not in text.replace("slaved_arm", "")
    names = [tmp_path / f"identified{suffix}" for suffix in (".urdf", ".xml", ".sdf", ".toml")]
    run("identify", arm, out / "recording.npz", "--folds", 0, "--out", tmp_path / "result",
        "--urdf", names[0], "--mjcf", names[1], "--sdf", names[2], "--toml", names[3])  # fmt: skip
    run("validate", arm, tmp_path / "result" / "identification.json", out / "recording.npz")
    run("check", tmp_path / "result" / "parameters.csv", "--robot", arm)
    for path in names[1:3]:
        assert "slaved_arm: finished" in run("simulate", path, "--duration", 0.5)
        run("export", path, "--out", tmp_path / f"c_{path.suffix[1:]}", "--functions", "friction")
        header = (tmp_path / f"c_{path.suffix[1:]}" / "slaved_arm.h").read_text()
        assert "Joint terms: viscous, coulomb" in header
