"""The common look of figures."""

from __future__ import annotations

import matplotlib.pyplot as plt
import pytest

from casid.report import new_figure, png_bytes
from casid.report._style import link_colours, with_pyplot


def test_figures_belong_to_pyplot_only_inside_the_context() -> None:
    before = plt.get_fignums()
    assert png_bytes(new_figure(1.0, 1.0)).startswith(b"\x89PNG") and plt.get_fignums() == before
    with with_pyplot():
        figure = new_figure(1.0, 1.0)
    assert len(plt.get_fignums()) == len(before) + 1
    plt.close(figure)


@pytest.mark.parametrize("count", [1, 10, 30])
def test_every_link_has_a_colour_of_its_own(count: int) -> None:
    assert len(set(link_colours(count))) == count
