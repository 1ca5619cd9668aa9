"""Bodies of links: table and picture."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from casid.description import Inertial
from casid.errors import DatasetError
from casid.inertia import LinkParameters, to_standard
from casid.report import links_figure
from casid.report._links import _ellipsoid, link_placements, links_table, middle_posture
from casid.report.viewer import Page
from tests.report.helpers import arm, read_png, text_of


def test_links_table_shows_mass_centre_and_principal_moments() -> None:
    bodies = [(link.name, link.inertial) for link in arm().links]
    links = [LinkParameters(name, to_standard(body.mass, body.com, body.inertia_com)) for name, body in bodies]
    text = text_of(links_table(links))
    assert "mass [kg]" in text and "centre of mass [m]" in text
    assert "+0.0000  +0.0000  +0.1500" in text
    assert "4.00e-03  1.00e-02  1.00e-02" in text
    assert re.search(r"total\s+6\.0000", text)


def test_links_picture_shows_each_mass(tmp_path: Path) -> None:
    robot = arm(3)
    figure = links_figure(robot, robot.standard_parameters())
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["link1  1 kg", "link2  2 kg", "link3  3 kg"]
    assert read_png(figure, tmp_path / "links.png").std() > 0.01
    with pytest.raises(DatasetError, match="expected 30 parameters"):
        links_figure(robot, np.zeros(20))


def test_ellipsoid_is_the_uniform_body() -> None:
    """A solid ellipsoid of semi-axes a has moments m/5 (a_j^2 + a_k^2); its picture must have those semi-axes."""
    semi_axes, mass = np.array([0.1, 0.2, 0.4]), 3.0
    inertia = np.diag(mass / 5 * (np.sum(semi_axes**2) - semi_axes**2))
    parameters = Inertial(mass, [0.3, -0.2, 0.1], inertia).standard_parameters()
    centre, _, surface = _ellipsoid(parameters, np.eye(4))
    assert np.allclose(centre, [0.3, -0.2, 0.1])
    offset = surface - centre[:, None, None]
    assert np.allclose(np.sum((offset / semi_axes[:, None, None]) ** 2, axis=0), 1.0)


def test_posture_is_the_middle_of_the_limits_and_placements_follow_the_tree() -> None:
    robot = arm(3)
    assert middle_posture(robot).tolist() == [0.5, 0.5, 0.0]
    heights = [T[2, 3] for T in link_placements(robot, np.zeros(3))]
    assert np.allclose(heights, [0.3, 0.6, 0.9])


@pytest.mark.parametrize("count", [1, 10, 30])
def test_every_link_has_a_colour_of_its_own(count: int) -> None:
    page = Page("arm")
    page.robot(arm(count))
    assert len(set(page.robots["robot1"]["colours"])) == count
