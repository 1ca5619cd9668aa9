"""Whether given parameters are those of a real robot, and the nearest that are."""

from dataclasses import replace

import numpy as np
import pytest

import casid
from casid.dynamics import Model
from casid.errors import DatasetError
from casid.identification.repair import check_file, feasibility_test, nearest_consistent, nearest_feasible
from casid.inertia import consistency, to_standard
from casid.retrieval import total_mass

#: Yoshida and Khalil 2000, as printed in Sousa 2014, Table 6.1: forms, beta_t1, beta_t2, corrected beta'_t2.
TABLE_6_1 = (
    ({"Lyy1": 1, "Lyy2": 1, "Lyy3": 1, "m3": 1}, 6.4, 6.2, 6.200951),
    ({"Lxx2": 1, "Lyy2": -1, "m3": -1}, -5.48, -5.48, -5.479049),
    ({"Lxy2": 1}, 0.072, 0.072, 0.071966),
    ({"Lxz2": 1, "lz3": -1}, -0.087, -0.087, -0.086967),
    ({"Lyz2": 1}, 0.051, 0.051, 0.050999),
    ({"Lzz2": 1, "m3": 1}, 5.6, 5.6, 5.6),
    ({"lx2": 1, "m3": 1}, 6.5, 6.5, 6.5),
    ({"ly2": 1}, -0.00075, -0.00075, -0.00075),
    ({"Lxx3": 1, "Lyy3": -1}, -0.72, -0.72, -0.719049),
    ({"Lxy3": 1}, -0.0098, -0.0098, -0.009819),
    ({"Lxz3": 1}, -0.0098, -0.0098, -0.009817),
    ({"Lyz3": 1}, -0.00045, -0.00045, -0.00045),
    ({"Lzz3": 1}, 0.72, 0.72, 0.72),
    ({"lx3": 1}, 0.95, 0.95, 0.949999),
    ({"ly3": 1}, 0.015, 0.015, 0.014966),
)


@pytest.fixture(scope="module")
def three_link():
    robot = casid.load_robot("three_link")
    forms = np.array([[form.get(name, 0.0) for name in robot.parameter_names()] for form, *_ in TABLE_6_1])
    return robot, forms, *(np.array([row[k] for row in TABLE_6_1]) for k in (1, 2, 3))


def test_yoshida_and_khalil_example(three_link):
    robot, forms, t1, t2, corrected = three_link
    assert nearest_feasible(robot, forms, t1, consistency="semi").verdict == "feasible"
    second = nearest_feasible(robot, forms, t2, consistency="semi")
    assert second.verdict == "infeasible" and 0 < second.proven_distance <= second.distance
    np.testing.assert_allclose(second.corrected, corrected, atol=5e-6)
    assert second.distance == pytest.approx(1.652e-3, abs=5e-6)


def test_the_triangle_inequality_makes_both_infeasible(three_link):
    robot, forms, t1, t2, _ = three_link
    for given, distance in ((t1, 1.93e-4), (t2, 0.0564)):
        result = nearest_feasible(robot, forms, given)
        assert result.verdict == "infeasible"
        assert result.distance == pytest.approx(distance, rel=5e-3)
        again = nearest_feasible(robot, forms, result.corrected)
        assert again.distance < 1e-2 * result.distance


@pytest.mark.claim("the feasibility test decides wherever any bound above rounding is positive")
def test_a_bound_far_below_the_distance_decides(three_link):
    robot, forms, _, t2, _ = three_link
    found = nearest_feasible(robot, forms, t2, consistency="semi")
    none = replace(found.plane, distance=0.0)
    weak = replace(found, solution=replace(found.solution, lower_bound=1e-6 * found.distance**2), plane=none)
    assert 0 < weak.proven_distance < 0.01 * found.distance and weak.verdict == "infeasible"
    weakest = replace(found, solution=replace(found.solution, lower_bound=0.0), plane=none)
    assert weakest.verdict == "undecided"
    assert replace(weakest, plane=replace(none, distance=1e-4)).verdict == "infeasible"


@pytest.mark.claim("rounded digits are a box, and a separating plane proves that nothing in it is feasible")
def test_the_box_of_rounded_digits_is_excluded_only_while_the_plane_separates_it(three_link):
    robot, forms, _, t2, _ = three_link
    found = nearest_feasible(robot, forms, t2, consistency="semi")
    d = found.corrected - t2
    reach = float(d @ d) / np.abs(d).sum()
    best = found.plane.distance / np.abs(found.plane.direction).sum()
    assert best == pytest.approx(reach, rel=0.05)
    assert found.excludes(0.99 * max(best, reach)) and not found.excludes(1.01 * max(best, reach))
    assert np.abs(d).max() < reach * 2.5  # a box that holds the corrected set is never excluded
    assert not found.excludes(float(np.abs(d).max()))


@pytest.mark.slow
def test_true_base_parameters_are_feasible_and_negative_friction_is_not():
    model = Model(casid.load_robot("kuka_iiwa"), ("viscous", "coulomb", "offset"))
    truth = model.parameters(model.robot.standard_parameters(), np.tile([0.4, 0.3, -0.1], 7))
    beta = model.base.values(truth)
    assert feasibility_test(model, beta).feasible
    beta[model.base.row("fv3")] = -0.2
    result = feasibility_test(model, beta)
    assert result.verdict == "infeasible"
    assert result.distance == pytest.approx(0.2, rel=1e-4)
    with pytest.raises(DatasetError, match="forms: expected shape"):
        feasibility_test(model, beta[:-1])


def test_nearest_consistent_body_keeps_mass_and_centre():
    bad = to_standard(2.0, [0.1, 0.0, -0.2], np.diag([0.01, 0.02, 0.05]))
    good = nearest_consistent(bad)
    assert consistency(good).full and not consistency(bad).full
    np.testing.assert_array_equal(good[6:], bad[6:])
    fine = to_standard(2.0, [0.1, 0.0, -0.2], np.diag([0.03, 0.04, 0.05]))
    np.testing.assert_array_equal(nearest_consistent(fine), fine)
    assert consistency(nearest_consistent(np.zeros(10), margin=1e-6)).full
    semi = nearest_consistent(bad, consistency="semi")
    np.testing.assert_array_equal(semi, bad)


def test_check_of_parameters_and_errors(tmp_path):
    assert not check_file("kuka_iiwa").unphysical
    (tmp_path / "p.csv").write_text("parameter,value\nm1,1\n")
    with pytest.raises(DatasetError, match="'Lxx1' is missing"):
        check_file(tmp_path / "p.csv")
    (tmp_path / "p.json").write_text("[1]")
    with pytest.raises(DatasetError, match=r"numbers without names|expected names|not valid JSON"):
        check_file(tmp_path / "p.json")


def test_constraints_move_the_nearest_feasible_point():
    robot = casid.load_robot("spatial_2r")
    base = Model(robot).base
    beta = base.K @ np.tile(to_standard(2.0, [0.2, 0.0, 0.1], np.diag([0.2, 0.3, 0.4])), 2)
    assert nearest_feasible(robot, base.K, beta).distance < 1e-6
    bounded = nearest_feasible(robot, base.K, beta, constraints=lambda v: total_mass(v, 0.0, 0.5))
    assert bounded.distance > 0.05
