"""Bodies of links: table and picture."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import casid
from casid.errors import DatasetError
from casid.report import links_figure, report_of
from casid.report.viewer import Page
from casid.testing import BODY
from tests.helpers import nearest
from tests.report.helpers import arm, read_png, text_of


def test_links_picture_shows_each_mass(tmp_path: Path) -> None:
    robot = arm(3)
    figure = links_figure(robot, robot.standard_parameters())
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["link1  1 kg", "link2  2 kg", "link3  3 kg"]
    assert read_png(figure, tmp_path / "links.png").std() > 0.01
    with pytest.raises(DatasetError, match=r"parameters: expected shape \(30,\)"):
        links_figure(robot, np.zeros(20))


@pytest.mark.parametrize("count", [1, 10, 30])
def test_every_link_has_a_colour_of_its_own(count: int) -> None:
    page = Page("arm")
    page.robot(arm(count))
    assert len(set(page.robots["robot1"]["colours"])) == count


def test_the_table_shows_mass_centre_and_principal_moments() -> None:
    solution = casid.solve(nearest(BODY))
    text = text_of(report_of(solution).tables()[0])
    (link,) = solution.link_parameters
    assert "mass [kg]" in text and "centre of mass [m]" in text
    assert "  ".join(f"{x:+.4f}" for x in link.com) in text
    assert "  ".join(f"{x:.2e}" for x in link.principal_moments) in text
    assert re.search(rf"total\s+{link.mass:.4f}", text)


def test_posture_is_the_middle_of_the_limits() -> None:
    page = Page("arm")
    page.robot(arm(3))
    assert page.robots["robot1"]["posture"] == [0.5, 0.5, 0.0]
