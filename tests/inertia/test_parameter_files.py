"""One writer and one reader of parameter files, whatever command wrote them."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import casid
from casid.errors import DatasetError, RobotError
from casid.identification import load_model
from casid.identification.repair import check_file
from casid.inertia import STANDARD_NAMES, Parameters, read_parameters, standard_names, write_parameters
from tests.helpers import run


@pytest.fixture
def parameters(panda: casid.Robot) -> Parameters:
    terms = {"fv3": 0.25, "Iam7": 1e-300, "fo1": -1.0 / 3.0}
    return Parameters.of_links(panda.standard_parameters(), [link.name for link in panda.links], terms)


@pytest.mark.parametrize("ending", [".csv", ".json"])
def test_what_is_written_is_read_to_the_last_bit(tmp_path: Path, parameters: Parameters, ending: str) -> None:
    path = write_parameters(tmp_path / f"mine{ending}", parameters)
    back = read_parameters(path)
    assert back.to_dict() == parameters.to_dict()
    assert back.link_names == parameters.link_names


def test_every_known_form_is_read(tmp_path: Path, panda: casid.Robot, parameters: Parameters) -> None:
    named, pi = parameters.to_dict(), panda.standard_parameters()
    values = [named[name] for name in standard_names(7)]
    wide = ["link;" + ";".join(f"{name} [unit]" for name in STANDARD_NAMES)]
    wide += [f"{link};" + ";".join(map(repr, pi[10 * k : 10 * k + 10].tolist())) for k, link in enumerate("abcdefg")]
    texts = {
        "plain.json": json.dumps(named),
        "list.json": json.dumps(values),
        "units.csv": "# a comment\nname,value,unit\n" + "".join(f"{k},{v!r},x\n" for k, v in named.items()),
        "two.csv": "".join(f"{k},{v!r}\n" for k, v in named.items()),
        "wide.csv": "\n".join(wide),
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
        found = read_parameters(tmp_path / name)
        assert np.array_equal(found.standard, pi), name
        assert not found.terms or dict(found.terms) == dict(parameters.terms), name
    assert read_parameters(tmp_path / "wide.csv").link_names == tuple("abcdefg")
    np.save(tmp_path / "a.npy", pi)
    assert np.array_equal(read_parameters(tmp_path / "a.npy").standard, pi)
    model = casid.Model(panda, ("viscous",))
    np.save(tmp_path / "b.npy", np.arange(77.0) + 1)
    assert np.array_equal(read_parameters(tmp_path / "b.npy", model).in_order(model), np.arange(77.0) + 1)


@pytest.mark.claim("parameters.csv of `casid solve` is refused by `casid check` and `casid export --parameters`")
def test_all_commands_read_what_any_command_writes(tmp_path: Path) -> None:
    run("solve", "spatial_2r", "--out", tmp_path / "solved")
    expected = read_parameters(tmp_path / "solved" / "solution.json")
    for name in ("solution.json", "parameters.csv", "links.csv"):
        path = tmp_path / "solved" / name
        assert np.array_equal(read_parameters(path).standard, expected.standard)
        assert "0 of 2 links unphysical" in run("check", path, "--out", tmp_path / f"checked_{name}")
        (repaired,) = (tmp_path / f"checked_{name}").iterdir()
        for source in (path, repaired):
            out = tmp_path / f"c_{source.stem}_{name}"
            run("export", "spatial_2r", "--parameters", source, "--out", out, "--functions", "inverse_dynamics")
            assert "m2=" in "".join((out / "spatial_2r.h").read_text().replace("\n * ", " ").split())
        model, pi = load_model(path, casid.load_robot("spatial_2r"))
        assert model.n == 2 and np.array_equal(pi, expected.standard)


@pytest.mark.claim("`identify` writes another format under the same name")
def test_joint_terms_of_a_file_are_exported_and_validated(tmp_path: Path, panda, parameters: Parameters) -> None:
    path = write_parameters(tmp_path / "parameters.csv", parameters)
    out = tmp_path / "c"
    run("export", "panda", "--parameters", path, "--out", out, "--functions", "inverse_dynamics,friction")
    text = (out / "panda.h").read_text()
    assert "fv3=0.25" in text and "viscous" in text
    model, pi = load_model(path, panda)
    assert [name for name in model.parameter_names if name not in standard_names(7)] == ["fo1", "fv3", "Iam7"]
    assert model.named(pi).to_dict() == parameters.to_dict()
    checked = check_file(path)
    assert [link.name for link in checked.links] == [link.name for link in panda.links]
    (tmp_path / "repaired.csv").write_bytes(checked.repaired)
    assert read_parameters(tmp_path / "repaired.csv")["fv3"] == 0.25


def test_names_of_terms_tell_the_terms(panda) -> None:
    model = casid.Model.of_parameters(panda, dict.fromkeys(("fv3", "Ia1", "Iam2", "f31", "fvm1"), 1.0))
    assert {name for name in model.parameter_names if name not in standard_names(7)} == {
        "fv3", "Ia1", "Iam2", "f31", "fvm1",
    }  # fmt: skip
    for name in ("fv8", "fv0", "fv", "fv99999999999999", "xyz1"):
        with pytest.raises(RobotError, match=name):
            casid.Model.of_parameters(panda, {name: 1.0})


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("a.json", "{ not json", "not valid JSON"),
        ("a.json", '{"parameters": {"m1": NaN}}', "NaN"),
        ("a.json", '{"m1": true}', "expected a number"),
        ("a.json", '{"m1": "1"}', "expected a number"),
        ("a.json", '{"parameters": {}}', "expected names"),
        ("a.json", "[1, 2, 3]", "without names"),
        ("a.csv", "parameter,value\nm1,1\nm1,2\n", "appears twice"),
        ("a.csv", "parameter,value\nm1,one\n", "expected a number"),
        ("a.csv", "parameter,value\nm1,inf\n", "finite"),
        ("a.csv", "x,y,z\n1,2,3\n", "expected the columns"),
        ("a.csv", "parameter,value\nLxx1,1\n", "'Lxy1' is missing"),
        ("a.csv", "", "empty"),
        ("a.txt", "m1 1", r"expected a \.csv"),
    ],
)
def test_what_is_no_parameter_file_is_refused_with_a_reason(tmp_path: Path, name: str, text: str, says: str) -> None:
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(DatasetError, match=says) as caught:
        read_parameters(path)
    assert name in str(caught.value) and "\n" not in str(caught.value)


def test_a_file_of_another_robot_says_what_is_missing(tmp_path: Path, panda: casid.Robot) -> None:
    path = tmp_path / "six.json"
    path.write_text(json.dumps(dict.fromkeys(standard_names(6), 1.0)))
    with pytest.raises(DatasetError, match="'Lxx7' is missing"):
        read_parameters(path).in_order(casid.Model(panda))
    with pytest.raises(DatasetError, match="of 6 links, robot 'panda' has 7"):
        load_model(path, panda)
