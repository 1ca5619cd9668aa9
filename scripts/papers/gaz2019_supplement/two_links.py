"""What the items about the spatial 2R robot share."""

from __future__ import annotations

from functools import cache

import casid
from papers.two_links import Motion, Relaxed, relaxed_retrieval, validation_motion


@cache
def solved() -> casid.Solution:
    """The retrieval with the exact, if-else set of shapes."""
    return casid.solve(casid.load_problem("spatial_2r"))


@cache
def relaxed(starts: int) -> tuple[Relaxed, ...]:
    """Retrievals without constraints from as many random starts."""
    return tuple(relaxed_retrieval(solved().problem, seed) for seed in range(starts))


@cache
def motion() -> Motion:
    """Of the validation."""
    return validation_motion()
