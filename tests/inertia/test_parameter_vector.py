"""The named parameter vector, and robots and models with parameters."""

from __future__ import annotations

import pickle
import subprocess
import sys

import numpy as np
import pytest

import casid
from casid.errors import DatasetError, RobotError
from casid.inertia import LinkParameters, Parameters, from_standard, standard_names
from casid.testing import random_body, standard_parameters


def bodies(n: int) -> np.ndarray:
    rng = np.random.default_rng(0)
    return standard_parameters([random_body(rng) for _ in range(n)])


def test_three_orders_of_the_same_numbers() -> None:
    terms = ("viscous", "coulomb@joint2")
    model = casid.Model("panda", terms)
    inertial, rng = bodies(7), np.random.default_rng(1)
    named = dict(zip(standard_names(7), inertial, strict=True))
    named |= {name: rng.uniform() for name in model.parameter_names if name.startswith("f")}
    expected = np.array([named[name] for name in model.parameter_names])

    shuffled = list(named)
    rng.shuffle(shuffled)
    parameters = Parameters(tuple(shuffled), np.array([named[name] for name in shuffled]))
    assert np.array_equal(parameters.in_order(model), expected)
    assert np.array_equal(parameters.in_order(tuple(named)), np.array(list(named.values())))
    assert np.array_equal(parameters.standard, inertial)
    assert np.array_equal(model.parameters(parameters), expected)
    assert model.named(expected).to_dict() == parameters.to_dict() == dict(parameters) == named
    assert list(model.named(expected).links) == [link.name for link in model.robot.links]
    assert dict(parameters.terms) == {name: named[name] for name in named if name.startswith("f")}
    assert parameters["m7"] == named["m7"]
    assert len(parameters) == 78 and "fv1" in parameters and "fv8" not in parameters


def test_links_by_name() -> None:
    inertial = bodies(2)
    parameters = Parameters.of_links(inertial, ("arm", "hand"), {"fv1": 0.5})
    hand = parameters.links["hand"]
    mass, com, inertia = from_standard(inertial[10:])
    assert isinstance(hand, LinkParameters)
    assert hand.mass == mass and np.array_equal(hand.com, com) and np.array_equal(hand.inertia_com, inertia)
    assert np.array_equal(hand.standard, inertial[10:])
    assert np.allclose(hand.principal_moments, np.linalg.eigvalsh(inertia))
    assert hand.pseudo_inertia[3, 3] == mass
    assert "hand" in repr(hand) and "3 links" not in repr(parameters) and "2 links" in repr(parameters)


def test_parameters_are_read_only_and_pickle() -> None:
    parameters = Parameters.of_links(bodies(2), ("arm", "hand"), {"fv1": 0.5})
    for array in (
        parameters.values,
        parameters.standard,
        parameters.links["arm"].standard,
        parameters.links["arm"].com,
    ):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1.0
    with pytest.raises(TypeError):
        parameters.terms["fv1"] = 1.0  # type: ignore[index]
    back = pickle.loads(pickle.dumps(parameters))
    assert back.to_dict() == parameters.to_dict() and back.link_names == ("arm", "hand")
    assert parameters.with_values({"fv1": 0.7})["fv1"] == 0.7 and parameters["fv1"] == 0.5


@pytest.mark.parametrize(
    ("names", "values", "says"),
    [
        (("Lxx1", "Lxx1"), [1, 2], "'Lxx1' appears twice"),
        (("fv1",), [np.nan], "'fv1' is not a finite number"),
        (("fv1",), [1.0, 2.0], "1 names"),
        (standard_names(2)[:-1], np.ones(19), "'m2' is missing"),
        (standard_names(2)[10:], np.ones(10), "'Lxx1' is missing"),
        (("m99999",), [1.0], "'Lxx1' is missing"),
    ],
)
def test_bad_vectors_are_refused(names: tuple[str, ...], values: list[float], says: str) -> None:
    with pytest.raises(DatasetError, match=says):
        Parameters(names, np.array(values))


def test_orders_that_do_not_fit_are_refused() -> None:
    rigid, rubbing = casid.Model("panda"), casid.Model("panda", ("viscous",))
    seven = Parameters.of_links(bodies(7))
    with_friction = Parameters.of_links(bodies(7), terms={"fv1": 0.5})
    assert np.count_nonzero(seven.in_order(rubbing)) == 70
    with pytest.raises(DatasetError, match="'fv1' has no place"):
        with_friction.in_order(rigid)
    with pytest.raises(DatasetError, match="'Lxx3' is missing"):
        Parameters.of_links(bodies(2)).in_order(rigid)
    with pytest.raises(DatasetError, match="expected 77 parameters"):
        rubbing.parameters(np.ones(5))
    with pytest.raises(DatasetError, match=r"'Lxx1'.*not a finite"):
        rigid.parameters(np.full(70, np.nan))


def test_robot_with_parameters() -> None:
    robot = casid.load_robot("panda")
    inertial = bodies(7)
    changed = robot.with_parameters(inertial)
    assert np.allclose(changed.standard_parameters(), inertial, rtol=0, atol=1e-15)
    assert changed.parameters.links[robot.links[3].name].mass == inertial[39]
    assert changed.links[0].bounds is robot.links[0].bounds
    with_terms = Parameters.of_links(inertial, terms={"fv1": 1.0})
    assert np.array_equal(robot.with_parameters(with_terms).standard_parameters(), changed.standard_parameters())
    with pytest.raises(RobotError, match="7 links"):
        robot.with_parameters(inertial[:20])
    with pytest.raises(RobotError, match="without mass"):
        robot.with_parameters(np.r_[inertial[:69], 0.0])


def test_what_a_prompt_shows() -> None:
    model = casid.Model("spatial_2r", ("viscous",))
    assert repr(model) == "Model(spatial_2r: 2 joints, 22 parameters, terms viscous)"
    assert repr(model.robot).startswith("Robot(spatial_2r: 2 joints RR")
    assert repr(casid.Model("panda").base).startswith("BaseParameters(43 of 70 parameters: ")
    time = np.linspace(0.0, 2.0, 201)
    data = casid.Dataset(time, np.zeros((201, 2)), np.zeros((201, 2)), name="run")
    assert repr(data) == "Dataset(run: 201 samples of 2 joints, 2 s at 100 Hz; q, tau)"


def test_rooms_are_attributes_without_an_import() -> None:
    program = (
        "import casid, sys; before = set(dir(casid)); assert 'casid.retrieval' not in sys.modules;"
        "assert casid.export.export_robot and casid.retrieval.solve and casid.codegen;"
        "assert set(dir(casid)) == before; assert not [n for n in before if n.startswith('_') and n != '__version__'];"
        "assert 'TYPE_CHECKING' not in before"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


@pytest.mark.claim("house h: a lookup by name that fails is a CasidError and a KeyError; `in` never raises")
def test_a_failing_lookup_is_a_casid_error_and_a_key_error() -> None:
    given = Parameters.of_links(bodies(2))
    for error in (casid.CasidError, KeyError):
        with pytest.raises(error, match="there is no parameter 'x'"):
            given["x"]
        with pytest.raises(error, match="there is no parameter 'x'"):
            given.with_values({"x": 1.0})
    assert "x" not in given and [] not in given and "x" not in given.links
