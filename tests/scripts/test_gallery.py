"""The gallery shows what its commands make today."""

from __future__ import annotations

import json
import re
from pathlib import Path

import gallery
import numpy as np
import pytest

#: Pictures of a searched motion: rounding of another processor or number of threads leads to one as good (its condition
#: has a picture of its own), whose single deviations and tracking errors differ by 3.5 %, their lengths by 0.7 %.
_OF_A_SEARCH = {"deviations", "rehearsal", "energy"}
NUMBERS = json.loads((gallery.DOCS / "gallery" / "numbers.json").read_text(encoding="utf-8"))


def test_the_page_lists_every_picture_with_its_commands() -> None:
    assert (gallery.DOCS / "gallery.md").read_text(encoding="utf-8") == gallery.page()
    assert set(NUMBERS) == {path.stem for path in (gallery.DOCS / "gallery").glob("*.png")}
    readme = re.sub(r" +# .*", "", (gallery.DOCS.parent / "README.md").read_text(encoding="utf-8"))
    (torques,) = (picture for picture in gallery.PICTURES if picture.name == "torques")
    assert "\n".join((*torques.before, torques.command)) in readme  # the picture stands below these commands


@pytest.mark.claim("pictures of the gallery show the numbers that their commands give")
@pytest.mark.parametrize(
    "picture",
    [pytest.param(p, marks=[pytest.mark.slow] * (p.name != "fit"), id=p.name) for p in gallery.PICTURES],
)
def test_a_picture_shows_what_its_command_gives(picture: gallery.Picture, tmp_path: Path) -> None:
    gallery.draw([picture.name], tmp_path)
    shown, expected = np.array(gallery.number(picture, tmp_path)), np.array(NUMBERS[picture.name])
    searched = picture.name in _OF_A_SEARCH
    assert shown == pytest.approx(expected, rel=5e-2 if searched else 1e-2, abs=1e-9)
    assert np.linalg.norm(shown) == pytest.approx(np.linalg.norm(expected), rel=1e-2)
