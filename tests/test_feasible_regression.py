import json
import warnings
from dataclasses import replace

import numpy as np
import pytest
from synthetic import recording
from typer.testing import CliRunner

import casid
from casid.cli import app
from casid.description import Limits
from casid.dynamics import Model
from casid.errors import DatasetError, ProblemError
from casid.identification import (
    check_file,
    extra_bounds,
    feasibility_test,
    feasible_regression,
    identify,
    load_model,
    nearest_consistent,
    nearest_feasible,
    predict,
)
from casid.inertia import consistency, pseudo_inertia, to_standard
from casid.measurement import Processing
from casid.regression import compress, wls
from casid.retrieval import Constraint, Prior, com_box, load_constraints, sensible_bounds, total_mass

FRICTION = ("viscous", "coulomb", "offset")
AS_IT_IS = Processing(rate=None, cutoff=None, velocity="measured", acceleration="measured", trim=0.0, every=1)


@pytest.fixture(scope="module")
def robot():
    return casid.load_robot("kuka_iiwa")


@pytest.fixture(scope="module")
def model(robot):
    return Model(robot, FRICTION)


@pytest.fixture(scope="module")
def truth(model):
    return model.parameters(model.robot.standard_parameters(), np.tile([0.4, 0.3, -0.1], 7))


@pytest.fixture(scope="module")
def noisy(model, truth):
    return recording(model, truth, samples=800, noise=2.0)


@pytest.fixture(scope="module")
def fit(model, noisy):
    return wls(compress(model, noisy))


def smallest(parameters):
    return min(np.linalg.eigvalsh(pseudo_inertia(ten))[0] for ten in parameters.reshape(-1, 10))


def test_feasible_fit_is_consistent_certified_and_no_better_than_the_free_one(fit):
    result = feasible_regression(fit)
    assert result.certified and result.gap <= 1e-6
    assert smallest(result.standard_parameters) >= 1e-6 - 1e-12
    names = result.model.parameter_names
    friction = [result.parameters[k] for k, name in enumerate(names) if name[:2] in ("fv", "fc")]
    assert min(friction) >= -1e-12
    assert result.residual_ratio >= 1.0
    w = fit.weights
    assert result.objective == pytest.approx(float(w**2 @ result.data.squared_errors(result.beta)), rel=1e-9)
    assert result.objective >= result.solution.lower_bound


def test_exact_data_give_the_true_base_parameters(model, truth):
    fit = wls(compress(model, recording(model, truth)), weights=np.ones(7))
    result = feasible_regression(fit)
    np.testing.assert_allclose(result.beta, model.base.values(truth), atol=2e-3)
    assert result.relative_error < 0.02


def test_semi_consistency_asks_less(fit):
    full, semi = (feasible_regression(fit, consistency=kind) for kind in ("full", "semi"))
    assert semi.certified and semi.objective < full.objective * (1 - 1e-4)
    states = [consistency(ten) for ten in semi.standard_parameters.reshape(-1, 10)]
    assert all(s.mass > 0 and s.smallest_principal_moment > -1e-9 for s in states)
    assert not all(s.full for s in states)


def test_constraints_and_bounds_are_obeyed(fit):
    def build(variables):
        light = Constraint("first link lighter than second", variables[0].mass - variables[1].mass, upper=0.0)
        level = Constraint("offset of joint 1", variables.extra("fo1"), lower=0.05)
        return (*sensible_bounds(variables), total_mass(variables, 0.0, 15.0), light, level)

    result = feasible_regression(fit, constraints=build, bounds={"fv2": (0.9, 1.0)})
    values = dict(zip(result.model.parameter_names, result.parameters, strict=True))
    assert result.certified
    assert sum(values[f"m{k}"] for k in range(1, 8)) <= 15.0 + 1e-8
    assert values["m1"] <= values["m2"] + 1e-8
    assert values["fo1"] >= 0.05 - 1e-8
    assert 0.9 - 1e-8 <= values["fv2"] <= 1.0 + 1e-8
    with pytest.raises(ProblemError, match="no term parameter 'fv9'"):
        extra_bounds(result.model, {"fv9": (0, 1)})


