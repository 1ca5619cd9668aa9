"""Results of a design, its progress, and what ends it: Ctrl-C as a request, limits."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from casid.arrays import Array
from casid.display import Axes, Displayed
from casid.excitation.information._observation import Observation
from casid.excitation.limits._motion_limits import MotionLimits
from casid.motion import Trajectory


@dataclass(frozen=True)
class Progress:
    """Progress of a design.

    Attributes
    ----------
    start, stage, iteration : int
        Counted from 1.
    value : float
        Exact criterion of the current iterate (which may still violate limits).
    best : float
        Of the best motion so far that keeps all limits.
    """

    start: int
    starts: int
    stage: int
    stages: int
    iteration: int
    value: float
    best: float


@dataclass(frozen=True, eq=False)
class Start:
    """Result of one start: coefficients (n, size), exact criterion, seconds, iterations.

    ``limited`` names the limit that ended it while it was still improving; empty where none did.
    """

    coefficients: Array
    value: float
    initial: float
    seconds: float
    iterations: int
    status: str
    limited: str = ""


@dataclass(frozen=True, eq=False)
class Design(Displayed):
    """A designed motion.

    Attributes
    ----------
    trajectory : Trajectory
    value : float
        Exact criterion, prior information included.
    condition_number : float
        Of the observation matrix of the motion alone (weighted by the noise, unscaled).
    information : ndarray, shape (r, r)
        Of the motion and the prior.
    violations : dict
        Largest violation of every state constraint on a grid 10 times finer than the samples.
    starts : tuple of Start
        Best first.
    interrupted : bool
        Was the optimisation stopped before its end? The motion is the best until then, and keeps all limits.
    """

    trajectory: Trajectory
    criterion: str
    value: float
    condition_number: float
    information: Array
    observation: Observation
    violations: dict[str, float]
    starts: tuple[Start, ...]
    interrupted: bool = False

    def deviations(self) -> Array:
        """Predicted standard deviation of every parameter, shape (r,): ``sqrt(diag(F^-1))``."""
        return np.asarray(np.sqrt(np.diagonal(np.linalg.inv(self.information))))

    def plot_motion(self, limits: MotionLimits | None = None) -> tuple[Axes, ...]:
        """Draw position, velocity and acceleration of every joint, within limits if they are given."""
        return self._plot("motion", limits=limits)

    def plot_singular_values(self) -> tuple[Axes, ...]:
        """Draw the singular values of the motion's observation matrix."""
        return self._plot("singular_values")

    def plot_deviations(self) -> tuple[Axes, ...]:
        """Draw the predicted standard deviation of every parameter."""
        return self._plot("deviations")


class Request:
    """Whether Ctrl-C was pressed."""

    made = False


@contextmanager
def requests() -> Iterator[Request]:
    """While this runs, the first Ctrl-C is a request, the second a `KeyboardInterrupt` as always.

    CasADi looks for signals between evaluations and would end a solver with a message of its own. In threads other than
    the main one, to which Python delivers no signals, nothing changes.
    """
    request = Request()
    if threading.current_thread() is not threading.main_thread():
        yield request
        return
    before: Any = signal.getsignal(signal.SIGINT)

    def made(number: int, frame: Any) -> None:
        if request.made and callable(before):
            before(number, frame)
        request.made = True

    signal.signal(signal.SIGINT, made)
    try:
        yield request
    finally:
        signal.signal(signal.SIGINT, before)


class Stop(Exception):
    """Asks a running optimisation to end, keeping its best motion."""


@dataclass
class Best:
    """The best motion so far, and the reasons to stop."""

    coefficients: Array
    value: float
    deadline: float
    budget: float
    request: Request
    iterations: int = 0
    limited: str = ""

    def check(self) -> None:
        """Raise `Stop` where Ctrl-C was pressed or a limit is reached; ``limited`` then names it."""
        if self.request.made:
            raise Stop
        if self.iterations >= self.budget:
            self.limited = f"{self.iterations} iterations"
        elif time.perf_counter() > self.deadline:
            self.limited = "the time limit"
        if self.limited:
            raise Stop
