"""The one definition of a relative gap, and the one place where a bound that contradicts a point is given up."""

from __future__ import annotations

import warnings

from casid.errors import BoundWarning

#: Relative excess of a bound over the value of a feasible point that its own tolerances (1e-8 of violation) explain.
_EXPLAINED = 1e-6


def relative_gap(value: float, bound: float, negligible: float) -> float:
    """``(value - bound) / max(value, negligible)``.

    Parameters
    ----------
    value
        What was minimised, at a feasible point.
    bound
        Proven lower bound of it, -inf if there is none.
    negligible
        Value that is as good as zero (`LeastSquares.negligible`): a fit that good counts as perfect.

    Returns
    -------
    float
        No feasible point is better than the value by more than this share of it. >= 0 up to rounding.
    """
    return float((value - bound) / max(value, negligible))


def checked_bound(bound: float, value: float, negligible: float, what: str) -> float:
    """A lower bound, compared with the value that a feasible point attains.

    Returns the bound; the value, where the bound exceeds it by no more than tolerances explain; -inf with a
    `BoundWarning` where it exceeds it by more: then it is wrong, whatever the reason, and proves nothing.
    """
    if not bound > value:
        return bound
    if bound - value <= _EXPLAINED * max(abs(value), negligible):
        return value
    warnings.warn(
        f"{what}: its lower bound {bound:.9g} exceeds the value {value:.9g} of a feasible point; the bound is given up",
        BoundWarning,
        stacklevel=3,
    )
    return float("-inf")