def test_free_offsets_are_eliminated_exactly(fit):
    free = feasible_regression(fit)
    kept = feasible_regression(fit, bounds={f"fo{k}": (-50.0, 50.0) for k in range(1, 8)})
    assert "fo1" not in free.solution.extras and "fo1" in kept.solution.extras
    np.testing.assert_allclose(free.objective, kept.objective, rtol=1e-6)


def test_friction_of_joints_left_out_is_zero(model, noisy):
    fit = wls(compress(model, noisy.only(range(5))), weights=np.ones(7))
    result = feasible_regression(fit)
    values = dict(zip(model.parameter_names, result.parameters, strict=True))
    assert [values[name] for name in ("fv6", "fc6", "fo6", "fv7", "fc7", "fo7")] == [0.0] * 6
    assert result.certified and values["fv1"] > 0.0
    assert max(abs(v) for v in values.values()) < 200.0


# ---------------------------------------------------------------------- priors


@pytest.mark.parametrize("metric", ["euclidean", "pullback", "entropic"])
def test_priors_pull_towards_the_nominal_bodies(fit, robot, metric):
    nominal = robot.standard_parameters()
    distances = []
    for weight in (1.0, 1e5):
        prior = Prior(robot, nominal, weight, metric)
        result = feasible_regression(fit, prior=prior)
        assert result.prior_distance == pytest.approx(prior.distance(result.standard_parameters))
        assert smallest(result.standard_parameters) >= 1e-6 - 1e-12
        distances.append(result.prior_distance)
    assert distances[1] < 0.05 * distances[0]


def test_entropic_prior_is_at_its_minimum(fit, robot):
    prior = Prior(robot, robot.standard_parameters(), 300.0, "entropic")
    result = feasible_regression(fit, prior=prior, constraints=None, margin=0.0)

    def value(x):
        pi = np.array(result.parameters)
        pi[np.ravel(result.model.link_columns)] = x
        beta = result.data.base.values(pi)
        return float(fit.weights**2 @ result.data.squared_errors(beta)) + prior.weight * prior.distance(x)

    best = result.standard_parameters
    here = value(best)
    rng = np.random.default_rng(0)
    for _ in range(20):
        step = rng.normal(size=70) * 1e-3 * np.abs(best)
        assert value(best + step) >= here * (1 - 1e-9)


def test_metrics_agree_to_second_order_and_vanish_at_the_prior(robot):
    nominal = robot.standard_parameters()
    pullback, entropic = (Prior(robot, nominal, 2.0, metric) for metric in ("pullback", "entropic"))
    step = np.random.default_rng(1).normal(size=70) * 1e-5 * np.abs(nominal)
    assert entropic.distance(nominal + step) == pytest.approx(pullback.distance(nominal + step), rel=1e-3)
    for prior in (pullback, entropic, Prior(robot, nominal, 1.0, "euclidean")):
        assert prior.distance(nominal) == pytest.approx(0.0, abs=1e-9)
    A, b = entropic.rows(nominal * 1.1)  # the model's gradient at the point of expansion is the divergence's
    x = nominal * 1.1
    gradient = 2 * A.T @ (A @ x - b)
    numeric = np.array(
        [
            (2.0 * entropic.distance(x + h) - 2.0 * entropic.distance(x - h)) / (2 * h.max())
            for h in (np.eye(70)[k] * 1e-6 * max(abs(x[k]), 1e-3) for k in range(0, 70, 9))
        ]
    )
    np.testing.assert_allclose(gradient[::9], numeric, rtol=1e-3, atol=1e-2)


def test_priors_must_be_bodies(robot):
    bad = np.array(robot.standard_parameters())
    bad[9] = -1.0
    with pytest.raises(ProblemError, match=r"prior: link '.*': its mass is -1 kg"):
        Prior(robot, bad, 1.0)
    with pytest.raises(ProblemError, match="metric 'log'"):
        Prior(robot, robot.standard_parameters(), 1.0, "log")


