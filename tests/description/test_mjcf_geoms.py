"""Bodies of MJCF files from their geoms."""

import math
from xml.etree.ElementTree import Element, fromstring

import numpy as np
import pytest

from casid.description.formats._mjcf_context import Context
from casid.description.formats._mjcf_geoms import body_of_geoms
from casid.description.formats._mjcf_meshes import Meshes
from casid.errors import RobotError

_ROOT = fromstring(
    '<mujoco><asset><mesh name="t" inertia="exact" vertex="0 0 0 1 0 0 0 1 0 0 0 1" face="0 2 1 0 1 3 0 3 2 1 2 3"/>'
    "</asset></mujoco>"
)


def _body(*geoms):
    context = Context(_ROOT, "m.xml", 1e-9)
    return body_of_geoms(list(geoms), context, Meshes(_ROOT, context, None), "body 'b'")


def test_a_body_is_the_sum_of_its_geoms():
    ball = Element("geom", {"type": "sphere", "size": "0.1", "density": "500"})
    beside = np.eye(4)
    beside[0, 3] = 0.4
    body = _body((ball, np.eye(4)), (ball, beside))
    assert body is not None
    assert body.mass == pytest.approx(2 * 500 * 4 / 3 * math.pi * 1e-3)
    np.testing.assert_allclose(body.com, [0.2, 0, 0], atol=1e-12)
    assert _body() is None


def test_a_mesh_geom_has_the_mass_of_its_volume_or_its_own():
    for words, mass in (({}, 1000 / 6), ({"density": "30"}, 5.0), ({"mass": "2"}, 2.0)):
        body = _body((Element("geom", {"type": "mesh", "mesh": "t", "pos": "0 0 1", **words}), np.eye(4)))
        assert body is not None and body.mass == pytest.approx(mass)
        np.testing.assert_allclose(body.com, [0.25, 0.25, 1.25])
        # the moments of a corner of a cube about its centre: 3/80 m a^2 a side, products 1/80
        np.testing.assert_allclose(np.diag(body.inertia_com), 2 * 3 / 80 * mass)
        np.testing.assert_allclose(body.inertia_com[0, 1], mass / 80)


def test_primitives_fitted_to_meshes_are_refused():
    with pytest.raises(RobotError, match=r"body 'b'.*geom of type 'box' fitted to a mesh"):
        _body((Element("geom", {"type": "box", "mesh": "t"}), np.eye(4)))
