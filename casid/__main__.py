"""The command ``casid``, also as ``python -m casid``."""

import gc
import os
import signal
import sys
import time

#: A command at a terminal that takes longer says how long it took [s].
_LONG = 2.0


def main() -> None:
    """Entry point of the command: Ctrl-C during its imports ends it like Ctrl-C later, with exit code 130."""
    began = time.perf_counter()
    try:
        from casid.cli import main as command
    except KeyboardInterrupt:
        os.write(2, b"\ninterrupted: nothing was written\n")
        os._exit(130)  # an exit by exception ends as the signal does where an import ran code that was interrupted
    try:
        command()
    except SystemExit as end:
        gc.freeze()  # the process ends: collecting its objects one by one takes half a second
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # all is written: Ctrl-C while Python ends changes nothing
        seconds = time.perf_counter() - began
        if not end.code and seconds > _LONG and sys.stderr.isatty():
            sys.stderr.write(f"{seconds:.1f} s in all\n")
        raise


if __name__ == "__main__":
    main()
