"""Four file formats of robots: what is written reads back."""

from __future__ import annotations

import warnings
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

import casid
from casid.description import Description, Inertial, convert, load_description, load_robot, write_description
from casid.description.formats import Changes
from casid.errors import InertiaWarning, RobotError
from tests.description.conftest import URDF

FORMATS = (".toml", ".urdf", ".xml", ".sdf")
#: Format -> elements, beneath those that may hold them once.
ONCE = {
    ".urdf": (
        "link/inertial inertial/origin inertial/mass inertial/inertia joint/origin joint/parent joint/child joint/axis "
        "joint/limit joint/dynamics joint/mimic"
    ),
    ".xml": "body/inertial",
    ".sdf": (
        "link/inertial link/pose inertial/mass inertial/inertia inertial/pose inertia/ixx joint/pose joint/parent "
        "joint/child joint/axis axis/xyz axis/limit axis/dynamics axis/mimic limit/lower dynamics/damping "
        "mimic/multiplier"
    ),
}
NOTHING = Inertial(0.0, np.zeros(3), np.zeros((3, 3)))


def differences(a: Description, b: Description) -> list[str]:
    """Names of what is not the same in two descriptions, to 1e-12."""
    found = [] if [link.name for link in a.links] == [link.name for link in b.links] else ["links"]
    for one, two in zip(a.links, b.links, strict=True):
        if (one.inertial is None) != (two.inertial is None):
            found.append(one.name)
        elif one.inertial is not None and two.inertial is not None:
            ours, theirs = one.inertial.standard_parameters(), two.inertial.standard_parameters()
            if np.abs(ours - theirs).max() > 1e-12 * np.abs(ours).max():
                found.append(one.name)
    for one, two in zip(a.joints, b.joints, strict=True):
        alike = ("placement", "link_placement", *(() if one.type == "fixed" else ("axis",)))
        close = all(np.allclose(getattr(one, k), getattr(two, k), atol=1e-12, rtol=0) for k in alike)
        equal = ("name", "type", "parent", "mimic", "limits", "terms")
        if not (close and all(getattr(one, k) == getattr(two, k) for k in equal)):
            found.append(one.name)
    return found


def written_twice(given: Description, target: Path) -> Description:
    """What is read back of a new file; the second writing repeats the first."""
    target.parent.mkdir()
    write_description(given, target)
    first = {path.name: path.read_bytes() for path in target.parent.iterdir()}
    back = load_description(target)
    assert differences(given, back) == []
    write_description(replace(back, format="", content=b""), target)
    assert {path.name: path.read_bytes() for path in target.parent.iterdir()} == first
    return back


@pytest.mark.parametrize("suffix", FORMATS)
def test_a_machine_reads_back_from_every_format_and_the_second_writing_repeats_the_first(
    arm: Path, tmp_path: Path, suffix: str
) -> None:
    written_twice(replace(load_description(arm), format="", content=b""), tmp_path / "out" / f"arm{suffix}")


@pytest.mark.claim("a fixed link without a body stays one in every format; a moving link keeps a stated zero")
@pytest.mark.parametrize("suffix", FORMATS)
@pytest.mark.parametrize("stated", [None, NOTHING])
def test_what_does_not_move_and_weighs_nothing_has_no_body(
    arm: Path, tmp_path: Path, stated: Inertial | None, suffix: str
) -> None:
    bodies = {"base": stated, "tool": stated, "finger1": NOTHING}
    write_description(load_description(arm), tmp_path / "given.urdf", Changes(bodies), anew=True)
    given = replace(load_description(tmp_path / "given.urdf"), format="", content=b"")
    for description in (given, written_twice(given, tmp_path / "out" / f"back{suffix}")):
        assert [link.name for link in description.links if link.inertial is None] == ["base", "tool"]


@pytest.mark.parametrize("robot", casid.robot_names())
@pytest.mark.parametrize("suffix", FORMATS)
def test_shipped_robots_keep_their_dynamics_in_every_format(robot: str, suffix: str, tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InertiaWarning)  # not the subject here
        ours = load_robot(robot)
        if any(link.inertial is None for link in ours.links):
            pytest.skip("has no nominal bodies")
        convert(robot, tmp_path / f"robot{suffix}")
        theirs = load_robot(tmp_path / f"robot{suffix}")
    assert ours.total_mass == theirs.total_mass
    assert len(ours.capsules) == len(theirs.capsules)
    for key in ("lower", "upper", "velocity", "acceleration", "jerk", "effort"):
        np.testing.assert_allclose(getattr(ours.limits, key), getattr(theirs.limits, key), rtol=1e-15)
    q, dq, ddq = np.random.default_rng(1).uniform(-1, 1, (3, ours.n))
    a, b = (np.array(casid.Model(r).inverse_dynamics(q, dq, ddq, r.standard_parameters())) for r in (ours, theirs))
    np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-12 * np.abs(a).max())


def test_names_that_are_no_identifiers_survive(arm: Path, tmp_path: Path) -> None:
    arm.write_text(URDF.replace('"upper"', '"upper &amp; &lt;arm&gt; &quot;1&quot;"'), encoding="utf-8")
    for suffix in FORMATS:
        convert(arm, tmp_path / f"odd{suffix}")
        assert 'upper & <arm> "1"' in [link.name for link in load_robot(tmp_path / f"odd{suffix}").links]


def test_a_robot_of_sdf_has_an_ending_that_mjcf_has_too_and_needs_a_model(arm: Path, tmp_path: Path) -> None:
    convert(arm, tmp_path / "arm.sdf")
    (tmp_path / "arm.sdf").rename(tmp_path / "arm.xml")
    assert load_robot(tmp_path / "arm.xml").n == 2
    (tmp_path / "empty.sdf").write_text('<sdf version="1.9"/>', encoding="utf-8")
    with pytest.raises(RobotError, match="model"):
        load_robot(tmp_path / "empty.sdf")


@pytest.mark.claim("an element that a format allows once is refused by file, place and name where it stands twice")
@pytest.mark.parametrize(("suffix", "place"), [(suffix, one) for suffix, all in ONCE.items() for one in all.split()])
def test_what_may_stand_once_is_refused_where_it_stands_twice(
    arm: Path, tmp_path: Path, suffix: str, place: str
) -> None:
    """Readers differ in which of two they take; MuJoCo refuses such MJCF and URDF."""
    path = tmp_path / f"twice{suffix}"
    convert(arm, path)
    load_description(path)
    tree, (outer, tag) = ElementTree.parse(path), place.split("/")
    holder = next(element for element in tree.iter(outer) if element.find(tag) is not None)
    holder.append(deepcopy(holder.find(tag)))
    tree.write(path)
    with pytest.raises(RobotError, match=rf"twice{suffix}: (link|joint|body) '\w+' has .*<{tag}>.*; keep the one"):
        load_description(path)
