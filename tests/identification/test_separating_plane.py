"""The plane that separates given base parameters from those of all consistent bodies, whatever their size."""

import numpy as np
import pytest

import casid
from casid.dynamics import Model
from casid.identification.repair import feasibility_test, nearest_feasible
from casid.identification.repair._separating_plane import energy_shares
from casid.inertia import to_standard


def bodies(generator, count, triangle, robotic=False):
    """Bodies of 1e-6 to 1e9 kg, needles and discs too, centres of mass up to 100 m away; of a robot: to 1e3 kg, 1 m."""
    heaviest, longest, largest = (3.0, 0.0, 0.0) if robotic else (9.0, 2.0, 4.0)
    for _ in range(count):
        mass = 10.0 ** generator.uniform(-6, heaviest)
        second = 10.0 ** generator.uniform(-8, largest, size=3) * (generator.random(3) > 0.3)
        moments = second.sum() - second if triangle else second
        turn = np.linalg.qr(generator.normal(size=(3, 3)))[0]
        yield to_standard(
            mass, 10.0 ** generator.uniform(-4, longest) * generator.normal(size=3), turn @ np.diag(moments) @ turn.T
        )


@pytest.mark.claim("the plane of an infeasible verdict has every consistent body on its far side, whatever its size")
@pytest.mark.parametrize("kind", ["semi", "full"])
def test_no_consistent_body_of_any_size_lies_before_the_plane(kind):
    robot = casid.load_robot("three_link")
    base = Model(robot).base
    generator = np.random.default_rng(3)
    outside = base.K @ np.concatenate([to_standard(1.0, [0.1, 0.2, 0.3], np.diag([0.1, 0.2, 0.25]))] * 3)
    outside[base.row("Lxy3")] += 2.0
    found = nearest_feasible(robot, base.K, outside, consistency=kind, margin=0.0)
    p, distance = found.plane.direction, found.plane.distance
    assert np.linalg.norm(p) == pytest.approx(1.0)
    assert 0.999 * found.distance < distance <= found.distance * (1 + 1e-9)
    p_outside, nearest = float(p @ outside), np.inf
    for _ in range(2000):
        x = np.concatenate(list(bodies(generator, 3, kind == "full")))
        terms = np.abs(p @ base.K) @ np.abs(x)
        nearest = min(nearest, float(p @ base.K @ x) - p_outside - distance + 1e-9 * terms)
    assert nearest >= 0


@pytest.mark.claim(
    "bodies on the border of what is physical, needles and points among them, are never called infeasible"
)
@pytest.mark.parametrize("kind", [pytest.param("semi", marks=pytest.mark.slow), "full"])
@pytest.mark.parametrize("name", ["spatial_2r", pytest.param("ur10e", marks=pytest.mark.slow)])
def test_border_bodies_are_not_infeasible_and_no_plane_lies_behind_a_feasible_point(name, kind):
    model = Model(casid.load_robot(name), ("viscous", "rotor", "offset"))
    generator, links = np.random.default_rng(5), len(model.robot.joints)
    for _ in range(4):
        tens = np.concatenate(list(bodies(generator, links, kind == "full", robotic=True)))
        terms = generator.exponential(size=3 * links) * (generator.random(3 * links) > 0.3)
        beta = model.base.values(model.parameters(tens, terms))
        assert feasibility_test(model, beta, consistency=kind, margin=0.0).verdict != "infeasible"
        away = beta + 0.1 * np.linalg.norm(beta) * generator.normal(size=len(beta))
        found = feasibility_test(model, away, consistency=kind, margin=0.0)
        assert found.plane.distance <= found.distance * (1 + 1e-7)


def test_the_margin_counts_for_the_distance():
    robot = casid.load_robot("three_link")
    base = Model(robot).base
    beta = np.zeros(len(base.names))
    beta[base.row("Lzz3")] = -0.3
    distances = [nearest_feasible(robot, base.K, beta, margin=margin).plane.distance for margin in (0.0, 1e-2)]
    assert distances[0] == pytest.approx(0.3, rel=1e-6) and distances[1] > distances[0] + 0.01


def test_signs_of_friction_and_rotors_alone_prove():
    model = Model(casid.load_robot("spatial_2r"), ("viscous", "rotor", "offset"))
    links = np.tile(to_standard(1.0, [0.1, 0.0, 0.2], np.diag([0.02, 0.03, 0.04])), 2)
    truth = model.parameters(links, np.tile([0.4, -0.1, 0.1], 2))  # viscous, offset, rotor
    beta = model.base.values(truth)
    assert feasibility_test(model, beta).feasible
    beta[model.base.row("fv2")] = -0.2
    found = feasibility_test(model, beta)
    assert found.verdict == "infeasible" and found.plane.distance == pytest.approx(0.2, rel=1e-6)
    bounded = feasibility_test(model, model.base.values(truth), bounds={"fv1": (-np.inf, 0.1)})
    assert bounded.plane.distance == pytest.approx(0.3, rel=1e-6)


def test_the_plane_is_as_near_for_small_bodies():
    robot = casid.load_robot("three_link")
    base = Model(robot).base
    beta = base.K @ np.concatenate([to_standard(1e-6, [0.1, 0.2, 0.3], np.diag([0.1, 0.2, 0.25]) * 1e-6)] * 3)
    beta[base.row("Lxy3")] += 2e-6
    found = nearest_feasible(robot, base.K, beta, margin=0.0)
    assert found.plane.distance == pytest.approx(found.distance, rel=1e-3)


def test_energy_shares_are_means_over_poses():
    robot = casid.load_robot("spatial_2r")
    model = Model(robot)
    poses = np.random.default_rng(1).uniform(-np.pi, np.pi, (400, 2))
    x = np.concatenate([to_standard(1.0, [0.3, -0.2, 0.1], np.diag([0.2, 0.3, 0.4]))] * 2)
    traces = [float(np.trace(model.mass_matrix(q, x))) for q in poses]
    assert np.std(traces) > 0.05 * np.mean(traces)
    assert energy_shares(robot) @ x == pytest.approx(np.mean(traces), abs=3 * np.std(traces) / np.sqrt(16))
    far = np.abs(float(np.trace(model.mass_matrix(np.full(2, np.pi), x))) - np.mean(traces))
    assert far > 1.2 * np.std(traces)
