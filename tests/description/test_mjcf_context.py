"""What MJCF elements inherit: defaults and the compiler's settings."""

import math
from xml.etree.ElementTree import Element, fromstring

import numpy as np
import pytest

from casid.description.formats._mjcf_context import Context, joint_couplings, unsupported
from casid.errors import RobotError

ROOT = """<mujoco><compiler angle="radian" eulerseq="ZYX"/><default><joint damping="1"/>
<default class="big"><joint damping="2" armature="3"/></default></default>
<equality><joint joint1="b" joint2="a" polycoef="0 2 0 0 0"/></equality></mujoco>"""


def test_classes_of_defaults_are_inherited():
    context = Context(fromstring(ROOT), "m.xml", 1e-9)
    assert context.attributes(Element("joint"), None).get("damping") == "1"
    big = context.attributes(Element("joint", {"class": "big", "armature": "5"}), None)
    assert (big.get("damping"), big.get("armature")) == ("2", "5")
    assert context.angle(math.pi / 2) == math.pi / 2 and not context.degrees


def test_placements_follow_the_sequence_of_angles():
    context = Context(fromstring(ROOT), "m.xml", 1e-9)
    placement = context.placement(Element("body", {"pos": "1 2 3", "euler": "0 0 1.5707963267948966"}), "body")
    np.testing.assert_array_equal(placement[:3, 3], [1, 2, 3])
    np.testing.assert_allclose(placement[:3, :3] @ placement[:3, :3].T, np.eye(3), atol=1e-12)


def test_couplings_are_linear_and_what_is_not_modelled_is_named():
    root = fromstring(ROOT)
    context = Context(root, "m.xml", 1e-9)
    assert unsupported(root, context) == ()
    assert list(joint_couplings(root, context, {"a": 0.0, "b": 0.0})) == ["b"]
    with pytest.raises(RobotError, match="global"):
        Context(fromstring('<mujoco><compiler coordinate="global"/></mujoco>'), "m.xml", 1e-9)
