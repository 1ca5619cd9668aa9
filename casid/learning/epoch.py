"""What is known after one epoch of training."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Epoch:
    """One epoch of training.

    Attributes
    ----------
    number : int
        0 is the start.
    loss : float
        Over all samples, after the epoch.
    nmse : float
        Largest over the joints.
    inconsistent : int
        Links that are no bodies.
    gap : float
        To the certified limit; NaN without one.
    seconds : float
        Since the start.
    """

    number: int
    loss: float
    nmse: float
    inconsistent: int
    gap: float
    seconds: float
