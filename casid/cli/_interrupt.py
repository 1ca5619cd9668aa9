"""Ctrl-C on the command line: the command ends within two seconds, with exit code 130 and what is kept."""

from __future__ import annotations

import os
import signal
import sys
import threading
from contextvars import ContextVar
from typing import Any

#: Exit code of a command that Ctrl-C ended.
CODE = 130
#: The process ends so many seconds after Ctrl-C, whatever it is in [s].
PATIENCE = 1.5


class _Ending:
    """What the running command keeps when it is interrupted, and whether it ends in its own way."""

    def __init__(self) -> None:
        self.kept = "nothing was written"
        self.announced = False
        self.descriptor = os.dup(2)

    def announce(self, what: str = "interrupted") -> None:
        """Write the message, once; what compiled code says of the interruption afterwards is not shown."""
        if not self.announced:
            self.announced = True
            sys.stderr.flush()
            os.write(self.descriptor, f"\n{what}: {self.kept}\n".encode())
            silent = os.open(os.devnull, os.O_WRONLY)
            os.dup2(silent, 2)
            os.close(silent)

    def end(self) -> None:
        """End the process, unless it has ended by then."""
        self.announce()
        os._exit(CODE)


_ENDING: ContextVar[_Ending | None] = ContextVar("ending", default=None)


def install() -> None:
    """Let Ctrl-C end this process: first as `KeyboardInterrupt`, after `PATIENCE` in any case."""
    if threading.current_thread() is not threading.main_thread():
        return
    ending = _Ending()
    _ENDING.set(ending)

    def pressed(number: int, frame: Any) -> None:
        _last_resort(ending)
        ending.announce()
        raise KeyboardInterrupt

    signal.signal(signal.SIGINT, pressed)


def keeping(text: str) -> None:
    """State what is kept if Ctrl-C ends the running command."""
    ending = _ENDING.get()
    if ending is not None:
        ending.kept = text


def announce() -> None:
    """State that the running command was interrupted, unless that was done."""
    ending = _ENDING.get()
    if ending is not None:
        ending.announce()


def announced() -> bool:
    """Whether Ctrl-C was pressed."""
    ending = _ENDING.get()
    return ending is not None and ending.announced


def handled() -> None:
    """Let the process end with its own exit code.

    CPython remembers a `KeyboardInterrupt` that left code given as text (a dataclass being made), though it was caught
    later, and then ends by the signal; the next code given as text clears that.
    """
    eval("None")


def _last_resort(ending: _Ending) -> None:
    timer = threading.Timer(PATIENCE, ending.end)
    timer.daemon = True
    timer.start()
