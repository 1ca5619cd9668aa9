"""Bodies of MJCF files from their geoms."""

import math
from xml.etree.ElementTree import Element, fromstring

import numpy as np
import pytest

from casid.description.formats._contract import Reading
from casid.description.formats._mjcf_context import Context
from casid.description.formats._mjcf_reader import body_of_geoms, read_mjcf_content
from casid.errors import RobotError


def test_a_body_is_the_sum_of_its_geoms():
    context = Context(fromstring("<mujoco/>"), "m.xml", 1e-9)
    ball = Element("geom", {"type": "sphere", "size": "0.1", "density": "500"})
    beside = np.eye(4)
    beside[0, 3] = 0.4
    body = body_of_geoms([(ball, np.eye(4)), (ball, beside)], context, "body")
    assert body is not None
    assert body.mass == pytest.approx(2 * 500 * 4 / 3 * math.pi * 1e-3)
    np.testing.assert_allclose(body.com, [0.2, 0, 0], atol=1e-12)
    assert body_of_geoms([], context, "body") is None


def test_another_root_is_not_mjcf():
    with pytest.raises(RobotError, match="expected <mujoco>"):
        read_mjcf_content(b"<robot/>", Reading("m.xml"))