# ---------------------------------------------------------------------- feasibility

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


@pytest.mark.slow
def test_true_base_parameters_are_feasible_and_negative_friction_is_not(model, truth):
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


URDF = """<?xml version="1.0"?>
<robot name="pair">
  <!-- kept -->
  <link name="base"/>
  <link name="one"><inertial><origin xyz="0 0 0.1" rpy="0.3 0 0"/><mass value="1.5"/>
    <inertia ixx="0.01" ixy="0" ixz="0" iyy="0.01" iyz="0" izz="0.05"/></inertial></link>
  <link name="two"><inertial><mass value="1"/><inertia ixx="0.01" ixy="0" ixz="0" iyy="0.01" iyz="0"
  izz="0.01"/></inertial></link> <link name="frame"><inertial><mass value="0"/><inertia ixx="0" ixy="0" ixz="0"
  iyy="0" iyz="0" izz="0"/></inertial></link> <joint name="a" type="revolute"><parent link="base"/><child
  link="one"/><axis xyz="0 0 1"/>
    <limit lower="-1" upper="1" effort="1" velocity="1"/></joint>
  <joint name="b" type="revolute"><parent link="one"/><child link="two"/><origin xyz="0 0 0.3"/><axis xyz="0 1 0"/>
    <limit lower="-1" upper="1" effort="1" velocity="1"/></joint>
  <joint name="c" type="fixed"><parent link="two"/><child link="frame"/></joint>
</robot>
"""


def test_check_repairs_a_urdf(tmp_path):
    (tmp_path / "pair.urdf").write_text(URDF)
    result = check_file(tmp_path / "pair.urdf")
    assert [link.name for link in result.unphysical] == ["one"] and result.massless == ("frame",)
    assert result.unphysical[0].state.triangle_margin == pytest.approx(-0.015)
    run = CliRunner().invoke(app, ["check", str(tmp_path / "pair.urdf"), "--out", str(tmp_path / "out")])
    assert run.exit_code == 1 and "1 of 2 links unphysical" in run.output
    repaired = tmp_path / "out" / "pair_repaired.urdf"
    assert "<!-- kept -->" in repaired.read_text()
    assert CliRunner().invoke(app, ["check", str(repaired)]).exit_code == 0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        robot = casid.load_robot(repaired)
    assert robot.links[0].inertial.mass == 1.5


def test_check_of_parameters_and_errors(tmp_path):
    assert not check_file("kuka_iiwa").unphysical
    (tmp_path / "p.csv").write_text("parameter,value\nm1,1\n")
    with pytest.raises(DatasetError, match="'Lxx1' is missing"):
        check_file(tmp_path / "p.csv")
    (tmp_path / "p.json").write_text("[1]")
    with pytest.raises(DatasetError, match=r"numbers without names|expected names|not valid JSON"):
        check_file(tmp_path / "p.json")


# ---------------------------------------------------------------------- all of it


def test_identify_predict_and_reload(robot, model, noisy, tmp_path):
    result = identify(robot, noisy, processing=AS_IT_IS, terms=FRICTION)
    assert result.feasible.certified and result.notes == ()
    prediction = result.predict(recording(model, model.parameters(result.feasible.standard_parameters), seed=3))
    np.testing.assert_allclose(prediction.rms[0], np.abs(prediction.residual[:, 0]).mean(), rtol=0.2)
    path = tmp_path / "identification.json"
    path.write_text(json.dumps(result.record()))
    again, parameters = load_model(path, robot)
    np.testing.assert_allclose(predict(again, parameters, noisy).predicted, result.predict(noisy).predicted, atol=1e-9)
    np.testing.assert_allclose(result.predict(noisy).relative_error, result.feasible.relative_error, rtol=1e-9)
    with pytest.raises(DatasetError, match="is of robot 'kuka_iiwa'"):
        load_model(path, casid.load_robot("ur10e"))


