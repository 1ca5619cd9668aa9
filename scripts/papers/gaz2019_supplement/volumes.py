"""Sec. V: how much larger than the links of the 2R robot the boxes around them are."""

from __future__ import annotations

import numpy as np

from papers.item import Check, Comparison, Item, Outcome, Setting, Status, differs
from papers.two_links import CONE, CYLINDER, SECOND, TIP, outside

#: Ends of the links along their long axes [m]: link 1 along y, link 2 along x.
FIRST_ENDS, SECOND_ENDS = (-1.42, 0.08), (-0.8, 0.0)
#: As the document states them.
PRINTED = (4 / np.pi, 4 / np.pi * (1 + 2 * CONE / 0.8))


def shapes() -> tuple[float, float]:
    """Volumes of the cylinder, and of the cylinder with its conical end [m^3]."""
    first = np.pi * CYLINDER**2 * (FIRST_ENDS[1] - FIRST_ENDS[0])
    second = np.pi * SECOND**2 * (0.8 - CONE) + np.pi * CONE / 3 * (SECOND**2 + SECOND * TIP + TIP**2)
    return float(first), float(second)


def boxes() -> tuple[float, float]:
    """Volumes of the boxes around them [m^3]."""
    return (
        (2 * CYLINDER) ** 2 * (FIRST_ENDS[1] - FIRST_ENDS[0]),
        (2 * SECOND) ** 2 * (SECOND_ENDS[1] - SECOND_ENDS[0]),
    )


def drawn(samples: int, seed: int = 0) -> tuple[float, float]:
    """The same ratios by points drawn in the boxes and counted where the retrieval's own shapes hold them."""
    rng = np.random.default_rng([seed, 15])
    low = np.array([[-CYLINDER, FIRST_ENDS[0], -CYLINDER], [SECOND_ENDS[0], -SECOND, -SECOND]])
    high = np.array([[CYLINDER, FIRST_ENDS[1], CYLINDER], [SECOND_ENDS[1], SECOND, SECOND]])
    inside = np.array([[-0.0, -0.75, 0.0], [-0.4, 0.0, 0.0]])
    found = []
    for link in range(2):
        count = 0
        for point in rng.uniform(low[link], high[link], (samples, 3)):
            centres = inside.copy()
            centres[link] = point
            count += outside(*centres) <= 0
        found.append(samples / count)
    return found[0], found[1]


def run(setting: Setting) -> Outcome:
    """Closed forms, points drawn, and the document's own formulas."""
    ratios = [box / shape for box, shape in zip(boxes(), shapes(), strict=True)]
    counted = drawn(2_000 if setting.quick else 50_000)
    rows = [[f"link {k + 1}", PRINTED[k], ratios[k], round(counted[k], 2), boxes()[k], shapes()[k]] for k in range(2)]
    columns = ("", "printed", "exact", "by points drawn", "box [m^3]", "shape [m^3]")
    return Outcome(
        (Comparison.of("Volume of the box over that of the link", columns, rows),),
        words=(
            "Link 2 is a cylinder of 0.6 m with a conical end of 0.2 m. The printed formula, 4/pi (1 + 2 l_2'/l_2) = "
            f"{PRINTED[1]:.2f}, rounded to 2 in the document, is not the ratio of these shapes, "
            f"{ratios[1]:.2f}: an erratum.",
        ),
        checks=(
            Check("the box of link 1 is 1.27 times as large as the link", round(ratios[0], 2) == 1.27),
            differs("that of link 2 is about 2 times as large (within 10 %)", abs(ratios[1] / 2 - 1) <= 0.1),
            Check(
                "the retrieval's shapes have these volumes (within 5 % by points drawn)",
                bool(np.allclose(ratios, counted, rtol=0.05)),
            ),
        ),
    )


ITEM = Item(
    "Sec. V",
    "volumes of the boxes around the links of the 2R robot",
    Status.REPRODUCED,
    "the document's dimensions, in closed form and through the shapes that the retrieval obeys",
    run,
    repeatable=True,
)
