"""Convex hulls of links' shapes as bodies: volume, centre and moments, in the frames of the links that move."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import casid
from casid.description import found, link_hulls
from tests.description.conftest import FILES

URDF = (FILES / "two.urdf").read_text(encoding="utf-8")


def test_shapes_belong_to_the_links_that_move(tmp_path: Path) -> None:
    """Several shapes of a link together, visual before collision ones, those of fixed links where they are fixed."""
    path = tmp_path / "two.urdf"
    path.write_text(URDF)
    upper, lower, bare = link_hulls(casid.load_robot(path))
    assert upper is not None and upper.volume == pytest.approx(0.006, rel=1e-9)
    np.testing.assert_allclose(upper.centre, [0.3, 0.0, 0.0], atol=1e-12)
    along = 0.002 * (0.2**2 / 12 + 0.2**2) + 0.004 * (0.4**2 / 12 + 0.1**2)
    np.testing.assert_allclose(np.diag(upper.second), [along, 0.006 * 0.01 / 12, 0.006 * 0.01 / 12], rtol=1e-9)
    ball = 4 / 3 * np.pi * 1e-3
    assert lower is not None and lower.volume == pytest.approx(0.006 + ball, rel=0.02)  # a ball of facets
    assert lower.centre[0] == pytest.approx(0.006 / (0.006 + ball), rel=0.02)
    assert lower.second[0, 0] - lower.second[1, 1] > 0 and bare is None
    assert link_hulls(casid.load_robot("kuka_iiwa")) == (None,) * 7  # no URDF


def test_a_shape_in_another_unit_is_none(tmp_path: Path) -> None:
    path = tmp_path / "two.urdf"
    path.write_text(URDF.replace("0.1 0.2 0.3", "100 200 300"))
    kept = link_hulls(casid.load_robot(path))[1]
    assert kept is not None and kept.volume < 0.005
    far = URDF.replace('<box size="0.1 0.2 0.3"/>', '<box size="1.7e308 1 1"/>')  # corners overflow
    path.write_text(far.replace('"tip"><visual>', '"tip"><visual><origin xyz="1.7e308 0 0"/>'))
    kept = link_hulls(casid.load_robot(path))[1]
    assert kept is not None and kept.volume < 0.005


def test_packages_are_found_among_installed_ones(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "site-packages" / "cmeel.prefix" / "share" / "robots" / "a.urdf"
    file.parent.mkdir(parents=True)
    file.write_text("", encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path / "site-packages"))
    assert found("package://robots/a.urdf", None, ()) == file
    assert found("package://robots/b.urdf", None, ()) is None
