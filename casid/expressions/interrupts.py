"""Ctrl-C while CasADi works: CasADi stops, swallows it, and returns what it has."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def interruptible() -> Iterator[None]:
    """Call CasADi functions so that Ctrl-C ends them at once and goes on as `KeyboardInterrupt`.

    CasADi looks for Ctrl-C between evaluations; a solver then ends with a status that says little (IPOPT's
    ``User_Requested_Stop`` or ``NonIpopt_Exception_Thrown``) and returns the point where it stood as if it were one.

    Raises
    ------
    KeyboardInterrupt
        On leaving, if Ctrl-C came meanwhile. In threads other than the main one, to which Python does not deliver it,
        nothing changes.
    """
    before: Any = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(before):
        yield
        return
    pressed = False

    def remember(number: int, frame: Any) -> None:
        nonlocal pressed
        try:
            before(number, frame)
        except KeyboardInterrupt:
            pressed = True
            raise

    signal.signal(signal.SIGINT, remember)
    try:
        yield
    except Exception:
        if pressed:
            raise KeyboardInterrupt from None
        raise
    finally:
        signal.signal(signal.SIGINT, before)
    if pressed:
        raise KeyboardInterrupt
