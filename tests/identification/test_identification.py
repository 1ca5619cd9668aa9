"""The result of an identification: its parameters by name, its record, its pictures."""

import json
from dataclasses import replace

import numpy as np
import pytest

import casid
from casid.dynamics import Model
from casid.errors import DatasetError
from casid.identification import Checks, ModelOptions, identify, load_model, predict
from casid.inertia import Parameters
from casid.testing import recording
from tests.helpers import first_joints, run

FRICTION = ("viscous", "coulomb", "offset")


@pytest.fixture(scope="module")
def result(robot, noisy):
    return identify(robot, noisy, processing=False, checks=Checks(folds=0, verdict=False))


@pytest.mark.claim("house d: the links of an identification are drawn, written and read by name, joint terms or not")
def test_parameters_are_named(result):
    masses = [link.mass for link in result.feasible.link_parameters]
    assert isinstance(result.parameters, Parameters) and len(result.parameters.terms) == 28
    assert [result.parameters[f"m{k}"] for k in range(1, 8)] == masses
    columns = np.ravel(result.model.link_columns)
    np.testing.assert_array_equal(result.standard_parameters, result.feasible.values[columns])
    axes = result.plot_links()
    labels = [text.get_text() for legend in axes[0].figure.legends for text in legend.get_texts()]
    assert labels == [f"{link.name}  {link.mass:.3g} kg" for link in result.feasible.link_parameters]


def test_identify_predict_and_reload(robot, model, noisy, tmp_path):
    result = identify(robot, noisy, processing=False, model=ModelOptions(terms=FRICTION))
    assert result.feasible.certified and result.notes == ()
    prediction = result.predict(recording(model, model.parameters(result.feasible.standard_parameters), seed=3))
    np.testing.assert_allclose(prediction.rms[0], np.sqrt((prediction.residual[:, 0] ** 2).mean()), rtol=1e-9)
    path = tmp_path / "identification.json"
    path.write_text(json.dumps(result.record()))
    again, parameters = load_model(path, robot)
    np.testing.assert_allclose(predict(again, parameters, noisy).predicted, result.predict(noisy).predicted, atol=1e-9)
    np.testing.assert_allclose(result.predict(noisy).relative_error, result.feasible.relative_error, rtol=1e-9)
    with pytest.raises(DatasetError, match="identification of robot 'kuka_iiwa' is of 7 links"):
        load_model(path, casid.load_robot("ur10e"))


def test_identify_with_nonlinear_friction_round_trips(tmp_path):
    robot = casid.load_robot("wam7")
    robot = first_joints(robot, 2)
    plain = Model(robot)
    data = recording(plain, robot.standard_parameters(), samples=400, noise=1e-6)
    tau = data.tau + 0.8 * np.tanh(data.dq / 0.1)
    alone, smooth = Checks(folds=0, verdict=False), ModelOptions(friction="smooth")
    result = identify(robot, replace(data, tau=tau), processing=False, model=smooth, checks=alone)
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
    arguments = ["identify", "kuka_iiwa", tmp_path / "run.npz", *options, "--constraints", tmp_path / "light.py"]
    run(*arguments, "--out", out)
    tables = {"identification.json", "parameters.csv", "base_parameters.csv", "report.html"}
    pictures = {f"{name}.png" for name in ("torques", "friction", "links", "base_parameters")}
    assert {p.name for p in out.iterdir()} == tables | pictures
    record = json.loads((out / "identification.json").read_text())
    assert record["certified"] and sum(record["parameters"][f"m{k}"] for k in range(1, 8)) <= 20.0 + 1e-6
    page = (out / "report.html").read_text()
    assert "error RMS [N.m]" in page and "data:image/png;base64" in page and "http://" not in page
    run("validate", "kuka_iiwa", out / "identification.json", tmp_path / "run.npz", *options, "--out", tmp_path / "v")
    validation = json.loads((tmp_path / "v" / "validation.json").read_text())
    assert validation["relative_error"] == pytest.approx(record["relative_error"]["feasible"], rel=1e-6)


@pytest.mark.parametrize("given", [(np.zeros(3), np.zeros((3, 7))), {"t": np.zeros(3)}, 3, [None]])
def test_arrays_in_place_of_recordings_get_advice(given: object) -> None:
    with pytest.raises(
        DatasetError, match=r"expected paths or Datasets, got \w+; of arrays: casid.measurement.Dataset"
    ):
        casid.identify("panda", given)  # type: ignore[arg-type]
