"""Sec. III-B: the forms of physical consistency (eq. 11-16), and the pseudo-inertia."""

from __future__ import annotations

import numpy as np

from casid.inertia import pseudo_inertia, to_standard
from papers.item import Check, Comparison, Item, Outcome, Setting, Status

BODIES = 4000


def verdicts(count: int) -> np.ndarray:
    """Random inertia tensors with positive mass by each form, shape (count, 4).

    Columns: positive definite (eq. 12, 14); triangle inequality of the principal moments (eq. 15); half the trace above
    the largest eigenvalue (eq. 16); positive definite pseudo-inertia.
    """
    rng, found = np.random.default_rng(16), np.zeros((count, 4), dtype=bool)
    for row in found:
        turn = np.linalg.qr(rng.normal(size=(3, 3)))[0]
        moments = rng.uniform(-0.2, 1.0, 3)
        tensor = turn @ np.diag(moments) @ turn.T
        a, b, c = (float(value) for value in moments)
        body = to_standard(rng.uniform(0.1, 5.0), rng.normal(size=3), (tensor + tensor.T) / 2)
        row[:] = (
            np.linalg.eigvalsh(tensor)[0] > 0,
            a + b > c and b + c > a and c + a > b,
            np.trace(tensor) / 2 > np.linalg.eigvalsh(tensor)[2],
            np.linalg.eigvalsh(pseudo_inertia(body))[0] > 0,
        )
    return found


def run(setting: Setting) -> Outcome:
    """Counts, and which forms agree."""
    found = verdicts(200 if setting.quick else BODIES)
    positive, triangle, trace, pseudo = found.T
    names = (
        "I > 0 (eq. 12)", "triangle inequality (eq. 15)", "tr/2 > largest eigenvalue (eq. 16)", "pseudo-inertia > 0",
    )  # fmt: skip
    rows = [[name, int(own.sum()), int((own == triangle).sum())] for name, own in zip(names, found.T, strict=True)]
    columns = ("form", "bodies that obey it", "same verdict as eq. 15")
    return Outcome(
        (Comparison.of(f"{len(found)} random tensors about the centre of mass", columns, rows),),
        words=("Tensors are drawn by their principal moments, -0.2 to 1, and a random turn; masses are positive.",),
        checks=(
            Check("eq. 15 and eq. 16 are the same condition", bool((triangle == trace).all())),
            Check("it includes eq. 12, and is stronger",
                  bool(positive[triangle].all() and positive.sum() > triangle.sum())),
            Check("with a positive mass it is that of the pseudo-inertia (Wensing et al. 2018)",
                  bool((pseudo == triangle).all())),
        ),
    )  # fmt: skip


ITEM = Item(
    "Sec. III-B",
    "physical consistency: triangle inequality and its matrix form",
    Status.REPRODUCED,
    "random inertia tensors by every form of the condition",
    run,
    repeatable=True,
)