def test_identify_with_nonlinear_friction_round_trips(tmp_path):
    robot = casid.load_robot("wam7")
    robot = replace(robot, joints=robot.joints[:2], limits=Limits.unlimited(2), transmission=None, frames=())
    plain = Model(robot)
    data = recording(plain, robot.standard_parameters(), samples=400, noise=1e-6)
    tau = data.tau + 0.8 * np.tanh(data.dq / 0.1)
    result = identify(robot, replace(data, tau=tau), processing=AS_IT_IS, friction="smooth")
    assert result.unconstrained.relative_error < 1e-3
    model, parameters = load_model(json.loads(json.dumps(result.record())), robot)
    np.testing.assert_allclose(predict(model, parameters, data).predicted, result.predict(data).predicted, atol=1e-9)


@pytest.mark.slow
def test_command_line_identify_and_validate(robot, noisy, tmp_path):
    np.savez(tmp_path / "run.npz", t=noisy.t, q=noisy.q, torque=noisy.tau)
    (tmp_path / "light.py").write_text(
        "from casid.retrieval import sensible_bounds, total_mass\n"
        "def constraints(variables):\n    return (*sensible_bounds(variables), total_mass(variables, 0, 20))\n"
    )
    options = ["--rate", "80", "--cutoff", "20", "--every", "1", "--trim", "0.3"]
    out = tmp_path / "out"
    arguments = [
        "identify",
        "kuka_iiwa",
        str(tmp_path / "run.npz"),
        *options,
        "--constraints",
        str(tmp_path / "light.py"),
    ]
    run = CliRunner().invoke(app, [*arguments, "--out", str(out)])
    assert run.exit_code == 0, run.output
    assert {p.name for p in out.iterdir()} == {
        "identification.json",
        "parameters.csv",
        "base_parameters.csv",
        "torques.png",
        "friction.png",
        "links.png",
        "base_parameters.png",
        "report.html",
    }
    record = json.loads((out / "identification.json").read_text())
    assert record["certified"] and sum(record["parameters"][f"m{k}"] for k in range(1, 8)) <= 20.0 + 1e-6
    page = (out / "report.html").read_text()
    assert "error RMS [N·m]" in page and "data:image/png;base64" in page and "http://" not in page
    run = CliRunner().invoke(
        app,
        [
            "validate",
            "kuka_iiwa",
            str(out / "identification.json"),
            str(tmp_path / "run.npz"),
            *options,
            "--out",
            str(tmp_path / "v"),
        ],
    )
    assert run.exit_code == 0, run.output
    validation = json.loads((tmp_path / "v" / "validation.json").read_text())
    assert validation["relative_error"] == pytest.approx(record["relative_error"]["feasible"], rel=1e-6)


def test_constraint_files_fail_with_their_own_traceback(tmp_path, robot, fit):
    (tmp_path / "none.py").write_text("x = 1\n")
    with pytest.raises(ProblemError, match="has no function 'constraints"):
        load_constraints(tmp_path / "none.py")
    (tmp_path / "bad.py").write_text("def constraints(variables):\n    return 1 / 0\n")
    with pytest.raises(ProblemError, match="ZeroDivisionError"):
        feasible_regression(fit, constraints=load_constraints(tmp_path / "bad.py"))
    with pytest.raises(ProblemError, match="does not exist"):
        load_constraints(tmp_path / "absent.py")


def test_boxes_on_the_centre_of_mass(fit):
    result = feasible_regression(
        fit, constraints=lambda v: (*sensible_bounds(v), *(com_box(k, -0.05, 0.05) for k in v))
    )
    for link in result.solution.link_parameters:
        assert np.abs(link.com).max() <= 0.05 + 1e-8
    assert result.objective >= feasible_regression(fit).objective * (1 - 1e-7)


def test_a_thin_prior_body_is_no_obstacle():
    """The Panda's published second link keeps less than the margin of the fit (Gaz et al. 2019, Table IX)."""
    robot = casid.load_robot("panda")
    model = Model(robot, FRICTION)
    data = recording(model, model.parameters(robot.standard_parameters()), noise=0.5)
    prior = Prior(robot, robot.standard_parameters(), 1.0)
    assert feasible_regression(wls(compress(model, data)), prior=prior).certified
