"""What ends an optimisation between two evaluations: Ctrl-C as a request, limits; and the best motion until then."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from casid.motion._basis import Array


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
