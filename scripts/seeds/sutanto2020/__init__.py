"""Items of the article: measured by the topic ``learning`` of the acceptance tables."""

from __future__ import annotations

from measures import learning

from seeds.item import Comparison, Item, Outcome, Setting, Status

STAND_IN = (
    "stand-in: casid's simulated iiwa in place of PyBullet's; measured by `python scripts/acceptance.py learning`"
)


def rows(setting: Setting) -> Outcome:
    """The rows of the learning table: bars, and what they are compared with."""
    table = [[measure.name, measure.bar, measure.reference] for measure in learning.MEASURES]
    return Outcome(
        (Comparison.of("Rows of `python scripts/acceptance.py learning`", ("measure", "bar", "published"), table),),
        words=("They take minutes each and are measured there, not again here.",),
    )


ITEMS = (
    Item("Table 1", "epochs to convergence and tracking errors, simulated iiwa", Status.IN_KIND, STAND_IN, rows),
    Item("Fig. 1", "online learning in simulation", Status.IN_KIND, STAND_IN, rows),
    Item(
        "Table 2",
        "the same on a real iiwa",
        Status.IMPOSSIBLE,
        "the recordings of the real iiwa are not public",
    ),
)
