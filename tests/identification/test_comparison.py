"""Two identifications compared: what was changed is found, chance is not."""

import json

import numpy as np
import pytest
from scipy.stats import norm

import casid
from casid.dynamics import Model
from casid.errors import DatasetError
from casid.identification import Checks, Comparison, ModelOptions, compare, identify
from casid.inertia import to_standard
from casid.report import report_of
from casid.testing import recording

TERMS = ("viscous", "coulomb")


@pytest.fixture(scope="module")
def robot():
    return casid.load_robot("three_link")


def identified(robot, seed, friction=1.0, mass=1.0):
    """An identification of a robot with joint 2's friction and the last link's mass scaled."""
    model = Model(robot, TERMS)
    body = to_standard(3.0, [0.1, 0.02, 0.05], np.diag([0.03, 0.03, 0.02]))
    links = np.tile(body, (3, 1))
    links[-1] *= mass
    terms = np.array([[2.0, 3.0], [2.0 * friction, 3.0 * friction], [1.0, 1.0]])
    made = recording(model, model.parameters(links.ravel(), terms.ravel()), samples=600, seed=seed, noise=0.2)
    return identify(robot, made, processing=False, model=ModelOptions(terms=TERMS), checks=Checks(folds=0))


@pytest.fixture(scope="module")
def first(robot):
    return identified(robot, 1)


def test_chance_is_no_difference(robot, first):
    found = compare(first, identified(robot, 2))
    assert isinstance(found, Comparison) and found.significant == () and "no difference beyond chance" in found.line
    assert found.notes == () and found.unmatched == ()


def test_a_changed_friction_is_found_at_its_joint(robot, first):
    found = compare(first, identified(robot, 3, friction=1.5))
    assert {one.name for one in found.significant} == {"fv2", "fc2"}
    one = next(one for one in found.significant if one.name == "fc2")
    assert one.change == pytest.approx(1.5, abs=4 * one.sd) and one.joint == robot.joints[1].name
    assert one.torque == pytest.approx(abs(one.change), rel=0.05)  # |sign(dq)| = 1


def test_a_changed_link_is_found(robot, first):
    found = compare(first, identified(robot, 4, mass=1.3))
    names = [one.expression for one in found.significant]
    assert names and all("3" in name for name in names) and not any(name.startswith("f") for name in names)


def test_the_record_says_the_same_as_the_result(first, robot, tmp_path):
    other = identified(robot, 5, friction=1.5)
    files = []
    for name, result in (("a", first), ("b", other)):
        path = tmp_path / f"{name}.json"
        path.write_text(json.dumps(result.record()))
        files.append(path)
    by_file, by_result = compare(*files), compare(first, other)
    assert by_file.differences == by_result.differences
    report = report_of(by_file)
    assert report.record()["line"] == by_result.line and len(report.tables()) == 4
    assert "comparison.html" in report.files()


def test_the_same_recording_is_pointed_out(first):
    found = compare(first, first)
    assert found.significant == () and any("not independent" in note for note in found.notes)


@pytest.mark.parametrize("content", ["{}", '{"parameters": {}, "links": []}'])
def test_another_file_is_refused_by_name(first, tmp_path, content):
    path = tmp_path / "other.json"
    path.write_text(content)
    with pytest.raises(DatasetError, match=r"other\.json' is not the record of an identification"):
        compare(first, path)


def test_another_robot_is_refused(first):
    record = first.record()
    fewer = {**record, "robot": "another", "joints": record["joints"][:-1]}
    with pytest.raises(DatasetError, match=r"of 'three_link' and 'another', have only \d+ of \d+ base parameters in"):
        compare(record, fewer)


def record(values, sd=0.1, **changes):
    """Of base parameters ``p0``, ``p1`` ... with these values."""
    base = [
        {"name": f"p{k}", "expression": f"p{k}", "unconstrained": value, "sd": sd, "joint": "j", "torque_per_unit": 1.0}
        for k, value in enumerate(values)
    ]
    made = {"robot": "arm", "recordings": [], "joints": [{}, {}], "base_parameters": base, "verdict": None}
    return {**made, "parameters": {}, "links": [], **changes}


def test_probabilities_are_corrected_for_the_number_of_parameters():
    """Holm: of M sorted probabilities the k-th counts M - k times, none less than the one before."""
    shifts = np.array([0.0, 0.3, 0.4, 0.35])
    found = compare(record([0.0] * 4), record(shifts))
    plain = 2 * norm.sf(shifts / np.hypot(0.1, 0.1))
    order = np.argsort(plain)
    expected = np.minimum(np.maximum.accumulate((4 - np.arange(4)) * plain[order]), 1.0)
    assert [one.p for one in found.differences] == pytest.approx(expected) and found.inflation == 1.0


def test_half_of_the_base_parameters_must_be_common():
    whole, other = record([1.0, 2.0, 3.0, 4.0]), record([1.0, 2.0])
    other["base_parameters"] += [{**one, "expression": f"q{k}"} for k, one in enumerate(other["base_parameters"])]
    assert len(compare(whole, other).differences) == 2 and len(compare(whole, other).unmatched) == 4
    other["base_parameters"] = other["base_parameters"][1:] + other["base_parameters"][2:3]
    with pytest.raises(DatasetError, match="have only 1 of 3 base parameters"):
        compare(whole, other)


def test_surest_differences_come_first_and_the_larger_of_equals():
    found = compare(record([0.0] * 4), record([0.0, 50.0, 1.0, 90.0]))
    assert [one.name for one in found.differences][:3] == ["p3", "p1", "p2"]
    assert found.differences[0].change == found.differences[0].torque == 90.0


@pytest.mark.parametrize(("verdict", "named"), [(None, 0), ({"right": True}, 0), ({}, 0), ({"right": False}, 1)])
def test_a_verdict_against_a_model_is_pointed_out(verdict, named):
    found = compare(record([1.0] * 3), record([1.0] * 3, verdict=verdict))
    assert sum("has findings against its model" in note for note in found.notes) == named
